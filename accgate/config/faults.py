"""Faults between values of accuracy.toml, each with its key."""

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from accgate.config.tables import AccuracyFile, Gate, Model, TaskSettings
from accgate.design import allowed_points, allowed_share
from accgate.errors import LIMITS, BadInput, Key, key_text
from accgate.inputs.paths import no_file
from accgate.inputs.toml import TomlFile
from accgate.records.file import file_name
from accgate.stats import PAIRED_TESTS
from accgate.tasks import ENDINGS, library_names
from accgate.text import nearest

NOT_WITH_LM_EVAL = ("file", "library", "mode", "dataset", "few_shot_dataset", "subset", "choose", "judge")
# Fields of a request that are no model's own, for the base's rules say what is asked: `extra` has the last word.
ASKED = ("messages", "prompt", "tools", "tool_choice", "functions", "function_call")


def faults_between(content: AccuracyFile, file: TomlFile) -> Iterator[tuple[Key, str]]:
    """Yield every fault between values, with its key.

    Files are looked for from the folder of `file`.
    """
    for kind, names in (("models", content.models), ("tasks", content.tasks)):
        if not names:
            yield (kind,), f"has no table; add [{kind}.NAME]"
        yield from _name_faults(kind, names)
    for name, model in content.models.items():
        yield from _model_faults(name, model)
        yield from _path_faults(name, model, content.models)
    if content.report.template is not None and not file.has_file(content.report.template):
        yield ("report", "template"), no_file(file.path.parent, content.report.template)
    if content.tasks and {task.tier for task in content.tasks.values()} == {"advisory"}:
        yield ("tasks",), "are all advisory, so that no run could fail; leave one of them required"
    yield from _secret_faults(content.gate)
    for name, task in content.tasks.items():
        for key, message in _task_faults(name, task, content, file):
            yield ("tasks", name, *key), message


def _secret_faults(gate: Gate) -> Iterator[tuple[Key, str]]:
    for variable, hosts in gate.secrets.items():
        for host in hosts:
            if not re.fullmatch(r"(http://)?[a-z0-9._-]+(:[0-9]+)?|(http://)?[0-9a-f:]*:[0-9a-f:]*", host):
                example = "such as api.example.com, gpu-1:8000 or http://gpu-1:8000"
                yield ("gate", "secrets", variable), f"holds {host!r}; write a host in small letters, {example}"


def _model_faults(name: str, model: Model) -> Iterator[tuple[Key, str]]:
    for label, value in model.variant.items():
        if isinstance(value, (dict, list)) or (isinstance(value, float) and not math.isfinite(value)):
            yield ("models", name, "variant", label), f"is {value!r}; write text, a number or true/false"
    for key in ASKED:
        if key in model.sampling.extra:
            yield ("models", name, "sampling", "extra", key), "is what a task asks; write it in the task's file"


def _path_faults(name: str, model: Model, models: Mapping[str, Model]) -> Iterator[tuple[Key, str]]:
    """What is wrong with the model that a model must equal."""
    key, other = ("models", name, "equal_to"), model.equal_to
    if other is None:
        return
    if other == name:
        yield key, "is the model itself; name another one of this file"
    elif other not in models:
        yield key, f"names no model {other!r}; {nearest(other, [each for each in models if each != name])}"
    elif models[other].equal_to is not None:
        yield key, f"names {other}, which has equal_to itself; name a model without"
    if model.baseline is not None:
        yield key, "is set together with baseline; a model is compared with one of the two"


def _name_faults(kind: str, names: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    seen: dict[str, str] = {}
    for name in names:
        usable = name.strip() == name != "" and name.isprintable() and "@" not in name
        if not usable or len(name) > 100 or len(file_name(name)) > 200:  # file systems stop at 255 bytes
            yield (kind, name), "is not a usable name; use up to 100 printable characters without @"
        if (kind, name) == ("tasks", "overall"):
            yield (kind, name), "is the name of a model's overall check; use another"
        other = seen.setdefault(name.casefold(), name)
        if other != name:
            fault = f"differs from {key_text((kind, other))} only in upper and lower case; rename one of the two"
            yield (kind, name), fault


def _task_faults(name: str, task: TaskSettings, content: AccuracyFile, file: TomlFile) -> Iterator[tuple[Key, str]]:
    for model in task.models:
        if model not in content.models:
            yield ("models",), f"names no model {model!r}; {nearest(model, content.models)}"
    if task.judge is not None and task.judge not in content.judges:
        yield ("judge",), f"names no judge {task.judge!r}; {nearest(task.judge, content.judges)}"
    yield from _source_faults(name, task, file)
    if task.reference is not None and task.reference_num_samples is None:
        yield ("reference",), "needs reference_num_samples beside it: the reference's own error counts"
    if task.reference is None and task.reference_num_samples is not None:
        yield ("reference_num_samples",), "needs reference, the mean in points, beside it"
    if task.reference is not None and task.target is not None:
        yield ("target",), "is set together with reference; a task is compared with one of the two"
    if task.limit is not None and task.num_samples is not None and task.limit < task.num_samples:
        yield ("limit",), f"is {task.limit}, less than num_samples = {task.num_samples}; remove one of the two"
    yield from _test_faults(task)


def _source_faults(name: str, task: TaskSettings, file: TomlFile) -> Iterator[tuple[Key, str]]:
    if task.lm_eval is not None:
        for own in NOT_WITH_LM_EVAL:
            if getattr(task, own) is not None:
                yield (own,), "is set together with lm_eval, which brings its own; remove one of the two"
    elif task.file is not None:
        if task.library is not None:
            yield ("library",), "is set together with file; keep one of the two"
        if not file.has_file(task.file):
            yield ("file",), no_file(file.path.parent, task.file)
    elif (task.library or name) not in library_names():
        key: Key = ("library",) if task.library else ()
        hint = nearest(task.library or name, library_names())
        yield key, f'is not in the task library; {hint}; or name a task file: file = "my_task.toml"'
    yield from _dataset_faults(task, file)


def _dataset_faults(task: TaskSettings, file: TomlFile) -> Iterator[tuple[Key, str]]:
    for key, path in (("dataset", task.dataset), ("few_shot_dataset", task.few_shot_dataset)):
        if path is not None and not file.has_file(path):
            yield (key,), no_file(file.path.parent, path)
        elif path is not None and not path.lower().endswith(ENDINGS):
            yield (key,), f"is {path!r}; the name must end in {', '.join(ENDINGS)}"


def _cost_faults(task: TaskSettings) -> Iterator[tuple[Key, str]]:
    for key in LIMITS.values():
        if (value := getattr(task, key)) is None:
            continue
        try:
            if allowed_share(value) >= 1.0 and key == LIMITS["acceptance"]:
                yield (key,), f"is {value!r}, which nothing exceeds; give a percentage below 100"
        except BadInput as error:
            yield (key,), error.messages[0]
        if task.reference is not None or task.target is not None:
            yield (key,), "compares with recorded samples; remove it, or the mean of accuracy.toml"


def _test_faults(task: TaskSettings) -> Iterator[tuple[Key, str]]:
    if task.allowed_drop is not None:
        try:
            allowed_points(task.allowed_drop, None)
        except BadInput as error:
            yield ("allowed_drop",), error.messages[0].removeprefix("allowed_drop ")
    yield from _cost_faults(task)
    for key in ("allowed_drop", "certify"):
        if getattr(task, key) and task.test in ("gsprt", "e-process"):
            yield (key,), f"is not for the {task.test} test; use group-sequential, or auto"
    if task.test == "target" and task.target is None:
        yield ("test",), "is target, but no target is set; add target = ..., the mean that must hold"
    if task.test not in ("target", "auto") and task.target is not None:
        yield ("test",), f"is {task.test!r}, but a target is set; use target, or remove the target"
    if task.test in PAIRED_TESTS and task.reference is not None:
        yield ("test",), f"is {task.test}, but only a reference's mean is given; use two-sample, or record one"
