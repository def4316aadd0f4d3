"""Which changed setting explains a regression, as a page of its own and as a section of a run's report."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from accgate.decision.cause import Blame, Trial, explained_bounds
from accgate.report.cause import blame_sentences, finding_of, is_of, method_of, read_cause, share_of, trials_of
from accgate.report.html.inline import page_parts, whole_page
from accgate.result import CAUSE, Result


@dataclass(frozen=True)
class Bar:
    """How many of the lost answers a setting explains: `count`, from `least` to `most`, of `of`."""

    count: int
    least: int
    most: int
    of: int

    def place(self, value: int) -> str:
        """Where a count stands, in percent of the drawing's width."""
        return f"{100.0 * value / self.of:.4g}%"

    @property
    def text(self) -> str:
        """The figures."""
        return f"{self.count} of {self.of} ({self.least} to {self.most})"


@dataclass(frozen=True)
class CauseRow:
    """A setting with what came back by it: `alone` when it alone was set, `questions` that were asked for it."""

    name: str
    before: str
    now: str
    finding: str
    is_cause: bool
    bar: Bar | None
    alone: str
    questions: int


@dataclass(frozen=True)
class CauseSection:
    """What came of a search; `sentences` alone where there is nothing to draw."""

    title: str
    sentences: tuple[str, ...]
    rows: tuple[CauseRow, ...] = ()
    method: str = ""


def blame_html(blame: Blame) -> str:
    """The outcome of a search as one HTML page, which loads and runs nothing and shows every text as text."""
    style = page_parts("accgate.report", "tokens.css", "cause.css")
    return whole_page("accgate.report", "cause-page.html.j2", style=style, cause=_section(blame))


def cause_section(result: Result, folder: Path | None) -> CauseSection | None:
    """The section of a run's report, from the cause.json in its folder; None where there is none.

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
    rows = [_row(blame, change.name, (change.name,), change.before, change.now) for change in blame.changes]
    whole = tuple(change.name for change in blame.changes)
    sets = [trial.settings for trial in blame.trials if trial.kind == "pair back"]
    if len(whole) > 1:
        sets.append(whole)
    rows += [_row(blame, "all of them" if each == whole else " and ".join(each), each) for each in dict.fromkeys(sets)]
    return CauseSection(f"{blame.model} / {blame.task}", tuple(blame_sentences(blame)), tuple(rows), method_of(blame))


def _row(blame: Blame, name: str, settings: Sequence[str], before: str = "", now: str = "") -> CauseRow:
    back, alone = trials_of(blame, tuple(settings))
    tried: list[Trial] = [trial for trial in (back, alone) if trial is not None]
    is_cause, questions = any(trial.finding == "cause" for trial in tried), sum(trial.n for trial in tried)
    bar = None if back is None or not back.lost else _bar(back, blame)
    return CauseRow(name, before, now, finding_of(back, alone), is_cause, bar, share_of(alone), questions)


def _bar(trial: Trial, blame: Blame) -> Bar:
    least, most = explained_bounds(trial, blame.lost, blame.alpha)
    count = max(0, round(blame.lost * (trial.back - trial.gone) / trial.lost))
    return Bar(count, min(least, count), max(most, count), blame.lost)
