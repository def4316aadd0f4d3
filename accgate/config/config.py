"""accuracy.toml, read and checked, and the choice of models and tasks from it.

The faults between its values are found here, each with its key.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from accgate.config.tables import AccuracyFile, Gate, Judge, Model, Report, TaskSettings
from accgate.design import allowed_points, allowed_share
from accgate.errors import LIMITS, BadInput, Key, key_text, refuse_faults
from accgate.inputs.paths import no_file
from accgate.inputs.toml import TomlFile, read_toml
from accgate.inputs.typed import adapter_of, parse_table_of
from accgate.records.file import file_name
from accgate.stats.names import PAIRED_TESTS
from accgate.tasks import ENDINGS, library_file, library_names
from accgate.text import closest, nearest

NOT_WITH_LM_EVAL = ("file", "library", "mode", "dataset", "few_shot_dataset", "subset", "choose", "judge")
# Fields of a request that are no model's own, for the base's rules say what is asked: `extra` has the last word.
ASKED = ("messages", "prompt", "tools", "tool_choice", "functions", "function_call")


@dataclass(frozen=True)
class Config:
    """accuracy.toml, checked.

    `source` is the file, for relative paths and for the places of faults.
    """

    gate: Gate
    models: Mapping[str, Model]
    tasks: Mapping[str, TaskSettings]
    source: TomlFile
    partial: bool = False  # only some of the file's tasks are selected
    models_in_file: Mapping[str, Model] = field(default_factory=dict)  # `models` are those of them that are selected
    checks_in_file: int = 0  # (model, task) pairs of the whole file, which a reference must serve
    pools_in_file: bool = False  # some model of the whole file has two checks or more
    limits_in_file: int = 0  # on costs, of all checks of the whole file
    models_source: TomlFile | None = None  # the file of [models], where it is another than that of the rules
    workspace: Path | None = None  # where paths of [models] start, where that is not the folder of their file
    only: frozenset[tuple[str, str]] | None = None  # the (model, task) pairs that are checked; all where None
    report: Report = field(default_factory=Report)
    judges: Mapping[str, Judge] = field(default_factory=dict)
    trees: tuple[Path, ...] = ()  # the repositories that decide; code of the rules may open only its own files in them

    @property
    def folder(self) -> Path:
        """The folder that relative paths of the file start from."""
        return self.source.path.parent

    @property
    def models_file(self) -> TomlFile:
        """The file that holds [models].

        Paths of weights and recordings start from its folder, or in `workspace`.
        """
        return self.source if self.models_source is None else self.models_source

    @property
    def references(self) -> Path:
        """The reference store."""
        return Path(os.path.normpath(self.path(self.gate.references)))

    def rate(self, task: str, rate: Literal["alpha", "beta"], definition: float | None) -> float:
        """Return alpha or beta of a task.

        The first of these counts: the task's own, what [gate] writes, the definition's, the default.
        """
        own, gate = getattr(self.tasks[task], rate), getattr(self.gate, rate)
        if own is not None:
            return float(own)
        is_written = rate in self.source.data.get("gate", {})
        return float(gate if is_written or definition is None else definition)

    def path(self, name: str) -> Path:
        """Return a path of the file, made relative to the file's folder."""
        return self.source.path_of(name)

    def definition_path(self, name: str) -> Path:
        """Return the path of a task's definition that is not lm-eval's."""
        task = self.tasks[name]
        return self.path(task.file) if task.file else library_file(task.library or name)

    def without_baselines(self) -> Config:
        """Return the config with only the models that are compared with no other.

        References are recorded of these.

        Raises
        ------
        BadInput
            When no model is left.
        """
        own = {name: model for name, model in self.models.items() if model.baseline is model.equal_to is None}
        if not own:
            fault = "every model has a baseline or equal_to; name the one to record with --models"
            raise BadInput(f"{self.source.path}: {fault}")
        return replace(self, models=own)

    def pairs(self) -> list[tuple[str, str]]:
        """List every (model, task) that is checked, in the file's order."""
        pairs = [(m, t) for m in self.models for t, task in self.tasks.items() if not task.models or m in task.models]
        return pairs if self.only is None else [pair for pair in pairs if pair in self.only]

    @property
    def other_sides(self) -> set[tuple[str, str]]:
        """The (model, task) that others must equal, whichever of the pairs are checked."""
        pairs = replace(self, only=None).pairs()
        return {(other, task) for model, task in pairs if (other := self.models[model].equal_to) is not None}

    def pairs_to_evaluate(self) -> list[tuple[str, str]]:
        """List the pairs of a run, which needs at least one.

        Raises
        ------
        BadInput
            When there is none.
        """
        if not (pairs := self.pairs()):
            raise BadInput(f"{self.source.path}: no model has a task; correct tasks.NAME.models, --models or --tasks")
        return pairs


def load_config(path: Config | str | Path) -> Config:
    """Read and check accuracy.toml.

    A config that is read already is returned as it is.

    Raises
    ------
    BadInput
        With a message for every fault: file, line, key, what is wrong and the fix.

    Examples
    --------
    >>> load_config("configs/quickstart.toml").gate.beta
    0.2
    """
    if isinstance(path, Config):
        return path
    path = Path(path)
    fix = "write one with `accgate init`" if path.suffix else "give a .toml file; a task is named by --task"
    names = {} if path.exists() else {each.stem: each.name for each in path.parent.glob("*.toml")}
    if (near := closest(path.stem, names)) is not None:
        fix = f"did you mean {names[near]}?"
    return config_of(read_toml(path, fix=fix))


def config_of(file: TomlFile) -> Config:
    """Check the config of a file that is read already.

    Raises as `load_config` does.
    """
    content = parse_table_of(file, AccuracyFile)
    with file.locating():
        refuse_faults(_faults_between(content, file))
    config = Config(content.gate, content.models, content.tasks, file, report=content.report, judges=content.judges)
    pairs = [pair for pair in config.pairs() if config.tasks[pair[1]].tier == "required"]
    models = [model for model, _ in pairs]
    return replace(
        config,
        models_in_file=config.models,
        checks_in_file=len(models),
        pools_in_file=len(set(models)) < len(models),
        limits_in_file=sum(config.tasks[task].limits for _, task in pairs),
    )


def config_schema() -> dict[str, Any]:
    """Return the JSON schema of accuracy.toml, for editors."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **adapter_of(AccuracyFile).json_schema()}


def refuse_unknown(path: Path, configs: Sequence[Config], models: Sequence[str], tasks: Sequence[str] = ()) -> None:
    """Refuse names of models, tasks and tags that no config has.

    `path` is the file to correct.

    Raises
    ------
    BadInput
        Each name, and the nearest that there is.
    """
    known_models = {name for config in configs for name in config.models}
    known_tasks = {name for config in configs for key, task in config.tasks.items() for name in (key, *task.tags)}
    names = [("model", name, known_models) for name in models] + [("task", name, known_tasks) for name in tasks]
    if faults := [
        f"{path}: no {kind} {name!r}; {nearest(name, known)}" for kind, name, known in names if name not in known
    ]:
        raise BadInput(*faults)


def select(config: Config, models: tuple[str, ...] = (), tasks: tuple[str, ...] = ()) -> Config:
    """Keep only these models and tasks of a config.

    A task is named or has the tag. Without names all stay.

    Raises
    ------
    BadInput
        For a name that the config does not have.
    """
    refuse_unknown(config.source.path, (config,), models, tasks)
    return restrict(config, models, tasks)


def restrict(config: Config, models: tuple[str, ...], tasks: tuple[str, ...]) -> Config:
    """Return the config with those of these models and tasks that it has.

    Without names all stay.
    """
    selected_models = {k: v for k, v in config.models.items() if not models or k in models}
    selected_tasks = {k: v for k, v in config.tasks.items() if not tasks or k in tasks or set(v.tags) & set(tasks)}
    partial = config.partial or len(selected_tasks) < len(config.tasks)
    return replace(config, models=selected_models, tasks=selected_tasks, partial=partial)


def _faults_between(content: AccuracyFile, file: TomlFile) -> Iterator[tuple[Key, str]]:
    """Yield every fault between values of accuracy.toml, with its key.

    Files are looked for from the folder of `file`.
    """
    for kind, names in (("models", content.models), ("tasks", content.tasks)):
        if not names:
            yield (kind,), f"has no table; add [{kind}.NAME]"
        yield from _name_faults(kind, names)
    for name, model in content.models.items():
        yield from _model_faults(name, model, content.models)
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


def _model_faults(name: str, model: Model, models: Mapping[str, Model]) -> Iterator[tuple[Key, str]]:
    for label, value in model.variant.items():
        if isinstance(value, (dict, list)) or (isinstance(value, float) and not math.isfinite(value)):
            yield ("models", name, "variant", label), f"is {value!r}; write text, a number or true/false"
    for key in ASKED:
        if key in model.sampling.extra:
            yield ("models", name, "sampling", "extra", key), "belongs to the task; write it in the task's file"
    equal_to, other = ("models", name, "equal_to"), model.equal_to
    if other is None:
        return
    if other == name:
        yield equal_to, "is the model itself; name another one of this file"
    elif other not in models:
        yield equal_to, f"names no model {other!r}; {nearest(other, [each for each in models if each != name])}"
    elif models[other].equal_to is not None:
        yield equal_to, f"names {other}, which has equal_to itself; name a model without it"
    if model.baseline is not None:
        yield equal_to, "is set together with baseline; keep one of the two"


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
        yield ("target",), "is set together with reference; keep one of the two"
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
