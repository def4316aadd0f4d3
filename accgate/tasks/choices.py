"""Multiple choice: the options of a row, and the option that a model finds likeliest."""

from __future__ import annotations

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass

from accgate.tasks.prompts import CannotRender, Scope, render_list
from accgate.tasks.schema import Choices


@dataclass(frozen=True, slots=True)
class Option:
    """One option: its label, and the text that the label stands for."""

    label: str
    text: str


@dataclass(frozen=True)
class Choice:
    """The likeliest option's label, and its share of all options' likelihood, 0 to 1."""

    label: str
    confidence: float


def options_of(choices: Choices, scope: Scope) -> tuple[Option, ...]:
    """The options of a row.

    Raises
    ------
    CannotRender
        Unless the templates give two or more different labels, each with a text.
    """
    texts = render_list("choices.options", choices.options, scope)
    if choices.labels is None:
        if len(texts) > len(string.ascii_uppercase):
            raise CannotRender(f"choices.options gives {len(texts)} options; with more than 26 give choices.labels too")
        labels = list(string.ascii_uppercase[: len(texts)])
    else:
        labels = render_list("choices.labels", choices.labels, scope)
    if len(labels) != len(texts) or len(texts) < 2 or len(set(labels)) < len(labels):
        raise CannotRender(
            f"choices gives {len(texts)} options and the labels {labels}; give each its own, two or more"
        )
    return tuple(map(Option, labels, texts))


def continuation(choices: Choices, option: Option) -> str:
    """The text that follows the prompt where an option is scored."""
    return choices.delimiter + (option.label if choices.continuation == "label" else option.text)


def likeliest_option(
    choices: Choices, options: Sequence[Option], totals: Sequence[float], tokens: Sequence[int]
) -> Choice:
    """The likeliest option, the first of several alike.

    Parameters
    ----------
    totals : sequence of float
        Log-probability of each option's continuation.
    tokens : sequence of int
        Its number of tokens, for `normalise = "tokens"`.

    Examples
    --------
    Divided by its length the longer option is the likelier one:

    >>> pair = (Option("A", "no"), Option("B", "certainly not"))
    >>> plain = Choices(options="{{ o }}")
    >>> likeliest_option(plain, pair, [-2.0, -3.0], [1, 2]).label
    'A'
    >>> from dataclasses import replace
    >>> likeliest_option(replace(plain, normalise="characters"), pair, [-2.0, -3.0], [1, 2]).label
    'B'
    """
    sizes = {
        "none": [1] * len(options),
        "characters": [len(option.text) or 1 for option in options],
        "bytes": [len(option.text.encode()) or 1 for option in options],
        "tokens": [count or 1 for count in tokens],
    }[choices.normalise]
    values = [total / size for total, size in zip(totals, sizes, strict=True)]
    best = max(range(len(values)), key=values.__getitem__)
    shares = [math.exp(value - values[best]) for value in values]
    return Choice(options[best].label, 1.0 / sum(shares))
