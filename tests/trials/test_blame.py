"""`accgate blame` on a server whose answers depend on fields of the request, and its error rate."""

from __future__ import annotations

import hashlib
import json
import random
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.config.config import Config, load_config, select
from accgate.decision.cause import causes_of, levels_of, trial_of
from accgate.engines.openai.engine import OpenAIEngine
from accgate.evaluation.options import RunOptions
from accgate.report.cause import read_cause
from accgate.result import to_json
from accgate.trials.search import blame as search
from tests.gates import table, write_task
from tests.loading import load_task
from tests.servers import Fault, Server

Loses = Callable[[int, Mapping[str, Any]], bool]
SETTINGS = ("alpha_mode", "beta_mode", "gamma_mode", "delta_mode")


def luck(number: int, salt: str) -> float:
    return int(hashlib.sha256(f"{salt}{number}".encode()).hexdigest()[:8], 16) / 16**8


class Project:
    """A model `m` without, and a model `changed` with four fields in every request, which may lose answers."""

    def __init__(self, folder: Path, server: Server, loses: Loses) -> None:
        self.folder, self.server, self.loses = folder, server, loses
        write_task(folder)
        model = {"engine": "openai", "model": "toy", "options": {"base_url": server.url}}
        changed = {**model, "baseline": "m", "sampling": {"extra": dict.fromkeys(SETTINGS, 1)}}
        self.config = folder / "accuracy.toml"
        self.config.write_text(
            table("gate", {"alpha": 0.05}) + table("models.m", model) + table("models.changed", changed)
            + table("tasks.sums", {"file": "sums.toml", "theta": 5.0})
        )  # fmt: skip
        server.fault_of = self.reply

    def reply(self, body: Mapping[str, Any]) -> Fault:
        (number,) = set(map(int, re.findall(r"(\d+) \+", body["messages"][-1]["content"])))
        answer = 2 * number + self.loses(number, body)
        message = {"role": "assistant", "content": str(answer)}
        return Fault(body={"choices": [{"index": 0, "finish_reason": "stop", "message": message}], "usage": {}})

    def run(self) -> int:
        assert self.command("record", "--models", "m", "--out", str(self.folder / "record")) == 0
        return self.command("run", "--models", "changed", "--out", str(self.folder / "out"))

    def command(self, name: str, *args: str) -> int:
        return main([name, str(self.config), *args, "--quiet"])

    def config_of(self, *models: str) -> Config:
        return select(load_config(self.config), models)

    def blame(self, *args: str) -> int:
        return main(["blame", str(self.folder / "out"), "--config", str(self.config), "--quiet", *args])


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with Server() as server:
        yield server


def blamed(project: Project, capsys: pytest.CaptureFixture[str], *args: str) -> dict[str, Any]:
    assert project.run() == 1
    capsys.readouterr()
    assert project.blame("--json", *args) == 0
    return dict(json.loads(capsys.readouterr().out))


def names(blame: Mapping[str, Any]) -> list[list[str]]:
    return [cause["settings"] for cause in blame["causes"]]


def test_the_one_harmful_setting_of_four_is_named(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, server, lambda i, body: "gamma_mode" in body and luck(i, "g") < 0.6)
    blame = blamed(project, capsys)
    assert names(blame) == [["sampling.extra.gamma_mode"]]
    (cause,) = blame["causes"]
    assert cause["count"] == cause["of"] == blame["lost"]
    assert cause["least"] > 0.5 * cause["of"]
    assert cause["alone"] is True
    assert blame["by_chance"] == 0
    assert blame["questions"] < 12 * blame["lost"]
    assert project.blame() == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"sampling.extra.gamma_mode = 1 explains {cause['of']} of the {cause['of']} lost answers (at least" in text
    markdown = tmp_path / "blame.md"
    assert project.blame("--resume", "--markdown", str(markdown)) == 0
    assert markdown.read_text().startswith("**Which setting did it?** sampling.extra.gamma")


def test_two_harmful_settings_are_both_named(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def loses(i: int, body: Mapping[str, Any]) -> bool:
        return ("alpha_mode" in body and luck(i, "a") < 0.35) or ("delta_mode" in body and luck(i, "d") < 0.35)

    assert sorted(names(blamed(Project(tmp_path, server, loses), capsys))) == [
        ["sampling.extra.alpha_mode"], ["sampling.extra.delta_mode"],
    ]  # fmt: skip


def test_two_that_do_the_same_harm_are_found_each_alone(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    """Putting one back brings nothing back: the other still loses the same answers."""
    project = Project(
        tmp_path, server, lambda i, body: ("alpha_mode" in body or "beta_mode" in body) and luck(i, "s") < 0.3
    )
    assert sorted(names(blamed(project, capsys))) == [["sampling.extra.alpha_mode"], ["sampling.extra.beta_mode"]]


def test_where_every_sample_was_lost_no_others_are_asked(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def loses(i: int, body: Mapping[str, Any]) -> bool:
        return "gamma_mode" in body or (is_asked_again and luck(i, "x") < 0.5)

    is_asked_again, project = False, Project(tmp_path, server, loses)
    config = project.config.read_text()
    project.config.write_text(config.replace("[gate]", "[gate]\nearly_stopping = false"))
    assert project.run() == 1
    is_asked_again = True  # so that no setting explains most of the loss
    capsys.readouterr()
    assert project.blame("--json") == 0
    blame = json.loads(capsys.readouterr().out)
    assert blame["lost"] == 200
    assert names(blame) == [["sampling.extra.gamma_mode"]]
    assert max(trial["n"] for trial in blame["trials"]) == blame["control"]


def test_two_that_harm_only_together_are_named_as_such(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(
        tmp_path, server, lambda i, body: "alpha_mode" in body and "beta_mode" in body and luck(i, "s") < 0.3
    )
    blame = blamed(project, capsys)
    assert sorted(names(blame)) == [["sampling.extra.alpha_mode"], ["sampling.extra.beta_mode"]]
    assert not any(cause["alone"] for cause in blame["causes"])


def test_a_run_that_was_red_by_bad_luck_blames_nothing(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    dice = random.Random(7)
    share = 0.0
    project = Project(tmp_path, server, lambda _i, _body: dice.random() < share)
    assert project.command("record", "--models", "m", "--out", str(tmp_path / "record")) == 0
    share = 0.3
    assert project.command("run", "--models", "changed", "--out", str(tmp_path / "out")) == 1
    share = 0.1  # whatever the settings
    capsys.readouterr()
    assert project.blame("--json") == 0
    blame = json.loads(capsys.readouterr().out)
    assert blame["causes"] == []
    assert blame["by_chance"] > 0.6 * blame["lost"]
    assert project.blame("--resume") == 0
    text = " ".join(capsys.readouterr().out.split())
    assert "to explain the loss" in text or "explains the loss" in text
    assert "came back with nothing changed: by chance" in text


def test_a_budget_ends_the_search_and_says_so(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, server, lambda i, body: "gamma_mode" in body and luck(i, "g") < 0.6)
    blame = blamed(project, capsys, "--samples", "30")
    assert blame["questions"] == 30
    assert blame["causes"] == []
    assert project.blame("--resume", "--samples", "30") == 0
    assert "The search ended after 30 questions" in " ".join(capsys.readouterr().out.split())
    result = project.folder / "out/accgate.json"
    before = result.read_bytes()
    seconds = iter(range(10_000))
    config, run = project.config_of("changed"), project.folder / "out"
    done = search(config, run, RunOptions(run), minutes=1.0, clock=lambda: float(next(seconds)))
    assert done.ended_early == "after 1 minutes, the most that were allowed"
    assert 0 < done.questions < 80
    assert result.read_bytes() == before
    assert project.blame("--minutes", "nan") == 2
    assert "--minutes is nan" in capsys.readouterr().err


def test_the_cause_file_says_what_was_found_or_why_not_and_a_new_run_removes_it(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, server, lambda i, body: "gamma_mode" in body and luck(i, "g") < 0.6)
    assert project.run() == 1
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")}
    capsys.readouterr()
    assert project.blame("--json", "--out", str(tmp_path / "apart"), "--html") == 0
    blame = json.loads(capsys.readouterr().out)
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "out").rglob("*")} == before
    cause = read_cause(tmp_path / "apart/cause.json")
    assert cause is not None
    assert cause.blame is not None
    assert json.loads(to_json(cause.blame)) == blame
    assert project.blame("--html") == 0
    first, second = (folder / "cause.html" for folder in (tmp_path / "apart", tmp_path / "out"))
    assert first.read_text() == second.read_text()
    assert main(["report", str(tmp_path / "out/accgate.json"), "--html", str(tmp_path / "r.html")]) == 0
    for page in (first.read_text(), (tmp_path / "r.html").read_text()):
        assert "Which setting did it?" in page
        assert f"sampling.extra.gamma_mode = 1 explains {blame['lost']} of the {blame['lost']} lost answers" in page
        assert page.count('class="cause-found"') == 2  # that setting, and all of them
    assert project.command("run", "--models", "changed", "--out", str(tmp_path / "out")) == 1
    assert not (tmp_path / "out/cause.json").exists()
    assert not (tmp_path / "out/cause.html").exists()
    project.config.write_text(project.config.read_text().replace('"gamma_mode" = 1', '"gamma_mode" = 2'))
    assert project.blame() == 2
    cause = read_cause(tmp_path / "out/cause.json")
    assert cause is not None
    assert "changed since the run in" in str(cause.failure)


def test_the_bases_rules_decide_what_was_lost_and_a_setting_that_no_server_takes_does_not_end_the_search(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    head = tmp_path / "head"
    head.mkdir()
    project = Project(head, server, lambda i, body: "gamma_mode" in body and luck(i, "g") < 0.3)
    assert project.command("record", "--models", "m", "--out", str(head / "record")) == 0
    shutil.copytree(head, tmp_path / "base")
    project.config.write_text(project.config.read_text().replace('"theta" = 5.0', '"theta" = 50.0'))
    base = ["--base", str(tmp_path / "base/accuracy.toml")]
    assert project.command("run", "--models", "changed", "--out", str(head / "out"), *base) == 1
    reply = project.reply
    server.fault_of = lambda body: Fault(400) if "alpha_mode" not in body and "gamma_mode" in body else reply(body)
    capsys.readouterr()
    assert project.blame("--json", *base) == 0
    blame = json.loads(capsys.readouterr().out)
    assert names(blame) == [["sampling.extra.gamma_mode"]]
    refused = [trial for trial in blame["trials"] if trial["problem"]]
    assert [trial["kind"] for trial in refused] == ["put back", "set alone"]
    assert project.blame("--resume", *base) == 0
    assert "With sampling.extra.alpha_mode put back the model could not be asked" in " ".join(
        capsys.readouterr().out.split()
    )


def test_what_cannot_be_searched_is_refused_with_the_reason(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    project = Project(tmp_path, server, lambda _i, _body: False)
    assert project.run() == 0
    assert refusal(project, capsys).endswith("no check regressed, so there is nothing to explain; name one with --task")
    assert "--alpha is 0.7" in refusal(project, capsys, "--alpha", "0.7")
    project.loses = lambda i, body: "gamma_mode" in body and luck(i, "g") < 0.3
    assert project.command("run", "--models", "changed", "--out", str(tmp_path / "out")) == 1
    project.config.write_text(project.config.read_text().replace('"gamma_mode" = 1', '"gamma_mode" = 2'))
    assert "changed since the run in" in refusal(project, capsys)
    reference = tmp_path / "references" / "m" / "sums.toml"
    project.config.write_text(project.config.read_text().replace('"gamma_mode" = 2', '"gamma_mode" = 1'))
    reference.write_text(reference.read_text().partition("[settings]")[0])
    assert "has no settings, because an earlier version" in refusal(project, capsys)


def refusal(project: Project, capsys: pytest.CaptureFixture[str], *args: str) -> str:
    capsys.readouterr()
    assert project.blame(*args) == 2
    return capsys.readouterr().err.strip()


def test_settings_without_effect_are_rarely_named_however_many_there_are() -> None:
    """2,000 searches each over five settings of a model that flickers; alpha 0.1 over all, and all asked to the end."""
    dice = random.Random(3)
    searches, count, lost, levels = 2000, 5, 40, levels_of(0.1, 5)
    ids = frozenset(map(str, range(lost)))
    wrong = 0
    for _ in range(searches):
        now, before = ({i: 100.0 * (dice.random() < p) for i in ids} for p in (0.3, 0.8))
        trials = []
        for name in range(count):
            back = trial_of("put back", [str(name)], levels["put back"], now, draw(dice, ids, 0.3), ids)
            alone, level = draw(dice, ids, 0.8), levels["set alone"]
            trials += [back, trial_of("set alone", [str(name)], level, alone, before, ids, earlier=back.evidence)]
        wrong += bool(causes_of(trials, lost, 0.1))
    assert wrong / searches <= 0.1


def draw(dice: random.Random, ids: frozenset[str], right: float) -> dict[str, float]:
    return {i: 100.0 * (dice.random() < right) for i in ids}


def test_what_is_lost_for_good_is_told_from_what_flickers(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    def loses(i: int, body: Mapping[str, Any]) -> bool:
        return "gamma_mode" in body and luck(i, "g") < 0.3 and (luck(i, "f") < 0.5 or not flickers)

    flickers = False
    project = Project(tmp_path, server, loses)
    assert project.run() == 1
    lost = {
        check["task"]: check["flips"] for check in json.loads((tmp_path / "out/accgate.json").read_text())["checks"]
    }
    flickers = True
    rerun = ["rerun", str(tmp_path / "out"), "--config", str(project.config), "--quiet"]
    capsys.readouterr()
    assert main([*rerun, "--flips", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert set(done["back"]) == set(lost["sums"])
    assert {0, 3} == set(done["back"].values())
    assert main([*rerun, "--flips", "--resume"]) == 0
    text = " ".join(capsys.readouterr().out.split())
    gone = sum(1 for count in done["back"].values() if count == 0)
    assert f"asked again 3 times, {gone} are lost for good and {len(done['back']) - gone} flicker" in text
    assert main([*rerun, "--sample", lost["sums"][0]]) == 0
    shown = capsys.readouterr().out
    assert "Prompt\n  What is" in shown
    assert "Reference's reply, score 100.00" in shown
    assert "Reply, score 0.00" in shown
    assert main([*rerun, "--sample", "none"]) == 2
    assert "no check has a record of sample 'none'" in capsys.readouterr().err


@pytest.fixture
def lost(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> Project:
    """A run that lost answers, about to be asked again."""
    project = Project(tmp_path, server, lambda i, body: "gamma_mode" in body and luck(i, "g") < 0.3)
    assert project.run() == 1
    capsys.readouterr()
    return project


def test_replies_that_hold_no_answer_are_no_lost_answers(lost: Project, capsys: pytest.CaptureFixture[str]) -> None:
    """An empty completion is a reply: it scores 0, as the lost answer does, and looks like it."""
    empty = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ""}}]}
    lost.server.fault_of = lambda _: Fault(body=empty)
    for command in (["rerun", "--flips", "--times", "2"], ["blame"]):
        assert main([*command, str(lost.folder / "out"), "--config", str(lost.config), "--quiet"]) == 3
        error = " ".join(capsys.readouterr().err.split())
        assert "no answer in any of" in error
        assert "see that its server still serves this model" in error.lower()


def test_a_few_replies_without_an_answer_show_nothing_where_the_run_had_as_many(
    lost: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (ids,) = (check["flips"] for check in json.loads((lost.folder / "out/accgate.json").read_text())["checks"])
    samples = load_task("sums", file=lost.folder / "sums.toml", seed=0).samples
    first = next(str(sample.prompt) for sample in samples if sample.id in ids)
    empty = {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": ""}}]}

    def reply(body: Mapping[str, Any]) -> Fault:
        is_empty = "gamma_mode" in body and body["messages"][-1]["content"] in first
        return Fault(body=empty) if is_empty else lost.reply(body)

    lost.server.fault_of = reply
    assert lost.command("run", "--models", "changed", "--out", str(lost.folder / "out")) == 1
    (check,) = json.loads((lost.folder / "out/accgate.json").read_text())["checks"]
    assert check["lost_unread"] == 1
    capsys.readouterr()
    assert lost.blame("--samples", "1", "--json") == 0
    assert json.loads(capsys.readouterr().out)["control"] == 1


def test_what_failed_or_held_no_answer_is_said_beside_what_was_asked_again(
    lost: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    (ids,) = (check["flips"] for check in json.loads((lost.folder / "out/accgate.json").read_text())["checks"])
    seen: list[str] = []

    def fault_of(body: Mapping[str, Any]) -> Fault:
        prompt = body["messages"][-1]["content"]
        seen.append(prompt)
        if prompt == seen[0]:
            return Fault(400)
        if prompt == seen[1]:
            return Fault(body={"choices": [{"finish_reason": "stop", "message": {"content": ""}}]})
        return lost.reply(body)

    lost.server.fault_of = fault_of
    again = ["rerun", "--flips", "--times", "1", str(lost.folder / "out"), "--config", str(lost.config), "--quiet"]
    assert main(again) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert f"1 of {len(ids)} answers failed and are not counted; the first: HTTP 400" in text
    assert f"1 of {len(ids) - 1} replies held no answer: they count as lost." in text
    assert f"{len(ids) - 1} are lost for good and 0 flicker; 1 never got a score." in text
    assert main([*again, "--resume", "--json"]) == 0
    done = json.loads(capsys.readouterr().out)
    assert sum(done["scored"].values()) == len(ids) - 1
    assert sum(done["unread"].values()) == 1


def test_answers_that_were_kept_serve_a_search_after_the_same_run_was_made_again(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    asked: list[int] = []

    def loses(i: int, body: Mapping[str, Any]) -> bool:
        asked.append(i)
        return "gamma_mode" in body and luck(i, "g") < 0.6

    project = Project(tmp_path, server, loses)
    first, second = tmp_path / "first", tmp_path / "second"
    blame = blamed(project, capsys, "--out", str(first))
    shutil.rmtree(tmp_path / "out")
    assert project.command("run", "--models", "changed", "--out", str(tmp_path / "out")) == 1
    shutil.copytree(first / "blame", second / "blame")
    asked.clear()
    capsys.readouterr()
    assert project.blame("--json", "--resume", "--out", str(second)) == 0
    assert json.loads(capsys.readouterr().out) == blame
    assert len(asked) == 0


@pytest.mark.parametrize("others", [SETTINGS, ()])
def test_the_environment_is_named_as_what_cannot_be_put_back(
    tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, others: Any
) -> None:
    described = OpenAIEngine.describe
    under = {"torch": "2.8.0", "cuda": "12.8"}
    monkeypatch.setattr(OpenAIEngine, "describe", lambda engine: replace(described(engine), environment=dict(under)))
    project = Project(tmp_path, server, lambda i, _: under["torch"] == "2.9.0" and luck(i, "t") < 0.3)
    if not others:
        project.config.write_text(re.sub(r"sampling = .*\n", "", project.config.read_text()))
    assert project.command("record", "--models", "m", "--out", str(tmp_path / "record")) == 0
    under["torch"] = "2.9.0"
    assert project.command("run", "--models", "changed", "--out", str(tmp_path / "out"), "--html") == 1
    for page in (capsys.readouterr().out, *((tmp_path / f"out/report.{kind}").read_text() for kind in ("md", "html"))):
        text = " ".join(re.sub(r"<[^>]*>|`", " ", page).split())
        assert re.search(r"torch ?:? (\(environment\) )?2\.8\.0 (→ )?2\.9\.0", text)
        assert "12.8" not in text
    advice = "the same commit in the reference's environment: no setting of accuracy.toml changed"
    assert (advice in unescape(text)) is not bool(others)
    code, markdown = project.blame("--markdown", str(tmp_path / "blame.md")), tmp_path / "blame.md"
    words = " ".join(((markdown.read_text() if markdown.exists() else "") + capsys.readouterr().err).split())
    assert code == (0 if others else 2)
    why = "environment.torch: 2.8.0 → 2.9.0 (it lies under the engine, where no setting reaches)"
    assert why in words.replace("`", "").replace("\\", "")
