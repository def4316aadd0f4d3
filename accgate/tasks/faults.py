"""Faults of a task definition that the types of its keys do not show.

Each comes with its key.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from accgate import metrics
from accgate.errors import Key
from accgate.inputs.paths import no_file
from accgate.metrics import metric_builders
from accgate.metrics.code import entry_point_of, form_fault
from accgate.metrics.kinds import PARTS
from accgate.metrics.languages import LANGUAGES
from accgate.tasks.attacks.attack import pattern_fault
from accgate.tasks.conversation import conversation_faults
from accgate.tasks.extract import check_json_path
from accgate.tasks.generators import GENERATORS, check_options
from accgate.tasks.prompts import REPLY, names_in, template_fault
from accgate.tasks.schema import ENDINGS, Choices, Dataset, DefinitionFile, Extract, FewShot, Join, JudgeTable
from accgate.text import nearest

ANSWER = "<<answer>>"  # where the reply's code goes in a program


def definition_faults(content: DefinitionFile, folder: Path) -> Iterator[tuple[Key, str]]:
    """Yield every fault, with its key.

    Files are looked for in `folder`, where the definition lies.
    """
    yield from _dataset_faults(content.dataset, folder)
    if content.dataset.parts:
        yield from _parts_faults(content)
        return
    yield from _question_faults(content)
    for key in ("prompt", "target", "targets", "system"):
        if fault := template_fault(getattr(content, key) or ""):
            yield (key,), fault
    yield from _target_faults(content)
    yield from _metric_faults(content, folder)
    if content.files and content.metric in metric_builders():
        yield ("files",), f"is set together with metric = {content.metric!r}, which reads no files; remove it"
    yield from aggregate_faults(content)
    yield from _extract_faults(content.extract, content.columns.group)
    yield from _few_shot_faults(content.few_shot, content.dataset, folder)
    if content.choices is not None:
        yield from _choices_faults(content, content.choices)
    pattern = None if content.confidence is None else content.confidence.regex
    if pattern is not None and (fault := _regex_fault(pattern)):
        yield ("confidence", "regex"), fault
    if content.judge is not None:
        yield from _judge_faults(content.judge)
    for attack in content.attack:
        yield from ((("attack", key), fault) for key, fault in attack.faults())
    if content.images and content.mode != "chat":
        yield ("images",), 'needs mode = "chat": a raw completion takes no images'


def _parts_faults(content: DefinitionFile) -> Iterator[tuple[Key, str]]:
    for key in ("prompt", "messages", "tools", "target", "targets", "choices", "confidence", "judge", "aggregate"):
        if getattr(content, key) is not None:
            yield (key,), "is set together with dataset.parts, whose tasks have their own; remove it"
    if content.attack:
        yield ("attack",), "is set together with dataset.parts, whose replies are not attacked; remove it"
    if content.metric != PARTS:
        yield ("metric",), f'is {content.metric!r}; with dataset.parts write metric = "{PARTS}"'
    if content.columns.group is None:
        yield ("columns", "group"), "is missing; name the column of a local file that says which part a row is of"


def _question_faults(content: DefinitionFile) -> Iterator[tuple[Key, str]]:
    if content.messages is None and content.prompt is None:
        yield ("prompt",), 'is missing; add it: prompt = "{{ question }}", a Jinja template over a row, or messages'
    if content.messages is not None:
        for key in ("prompt", "system"):
            if getattr(content, key):
                yield (key,), f"is set together with messages; write {key} as one of them"
    if content.mode != "chat":
        for key in ("messages", "tools"):
            if getattr(content, key) is not None:
                yield (key,), 'needs mode = "chat": a raw completion is one text; remove mode, or write prompt'
    yield from conversation_faults(content.messages, content.tools, content.tool_choice)
    if content.extract.with_prefix and content.messages is None:
        yield ("extract", "with_prefix"), "needs messages that end with one of the assistant"
    if content.tools is not None and content.by_likelihood:
        yield ("tools",), "is set together with [choices] by likelihood, which needs no reply; remove one of the two"


def _target_faults(content: DefinitionFile) -> Iterator[tuple[Key, str]]:
    if content.target is None and content.targets is None:
        yield ("target",), 'is missing; target = "{{ answer }}", a Jinja template over a row'
    elif content.target is not None and content.targets is not None:
        yield ("targets",), "is set together with target; keep one of the two"
    elif content.targets is not None and content.choices is not None:
        yield ("targets",), "is set together with [choices]; give target, the label of the right option"


def _metric_faults(content: DefinitionFile, folder: Path) -> Iterator[tuple[Key, str]]:
    kind: metrics.Kind = "text"
    if ":" in content.metric:
        if fault := form_fault(content.metric, folder):
            yield ("metric",), fault
    else:
        try:
            kind = metrics.describe(content.metric, **content.metric_options).kind
        except metrics.UnknownMetric:
            if entry_point_of(content.metric) is None:
                yield ("metric",), f"is {content.metric!r}; {nearest(content.metric, metric_builders())}"
            return
        except metrics.BadOption as error:
            yield ("metric_options", *([error.option] if error.option else [])), str(error)
            return
    if content.metric == PARTS:
        yield ("metric",), f"is {PARTS!r}, which needs dataset.parts: tasks of the library that are joined"
    yield from _kind_faults(content, kind)
    yield from _tool_faults(content, kind)


def _kind_faults(content: DefinitionFile, kind: metrics.Kind) -> Iterator[tuple[Key, str]]:
    named = f"is {content.metric!r}"
    if content.prompt == "" and kind != "likelihood":
        yield ("prompt",), 'is empty; prompt = "{{ question }}", a Jinja template over a row'
    if content.metric == "code_output" and content.target is None:
        yield ("targets",), 'is set together with metric = "code_output"; give target, a JSON list of test cases'
    if content.metric == "code_tests" and ANSWER not in (content.target or ""):
        yield ("target",), f"has no {ANSWER}; write the whole program, with {ANSWER} where the reply's code goes"
    if kind == "judge" and content.judge is None:
        yield ("metric",), f"{named}, which needs a table [judge] with rubric"
    if kind != "judge" and content.judge is not None:
        yield ("judge",), f'is set together with metric = "{content.metric}"; a judge scores with metric = "judge"'
    if kind == "likelihood" and (content.choices is not None or content.targets is not None):
        yield ("metric",), f"{named}, which scores one target; remove [choices] and targets"
    if kind == "likelihood" and content.attack:
        yield ("attack",), f"does nothing with metric = {content.metric!r}, which asks for no answer; remove it"
    if content.choices is not None and kind != "text":
        yield ("metric",), f"{named}; with [choices] use exact_match"


def _tool_faults(content: DefinitionFile, kind: metrics.Kind) -> Iterator[tuple[Key, str]]:
    if content.metric == "tool_calls" and content.tools is None:
        yield ("tools",), 'is missing; metric = "tool_calls" needs it, the list of functions that a model may call'
    if content.tools is not None and kind in ("likelihood", "code"):
        yield ("tools",), f"is set together with metric = {content.metric!r}, which scores no calls; use tool_calls"


def aggregate_faults(content: DefinitionFile) -> Iterator[tuple[Key, str]]:
    """Yield why the statistic cannot be decided on, with the key.

    A definition that is decided by its mean has no such fault.
    """
    if content.aggregate is None:
        if content.aggregate_options:
            yield ("aggregate_options",), "needs aggregate beside it, the statistic's name"
        return
    try:
        needs = metrics.aggregate(content.aggregate, **content.aggregate_options).needs
    except ValueError as error:  # the message says which name or option is near
        yield ("aggregate",), str(error)
        return
    has_confidence = content.confidence is not None or content.by_likelihood
    has = {
        "confidence": (has_confidence, 'a table [confidence], or [choices] with by = "likelihood"'),
        "attacked": (bool(content.attack), "a table [[attack]]"),
        "group": (content.columns.group is not None, "columns.group"),
        "label": (content.columns.label is not None, "columns.label"),
    }
    for need in needs:
        is_there, fix = has.get(need, (True, ""))
        if not is_there:
            yield ("aggregate",), f"is {content.aggregate!r}, which needs {fix}"


def _extract_faults(extract: Extract, group: str | None) -> Iterator[tuple[Key, str]]:
    ways = [key for key in ("form", "regex", "json_path") if getattr(extract, key) is not None]
    if len(ways) > 1:
        yield ("extract", ways[-1]), f"is set together with {ways[0]}; keep one of the two"
    if extract.form == "boxed" and extract.which == "first":
        yield ("extract", "which"), 'is "first", but the answer is always the last \\boxed{}; remove it'
    if extract.language is not None:
        if extract.form != "number":
            yield ("extract", "language"), 'needs form = "number", whose numbers it says how to read'
        elif extract.language == "group" and group is None:
            yield ("extract", "language"), 'is "group"; name the column of languages as columns.group'
        elif extract.language not in ("group", *LANGUAGES):
            yield ("extract", "language"), f"is {extract.language!r}; {nearest(extract.language, LANGUAGES)}"
    if extract.regex is not None and (fault := _regex_fault(extract.regex)):
        yield ("extract", "regex"), fault
    if extract.json_path is not None and (fault := check_json_path(extract.json_path)):
        yield ("extract", "json_path"), fault


def _choices_faults(content: DefinitionFile, choices: Choices) -> Iterator[tuple[Key, str]]:
    for key in ("options", "labels"):
        if fault := template_fault(getattr(choices, key) or ""):
            yield ("choices", key), fault
    if content.images and choices.by == "likelihood":
        yield ("choices", "by"), "is likelihood, which takes no images; use letter"


def _judge_faults(judge: JudgeTable) -> Iterator[tuple[Key, str]]:
    if fault := template_fault(judge.rubric):
        yield ("judge", "rubric"), fault
    elif REPLY not in names_in(judge.rubric):
        hint = " ({{ answer }} is the dataset's column, <<answer>> is for programs)" if "answer" in judge.rubric else ""
        yield ("judge", "rubric"), f"does not show the model's reply; write {{{{ {REPLY} }}}} where it belongs{hint}"
    if fault := _regex_fault(judge.regex):
        yield ("judge", "regex"), fault
    if judge.lowest >= judge.highest:
        yield ("judge", "highest"), f"is {judge.highest:g}, which must be above lowest = {judge.lowest:g}"
    for name, mark in judge.marks.items():
        if not judge.lowest <= mark <= judge.highest:
            yield ("judge", "marks", name), f"is {mark:g}; give a mark from {judge.lowest:g} to {judge.highest:g}"
    if judge.marks and len(set(judge.marks.values())) == 1:
        yield ("judge", "marks"), "are all the same, so no reply is better than another"


def _few_shot_faults(few_shot: FewShot, dataset: Dataset, folder: Path) -> Iterator[tuple[Key, str]]:
    if few_shot.file is not None and not _is_file(folder / few_shot.file):
        yield ("few_shot", "file"), no_file(folder, few_shot.file)
    if sum((bool(few_shot.examples), few_shot.file is not None, few_shot.split is not None)) > 1:
        yield ("few_shot",), "has several sources of examples; keep one of examples, file and split"
    if few_shot.examples and (few_shot.count or 0) > len(few_shot.examples):
        yield ("few_shot", "count"), f"is {few_shot.count}, but {len(few_shot.examples)} examples are written"
    if few_shot.seed is not None and few_shot.count is None:
        yield ("few_shot", "seed"), "needs count beside it: how many examples are drawn for each sample"
    if few_shot.split is not None and dataset.hub is None:
        yield ("few_shot", "split"), "needs a dataset of the hub; give examples or file"


def _join_faults(join: Join, folder: Path) -> Iterator[tuple[Key, str]]:
    if (join.file is None) == (join.hub is None):
        yield ("dataset", "join"), "needs one of file and hub"
    if join.file is not None and not _is_file(folder / join.file):
        yield ("dataset", "join", "file"), no_file(folder, join.file)


def _where_faults(dataset: Dataset) -> Iterator[tuple[Key, str]]:
    if fault := template_fault(dataset.where or ""):
        yield ("dataset", "where"), fault
    elif unseen := sorted({*dataset.parameters} - names_in(dataset.where or "")):
        yield ("dataset", "parameters", unseen[0]), "is unused: only dataset.where can use it"


def _dataset_faults(dataset: Dataset, folder: Path) -> Iterator[tuple[Key, str]]:
    if dataset.join is not None:
        yield from _join_faults(dataset.join, folder)
    yield from _where_faults(dataset)
    yield from _subset_faults(dataset)
    sources = [key for key in ("file", "hub", "generator", "parts") if getattr(dataset, key)]
    if len(sources) != 1:
        yield ("dataset",), f"has {' and '.join(sources) or 'no source'}; give one of file, hub, generator and parts"
    elif dataset.file is not None:
        if not _is_file(folder / dataset.file):
            yield ("dataset", "file"), no_file(folder, dataset.file)
        elif Path(dataset.file).suffix.lower() not in ENDINGS:
            yield ("dataset", "file"), f"is {dataset.file!r}; the name must end in {', '.join(ENDINGS)}"
    elif dataset.generator is not None:
        if dataset.generator not in GENERATORS:
            yield ("dataset", "generator"), f"is {dataset.generator!r}; {nearest(dataset.generator, GENERATORS)}"
        else:
            for option, fault in check_options(dataset.generator, dataset.options):
                yield ("dataset", "options", option), fault


def _subset_faults(dataset: Dataset) -> Iterator[tuple[Key, str]]:
    if dataset.subsets and (dataset.hub is None or dataset.name is not None):
        yield ("dataset", "subsets"), "needs a dataset of the hub, and no name beside it"
    if len(set(dataset.subsets)) < len(dataset.subsets):
        yield ("dataset", "subsets"), "names a subset twice"


def _is_file(path: Path) -> bool:
    return os.path.isfile(path)  # noqa: PTH113 Path.is_file raises where a name is too long


def _regex_fault(pattern: str) -> str | None:
    if fault := pattern_fault(pattern):
        return fault
    groups = re.compile(pattern).groups
    return None if groups <= 1 else f"has {groups} groups; keep one around the answer, write the others as (?:...)"
