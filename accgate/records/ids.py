"""The ids of many samples in little memory, and their fixed order.

A million texts of 16 letters take 16 MB here, and 75 MB as a tuple.
"""

from __future__ import annotations

import hashlib
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice, repeat
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt

Places = npt.NDArray[np.intp]
AT_ONCE = 4096  # ids that are unpacked at the same time while all are read
KEPT = 16  # bytes of a digest that samples are sorted by; two of a billion samples never agree in them


At = npt.NDArray[np.integer[Any]] | list[int] | slice  # places in a sequence
Item_co = TypeVar("Item_co", covariant=True)
Own = TypeVar("Own", bound="PackedSequence[Any]")


class PackedSequence(Sequence[Item_co]):
    """Items in an order, equal to any sequence of the same items. A slice shares its memory."""

    @abstractmethod
    def take(self: Own, places: At) -> Own:
        """Return the items at these places, in their order."""

    @abstractmethod
    def _item(self, place: SupportsIndex) -> Item_co:
        """Return one item."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> Item_co: ...
    @overload
    def __getitem__(self: Own, place: slice) -> Own: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        """Return one item, or the items of a slice."""
        return self.take(place) if isinstance(place, slice) else self._item(place)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]


class Ids(PackedSequence[str]):
    """Ids in an order, packed.

    Examples
    --------
    >>> ids = Ids(["b", "a", "c"])
    >>> ids[1], ids == ("b", "a", "c"), ids.places(["c", "d"]).tolist(), ids.without(["a"])
    ('a', True, [2, -1], ['b', 'c'])
    """

    def __init__(self, ids: Iterable[str] = ()) -> None:
        self._texts: npt.NDArray[Any] = ids._texts if isinstance(ids, Ids) else _joined(ids)

    def __len__(self) -> int:
        return len(self._texts)

    def _item(self, place: SupportsIndex) -> str:
        return _text(self._texts[place])

    def __iter__(self) -> Iterator[str]:
        for start in range(0, len(self), AT_ONCE):
            yield from map(_text, self._texts[start : start + AT_ONCE].tolist())

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, str) and bool(self.places([id_])[0] >= 0)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Ids):
            return len(self) == len(other) and bool(np.array_equal(*_alike(self._texts, other._texts)))
        return super().__eq__(other)

    __hash__ = None

    def take(self, places: At) -> Ids:
        """Return the ids at these places, in their order."""
        ids = Ids.__new__(Ids)
        ids._texts = self._texts[places]
        return ids

    def places(self, ids: Iterable[str]) -> Places:
        """Find a place of each of these ids, shape (m,), -1 for unknown ids."""
        mine, wanted = _alike(self._texts, Ids(ids)._texts)
        if np.array_equal(mine[: len(wanted)], wanted):
            return np.arange(len(wanted))
        if not len(mine):
            return np.full(len(wanted), -1, dtype=np.intp)
        at = np.minimum(np.searchsorted(mine, wanted, sorter=self.by_text), len(mine) - 1)
        places: Places = self.by_text[at]
        places[mine[places] != wanted] = -1
        return places

    def without(self, *others: Iterable[str]) -> list[str]:
        """Return the ids that none of the others has."""
        left = np.arange(len(self))
        for other in others:
            left = left[Ids(other).places(self.take(left)) < 0]
        return list(self.take(left))

    def first_again(self, repeats: Sequence[int] | npt.NDArray[np.int32]) -> tuple[int, int] | None:
        """Find the first (id, repeat) that comes again, and its first place.

        The result is None if each comes once.

        >>> Ids(["a", "b", "a", "b"]).first_again([0, 0, 1, 0])
        (3, 1)
        """
        numbers = np.array(repeats)
        order = self.by_text_and(numbers) if numbers.any() else self.by_text
        again = np.flatnonzero(self.take(order).are_repeated & (numbers[order[1:]] == numbers[order[:-1]]))
        if not len(again):
            return None
        at = again[np.argmin(order[again + 1])]
        return int(order[at + 1]), int(order[at])

    def place_in_order(self, id_: str) -> int:
        """Find the first place of an id among sorted ids.

        The result is -1 for an unknown id.
        """
        texts = self._texts
        wanted = id_ if texts.dtype == object else id_.encode("utf-8", "surrogatepass")
        if isinstance(wanted, bytes) and (len(wanted) > texts.dtype.itemsize or b"\0" in wanted):
            return -1
        at = int(np.searchsorted(texts, np.array(wanted, dtype=texts.dtype)))
        return at if at < len(texts) and texts[at] == wanted else -1

    @property
    def are_repeated(self) -> npt.NDArray[np.bool_]:
        """Whether each id but the first repeats the one before, shape (n - 1,)."""
        repeated: npt.NDArray[np.bool_] = self._texts[1:] == self._texts[:-1]
        return repeated

    @property
    def are_distinct(self) -> bool:
        """Whether no id comes twice."""
        return not bool(self.take(self.by_text).are_repeated.any())

    @cached_property
    def by_text(self) -> Places:
        """Return the places in the order of the texts.

        Equal texts keep their order.
        """
        order = np.argsort(self._texts, kind="stable")
        return order.astype(np.int32) if len(order) < 2**31 else order

    def by_text_and(self, repeats: npt.NDArray[Any]) -> Places:
        """Return the places in the order of the texts, then of the repeats."""
        by_repeat = np.argsort(repeats, kind="stable")
        return by_repeat[self.take(by_repeat).by_text]


def _text(value: Any) -> str:
    return value.decode("utf-8", "surrogatepass") if isinstance(value, bytes) else str(value)


def _joined(ids: Iterable[str]) -> npt.NDArray[Any]:
    """Pack ids part by part.

    Only few of them are texts at the same time.
    """
    rest, parts = iter(ids), []
    while part := list(islice(rest, AT_ONCE)):
        parts.append(_packed(part))
    if any(part.dtype == object for part in parts):
        parts = [_as_texts(part) for part in parts]
    return np.concatenate(parts) if parts else _packed([])


def _packed(ids: list[str]) -> npt.NDArray[Any]:
    """Pack texts into an array, as bytes of one width or as objects.

    Bytes are taken if they save memory and keep the texts distinct.
    """
    widths = set(map(len, ids)) if ids else {1}
    whole = "".join(ids)
    if "\0" not in whole:
        if len(widths) == 1 and min(widths) and whole.isascii():
            return np.frombuffer(whole.encode(), dtype=f"S{min(widths)}")
        encoded = [id_.encode("utf-8", "surrogatepass") for id_ in ids]
        if max(map(len, encoded)) * len(ids) < sum(map(len, encoded)) + 50 * len(ids):  # a str has about 50 bytes more
            return np.array(encoded, dtype="S")
    texts = np.empty(len(ids), dtype=object)
    texts[:] = ids
    return texts


def _alike(left: npt.NDArray[Any], right: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Return both arrays as bytes, or both as texts."""
    if (left.dtype == object) == (right.dtype == object):
        return left, right
    return _as_texts(left), _as_texts(right)


def _as_texts(texts: npt.NDArray[Any]) -> npt.NDArray[Any]:
    return texts if texts.dtype == object else np.array([*map(_text, texts.tolist()), None], dtype=object)[:-1]


def order_of(seed: int, ids: Iterable[str], clusters: Iterable[str | None] | None = None) -> Places:
    """Return the places of ids in the fixed order of samples, shape (n,).

    The order is random, and the same on every machine. Samples are sorted by the hash of their cluster, so that
    clusters stay whole, then by the hash of their id.

    >>> order_of(0, ["a", "b", "c"]).tolist(), order_of(0, ["a", "b", "c"], ["x", None, "x"]).tolist()
    ([0, 2, 1], [1, 0, 2])
    """
    keys = bytearray()
    for id_, cluster in zip(ids, repeat(None) if clusters is None else clusters, strict=False):
        keys += bytes(KEPT) if cluster is None else _digest(seed, cluster)
        keys += _digest(seed, id_)
    return np.argsort(np.frombuffer(keys, dtype=f"S{2 * KEPT}"), kind="stable")


def _digest(seed: int, text: str) -> bytes:
    return hashlib.sha256(f"{seed}:{text}".encode("utf-8", "surrogatepass")).digest()[:KEPT]
