"""A metric with its function, bounds, direction and options.

The errors of naming one are here, too.
"""

import importlib
import inspect
import math
import typing
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any, Literal, TypeVar, get_args, get_origin

from accgate.metrics.forms import Form, label_form
from accgate.text import nearest

Kind = Literal["text", "likelihood", "code", "judge", "harness"]
Built = TypeVar("Built")


def needs_more(answer: str, target: str) -> float:  # noqa: ARG001
    """Refuse to score by answer and target alone."""
    raise TypeError("this score needs more than answer and target")


@dataclass(frozen=True)
class Metric:
    """A score per sample, in points.

    `lowest` and `highest` bound the score, None where it has no bound. `many` is the metric's own rule for several
    reference texts. Of a `kind` other than text the score needs more than answer and target: the model's
    log-probabilities, a sandbox that runs code, a second model, or another tool's scorer. One that `waits` (for a
    process of its own) is called in a thread, so that requests go on meanwhile.

    `form` is what answer and target become before they are compared, None where they stay as they are. `finds` says
    whether an answer holds what the metric looks for in it, None where every answer that is right, or not blank, does.

    `prepare` loads the packages that scoring needs, and raises ImportError where one is missing: bounds and direction
    are there without them.
    """

    name: str
    function: Callable[[str, str], float] = needs_more
    lowest: float | None = 0.0
    highest: float | None = 100.0
    higher_is_better: bool = True
    many: Callable[[str, Sequence[str]], float] | None = None
    kind: Kind = "text"
    waits: bool = False
    form: Form | None = None
    finds: Callable[[str, str], bool] | None = None
    prepare: Callable[[], object] = lambda: None

    def __call__(self, answer: str, target: str) -> float:
        """Return the score of an answer, in points."""
        return self.function(answer, target)

    def against(self, answer: str, targets: Sequence[str]) -> float:
        """Score an answer against several reference texts, in points.

        The metric's own rule decides, else the best of the single scores.

        Raises
        ------
        ValueError
            When there is no reference text.

        Examples
        --------
        >>> from accgate.metrics import get
        >>> get("exact_match").against("Paris", ["paris", "Paris"])
        100.0
        """
        if not targets:
            raise ValueError("there is no reference text to score against")
        if self.many is not None:
            return self.many(answer, targets)
        best = max if self.higher_is_better else min
        return best(self.function(answer, target) for target in targets)

    def found(self, answer: str, targets: Sequence[str], score: float) -> bool | None:
        """Tell whether something was read in an answer that got this score.

        None means that only the extraction can know. An answer of which the form leaves nothing was read where it is a
        target itself.
        """
        if self.finds is not None:
            return any(self.finds(answer, target) for target in targets)
        if self.form is not None:
            return bool(self.form(answer)) or label_form(answer) in map(label_form, targets)
        return True if score == self.best else None

    @property
    def width(self) -> float | None:
        """Points from the worst score to the best.

        A metric without a bound has none.
        """
        return None if self.lowest is None or self.highest is None else self.highest - self.lowest

    @property
    def worst(self) -> float | None:
        """The worst score a sample can have."""
        return self.lowest if self.higher_is_better else self.highest

    @property
    def best(self) -> float | None:
        """The best score a sample can have."""
        return self.highest if self.higher_is_better else self.lowest


def required(module: str, fault: str, extra: str = "metrics") -> Any:
    """Import a module of an extra, or raise ImportError with how to install it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{fault}; pip install 'accgate[{extra}]'") from error


class UnknownMetric(ValueError):
    """No metric or statistic has this name.

    The message says which one is near.
    """


class BadOption(ValueError):
    """A metric's option is unknown or out of range.

    `option` is its name, or None where several together are wrong.
    """

    def __init__(self, message: str, option: str | None = None) -> None:
        super().__init__(message)
        self.option = option


Builder = Callable[..., Metric]  # from its options
Builders = dict[str, Builder]


def builders_of(*functions: Callable[..., float], **properties: Any) -> Builders:
    """Make a builder of each function, by the function's name.

    Functions are `(answer, target, *, options) -> points`, and the metrics have these properties.
    """

    def builder_of(function: Callable[..., float]) -> Builder:
        @wraps(function)
        def build(**options: Any) -> Metric:
            points = partial(function, **options) if options else function
            return Metric(function.__name__, points, **properties)

        return build

    return {function.__name__: builder_of(function) for function in functions}


def build_with(name: str, build: Callable[..., Built], options: Mapping[str, Any]) -> Built:
    """Build the metric or statistic of a name from its options.

    Options are the keyword-only parameters of `build`.

    Raises
    ------
    BadOption
        For an option that there is not, of another type than its parameter's, or out of range: a ValueError of `build`.
    """
    values = {option: check_option(name, build, option, value) for option, value in options.items()}
    try:
        return build(**values)
    except ValueError as error:
        raise BadOption(f"{name}: {error}") from error


def options_of(build: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """Return the options of a builder by name, each with its default."""
    parameters = inspect.signature(build).parameters.values()
    return {each.name: each for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY}


def check_option(name: str, build: Callable[..., Any], option: str, value: Any) -> Any:
    """Return the option's value in the type of its parameter.

    Raises
    ------
    BadOption
        When `build` has no such option, or one of another type.
    """
    options = options_of(build)
    if option not in options:
        hint = nearest(option, options) if options else "it has none"
        raise BadOption(f"is not an option of {name}; {hint}", option)
    kind = typing.get_type_hints(build)[option]
    if get_origin(kind) is Literal:
        if value not in get_args(kind):
            raise BadOption(f"is {value!r}; give one of {', '.join(map(repr, get_args(kind)))}", option)
    elif get_origin(kind) is tuple:
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) for each in value):
            raise BadOption(f"is {value!r}; give a list of texts", option)
        return tuple(value)
    elif kind is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    elif not isinstance(value, kind) or (isinstance(value, bool) and kind is not bool):
        raise BadOption(f"is {value!r}; give {_WORDS[kind]}", option)
    if isinstance(value, float) and not math.isfinite(value):
        raise BadOption(f"is {value!r}; give a finite number", option)
    return value


_WORDS = {int: "a whole number", float: "a number", str: "text", bool: "true or false"}
