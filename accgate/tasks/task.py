"""A task with samples in their fixed order, and its identifying fingerprint."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import cached_property
from typing import Any

from accgate import metrics
from accgate.errors import BadInput, KeyFaults
from accgate.inputs.rows import Row
from accgate.metrics import CALLS, Metric, code_digest, helpers_digest
from accgate.metrics.calls import CALLING, with_tools
from accgate.metrics.equality import BOXES, EQUALITY
from accgate.metrics.forms import FORMED, FORMS
from accgate.metrics.numbers import READING
from accgate.records.ids import Ids
from accgate.tasks.code import PROGRAMS
from accgate.tasks.definition import Definition, library_file, library_names, read_definition
from accgate.tasks.extract import CONFIDENCE, FIRST_READING, by_form, by_json_path, by_regex, reads_digits_alone
from accgate.tasks.rows import SolvedExamples, Source, read_rows, rows_of, shown_first, with_subset
from accgate.tasks.sample import Sample, samples_of
from accgate.tasks.samples import Samples
from accgate.tasks.schema import DefinitionFile, Mode
from accgate.tasks.tools import calls_answer, parse_reply
from accgate.text import nearest

UNREAD = "unread {}"  # the id of a sample of which only its number is known
WORDING = "wording"  # the digest of a prompt without the examples in it, of a task that was not read
# Parts of a task's fingerprint: a change of the rules of `by_letter`, or of `likeliest_option`, gets another name here.
LETTERS, TIES = "letters of 26 November 2026", "ties of 26 November 2026"
NO_ROWS = hashlib.sha256(b"[]").hexdigest()[:16]


@dataclass(frozen=True)
class Task:
    """A task's samples in the fixed order, and how their replies are scored.

    `definition` has the mode, the subsets and the use of reasoning that accuracy.toml sets. `dataset_ids` are those of
    the whole dataset, None for a generated task, which has no end. `fingerprint` has a hash for each part that can
    change a score: dataset, prompt, extract, metric, reply, and files where a user's metric has some beside its code.
    `parts` are the tasks that a joined one consists of, without samples: they ask, read and score.
    """

    name: str
    samples: Samples
    metric: Metric
    definition: Definition
    fingerprint: Mapping[str, str]
    dataset_ids: Ids | None = None
    parts: Mapping[str, Task] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Pack samples that come as another sequence."""
        object.__setattr__(self, "samples", Samples(self.samples))

    @property
    def content(self) -> DefinitionFile:
        """What the definition says."""
        return self.definition.content

    @property
    def has_tools(self) -> bool:
        """Whether the model may call functions."""
        return self.content.tools is not None

    @property
    def is_unread(self) -> bool:
        """Whether only the number of samples is known (`stored_task`)."""
        return UNREAD.format(0) in self.samples.ids

    @property
    def by_likelihood(self) -> bool:
        """Whether the engine scores the options of a multiple choice."""
        return self.content.by_likelihood

    @property
    def needs_likelihoods(self) -> bool:
        """Whether the engine scores given texts."""
        return self.by_likelihood or self.metric.kind == "likelihood"

    @property
    def has_pattern(self) -> bool:
        """Whether the task itself says where the answer is in a reply."""
        extract = self.content.extract
        return any(way is not None for way in (extract.form, extract.regex, extract.json_path))

    @property
    def extracts(self) -> bool:
        """Whether an answer is looked for in the reply.

        Otherwise the whole reply is the answer.
        """
        return self.has_pattern or self.content.by_letter or self.metric.name == CALLS

    @cached_property
    def groups(self) -> Mapping[str, str] | None:
        """The group of each sample by its id, or None where all lack one.

        A sample without a group has an empty one.
        """
        names = self.samples.names("group") or ()
        return {id_: name or "" for id_, name in zip(self.samples.ids, names, strict=True)} if any(names) else None

    def part_of(self, sample: Sample) -> Task:
        """Return the task that asks, reads and scores a sample.

        For a joined task that is one of its parts.
        """
        return self.parts[sample.part] if sample.part else self

    def answer(self, reply: str, sample: Sample) -> str | None:
        """Find the answer in a reply to a sample.

        The sample has options, a prefix or a program that reading may need. None means that extraction finds nothing.
        With tools, the reply is in the form that `reply_json` writes, and the answer is its calls or is read from its
        text.
        """
        if self.has_tools:
            tool_reply = parse_reply(reply)
            if self.metric.name == CALLS:
                return calls_answer(tool_reply, sample.tools)
            if tool_reply.calls and not tool_reply.content.strip():
                return None
            reply = tool_reply.content
        return self._extract(reply, sample)

    def _extract(self, reply: str, sample: Sample) -> str | None:
        """Return what the extraction finds in a text."""
        extract = self.content.extract
        if extract.with_prefix:
            reply = sample.prefix + reply
        if extract.form is not None:
            language = sample.group if extract.language == "group" else extract.language
            return by_form(reply, extract.form, extract.which, sample.target, language or "")
        if extract.regex is not None:
            return by_regex(reply, extract.regex, extract.which)
        if extract.json_path is not None:
            return by_json_path(reply, extract.json_path)
        if self.content.by_letter:
            from accgate.metrics.letters import by_letter  # whose patterns take long to compile

            return by_letter(reply, [(option.label, option.text) for option in sample.options])
        return reply.strip()

    def targets(self, target: str) -> list[str]:
        """Return the reference texts of a sample's target."""
        return [target] if self.content.targets is None else [str(text) for text in json.loads(target)]

    def score(self, answer: str, target: str, tools: Sequence[Mapping[str, Any]] = ()) -> float:
        """Score an answer by the metric and against every reference text.

        Calls are also checked against the schemas of their tools.
        """
        several, targets = self.content.targets is not None, self.targets(target)
        if tools and self.metric.name == CALLS:
            targets = [with_tools(each, tools) for each in targets]
        return self.metric.against(answer, targets) if several else self.metric(answer, targets[0])

    def first(self, n: int) -> Task:
        """Return the same task with the first n samples of the order.

        These are the random subset that is the same everywhere.
        """
        return self.of(self.samples[:n])

    def of(self, samples: Iterable[Sample]) -> Task:
        """Return the same task with only these samples."""
        return replace(self, samples=Samples(samples))


def build_task(
    name: str, definition: Definition, source: Source, *, mode: Mode | None = None, loaded: bool = True
) -> Task:
    """Build the task of a definition.

    All rows are read, and every sample is rendered. The seed of `source` orders the samples, and seeds a generated task
    whose options set no seed. Unless `loaded`, a user's metric is not loaded: samples can then be ordered and decided
    on, but not scored.

    Raises
    ------
    KeyFaults
        For faults of `source`, with keys of the task's table in accuracy.toml.
    BadInput
        For faults of definition or dataset, each with file, line and fix.
    CannotEvaluate
        When the dataset cannot be had.
    """
    definition = with_subset(definition, source)
    if definition.content.dataset.parts:
        return _joined_task(name, definition, source, mode, loaded=loaded)
    definition = definition.with_mode(mode)
    rows, pool = rows_of(definition, source)
    digest = hashlib.sha256()
    examples_of = SolvedExamples(definition, source, rows, pool).of
    if isinstance(rows, list):
        digest.update(_json(rows))
    else:
        rows = _digested(rows, digest)
    samples = Samples(samples_of(name, definition, rows, examples_of, source.picture_folder(definition)))
    return Task(
        name,
        samples.in_order(source.seed),
        definition.metric(loaded=loaded),
        definition,
        _fingerprint(definition, digest.hexdigest()[:16], shown_first(definition, pool)),
        dataset_ids=None if definition.content.dataset.generator else samples.ids,
    )


def _joined_task(name: str, definition: Definition, source: Source, mode: Mode | None, *, loaded: bool) -> Task:
    if mode is not None:
        raise KeyFaults((("mode",), f"is {mode!r}, but each part of the task has its own; leave mode out"))
    sources = _parts_of(definition, source).items()
    own = {key: build_task(f"{name}/{key}", part, rows, loaded=loaded) for key, (part, rows) in sources}
    parts = {key: part.of(()) for key, part in own.items()}
    samples = Samples(replace(sample, group=key, part=key) for key, part in own.items() for sample in part.samples)
    return Task(
        name,
        samples.in_order(source.seed),
        definition.metric(),
        definition,
        _joined({**_part_fingerprints(definition), **{key: part.fingerprint for key, part in parts.items()}}),
        dataset_ids=samples.ids,
        parts=parts,
    )


def _parts_of(definition: Definition, source: Source) -> dict[str, tuple[Definition, Source]]:
    """Return the definition of each asked part, and the source of its rows.

    A local file holds the rows of all parts.

    Raises
    ------
    KeyFaults
        For settings of the task's table that no part takes.
    BadInput
        For a part that cannot be joined, and for rows of a local file that are of none.
    """
    if source.options:
        raise KeyFaults((("options",), "the task takes no options: its parts are joined as they are; remove it"))
    if source.few_shot is not None:
        raise KeyFaults((("few_shot_dataset",), "does not apply: the parts have their own examples; remove it"))
    own = _part_definitions(definition)
    names = _part_names(source.subset, own)
    for key, part in own.items():
        if fault := _unjoinable(part):
            raise definition.fault(("dataset", "parts", key), fault)
    rows = dict.fromkeys(names) if source.dataset is None else _rows_by_part(definition, source, names)
    plain = replace(source, dataset=None, subset=None, count=None)
    return {key: (part, replace(plain, rows=rows[key])) for key, part in own.items() if key in rows}


def _part_names(subset: str | Sequence[str] | None, parts: Mapping[str, object]) -> Sequence[str]:
    """Name the parts that accuracy.toml asks for, by default all."""
    names = list(parts) if subset is None else [subset] if isinstance(subset, str) else list(subset)
    for name in names:
        if name not in parts:
            raise KeyFaults((("subset",), f"is {name!r}; {nearest(name, parts)}"))
    return names


def _part_definitions(definition: Definition) -> dict[str, Definition]:
    """Return the definition of each part, by its group.

    Raises
    ------
    BadInput
        For a name that the library does not have.
    """
    parts = definition.content.dataset.parts
    for key, name in parts.items():
        if name not in library_names():
            raise definition.fault(("dataset", "parts", key), f"is {name!r}; {nearest(name, library_names())}")
    reasoning = definition.content.reasoning
    return {key: read_definition(library_file(name)).with_reasoning(reasoning) for key, name in parts.items()}


def _unjoinable(part: Definition) -> str | None:
    """Say why a task cannot be a part.

    One verdict needs scores on one scale, for replies that a function reads.
    """
    content = part.content
    metric = metrics.describe(content.metric, **content.metric_options)
    is_plain = metric.kind == "text" and metric.higher_is_better and metric.width == 100.0
    others = (content.choices, content.tools, content.confidence, content.aggregate)
    if is_plain and content.metric != "parts" and not content.attack and all(each is None for each in others):
        return None
    return "cannot be joined: it needs more than a reply's text, or its scores are not from 0 to 100; name another task"


def _rows_by_part(definition: Definition, source: Source, parts: Sequence[str]) -> Mapping[str, list[Row]]:
    assert source.dataset is not None
    column = definition.content.columns.group
    rows: dict[str, list[Row]] = {}
    for number, row in enumerate(read_rows(source.dataset, definition.content.dataset.path), 1):
        key = row.get(column) if column is not None else None
        if key not in parts:
            hint = nearest(str(key), parts)
            raise BadInput(f"{source.dataset}: row {number} has {column} = {key!r}, which is not a part; {hint}")
        rows.setdefault(str(key), []).append(row)
    return rows


def _joined(fingerprints: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """Return the fingerprint of a joined task.

    Each of its hashes is computed from the parts' hashes of that name.
    """
    names = sorted({name for each in fingerprints.values() for name in each})
    return {name: hash_of({key: each[name] for key, each in fingerprints.items() if name in each}) for name in names}


def _part_fingerprints(definition: Definition) -> dict[str, dict[str, str]]:
    """Return the fingerprints of all parts, as they are without rows."""
    return {key: _fingerprint(part, NO_ROWS, ()) for key, part in _part_definitions(definition).items()}


def stored_task(
    name: str, definition: Definition, samples: Iterable[Sample], recorded: Mapping[str, str], *, seed: int
) -> Task:
    """Build a task from the samples that a reference keeps.

    Samples have ids and columns, and neither prompt nor target. The task can order them and decide on their scores, but
    neither ask nor score: no dataset is read and no user's metric loaded. Hashes that follow from the definition are
    computed, the others are `recorded`; `WORDING` tells the prompts of two definitions apart.
    """
    fingerprint = dict(recorded)
    if recorded and not definition.content.by_harness:
        parts = _part_fingerprints(definition)
        own = _joined(parts) if parts else _fingerprint(definition, NO_ROWS, ())
        own.pop("dataset")
        fingerprint |= {WORDING: own.pop("prompt"), **own}
    return Task(name, Samples(samples).in_order(seed), definition.metric(loaded=False), definition, fingerprint)


def _fingerprint(definition: Definition, dataset: str, examples: Sequence[Row]) -> dict[str, str]:
    """Return 16 hex digits of SHA-256 for each part of a task.

    The parts are prompt, extract, metric and reply, beside that of the `dataset`. A key that a definition does not set
    leaves the hashes as they are, so that references outlive new keys.
    """
    content = definition.content
    choices = None if content.choices is None else asdict(content.choices)
    attacks = [asdict(attack) for attack in content.attack]
    confidence = None if content.confidence is None else asdict(content.confidence)
    if confidence is not None and confidence["regex"] is None:
        confidence["regex"] = CONFIDENCE if confidence["by"] == "reply" else FIRST_READING
    judge = None if content.judge is None else {k: v for k, v in asdict(content.judge).items() if k != "marks" or v}
    own = code_digest(content.metric, definition.folder)
    options = dict(content.metric_options)
    reading = {"math": EQUALITY, CALLS: CALLING}.get(content.metric)
    if not options.pop("as_published", False) and content.metric in FORMED:
        reading = FORMS  # as published, scores are what they were before there was another way
    if content.metric == "numeric_match" and not reads_digits_alone(content.extract):
        reading = READING
    scored = [options, own, content.aggregate, content.aggregate_options, judge]
    target = content.target if content.targets is None else {"targets": content.targets}
    extract, few_shot = content.extract, content.few_shot
    versions = {"number": READING, "boxed": BOXES, "python": PROGRAMS}
    drawn = [] if few_shot.seed is None else [few_shot.seed, few_shot.count]
    letters = content.by_letter and extract.regex is None and extract.json_path is None and LETTERS
    ties = content.by_likelihood and TIES
    conversation = {"messages": content.messages, "tools": content.tools, "tool_choice": content.tool_choice}
    parts: dict[str, Any] = {
        "prompt": [
            content.prompt,
            content.system,
            content.mode,
            examples,
            *_set(choices, attacks, content.images),
            *drawn,
            *_set_named(conversation),
        ],
        "extract": [
            target,
            extract.regex,
            extract.which,
            extract.json_path,
            *_set(confidence),
            *_set(extract.form, extract.form and versions[extract.form]),
            *_set(letters or ties),
            *_set(None if content.reasoning == "strip" else content.reasoning),
            *_set_named({"with_prefix": extract.with_prefix}),
            *_set_named({"language": extract.language}),
        ],
        "metric": [content.metric, *scored, *_set(reading)] if any((*scored, reading)) else content.metric,
        "reply": [content.stop, content.max_tokens],
    }
    helpers = helpers_digest(content.metric, definition.folder, content.files) if ":" in content.metric else None
    if helpers is not None:
        parts["files"] = helpers
    return {"dataset": dataset, **{key: hash_of(part) for key, part in parts.items()}}


def hash_of(part: Any) -> str:
    """Return 16 hex digits of SHA-256 over a value as JSON with sorted keys."""
    return hashlib.sha256(_json(part)).hexdigest()[:16]


def _json(part: Any) -> bytes:
    return _SORTED.encode(part).encode()


def _digested(rows: Iterable[Row], digest: hashlib._Hash) -> Iterator[Row]:
    """Pass on rows one by one, and digest them.

    The digest is that of their JSON list.
    """
    digest.update(b"[")
    between = b""
    for row in rows:
        yield row
        digest.update(between + _json(row))
        between = b", "
    digest.update(b"]")


def _set(*values: Any) -> list[Any]:
    return list(values) if any(values) else []


def _set_named(values: Mapping[str, Any]) -> list[Any]:
    return [dict(values)] if any(values.values()) else []


def _plain(value: Any) -> str:
    """Write a value that JSON lacks as text, by its content.

    Examples are dates, and bytes or images of a dataset.
    """
    content = value if isinstance(value, bytes) else value.tobytes() if hasattr(value, "tobytes") else None
    return str(value) if content is None else hashlib.sha256(content).hexdigest()


_SORTED = json.JSONEncoder(sort_keys=True, default=_plain)
