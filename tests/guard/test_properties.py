"""What holds of any two configs: nothing changes without a word, and no way is stricter there and back."""

from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from accgate.config.config import Config, config_of
from accgate.config.tables import AccuracyFile, Gate, Report, TaskSettings
from accgate.errors import LIMITS
from accgate.guard.changes import changed_rules
from accgate.guard.difference import WIDTH, exact, texts
from accgate.inputs.toml import parsed_toml
from tests.support.gates import table, write_task
from tests.support.trees import effects

GATE: dict[str, st.SearchStrategy[Any]] = {
    "alpha": st.sampled_from([0.0001, 0.01, 0.05, 0.1]),
    "beta": st.sampled_from([0.1, 0.2, 0.5]),
    "correction": st.sampled_from(["none", "bonferroni", "holm", "bh"]),
    "on_inconclusive": st.sampled_from(["fail", "warn"]),
    "drift_alpha": st.sampled_from([0.01, 0.05, 0.1]),
    "drift": st.sampled_from(["report", "fail"]),
    "groups": st.sampled_from(["report", "fail"]),
    "reference_runs": st.integers(1, 3),
    "max_failed": st.sampled_from([0.0, 0.01, 0.5]),
    "early_stopping": st.booleans(),
    "overall": st.booleans(),
    "references": st.sampled_from(["references", "others"]),
    "secrets": st.sampled_from([{}, {"K": ["a"]}, {"K": ["a", "b"]}, {"L": ["a"]}]),
    "seed": st.integers(0, 2),
}
TASK: dict[str, st.SearchStrategy[Any]] = {
    "file": st.sampled_from(["sums.toml", "words.toml"]),
    "options": st.sampled_from([{}, {"count": 1}, {"count": 2}]),
    "mode": st.sampled_from(["chat", "completion"]),
    "dataset": st.sampled_from(["sums.jsonl", "words.csv"]),
    "few_shot_dataset": st.sampled_from(["sums.jsonl", "words.csv"]),
    "subset": st.sampled_from(["easy", "hard"]),
    "choose": st.sampled_from(["letter", "likelihood"]),
    "run_code": st.booleans(),
    "judge": st.sampled_from(["j", "k"]),
    "sigma": st.sampled_from([1.0, 50.0]),
    "theta": st.sampled_from([1.0, 2.0]),
    "allowed_drop": st.sampled_from([0.5, 1.0, "1%", "2%"]),
    "certify": st.booleans(),
    "max_more_tokens": st.sampled_from(["5%", "10%"]),
    "max_slower": st.sampled_from(["5%", "10%"]),
    "max_less_accepted": st.sampled_from(["5%", "10%"]),
    "discordance": st.sampled_from([0.05, 0.1]),
    "num_samples": st.sampled_from([10, 20]),
    "limit": st.sampled_from([20, 30]),
    "alpha": GATE["alpha"],
    "beta": GATE["beta"],
    "test": st.sampled_from(["auto", "two-sample"]),
    "reference": st.sampled_from([80.0, 90.0]),
    "reference_num_samples": st.sampled_from([100, 200]),
    "models": st.sampled_from([["m"], ["m", "n"]]),
    "repeats": st.sampled_from([1, 4]),
    "max_unread": st.sampled_from([0.1, 0.5]),
    "reasoning": st.sampled_from(["strip", "keep"]),
    "tags": st.sampled_from([["a"], ["b"], ["a", "b"]]),
}
ALONE = ("library", "target", "lm_eval", "tier")  # cannot stand beside file and reference, or with the only task
TOGETHER = ("reference", "reference_num_samples")
COSTS = {*LIMITS.values()}  # compare with recorded samples, and not with a mean


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("rules")
    write_task(folder, "sums")
    write_task(folder, "words", prompt="Say: {{ q }}")
    (folder / "words.csv").write_text("q,a\n1 + 1,2\n")
    return folder


def config(folder: Path, gate: dict[str, Any], task: dict[str, Any]) -> Config:
    models = "".join(table(f"models.{name}", {"engine": "vllm", "model": "w"}) for name in "mn")
    models += "".join(table(f"judges.{name}", {"model": "w"}) for name in "jk")
    text = table("gate", gate) + models + table("tasks.sums", {"file": "sums.toml"} | task)
    return config_of(parsed_toml(folder / "accuracy.toml", text))


def some(keys: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({}, optional=keys).filter(
        lambda d: len(set(TOGETHER) & set(d)) != 1 and not ("reference" in d and COSTS & set(d))
    )


def test_every_rule_of_the_file_is_tried_here() -> None:
    assert {f.name for f in fields(Gate)} == set(GATE)
    assert {f.name for f in fields(TaskSettings)} == {*TASK, *ALONE}
    assert {f.name for f in fields(Report)} == {"template"}
    assert {f.name for f in fields(AccuracyFile)} == {"gate", "report", "models", "tasks", "judges"}


@given(gate=some(GATE), task=some(TASK), data=st.data())
def test_any_single_key_changed_is_told_as_that_key(
    folder: Path, gate: dict[str, Any], task: dict[str, Any], data: st.DataObject
) -> None:
    key = data.draw(st.sampled_from([("gate", name) for name in GATE] + [("task", name) for name in TASK]))
    section, name = key
    keys, old = (GATE, gate) if section == "gate" else (TASK, task)
    assume(name not in TOGETHER or name in old)
    assume(name not in COSTS or "reference" not in old)
    new = old | {name: data.draw(keys[name])}
    before = config(folder, gate, task)
    after = config(folder, new, task) if section == "gate" else config(folder, gate, new)
    left, right = (c.gate if section == "gate" else c.tasks["sums"] for c in (before, after))
    assume(exact(getattr(left, name)) != exact(getattr(right, name)))
    changes = changed_rules(before, after)
    rule = f"gate.{name}" if section == "gate" else f"tasks.sums.{name}"
    if name == "file":
        assert effects(changes) == {"tasks.sums: prompt": "loosening", "tasks.sums: dataset": "loosening"} or effects(
            changes
        ) == {"tasks.sums: prompt": "loosening"}
    elif section == "task" and name in ("alpha", "beta", "mode", "reasoning") and old.get(name) is None:
        assert {change.rule for change in changes} <= {rule}  # what holds anyway may be written out
    elif has_no_effect(section, name, old, new, task):
        assert changes == ()
    else:
        rules = [change.rule for change in changes if change.rule != "tasks.sums.alpha" or rule == change.rule]
        assert rules == [rule]


def has_no_effect(section: str, name: str, old: dict[str, Any], new: dict[str, Any], task: dict[str, Any]) -> bool:
    """Whether another key takes the place of the one that changed, or nothing looks at it."""
    if section == "gate":
        early = name == "early_stopping" and ("theta" not in task or task.get("test", "auto") != "auto")
        return early or (name in ("alpha", "beta") and name in task)
    numbers = [min(keys.get("num_samples", 99), keys.get("limit", 99)) for keys in (old, new)]
    is_limit = name in ("limit", "num_samples") and "num_samples" in old and numbers[0] == numbers[1]
    return is_limit or (name == "judge" and name in old)  # both judges are one, whatever their names


@given(before=st.tuples(some(GATE), some(TASK)), after=st.tuples(some(GATE), some(TASK)))
def test_no_rule_is_tightened_there_and_back(
    folder: Path, before: tuple[dict[str, Any], dict[str, Any]], after: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    base, head = config(folder, *before), config(folder, *after)
    assert changed_rules(base, base) == ()
    there, back = effects(changed_rules(base, head)), effects(changed_rules(head, base))
    assert there.keys() == back.keys()
    for rule, effect in there.items():
        assert effect == "loosening" or back[rule] == "loosening", rule


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(base=VALUES, head=VALUES)
@settings(max_examples=50)
def test_values_are_short_text_on_one_line_and_differ_where_the_values_do(base: Any, head: Any) -> None:
    left, right = texts(base, head)
    assert (left is None, right is None) == (base is None, head is None)
    for text in (left, right):
        assert text is None or (len(text) <= WIDTH and not set(text) & set("\n\r\t\0\x1b"))


@given(start=st.text(min_size=100), left=st.text(), right=st.text())
def test_a_difference_far_into_a_value_is_seen(start: str, left: str, right: str) -> None:
    assume(left != right)
    assert len(set(texts(start + left, start + right))) == 2
