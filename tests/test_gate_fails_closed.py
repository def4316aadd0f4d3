"""Nothing that is missing, damaged or of other samples passes, by `run` or by `compare`, and each message says what."""

import json
import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from accgate import load_config
from accgate.cli.main import main
from accgate.evaluation.presence import missing_records
from accgate.planning.checks import plan_checks
from accgate.planning.design import planned_model
from tests.gates import RIGHT, Project, questions, right_but, write_lines, write_task

N = 200
Rows = list[dict[str, Any]]


@pytest.fixture(params=[False, True], ids=["fixed n", "stops early"])
def project(tmp_path: Path, request: pytest.FixtureRequest) -> Project:
    """A recorded reference with a mean of 75."""
    project = Project(tmp_path, n=N, **({"theta": 5.0, "num_samples": N} if request.param else {}))
    project.write(early_stopping=request.param)
    return project.recorded(right_but(50, N))


def rows_of(project: Project) -> Rows:
    return [{"id": i, "score": s} for i, s in zip(project.ids(), right_but(50, N), strict=True)]


def ended(capsys: pytest.CaptureFixture[str], code: int) -> tuple[int, str]:
    """The exit code, and one line of everything said."""
    captured = capsys.readouterr()
    assert "Traceback" not in captured.err
    return code, " ".join((captured.out + captured.err).split())


def nothing(rows: Rows) -> Rows:
    return []


def without_wrong(rows: Rows) -> Rows:
    return [row for row in rows if row["score"]]


def shifted(rows: Rows) -> Rows:
    """Each id one higher, as files counted from 0 and from 1 are to each other."""
    return [row | {"id": f"{int(row['id'], 16) + 1:016x}"} for row in rows]


def half(rows: Rows) -> Rows:
    return rows[::2]


def nulls(rows: Rows) -> Rows:
    return [row if row["score"] else row | {"score": None} for row in rows]


def failed(rows: Rows) -> Rows:
    return [row if row["score"] else {"id": row["id"], "error": "HTTP 500"} for row in rows]


def doubled(rows: Rows) -> Rows:
    return [*rows, rows[0] | {"score": RIGHT}]


BROKEN = {
    "empty": (nothing, 2, 2, "holds no"),
    "wrong answers deleted": (without_wrong, 3, 2, "50 missing from the candidate|o record of 50 of 200 samples"),
    "shifted ids": (
        shifted,
        2,
        2,
        "the candidate has 0 of the reference's 200 samples|200 recorded samples of no task",
    ),
    "null scores": (nulls, 2, 2, "no score for 50 of 200 samples|has neither score nor reply"),
    "failed samples": (failed, 3, 2, "no score for|HTTP 500"),
    "a duplicated id": (doubled, 2, 2, "jsonl:201: id '.*' \\(repeat 0\\)"),
    "half of the samples": (half, 3, 2, "100 missing|o record of 100 of 200 samples"),
}


@pytest.mark.parametrize(("change", "code", "_", "message"), BROKEN.values(), ids=BROKEN)
def test_run_refuses_a_candidate_with(project: Project, capsys, change, code: int, _: int, message: str) -> None:
    write_lines(project.scores, change(rows_of(project)))
    capsys.readouterr()
    got, said = ended(capsys, project.run())
    assert got == code
    assert re.search(message, said)
    if code == 3:
        assert project.check["verdict"] == "error"


@pytest.mark.parametrize(("change", "_", "code", "message"), BROKEN.values(), ids=BROKEN)
def test_compare_refuses_a_candidate_with(tmp_path: Path, capsys, change, _: int, code: int, message: str) -> None:
    rows = [{"id": f"{i:016x}", "score": s} for i, s in enumerate(right_but(50, N))]
    if change is shifted:
        rows = [row | {"id": f"{2 * i:016x}"} for i, row in enumerate(rows)]
    reference = write_lines(tmp_path / "reference.jsonl", rows)
    candidate = write_lines(tmp_path / "candidate.jsonl", change(rows))
    got, said = ended(capsys, main(["compare", str(reference), str(candidate)]))
    assert got == code
    assert re.search(message, said)


def test_compare_refuses_extra_ids(tmp_path: Path, capsys) -> None:
    rows = [{"id": f"q{i}", "score": s} for i, s in enumerate(right_but(50, N))]
    reference = write_lines(tmp_path / "reference.jsonl", rows)
    extra = [{"id": f"new{i}", "score": RIGHT} for i in range(7)]
    candidate = write_lines(tmp_path / "candidate.jsonl", [*rows, *extra])
    code, said = ended(capsys, main(["compare", str(reference), str(candidate)]))
    assert code == 2
    assert "7 not in the reference: new0, new1, new2, new3, new4 and 2 more" in said


def test_run_refuses_extra_ids(project: Project, capsys) -> None:
    extra = [{"id": f"{i:016x}", "score": RIGHT} for i in range(7)]
    write_lines(project.scores, [*rows_of(project), *extra])
    code, said = ended(capsys, project.run())
    assert code in (2, 3)
    assert "7" in said


@pytest.mark.parametrize(
    "line", ['{"id": "a", "sco', "not JSON", "[1, 2]", '{"score": 100}', '{"id": "a", "score": NaN}']
)
@pytest.mark.parametrize("place", [0, N])
def test_a_line_that_cannot_be_read_stops_both(project: Project, capsys, line: str, place: int) -> None:
    reference = project.folder / "references/m/sums.scores.csv"
    lines = [json.dumps(row) for row in rows_of(project)]
    project.scores.write_text("\n".join([*lines[:place], line, *lines[place:]]))
    capsys.readouterr()
    for command in (project.run, lambda: main(["compare", str(reference), str(project.scores)])):
        assert command() == 2
        assert f"m.jsonl:{place + 1}: " in capsys.readouterr().err


def test_a_line_that_cannot_be_read_stops_both_from_csv(tmp_path: Path, capsys) -> None:
    good, bad = tmp_path / "a.csv", tmp_path / "b.csv"
    good.write_text("id,score\nx,100\ny,0\n")
    bad.write_text("id,score\nx,100\ny\n")
    code, said = ended(capsys, main(["compare", str(good), str(bad)]))
    assert code == 2
    assert "b.csv:3: has" in said


def test_a_task_without_records_is_an_error_beside_one_that_passes(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, tasks=("kept", "gone"), n=N)
    project.record([RIGHT] * N, [RIGHT] * N)
    project.answer([RIGHT] * N, tasks=["kept"])
    code, said = ended(capsys, project.run())
    assert code == 3
    assert [c["verdict"] for c in project.result["checks"]] == ["pass", "error"]
    assert "o record of 200 of 200 samples" in said


def test_a_recording_behind_replicas_must_have_every_sample_and_no_others(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=N)
    project.models["m"] |= {"engine": "ray", "options": {"engine": "recorded"}}
    project.tasks["sums"]["target"] = 50.0
    project.write()
    write_lines(project.scores, [{"id": id_, "score": RIGHT} for id_ in project.ids()[1:]])
    config = load_config(project.config)
    (check,) = plan_checks(config)
    lacking = missing_records(planned_model(config, "m").engine(), check.task)
    assert lacking is not None
    assert lacking.startswith(f"no record of 1 of {N} samples: {project.ids()[0]};")
    write_lines(project.scores, [{"id": id_, "score": RIGHT} for id_ in [*project.ids(), "f" * 16]])
    assert missing_records(planned_model(config, "m").engine(), check.task) is None
    code, said = ended(capsys, project.run())
    assert code == 2
    assert "1 recorded sample of no task" in said


def test_a_reference_of_other_prompts_is_refused(project: Project, capsys) -> None:
    write_task(project.folder, rows=questions(N, start=1000))
    project.answer([RIGHT] * N)
    capsys.readouterr()
    code, said = ended(capsys, project.run())
    assert code == 2
    assert "0 of 200 samples are in the reference; it lacks 200" in said


def test_without_records_for_the_order_nothing_is_guessed_from_position(project: Project, capsys) -> None:
    write_lines(project.scores, [{"id": str(i), "score": RIGHT} for i in range(N)])
    code, said = ended(capsys, project.run())
    assert code == 2
    assert f"{N} recorded samples of no task" in said


@pytest.mark.parametrize("project", [False], indirect=True)
@pytest.mark.parametrize(
    ("wrong", "failing", "max_failed", "code", "verdict"),
    [
        (50, 2, 0.01, 0, "pass"),
        (90, 2, 0.01, 1, "regression"),
        (50, 2, 0.0099, 3, "error"),
        (50, 3, 0.01, 3, "error"),
        (50, 1, 0.0, 3, "error"),
        (53, 4, 0.02, 3, "error"),  # 3 losses pass and 7 do not: the two cases disagree
    ],
)
def test_failed_samples_are_decided_both_ways_and_never_dropped(
    project: Project, wrong: int, failing: int, max_failed: float, code: int, verdict: str
) -> None:
    project.write(max_failed=max_failed)
    rows = [{"id": i, "score": s} for i, s in zip(project.ids(), right_but(wrong, N), strict=True)]
    for row in rows[-failing:]:
        row.update(score=None, error="HTTP 500")
    write_lines(project.scores, rows)
    assert project.run() == code
    check = project.check
    assert check["verdict"] == verdict
    assert check["n"] == check["candidate"]["n"] == N
    if failing <= max_failed * N:
        assert check["candidate"]["errors"] == failing
        assert f"{failing} of {N} samples failed" in check["reasons"][-1]
        assert check["candidate"]["mean"] == pytest.approx(100 - 100 * (wrong + failing) / N)


@pytest.mark.parametrize("project", [False], indirect=True)
def test_scores_that_the_metric_cannot_give_are_refused(project: Project, capsys) -> None:
    project.models["m"]["options"] = {"scale": 100.0}
    project.write()
    code, said = ended(capsys, project.run(right_but(150, N)))  # in points already
    assert code in (2, 3)
    assert "10000" in said


def test_a_reference_in_fractions_and_a_candidate_in_points_are_refused(tmp_path: Path, capsys) -> None:
    scores = right_but(50, N)
    sides = (("reference", scores, 100), ("candidate", right_but(90, N), 1))
    for side, values, parts in sides:
        write_lines(tmp_path / side, [{"id": f"q{i}", "score": s / parts} for i, s in enumerate(values)])
    code, said = ended(capsys, main(["compare", str(tmp_path / "reference"), str(tmp_path / "candidate")]))
    assert code == 2
    assert "fractions" in said


def test_one_score_far_out_of_range_does_not_hide_eighty_losses_of_a_file(tmp_path: Path, capsys) -> None:
    lost = [0.0] * 80 + [100.0] * 120
    for name, scores in (("before", [100.0] * 200), ("now", [*lost[:-1], 10_000.0])):
        write_lines(tmp_path / name, [{"id": f"q{i}", "score": score} for i, score in enumerate(scores)])
    files = [str(tmp_path / "before"), str(tmp_path / "now")]
    for sides in (files, files[::-1]):
        code, said = ended(capsys, main(["compare", *sides]))
        assert code == 2
        assert f"{files[1]}: a score outside 0 to 100 for 1 of 200 samples: q199 (a score of 10000); correct" in said
    code, said = ended(capsys, main(["compare", *files, "--bounds", "0", "10000"]))
    assert code != 2  # what the user says is a score is one
    code, said = ended(capsys, main(["compare", *files, "--bounds", "0", "50"]))
    assert code == 2
    assert f"{files[0]}: a score outside 0 to 50 for 200 of 200 samples" in said
    assert ended(capsys, main(["sigma", *files]))[0] == 2


@pytest.mark.parametrize("project", [False], indirect=True)
def test_a_recorded_score_out_of_range_is_refused_with_file_id_and_value(project: Project, capsys) -> None:
    code, said = ended(capsys, project.run([*right_but(50, N)[:-1], 10_000.0]))
    assert code == 2
    assert f"{project.scores}: sample {project.ids()[-1]} has the score 10000, which is outside 0.0 to 100.0" in said
    rows = [row | {"attacked": -5.0} for row in rows_of(project)]
    write_lines(project.scores, rows)
    code, said = ended(capsys, project.run(args=["--resume"]))
    assert code == 2
    assert "has the score -5, which is outside" in said


def test_a_reference_with_a_score_out_of_range_is_refused_when_it_is_loaded(project: Project, capsys) -> None:
    (scores,) = project.store.rglob("*.scores.csv")
    file = scores.with_name(scores.name.replace(".scores.csv", ".toml"))
    lines = scores.read_text().splitlines()
    id_ = lines[1].split(",")[0]
    changed = "\n".join([lines[0], f"{id_},0,10000", *lines[2:]]) + "\n"
    scores.write_text(changed)
    values = [float(line.split(",")[2]) for line in changed.splitlines()[1:]]
    text = re.sub(r"(?m)^mean = .*$", f"mean = {sum(values) / N}", file.read_text())
    file.write_text(re.sub(r'scores_sha256 = ".*"', f'scores_sha256 = "{sha256(changed.encode()).hexdigest()}"', text))
    for command in ("plan", "validate"):
        code, said = ended(capsys, main([command, str(project.config)]))
        assert code == 2
        assert f"{scores}: a score outside 0 to 100 for 1 of 200 samples: {id_} (a score of 10000); these are" in said
    assert ended(capsys, project.run(right_but(50, N)))[0] == 2


@pytest.mark.parametrize("keys", [{"reference": 4400.0, "reference_num_samples": 100}, {"target": 4400.0}])
def test_a_mean_out_of_range_is_refused_with_its_line(tmp_path: Path, keys: dict[str, Any], capsys) -> None:
    project = Project(tmp_path, n=N, **keys)
    project.answer(right_but(50, N))
    code, said = ended(capsys, main(["validate", str(project.config)]))
    assert code == 2
    key = next(iter(keys))
    assert re.search(rf"accuracy\.toml:\d+: tasks\.sums\.{key}: is 4400, outside 0\.0 to 100\.0, the bounds of", said)


@pytest.mark.parametrize("project", [False], indirect=True)
def test_shards_with_a_score_out_of_range_are_not_merged(project: Project, capsys) -> None:
    parts = []
    project.answer(right_but(50, N))
    for index in (1, 2):
        parts.append(project.folder / f"part{index}")
        arguments = ["run", str(project.config), "--out", str(parts[-1]), "--shard", f"{index}/2"]
        assert ended(capsys, main(arguments))[0] == 0
    path = next(parts[1].rglob("sums.jsonl"))
    path.write_text(path.read_text().replace('"score":0.0', '"score":10000.0', 1))
    command = ["merge", *map(str, parts), "--config", str(project.config), "--out", str(project.out)]
    code, said = ended(capsys, main(command))
    assert code == 2
    assert re.search(rf"{re.escape(str(path))}: a score outside 0 to 100 for 1 of \d+ samples: \w+ \(a score of", said)


def test_a_reference_at_zero_never_lets_a_run_pass(tmp_path: Path) -> None:
    """What never matches scores 0 for ever, and could never be a regression."""
    for early_stopping in (False, True):
        (tmp_path / str(early_stopping)).mkdir()
        project = Project(tmp_path / str(early_stopping), n=N, theta=5.0, num_samples=N)
        project.write(early_stopping=early_stopping)
        assert project.record([0.0] * N, args=["--accept-low"]) == 0
        for scores in ([0.0] * N, [100.0] * N):
            assert project.run(scores) == 4
            assert project.result["checks"][0]["verdict"] == "inconclusive"


def test_a_reference_at_chance_level_is_inconclusive_and_says_so(tmp_path: Path) -> None:
    for chance, code in ((70.0, 0), (73.0, 4)):
        (tmp_path / str(chance)).mkdir()
        project = Project(tmp_path / str(chance), n=N, theta=4.0, num_samples=N)
        write_task(project.folder, chance=chance, rows=questions(N))
        assert project.record(right_but(50, N), args=["--accept-low"]) == 0
        assert project.run(right_but(50, N)) == code
    (check,) = project.result["checks"]
    assert any("2.00 points from chance level (73): a drop of 4.0 cannot show" in each for each in check["reasons"])
    assert check["theta"] is not None


def test_a_plan_of_too_few_samples_names_no_impossible_theta(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=4)
    assert project.record([RIGHT] * 4) == 0
    code, said = ended(capsys, main(["plan", str(project.config)]))
    assert code == 0
    assert "4 samples: no drop can be seen on so few" in said
    capsys.readouterr()
    assert main(["plan", str(project.config), "--json"]) == 0
    assert '"theta": null' in capsys.readouterr().out
    assert project.run([0.0] * 4) == 4
    assert (
        ended(capsys, main(["report", str(project.out / "accgate.json"), "--html", str(tmp_path / "r.html")]))[0] == 0
    )
    page = (tmp_path / "r.html").read_text()
    assert "no drop can be seen" in page.lower()
    assert "154.5" not in page
