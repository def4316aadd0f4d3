"""Which changed setting explains a regression, as HTML.

It is a page of its own, and a section of a run's report.
"""

from dataclasses import dataclass
from pathlib import Path

from accgate.decision.cause import Blame, Trial, explained_bounds
from accgate.report.cause import Row, blame_sentences, is_of, method_of, read_cause, rows_of
from accgate.report.html.inline import page_parts, whole_page
from accgate.result import CAUSE, Result


@dataclass(frozen=True)
class Bar:
    """How many of the lost answers a setting explains.

    It is `count`, from `least` to `most`, of `of`.
    """

    count: int
    least: int
    most: int
    of: int


@dataclass(frozen=True)
class CauseSection:
    """The outcome of a search, with a bar for each setting. There are no rows where nothing was tried."""

    title: str
    sentences: tuple[str, ...]
    rows: tuple[tuple[Row, Bar | None], ...] = ()
    method: str = ""


def blame_html(blame: Blame) -> str:
    """Write the outcome of a search as one HTML page.

    It loads and runs nothing, and shows every text as text.
    """
    style = page_parts("accgate.report", "tokens.css", "cause.css")
    return whole_page("accgate.report", "cause-page.html.j2", style=style, cause=_section(blame))


def cause_section(result: Result, folder: Path | None) -> CauseSection | None:
    """Make the section of a run's report from the cause.json in its folder.

    None if there is none.

    Raises
    ------
    BadInput
        When the file is damaged.
    """
    cause = None if folder is None else read_cause(folder / CAUSE)
    if cause is None or not is_of(cause, result):
        return None
    return CauseSection("", (f"That is unknown: {cause.failure}",)) if cause.blame is None else _section(cause.blame)


def _section(blame: Blame) -> CauseSection:
    rows = tuple((row, _bar(row.back, blame)) for row in rows_of(blame))
    return CauseSection(f"{blame.model} / {blame.task}", tuple(blame_sentences(blame)), rows, method_of(blame))


def _bar(trial: Trial | None, blame: Blame) -> Bar | None:
    if trial is None or not trial.lost:
        return None
    least, most = explained_bounds(trial, blame.lost, blame.alpha)
    count = max(0, round(blame.lost * (trial.back - trial.gone) / trial.lost))
    return Bar(count, min(least, count), max(most, count), blame.lost)
