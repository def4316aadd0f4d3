"""Multiple choice.

A row has options, of which a model finds one likeliest.
"""

import math
import string
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from accgate.engines import LogProbs
from accgate.engines.base import measurement_fault
from accgate.tasks.prompts import CannotRender, Scope, render_list
from accgate.tasks.schema import Choices
from accgate.text import count_of

SEPARATOR = ": "  # between label and text of a choice
TIE = "equally likely options"  # the beginning of a choice's text where they tie
ROUNDING = 1e-12  # of a sum of log-probabilities, relative


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a multiple choice, with its label and its text."""

    label: str
    text: str


class Choice(NamedTuple):
    """The option that a model finds likeliest.

    `label` is None where several tie. `text` is the reply of the record. `confidence` is the share that one option has
    of all options' likelihood, 0 to 1.
    """

    label: str | None
    text: str
    confidence: float


def _choice_of(likeliest: Sequence[Option], confidence: float) -> Choice:
    first, *others = likeliest
    if others:
        return Choice(None, f"{TIE}: {', '.join(option.label for option in likeliest)}", confidence)
    return Choice(first.label, f"{first.label}{SEPARATOR}{first.text}", confidence)


def chosen_label(text: str) -> str | None:
    """Return the label in a choice's text.

    A tie has none.
    """
    return None if text.startswith(TIE) else text.partition(SEPARATOR)[0]


def options_of(choices: Choices, scope: Scope) -> tuple[Option, ...]:
    """Return the options of a row.

    Raises
    ------
    CannotRender
        Unless the templates give two or more different labels, each with a text.
    """
    texts = render_list("choices.options", choices.options, scope)
    labels = [*string.ascii_uppercase[: len(texts)]]
    if choices.labels is not None:
        labels = render_list("choices.labels", choices.labels, scope)
    if len(labels) != len(texts) or len(texts) < 2 or len(set(labels)) < len(labels):
        fix = "give two options or more, and in choices.labels a different label for each"
        raise CannotRender(f"choices gives {count_of(len(texts), 'option')} and the labels {labels}; {fix}")
    return tuple(map(Option, labels, texts))


def continuation(choices: Choices, option: Option) -> str:
    """Return the text that follows the prompt where an option is scored."""
    return choices.delimiter + (option.label if choices.continuation == "label" else option.text)


def likeliest_option(choices: Choices, options: Sequence[Option], scores: Sequence[LogProbs]) -> Choice:
    """Choose the likeliest option by its continuation's log-probabilities.

    Where every token of all options is equally likely, which no model gives, all options tie.

    Examples
    --------
    Divided by its length the longer option is the likelier one:

    >>> pair = (Option("A", "no"), Option("B", "certainly not"))
    >>> scores = (LogProbs(("no",), (-2.0,)), LogProbs(("certainly", "not"), (-1.0, -2.0)))
    >>> plain = Choices(options="{{ o }}")
    >>> likeliest_option(plain, pair, scores).label
    'A'
    >>> from dataclasses import replace
    >>> likeliest_option(replace(plain, normalise="characters"), pair, scores).label
    'B'
    """
    sizes = {
        "none": [1] * len(options),
        "characters": [len(option.text) or 1 for option in options],
        "bytes": [len(option.text.encode()) or 1 for option in options],
        "tokens": [len(score.values) or 1 for score in scores],
    }[choices.normalise]
    values = [score.total / size for score, size in zip(scores, sizes, strict=True)]
    if measurement_fault(scores) is not None:
        return _choice_of(options, 1.0 / len(options))
    best = max(values)
    pairs = zip(options, values, strict=True)
    likeliest = [option for option, value in pairs if math.isclose(value, best, rel_tol=ROUNDING)]
    return _choice_of(likeliest, 1.0 / sum(math.exp(value - best) for value in values))
