"""The samples of a task in little memory.

Texts are packed, and a `Sample` is made where it is needed.
"""

from __future__ import annotations

import bisect
import marshal
from array import array
from collections.abc import Iterable, Iterator
from functools import cached_property
from operator import attrgetter
from typing import Any, Literal, SupportsIndex

import numpy as np
import numpy.typing as npt

from accgate.records.file import Record
from accgate.records.ids import At, Ids, PackedSequence, order_of
from accgate.tasks.sample import Sample

Name = Literal["cluster", "group", "label", "part"]
NAMES: tuple[Name, ...] = ("cluster", "group", "label", "part")
OTHERS = ("options", "images", "attacked", "rubric", "program", "cases", "messages", "tools")


NO_OTHERS = ((), (), (), None, (), (), (), ())
_names, _others = attrgetter(*NAMES), attrgetter(*OTHERS)


class Samples(PackedSequence[Sample]):
    """Samples in an order.

    A slice, or some of them in another order, shares the packed texts. A sample of a short question takes 100 bytes and
    not 500. Each access makes a new, equal object, so columns of all samples are read from `ids` and `names`.

    Examples
    --------
    >>> samples = Samples([Sample("a", "1 + 1", "1 + 1", "", "2"), Sample("b", "Sum: 2 + 2", "2 + 2", "Sum:", "4")])
    >>> samples[1].user, samples[:1].ids == ["a"], samples.names("group") is None
    ('2 + 2', True, True)
    >>> list(Samples([samples[1], samples[0], samples[1]]).each_once().ids)
    ['b', 'a']
    """

    def __init__(self, samples: Iterable[Sample] = ()) -> None:
        own = samples if isinstance(samples, Samples) else None
        self._packed: _Packed = _Packed(samples) if own is None else own._packed
        self._numbers: npt.NDArray[np.int32] = (
            np.arange(len(self._packed.ids), dtype=np.int32) if own is None else own._numbers
        )

    def __len__(self) -> int:
        return len(self._numbers)

    def _item(self, place: SupportsIndex) -> Sample:
        return self._packed.sample(int(self._numbers[place]))

    def __iter__(self) -> Iterator[Sample]:
        return map(self._packed.sample, map(int, self._numbers))  # not tolist(): a million numbers are 40 MB

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Samples) and other._packed is self._packed and other._numbers is self._numbers:
            return True
        return super().__eq__(other)

    __hash__ = None

    def __repr__(self) -> str:
        return f"<{len(self):,} samples>"

    def take(self, places: At) -> Samples:
        """Return the samples at these places, in their order."""
        some = Samples.__new__(Samples)
        some._packed, some._numbers = self._packed, self._numbers[places]
        return some

    def in_order(self, seed: int) -> Samples:
        """Return the samples in the fixed order of this seed."""
        return self.take(order_of(seed, self.ids, self.names("cluster")))

    def each_once(self) -> Samples:
        """Return the samples whose ids did not come before, in their order."""
        by_text = self.ids.by_text
        again = by_text[1:][self.ids.take(by_text).are_repeated]
        return self.take(np.delete(np.arange(len(self)), again)) if len(again) else self

    @cached_property
    def ids(self) -> Ids:
        """The ids of the samples."""
        return self._packed.ids.take(self._numbers)

    def names(self, name: Name) -> list[str | None] | None:
        """Return the cluster, group, label or part of each.

        A column that no sample has is None.
        """
        if (column := self._packed.names.get(name)) is None:
            return None
        names = [column[number] for number in map(int, self._numbers)]
        return None if all(name is None for name in names) else names


def recorded_samples(records: Iterable[Record]) -> Samples:
    """Build samples from records, each sample once.

    Records have ids, clusters, groups and labels; prompts and targets are empty.
    """
    samples = (Sample(r.id, "", "", "", "", r.cluster, r.group, r.label, own_id=r.own_id) for r in records)
    return Samples(samples).each_once()


class _Packed:
    """The samples as they came.

    All texts are in one buffer; fields that few samples have are beside it. A prompt that begins as an earlier one
    does, as after the same solved examples, is stored without that beginning.
    """

    def __init__(self, samples: Iterable[Sample]) -> None:
        self._texts, self._ends = bytearray(), array("Q", [0])
        self._others: dict[int, tuple[Any, ...]] = {}
        self.names: dict[str, list[str | None]] = {}
        self._whole = 0, ""  # the latest prompt that is there whole, and its number
        self.ids = Ids(self._taken(samples))

    def _taken(self, samples: Iterable[Sample]) -> Iterator[str]:
        """Take in samples, and return their ids."""
        one: dict[str, str] = {}  # text of each name
        for number, sample in enumerate(samples):
            texts = (*self._prompt(number, sample.prompt), *_parts(sample), sample.target, sample.own_id)
            self._texts += marshal.dumps(texts)
            self._ends.append(len(self._texts))
            for name, own in zip(NAMES, _names(sample), strict=True):
                text = own if name != "part" else own or None
                if text is not None or name in self.names:
                    column = self.names.setdefault(name, [None] * number)
                    column.append(None if text is None else one.setdefault(text, text))
            others = _others(sample)
            if any(others):
                self._others[number] = others
            yield sample.id

    def _prompt(self, number: int, prompt: str) -> tuple[int, int, str]:
        """Return where a prompt's beginning is, how long that is, and the rest.

        The beginning is in the sample of the first number.
        """
        whole, start = self._whole
        shared = _shared(start, prompt)
        if 2 * shared < len(prompt):
            self._whole = number, prompt
            return number, 0, prompt
        return whole, shared, prompt[shared:]

    def _read(self, number: int) -> Any:
        return marshal.loads(self._texts[self._ends[number] : self._ends[number + 1]])

    def sample(self, number: int) -> Sample:
        """Make one sample anew."""
        whole, shared, prompt, user, system, target, own_id = self._read(number)
        if shared:
            if whole != (latest := self._whole)[0]:
                self._whole = latest = whole, self._read(whole)[2]
            prompt = latest[1][:shared] + prompt
        if type(system) is int:
            system = prompt[:system]
        if type(user) is int:
            start = len(system) + 2 if system else 0
            user = prompt[start : start + user]
        columns = map(self.names.get, NAMES)
        cluster, group, label, part = (None if column is None else column[number] for column in columns)
        rest: tuple[Any, ...] = (*self._others.get(number, NO_OTHERS), part or "", own_id)
        return Sample(self.ids[number], prompt, user, system, target, cluster, group, label, *rest)


def _parts(sample: Sample) -> tuple[str | int, str | int]:
    """Return user and system, as their lengths where they are parts of the prompt."""
    prompt, user, system = sample.prompt, sample.user, sample.system
    start = len(system) + 2 if system else 0
    user_part = len(user) if prompt.startswith(user, start) else user
    return user_part, len(system) if prompt.startswith(system) else system


def _shared(left: str, right: str) -> int:
    """Return how many characters two texts have in common at their beginning.

    >>> _shared("Question: a", "Question: b"), _shared("", "a"), _shared("aa", "aa")
    (10, 0, 2)
    """
    places = range(min(len(left), len(right)))
    return bisect.bisect_left(places, True, key=lambda last: not left.startswith(right[: last + 1]))
