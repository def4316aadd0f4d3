"""Draw the comment on a run as GitHub shows it: `python -m tests.browser.picture RUN_FOLDER PICTURE.png`.

README's picture is that of `make run`'s harmful change: `python -m tests.browser.picture quickstart-out/degraded
docs/pictures/comment.png`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from accgate.guard.state import Guard
from accgate.report.comment import About, render_comment
from accgate.report.flips import flips_of_result
from accgate.report.result_file import read_result
from accgate.result import NAME
from tests.browser.chromium import Browser, Page
from tests.browser.github import shown

WIDTH, HEIGHT = 980, 520


def main() -> None:
    """Draw it."""
    run, picture = map(Path, sys.argv[1:])
    result = read_result(run / NAME)
    about = About("accgate", "accuracy.toml", "0" * 40)
    body = render_comment(result, about, guard=Guard("unchanged"), flips=flips_of_result(result, run))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "comment.html"
        path.write_text(shown(body, unfolded=True), encoding="utf-8")
        browser = Browser(Path(folder) / "chromium")
        try:
            page = Page(browser, browser.person())
            page.size(WIDTH, HEIGHT)
            page.open(path)
            page.value("document.documentElement.style.scrollbarWidth = 'none'")
            page.picture(picture)
        finally:
            browser.close()


if __name__ == "__main__":
    main()
