"""What a pull request changes of a task: its table, its definition, its dataset and its examples."""

import json
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from tests.support.gates import questions, write_lines, write_task
from tests.support.trees import Trees, add_metric_of_errors, effects, trees


@pytest.fixture
def pair(tmp_path: Path) -> Trees:
    return trees(tmp_path)


def set_keys(tree: Any, **keys: Any) -> None:
    """Set these keys of the task's table; None removes one."""
    merged = tree.tasks["sums"] | keys
    tree.tasks["sums"] = {key: value for key, value in merged.items() if value is not None}
    tree.write()


def define(*trees: Any, **keys: Any) -> None:
    """Write the definition of these trees' task."""
    for tree in trees:
        write_task(tree.folder, **{"rows": questions(20)} | keys)


def one_way(pair: Trees, rule: str) -> None:
    """Check that the head's change loosens a rule, and that its undoing tightens it."""
    assert effects(pair.changes()) == {rule: "loosening"}
    assert effects(pair.back()) == {rule: "tightening"}


# key, the looser value, the stricter value; None is no value
ORDERED: list[tuple[str, Any, Any]] = [
    ("alpha", 0.01, None),  # the gate's 0.05
    ("alpha", None, 0.1),
    ("beta", None, 0.1),
    ("theta", 3.0, 2.0),
    ("allowed_drop", 0.5, None),
    ("certify", False, True),
    ("max_unread", 0.4, None),  # 0.2
    ("max_unread", None, 0.1),
    ("max_more_tokens", "20%", "10%"),
    ("max_slower", "20%", "10.0%"),
    ("max_less_accepted", "20%", "10.0%"),
    ("num_samples", 5, 10),
    ("limit", 5, None),
]


@pytest.mark.parametrize(("key", "looser", "stricter"), ORDERED)
def test_a_tasks_setting_is_loosened_one_way_and_tightened_the_other(
    pair: Trees, key: str, looser: Any, stricter: Any
) -> None:
    set_keys(pair.base, **{key: stricter})
    set_keys(pair.head, **{key: looser})
    one_way(pair, f"tasks.sums.{key}")


@pytest.mark.parametrize(("key", "before", "after"), [("theta", 3.0, 2.0), ("beta", 0.3, 0.1)])
@pytest.mark.parametrize("sides", [("warn", "fail"), ("fail", "warn")])
def test_what_makes_more_runs_inconclusive_is_no_tightening_where_these_do_not_fail(
    pair: Trees, key: str, before: float, after: float, sides: tuple[str, str]
) -> None:
    for tree, side, value in zip((pair.base, pair.head), sides, (before, after), strict=True):
        tree.gate["on_inconclusive"] = side
        set_keys(tree, **{key: value})
    (change,) = (change for change in pair.changes() if change.rule == f"tasks.sums.{key}")
    assert (change.effect, change.why) == ("loosening", "more runs are inconclusive, and these do not fail")


@pytest.mark.parametrize(
    ("key", "before", "after"),
    [
        ("theta", None, 2.0), ("num_samples", None, 10), ("sigma", 40.0, 50.0), ("discordance", None, 0.1),
        ("test", "auto", "two-sample"), ("options", None, {"count": 5}), ("mode", None, "completion"),
        ("repeats", 1, 2), ("target", None, 80.0), ("reference_num_samples", 200, 100),  # nothing shows how many
    ],
)  # fmt: skip
def test_a_tasks_setting_without_a_direction_is_loosened_both_ways(
    pair: Trees, key: str, before: Any, after: Any
) -> None:
    mean = {"reference": 80.0} if key == "reference_num_samples" else {}
    set_keys(pair.base, **mean, **{key: before})
    set_keys(pair.head, **mean, **{key: after})
    assert effects(pair.changes()) == effects(pair.back()) == {f"tasks.sums.{key}": "loosening"}


@pytest.mark.parametrize("key", ["max_more_tokens", "max_slower", "max_less_accepted"])
def test_a_first_limit_takes_its_share_of_alpha_from_every_check(tmp_path: Path, key: str) -> None:
    pair = trees(tmp_path, tasks=("words", "sums"))
    set_keys(pair.head, **{key: "10%"})
    less = dict.fromkeys(("tasks.sums.alpha", "tasks.words.alpha"), "loosening")
    assert effects(pair.changes()) == {f"tasks.sums.{key}": "tightening", **less}
    assert effects(pair.back()) == {f"tasks.sums.{key}": "loosening"}


@pytest.mark.parametrize("gate", [0.1, 0.01, None])
def test_an_alpha_of_its_own_hides_no_fall_behind_the_gates(pair: Trees, gate: float | None) -> None:
    pair.base.write(alpha=0.01)
    set_keys(pair.head, alpha=1e-30)
    pair.head.write(**({} if gate is None else {"alpha": gate}))
    assert effects(pair.changes()) == {"tasks.sums.alpha": "loosening"}


@pytest.mark.parametrize(("metric", "better", "worse"), [("numeric_match", 80.0, 75.0), ("errors", 20.0, 25.0)])
def test_a_target_and_a_reference_are_tightened_in_the_metrics_direction(
    pair: Trees, monkeypatch: pytest.MonkeyPatch, metric: str, better: float, worse: float
) -> None:
    add_metric_of_errors(monkeypatch)
    define(pair.base, pair.head, metric=metric)
    for key, other in (("target", {}), ("reference", {"target": None, "reference_num_samples": 100})):
        set_keys(pair.base, **other, **{key: better})
        set_keys(pair.head, **other, **{key: worse})
        one_way(pair, f"tasks.sums.{key}")


def test_a_tag_lost_renamed_or_added_is_a_loosening(pair: Trees) -> None:
    set_keys(pair.base, tags=["quick", "math"])
    for tags in (["math"], ["math", "fast"]):
        set_keys(pair.head, tags=tags)
        assert effects(pair.changes()) == effects(pair.back()) == {"tasks.sums.tags": "loosening"}


# --- the definition ---


RUBRIC = {"metric": "judge", "judge.rubric": "{{ prompt }} {{ reply }}"}
CHOICES = {"metric": "exact_match", "target": "A", "choices.options": '["x", "y"]'}
READ, TYPOS = {"confidence": {"by": "reply"}}, {"kind": "typos", "field": "q"}


@pytest.mark.parametrize(
    "case",
    [
        ("prompt", {"prompt": "Please: {{ q }}"}),
        ("metric", {"metric": "exact_match"}),
        ("extract", {"extract__regex": "\\d+"}),
        ("stop", {"stop": ["\n"]}),
        ("few_shot", {"few_shot__examples": [{"q": "1 + 1", "a": 2}]}),
        ("dataset", {"rows": questions(19)}),
        ("columns", {"columns__cluster": "page"}),
        ("chance", {"chance": 25.0}),
        ("tools", {"tools": [{"name": "f"}]}),
        ("num_samples", {"num_samples": 10}),
        ("metric_options", {"metric": "rouge_n"}, {"metric": "rouge_n", "metric_options": {"n": 3}}),
        ("judge", RUBRIC, {**RUBRIC, "judge.rubric": "be kind to {{ reply }}"}),
        ("choices", CHOICES, {**CHOICES, "choices.by": "likelihood"}),
        ("attack", {"attack": [TYPOS]}, {"attack": [TYPOS | {"rate": 0.01}]}),
        ("confidence", READ, {"confidence": {"by": "tokens"}}),
        ("aggregate_options", {**READ, "aggregate": "ece"}, {**READ, "aggregate": "ece", "aggregate_options.bins": 2}),
        ("dataset", {"dataset.where": "{{ a > 3 }}"}, {"dataset.where": "{{ a > 9 }}"}),
    ],
)
def test_every_part_of_a_definition_is_a_rule(pair: Trees, case: tuple[Any, ...]) -> None:
    """Each case has the part, the base's keys where they are not the usual ones, and the head's."""
    part, *before, after = case
    define(pair.base, **dict(*before))
    define(pair.head, **after)
    assert effects(pair.changes()) == effects(pair.back()) == {f"tasks.sums: {part}": "loosening"}


@pytest.mark.parametrize(
    ("part", "stricter", "looser"),
    [
        ("num_samples", {"num_samples": 10}, {"num_samples": 9}),
        ("max_unread", {"max_unread": 0.1}, {}),  # 0.2 where nothing is set
        ("theta", {"theta": 2.0}, {"theta": 3.0}),
    ],
)
def test_more_samples_fewer_unread_replies_and_a_smaller_theta_by_default_are_stricter(
    pair: Trees, part: str, stricter: dict[str, Any], looser: dict[str, Any]
) -> None:
    define(pair.base, **stricter)
    define(pair.head, **looser)
    one_way(pair, f"tasks.sums: {part}")


def test_fewer_samples_than_a_damaged_reference_of_the_base_may_have_are_told(pair: Trees) -> None:
    set_keys(pair.base, theta=None)
    set_keys(pair.head, theta=None, num_samples=10)
    (pair.base.store / "m").mkdir(parents=True, exist_ok=True)
    (pair.base.store / "m/sums.toml").write_text("n = ")
    assert effects(pair.changes())["tasks.sums.num_samples"] == "loosening"


def test_another_dataset_under_the_same_name_is_told_by_its_digest(pair: Trees) -> None:
    write_lines(pair.head.folder / "sums.jsonl", questions(20, start=1))
    (change,) = pair.changes()
    assert (change.rule, change.why) == ("tasks.sums: dataset", "the dataset's content changed")
    assert change.base != change.head
    assert 'file = "sums.jsonl", sha256 = "' in change.head
    assert pair.head.config.read_text().splitlines()[change.line - 1] == "[tasks.sums]"


def test_the_same_bytes_read_in_another_way_are_another_dataset(pair: Trees) -> None:
    for tree, name in ((pair.base, "d.jsonl"), (pair.head, "d.csv")):
        (tree.folder / name).write_bytes(b"q,a\n1,2\n")
        define(tree, dataset__file=name)
    assert effects(pair.changes()) == {"tasks.sums: dataset": "loosening"}


def test_answers_and_examples_of_a_file_of_their_own_are_compared_by_content(pair: Trees) -> None:
    join = {"on": "q", "file": "answers.jsonl"}
    for tree, name in ((pair.base, "a.jsonl"), (pair.head, "b.jsonl")):
        write_lines(tree.folder / "answers.jsonl", questions(20))
        write_lines(tree.folder / name, questions(3))
        rows = [{"q": row["q"]} for row in questions(20)]
        write_task(tree.folder, rows=rows, dataset__join=join, few_shot__file=name)
    assert pair.changes() == ()
    write_lines(pair.head.folder / "answers.jsonl", [{**row, "a": 0} for row in questions(20)])
    write_lines(pair.head.folder / "b.jsonl", questions(4))
    assert effects(pair.changes()) == {"tasks.sums: dataset": "loosening", "tasks.sums: few_shot": "loosening"}


@pytest.mark.parametrize("other", ["{x = 1.0}", "{x = true}"])
def test_values_that_python_takes_for_equal_are_not(pair: Trees, other: str) -> None:
    for tree, value in ((pair.base, "{x = 1}"), (pair.head, other)):
        path = write_task(tree.folder, rows=questions(20))
        path.write_text(path.read_text() + f"few_shot.examples = [{value}]\n")
    assert effects(pair.changes()) == {"tasks.sums: few_shot": "loosening"}


def test_the_order_of_keys_counts_where_the_model_sees_it(pair: Trees) -> None:
    define(pair.base, few_shot__examples=[{"q": "?", "c": {"A": "1", "B": "2"}}])
    for example in ({"c": {"A": "1", "B": "2"}, "q": "?"}, {"q": "?", "c": {"B": "2", "A": "1"}}):
        define(pair.head, few_shot__examples=[example])
        assert effects(pair.changes()) == {"tasks.sums: few_shot": "loosening"}


def test_a_definition_that_cannot_be_read_in_the_base_is_a_loosening(pair: Trees) -> None:
    (pair.base.folder / "sums.toml").write_text("prompt = 1")
    set_keys(pair.head, limit=3)
    assert effects(pair.changes()) == {"tasks.sums: definition": "loosening", "tasks.sums.limit": "loosening"}
    assert "the base's definition cannot be read: " in pair.changes()[0].why
    with pytest.raises(BadInput):
        pair.back()


def test_a_dataset_missing_in_the_head_is_bad_input_and_in_the_base_a_loosening(pair: Trees) -> None:
    (pair.head.folder / "sums.jsonl").unlink()
    with pytest.raises(BadInput, match=r"there is no file 'sums\.jsonl'"):
        pair.changes()
    assert effects(pair.back()) == {"tasks.sums: definition": "loosening"}


def test_a_metric_changed_with_the_target_does_not_turn_its_direction(
    pair: Trees, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_keys(pair.base, target=80.0)
    set_keys(pair.head, target=20.0)
    write_task(pair.head.folder, rows=questions(20), metric=add_metric_of_errors(monkeypatch))
    assert effects(pair.changes()) == {"tasks.sums.target": "loosening", "tasks.sums: metric": "loosening"}


def test_a_dataset_is_the_rows_that_are_read_and_not_the_bytes(pair: Trees) -> None:
    rows = [json.loads(line) for line in (pair.base.folder / "sums.jsonl").read_text().splitlines()]
    path = pair.head.folder / "sums.jsonl"
    path.write_bytes("".join(json.dumps(row, separators=(",", ":")) + " \r\n" for row in rows).encode())
    assert pair.changes() == pair.back() == ()
    for other in (
        rows[::-1],
        [*rows[:-1], {**rows[-1], "a": str(rows[-1]["a"])}],
        [dict(reversed(r.items())) for r in rows],
    ):
        write_lines(path, other)
        assert effects(pair.changes()) == {"tasks.sums: dataset": "loosening"}
