"""The rules of accuracy.toml in effect, at whatever level they are set."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple

from accgate.config.config import Config
from accgate.config.tables import TaskSettings
from accgate.design import allowed_points, allowed_share
from accgate.errors import LIMITS, BadInput, KeyFaults, Tier
from accgate.inputs.paths import file_digest
from accgate.metrics import code_digest, helpers_digest
from accgate.planning.account import Claim, account_by
from accgate.planning.design import has_groups
from accgate.references.store import baseline_of, find_reference
from accgate.tasks import MAX_UNREAD, Definition, DefinitionFile, read_definition, read_rows, unloaded_definition
from accgate.tasks.rows import Source, with_subset

# Keys of a task's table that take the place of a part of its definition, with that part.
IN_PLACE = {
    "mode": "mode", "reasoning": "reasoning", "theta": "theta", "sigma": "sigma", "max_unread": "max_unread",
    "alpha": "alpha", "beta": "beta", "choose": "choices", "subset": "dataset", "dataset": "rows", "options": "dataset",
    "few_shot_dataset": "examples", "target": "target_mean",
}  # fmt: skip
NO_RULES = ("description", "source", "same_as", "num_samples")  # `EffectiveTask.samples` has the number of samples
# Keys of a task's table that are in effect in another form, or are no rules of its checks.
ELSEWHERE = (*IN_PLACE, "file", "library", "judge", "num_samples", "limit", "models", "tags")
RATES: tuple[Literal["alpha", "beta"], ...] = ("alpha", "beta")
IN_ORDER = ("tools", "tool_choice", "messages", "examples")  # the model sees the keys of their tables in order
OF_HUB = ("hub", "name", "subsets", "split", "revision", "options")  # keys that a dataset of files ignores


class RowsFile(NamedTuple):
    """A file with rows. `key` names the rows in a JSON object, and `ending` says how the file is read."""

    path: Path
    key: str | None
    ending: str
    sha256: str

    @property
    def rows(self) -> Any:
        """The rows, each with its keys in their order. Parquet is not read here, and has the digest of its bytes."""
        return read_rows(self.path, self.key) if self.ending != ".parquet" else self.sha256


def rows_file(path: Path, key: str | None) -> RowsFile:
    """Return the file of rows at a path.

    Raises
    ------
    BadInput
        When it cannot be read.
    """
    return RowsFile(path, key, path.suffix.lower(), file_digest(path))


def has_same_rows(before: Any, after: Any) -> bool:
    """Tell whether two sides have the same rows.

    A side is a file, or rows that a definition holds. Files with the same bytes are not read.
    """
    sides = before, after
    if isinstance(before, RowsFile) and isinstance(after, RowsFile) and before[1:] == after[1:]:
        return True
    try:
        rows = [json.dumps(each.rows if isinstance(each, RowsFile) else each, default=repr) for each in sides]
    except BadInput:  # who plans the checks reports it
        return False
    return rows[0] == rows[1]


@dataclass(frozen=True)
class EffectiveTask:
    """What decides the checks of a task.

    `values` has what is in effect, by part of a definition or key of a table. `settings` is the task's table as it is
    written, which says at what level a value is set.
    """

    settings: TaskSettings
    definition: Definition
    values: Mapping[str, Any]
    config: Config = field(repr=False)

    @property
    def is_mean(self) -> bool:
        """Whether a mean of scores is decided on."""
        return self.definition.content.aggregate is None

    @property
    def is_planned(self) -> bool:
        """Whether the number of samples follows from theta and the error rates."""
        return self.settings.num_samples is None and self.values["theta"] is not None and self.is_mean

    @property
    def may_stop_early(self) -> bool:
        """Whether checks stop as soon as the evidence allows where [gate] says so."""
        return self.is_mean and self.values["theta"] is not None and self.values["test"] == "auto"

    def samples(self, name: str, models: Iterable[str]) -> list[int | None]:
        """Return the number of samples that each of these models is asked.

        It is None where dataset or theta decides it.
        """
        own, content, numbers = self.settings, self.definition.content, list[int | None]()
        for model in models:
            number = own.num_samples
            if number is None and not self.is_planned:
                about = self._reference_n(model, name)
                number = content.num_samples if about is None else about
            numbers.append(min((n for n in (number, own.limit) if n is not None), default=None))
        return numbers

    def _reference_n(self, model: str, name: str) -> int | None:
        """Return the number of samples of a model's reference, if it has samples."""
        own, entry = self.settings, self.config.models[model]
        if entry.equal_to is not None:
            return None
        if own.target is not None or own.reference is not None:
            return own.reference_num_samples if own.target is None else None
        recorded = find_reference(self.config.references, baseline_of(model, entry.variant, entry.baseline), name)
        return None if recorded is None else recorded.about.n


def definition_of(config: Config, name: str) -> Definition:
    """Read the definition of a task of the config, without loading lm-eval.

    It is the task's own file, or the library's.

    Raises
    ------
    BadInput
        When it cannot be read.
    """
    settings = config.tasks[name]
    if settings.lm_eval is not None:
        return unloaded_definition(settings.lm_eval, settings.options)
    return read_definition(config.definition_path(name))


def effective_task(config: Config, name: str, definition: Definition | None = None) -> EffectiveTask:
    """Return the effective record of a task.

    No dataset of the hub and no code of a user's is loaded. A `definition` takes the place of the task's own.

    Raises
    ------
    BadInput
        When its definition, or a file that it names, cannot be read.
    """
    definition, settings = definition or definition_of(config, name), config.tasks[name]
    content = definition.content
    values = {f.name: getattr(content, f.name) for f in fields(DefinitionFile) if f.name not in NO_RULES}
    tables = ("extract", "columns", "choices", "confidence", "judge")
    values |= {key: asdict(values[key]) for key in tables if values[key] is not None}
    values["attack"] = [asdict(attack) for attack in content.attack]
    if settings.choose is not None:
        values["choices"] = {**(values["choices"] or {}), "by": settings.choose}
    if (code := code_digest(content.metric, definition.folder)) is not None:  # a metric in a file of the user's own
        helpers = helpers_digest(content.metric, definition.folder, content.files)
        values["metric"] = {"metric": content.metric, "sha256": code, "uses": helpers}
    values |= _rows_values(config, settings, definition)
    values |= {f.name: getattr(settings, f.name) for f in fields(TaskSettings) if f.name not in ELSEWHERE}
    instead = ("mode", "reasoning", "theta", "sigma", "max_unread")
    values |= {key: value for key in instead if (value := getattr(settings, key)) is not None}
    if values["max_unread"] is None:
        values["max_unread"] = MAX_UNREAD
    values |= {rate: config.rate(name, rate, getattr(content, rate)) for rate in RATES}
    values["target_mean"] = settings.target
    # In one spelling: points, or a percentage of the reference's mean.
    allowed = allowed_points(settings.allowed_drop or 0.0, 100.0)
    values["allowed_drop"] = f"{allowed:.12g}%" if "%" in str(settings.allowed_drop) and allowed else allowed
    for key in LIMITS.values():
        values[key] = None if values[key] is None else allowed_share(values[key])
    return EffectiveTask(settings, definition, values, config)


def _rows_values(config: Config, settings: TaskSettings, definition: Definition) -> dict[str, Any]:
    """Return the sources of the rows and of the solved examples.

    The result omits settings that have no effect.
    """
    content, folder = definition.content, definition.folder
    try:
        chosen = with_subset(definition, Source({}, 0, subset=settings.subset)).content.dataset
        subset = settings.subset if chosen.parts else None
    except KeyFaults:  # who plans the checks reports it
        chosen, subset = content.dataset, settings.subset
    dataset = asdict(chosen)
    own = config.path(settings.dataset) if settings.dataset is not None else None
    file = own if own is not None or dataset["file"] is None else folder / dataset["file"]
    rows = None if file is None else rows_file(file, dataset["path"])
    taken = "parameters" if content.dataset.generator is None else "options"
    dataset[taken] = {**dataset[taken], **settings.options}
    dataset["subset"] = list(subset) if isinstance(subset, tuple) else subset
    if dataset.pop("file") is not None or own is not None:
        dataset |= dict.fromkeys(OF_HUB if content.dataset.generator is None else ())
    if own is not None:
        dataset["join"] = None
    joined = None if dataset["join"] is None else dataset["join"].pop("file")
    return {
        "dataset": dataset,
        "rows": rows,
        "join": None if joined is None else rows_file(folder / joined, None),
        **_examples(config, settings, definition, dataset["path"]),
    }


def _examples(config: Config, settings: TaskSettings, definition: Definition, key: str | None) -> dict[str, Any]:
    """Return how solved examples are chosen, and from which.

    They come from the table's file, are written in the definition, or come from its file.
    """
    shots = asdict(definition.content.few_shot)
    written, file, split = shots.pop("examples"), shots.pop("file"), shots.pop("split")
    examples: Any = list(written) or None
    if settings.few_shot_dataset is not None:
        examples = rows_file(config.path(settings.few_shot_dataset), key)
    elif not written and file is not None:
        examples = rows_file(definition.folder / file, key)
    return {"few_shot": {**shots, "split": split if examples is None else None}, "examples": examples}


def shares_of_alpha(
    config: Config, pairs: Sequence[tuple[str, str]], tasks: Mapping[str, EffectiveTask]
) -> dict[str, float]:
    """Return the alpha that the account leaves each task's checks for certain.

    These pairs are all that share it.

    References are not read: a check counts as pooled where its rules allow that.
    """
    claims: dict[Tier, list[Claim]] = {"required": [], "advisory": []}
    for model, name in pairs:
        task = tasks[name]
        pools = task.settings.tier == "required" and task.is_mean and not task.values["allowed_drop"]
        pooled_by = model if pools and config.gate.overall else None
        grouped = has_groups(task.definition)
        claims[task.settings.tier].append(Claim(task.values["alpha"], pooled_by, task.settings.limits, grouped))
    accounts = {tier: account_by(config.gate, own) for tier, own in claims.items() if own}
    tiers = {name: task.settings.tier for name, task in tasks.items()}
    return {name: accounts[t].of_check(tasks[name].values["alpha"]) for name, t in tiers.items() if t in accounts}
