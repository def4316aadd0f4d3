"""A sample of a task, and how a row of the dataset becomes one."""

import base64
import hashlib
import io
import json
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accgate.engines.base import prefix_of
from accgate.errors import BadInput
from accgate.inputs.paths import read_plain
from accgate.inputs.rows import Row
from accgate.metrics import CALLS
from accgate.metrics.calls import expected_calls
from accgate.sandbox.assertions import BadCases, Case, cases_of
from accgate.tasks.attacks.attack import Attack, attack_text
from accgate.tasks.choices import Option, options_of
from accgate.tasks.conversation import Messages, last_user, messages_of, transcript
from accgate.tasks.definition import Definition
from accgate.tasks.faults import ANSWER
from accgate.tasks.prompts import CannotRender, Rubric, Scope, json_list, render, render_around, render_list, rubric_of
from accgate.tasks.schema import DefinitionFile
from accgate.tasks.tools import tools_of
from accgate.text import visible

SUBSET = "subset"  # the column that names a row's configuration, where several are read
ExamplesOf = Callable[[Row], Sequence[Row]]
Question = str | Messages  # one text, or a conversation
# Columns that name samples, the first there is.
OWN_IDS = ("id", "question_id", "task_id", "qid", "uid", "doc_id", "_id")
MOST_OF_PICTURE = 64_000_000  # bytes
LONGEST_PATH = 1000  # characters; a longer text is the picture itself
LONGEST_ID = 200  # characters of an own id
SIGNATURES = ((b"\x89PNG", "png"), (b"\xff\xd8", "jpeg"), (b"GIF8", "gif"), (b"RIFF", "webp"))


@dataclass(frozen=True, slots=True)
class Sample:
    """One prompt with its target.

    `prompt` is the whole prompt as one text, the system message first. `user` is the part without it, "" where
    `messages` has a conversation. `attacked` has the user's part or the conversation once more for each attack.
    `images` are data URLs, `rubric` is the judge's prompt without the reply, and `tools` are functions that the model
    may call. `program` is the text around the places of the reply's code, `cases` are the tests of a whole program.
    `part` names the task that a sample of a joined one comes from. `own_id` is the dataset's own id, which people see
    in place of `id`, and which no digest holds.
    """

    id: str
    prompt: str
    user: str
    system: str
    target: str
    cluster: str | None = None
    group: str | None = None
    label: str | None = None
    options: tuple[Option, ...] = ()
    images: tuple[str, ...] = ()
    attacked: tuple[str | Messages, ...] = ()
    rubric: Rubric | None = None
    program: tuple[str, ...] = ()
    cases: tuple[Case, ...] = ()
    messages: Messages = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    part: str = ""
    own_id: str | None = None

    @property
    def shown_id(self) -> str:
        """The id that people see."""
        return self.own_id or self.id

    @property
    def prefix(self) -> str:
        """The beginning of the reply, which the model continues.

        Most conversations have none, and it is "".
        """
        return prefix_of(self.messages)


def sample_id(task: str, prompt: str, target: str, occurrence: int) -> str:
    r"""Return 16 hex digits of SHA-256 over `task \0 prompt \0 target \0 occurrence`.

    >>> sample_id("arithmetic", "1 + 1 =", "2", 0)
    '69dc3a0c0980ceb6'
    """
    return hashlib.sha256(f"{task}\0{prompt}\0{target}\0{occurrence}".encode()).hexdigest()[:16]


def samples_of(
    name: str,
    definition: Definition,
    rows: Iterable[Row],
    examples_of: ExamplesOf,
    folder: Path | None,
) -> Iterator[Sample]:
    """Make a sample of each row, in their order, with its solved examples.

    Images are looked for in `folder`. With `columns.group = "subset"` samples have no groups where all `rows` are of
    one subset; `rows` is then a list.

    Raises
    ------
    BadInput
        With the row's number, for templates that fail on it.
    """
    seen, own_ids = Occurrences(), OwnIds(definition.content.columns.id)
    content = definition.content
    sources = (content.dataset, content.dataset.join)  # what rows of the hub name here, the guard does not see
    closed = definition.trees if any(source is not None and source.hub for source in sources) else ()
    if content.columns.group == SUBSET and not any(SUBSET in row for row in rows):
        content = replace(content, columns=replace(content.columns, group=None))
    for number, row in enumerate(rows, 1):
        try:
            own_id = own_ids.of(row, number)
            yield _sample(name, content, Scope(row, examples_of(row)), folder, seen, closed, own_id)
        except (CannotRender, UnicodeEncodeError) as error:
            named = own_ids.text_of(row)
            which = f"row {number} of the dataset" + ("" if named is None else f" ({visible(named)})")
            raise BadInput(f"{definition.path}: {which}: {error}") from error


class OwnIds:
    """The ids that a dataset gives its samples.

    They stand in the column that the definition names, or in one with a usual name.
    """

    def __init__(self, column: str | None) -> None:
        self._column, self._columns = column, OWN_IDS if column is None else (column,)
        self._seen: set[int] = set()

    def text_of(self, row: Row) -> str | None:
        """Return the id in a row as text, or None.

        Only a text or a whole number is an id.
        """
        value = next((row[name] for name in self._columns if name in row), None)
        is_id = isinstance(value, (str, int)) and not isinstance(value, bool)
        return (str(value).strip()[:LONGEST_ID] or None) if is_id else None

    def of(self, row: Row, number: int) -> str | None:
        """Return the id that people see of a row.

        Where an earlier row has the same, the row's number is added.

        Raises
        ------
        CannotRender
            When the row lacks the column that the task names.
        """
        if self._column is not None:
            _cell(row, self._column)
        if (text := self.text_of(row)) is None:
            return None
        is_again = hash(text) in self._seen
        self._seen.add(hash(text))
        return f"{text} (row {number})" if is_again else text


class Occurrences:
    """Counts of the samples so far that are alike."""

    def __init__(self) -> None:
        self._first: set[int] = set()  # numbers, which take two thirds of the memory of texts
        self._again: Counter[str] = Counter()

    def id_of(self, task: str, prompt: str, target: str) -> str:
        """Count a sample, and return its id.

        Identical samples are counted from 0, so that each has an id of its own.
        """
        id_ = sample_id(task, prompt, target, 0)
        if (number := int(id_, 16)) not in self._first:
            self._first.add(number)
            return id_
        self._again[id_] += 1
        return sample_id(task, prompt, target, self._again[id_])


def _sample(
    name: str,
    content: DefinitionFile,
    scope: Scope,
    folder: Path | None,
    seen: Occurrences,
    trees: Sequence[Path],
    own_id: str | None,
) -> Sample:
    row = scope.row
    options = () if content.choices is None else options_of(content.choices, scope)
    scope = replace(scope, names=_names(content, options))
    question = _question(content, scope)
    user, messages = (question, ()) if isinstance(question, str) else ("", question)
    system = render(content.system, scope) if content.system else ""
    tools = _tools(content, scope)
    text = _text(question, tools, content)
    target, program, cases = _target(content, scope)
    if content.metric == CALLS:
        _check_calls([target] if content.targets is None else json.loads(target))
    rubric = None
    if content.judge is not None:
        rubric = rubric_of(content.judge.rubric, row, {"prompt": text, "target": target})
    named = {key: getattr(content.columns, key) for key in ("cluster", "group", "label")}
    columns = {key: _name(row, column, key) for key, column in named.items() if column is not None}
    images = _images(row, content.images, folder, trees)
    if images and messages:
        last_user(messages)  # where they go
    "".join((text, system, target, own_id or "", *columns.values())).encode()  # JSON can spell half a character
    if options and target not in [option.label for option in options]:
        raise CannotRender(f"the target {target!r} is none of the labels {[option.label for option in options]}")
    prompt = (f"{system}\n\n{text}" if system else text) + _digests(images)
    id_ = seen.id_of(name, prompt, target)
    variants = tuple(_attack(each, content, scope, question, id_) for each in content.attack)
    return Sample(
        id_, prompt, user, system, target, **columns, options=options, images=images, attacked=variants, rubric=rubric,
        program=program, cases=cases, messages=messages, tools=tools, own_id=own_id,
    )  # fmt: skip


def asked_of(content: DefinitionFile, scope: Scope) -> str | None:
    """Return what a prompt asks, its pictures included, to compare prompts.

    A row that lacks a column has none.
    """
    try:
        options = () if content.choices is None else options_of(content.choices, scope)
        scope = replace(scope, names=_names(content, options))
        system = render(content.system, scope) if content.system else ""
        pictures = [_cell(scope.row, column) for column in content.images]
        return json.dumps([system, _question(content, scope), pictures], default=str)
    except CannotRender:
        return None


def _question(content: DefinitionFile, scope: Scope) -> Question:
    """Return what is asked."""
    if content.messages is not None:
        return messages_of(content.messages, scope)
    return render(content.prompt or "", scope)


def _tools(content: DefinitionFile, scope: Scope) -> tuple[Mapping[str, Any], ...]:
    tools = content.tools
    if tools is None:
        return ()
    if isinstance(tools, str):
        tools = json_list("tools", render(tools, scope, in_order=True))
    return tools_of(tools)


def _text(question: Question, tools: Sequence[Mapping[str, Any]], content: DefinitionFile) -> str:
    """Return the question as one text, from which the sample's id is computed.

    A prompt without tools is itself.
    """
    if isinstance(question, str) and not tools:
        return question
    messages = ({"role": "user", "content": question},) if isinstance(question, str) else question
    return transcript(messages, tools, content.tool_choice)


def _names(content: DefinitionFile, options: Sequence[Option]) -> Mapping[str, Any]:
    """Return the names that templates see beside the row's columns."""
    if content.choices is None:
        return {}
    return {"options": [{"label": each.label, "text": each.text} for each in options], "by": content.choices.by}


def _target(content: DefinitionFile, scope: Scope) -> tuple[str, tuple[str, ...], tuple[Case, ...]]:
    """Return the target, the text around a program's code, and a program's tests.

    Only targets of code have the latter two.
    """
    if content.target is None:
        texts = render_list("targets", content.targets or "", scope)
        if not texts:
            raise CannotRender("targets gives an empty list; a sample needs a reference text")
        return json.dumps(texts, ensure_ascii=False), (), ()
    if content.metric == "code_tests":
        parts = render_around(ANSWER, content.target, scope)
        if len(parts) < 2:
            raise CannotRender(f"target has no {ANSWER}, so the reply's code would not be run")
        return ANSWER.join(parts), tuple(parts), ()
    if content.metric == "code_output":
        text = render(content.target, scope)
        try:
            cases = cases_of(text)
        except BadCases as error:
            raise CannotRender(f"target: {error}") from error
        # Not the cases, which may be megabytes: targets stand in records.
        return f"{len(cases)} tests, sha256:{hashlib.sha256(text.encode()).hexdigest()[:16]}", (), cases
    return render(content.target, scope), (), ()


def _check_calls(targets: Sequence[str]) -> None:
    for each in targets:
        try:
            expected_calls(each)
        except ValueError as error:
            raise CannotRender(f"the target {error}") from error


def _attack(attack: Attack, content: DefinitionFile, scope: Scope, question: Question, id_: str) -> Question:
    """Attack one column of the question, or all of it.

    In a conversation the user's last message is attacked.
    """
    row = scope.row
    paired = None if attack.column is None else _cell(row, attack.column)
    if attack.field is not None:
        changed = attack_text(attack, _cell(row, attack.field), key=id_, paired=paired)
        return _question(content, replace(scope, row={**row, attack.field: changed}))
    if isinstance(question, str):
        return attack_text(attack, question, key=id_, paired=paired)
    place = last_user(question)
    changed = attack_text(attack, question[place]["content"], key=id_, paired=paired)
    return (*question[:place], {**question[place], "content": changed}, *question[place + 1 :])


def _name(row: Mapping[str, Any], column: str, key: str) -> str:
    """Return the cluster, group or label of a row.

    A row needs a cluster, since all rows without one would be one cluster.
    """
    value = _cell(row, column)
    if key == "cluster" and (value is None or value == "" or (isinstance(value, float) and math.isnan(value))):
        raise CannotRender(f"has no cluster: column {column!r} is empty; fill it in every row, or leave `cluster` out")
    return str(value)


def _cell(row: Mapping[str, Any], column: str) -> Any:
    if column not in row:
        raise CannotRender(f"has no column {column!r}; the row has {', '.join(map(str, row))}")
    return row[column]


def _images(
    row: Mapping[str, Any], columns: Sequence[str], folder: Path | None, trees: Sequence[Path]
) -> tuple[str, ...]:
    """Return the row's images as data URLs, without those of empty columns.

    Empty columns give none. An image is a data URL, a path relative to `folder` (where there is one), bytes (as base64
    or in `{"bytes": ...}`), or one of PIL's. A path into one of `trees` is refused.

    Raises
    ------
    CannotRender
        When a column is missing, or holds no image.
    """
    urls = []
    for column in columns:
        value = _cell(row, column)
        file = picture_file(value, folder)
        if file is not None and any(file.resolve().is_relative_to(tree.resolve()) for tree in trees):
            fault = "a file of the repository; only rows of a local file may do that"
            raise CannotRender(f"column {column!r} of a dataset of the hub names {file}, {fault}")
        if value not in (None, ""):
            urls.append(_url(value, column, folder))
    return tuple(urls)


def _url(value: Any, column: str, folder: Path | None) -> str:
    if isinstance(value, str) and value.startswith("data:image/"):
        return value
    content = _content(value, folder)
    kind = next((name for start, name in SIGNATURES if content is not None and content.startswith(start)), None)
    if content is None or kind is None:
        as_what = "bytes; rows of Parquet name no files" if folder is None else "a file's path or bytes"
        raise CannotRender(f"column {column!r} holds no image: write PNG, JPEG, GIF or WebP as {as_what}")
    return f"data:image/{kind};base64,{base64.b64encode(content).decode()}"


def _content(value: Any, folder: Path | None) -> bytes | None:
    if (file := picture_file(value, folder)) is not None:
        return read_plain(file, MOST_OF_PICTURE)
    if isinstance(value, Mapping):
        value = value.get("bytes") or value.get("path")
    if isinstance(value, bytes):
        return value
    if hasattr(value, "save"):  # PIL's, as the hub's datasets give them
        png = io.BytesIO()
        value.save(png, format="PNG")
        return png.getvalue()
    if not isinstance(value, str):
        return None
    try:
        return base64.b64decode(value, validate=True)
    except ValueError:
        return None


def picture_file(value: Any, folder: Path | None) -> Path | None:
    """Return the file that a cell of a row names as its picture.

    A picture in the cell itself gives None.
    """
    if isinstance(value, Mapping):
        value = None if value.get("bytes") else value.get("path")
    if folder is None or not isinstance(value, str) or not 0 < len(value) < LONGEST_PATH:
        return None
    path = folder / value
    return path if not value.startswith("data:image/") and os.path.isfile(path) else None  # noqa: PTH113 (no long name raises)


def _digests(urls: Sequence[str]) -> str:
    """Write a line for each image with its digest.

    These lines are part of the prompt from which the sample's id is computed.
    """
    return "".join(f"\n<image sha256:{hashlib.sha256(url.encode()).hexdigest()[:16]}>" for url in urls)
