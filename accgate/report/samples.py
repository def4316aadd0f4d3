"""Every sample of a check with both replies, worst first.

The texts are read from a run's folder one sample at a time, so that a large run needs little memory.
"""

import math
import os
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO, Any

import numpy as np

from accgate.records.figures import KINDS
from accgate.records.file import Record, RecordPaths, read_gzip_lines
from accgate.records.ids import Ids, Places, order_of
from accgate.records.log import RecordLog, read_log
from accgate.report.flips import shared_head
from accgate.stats.walk import Floats

WORSE, BETTER, WRONG, UNREAD, FAILED, CUT, COLLAPSED = (1 << bit for bit in range(7))
RANKS = WORSE, FAILED, UNREAD, BETTER, WRONG, CUT  # samples of the first kind head the list
CHANGED = 1e-9  # points; a smaller difference is rounding

Rows = Iterable[Mapping[str, Any]]


@dataclass(frozen=True)
class Sample:
    """A sample of a check.

    `record` is that of the repeat with the worst score, and `before` the reference's reply. `scores` are the means over
    the repeats in points, of the reference and now. `kinds` adds up WORSE, BETTER and so on. `answers` counts the
    repeats.
    """

    record: Record
    prompt: str | None
    before: str | None
    scores: tuple[float | None, float | None]
    kinds: int
    answers: int


class Samples:
    """The samples of a check, worst first.

    Each sample is read from the files when it is its turn. `head` is the text with which every prompt begins. `size`
    counts the bytes of all texts.

    Parameters
    ----------
    spool : binary file
        A temporary file for the texts of compressed files, which cannot be read from the middle.
    paths : RecordPaths
        The files of the check. That of the records must exist.
    before : iterable of rows, optional
        The reference's replies and scores; by default those of the file in `paths`.
    flips : sequence of str
        Ids of the samples that got worse, worst first.
    collapsed : sequence of str
        Ids of the flips that all runs lost.
    judged : int, optional
        Number of samples that the verdict is about; by default all.

    Raises
    ------
    BadInput
        When a file is damaged.
    """

    def __init__(
        self,
        spool: IO[bytes],
        paths: RecordPaths,
        *,
        before: Rows | None = None,
        flips: Sequence[str] = (),
        collapsed: Sequence[str] = (),
        judged: int | None = None,
        higher_is_better: bool = True,
        seed: int = 0,
    ) -> None:
        self.higher_is_better = higher_is_better
        self._records = records = read_log(paths.records)
        ids, columns = records.figures.ids, records.figures.columns
        self._ids = ids.take(fixed_order(records, seed))
        place, scores = self._ids.places(ids), columns["score"]
        badness = np.where(np.isnan(scores), -math.inf, scores if higher_is_better else -scores)
        order = np.lexsort((columns["repeat"], badness, place))
        self._worst = order[np.searchsorted(place[order], np.arange(len(self._ids)))]
        self._answers = np.bincount(place, minlength=len(self._ids))
        self._scores = means_of(self._ids, ids, scores)
        prompts = read_gzip_lines(paths.prompts, "prompt")
        before = read_gzip_lines(paths.before, "reply") if before is None else before
        self._prompts = _Texts(spool, prompts, "prompt", self._ids, 0 * self._worst)
        self._before = _Texts(spool, before, "reply", self._ids, columns["repeat"][self._worst])
        self.head = self._prompts.head
        self.size = paths.records.stat().st_size + self._prompts.size + self._before.size
        self.kinds = self._kinds(flips, judged)
        lost = self._ids.places(collapsed)
        self.kinds[lost[lost >= 0]] |= COLLAPSED
        rank = np.select([self.kinds & kind > 0 for kind in RANKS], range(len(RANKS)), len(RANKS)) * len(self._ids) * 2
        rank += np.arange(len(self._ids)) + len(self._ids)
        worst_first = self._ids.places(flips)
        worst_first = worst_first[worst_first >= 0]
        rank[worst_first] = np.arange(len(worst_first))  # in the order of the verdict, before all others
        self._order = np.argsort(rank, kind="stable")

    def _kinds(self, flips: Sequence[str], judged: int | None) -> Places:
        """Return what each sample is, as a sum of kinds."""
        columns, sign = self._records.figures.columns[self._worst], 1 if self.higher_is_better else -1
        moved = sign * (self._scores - self._before.scores)
        worse, places = moved < -CHANGED, self._ids.places(flips)
        if judged is not None:
            moved[judged:] = math.nan  # answered when the run had been decided already
            worse[:] = False
            worse[places[places >= 0]] = True
        unread = ~np.isin(columns["reading"], (KINDS.index(None), KINDS.index("read")))
        wrong = (self._scores <= 0.0) & self.higher_is_better
        tests = worse, moved > CHANGED, wrong, unread, np.isnan(self._scores), columns["cut"]
        kinds: Places = np.asarray(sum(test * (1 << bit) for bit, test in enumerate(tests)))
        return kinds

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[Sample]:
        for place, record in zip(map(int, self._order), self._records.take(self._worst[self._order]), strict=True):
            prompt = self._prompts.at(place)
            scores = _number(self._before.scores[place]), _number(self._scores[place])
            shown = None if prompt is None else prompt[len(self.head) :]
            kinds, answers = int(self.kinds[place]), int(self._answers[place])
            yield Sample(record, shown, self._before.at(place), scores, kinds, answers)


def fixed_order(records: RecordLog, seed: int) -> Places:
    """Return the place of each id's first record, in the samples' fixed random order."""
    ids = records.figures.ids
    firsts = first_places(ids)
    names = [each.cluster for each in records.take(firsts)] if records.fills("cluster") else None
    return firsts[order_of(seed, ids.take(firsts), names)]


def first_places(ids: Ids) -> Places:
    """Return the first place of each distinct id, in the order they come in."""
    again = np.concatenate([np.zeros(1, dtype=bool), ids.take(ids.by_text).are_repeated])
    return np.sort(ids.by_text[~again[: len(ids)]])


def means_of(ids: Ids, written: Ids, scores: Floats) -> Floats:
    """Return the mean of each id's scores.

    `scores` belong to the ids `written`, of which those not in `ids` are ignored. The mean is NaN where an id has no
    score, or one of them is NaN.
    """
    places = ids.places(written)
    own = places >= 0
    with np.errstate(invalid="ignore"):
        return np.bincount(places[own], scores[own], len(ids)) / np.bincount(places[own], minlength=len(ids))


def _number(value: float) -> float | None:
    return None if math.isnan(value) else float(value)


class _Texts:
    """The texts of a compressed file, by the place of their sample.

    The spool keeps the texts. `scores` are each sample's mean scores, NaN where it has none. `head` is the text with
    which all texts begin.
    """

    def __init__(self, spool: IO[bytes], rows: Rows, column: str, ids: Ids, repeats: Places) -> None:
        self._file = spool
        ends, repeat, scores, are_texts = array("q", [spool.seek(0, os.SEEK_END)]), array("q"), array("d"), array("b")
        head: str | None = None

        def written() -> Iterator[str]:
            nonlocal head
            for row in rows:
                text = row[column]
                if text is not None:
                    head = text if head is None else shared_head([head, text])
                self._file.write((text or "").encode("utf-8", "surrogatepass"))
                ends.append(self._file.tell())
                repeat.append(row.get("repeat", 0))
                scores.append(math.nan if row.get("score") is None else row["score"])
                are_texts.append(text is not None)
                yield row["id"]

        names = Ids(written())
        self.size = ends[-1] - ends[0]
        self._ends, place, has_text = np.array(ends), ids.places(names), np.array(are_texts, dtype=bool)
        self.scores = means_of(ids, names, np.array(scores))
        self._row = np.full(len(ids), -1, dtype=np.intp)
        own = np.flatnonzero((place >= 0) & has_text)[::-1]
        exact = own[np.array(repeat, dtype=np.intp)[own] == repeats[place[own]]]
        self._row[place[own]] = own  # the first, where there is none of the same repeat
        self._row[place[exact]] = exact
        self.head = head if head is not None and has_text.sum() > 1 else ""

    def at(self, place: int) -> str | None:
        """Return the text of a sample."""
        if (row := int(self._row[place])) < 0:
            return None
        self._file.seek(int(self._ends[row]))
        return self._file.read(int(self._ends[row + 1] - self._ends[row])).decode("utf-8", "surrogatepass")
