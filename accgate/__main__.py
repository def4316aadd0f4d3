"""The command `accgate`, and `python -m accgate`."""

import sys

YOUNG = 200_000  # new objects before the garbage collector runs: modules and records live to the end


def main() -> int:
    """Run the command line.

    While it loads, Ctrl-C ends the process without a message, since nothing can be lost yet.
    """
    import gc
    import signal

    signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.set_threshold(YOUNG, *gc.get_threshold()[1:])
    from accgate.cli import main

    try:
        return main.main()
    finally:
        if "triton" not in sys.modules:  # its nanobind would report all that is not freed as a leak
            gc.freeze()  # the interpreter ends, and need not look through all that was loaded


if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):
        sys.path[:1] = []  # the working folder, which may be somebody else's tree, before anything is imported from it
    sys.exit(main())
