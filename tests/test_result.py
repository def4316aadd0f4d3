"""accgate.json: what it holds, its schema, and what is refused when it is read back."""

import json
import math
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from accgate import compare
from accgate.cli.main import main
from accgate.errors import BadInput
from accgate.report.result_file import read_result, write_result
from accgate.result import Result, result_of_verdict, to_json
from accgate.verdict import CandidateSummary, ReferenceSummary, Verdict
from tests.support.cases import each
from tests.support.gates import RIGHT, Project, right_but

N = 100


@pytest.fixture(scope="module")
def validators() -> dict[str, jsonschema.Draft202012Validator]:
    """Validators of the schemas as the command prints them."""
    made = {}
    for what in ("result", "config"):
        with redirect_stdout(StringIO()) as printed:
            assert main(["schema", what]) == 0
        made[what] = jsonschema.Draft202012Validator(json.loads(printed.getvalue()))
        made[what].check_schema(made[what].schema)
    return made


def refuse_constant(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


def strict_json(text: str) -> Any:
    return json.loads(text, parse_constant=refuse_constant)


@each("case", ["pass", "regression", "error", "no-reference", "target", "two-sample"])
def test_every_result_fits_the_schema_and_holds_no_nan(tmp_path: Path, validators: Any, case: str) -> None:
    keys: dict[str, dict[str, Any]] = {
        "target": {"target": 50.0, "sigma": 0.0},
        "two-sample": {"reference": 50.0, "reference_num_samples": 10, "sigma": 50.0},
    }
    project = Project(tmp_path, n=N, **keys.get(case, {}))
    if case in ("pass", "regression", "error"):
        project.recorded(right_but(10, N))
    scores = {"regression": right_but(60, N), "pass": right_but(9, N), "error": right_but(10, 50)}
    project.run(scores.get(case, right_but(10, N)))
    text = (project.out / "accgate.json").read_text()
    validators["result"].validate(strict_json(text))
    assert read_result(project.out / "accgate.json").verdict == project.result["verdict"]


def test_the_schema_refuses_what_is_no_result(validators: Any) -> None:
    with pytest.raises(jsonschema.ValidationError):
        validators["result"].validate({"verdict": "fine", "exit_code": 0, "checks": []})


def test_accuracy_toml_as_json_fits_the_config_schema(tmp_path: Path, validators: Any) -> None:
    project = Project(tmp_path, n=4, theta=2.0, tags=["fast"], alpha=0.01)
    project.models["m"] |= {"variant": {"quant": "fp8", "spec": True}, "sampling": {"temperature": 0.5, "stop": ["x"]}}
    data = {"gate": {"alpha": 0.05, "correction": "holm"}, "models": project.models, "tasks": project.tasks}
    validators["config"].validate(data)
    data["tasks"]["sums"]["sgima"] = 50.0
    with pytest.raises(jsonschema.ValidationError):
        validators["config"].validate(data)


@each("fault", ["config", "reference", "engine", "records"])
def test_the_stale_result_and_report_are_gone_when_a_run_fails(tmp_path: Path, fault: str) -> None:
    project = Project(tmp_path, n=N).recorded(right_but(10, N))
    assert project.run() == 0
    if fault == "config":
        project.write(alhpa=0.1)
    elif fault == "reference":
        (project.store / "m/sums.scores.csv").unlink()
    elif fault == "engine":
        project.scores.unlink()
    else:
        project.scores.write_text("{not json\n")
    assert project.run() == 2
    assert not (project.out / "accgate.json").exists()
    assert not (project.out / "report.md").exists()


def test_a_figure_that_does_not_exist_is_null(tmp_path: Path) -> None:
    verdict = Verdict(
        "m", "t", "error", None, 3, ReferenceSummary(math.nan, 3), CandidateSummary(None, 3, 3), 0.05, 0.2,
        sigma=math.inf, reasons=("half a character: \ud800",),
    )  # fmt: skip
    path = write_result(result_of_verdict(verdict), tmp_path)
    (check,) = strict_json(path.read_text(encoding="utf-8"))["checks"]
    assert (check["reference"]["mean"], check["sigma"], check["gamma"]) == (None, None, None)
    assert read_result(path).checks[0].reasons == verdict.reasons


def test_one_verdict_of_compare_is_read_as_a_result_of_one_check(tmp_path: Path) -> None:
    verdict = compare([RIGHT] * 100, right_but(40, 100))
    path = tmp_path / "verdict.json"
    path.write_text(to_json(verdict))
    result = read_result(path)
    assert (result.verdict, result.exit_code, result.checks) == ("regression", 1, (verdict,))


@each(
    ("text", "message"),
    [
        ("[" * 100_000, "cannot be read as JSON"),
        ("[]", "is not a result: "),
        ('{"verdict": "fine", "exit_code": 0, "checks": []}', "is not a result: verdict: "),
        ('{"verdict": "pass", "exit_code": 0, "checks": [{"verdict": "pass"}]}', r"checks\.0\.model: .* \(\d+ faults"),
    ],
)
def test_what_is_no_result_is_refused_with_file_and_place(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "accgate.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(BadInput, match=message) as caught:
        read_result(path)
    assert str(path) in str(caught.value)
    with pytest.raises(BadInput, match=r"gone\.json: there is no result; `accgate run` writes one"):
        read_result(tmp_path / "gone.json")


@each(("verdict", "exit_code", "checks"), [("pass", 0, 1), ("regression", 0, 1), ("pass", 0, 0)])
def test_a_result_that_says_better_than_its_checks_is_refused(tmp_path: Path, verdict, exit_code: int, checks) -> None:
    regression = compare([RIGHT] * 100, right_but(40, 100))
    path = write_result(Result(verdict, exit_code, (regression,) * checks), tmp_path)
    with pytest.raises(BadInput, match="the file was changed"):
        read_result(path)


def test_inconclusive_reads_back_as_passing_where_it_only_warns(tmp_path: Path) -> None:
    inconclusive = compare([RIGHT, 0.0] * 20, [RIGHT, 0.0] * 20, theta=0.1)
    result = Result("inconclusive", 0, (inconclusive,), on_inconclusive="warn")
    assert read_result(write_result(result, tmp_path)) == result
