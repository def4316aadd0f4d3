"""Many small drops, each let pass by its gate, add up: a run says so once references were replaced."""

from accgate.cli.main import main
from tests.support.gates import Project, right_but


def test_a_slow_decline_is_reported_or_fails_as_the_rules_say_and_a_recording_accepts_it(tmp_path, capsys) -> None:
    project = Project(tmp_path, n=400)
    assert project.record(right_but(40, 400)) == 0
    assert project.run() == 0
    assert project.check["drift"] is None  # its reference was never replaced
    for count in (43, 46, 49):
        assert project.run(right_but(count, 400)) == 0, "each step passes its own gate"
        assert project.record(args=["--reason", "it drifted"]) == 0
        words = "no slow decline" if count < 49 else "a slow decline"
        assert project.run() == 0
        assert words in explained(project, capsys)
    assert project.run(right_but(52, 400)) == 0
    drift = project.check["drift"]
    assert (drift["runs"], drift["difference"], drift["alpha"], drift["fails"]) == (4, -3.0, 0.05, False)
    assert "This is information only" in explained(project, capsys)
    project.write(drift="fail")
    assert project.run(right_but(52, 400)) == 1
    assert "A slow decline fails the check." in explained(project, capsys)
    check = project.check
    assert (check["verdict"], check["by_scores"], check["causes"][-1]["kind"]) == ("regression", "pass", "declined")
    assert -3.0 < check["drift"]["bound"] < 0.0
    assert [change for _, change in check["drift"]["losses"]] == [-0.75] * 3
    assert project.run(right_but(120, 400)) == 1
    kinds = {cause["kind"] for cause in project.check["causes"]}
    assert (project.check["by_scores"], "declined" in kinds) == (None, False), "its own drop fails it"
    assert project.run(right_but(52, 400)) == 1
    assert project.record(args=["--reason", "the new tokenizer is worth it"]) == 0
    assert not list(project.store.rglob("*.anchor.toml"))
    assert project.run(right_but(52, 400)) == 0


def explained(project: Project, capsys) -> str:
    capsys.readouterr()
    assert main(["report", str(project.out), "--check", "sums"]) == 0
    return " ".join(capsys.readouterr().out.split())
