"""Templates that cannot hurt: every value is escaped, nothing but our own templates is read, and work is bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import wraps
from typing import Any

from jinja2 import BytecodeCache, PackageLoader, StrictUndefined, TemplateError, TemplateNotFound, nodes, pass_context
from jinja2.bccache import Bucket
from jinja2.exceptions import SecurityError
from jinja2.filters import FILTERS
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer
from markupsafe import Markup

STEPS = 200_000  # turns of loops and calls; a thousand checks need some ten thousand
LONGEST = 200_000  # characters of a text, or items of a list, that a template puts together
LARGEST = 1e15  # a number that is multiplied
OUTPUT = 4_000_000  # characters of output, before anything is dropped for length
# Those that neither undo escaping nor write text of any length.
FILTERS_ALLOWED = (
    "abs", "capitalize", "count", "d", "default", "dictsort", "first", "float", "groupby", "int", "items",
    "last", "length", "list", "lower", "map", "max", "min", "reject", "rejectattr", "reverse", "round", "select",
    "selectattr", "sort", "string", "sum", "title", "trim", "truncate", "unique", "upper",
)  # fmt: skip
METHODS_ALLOWED = frozenset({"endswith", "get", "items", "keys", "lower", "startswith", "strip", "upper", "values"})
GLOBALS_ALLOWED = ("range", "namespace", "dict")


class TemplateFault(Exception):
    """A template cannot be used; the message says why in one line."""


class TooMuch(TemplateFault):
    """A template takes too much work or writes too much; it may do with less content."""


class _Counted(NodeTransformer):
    """Loops count their turns and texts their characters, and `~` joins as `+` does."""

    def visit_Output(self, node: nodes.Output) -> nodes.Output:  # noqa: N802 (Jinja's name)
        self.generic_visit(node)
        length = sum(len(child.data) for child in node.nodes if isinstance(child, nodes.TemplateData))
        node.nodes.append(_call("wrote", nodes.Const(length, lineno=node.lineno)))
        return node

    def visit_For(self, node: nodes.For) -> nodes.For:  # noqa: N802 (Jinja's name)
        self.generic_visit(node)
        node.iter = _call("counted", node.iter)
        return node

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:  # noqa: N802 (Jinja's name)
        self.generic_visit(node)
        return _call("joined", nodes.List(node.nodes, lineno=node.lineno))


def _call(name: str, value: nodes.Node) -> nodes.Filter:
    return nodes.Filter(value, name, [], [], None, None, lineno=value.lineno)


class _Compiled(BytecodeCache):
    """The code of our own templates, compiled once in a process."""

    def __init__(self) -> None:
        self._code: dict[str, Any] = {}

    def load_bytecode(self, bucket: Bucket) -> None:
        bucket.code = self._code.get(bucket.key)

    def dump_bytecode(self, bucket: Bucket) -> None:
        self._code[bucket.key] = bucket.code


COMPILED = _Compiled()


class InertEnvironment(ImmutableSandboxedEnvironment):
    """A sandbox in which whatever is printed passes `escape`, unless it is marked `safe`.

    What a template computes from marked and unmarked text together is not marked, so that it is escaped whole. Only
    templates of this package can be extended or included. One environment is for one rendering: where that is
    `bounded`, it counts the work.
    """

    intercepted_binops = frozenset({"+", "*", "%", "**"})

    def __init__(self, escape: Callable[[Any], str], filters: Mapping[str, Any], *, bounded: bool = True) -> None:
        self._steps = self._written = 0
        self._bounded = bounded
        self._known: dict[str, Markup] = {}  # a name stands in many places
        self._escape = escape
        super().__init__(
            loader=PackageLoader("accgate.report"), undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
            autoescape=True, finalize=self._finalized, bytecode_cache=COMPILED,
        )  # fmt: skip
        allowed = {name: _unmarked(FILTERS[name]) for name in FILTERS_ALLOWED}
        inert = dict.fromkeys(("cell", "e", "escape", "forceescape"), self._finalized)
        own = {"safe": Markup, "join": self._join, "counted": self._counted, "joined": _joined, "wrote": self._wrote}
        self.filters = {**allowed, **inert, **own, **filters}
        self.globals = {name: self.globals[name] for name in GLOBALS_ALLOWED}

    def _finalized(self, value: Any) -> Markup:
        if isinstance(value, Markup):
            shown = value
        else:
            text = "-" if value is None else str(value)
            if text not in self._known:
                self._known[text] = Markup(self._escape(text))
            shown = self._known[text]
        self._count(0, len(shown))
        return shown

    def _join(self, values: Iterable[Any], between: Any = "") -> Markup:
        """Values one after the other, each escaped on its own; spaces and line ends between them stay."""
        shown = [self._finalized(value) for value in values]
        text = str(between)
        self._count(0, len(text) * len(shown))
        inner = text.strip()
        return Markup(text.replace(inner, self._finalized(inner)) if inner else text).join(shown)

    @pass_context
    def _wrote(self, _: Context, length: int) -> Markup:
        self._count(0, length)
        return Markup("")

    def _generate(
        self, source: nodes.Template, name: str | None, filename: str | None, defer_init: bool = False
    ) -> str:
        return super()._generate(_Counted().visit(source), name, filename, defer_init)

    def _count(self, steps: int, characters: int) -> None:
        self._steps += steps
        self._written += characters
        if self._bounded and self._steps > STEPS:
            raise TooMuch(f"it takes more than {STEPS:,} steps")
        if self._bounded and self._written > OUTPUT:
            raise TooMuch(f"it writes more than {OUTPUT:,} characters")

    def _counted(self, values: Iterable[Any]) -> Iterator[Any]:
        for value in values:
            self._count(1, 0)
            yield value

    def call(self, context: Context, function: Any, /, *args: Any, **keys: Any) -> Any:
        """Call a macro or method, which counts as a step."""
        self._count(1, 0)
        return super().call(context, function, *args, **keys)

    def wrap_str_format(self, value: Any) -> None:
        """No `format`: of marked text it escapes for HTML alone, and it pads to any length."""

    def is_safe_attribute(self, obj: Any, attr: str, value: Any) -> bool:
        """Whether a template may read it: of texts and mappings only a few methods, of marked text none."""
        if isinstance(obj, Markup):
            return False
        if callable(value) and isinstance(obj, (str, bytes, int, float, list, tuple, dict)):
            return attr in METHODS_ALLOWED
        return super().is_safe_attribute(obj, attr, value)

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """The result of an operator that could undo escaping or fill the memory."""
        left, right = _plain(left), _plain(right)
        numbers = all(isinstance(side, (int, float)) and abs(side) <= LARGEST for side in (left, right))
        if operator != "+" and not (numbers and (operator != "**" or abs(right) <= 100)):
            raise SecurityError(f"{operator} is for small numbers here")
        if operator == "+" and not numbers:
            _check_length([left, right])
        return super().call_binop(context, operator, left, right)


def _joined(parts: list[Any]) -> str:
    texts = [str(part) for part in parts]
    _check_length(texts)
    return "".join(texts)


def _check_length(parts: Iterable[Any]) -> None:
    if sum(len(part) for part in parts if hasattr(part, "__len__")) > LONGEST:
        raise SecurityError(f"a text or list has more than {LONGEST:,} characters or items")


def _plain(value: Any) -> Any:
    """The value without its mark."""
    return str(value) if isinstance(value, Markup) else value


def _unmarked(function: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(function)
    def unmarked(*args: Any, **keys: Any) -> Any:
        value = _plain(function(*args, **keys))
        if isinstance(value, str):
            _check_length([value])
        return value

    return unmarked


def rendered(environment: InertEnvironment, values: Mapping[str, Any], name: str, template: str | None = None) -> str:
    """The text of the package's template `name`, or of a user's `template` in its place.

    Raises
    ------
    TemplateFault
        When the user's template fails in any way, or takes too much work.
    """
    if template is None:
        return environment.get_template(name).render(values)
    try:
        if len(template) > LONGEST:
            raise SecurityError(f"the template has more than {LONGEST:,} characters")
        return environment.from_string(template).render(values)
    except RecursionError as error:
        raise TemplateFault("it calls itself without end") from error
    except TemplateNotFound as error:
        raise TemplateFault(f"there is no template {error.name}; extend comment.md.j2") from error
    except TemplateError as error:
        line = getattr(error, "lineno", None)
        raise TemplateFault(f"{error.message or type(error).__name__}" + (f" (line {line})" if line else "")) from error
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise TemplateFault(f"{type(error).__name__}: {error}") from error
