"""The shapes of people's rows.

A shape has the columns that are asked or hold the answer, and templates for them.
"""

from __future__ import annotations

import json
import keyword
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from importlib.resources import files
from itertools import takewhile
from pathlib import Path
from string import ascii_lowercase
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.rows import Row
from accgate.inputs.toml import tomllib
from accgate.tasks import Definition, DefinitionFile, Sample
from accgate.tasks.sample import samples_of
from accgate.tasks.schema import Dataset
from accgate.text import clip, nearest, visible

LOOKED_AT = 1000  # rows, to guess from
SHOWN = 60  # characters of a value

TURN = (("role", "content"), ("from", "value"), ("role", "text"), ("speaker", "text"))
COMMAS = ' | replace(".", "") | replace(",", ".")'  # numbers with decimal commas as others write them
EMPTY, BLANK = '"in", ["", none]', r'"\n\n"'  # in templates: what has no text, and an empty line
ASK_LETTER = "Answer with the letter of the right option alone."
FORMS = {"letter": "its letter", "text": "its text", "0": "its number from 0", "1": "its number from 1"}


class Unsure(BadInput):
    """Rows that can be taken in several ways.

    The answer to `field` of `Answers` says which is meant.
    """

    def __init__(self, fault: str, field: str, choices: Sequence[str]) -> None:
        self.field, self.choices = field, choices
        super().__init__(f"{fault}; give --{field.replace('_', '-')}: {', '.join(choices)}")


@dataclass(frozen=True)
class Shape:
    """Templates of what is `asked` and of the answer.

    Every row must have something in the columns that are `needed`, of which the last has the answer. `others` are used
    too. `metric` is what answers of this kind take, "" where their texts decide.
    """

    asked: Mapping[str, str]
    answer: str
    metric: str
    needed: tuple[str, ...]
    others: tuple[str, ...] = ()
    choices: Mapping[str, str] = field(default_factory=dict)
    about: str = ""

    @property
    def used(self) -> tuple[str, ...]:
        """All columns that are used."""
        return (*self.others, *self.needed)

    def samples(self, data: Rows) -> list[Sample]:
        """Return the samples of the first rows as the task renders them. Raises BadInput where one cannot be."""
        keys: dict[str, Any] = {**self.asked, "targets" if self.metric == "contains" else "target": self.answer}
        keys |= {"choices": self.choices} if self.choices else {}
        content = DefinitionFile(dataset=Dataset(file=data.path.name), metric="exact_match", **keys)
        return list(samples_of("", Definition(content, data.path), data.rows[:LOOKED_AT], lambda _: (), None))


@dataclass(frozen=True)
class Rows:
    """The rows of a file, and the values of their columns."""

    path: Path
    rows: Sequence[Row]

    @cached_property
    def names(self) -> list[str]:
        """The columns of the first rows."""
        return list(dict.fromkeys(name for row in self.rows[:LOOKED_AT] for name in row))

    def values(self, name: str) -> list[Any]:
        """Return the values of a column, parsed where all are texts of JSON."""
        values = [row.get(name) for row in self.rows[:LOOKED_AT]]
        return [json.loads(str(value)) for value in values] if self._is_json(name) else values

    def _is_json(self, name: str) -> bool:
        try:
            return all(isinstance(json.loads(row[name]), (list, dict)) for row in self.rows[:LOOKED_AT])
        except (ValueError, TypeError, KeyError):
            return False

    def expression(self, name: str) -> str:
        """Return what a template writes for a column."""
        is_name = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", name) and not keyword.iskeyword(name)
        reserved = ("row", "examples", "loop", "options", "by", "true", "false", "none", "namespace", "range", "dict")
        own = name if is_name and name not in reserved else f"row[{name!r}]"
        own = own if all(name in row for row in self.rows) else f"row.get({name!r})"
        return f"({own} | unpacked)" if self._is_json(name) else own

    def named(self, role: str, among: Sequence[str] | None = None, *, surely: bool = False) -> list[str]:
        """Find the columns with the surest of the usual names of a role."""
        tiers = [{_plain(word) for word in tier.split()} for tier in _usual()[role][: 1 if surely else None]]
        matching = ([n for n in (self.names if among is None else among) if _plain(n) in tier] for tier in tiers)
        return next(filter(None, matching), [])

    def all(self, name: str, kind: type | tuple[type, ...]) -> bool:
        """Tell whether all values of a column have this type.

        No value may be an empty list.
        """
        return all(isinstance(value, kind) and value != [] for value in self.values(name))


def shape_of(data: Rows, prompt: str | None, answer: str | None, form: str | None) -> Shape:
    """Find the shape of rows.

    Arguments that are None are guessed from the names and values of the columns.

    Raises
    ------
    Unsure
        Where they can be taken in several ways.
    BadInput
        Where they hold no questions with answers.
    """
    plain = {_plain(name) for name in data.names}
    if {"chosen", "rejected"} <= plain and prompt is None and answer is None:
        fault = "which say what people prefer, not what is right; give rows with an expected answer"
        raise BadInput(f"{data.path}: the columns 'chosen' and 'rejected' hold preferences, {fault}")
    chats = [name for name in data.names if prompt in (None, name) and _turn_of(data, name) is not None]
    if chats:
        shape = _chat(data, next((name for name in chats if not data.named("answer", [name])), chats[0]), answer)
    else:
        shape = _question(data, prompt, answer, form)
    systems = [name for name in data.named("system") if name not in shape.used][:1]
    system = {"system": f"{{{{ {data.expression(systems[0])} or '' }}}}"} if systems else {}
    return replace(shape, asked={**system, **shape.asked}, others=(*systems, *shape.others))


def _question(data: Rows, prompt: str | None, answer: str | None, form: str | None) -> Shape:
    """Shape rows of questions.

    A context may stand before the question, and options after it.
    """
    choices, offered = _options(data)
    others = [name for name in data.names if name not in (*offered, prompt)]
    answer = answer or _one(data, data.named("answer", others), "answer_field")
    parts, question = _parts(data, prompt, answer, offered)
    own = ", ".join(map(data.expression, parts))
    asked = f"{{{{ {own if len(parts) == 1 else f'[{own}] | reject({EMPTY}) | join({BLANK})'} }}}}"
    context = tuple(name for name in parts if name != question)
    shape = Shape({"prompt": asked}, *_answer(data, answer), (question, answer), context)
    lines = "\n\n{% for option in options %}{{ option.label }}. {{ option.text }}\n{% endfor %}"
    about = f"one of the options of {', '.join(map(repr, offered))}"
    with_options = Shape(
        {"prompt": asked + lines + ASK_LETTER}, "", "", shape.needed, (*shape.others, *offered), choices, about
    )
    return (_with_right_option(data, with_options, form) if choices else None) or shape


def _parts(data: Rows, prompt: str | None, answer: str, offered: Sequence[str]) -> tuple[list[str], str]:
    """Find the columns that make a prompt, in order.

    Return also the one that no row may lack.
    """
    if prompt is not None:
        parts = [prompt] if prompt in data.names else [part.strip() for part in prompt.split(",")]
        for part in parts:
            if part not in data.names:
                raise BadInput(f"--prompt-field {part}: no row of {data.path} has it; {nearest(part, data.names)}")
        return parts, parts[-1]
    texts = [name for name in data.names if name not in (answer, *offered) and data.all(name, (str, type(None)))]
    first = data.named("instruction", texts)
    questions = data.named("question", [name for name in texts if name not in first]) or first
    context = [name for name in data.named("context", texts) if name not in questions]
    if not questions and len(context) == 1:
        return context, context[0]
    if len(questions) == 2 and (own := [name for name in questions if name not in data.named("context", questions)]):
        questions, context = own, [*context, *(name for name in questions if name not in own)]
    question = _one(data, questions, "prompt_field", texts)
    needed = first[0] if first and first != questions else question
    return list(dict.fromkeys((*context, needed, question))), needed


def _one(data: Rows, names: Sequence[str], option: str, others: Sequence[str] | None = None) -> str:
    """Return the only one of some columns. Raises Unsure where there are several, or none."""
    if len(names) == 1:
        return names[0]
    what = "the question" if option == "prompt_field" else "the expected answer"
    which = f"{' and '.join(map(repr, names))} may be it" if names else f"there are {', '.join(map(repr, data.names))}"
    raise Unsure(f"{data.path}: cannot tell which column has {what}: {which}", option, names or others or data.names)


def _answer(data: Rows, name: str) -> tuple[str, str]:
    """Return the template of a column's answers, and the metric for them.

    The metric is "" where the answers' texts decide it.
    """
    if name not in data.names:
        raise BadInput(f"--answer-field {name}: no row of {data.path} has it; {nearest(name, data.names)}")
    own, values = data.expression(name), data.values(name)
    if data.all(name, dict):
        several = next((key for key in ("text", "aliases") if all(value.get(key) for value in values)), None)
        own += f'["{several}"]' if several else ""
        return f"{{{{ {own} | tojson }}}}", "contains" if several else "json_match"
    if (turn := _turn_of(data, name)) is not None:
        return f'{{{{ {own}[-1]["{turn[1]}"] }}}}', ""
    if data.all(name, list):
        return f"{{{{ {own} | tojson }}}}", "contains"
    if data.all(name, bool):
        return f'{{{{ "yes" if {own} else "no" }}}}', ""
    if _has_decimal_commas(values):
        own += COMMAS
    elif all("####" in str(value) for value in values):
        own += '.split("####")[-1] | trim'
    return f"{{{{ {own} }}}}", ""


def _has_decimal_commas(values: Sequence[Any]) -> bool:
    """Tell whether all values are numbers, some with a decimal comma.

    A comma before three digits may separate thousands, so at least one must stand before another number of digits.
    """
    is_number = all(re.fullmatch(r"[-+]?[\d.]*\d(,\d+)?", str(value)) for value in values)
    return is_number and any(re.search(r",(\d\d?|\d{4,})$", str(value)) for value in values)


def _turn_of(data: Rows, name: str) -> tuple[str, str] | None:
    """Return the keys of who speaks and what is said in a column.

    Return None for a column without conversations.
    """
    if not data.all(name, list):
        return None
    turns = [turn for value in data.values(name) for turn in value]
    return next((pair for pair in TURN if all(isinstance(t, dict) and {*pair} <= t.keys() for t in turns)), None)


def _chat(data: Rows, name: str, answer: str | None) -> Shape:
    """Shape rows of conversations.

    The last turn is the answer unless a column has it.
    """
    who, said = _turn_of(data, name) or TURN[0]
    last = [(_usual()["speakers"].get(str(turn[-1][who]).lower()), turn[-1][said]) for turn in data.values(name)]
    ends = [role == "assistant" and isinstance(text, str) and text.strip() != "" for role, text in last]
    others = data.named("answer", [other for other in data.names if other != name])
    if answer is None and all(ends) and data.named("answer", others, surely=True):
        fault = f"{data.path}: the answer may be in {others[0]!r}, or be the last turn of {name!r}"
        raise Unsure(fault, "answer_field", [*others, name])
    if answer is None and any(ends) and not all(ends):
        fault = f"{name!r} does not end with words of the assistant, as that of other rows does"
        raise BadInput(f"{data.path}: row {1 + ends.index(False):,}: {fault}; correct or remove it")
    is_last = answer in (None, name) and all(ends)
    answer = name if is_last else answer or _one(data, others, "answer_field")
    turns = f"{data.expression(name)}{'[:-1]' if is_last else ''}"
    messages = f"{{{{ {turns} | tojson }}}}"
    if {who, said} != {"role", "content"}:
        message = f'{{"role": roles.get(turn["{who}"] | lower, turn["{who}"]), "content": turn["{said}"]}}'
        each = f"{{{{ {message} | tojson }}}}{{{{ '' if loop.last else ',' }}}}"
        messages = (
            f"{{% set roles = {json.dumps(_usual()['speakers'])} %}}[{{% for turn in {turns} %}}{each}{{% endfor %}}]"
        )
    about = "the last turn of each conversation" if is_last else f"to the conversation in {name!r}"
    return Shape({"messages": messages}, *_answer(data, answer), tuple(dict.fromkeys((name, answer))), about=about)


def _options(data: Rows) -> tuple[Mapping[str, str], list[str]]:
    """Return the templates of a choice's options and labels, and their columns."""
    as_texts = f' | reject({EMPTY}) | map("string") | map("trim") | list | tojson'
    for name in data.named("option", surely=True):
        own, first = data.expression(name), data.values(name)[0]
        if data.all(name, str):
            fault = f"{name!r} holds options as text that is no JSON list, as {first[:SHOWN]!r}"
            raise BadInput(f"{data.path}: {fault}; write a list, or a column for each")
        if not data.all(name, (list, dict)) or (isinstance(first, list) and len(first) < 2):
            continue
        keys = {"options": own}
        if isinstance(first, list) and isinstance(first[0], dict):
            keys = {f"{key}s": f'{own} | map(attribute="{key}")' for key in ("label", "text") if key in first[0]}
        elif isinstance(first, dict) and "text" in first:
            keys = {f"{key}s": f'{own}["{key}"]' for key in ("label", "text") if key in first}
        elif isinstance(first, dict):
            keys = {"options": f"{own}.values()", "labels": f"{own}.keys()"}
        return {key.replace("texts", "options"): f"{{{{ {of}{as_texts} }}}}" for key, of in keys.items()}, [name]
    by_plain = {_plain(name): name for name in data.names}
    for prefix in ("", *" ".join(_usual()["option"]).split()):
        for marks in (ascii_lowercase[:10], *(("0123456789", "123456789") if prefix else ())):
            series = takewhile(by_plain.__contains__, [prefix + mark for mark in marks])
            columns = [by_plain[name] for name in series]
            if len(columns) > 1:
                cells = ", ".join(f"row.get({name!r})" for name in columns)
                return {"options": f"{{{{ [{cells}]{as_texts} }}}}"}, columns
    return {}, []


def _with_right_option(data: Rows, shape: Shape, form: str | None) -> Shape | None:
    """Make the right option's label the answer of a shape.

    The answers name options in a form that fits all rows.
    """
    answer, own = shape.needed[-1], f"{data.expression(shape.needed[-1])} | string"
    templates = {
        "letter": f'{{{{ {own} | trim(" ().:"){"" if "labels" in shape.choices else " | upper"} }}}}',
        "text": f'{{{{ (options | selectattr("text", "eq", {own} | trim) | first).label }}}}',
    }
    if all(re.fullmatch(r"\d+(\.0)?", str(value)) for value in data.values(answer)):
        templates["0"] = f"{{{{ options[{own} | int].label }}}}"
        templates["1"] = f"{{{{ ([none] + options)[{own} | int].label }}}}"
    read = {}
    for name, template in templates.items():
        with suppress(BadInput):
            read[name] = tuple(s.target for s in replace(shape, answer=template).samples(data))
    if form is None and "letter" in read and "labels" in shape.choices:
        form = "letter"
    if form is not None and form not in read:
        raise BadInput(f"--answer-form {form}: not all answers in {answer!r} have this form; {nearest(form, read)}")
    if form is None and len({*read.values()}) > 1:
        fault = f"{data.path}: {answer!r} names the right option by {' or '.join(FORMS[name] for name in read)}"
        raise Unsure(f"{fault}; all rows fit both", "answer_form", [*read])
    if not read and len(_plain(shape.others[-1])) == 1:
        return None  # columns of one letter may be anything
    if not read:
        value = visible(clip(str(data.values(answer)[0]), SHOWN, "…"))
        fault = "do not all name an option by letter, text or number; correct them, or name another --answer-field"
        raise BadInput(f"{data.path}: the answers in {answer!r}, such as {value!r}, {fault}")
    return replace(shape, answer=templates[form or next(iter(read))])


@cache
def _usual() -> Any:
    """Read the usual names of columns by role, and of who speaks."""
    return tomllib.loads(files("accgate.cli.starter").joinpath("columns.toml").read_text("utf-8"))


def _plain(name: str) -> str:
    """Strip a column's name of case, accents, spaces and marks.

    >>> _plain("Expected_Answer"), _plain("Réponse"), _plain("A)")
    ('expectedanswer', 'reponse', 'a')
    """
    return "".join(letter for letter in unicodedata.normalize("NFKD", name.casefold()) if letter.isalnum())
