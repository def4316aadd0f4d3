"""The command `accgate`, and `python -m accgate`."""

import sys


def main() -> int:
    """Run the command line; until it is loaded Ctrl-C ends the process without a word, as nothing is lost."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from accgate import cli

    return cli.main.main()


if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = []  # the working folder, which may be somebody else's tree, before anything is imported from it
    sys.exit(main())
