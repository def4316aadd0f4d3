"""The command `view`, which shows a run in a browser of this machine and follows one that goes on."""

from __future__ import annotations

import argparse
from pathlib import Path

from accgate.cli.common import CONFIG, OUT, print_note
from accgate.errors import PASSED, BadInput


def view_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `view`."""
    command.add_argument("folder", nargs="?", type=Path, default=OUT, metavar="RUN", help=f"folder of the run ({OUT})")
    command.add_argument(
        "--config", default=CONFIG, type=Path, metavar="FILE", help=f"the run's config, for its plan ({CONFIG})"
    )
    command.add_argument("--no-browser", action="store_true", help="print the address and open no browser")
    command.add_argument(
        "--minutes", type=float, default=10.0, metavar="N", help="end after so long without a visit (10)"
    )


def view(arguments: argparse.Namespace) -> int:
    """Serve a run on this machine until nobody looks any more, or Ctrl-C."""
    import webbrowser

    from accgate.report.live.progress import Follower, checks_of
    from accgate.report.live.server import Viewer

    if not arguments.folder.is_dir():
        raise BadInput(f"{arguments.folder}: there is no such folder; start a run, or name the folder of its --out")
    if not 0.0 < arguments.minutes <= 24 * 60:
        raise BadInput(f"--minutes is {arguments.minutes:g}; give a number above 0 and up to 1440")
    checks, fault = checks_of(arguments.config)
    viewer = Viewer(Follower(arguments.folder, checks), idle=60.0 * arguments.minutes)
    if fault is not None and not viewer.follower.is_finished:
        print_note(f"without a plan only what is done is shown: {fault}")
    print(viewer.url, flush=True)
    print_note("only this machine can open the address, and only whole; Ctrl-C ends it")
    if not arguments.no_browser and not webbrowser.open(viewer.url):
        print_note("no browser could be opened; open the address yourself")
    try:
        viewer.serve()
    except KeyboardInterrupt:
        print_note("ended")
    return PASSED
