"""Sequences that hold many items in little memory, and make one where it is asked for."""

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, SupportsIndex, TypeVar, overload

import numpy as np
import numpy.typing as npt

At = npt.NDArray[np.integer[Any]] | list[int] | slice  # places in a sequence
Item_co = TypeVar("Item_co", covariant=True)
Own = TypeVar("Own", bound="PackedSequence[Any]")


class PackedSequence(Sequence[Item_co]):
    """Items in an order, equal to any sequence of the same; a slice shares what is held."""

    @abstractmethod
    def take(self: Own, places: At) -> Own:
        """The items at these places, in their order."""

    @abstractmethod
    def _item(self, place: SupportsIndex) -> Item_co:
        """One item."""

    @overload
    def __getitem__(self, place: SupportsIndex) -> Item_co: ...
    @overload
    def __getitem__(self: Own, place: slice) -> Own: ...
    def __getitem__(self, place: SupportsIndex | slice) -> Any:
        """One item, or those of a slice."""
        return self.take(place) if isinstance(place, slice) else self._item(place)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Sequence) and not isinstance(other, str):
            return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]
