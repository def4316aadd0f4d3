"""Prompts, programs and rubrics from Jinja templates, in a sandbox.

A task file is data: its templates run no code outside the sandbox.
"""

from __future__ import annotations

import base64
import json
import pickletools
import re
import secrets
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, TypeAlias

from accgate.text import closest

if TYPE_CHECKING:
    from jinja2 import Template
    from jinja2.sandbox import SandboxedEnvironment


Row: TypeAlias = Mapping[str, Any]
Rows: TypeAlias = Sequence[Row]
REPLY = "reply"  # the rubric's name for what the judge marks
PLAIN = frozenset({str, int, float, bool, type(None)})  # almost all that is printed, whose text is its own
LARGEST = 1 << 30  # bytes of an unpacked column; a few kilobytes of zlib can be petabytes
_PICKLED_TEXT = frozenset({"BINUNICODE", "SHORT_BINUNICODE", "BINUNICODE8"})
_HARMLESS = frozenset({"PROTO", "FRAME", "MEMOIZE", "BINPUT", "LONG_BINPUT", "STOP"})
_MARK = "".join(str(secrets.randbelow(10)) for _ in range(32))  # no row can hold it; digits, which no filter changes


class CannotRender(ValueError):
    """A template failed on a row.

    The message says why.
    """


@dataclass(frozen=True, slots=True)
class Scope:
    """The names that a template sees.

    They are a row's columns, `row` for the whole row, `examples` for the solved examples, and further `names`. Where a
    column has one of the further names, `row.NAME` still gives the column.
    """

    row: Row
    examples: Rows = ()
    names: Mapping[str, Any] = field(default_factory=dict)


@cache
def _environment(in_order: bool) -> SandboxedEnvironment:
    from jinja2 import StrictUndefined

    from accgate.tasks.templates import PromptEnvironment

    environment = PromptEnvironment(undefined=StrictUndefined, autoescape=False, finalize=_printable)
    environment.policies["json.dumps_kwargs"] = {"sort_keys": not in_order}
    del environment.filters["random"], environment.globals["lipsum"]  # a prompt is the same in every run
    environment.filters["unpacked"] = unpack
    return environment


def _printable(value: Any) -> Any:
    if type(value) in PLAIN:
        return value
    from jinja2 import Undefined

    # Such a value prints with its memory address: another prompt, so another sample, in every run.
    if isinstance(value, Iterator) or (callable(value) and not isinstance(value, Undefined)):
        fix = "write row['name'] for a column that is named like a method, and call functions"
        raise TypeError(f"{type(value).__name__} is not text; {fix}")
    return value


@cache
def _template(text: str, in_order: bool = False) -> Template:
    template = _environment(in_order).from_string(text)
    template.globals = dict(template.globals)  # each rendering copies them, which takes a chain of maps twice as long
    return template


def template_fault(text: str) -> str | None:
    """Say what is wrong with a template's syntax.

    A template without a fault gives None.
    """
    from jinja2 import TemplateSyntaxError

    try:
        _template(text)
    except TemplateSyntaxError as error:
        return f"is not a Jinja template: line {error.lineno} of it: {error.message}"
    except Exception as error:  # Jinja compiles to Python, whose compiler has faults of its own to find
        return f"is not a Jinja template: {type(error).__name__}: {error}"
    return None


def render(text: str, scope: Scope, *, in_order: bool = False) -> str:
    """Fill a template with what its scope has.

    With `in_order` the filter tojson leaves keys in their order, which a model sees, instead of sorting them.

    Raises
    ------
    CannotRender
        When the template names a column the row lacks, or fails otherwise.

    Examples
    --------
    >>> template = "{% for e in examples %}{{ e.q }} {{ e.a }}, {% endfor %}{{ q }}"
    >>> render(template, Scope({"q": "2 + 2 ="}, [{"q": "1 + 1 =", "a": 2}]))
    '1 + 1 = 2, 2 + 2 ='
    """
    from jinja2 import TemplateError

    try:
        values = {**scope.row, "row": scope.row, "examples": scope.examples, **scope.names}
        return _template(text, in_order).render(values)
    except TemplateError as error:
        name = re.match(r"'(\w+)' is undefined", error.message or "")
        near = closest(name[1], map(str, scope.row)) if name else None
        hint = f"did you mean {near!r}? The" if near else "the"
        raise CannotRender(f"{error.message}; {hint} row has {', '.join(map(str, scope.row))}") from error
    except Exception as error:  # the template's expressions raise what they like
        raise CannotRender(f"{type(error).__name__}: {error}") from error


def render_around(mark: str, text: str, scope: Scope) -> list[str]:
    """Render a template in parts, split where `mark` stands in it.

    `mark` in the text of a row splits nothing.

    Raises
    ------
    CannotRender
        As `render` does.
    """
    return render(text.replace(mark, _MARK), scope).split(_MARK)


@cache
def names_in(text: str) -> frozenset[str]:
    """Return the names that a template takes from outside.

    Branches that never run count too.
    """
    from jinja2 import meta

    return frozenset(meta.find_undeclared_variables(_environment(False).parse(text)))


@dataclass(frozen=True, slots=True)
class Rubric:
    """A judge's prompt of one sample, which lacks only the model's reply."""

    text: str
    row: Row
    names: Mapping[str, Any]

    def about(self, reply: str) -> str:
        """Return the prompt with this reply, which is shown as it is.

        No template within the reply is filled.

        Raises
        ------
        CannotRender
            As `render` does.

        Examples
        --------
        >>> Rubric("{{ q }} {{ reply }}", {"q": "1 + 1", "reply": "a column"}, {}).about("{{ q }}")
        '1 + 1 {{ q }}'
        """
        return render(self.text, Scope(self.row, (), {**self.names, REPLY: reply}))


def rubric_of(text: str, row: Row, names: Mapping[str, Any]) -> Rubric:
    """Return the rubric of a row.

    Of the row it keeps only what the template uses.

    Raises
    ------
    CannotRender
        As `render` does, and where the reply does not come through whole: the judge would mark something else.
    """
    rubric = Rubric(text, row, names)
    if _MARK not in rubric.about(_MARK):
        raise CannotRender(f"judge.rubric does not show the model's reply; write {{{{ {REPLY} }}}} where it belongs")
    rubric.about("\ud7ff").encode()
    used = names_in(text)
    return rubric if "row" in used else Rubric(text, {name: row[name] for name in used if name in row}, names)


def render_list(key: str, text: str, scope: Scope) -> list[str]:
    """Return the texts of a template that gives a JSON list of them.

    Messages name the template by its `key`.

    Raises
    ------
    CannotRender
        As `render` does, or when it gives anything else.
    """
    return json_list(key, render(text, scope), "list of texts", str)


def json_list(key: str, text: str, what: str = "list", kind: type = object) -> list[Any]:
    """Return the JSON list in a rendered text.

    Anything else raises CannotRender, which names the template's `key`.
    """
    try:
        values = json.loads(text)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, list) or not all(isinstance(value, kind) for value in values):
        raise CannotRender(f"{key} gives {text[:80]!r}, not a JSON {what}; write {{{{ column | tojson }}}}")
    return values


def unpack(text: str) -> Any:
    """Return the value of a JSON text.

    LiveCodeBench hides tests as JSON that is pickled, compressed by zlib and in Base64; such a text is unpacked first.
    A pickle can run any code when it is loaded, so none is loaded: its opcodes are read, and only a single text is
    taken.

    Raises
    ------
    ValueError
        For a text that is neither.

    Examples
    --------
    >>> import pickle
    >>> unpack('[1]'), unpack(base64.b64encode(zlib.compress(pickle.dumps('{"a": 2}'))).decode())
    ([1], {'a': 2})
    """
    try:
        return json.loads(text)
    except ValueError:
        pass
    try:
        reader = zlib.decompressobj()
        content = reader.decompress(base64.b64decode(text, validate=True), LARGEST)
    except (ValueError, zlib.error) as error:
        raise ValueError(f"{text[:40]!r} is neither JSON nor JSON that is pickled, compressed and in Base64") from error
    if not reader.eof:
        raise ValueError(f"{text[:40]!r} is cut off, or holds more than {LARGEST:,} bytes")
    return json.loads(_pickled_text(content))


def _pickled_text(content: bytes) -> str:
    """Return the text that a pickle of one text holds, without loading it."""
    texts = []
    try:
        for opcode, argument, _ in pickletools.genops(content):
            if opcode.name in _PICKLED_TEXT:
                texts.append(argument)
            elif opcode.name not in _HARMLESS:
                raise ValueError(f"the pickle does {opcode.name}; only a single text is read")
    except UnicodeDecodeError as error:
        raise ValueError("the pickle holds no text") from error
    if len(texts) != 1 or not isinstance(texts[0], str):
        raise ValueError(f"the pickle holds {len(texts)} texts; only a single one is read")
    return texts[0]
