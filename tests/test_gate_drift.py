"""Many small drops, each let pass by its gate, add up: a run says so once references were replaced."""

from pathlib import Path

from accgate.cli.main import main
from accgate.report.result_file import read_result
from accgate.verdict.sentences import drift_sentence
from tests.support.gates import Project, right_but


def declined(tmp_path: Path, wrong: list[int], **gate: object) -> Project:
    """A project whose reference was replaced after each step of a decline."""
    project = Project(tmp_path, n=400)
    project.write(**gate)
    assert project.record(right_but(wrong[0], 400)) == 0
    for count in wrong[1:]:
        assert project.run(right_but(count, 400)) == 0, "each step passes its own gate"
        assert project.record(args=["--reason", "it drifted"]) == 0
    return project


def test_a_slow_decline_is_reported_though_every_gate_passes(tmp_path: Path, capsys) -> None:
    project = declined(tmp_path, [40, 43, 46, 49, 52])
    assert project.run(right_but(55, 400)) == 0
    drift = project.check["drift"]
    assert drift["detected"]
    assert (drift["runs"], drift["difference"]) == (5, -3.75)
    assert drift["p_value"] <= drift["alpha"] == 0.05
    assert "a slow decline that no single run shows" in " ".join(capsys.readouterr().out.split())
    assert "a slow decline" in (project.out / "report.md").read_text(encoding="utf-8")


def test_no_decline_is_said_to_be_none_and_a_reference_never_replaced_has_none(tmp_path: Path) -> None:
    project = declined(tmp_path, [40])
    assert project.run() == 0
    assert project.check["drift"] is None
    assert project.record(right_but(41, 400), args=["--reason", "it drifted"]) == 0
    assert project.run(right_but(40, 400)) == 0
    (check,) = read_result(project.out / "accgate.json").checks
    assert not check.drift.detected
    assert "no slow decline" in drift_sentence(check)


def test_a_slow_decline_fails_where_the_rules_say_so_and_a_recording_accepts_it(tmp_path: Path, capsys) -> None:
    project = declined(tmp_path, [40, 43, 46, 49], drift="fail")
    assert project.run(right_but(52, 400)) == 1
    capsys.readouterr()
    assert main(["report", str(project.out), "--check", "sums"]) == 0
    assert "A slow decline fails the check." in " ".join(capsys.readouterr().out.split())
    assert main(["report", str(project.out)]) == 0
    assert "since the anchor of" in " ".join(capsys.readouterr().out.split())
    check = project.check
    assert (check["verdict"], check["by_scores"], check["causes"][-1]["kind"]) == ("regression", "pass", "declined")
    assert -3.0 < check["drift"]["bound"] < 0.0
    assert [change for _, change in check["drift"]["losses"]] == [-0.75] * 3
    assert project.record(args=["--reason", "the new tokenizer is worth it"]) == 0
    assert not list(project.store.rglob("*.anchor.toml"))
    assert project.run(right_but(52, 400)) == 0
