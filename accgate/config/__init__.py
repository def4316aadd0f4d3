"""accuracy.toml: its tables typed and checked, with file and line for every fault.

Nothing after planning takes a `Config`: planning turns it into checks.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
