"""Rendering of templates that anybody may have written.

Every value is escaped, and only accgate's templates can be extended. A repository's template is rendered in a process
without environment variables, which is killed when it takes too much time or memory.
"""

import json
import math
import os
import pickle
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache, wraps
from typing import Any

from jinja2 import PackageLoader, StrictUndefined, TemplateError, TemplateNotFound, nodes
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

LONGEST = 200_000  # characters of a template
OUTPUT = 4_000_000  # characters of its text that are looked at
SECONDS = 3  # of processor time
MEMORY = 1 << 30  # bytes of address space
CHILD = (
    "from accgate.report.markdown import environment; from accgate.report.sandbox import answer; answer(environment())"
)
# Jinja's filters that do not undo escaping.
FILTERS_ALLOWED = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items",
    "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select",
    "selectattr", "sort", "string", "sum", "title", "trim", "truncate", "unique", "upper",
)  # fmt: skip
METHODS_ALLOWED = frozenset({"endswith", "get", "items", "keys", "lower", "startswith", "strip", "upper", "values"})
GLOBALS_ALLOWED = ("range", "namespace", "dict")


class TemplateFault(Exception):
    """A template that cannot be used. The message says why in one line."""


class _PlainConcat(NodeTransformer):
    """A transformer of Jinja's operator `~` into the filter `concat`.

    The result of the filter is never safe, even where one of its parts is.
    """

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802 (Jinja's name)
        self.generic_visit(node)
        return nodes.Filter(nodes.List(node.nodes), "concat", [], [], None, None, lineno=node.lineno)


class InertEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox that escapes whatever is printed, unless it is marked `safe`.

    A text computed from safe and unsafe texts is unsafe as a whole. Only templates of this package can be extended or
    included.
    """

    intercepted_binops = frozenset({"+", "*", "%", "**"})

    def __init__(self, escape: Callable[[str], str], filters: Mapping[str, Any]) -> None:
        self._escape = lru_cache(maxsize=1024)(escape)  # a name stands in many places
        super().__init__(
            loader=PackageLoader("accgate.report"),
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            autoescape=True,
            finalize=self._inert,
        )
        allowed = {name: _without_marks(FILTERS[name]) for name in FILTERS_ALLOWED}
        inert = dict.fromkeys(("cell", "e", "escape", "forceescape"), self._inert)
        own = {"safe": Markup, "join": self._join, "concat": lambda parts: "".join(map(str, parts))}
        self.filters = {**allowed, **inert, **own, **filters}
        self.globals = {name: self.globals[name] for name in GLOBALS_ALLOWED}

    def _inert(self, value: Any) -> Markup:
        return value if isinstance(value, Markup) else Markup(self._escape("-" if value is None else str(value)))

    def _join(self, values: Iterable[Any], between: Any = "") -> Markup:
        """Join values that are escaped one by one.

        Spaces and line ends between them stay as they are.
        """
        text = str(between)
        inner = text.strip()
        return Markup(text.replace(inner, self._inert(inner)) if inner else text).join(map(self._inert, values))

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        return super()._generate(_PlainConcat().visit(source), name, filename, defer_init)

    def wrap_str_format(self, value: Any) -> None:
        """Refuse `format`, which would escape its arguments for HTML, not for Markdown."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Tell whether a template may read an attribute.

        Of texts, numbers and containers only a few methods are allowed, of safe texts none.
        """
        if isinstance(obj, Markup):
            return False
        if callable(value) and isinstance(obj, (str, bytes, int, float, list, tuple, dict)):
            return attr in METHODS_ALLOWED
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Apply an operator to plain values.

        Safe texts would escape the others for HTML, not for Markdown.
        """
        if operator != "+" and not (isinstance(left, (int, float)) and isinstance(right, (int, float))):
            raise SecurityError(f"{operator} is for numbers here")
        return super().call_binop(context, operator, _plain(left), _plain(right))


def _plain(value: Any) -> Any:
    """Return a safe text as an unsafe one, and other values unchanged."""
    return str(value) if isinstance(value, Markup) else value


def _without_marks(function: Callable[..., Any]) -> Callable[..., Any]:
    return wraps(function)(lambda *args, **keys: _plain(function(*args, **keys)))


def render_here(environment: InertEnvironment, template: str, values: Mapping[str, Any]) -> str:
    """Render a user's template in this process.

    Raises
    ------
    TemplateFault
        When the template fails in any way.
    """
    try:
        return environment.from_string(template).render(values)
    except RecursionError as error:
        raise TemplateFault("it calls itself without end") from error
    except MemoryError as error:
        raise TemplateFault(f"it takes more than {MEMORY >> 30} GB of memory") from error
    except TemplateNotFound as error:
        raise TemplateFault(f"there is no template {error.name}; extend comment.md.j2") from error
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise TemplateFault(f"{error.message or type(error).__name__}" + (f" (line {line})" if line else "")) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise TemplateFault(f"{type(error).__name__}: {error}") from error


def render_apart(template: str, values: Mapping[str, Any]) -> str:
    """Render a user's template in a process of its own.

    That process cuts the text at 4 million characters.

    Raises
    ------
    TemplateFault
        When the template fails in any way, or takes too much time or memory.
    """
    if len(template) > LONGEST:
        raise TemplateFault(f"the template has more than {LONGEST:,} characters")
    inherited = {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}
    process = subprocess.run(
        [sys.executable, "-c", CHILD],
        input=pickle.dumps((template, dict(values), SECONDS)),
        capture_output=True,
        cwd="/",
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), **inherited},
        check=False,
    )
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise TemplateFault(f"it takes more than {SECONDS} s of processor time")
    if process.returncode != 0:
        raise TemplateFault(f"the process that rendered it ended with {process.returncode}")
    text, fault = json.loads(process.stdout)
    if fault is not None:
        raise TemplateFault(fault)
    return str(text)


def answer(environment: InertEnvironment) -> None:
    """Render the template on standard input, and print the outcome as JSON.

    Limits hold for the process. The outcome is a text or a fault.
    """
    template, values, seconds = pickle.load(sys.stdin.buffer)  # our own process wrote it
    seconds += math.ceil(time.process_time())  # those of its start
    for limit, value in (
        (resource.RLIMIT_CPU, seconds), (resource.RLIMIT_AS, MEMORY), (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):  # fmt: skip
        resource.setrlimit(limit, (value, value))
    try:
        text, fault = render_here(environment, template, values)[:OUTPUT], None
    except TemplateFault as error:
        text, fault = "", str(error)
    print(json.dumps((text, fault)))
