"""accuracy.toml, read and checked, and the choice of models and tasks from it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from accgate.config.faults import faults_between
from accgate.config.tables import AccuracyFile, Gate, Judge, Model, Report, TaskSettings
from accgate.errors import BadInput, refuse_faults
from accgate.inputs.toml import TomlFile, read_toml
from accgate.inputs.typed import adapter_of, parse_table_of
from accgate.tasks import library_file
from accgate.text import closest, nearest


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

        It is its own, what is written in [gate], the definition's, or the default.
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
        """Return the config with only the models that are held against no other.

        References are recorded of these.

        Raises
        ------
        BadInput
            When every model is.
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
        return {
            (other, t) for m, t in replace(self, only=None).pairs() if (other := self.models[m].equal_to) is not None
        }

    def pairs_to_evaluate(self) -> list[tuple[str, str]]:
        """List the same, where a run needs one at least.

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
        refuse_faults(faults_between(content, file))
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

    They are names, or tags of tasks. All stay where there are none.

    Raises
    ------
    BadInput
        For a name that the config does not have.
    """
    refuse_unknown(config.source.path, (config,), models, tasks)
    return restrict(config, models, tasks)


def restrict(config: Config, models: tuple[str, ...], tasks: tuple[str, ...]) -> Config:
    """Return the config with those of these models and tasks that it has.

    No names stand for all.
    """
    selected_models = {k: v for k, v in config.models.items() if not models or k in models}
    selected_tasks = {k: v for k, v in config.tasks.items() if not tasks or k in tasks or set(v.tags) & set(tasks)}
    partial = config.partial or len(selected_tasks) < len(config.tasks)
    return replace(config, models=selected_models, tasks=selected_tasks, partial=partial)
