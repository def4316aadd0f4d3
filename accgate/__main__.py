"""`python -m accgate`."""

import sys

from accgate.cli import main

if __name__ == "__main__":
    sys.exit(main.main())
