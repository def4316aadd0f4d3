"""What a definition comes to: its metric, its direction, and the way it is answered."""

from __future__ import annotations

from dataclasses import replace

from accgate import metrics
from accgate.errors import BadInput, CannotEvaluate
from accgate.metrics import own_metric
from accgate.tasks.definition import Definition
from accgate.tasks.schema import ChosenBy


def metric_of(definition: Definition) -> metrics.Metric:
    """The definition's metric; of a user's own function its module is loaded.

    Raises
    ------
    BadInput
        When the function cannot be loaded or does not take its options.
    CannotEvaluate
        When the metric needs a package that is not installed.
    """
    content = definition.content
    try:
        if is_own(content.metric):
            return own_metric(content.metric, definition.folder, **content.metric_options)
        return metrics.get(content.metric, **content.metric_options)
    except metrics.BadOption as error:
        raise BadInput(definition.source.error(("metric",), str(error))) from error
    except ImportError as error:
        raise CannotEvaluate(f"{definition.source.path}: metric {content.metric}: {error}") from error


def is_higher_better(definition: Definition) -> bool:
    """The direction of what is decided on: the definition's statistic, or else its metric. Loads no user's code."""
    content = definition.content
    if content.aggregate is not None:
        return metrics.aggregate(content.aggregate, **content.aggregate_options).higher_is_better
    if is_own(content.metric):
        return content.metric_options.get("higher_is_better") is not False
    return metrics.get(content.metric, **content.metric_options).higher_is_better


def is_own(metric: str) -> bool:
    """Whether a metric is a user's function: named by its place, or registered by an installed package."""
    return ":" in metric or metric not in metrics.entries()


def with_choice(definition: Definition, choose: ChosenBy | None) -> Definition:
    """The definition with its multiple choice answered in another way.

    Raises
    ------
    BadInput
        When it is no multiple choice.
    """
    choices = definition.content.choices
    if choose is None:
        return definition
    if choices is None:
        raise BadInput(f"{definition.source.path}: has no [choices], so nothing to choose by {choose}")
    return replace(definition, content=replace(definition.content, choices=replace(choices, by=choose)))
