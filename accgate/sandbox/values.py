"""Plain values as JSON.

What a program's calls gave goes out of its process by value, and nothing of it is run. Of subclasses only the value
counts (an `int` whose `__eq__` always agrees is its number), and an object of any other class is its class's name,
which equals nothing.
"""

import cmath
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

GIVE = "__give__"  # the function of a program's tests that gives a value out, by the assertion's number
END = -1  # stands for such a number behind the last line
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.items()))
_PLAIN_BITS = 512  # a longer number is hexadecimal: its digits would be past Python's limit on them
_MOST_DIGITS = 1 << 16  # hexadecimal ones of a number that is read: to reduce a fraction takes their square


class NotPlain(ValueError):
    """What came is no packed value."""


class Opaque:
    """A value that is not plain, and equals nothing."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"an object of {self.name}"


def pack(value: Any) -> Any:
    """Write the value in lists, objects, texts and numbers of JSON.

    This runs in the program's own process.
    """
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    for base, form in _FORMS:
        if issubclass(kind, base):
            return form(value)
    if kind.__module__ == "numpy" and getattr(value, "ndim", None) == 0:
        item = value.item()
        return int(item) if isinstance(item, bool) else pack(item)  # equal to True, but not that very object
    return {"object": str(kind.__name__)}


def _number(value: int) -> Any:
    whole = int.__int__(value)
    return whole if whole.bit_length() <= _PLAIN_BITS else {"int": hex(whole)}


def _real(value: float) -> Any:
    real = float.__float__(value)
    return real if cmath.isfinite(real) else {"float": repr(real)}


# In this order: the first base of a value's class is its form.
_FORMS: tuple[tuple[Any, Callable[[Any], Any]], ...] = (
    (int, _number),
    (float, _real),
    (str, str.__str__),
    (list, lambda value: [pack(each) for each in list.__iter__(value)]),
    (tuple, lambda value: {"tuple": [pack(each) for each in tuple.__iter__(value)]}),
    (dict, lambda value: {"dict": [[pack(key), pack(each)] for key, each in dict.items(value)]}),
    ((set, *_VIEWS), lambda value: {"set": [pack(each) for each in value]}),
    (frozenset, lambda value: {"set": [pack(each) for each in frozenset.__iter__(value)]}),
    (bytes, lambda value: {"bytes": bytes.hex(value)}),
    (bytearray, lambda value: {"bytes": bytearray.hex(value)}),
    (complex, lambda value: {"complex": [pack(value.real), pack(value.imag)]}),
    (Decimal, lambda value: {"decimal": Decimal.__str__(value)}),
    (Fraction, lambda value: {"fraction": [pack(value.numerator), pack(value.denominator)]}),
)  # fmt: skip


def unpack(data: Any) -> Any:
    """Read the value that was packed, of Python's own types alone.

    Raises
    ------
    NotPlain
        For anything that `pack` does not make.

    Examples
    --------
    >>> unpack(pack({"a": (1, {2.5}), 3: [None, True, b"x"]}))
    {'a': (1, {2.5}), 3: [None, True, b'x']}
    >>> unpack(pack(object())) == unpack(pack(object()))
    False
    """
    if isinstance(data, list):
        return [unpack(each) for each in data]
    if not isinstance(data, dict):
        return data
    try:
        ((name, content),) = data.items()
        return _READ[name](content)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise NotPlain(f"no plain value: {str(data)[:80]}") from error


def _number_of(text: str) -> int:
    if len(text) > _MOST_DIGITS:
        raise ValueError("too many digits")
    return int(text, 16)


_READ: dict[str, Callable[[Any], Any]] = {
    "int": _number_of,
    "float": float,
    "tuple": lambda values: tuple(unpack(each) for each in values),
    "dict": lambda pairs: {unpack(key): unpack(each) for key, each in pairs},
    "set": lambda values: {unpack(each) for each in values},
    "bytes": bytes.fromhex,
    "complex": lambda parts: complex(*map(unpack, parts)),
    "decimal": Decimal,
    "fraction": lambda parts: Fraction(*map(unpack, parts)),
    "object": lambda name: Opaque(str(name)),
}  # fmt: skip
