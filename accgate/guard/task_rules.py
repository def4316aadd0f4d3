"""The rules of one task that differ between two trees.

They may be set at any level.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from accgate.config.config import Config
from accgate.config.tables import TaskSettings
from accgate.errors import BadInput, Key
from accgate.guard.difference import Difference, Direction, along, down, effect_of, exact, texts, unreadable, up
from accgate.guard.rule_files import included_digests, judge_digests, picture_digests
from accgate.planning.effective import IN_ORDER, IN_PLACE, RATES, EffectiveTask, RowsFile, effective_task, has_same_rows
from accgate.tasks import DefinitionFile


def _rank_of_cost(value: float | None) -> float:
    """Rank a limit on a cost.

    No limit is the loosest.
    """
    return -math.inf if value is None else down(value)


SAMPLES = Direction(up, "more samples are evaluated", "fewer samples are evaluated")
# The only values that can be plainly stricter; `TaskPair._doubt` says when even these are not.
PROVEN: Mapping[str, Direction] = {
    "alpha": Direction(up, "a smaller drop fails", "only a larger drop fails"),
    "beta": Direction(down, "fewer drops are missed", "more drops are missed"),
    "theta": Direction(down, "smaller drops must be detectable", "smaller drops may go unseen"),
    "allowed_drop": Direction(down, "a smaller loss fails", "a larger loss is accepted"),
    "certify": Direction(up, "a pass must be proven", "a pass need no longer be proven"),
    "max_unread": Direction(down, "fewer replies may hold no answer", "more replies may hold no answer"),
    "tier": Direction(along("advisory", "required"), "the check can fail the run", "the check no longer fails a run"),
    "max_more_tokens": Direction(_rank_of_cost, "tokens may rise less", "tokens may rise more"),
    "max_slower": Direction(_rank_of_cost, "time may rise less", "time may rise more"),
    "max_less_accepted": Direction(_rank_of_cost, "acceptance length may fall less", "acceptance length may fall more"),
    "num_samples": SAMPLES,
    "limit": Direction(lambda n: math.inf if n is None else n, SAMPLES.stricter, SAMPLES.looser),
}
PARTS = {"rows": "dataset", "join": "dataset", "examples": "few_shot"}  # the part of a definition with these values
OTHER_JUDGE = "answers are marked by another judge"
ASKED = (
    "prompt", "system", "mode", "few_shot", "examples", "choices", "images", "attack", "messages", "tools",
    "tool_choice",
)  # fmt: skip
SCORED = ("target", "targets", "metric", "metric_options", "extract", "judge", "confidence", "reasoning")
WHY = {
    **dict.fromkeys(ASKED, "the model is asked in another way"),
    **dict.fromkeys(SCORED, "answers are scored in another way"),
    **dict.fromkeys(("aggregate", "aggregate_options"), "another statistic decides"),
    **dict.fromkeys(("stop", "max_tokens"), "replies end at another place"),
    **dict.fromkeys(("dataset", "rows", "join"), "other samples are evaluated"),
    "run_code": "the model's code is run, or no longer run",
    "columns": "samples are grouped in another way",
    "test": "another test decides",
    "repeats": "another number of answers is averaged",
    "reference_num_samples": "the reference's error changes, so other runs pass or are inconclusive",
}


SETTINGS = {f.name for f in fields(TaskSettings)} - {f.name for f in fields(DefinitionFile)} - {*IN_PLACE}
AS_WRITTEN = ("choose", "subset", "dataset", "options", "few_shot_dataset", *SETTINGS)


@dataclass(frozen=True)
class TaskPair:
    """A task of both trees, as it is in effect in each.

    `models` are those that both check by it.
    """

    name: str
    before: EffectiveTask
    after: EffectiveTask
    models: Sequence[str]

    def differences(self) -> Iterator[Difference]:
        """Yield each value in effect that differs, at the level where it is set."""
        key, (old, new) = ("tasks", self.name), self._settings
        for name, value in self.before.values.items():
            if not _same(name, value, self.after.values[name]):
                yield from self._value_difference(name)
        yield from self._sample_differences()
        if old.judge != new.judge and not self._same_judge():
            yield Difference((*key, "judge"), *texts(old.judge, new.judge), "loosening", OTHER_JUDGE)
        if set(old.tags) != set(new.tags):
            why = "another job may share its alpha with the task"
            if set(old.tags) - set(new.tags):
                why = "a job that chooses by tag may skip the task"
            yield Difference((*key, "tags"), *texts(old.tags, new.tags), "loosening", why)
        included = [included_digests(task.config, task.settings) for task in (self.before, self.after)]
        if included[0] != included[1]:
            why = "lm-eval's task files changed: other questions, prompts or scores"
            yield Difference((*key, "options", "include_path"), None, None, "loosening", why)
        pictures = [picture_digests(task.config, self.name, task.definition) for task in (self.before, self.after)]
        if pictures[0] != pictures[1]:
            changed = len({name for name, _ in set(pictures[0]) ^ set(pictures[1])})
            why = f"pictures of the dataset changed: {changed}" if changed else "other rows name the dataset's pictures"
            yield Difference(key, None, None, "loosening", why, "pictures")

    def _same_judge(self) -> bool:
        """Tell whether both have judges that differ by their names alone."""
        (base, old), (head, new) = [(task.config, task.settings.judge) for task in (self.before, self.after)]
        return old is not None and new is not None and _judge_change((base, old), (head, new)) is None

    @property
    def _settings(self) -> tuple[TaskSettings, TaskSettings]:
        return self.before.settings, self.after.settings

    def _value_difference(self, name: str) -> Iterator[Difference]:
        key, old, new = ("tasks", self.name), self.before.values[name], self.after.values[name]
        why = WHY.get(name)
        if name in SETTINGS:
            levels = [name]
        else:
            levels = [own for own, part in IN_PLACE.items() if part == name and self._is_written(own, old, new)]
        gates = [getattr(task.config.gate, name) for task in (self.before, self.after)] if name in RATES else []
        if gates:
            is_of_gate = not levels and gates == [old, new]  # one difference for all tasks
            place = ("gate", name) if is_of_gate else (*key, name)
            yield self._difference(name, place, (old, new), (old, new), why)
        elif levels:
            for own in levels:
                written = (getattr(settings, own) for settings in self._settings)
                yield self._difference(name, (*key, own), (old, new), written if own in AS_WRITTEN else (old, new), why)
        else:
            if name in ("rows", "join") and isinstance(old, RowsFile) and isinstance(new, RowsFile):
                why = "the dataset's content changed"
            shown = (_plain(old), _plain(new))
            yield self._difference(name, key, (old, new), shown, why, PARTS.get(name, name))

    def _is_written(self, own: str, old: Any, new: Any) -> bool:
        """Tell whether a key of the task's table differs.

        A key that names a file counts as well, because its name does not show whether its rows differ.
        """
        written = [getattr(settings, own) for settings in self._settings]
        if isinstance(old, RowsFile) or isinstance(new, RowsFile):
            return written != [None, None]
        return exact(written[0]) != exact(written[1])

    def _difference(
        self, name: str, key: Key, values: Sequence[Any], shown: Iterable[Any], why: str | None = None, part: str = ""
    ) -> Difference:
        """Return the difference of one value.

        A value that looks stricter is a loosening where that is in doubt.
        """
        effect, reason = effect_of(values[0], values[1], self._directions.get(name), why)
        if effect == "tightening" and (doubt := self._doubt(name)) is not None:
            effect, reason = "loosening", doubt
        return Difference(key, *texts(*shown), effect, reason, part)

    @property
    def _directions(self) -> Mapping[str, Direction]:
        """Return which way each value is stricter.

        For means that depends on the metric.
        """
        rank = up if self.before.definition.higher_is_better else down
        means = {
            "target_mean": Direction(rank, "a better mean must hold", "a worse mean passes"),
            "reference": Direction(rank, "the reference is better", "the reference is worse"),
        }
        return {**PROVEN, **means}

    def _doubt(self, name: str) -> str | None:
        """Say why a value that looks stricter may not be.

        The check's other rules can be the reason.
        """
        both = self.before, self.after
        if not all(task.is_mean for task in both):
            return "a statistic decides, and not a mean of scores"
        if name == "alpha":
            return alpha_doubt(both)
        if name in ("beta", "theta") and any(task.config.gate.on_inconclusive == "warn" for task in both):
            return "more runs are inconclusive, and these do not fail"
        drops = [str(task.values["allowed_drop"]) for task in both]
        if name in ("target_mean", "reference") and any(drop.endswith("%") for drop in drops):
            return "the allowed drop is a share of it"
        return None

    def _sample_differences(self) -> Iterator[Difference]:
        """Yield how many samples are evaluated, where that differs.

        Another number is written, or another is in effect.
        """
        (old, new), key = self._settings, ("tasks", self.name)
        numbers = [task.definition.content.num_samples for task in (self.before, self.after)]
        if (old.num_samples, old.limit, numbers[0]) == (new.num_samples, new.limit, numbers[1]) or self._same_samples():
            return
        for own in ("num_samples", "limit"):
            values = getattr(old, own), getattr(new, own)
            if values[0] != values[1]:
                yield self._difference(own, (*key, own), values, values)
        if old.num_samples == new.num_samples and numbers[0] != numbers[1]:
            yield self._difference("num_samples", key, numbers, numbers, part="num_samples")

    def _same_samples(self) -> bool:
        if self.before.is_planned or self.after.is_planned:
            return False
        after = self.after.samples(self.name, self.models)
        try:
            return self.before.samples(self.name, self.models) == after
        except BadInput:
            return False


def alpha_doubt(tasks: Iterable[EffectiveTask]) -> str | None:
    """Say why a larger alpha may not be stricter for these tasks.

    Where it is stricter, this is None.
    """
    for task in tasks:
        if not task.is_mean:
            return "a statistic decides, and not a mean of scores"
        if task.values["certify"]:
            return "a larger alpha makes a pass easier to prove"
        if task.is_planned:
            return "a larger alpha plans fewer samples for theta"
    return None


def task_pairs(base: Config, head: Config) -> tuple[list[TaskPair], list[Difference]]:
    """Return the tasks that both trees have, and the base's unreadable definitions.

    Raises
    ------
    BadInput
        When the head's definition or a file that it names cannot be read.
    """
    pairs: list[TaskPair] = []
    unread: list[Difference] = []
    both = set(head.pairs())
    for name in (name for name in base.tasks if name in head.tasks):
        after = effective_task(head, name)
        try:
            before = effective_task(base, name)
        except BadInput as error:
            unread.append(unreadable(("tasks", name), "definition", error, "definition"))
            before = effective_task(base, name, after.definition)
        models = [model for model, task in base.pairs() if task == name and (model, name) in both]
        pairs.append(TaskPair(name, before, after, models))
    return pairs, unread


def _same(name: str, before: Any, after: Any) -> bool:
    if isinstance(before, RowsFile) or isinstance(after, RowsFile):
        return has_same_rows(before, after)
    in_order = name in IN_ORDER
    return exact(before, in_order=in_order) == exact(after, in_order=in_order)


def judge_differences(base: Config, head: Config) -> Iterator[Difference]:
    """Yield the differences of the judges that both sides have.

    A judge that only the head has marks no answer of the base's tasks.
    """
    for name in (name for name in base.judges if name in head.judges):
        fault = _judge_change((base, name), (head, name))
        if fault is not None:
            tables = texts(asdict(base.judges[name]), asdict(head.judges[name])) if not fault else (None, None)
            yield Difference(("judges", name), *tables, "loosening", OTHER_JUDGE + fault)


def _judge_change(before: tuple[Config, str], after: tuple[Config, str]) -> str | None:
    """Describe how two judges differ beside their tables.

    Where the tables differ, the text is empty. Judges that do not differ give None.
    """
    sides = [(config, config.judges[name]) for config, name in (before, after)]
    tables = [exact(asdict(judge)) + exact(judge.sampling.extra, in_order=True) for _, judge in sides]
    if tables[0] != tables[1]:
        return ""
    digests = [judge_digests(config, judge) for config, judge in sides]
    return None if digests[0] == digests[1] else ": its files changed"


def _plain(value: Any) -> Any:
    """Return a value without unset keys, and with a short digest."""
    if isinstance(value, RowsFile):
        return {"file": value.path.name, "sha256": value.sha256[:12]}
    if not isinstance(value, dict):
        return value
    short = {**value, "sha256": (value.get("sha256") or "")[:12]}
    return {key: each for key, each in short.items() if each not in (None, "", {}, ())}
