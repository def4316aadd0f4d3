"""Prompts from Jinja templates, in a sandbox: a task file is data and runs no code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment


class CannotRender(ValueError):
    """A template failed on a row; the message says why."""


@cache
def _environment() -> SandboxedEnvironment:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    return ImmutableSandboxedEnvironment(undefined=StrictUndefined, autoescape=False)


@cache
def _template(text: str) -> Template:
    return _environment().from_string(text)


def template_fault(text: str) -> str | None:
    """What is wrong with a template's syntax; None where nothing is."""
    from jinja2 import TemplateSyntaxError

    try:
        _template(text)
    except TemplateSyntaxError as error:
        return f"is not a Jinja template: line {error.lineno} of it: {error.message}"
    return None


def rendered(text: str, row: Mapping[str, Any], examples: Sequence[Mapping[str, Any]] = ()) -> str:
    """The template filled with a row's columns, with `row` the whole row and `examples` the few-shot rows.

    Raises
    ------
    CannotRender
        When the template names a column the row lacks, or fails otherwise.

    Examples
    --------
    >>> template = "{% for e in examples %}{{ e.q }} {{ e.a }}, {% endfor %}{{ q }}"
    >>> rendered(template, {"q": "2 + 2 ="}, [{"q": "1 + 1 =", "a": 2}])
    '1 + 1 = 2, 2 + 2 ='
    """
    from jinja2 import TemplateError

    try:
        return _template(text).render({**row, "row": row, "examples": examples})
    except TemplateError as error:
        raise CannotRender(f"{error.message}; the row has {', '.join(map(str, row))}") from error
    except (TypeError, ValueError, ArithmeticError, LookupError, AttributeError) as error:
        raise CannotRender(f"{type(error).__name__}: {error}") from error
