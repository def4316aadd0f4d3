"""How far a run is, read from the records that it writes."""

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import unquote

from accgate.errors import AccgateError
from accgate.planning.checks import Check
from accgate.records.file import STOPPED, Record, RecordPaths, count_lines, new_records, paths_of, settings_of_run
from accgate.records.scores import Scores
from accgate.references.store import rows_beside
from accgate.report.samples import Samples
from accgate.result import NAME
from accgate.text import signed_number, visible

QUIET = 600.0  # seconds without a new answer after which a run counts as ended, even if some checks never began


@dataclass(frozen=True)
class Standing:
    """A check so far.

    `total` is None where it is not known. The `difference` to the reference, in points as text, is that of the `first`
    samples of the fixed random order which are all answered. Which replies come first depends on their length, so that
    the mean of all would mislead.
    """

    name: str
    done: int
    total: int | None
    failed: int
    unread: int
    first: int
    difference: str | None


class Follower:
    """A reader of the records that a run adds to its folder.

    Each look reads the new records only. `checks` are the run's plan, empty where that is not known.
    """

    def __init__(self, folder: Path, checks: Sequence[Check] = ()) -> None:
        self.folder = folder
        self._checks: dict[tuple[str, str], Check | None] = {check.key: check for check in checks}
        self._read: dict[tuple[str, str], tuple[int, dict[tuple[str, int], Record]]] = {}  # up to which byte

    @property
    def is_finished(self) -> bool:
        """Whether the run is decided."""
        return (self.folder / NAME).is_file()

    @property
    def is_answered(self) -> bool:
        """Whether nothing is left to ask, as in a recording."""
        pairs = self._pairs_there()
        paths = [paths_of(self.folder, *pair) for pair in pairs]
        if not all(_is_answered(each) for each in paths):
            return False
        quiet = time.time() - max((each.records.stat().st_mtime for each in paths), default=math.inf)
        return quiet > QUIET or (bool(pairs) and set(self._checks) <= set(pairs))

    def answers(self, spool: IO[bytes]) -> dict[str, Samples]:
        """Return the answers of each check so far, by its name.

        Raises as `look` does.
        """
        answers = {}
        for pair in self._pairs_there():
            check = self._checks.get(pair)
            reference = None if check is None else check.recorded
            before = () if reference is None else rows_beside(reference, ())
            higher = check is None or check.design.higher_is_better
            paths = paths_of(self.folder, *pair)
            answers["/".join(pair)] = Samples(spool, paths, before=before, higher_is_better=higher)
        return answers

    def look(self) -> list[Standing]:
        """Return where each check stands now.

        Raises
        ------
        BadInput
            When a record is damaged.
        """
        pairs = dict(self._checks) or dict.fromkeys(self._pairs_there())
        return [self._standing(pair, check) for pair, check in pairs.items()]

    def _pairs_there(self) -> list[tuple[str, str]]:
        files = sorted(self.folder.glob("*/*.jsonl"))
        pairs = [(unquote(file.parent.name), unquote(file.stem)) for file in files]
        return [pair for pair in pairs if paths_of(self.folder, *pair).settings.is_file()]

    def _standing(self, pair: tuple[str, str], check: Check | None) -> Standing:
        records = self._records(pair)
        first, difference = (0, None) if check is None else _difference(check, records)
        return Standing(
            name=visible(" / ".join(pair)),
            done=len(records),
            total=_total(paths_of(self.folder, *pair), check),
            failed=sum(record.score is None for record in records.values()),
            unread=sum(record.is_unread for record in records.values()),
            first=first,
            difference=None if difference is None else signed_number(difference),
        )

    def _records(self, pair: tuple[str, str]) -> Mapping[tuple[str, int], Record]:
        path, (offset, records) = paths_of(self.folder, *pair).records, self._read.get(pair, (0, {}))
        try:
            if path.stat().st_size < offset:  # the run began again
                offset, records = 0, {}
            new, offset = new_records(path, offset)
        except OSError:  # there is none yet
            return records
        self._read[pair] = offset, records | {record.key: record for record in new}
        return self._read[pair][1]


def _total(paths: RecordPaths, check: Check | None) -> int | None:
    """Return the most answers that a check may need.

    The settings of the run give the number, or else the plan does.
    """
    if paths.settings.is_file() and isinstance(total := settings_of_run(paths).get("records"), int):
        return total
    return None if check is None else check.n * check.repeats


def _is_answered(paths: RecordPaths) -> bool:
    return STOPPED in settings_of_run(paths) or count_lines(paths.records) >= (_total(paths, None) or math.inf)


def _difference(check: Check, records: Mapping[tuple[str, int], Record]) -> tuple[int, float | None]:
    """Count the leading finished samples, and average their difference to the reference."""
    reference = check.reference
    if reference is None or check.task.content.aggregate is not None:
        return 0, None
    if isinstance(reference, Scores):
        before = dict(zip(reference.ids, map(float, reference.means()), strict=True))
    else:
        before = dict.fromkeys(check.task.samples.ids, reference.mean)
    first, differences = 0, []
    for id_ in check.task.samples.ids:
        answers = [records.get((id_, repeat)) for repeat in range(check.repeats)]
        if any(answer is None for answer in answers):
            break
        first += 1
        scores = [answer.score for answer in answers if answer is not None and answer.score is not None]
        if scores and id_ in before:
            differences.append(sum(scores) / len(scores) - before[id_])
    return first, sum(differences) / len(differences) if differences else None


def checks_of(config: Path) -> tuple[Sequence[Check], str | None]:
    """Return the plan of a run's config, or why there is none.

    Scores of references are not read.
    """
    from accgate.config.config import load_config
    from accgate.planning.checks import plan_checks

    try:
        return plan_checks(load_config(config), stored=True), None
    except AccgateError as error:
        return (), str(error)
