"""The rules of one task: its table in accuracy.toml, and its definition with dataset and examples."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any, Literal

from accgate.config.config import Config
from accgate.config.tables import TaskSettings
from accgate.design import allowed_share
from accgate.errors import BadInput, Key
from accgate.guard.difference import NOT_PLAIN, Difference, Direction, difference, down, exact, texts, unreadable, up
from accgate.guard.rule_files import included_digests, picture_digests
from accgate.inputs.paths import file_digest
from accgate.metrics import code_digest, helpers_digest
from accgate.tasks import MAX_UNREAD, Definition, DefinitionFile, read_definition, unloaded_definition
from accgate.tasks.lm_eval.harness import is_of_harness


def _rank_of_allowance(value: float | str | None) -> float:
    """Points rank with points; a percentage is a share of another number, and has no rank beside them."""
    return math.nan if isinstance(value, str) else down(value or 0.0)


def _rank_of_share(value: str | None) -> float:
    """A percentage that may be added; without one anything may."""
    return -math.inf if value is None else down(allowed_share(value))


def _rank_of_unread(share: float | None) -> float:
    return down(MAX_UNREAD if share is None else share)


ALPHA = Direction(up, "a smaller drop fails", "only a larger drop fails")
BETA = Direction(down, "fewer drops are missed", "more drops are missed")
SAMPLES = Direction(up, "more samples are evaluated", "fewer samples are evaluated")
SETTINGS: Mapping[str, Direction] = {
    "alpha": ALPHA,
    "beta": BETA,
    "theta": Direction(down, "smaller drops must be detectable", "smaller drops may go unseen"),
    "allowed_drop": Direction(_rank_of_allowance, "a smaller loss fails", "a larger loss is accepted"),
    "certify": Direction(up, "a pass must be proven", "a pass need no longer be proven"),
    "num_samples": SAMPLES,
    "limit": Direction(lambda n: math.inf if n is None else n, SAMPLES.stricter, SAMPLES.looser),
    "max_unread": Direction(_rank_of_unread, "fewer replies may hold no answer", "more replies may hold no answer"),
    "max_more_tokens": Direction(_rank_of_share, "fewer more tokens are allowed", "more tokens are allowed"),
    "max_slower": Direction(_rank_of_share, "less more time is allowed", "more time is allowed"),
}
ELSEWHERE = ("file", "library", "models", "dataset", "few_shot_dataset")  # compared by content
INHERITED = (
    "theta",
    "sigma",
    "mode",
    "max_unread",
    "reasoning",
)  # the definition's value counts where they are not set
RATES: tuple[Literal["alpha", "beta"], ...] = (
    "alpha",
    "beta",
)  # [gate]'s or the definition's value counts where they are not
NO_RULES = ("description", "source")
WHY = {
    **dict.fromkeys(
        (
            "prompt",
            "system",
            "mode",
            "few_shot",
            "few_shot_dataset",
            "choices",
            "choose",
            "images",
            "attack",
            "messages",
            "tools",
            "tool_choice",
        ),
        "the model is asked in another way",
    ),
    **dict.fromkeys(
        ("target", "targets", "metric", "metric_options", "extract", "judge", "confidence", "reasoning"),
        "answers are scored in another way",
    ),
    **dict.fromkeys(("aggregate", "aggregate_options"), "another statistic decides"),
    **dict.fromkeys(("stop", "max_tokens"), "replies end at another place"),
    **dict.fromkeys(("dataset", "subset"), "other samples are evaluated"),
    "run_code": "the model's code is run, or no longer run",
    "columns": "samples are grouped in another way",
    "test": "another test decides",
    "repeats": "another number of answers is averaged",
    "reference_num_samples": "with another error of the reference other runs pass, or are inconclusive",
}


def task_differences(name: str, base: Config, head: Config) -> Iterator[Difference]:
    """The rules in which a task of both sides differs.

    Raises
    ------
    BadInput
        When the head's definition or a file that it names cannot be read.
    """
    key = ("tasks", name)
    after = definition_of(head, name)
    new = _parts(after) | {"pictures": picture_digests(head, name, after)}
    try:
        before = definition_of(base, name)
        old = _parts(before) | {"pictures": picture_digests(base, name, before)}
    except BadInput as error:
        yield from _setting_differences(key, base, head, after, after)
        yield unreadable(key, "definition", error, "definition")
    else:
        yield from _setting_differences(key, base, head, before, after)
        for part in old:
            yield from _part_difference(key, part, old[part], new[part])


def definition_of(config: Config, name: str) -> Definition:
    """The definition of a task of the config: its own file, or the library's.

    Raises
    ------
    BadInput
        When it cannot be read.
    """
    settings = config.tasks[name]
    if settings.lm_eval is not None:
        return unloaded_definition(settings.lm_eval, settings.options)
    return read_definition(config.definition_path(name))


def is_higher_better(name: str, base: Config, head: Config) -> bool:
    """The direction of a task's metric in the base, or in the head where the base has no such task.

    Raises
    ------
    BadInput
        When the definition can be read on neither side.
    """
    for config in (base, head):
        if name not in config.tasks:
            continue
        try:
            return definition_of(config, name).higher_is_better
        except BadInput:
            if config is head or name not in head.tasks:
                raise
    return True


def _setting_differences(
    key: Key, base: Config, head: Config, before: Definition, after: Definition
) -> Iterator[Difference]:
    name = str(key[-1])
    own, new = base.tasks[name], head.tasks[name]
    directions = {**SETTINGS, **_of_means(before)}
    if included_digests(base, own) != included_digests(head, new):
        why = "lm-eval's task files changed: other questions, prompts or scores"
        yield Difference((*key, "options", "include_path"), None, None, "loosening", why)
    for rate in RATES:
        values = _rate(base, name, rate, before), _rate(head, name, rate, after)
        # A change of [gate] alone is listed there, once for all tasks.
        if getattr(own, rate) != getattr(new, rate) or getattr(base.gate, rate) == getattr(head.gate, rate):
            yield from difference((*key, rate), *values, SETTINGS[rate])
    for field in ("dataset", "few_shot_dataset"):
        digests = [_digest_of(config, getattr(task, field)) for config, task in ((base, own), (head, new))]
        if digests[0] != digests[1]:
            yield Difference((*key, field), *texts(getattr(own, field), getattr(new, field)), "loosening", WHY[field])
    for field in (f.name for f in fields(TaskSettings) if f.name not in (*ELSEWHERE, *RATES)):
        if exact(getattr(own, field)) == exact(getattr(new, field)):
            continue
        at = (*key, field)
        if field == "tags":
            yield from _tag_difference(at, own.tags, new.tags)
            continue
        values = (_effective(own, before, field), _effective(new, after, field))
        yield from difference(at, *values, directions.get(field), why=WHY.get(field, NOT_PLAIN))


def _rate(config: Config, name: str, rate: Literal["alpha", "beta"], definition: Definition) -> float:
    return config.rate(name, rate, getattr(definition.content, rate))


def _digest_of(config: Config, name: str | None) -> tuple[str, str] | None:
    """Extension and digest of a file that accuracy.toml names."""
    return None if name is None else (Path(name).suffix.lower(), file_digest(config.path(name)))


def _of_means(definition: Definition) -> Mapping[str, Direction]:
    """The directions of the rules that are means, in the metric's own direction."""
    rank = up if definition.higher_is_better else down
    return {
        "target": Direction(rank, "a better mean must hold", "a worse mean passes"),
        "reference": Direction(rank, "the reference is better", "the reference is worse"),
    }


def _effective(task: TaskSettings, definition: Definition, field: str) -> Any:
    value = getattr(task, field)
    return getattr(definition.content, field) if value is None and field in INHERITED else value


def _tag_difference(key: Key, base: tuple[str, ...], head: tuple[str, ...]) -> Iterator[Difference]:
    if set(base) - set(head):
        yield Difference(key, *texts(base, head), "loosening", "a job that chooses by tag may skip the task")
    elif set(head) - set(base):
        yield Difference(key, *texts(base, head), "tightening", "more jobs that choose by tag run the task")


def _part_difference(key: Key, part: str, base: Any, head: Any) -> Iterator[Difference]:
    if part in RATES:
        return  # listed for the task, where it counts
    if part in ("num_samples", "theta", "max_unread"):
        yield from difference(key, base, head, SETTINGS[part], part=part)
    elif part == "pictures":
        changed = len({name for name, _ in set(base) ^ set(head)})
        why = f"pictures of the dataset changed: {changed}" if changed else "other rows name the dataset's pictures"
        if base != head:
            yield Difference(key, None, None, "loosening", why, part)
    elif exact(_comparable(base)) != exact(_comparable(head)):
        why = WHY.get(part, NOT_PLAIN)
        if part == "dataset" and exact({**base, "sha256": None}) == exact({**head, "sha256": None}):
            why = "the dataset's content changed"
        yield Difference(key, *texts(_plain(base), _plain(head)), "loosening", why, part)


def _parts(definition: Definition) -> dict[str, Any]:
    """Everything in a definition that is a rule, as plain values, with a digest of each file."""
    content = definition.content
    parts = {f.name: getattr(content, f.name) for f in fields(DefinitionFile) if f.name not in NO_RULES}
    tables = ("extract", "columns", "choices", "confidence", "judge")
    parts |= {name: asdict(parts[name]) for name in tables if parts[name] is not None}
    parts["attack"] = [asdict(attack) for attack in content.attack]
    code = None if is_of_harness(definition) else code_digest(content.metric, definition.folder)
    if code is not None:  # a metric that is a file of the user's own
        helpers = helpers_digest(content.metric, definition.folder, content.files)
        parts["metric"] = {"metric": content.metric, "sha256": code, "uses": helpers}
    for name in ("dataset", "few_shot"):
        table = asdict(getattr(content, name))
        digest = None if table["file"] is None else file_digest(definition.folder / table["file"])
        parts[name] = {"file": table.pop("file"), "sha256": digest, **table}
    join = content.dataset.join
    if join is not None and join.file is not None:
        parts["dataset"]["join"]["sha256"] = file_digest(definition.folder / join.file)
    return parts


def _comparable(part: Any) -> Any:
    """A part as it is compared: with only the extension of a file's name, and with the order of keys in examples.

    The extension decides how a file is read, and a template can go through the keys of an example in their order.
    """
    if not isinstance(part, dict):
        return part
    name, examples = part.get("file"), part.get("examples", ())
    rows = [{key: json.dumps(value, default=repr) for key, value in row.items()} for row in examples]
    return {**part, "file": None if name is None else Path(name).suffix.lower(), "examples": rows}


def _plain(part: Any) -> Any:
    """A part without the keys that are not set, and with a short digest."""
    if not isinstance(part, dict):
        return part
    short = {**part, "sha256": (part.get("sha256") or "")[:12]}
    return {key: value for key, value in short.items() if value not in (None, "", {}, ())}
