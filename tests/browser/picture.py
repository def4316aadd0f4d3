"""Draw the comment on a run as GitHub shows it: `python -m tests.browser.picture RUN_FOLDER PICTURE.png`.

README's picture is that of `make run`'s harmful change: `python -m tests.browser.picture quickstart-out/degraded
docs/pictures/comment.png`. docs/action.md's is that of a result which is not believed: `python -m tests.browser.picture
refused docs/pictures/refused.png`.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from accgate.github.outcome import UNFOLLOWED
from accgate.guard.state import Guard
from accgate.report.comment import About, Failure, render_comment
from accgate.report.flips import flips_of_result
from accgate.report.result_file import read_result
from accgate.result import NAME
from tests.browser.chromium import Browser, Page
from tests.browser.github import shown

WIDTH, HEIGHT = 900, 620
ABOUT = About("accgate", "accuracy.toml", "0" * 40)
DISAGREES = (
    "exit_code: is 0, but the records give 1",
    "m / gsm8k: verdict: is 'pass', but the records give 'regression'",
    "verdict: is 'pass', but the records give 'regression'",
)


def comment_of(run: Path) -> str:
    """The comment on the run of a folder; `refused` is a run whose result does not follow from its records."""
    if run == Path("refused"):
        failure = Failure(3, "\n".join(f"{NAME}: {fault}" for fault in DISAGREES), UNFOLLOWED)
        return render_comment(None, ABOUT, guard=Guard("unchanged"), failure=failure)
    result = read_result(run / NAME)
    return render_comment(result, ABOUT, guard=Guard("unchanged"), flips=flips_of_result(result, run))


def main() -> None:
    """Draw it."""
    run, picture = map(Path, sys.argv[1:])
    body = comment_of(run)
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
