"""`accgate blame` on a server whose answers depend on fields of the request, and its error rate."""

from __future__ import annotations

import json
import random
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.config.config import load_config, select
from accgate.decision.cause import causes_of, levels_of, trial_of
from accgate.engines.openai.engine import OpenAIEngine
from accgate.evaluation.assignment import RunOptions
from accgate.trials.search import blame as search
from tests.support.gates import questions, table, write_task
from tests.support.loading import load_task
from tests.support.servers import Fault, Server
from tests.trials.answers import answer, completion, luck

Loses = Callable[[int, Mapping[str, Any]], bool]
SETTINGS = ("alpha_mode", "beta_mode", "gamma_mode", "delta_mode")


class Project:
    """A model `m` without, and a model `changed` with four fields in every request, which may lose answers."""

    def __init__(self, folder: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.server, self.capsys, self.out = folder, server, capsys, folder / "out"
        self.loses: Loses = lambda _i, _body: False
        folder.mkdir(exist_ok=True)
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
        return answer(body, lambda number: self.loses(number, body))

    def edit(self, old: str, new: str) -> None:
        self.config.write_text(self.config.read_text().replace(old, new))

    def record(self) -> None:
        assert main(["record", str(self.config), "--models", "m", "--out", str(self.folder / "r"), "--quiet"]) == 0

    def run(self, *args: str) -> int:
        return main(["run", str(self.config), "--models", "changed", "--out", str(self.out), *args, "--quiet"])

    def lose(self, loses: Loses) -> None:
        """Record, and make a run that lost answers."""
        self.loses = loses
        self.record()
        assert self.run() == 1
        self.capsys.readouterr()

    def blame(self, *args: str) -> int:
        return main(["blame", str(self.out), "--config", str(self.config), "--quiet", *args])

    def found(self, *args: str) -> dict[str, Any]:
        """What a search finds."""
        self.capsys.readouterr()
        assert self.blame("--json", *args) == 0
        return dict(json.loads(self.capsys.readouterr().out))

    def refusal(self, *args: str) -> str:
        """Why there is no search."""
        self.capsys.readouterr()
        assert self.blame(*args) == 2
        return self.capsys.readouterr().err.strip()

    def rerun(self, *args: str) -> int:
        return main(["rerun", str(self.out), "--config", str(self.config), "--quiet", *args])

    @property
    def words(self) -> str:
        """What was printed since."""
        return " ".join("".join(self.capsys.readouterr()).split())

    @property
    def check(self) -> dict[str, Any]:
        (check,) = json.loads((self.out / "accgate.json").read_text())["checks"]
        return dict(check)


@pytest.fixture
def project(tmp_path: Path, server: Server, capsys: pytest.CaptureFixture[str]) -> Project:
    return Project(tmp_path / "project", server, capsys)


def by_gamma(share: float) -> Loses:
    """One setting of the four loses this share of the answers."""
    return lambda i, body: "gamma_mode" in body and luck(i, "g") < share


def names(blame: Mapping[str, Any]) -> list[list[str]]:
    return [cause["settings"] for cause in blame["causes"]]


def test_the_one_harmful_setting_of_four_is_named(project: Project) -> None:
    project.lose(by_gamma(0.6))
    blame = project.found()
    assert names(blame) == [["sampling.extra.gamma_mode"]]
    (cause,) = blame["causes"]
    assert cause["count"] == cause["of"] == blame["lost"]
    assert cause["least"] > 0.5 * cause["of"]
    assert cause["alone"] is True
    assert blame["by_chance"] == 0
    assert blame["questions"] < 12 * blame["lost"]
    assert project.blame("--resume") == 0
    text = f"sampling.extra.gamma_mode = 1 explains {cause['of']} of the {cause['of']} lost answers (at least"
    assert text in project.words


# Of the same answers putting one back brings nothing back: the other still loses them.
@pytest.mark.parametrize("salt", ["", "s"], ids=["each its own answers", "both the same answers"])
def test_two_harmful_settings_are_both_named(project: Project, salt: str) -> None:
    modes = ("alpha_mode", "beta_mode")
    project.lose(lambda i, body: any(mode in body and luck(i, salt or mode) < 0.3 for mode in modes))
    assert sorted(names(project.found())) == [["sampling.extra.alpha_mode"], ["sampling.extra.beta_mode"]]


def test_where_every_sample_was_lost_no_others_are_asked(project: Project) -> None:
    project.edit("[gate]", "[gate]\nearly_stopping = false")
    write_task(project.folder, rows=questions(80))
    project.edit("theta = 5.0", "theta = 20.0")
    project.lose(lambda _i, body: "gamma_mode" in body)
    # So that no setting explains most of the loss.
    project.loses = lambda i, body: "gamma_mode" in body or luck(i, "x") < 0.5
    blame = project.found()
    assert blame["lost"] == 80
    assert names(blame) == [["sampling.extra.gamma_mode"]]
    assert max(trial["n"] for trial in blame["trials"]) == blame["control"]


def test_two_that_harm_only_together_are_named_as_such(project: Project) -> None:
    project.lose(lambda i, body: {"alpha_mode", "beta_mode"} <= body.keys() and luck(i, "s") < 0.3)
    blame = project.found()
    assert sorted(names(blame)) == [["sampling.extra.alpha_mode"], ["sampling.extra.beta_mode"]]
    assert not any(cause["alone"] for cause in blame["causes"])


def test_a_run_that_was_red_by_bad_luck_blames_nothing(project: Project) -> None:
    dice = random.Random(7)
    project.record()
    for share, code in ((0.3, 1), (0.1, 0)):  # whatever the settings
        project.loses = lambda _i, _body, share=share: dice.random() < share
        assert (project.run() if code else project.blame()) == code
    assert "came back with nothing changed: by chance" in project.words
    blame = project.found("--resume")
    assert blame["causes"] == []
    assert blame["by_chance"] > 0.6 * blame["lost"]


def test_a_budget_ends_the_search_and_says_so(project: Project) -> None:
    project.lose(by_gamma(0.6))
    blame = project.found("--samples", "30")
    assert blame["questions"] == 30
    assert blame["causes"] == []
    assert project.blame("--resume", "--samples", "30") == 0
    assert "The search ended after 30 questions" in project.words
    result = project.out / "accgate.json"
    before = result.read_bytes()
    seconds = iter(range(10_000))
    config = select(load_config(project.config), ["changed"])
    done = search(config, project.out, RunOptions(project.out), minutes=1.0, clock=lambda: float(next(seconds)))
    assert done.ended_early == "after 1 minutes, the most that were allowed"
    assert 0 < done.questions < 80
    assert result.read_bytes() == before
    assert "--minutes is nan" in project.refusal("--minutes", "nan")


def test_the_cause_file_says_what_was_found_or_why_not_and_a_new_run_removes_it(project: Project) -> None:
    project.lose(by_gamma(0.6))
    out, apart, page = project.out, project.folder / "apart", project.folder / "r.html"
    before = {path: path.stat().st_mtime_ns for path in out.rglob("*")}
    blame = project.found("--out", str(apart), "--html")
    assert {path: path.stat().st_mtime_ns for path in out.rglob("*")} == before
    assert json.loads((apart / "cause.json").read_text())["blame"] == blame
    assert project.blame("--html") == 0
    assert (apart / "cause.html").read_text() == (out / "cause.html").read_text()
    assert main(["report", str(out / "accgate.json"), "--html", str(page)]) == 0
    for text in ((apart / "cause.html").read_text(), page.read_text()):
        assert f"sampling.extra.gamma_mode = 1 explains {blame['lost']} of the {blame['lost']} lost answers" in text
    assert project.run() == 1
    assert not list(out.glob("cause.*"))
    project.edit('"gamma_mode" = 1', '"gamma_mode" = 2')
    assert project.blame() == 2
    assert "changed since the run in" in json.loads((out / "cause.json").read_text())["failure"]


def test_the_bases_rules_decide_what_was_lost_and_a_setting_that_no_server_takes_does_not_end_the_search(
    project: Project, tmp_path: Path
) -> None:
    project.loses = by_gamma(0.3)
    project.record()
    shutil.copytree(project.folder, tmp_path / "base")
    project.edit("theta = 5.0", "theta = 50.0")
    base = ["--base", str(tmp_path / "base/accuracy.toml")]
    assert project.run(*base) == 1
    project.server.fault_of = lambda body: (
        Fault(400) if "alpha_mode" not in body and "gamma_mode" in body else project.reply(body)
    )
    blame = project.found(*base)
    assert names(blame) == [["sampling.extra.gamma_mode"]]
    assert [trial["kind"] for trial in blame["trials"] if trial["problem"]] == ["put back", "set alone"]
    assert project.blame("--resume", *base) == 0
    assert "With sampling.extra.alpha_mode put back the model could not be asked" in project.words


def test_what_cannot_be_searched_is_refused_with_the_reason(project: Project) -> None:
    project.record()
    assert project.run() == 0
    assert "nothing to explain; name one with --task" in project.refusal()
    assert "--alpha is 0.7" in project.refusal("--alpha", "0.7")
    project.loses = by_gamma(0.3)
    assert project.run() == 1
    project.edit('"gamma_mode" = 1', '"gamma_mode" = 2')
    assert "changed since the run in" in project.refusal()
    project.edit('"gamma_mode" = 2', '"gamma_mode" = 1')
    reference = project.folder / "references/m/sums.toml"
    reference.write_text(reference.read_text().partition("[settings]")[0])
    assert "has no settings, because an earlier version" in project.refusal()


def test_settings_without_effect_are_rarely_named_however_many_there_are() -> None:
    """Five settings of a model that flickers, all asked to the end, at an alpha of 0.1.

    At most 50 of 500 searches may name one; 2 do, and 8 would where each setting had all of alpha.
    """
    dice = random.Random(3)
    searches, count, lost, levels = 500, 5, 40, levels_of(0.1, 5)
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
    assert wrong <= 5


def draw(dice: random.Random, ids: frozenset[str], right: float) -> dict[str, float]:
    return {i: 100.0 * (dice.random() < right) for i in ids}


def test_what_is_lost_for_good_is_told_from_what_flickers(project: Project) -> None:
    project.lose(by_gamma(0.3))
    lost = project.check["flips"]
    project.loses = lambda i, body: by_gamma(0.3)(i, body) and luck(i, "f") < 0.5
    assert project.rerun("--flips", "--json") == 0
    back = json.loads(project.capsys.readouterr().out)["back"]
    assert set(back) == set(lost)
    assert {0, 3} == set(back.values())
    assert project.rerun("--flips", "--resume") == 0
    gone = list(back.values()).count(0)
    assert f"asked again 3 times, {gone} are lost for good and {len(back) - gone} flicker" in project.words
    assert project.rerun("--sample", lost[0]) == 0
    assert re.search(r"Prompt What is.*Reference's reply, score 100\.00.*Reply, score 0\.00", project.words)
    assert project.rerun("--sample", "none") == 2
    assert "no check has a record of sample 'none'" in project.words


def test_replies_that_hold_no_answer_are_no_lost_answers(project: Project) -> None:
    """An empty completion is a reply: it scores 0, as the lost answer does, and looks like it."""
    project.lose(by_gamma(0.3))
    project.server.fault_of = lambda _: completion("")
    for code in (project.rerun("--flips", "--times", "2"), project.blame()):
        assert code == 3
    error = project.words
    assert error.count("no answer in any of") == 2
    assert error.lower().count("see that its server still serves this model") == 2


def test_a_few_replies_without_an_answer_show_nothing_where_the_run_had_as_many(project: Project) -> None:
    project.lose(by_gamma(0.3))
    samples = load_task("sums", file=project.folder / "sums.toml", seed=0).samples
    first = next(str(sample.prompt) for sample in samples if sample.id in project.check["flips"])

    def reply(body: Mapping[str, Any]) -> Fault:
        is_empty = "gamma_mode" in body and body["messages"][-1]["content"] in first
        return completion("") if is_empty else project.reply(body)

    project.server.fault_of = reply
    assert project.run() == 1
    assert project.check["lost_unread"] == 1
    assert project.found("--samples", "1")["control"] == 1


def test_what_failed_or_held_no_answer_is_said_beside_what_was_asked_again(project: Project) -> None:
    project.lose(by_gamma(0.3))
    n, seen = len(project.check["flips"]), list[str]()

    def fault_of(body: Mapping[str, Any]) -> Fault:
        prompt = body["messages"][-1]["content"]
        seen.append(prompt)
        if prompt == seen[0]:
            return Fault(400)
        return completion("") if prompt == seen[1] else project.reply(body)

    project.server.fault_of = fault_of
    again = ["--flips", "--times", "1"]
    assert project.rerun(*again) == 0
    text = project.words
    assert f"1 of {n} answers failed" in text
    assert f"1 of {n - 1} replies held no answer" in text
    assert f"{n - 1} are lost for good and 0 flicker; 1 never got a score." in text
    assert project.rerun(*again, "--resume", "--json") == 0
    done = json.loads(project.capsys.readouterr().out)
    assert (sum(done["scored"].values()), sum(done["unread"].values())) == (n - 1, 1)


def test_answers_that_were_kept_serve_a_search_after_the_same_run_was_made_again(project: Project) -> None:
    project.lose(by_gamma(0.6))
    first, second = project.folder / "first", project.folder / "second"
    blame = project.found("--out", str(first))
    shutil.rmtree(project.out)
    assert project.run() == 1
    shutil.copytree(first / "blame", second / "blame")
    asked = len(project.server.seen)
    assert project.found("--resume", "--out", str(second)) == blame
    assert len(project.server.seen) == asked


@pytest.mark.parametrize("others", [SETTINGS, ()])
def test_the_environment_is_named_as_what_cannot_be_put_back(
    project: Project, monkeypatch: pytest.MonkeyPatch, others: tuple[str, ...]
) -> None:
    described = OpenAIEngine.describe
    under = {"torch": "2.8.0", "cuda": "12.8"}
    monkeypatch.setattr(OpenAIEngine, "describe", lambda engine: replace(described(engine), environment=dict(under)))
    project.loses = lambda i, _: under["torch"] == "2.9.0" and luck(i, "t") < 0.3
    if not others:
        project.config.write_text(re.sub(r"sampling = .*\n", "", project.config.read_text()))
    project.record()
    under["torch"] = "2.9.0"
    assert project.run("--html") == 1
    for page in (project.words, *((project.out / f"report.{kind}").read_text() for kind in ("md", "html"))):
        text = " ".join(re.sub(r"<[^>]*>|`", " ", page).split())
        assert re.search(r"torch ?:? (\(environment\) )?2\.8\.0 (→ )?2\.9\.0", text)
        assert "12.8" not in text
    advice = "the same commit in the reference's environment: no setting of accuracy.toml changed"
    assert (advice in unescape(text)) is not bool(others)
    markdown = project.folder / "blame.md"
    markdown.touch()
    assert project.blame("--markdown", str(markdown)) == (0 if others else 2)
    words = " ".join(markdown.read_text().split()) + project.words
    why = "environment.torch: 2.8.0 → 2.9.0 (it lies under the engine, where no setting reaches)"
    assert why in words.replace("`", "").replace("\\", "")
