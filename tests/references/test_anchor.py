"""The anchor: kept when a reference is replaced, refused when damaged, begun anew; and the drift of a run since it."""

import json
from dataclasses import asdict
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.config.config import load_config
from accgate.design import Design
from accgate.evaluation.assignment import RunOptions
from accgate.record import Recording
from accgate.record import record as record_gate
from accgate.records.membership import clusters_of
from accgate.records.scores import Scores
from accgate.references.anchor import Anchor, drift_since, find_anchor
from accgate.stats.drift import difference_to_anchor
from accgate.verdict.figures import Drift
from tests.references.projects import answers_of_runs, damage, reference_of
from tests.support.cases import refusal
from tests.support.gates import (
    Project,
    contents,
    questions,
    recorded_project,
    refused,
    right_but,
    said,
    write_lines,
    write_task,
)

N = 200


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return recorded_project(tmp_path, N)


def replaced(project: Project, *wrong: int) -> None:
    """The reference replaced by runs with so many samples wrong, one after the other."""
    for count in wrong:
        assert project.record(right_but(count, N), args=["--reason", "again"]) == 0


def anchor_of(project: Project) -> Anchor:
    anchor = find_anchor(project.store, "m", "sums")
    assert anchor is not None
    return anchor


def scores(project: Project, values: list[float]) -> Scores:
    return Scores(tuple(project.ids()[: len(values)]), np.array(values)[:, None])


def drift(project: Project, values: list[float], *, higher_is_better: bool = True, **keys: Any) -> Drift:
    """How these scores differ from the anchor's."""
    plain: dict[str, Any] = {"clusters": None, "alpha": 0.05}
    design = Design(higher_is_better=higher_is_better)
    return drift_since(anchor_of(project), scores(project, values), design, **plain | keys)


def test_the_first_reference_is_kept_whatever_replaces_it(project: Project) -> None:
    first = reference_of(project)
    content = (project.store / "m/sums.scores.csv").read_bytes()
    replaced(project, 12, 9, 20)
    assert (project.store / "m/sums.anchor.scores.csv").read_bytes() == content
    anchor = anchor_of(project)
    same = ("mean", "n", "date", "fingerprint", "model", "task", "repeats", "anchor")
    assert [getattr(anchor.about, name) for name in same] == [getattr(first.about, name) for name in same]
    assert anchor.about.replaced == len(anchor.about.history) == 3
    assert anchor.scores.ids == first.scores.ids
    assert np.array_equal(anchor.scores.values, first.scores.values)
    assert project.run() == 0


def test_each_replacement_is_written_with_its_difference_to_the_anchor_not_to_the_last(project: Project) -> None:
    for wrong, commit in ((14, "abc"), (18, "def")):
        project.answer(right_but(wrong, N))
        options = RunOptions(project.folder / f"record-out-{commit}")
        record_gate(load_config(project.config), options, Recording(reason="again", commit=commit))
    history = anchor_of(project).about.history
    assert [step.difference for step in history] == pytest.approx([-2.0, -4.0])
    assert [step.commit for step in history] == ["abc", "def"]
    for step, wrong in zip(history, (14, 18), strict=True):
        assert step.error == difference_to_anchor(right_but(10, N), right_but(wrong, N))[1]
        assert step.date == datetime.now(timezone.utc).date().isoformat()


def test_the_anchor_has_every_run_that_was_pooled_into_the_first_reference(project: Project) -> None:
    assert project.record(right_but(20, N), args=["--add"]) == 0
    assert find_anchor(project.store, "m", "sums") is None
    replaced(project, 15)
    about = anchor_of(project).about
    assert (about.mean, about.repeats) == (pytest.approx(92.5), 2)
    (step,) = about.history
    assert step.difference == pytest.approx(0.0)
    before = (project.store / "m/sums.anchor.toml").read_bytes()  # which a run that is added leaves alone
    assert project.record(right_but(40, N), args=["--add"]) == 0
    assert (project.store / "m/sums.anchor.toml").read_bytes() == before


BREAKS: dict[str, tuple[dict[str, Any], str, int]] = {
    "metric": ({"metric": "exact_match"}, "the metric changed", 0),
    "dataset": ({"rows": questions(N - 5) + questions(5, start=900)}, "the dataset changed", 2),
}


@pytest.mark.parametrize(("keys", "changed", "earlier"), BREAKS.values(), ids=BREAKS)
def test_where_scores_cannot_be_compared_a_new_anchor_begins_and_the_file_says_so(
    project: Project, keys: dict[str, Any], changed: str, earlier: int
) -> None:
    replaced(project, *[12] * earlier)
    write_task(project.folder, **{"rows": questions(N)} | keys)
    assert project.record(right_but(20, N), args=["--reason", "a better task"]) == 0
    assert not list((project.store / "m").glob("sums.anchor.*"))
    today = datetime.now(timezone.utc).date().isoformat()
    said_so = f"drift is counted from here: {changed} since the anchor of {today}"
    assert reference_of(project).about.anchor == said_so
    assert project.record(right_but(22, N), args=["--add"]) == 0
    replaced(project, 30)
    about = anchor_of(project).about
    assert (about.mean, about.anchor, about.replaced) == (pytest.approx(89.5), said_so, 1)
    assert reference_of(project).about.anchor == ""


@pytest.mark.parametrize("sizes", [(N, 50, 120), (50, N, 120)])
def test_a_plan_of_fewer_or_more_samples_is_compared_on_those_that_both_have(
    tmp_path: Path, sizes: tuple[int, ...]
) -> None:
    project = Project(tmp_path, n=N)
    for number, size in enumerate(sizes):
        project.tasks["sums"]["num_samples"] = size
        project.write()
        assert project.record(right_but(10 + 5 * number, N), args=["--reason", "resized"] * bool(number)) == 0
    about = anchor_of(project).about
    assert about.n == sizes[0]
    shared = [min(sizes[0], size) for size in sizes[1:]]
    assert [step.difference for step in about.history] == pytest.approx([-500 / shared[0], -1000 / shared[1]])
    found = drift(project, right_but(10, sizes[-1]))
    left_out = ["left out of the drift: 70 of 120 samples, not in the anchor"]
    assert [reason for reason in found.reasons if "anchor" in reason] == (left_out if sizes[0] < 120 else [])


DAMAGE = {
    "an edited score": ("scores.csv", ",0\n", ",100\n"),
    "a wrong mean": ("toml", "mean = 95.0", "mean = 94.0"),
    "an unknown key": ("toml", "replaced = ", "replacd = "),
    "no history": ("toml", r"history = \[\n.*\n\]", ""),
    "a text": ("toml", r"difference = [-.0-9]*", 'difference = "none"'),
}


def test_a_damaged_anchor_is_refused_and_never_replaced(project: Project, capsys, messages: SnapshotAssertion) -> None:
    replaced(project, 12)
    project.scores.write_text("not even read")
    faults = {}
    for name, (ending, pattern, new) in DAMAGE.items():
        path = project.store / f"m/sums.anchor.{ending}"
        content = path.read_bytes()
        damage(path, pattern, new)
        faults[name], before = refusal(find_anchor, project.store, "m", "sums"), contents(project.store)
        said(capsys)
        assert " ".join(faults[name].split()) in refused(capsys, project.record(args=["--reason", "again"]))
        assert contents(project.store) == before
        path.write_bytes(content)
    assert faults == messages


@pytest.mark.parametrize(("gone", "there"), [("scores.csv", "toml"), ("toml", "scores.csv")])
def test_half_an_anchor_is_refused(project: Project, gone: str, there: str) -> None:
    replaced(project, 12)
    (project.store / f"m/sums.anchor.{gone}").unlink()
    fault = f"sums.anchor.{gone}: is missing, but sums.anchor.{there} "
    assert fault in refusal(find_anchor, project.store, "m", "sums")


def test_a_damaged_reference_can_be_replaced_but_is_no_anchor(project: Project) -> None:
    damage(project.store / "m/sums.scores.csv", ",0\n", ",100\n")
    replaced(project, 12)
    assert reference_of(project).about.anchor == "drift is counted from here: the earlier reference has no scores"
    assert find_anchor(project.store, "m", "sums") is None


def test_each_variant_has_its_own_anchor_and_a_baseline_finds_it(project: Project) -> None:
    project.models["m"]["variant"] = {"quant": "bf16", "gpu": "H200"}
    project.write()
    assert project.record(right_but(10, N)) == 0
    replaced(project, 20)
    assert find_anchor(project.store, "m", "sums") is None
    for baseline in ("m@gpu=H200,quant=bf16", "m@bf16,H200"):
        anchor = find_anchor(project.store, baseline, "sums")
        assert anchor is not None
        assert anchor.path.parent.name == "m@gpu=H200,quant=bf16"


def test_small_drops_that_each_gate_lets_pass_are_drift_together(project: Project) -> None:
    for wrong in (13, 16, 19, 22):
        assert project.run(right_but(wrong, N)) == 0  # each gate against the reference before
        replaced(project, *[wrong] * (wrong < 22))
    found = drift(project, right_but(22, N))
    assert (found.detected, found.runs, found.difference) == (True, 4, pytest.approx(-6.0))
    assert found.since == anchor_of(project).about.date
    assert (found.alpha, found.reasons) == (0.05, ())


def test_a_run_is_the_next_of_the_history(project: Project) -> None:
    replaced(project, 13, 11)
    found = drift(project, right_but(18, N), alpha=0.2)
    assert (found.runs, found.difference) == (3, pytest.approx(-4.0))
    assert found.p_value == pytest.approx(0.5**8 * 10)  # eight more are lost; the third run has a tenth of alpha
    assert found.detected == (found.p_value <= 0.2)
    assert json.loads(json.dumps(asdict(found), allow_nan=False))["since"] == found.since


def test_a_better_run_is_no_drift_and_where_lower_is_better_it_is(project: Project) -> None:
    replaced(project, 10)
    better, worse = right_but(0, N), right_but(30, N)
    for higher_is_better, fine, fallen in ((True, better, worse), (False, worse, better)):
        good, bad = (drift(project, values, higher_is_better=higher_is_better) for values in (fine, fallen))
        assert (good.detected, good.p_value, bad.detected) == (False, 1.0, True)
        assert (bad.difference, good.difference) == ((-10.0, 5.0) if higher_is_better else (5.0, -10.0))


def test_an_earlier_decline_that_is_gone_is_told(project: Project) -> None:
    replaced(project, 60)
    found = drift(project, right_but(10, N))
    assert not found.detected
    assert found.reasons == ("run 1 of 2 showed a decline, the last one does not",)


def test_failed_samples_are_left_out_and_counted(project: Project) -> None:
    replaced(project, 12)
    values = right_but(20, N)
    values[100:103] = [np.nan] * 3
    found = drift(project, values)
    assert found.difference == pytest.approx(-1000 / (N - 3))
    assert found.reasons == ("left out of the drift: 3 of 200 samples, without a score",)
    nothing = drift(project, [np.nan] * N)
    assert (nothing.difference, nothing.p_value, nothing.detected) == (None, None, False)
    assert nothing.reasons == ("left out of the drift: 200 of 200 samples, without a score",)


def test_samples_that_change_in_clusters_are_less_proof(project: Project) -> None:
    replaced(project, 12)
    plain = drift(project, right_but(26, N))
    codes = np.arange(N) // 25
    clustered = drift(project, right_but(26, N), clusters=codes)
    assert (plain.detected, clustered.detected) == (True, False)
    assert plain.difference == clustered.difference


def test_the_clusters_of_a_new_reference_count_in_its_error(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N)
    write_task(tmp_path, rows=questions(N), columns__cluster="page")
    assert project.record(right_but(10, N)) == 0
    assert project.record(right_but(30, N), args=["--reason", "again"]) == 0
    new, anchor = reference_of(project).scores, anchor_of(project)
    before, now = anchor.scores.take(new.ids).means(), new.means()
    (step,) = anchor.about.history
    assert step.error == difference_to_anchor(before, now, clusters_of(None, new))[1]
    assert step.error != difference_to_anchor(before, now)[1]


def test_repeats_are_averaged_on_both_sides(tmp_path: Path) -> None:
    project = Project(tmp_path, n=4, repeats=2)

    write_lines(project.scores, answers_of_runs(project, [[100, 100, 100, 0], [100, 100, 0, 0]]))
    assert project.record() == 0
    write_lines(project.scores, answers_of_runs(project, [[100, 100, 100, 0], [100, 0, 0, 0]]))
    assert project.record(args=["--reason", "again"]) == 0
    anchor = anchor_of(project)
    assert anchor.about.repeats == 2
    assert [step.difference for step in anchor.about.history] == [-12.5]
    candidate = Scores(tuple(project.ids()), np.array([[100.0, 0.0], [0.0, 0.0], [100.0, 0.0], [0.0, 0.0]]))
    found = drift_since(anchor, candidate, Design(), clusters=None, alpha=0.05)
    assert found.difference == pytest.approx(-37.5)
