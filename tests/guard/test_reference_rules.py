"""What a pull request changes in the reference store, on stores that `accgate record` wrote."""

import re
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.errors import BadInput
from accgate.guard.state import RuleChange
from accgate.inputs.paths import content_digest
from tests.support.gates import N, Project, questions, right_but, write_lines, write_task
from tests.support.trees import Trees, add_metric_of_errors, effects, trees

SUMS = "references: m/sums"
ANCHOR = "references: m/sums (anchor)"
ANCHOR_FILES = ("sums.anchor.toml", "sums.anchor.scores.csv")


@pytest.fixture
def pair(tmp_path: Path) -> Trees:
    """A base with a reference of 200 samples, 20 of them wrong, and its copy."""
    pair = trees(tmp_path, n=N)
    assert pair.base.record(right_but(20)) == 0
    return pair.again()


def only(pair: Trees) -> RuleChange:
    (change,) = pair.changes()
    return change


def edit(tree: Project, pattern: str, text: str, name: str = "m/sums.toml", count: int = 1) -> None:
    path = tree.store / name
    changed, found = re.subn(pattern, text, path.read_text(), count=count, flags=re.MULTILINE)
    assert found == count
    path.write_text(changed)


def better(pair: Trees, count: int = 2) -> None:
    """Raise so many of the head's scores."""
    rescore(pair.head, lambda rows: moved(rows, "0", "100", count))


def rescore(tree: Project, change: Any, *, name: str = "m/sums") -> None:
    """Edit the scores by hand, and the TOML so that it vouches for them."""
    scores, about = tree.store / f"{name}.scores.csv", tree.store / f"{name}.toml"
    header, *rows = scores.read_text().splitlines()
    content = "\n".join([header, *change(rows)]) + "\n"
    scores.write_text(content)
    values = [float(row.split(",")[2]) for row in content.splitlines()[1:]]
    mean = sum(values) / len(values)
    sigma = (sum((value - mean) ** 2 for value in values) / (len(values) - 1)) ** 0.5
    text = about.read_text()
    for key, value in (("mean", mean), ("n", len(values)), ("sigma", sigma)):
        text = re.sub(rf"^{key} = .*", f"{key} = {value!r}", text, count=1, flags=re.MULTILINE)
    about.write_text(
        re.sub(r'scores_sha256 = ".*"', f'scores_sha256 = "{content_digest([content.encode()])}"', text, count=1)
    )


def moved(rows: list[str], old: str, new: str, count: int) -> list[str]:
    done = 0
    for place, row in enumerate(rows):
        if row.endswith(f",{old}") and done < count:
            rows[place], done = row.removesuffix(old) + new, done + 1
    assert done == count
    return rows


# --- scores ---


def test_a_reference_lowered_by_five_points_is_a_loosening_after_the_rules_of_the_file(pair: Trees) -> None:
    assert pair.changes() == ()
    assert pair.head.record(right_but(30), args=["--reason", "noise"]) == 0
    change = only(pair)
    assert (change.rule, change.effect) == (SUMS, "loosening")
    assert (change.base, change.head) == ("mean 90.00 of 200", "mean 85.00 of 200")
    assert change.why == "the mean fell from 90.00 to 85.00, 10 of 200 scores fell, reason, replaced changed"
    assert change.line is None
    pair.head.write(alpha=0.01)
    assert [change.rule for change in pair.changes()] == ["gate.alpha", SUMS]


def test_a_reference_of_which_no_score_fell_and_some_rose_is_a_tightening_where_nothing_else_changed(
    pair: Trees,
) -> None:
    better(pair, 5)
    change = only(pair)
    assert (change.rule, change.effect) == (SUMS, "tightening")
    assert change.why == "the mean rose from 90.00 to 92.50, 5 of 200 scores rose"
    assert effects(pair.back()) == {SUMS: "loosening"}
    edit(pair.head, r"^date = .*", 'date = "today"\nreason = "approved by the security team"')
    assert (only(pair).effect, only(pair).why) == ("loosening", f"{change.why}, date, reason changed")


def test_tokens_and_seconds_of_a_reference_count(pair: Trees) -> None:
    def record(tree: Project, tokens: int, *args: str) -> None:
        rows = zip(tree.ids(), right_but(20), strict=True)
        write_lines(tree.scores, [{"id": i, "score": s, "completion_tokens": tokens, "seconds": 1} for i, s in rows])
        assert tree.record(args=args) == 0

    record(pair.base, 40, "--reason", "tokens")
    pair = pair.again()
    record(pair.head, 60, "--reason", "tokens")  # room for half again as many tokens
    assert only(pair).effect == "loosening"
    assert "columns beside the scores changed" in only(pair).why


@pytest.mark.parametrize(
    "keys",
    [
        {"metric": "exact_match", "confidence__by": "reply", "aggregate": "ece"},
        {"columns__cluster": "page"},
        {"allowed_drop": "1%"},
    ],
)
def test_better_scores_are_no_tightening_where_another_thing_decides_than_their_mean(
    pair: Trees, keys: dict[str, Any]
) -> None:
    """A statistic can get worse by each score; so can a test of clusters, and a share of the mean that may be lost."""
    for tree in (pair.base, pair.head):
        if "allowed_drop" in keys:
            tree.tasks["sums"] |= keys
            tree.write()
        else:
            write_task(tree.folder, rows=[{**row, "page": "p"} for row in questions(N)], **keys)
    for old, new in (("0", "100"), ("100", "0")):
        pair = pair.again()
        rescore(pair.head, lambda rows, old=old, new=new: moved(rows, old, new, 20))  # type: ignore[misc]
        assert effects(pair.changes()) == {SUMS: "loosening"}


@pytest.mark.parametrize("is_in_both", [True, False])
def test_where_less_is_better_in_the_base_a_fallen_score_is_the_stricter_one(
    pair: Trees, monkeypatch: pytest.MonkeyPatch, is_in_both: bool
) -> None:
    metric = add_metric_of_errors(monkeypatch)
    for tree in (pair.base, pair.head) if is_in_both else (pair.head,):
        write_task(tree.folder, metric=metric)
    rescore(pair.head, lambda rows: moved(rows, "100", "0", 3))
    if is_in_both:
        assert effects(pair.changes()) == {SUMS: "tightening"}
        assert effects(pair.back()) == {SUMS: "loosening"}
    else:
        assert effects(pair.changes()) == {SUMS: "loosening", "tasks.sums: metric": "loosening"}


def with_cluster(tree: Project) -> None:
    path = tree.store / "m/sums.scores.csv"
    path.write_text(path.read_text().replace("id,repeat,score", "id,repeat,score,cluster", 1))
    rescore(tree, lambda rows: [f"{row},one" for row in moved(rows, "0", "100", 2)])


SCORES: dict[str, Callable[[list[str]], list[str]]] = {
    "a sample less": lambda rows: rows[:-1],
    "a sample more": lambda rows: [*rows, "ffffffffffffffff,0,100"],
    "other repeats": lambda rows: [row.replace(",0,", ",1,") for row in rows],
    # With it no t test would ever find a drop: the differences spread too far.
    "a score out of all proportion": lambda rows: moved(rows, "100", "1000000000", 1),
}
FIGURES = {
    "sigma": (r"^sigma = .*", "sigma = 1.0"), "discordance": (r"^n = ", "discordance = 0.001\nn = "),
    "repeats": (r"^repeats = 1", "repeats = 4"), "runs": (r"^runs = 1", "runs = 4"),
    "prompt": (r'^prompt = ".', 'prompt = "z'), "digests": (r'^runs_sha256 = \[\n *".', 'runs_sha256 = [\n"z'),
    "date": (r"^date = .*", 'date = "elsewhere"'), "reason": (r"\A", 'reason = "by hand"\n'),
    "settings": (r"^\[settings\](.|\n)*", ""), "served": (r"\Z", '\n[served]\nmodel = "toy"\n'),
    "judge_served": (r"\Z", '\n[judge_served]\nmodel = "toy"\n'),
}  # fmt: skip


def test_any_other_change_of_a_reference_is_a_loosening_that_says_what_changed(
    pair: Trees, messages: SnapshotAssertion
) -> None:
    changes: dict[str, Callable[[Project], object]] = {
        "one score fell": lambda tree: tree.record(right_but(15, start=6), args=["--reason", "other"]),
        "a run more": lambda tree: tree.record(right_but(10), args=["--add"]),
        "a column": with_cluster,
        **{name: partial(rescore, change=change) for name, change in SCORES.items()},
        **{name: partial(edit, pattern=pattern, text=text) for name, (pattern, text) in FIGURES.items()},
    }
    told = {}
    for name, change in changes.items():
        change((pair := pair.again()).head)
        assert (only(pair).rule, only(pair).effect) == (SUMS, "loosening"), name
        assert effects(pair.back())[SUMS] == "loosening", name
        told[name] = only(pair).why
    assert told == messages


def test_a_deleted_reference_is_a_loosening_where_its_task_goes_too_and_its_return_is_new(pair: Trees) -> None:
    shutil.rmtree(pair.head.store)
    change = only(pair)
    assert (change.rule, change.effect, change.head) == (SUMS, "loosening", None)
    assert change.why == "the reference was deleted"
    assert effects(pair.back()) == {SUMS: "new"}
    pair.head.tasks = {"arithmetic": {}}
    pair.head.write()
    assert effects(pair.changes()) == {"tasks.sums": "loosening", SUMS: "loosening", "tasks.arithmetic": "new"}


def test_a_store_moved_with_its_folders_name_is_one_change(pair: Trees) -> None:
    pair.head.store.rename(pair.head.folder / "kept")
    pair.head.write(references="kept")
    assert effects(pair.changes()) == {"gate.references": "loosening"}


NO_RUN = r"^runs_sha256 = \[\n.*\n\]", "runs_sha256 = []"


@pytest.mark.parametrize(("pattern", "text"), [FIGURES["sigma"], FIGURES["discordance"], NO_RUN])
def test_better_scores_hide_no_figure_and_no_run_that_is_not_theirs(pair: Trees, pattern: str, text: str) -> None:
    better(pair)
    edit(pair.head, pattern, text)
    assert effects(pair.changes()) == {SUMS: "loosening"}


def test_replies_that_change_are_listed_for_reports_show_them(pair: Trees) -> None:
    rule, name = "references: m/sums (replies)", "m/sums.replies.jsonl.gz"
    (pair.head.store / name).write_bytes(b"anything")
    assert effects(pair.changes()) == effects(pair.back()) == {rule: "loosening"}
    better(pair, 5)
    assert effects(pair.changes()) == {SUMS: "tightening", rule: "loosening"}
    (pair.base.store / name).unlink()
    assert effects(pair.changes()) == {SUMS: "tightening", rule: "new"}


# --- a mean alone ---


def mean_only(tree: Project, mean: float, n: int, more: str = "") -> None:
    (tree.store / "m/sums.scores.csv").unlink(missing_ok=True)
    (tree.store / "m/sums.toml").write_text(f'model = "m"\ntask = "sums"\nmean = {mean}\nn = {n}\n{more}')


@pytest.mark.parametrize(
    ("mean", "n", "more", "effect"),
    [
        (90.001, 200, "", "tightening"), (90.0, 201, "", "loosening"), (90.5, 201, "", "loosening"),
        (89.5, 200, "", "loosening"), (90.5, 200, "sigma = 10.0", "loosening"),
    ],
)  # fmt: skip
def test_a_mean_is_tightened_by_a_better_one_of_as_many_samples_and_never_takes_the_place_of_scores(
    pair: Trees, mean: float, n: int, more: str, effect: str
) -> None:
    mean_only(pair.head, mean, n, more)
    assert effects(pair.changes()) == effects(pair.back()) == {SUMS: "loosening"}
    mean_only(pair.base, 90.0, 200)
    assert effects(pair.changes()) == {SUMS: effect}


# --- damage ---


@pytest.mark.parametrize(
    ("damage", "name", "match", "rule"),
    [
        (lambda path: path.write_text(path.read_text().replace(",100\n", ",0\n", 1)), "scores.csv",
         "is not what was", SUMS),
        (lambda path: path.unlink(), "scores.csv", "is missing, but", SUMS),
        (lambda path: path.unlink() or path.mkdir(), "toml", "is a folder", SUMS),
        (lambda path: path.write_text(path.read_text().replace("replaced = 1", "replaced = 2")), "anchor.toml",
         "restore the file from git", ANCHOR),
    ],
)  # fmt: skip
def test_a_damaged_reference_or_anchor_is_bad_input_in_the_head_and_a_loosening_in_the_base(
    anchored: Trees, damage: Any, name: str, match: str, rule: str
) -> None:
    damage(anchored.head.store / f"m/sums.{name}")
    with pytest.raises(BadInput, match=match):
        anchored.changes()
    assert effects(anchored.back()) == {rule: "loosening"}


# --- anchors ---


@pytest.fixture
def anchored(pair: Trees) -> Trees:
    """The same, after the base's reference was replaced once."""
    assert pair.base.record(right_but(22), args=["--reason", "first"]) == 0
    return pair.again()


def unlink(tree: Project, *names: str) -> None:
    for name in names:
        (tree.store / "m" / name).unlink()


def test_what_record_does_to_an_anchor_is_told_with_the_reference_alone(anchored: Trees) -> None:
    assert (anchored.head.store / "m/sums.anchor.toml").is_file()
    assert anchored.head.record(right_but(24), args=["--reason", "second"]) == 0
    assert effects(anchored.changes()) == {SUMS: "loosening"}
    assert anchored.head.record(right_but(21), args=["--reason", "third"]) == 0
    assert effects(anchored.changes()) == {SUMS: "loosening", ANCHOR: "loosening"}  # two steps, one of them not there


@pytest.mark.parametrize(("figure", "forged"), [("difference", "-1.0"), ("error", "9.0"), ("p_fall", "0.9")])
def test_a_better_reference_may_add_its_own_step_to_the_anchor(anchored: Trees, figure: str, forged: str) -> None:
    assert anchored.head.record(right_but(20), args=["--reason", "second"]) == 0
    assert effects(anchored.changes()) == {SUMS: "loosening"}
    path = anchored.head.store / "m/sums.anchor.toml"
    before, mark, last = path.read_text().rpartition(f"{figure} = ")
    path.write_text(before + mark + re.sub(r"^[0-9.e-]+", forged, last))
    assert effects(anchored.changes()) == {SUMS: "loosening", ANCHOR: "loosening"}


@pytest.mark.parametrize(
    "change",
    [
        lambda pair: edit(pair.head, r"^date = .*", 'date = "2020"  # by hand', "m/sums.anchor.toml"),
        lambda pair: rescore(pair.head, lambda rows: moved(rows, "100", "0", 5), name="m/sums.anchor"),
        lambda pair: unlink(pair.head, *ANCHOR_FILES),
        lambda pair: unlink(pair.base, *ANCHOR_FILES),
        lambda pair: shutil.rmtree(pair.base.store) or unlink(pair.head, "sums.toml", "sums.scores.csv"),
    ],
    ids=["another date", "other scores", "deleted", "put beside a reference", "without a reference"],
)
def test_an_anchor_that_is_changed_put_there_or_deleted_is_a_loosening(anchored: Trees, change: Any) -> None:
    change(anchored)
    assert effects(anchored.changes()) == {ANCHOR: "loosening"}


def test_steps_without_a_new_reference_are_a_loosening(anchored: Trees) -> None:
    path = anchored.head.store / "m/sums.anchor.toml"
    text = path.read_text().replace("replaced = 1", "replaced = 2")
    path.write_text(text.replace("history = [\n", "history = [\n{difference = 0.0, error = 9.0},\n", 1))
    assert only(anchored).why == "the history of earlier references changed"
    path.write_text(re.sub(r"( *\{.*\},\n)\]", r"\1\1]", text))  # the step of the reference that stays, again
    assert effects(anchored.changes()) == {ANCHOR: "loosening"}
    assert only(anchored).why == "the history has new references that were never recorded"


def test_an_anchor_that_an_incomparable_reference_ends_is_a_loosening(anchored: Trees) -> None:
    write_task(anchored.head.folder, prompt="Please: {{ q }}")
    assert anchored.head.record(right_but(1), args=["--reason", "prompt"]) == 0
    assert effects(anchored.changes()) == {"tasks.sums: prompt": "loosening", SUMS: "loosening", ANCHOR: "loosening"}
