"""What a pull request changes in [gate], [report], the checks that are made, and [models]."""

from pathlib import Path
from typing import Any

import pytest

from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.changes import changed_rules
from tests.support.gates import write_task
from tests.support.trees import Trees, effects, trees


@pytest.fixture
def pair(tmp_path: Path) -> Trees:
    return trees(tmp_path)


# key, the looser value, the stricter value
ORDERED: list[tuple[str, Any, Any]] = [
    ("alpha", 0.0001, 0.05),
    ("beta", 0.3, 0.2),
    ("max_failed", 0.01, 0.0),
    ("on_inconclusive", "warn", "fail"),
    ("correction", "bonferroni", "holm"),
    ("correction", "holm", "bh"),
    ("correction", "bh", "none"),
]


@pytest.mark.parametrize(("key", "looser", "stricter"), ORDERED)
def test_a_rule_of_the_gate_is_loosened_one_way_and_tightened_the_other(
    pair: Trees, key: str, looser: Any, stricter: Any
) -> None:
    pair.base.write(**{key: stricter})
    pair.head.write(**{key: looser})
    assert effects(pair.changes()) == {f"gate.{key}": "loosening"}
    assert effects(pair.back()) == {f"gate.{key}": "tightening"}


LESS = "other checks and limits that can fail the run leave it less of alpha"
# key, the looser and the stricter value, and the words of a loosening and of a tightening
WORDS: list[tuple[str, Any, Any, str, str]] = [
    ("gate.drift", "report", "fail", "a slow decline no longer fails", "a slow decline fails"),
    ("gate.groups", "report", "fail", "a group that falls no longer fails", "a group that falls fails"),
    ("gate.drift_alpha", 0.01, 0.05, "only a faster decline is reported", "a slower decline is reported"),
    ("tasks.words.tier", "advisory", "required", "the check no longer fails a run", "the check can fail the run"),
]


@pytest.mark.parametrize(("rule", "looser", "stricter", "loosened", "tightened"), WORDS)
def test_what_can_fail_a_run_is_listed_with_what_its_change_means(
    tmp_path: Path, rule: str, looser: Any, stricter: Any, loosened: str, tightened: str
) -> None:
    pair, (*_, key) = trees(tmp_path, tasks=("sums", "words")), rule.split(".")
    for tree, value in ((pair.base, stricter), (pair.head, looser)):
        write_task(tree.folder, "words", columns__group="page")
        tree.tasks["words"] |= {key: value} if rule.startswith("tasks") else {}
        tree.write(**({} if rule.startswith("tasks") else {key: value}))
    assert [(c.rule, c.effect, c.why) for c in pair.changes()] == [(rule, "loosening", loosened)]
    *less, change = pair.back()
    assert (change.rule, change.effect, change.why) == (rule, "tightening", tightened)
    # What can fail a run beside the checks takes alpha from each of them, and that is listed too.
    assert {(c.effect, c.why) for c in less} == (set() if key == "drift_alpha" else {("loosening", LESS)})
    assert all(len(str(c.head)) <= len("0.01125") for c in less)


@pytest.mark.parametrize(
    ("key", "value"),
    [("early_stopping", True), ("overall", False), ("seed", 1), ("references", "others"), ("reference_runs", 8)],
)
def test_a_rule_of_the_gate_without_a_direction_is_loosened_both_ways(pair: Trees, key: str, value: Any) -> None:
    if key == "early_stopping":  # nothing stops early without theta
        pair.head.write(**{key: value})
        assert pair.changes() == pair.back() == ()
        for tree in (pair.base, pair.head):
            tree.tasks["sums"]["theta"] = 5.0
            tree.write()
    pair.head.write(**{key: value})
    assert effects(pair.changes()) == effects(pair.back()) == {f"gate.{key}": "loosening"}


def test_a_change_has_its_values_its_reason_and_its_line_in_the_head(pair: Trees) -> None:
    pair.head.write(alpha=0.0001)
    (change,) = pair.changes()
    assert (change.base, change.head, change.why) == ("0.05", "0.0001", "only a larger drop fails")
    assert pair.head.config.read_text().splitlines()[change.line - 1] == "alpha = 0.0001"
    (change,) = pair.back()  # it is no longer written
    assert (change.base, change.head, change.line) == ("0.0001", "0.05", None)


@pytest.mark.parametrize("folder", ["./references/", "tmp/../references"])
def test_another_spelling_of_the_references_folder_is_no_change(pair: Trees, folder: str) -> None:
    pair.head.write(references=folder)
    assert pair.changes() == pair.back() == ()


def test_loosenings_come_first_then_tightenings_then_what_is_new_each_in_the_files_order(pair: Trees) -> None:
    pair.base.write(alpha=0.05, beta=0.2, seed=0, max_failed=0.01)
    pair.head.tasks["sums"]["limit"] = 1
    write_task(pair.head.folder, "words")
    pair.head.tasks["words"] = {"file": "words.toml"}
    pair.head.write(seed=1, max_failed=0.0, beta=0.1, alpha=0.01)
    assert list(effects(pair.changes()).items()) == [
        ("gate.seed", "loosening"), ("gate.alpha", "loosening"), ("tasks.sums.limit", "loosening"),
        ("gate.max_failed", "tightening"), ("gate.beta", "tightening"), ("tasks.words", "new"),
    ]  # fmt: skip


# --- the checks that are made ---


def test_a_removed_task_is_a_check_no_longer_made(tmp_path: Path) -> None:
    name = "here](x) | <b>"  # which is quoted as a key
    pair = trees(tmp_path, tasks=("sums",))
    pair.base.tasks[f'"{name}"'] = {"file": "sums.toml"}
    pair.base.write()
    (change,) = pair.changes()
    assert (change.rule, change.base, change.head, change.effect) == (f'tasks."{name}"', "m", None, "loosening")
    assert change.why == "this check is no longer made"
    assert change.line is None
    assert effects(pair.back()) == {change.rule: "new"}


def test_a_new_model_brings_new_checks_and_a_renamed_one_takes_away_its_old_ones(pair: Trees) -> None:
    pair.head.models["n"] = {"engine": "recorded", "model": "n.jsonl"}
    pair.head.write()
    (change,) = pair.changes()
    assert (change.rule, change.base, change.head, change.effect) == ("models.n", None, "sums", "new")
    assert pair.head.config.read_text().splitlines()[change.line - 1] == "[models.n]"
    del pair.head.models["m"]
    pair.head.write()
    assert effects(pair.changes()) == {"models.m": "loosening", "models.n": "new"}


def test_a_model_left_out_of_a_task_now_or_later_is_a_check_no_longer_made(pair: Trees) -> None:
    for project in (pair.base, pair.head):
        project.models["n"] = {"engine": "recorded", "model": "n.jsonl"}
        project.write()
    pair.base.tasks["sums"]["models"] = ["m", "n"]
    pair.base.write()
    pair.head.tasks["sums"]["models"] = ["m"]
    pair.head.write()
    (change,) = pair.changes()
    assert (change.rule, change.base, change.effect) == ("tasks.sums.models", "n", "loosening")
    assert pair.head.config.read_text().splitlines()[change.line - 1] == 'models = ["m"]'
    assert effects(pair.back()) == {"tasks.sums.models": "new"}
    del pair.base.tasks["sums"]["models"], pair.base.models["n"], pair.head.models["n"]
    for project in (pair.base, pair.head):
        project.write()
    (change,) = pair.changes()  # of a list of all
    assert (change.rule, change.effect) == ("tasks.sums.models", "loosening")
    assert "added later" in change.why
    assert effects(pair.back()) == {"tasks.sums.models": "tightening"}


# --- [models] ---


@pytest.mark.parametrize(
    "keys",
    [
        {"model": "other.jsonl"},
        {"sampling": {"temperature": 1.0, "max_tokens": 5}, "variant": {"quant": "fp8"}},
        {"baseline": "n"},
    ],
)
def test_what_a_model_is_and_how_it_answers_is_no_rule(pair: Trees, keys: dict[str, Any]) -> None:
    pair.head.models["m"] |= keys
    pair.head.write()
    assert pair.changes() == ()


@pytest.mark.parametrize(("engine", "shown"), [("recorded", '"recorded"'), ("ray", '"ray of recorded"')])
def test_another_engine_is_no_rule_but_scores_from_a_file_are_behind_replicas_too(
    pair: Trees, engine: str, shown: str
) -> None:
    pair.base.models["m"] |= {"engine": "vllm"}
    pair.head.models["m"] |= {"engine": engine} | ({"options": {"engine": "recorded"}} if engine == "ray" else {})
    for tree in (pair.base, pair.head):
        tree.write()
    (change,) = pair.changes()
    assert (change.rule, change.base, change.head) == ("models.m.engine", '"vllm"', shown)
    assert change.effect == "loosening"
    assert "nothing is evaluated" in change.why
    assert pair.back() == ()
    pair.head.models["m"] = {"engine": "openai", "model": "m.jsonl"}
    pair.head.write()
    assert pair.changes() == ()


# --- [report] ---


def with_template(tree: Any, name: str, text: str) -> None:
    (tree.folder / name).write_text(text)
    tree.config.write_text(tree.config.read_text() + f'\n[report]\ntemplate = "{name}"\n')


def test_a_template_of_the_comment_is_a_rule_by_its_bytes(pair: Trees) -> None:
    with_template(pair.base, "a.j2", "one")
    assert effects(pair.changes()) == effects(pair.back()) == {"report.template": "loosening"}
    with_template(pair.head, "b.j2", "one")
    assert pair.changes() == ()
    (pair.head.folder / "b.j2").write_text("two")
    (change,) = pair.changes()
    assert (change.rule, change.base, change.head) == ("report.template", '"a.j2"', '"b.j2"')
    assert change.effect == "loosening"
    assert change.line is not None


# --- the whole ---


def test_a_head_whose_task_cannot_be_read_is_bad_input(pair: Trees) -> None:
    (pair.head.folder / "sums.toml").write_text("prompt = 1")
    with pytest.raises(BadInput, match=r"head.sums\.toml:1: prompt"):
        changed_rules(load_config(pair.base.config), load_config(pair.head.config))
