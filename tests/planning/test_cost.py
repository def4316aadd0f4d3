"""What `accgate plan` says of the cost: from what was measured on this hardware, and nothing where nothing was."""

from __future__ import annotations

import json
import math
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.planning.checks import plan_checks
from accgate.planning.cost import Cost, Estimate, Speed, estimate_of
from accgate.records.file import Record, paths_of, to_line
from accgate.report.plans import cost_sentence, total_sentence
from accgate.report.words import expected_text
from tests.support.cases import each
from tests.support.gates import Project, recorded_project
from tests.support.servers import Server, sums

GPU = "NVIDIA H200"


def planned(project: Project, *, runs: list[Path] | None = None, here: str | None = GPU) -> Estimate:
    (check,) = plan_checks(load_config(project.config))
    return estimate_of(check, runs or [], lambda _: here)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A vllm model whose reference of 200 samples was recorded on one GPU: 50 samples a second of 110 tokens."""
    made = recorded_project(tmp_path, 200)
    (path,) = made.store.rglob("sums.toml")
    lines = [line for line in path.read_text().splitlines() if not line.startswith(("engine", "hardware"))]
    extra = f'engine = "vllm"\nhardware = "{GPU}"\nprompt_tokens = 100.0\ncompletion_tokens = 10.0\n'
    path.write_text(extra + "samples_per_second = 50.0\n" + "\n".join(lines))
    made.models = {"m": {"engine": "vllm", "model": "org/model"}}
    made.write()
    return made


def of_hardware(project: Project, hardware: str, before: str = GPU) -> None:
    (path,) = project.store.rglob("sums.toml")
    path.write_text(path.read_text().replace(before, hardware))


def test_cost_follows_from_what_the_reference_took_on_this_hardware(project: Project) -> None:
    estimate = planned(project)
    assert estimate.most == Cost(200, 22_000, 4.0, pytest.approx(4 / 3600))
    assert (estimate.healthy, estimate.dropped) == (None, None)  # no theta: nothing stops early
    project.tasks["sums"]["repeats"] = 3
    project.write()
    assert planned(project).most == Cost(600, 66_000, 12.0, pytest.approx(12 / 3600))


@each("here", ["NVIDIA H100 80GB HBM3", "8 x NVIDIA H200 NVL", None])
def test_on_other_hardware_time_is_not_guessed_and_tokens_are_known(project: Project, here: str | None) -> None:
    estimate = planned(project, here=here)
    assert estimate.most == Cost(200, 22_000, None, None)
    assert any("there are measurements on NVIDIA H200" in note for note in estimate.notes)


def test_another_engines_figures_are_not_this_ones(project: Project) -> None:
    project.models = {"m": {"engine": "openai", "model": "m", "options": {"base_url": "http://127.0.0.1:1/v1"}}}
    project.write()
    estimate = planned(project)
    assert estimate.most == Cost(200, None, None, None)
    assert "no earlier run counted tokens" in estimate.notes


def test_several_gpus_count_each_and_processors_have_no_gpu_hours(project: Project) -> None:
    of_hardware(project, f"8 x {GPU}")
    assert planned(project).most.gpu_hours == pytest.approx(8 * 4 / 3600)
    of_hardware(project, "a processor", before=f"8 x {GPU}")
    assert planned(project, here="a processor").most == Cost(200, 22_000, 4.0, None)


def test_early_stopping_has_a_worst_case_and_expectations(project: Project) -> None:
    project.tasks["sums"] |= {"theta": 10.0, "discordance": 0.05}
    project.write(early_stopping=True)
    estimate = planned(project)
    assert 0 < estimate.healthy.samples < estimate.dropped.samples < estimate.most.samples
    for cost in (estimate.most, estimate.healthy, estimate.dropped):
        assert cost.seconds == pytest.approx(cost.samples / 50)
        assert cost.tokens == pytest.approx(cost.samples * 110)
    verdict, tokens, hours, *_ = cost_sentence(estimate).split("; ")
    assert re.search(r"about \d+ samples .+, about \d+ .+ a drop of 10 points, at most 101 \(2 s\)", verdict)
    assert re.match(r"at most 11,110 tokens, about [1-4],\d+ if nothing", tokens)
    assert re.match(r"at most 0.000561 GPU-hours, about 0.000[12]\d* if nothing", hours)


def run_folder(project: Project, folder: Path, **settings: Any) -> Path:
    """Records of 10 samples that took 2 seconds, of 50 tokens each."""
    paths = paths_of(folder, "m", "sums")
    paths.records.parent.mkdir(parents=True)
    record = Record("a", 0, 100.0, "4", "4", "4", "stop", 45, 5, 0.1, None)
    paths.records.write_bytes(b"".join(to_line(replace(record, id=str(i))) for i in range(10)))
    made = {
        "model": "org/model", "variant": {}, "engine": {"name": "vllm", "version": "1", "hardware": GPU},
        "measured": {"records": 10, "seconds": 2.0},
    }  # fmt: skip
    paths.settings.write_text(json.dumps(made | settings))
    return folder


def test_records_of_the_same_model_go_before_the_references_figures(project: Project, tmp_path: Path) -> None:
    estimate = planned(project, runs=[run_folder(project, tmp_path / "run")])
    assert estimate.most == Cost(200, 10_000, 40.0, pytest.approx(40 / 3600))


@each(
    "settings", [{"model": "org/other"}, {"variant": {"quant": "fp8"}}, {"engine": {"name": "openai"}}, {"engine": 3}]
)
def test_records_of_another_model_do_not_count(project: Project, tmp_path: Path, settings: dict[str, Any]) -> None:
    assert planned(project, runs=[run_folder(project, tmp_path / "run", **settings)]) == planned(project)


@each("measured", [None, {}, {"records": 0, "seconds": 0}, {"records": "10", "seconds": 2.0}])
def test_records_without_a_time_still_count_tokens(project: Project, tmp_path: Path, measured: Any) -> None:
    estimate = planned(project, runs=[run_folder(project, tmp_path / "run", measured=measured)])
    assert estimate.most == Cost(200, 10_000, 4.0, pytest.approx(4 / 3600))


def test_recorded_answers_cost_nothing(tmp_path: Path) -> None:
    estimate = planned(recorded_project(tmp_path, 200))
    assert estimate.most == Cost(200, None, None, None)
    assert estimate.notes == ("recorded answers cost nothing",)


def test_the_total_is_known_only_where_every_part_is() -> None:
    known = Estimate("m", "a", Cost(10, 100, 5.0, 0.5), None, None, ())
    unknown = replace(known, most=Cost(20, 50, None, None))
    assert total_sentence([known]) is None
    both, some = total_sentence([known, known]), total_sentence([known, unknown])
    assert both.endswith("after 20 samples (10 s); at most 200 tokens; at most 1 GPU-hours.")
    assert some.endswith("after 30 samples; at most 150 tokens.")


def test_the_verdict_of_a_run_is_that_of_its_checks_one_after_the_other() -> None:
    most, healthy, dropped = (Cost(n, None, n / 10, None) for n in (100, 40, 60))
    early = Estimate("m", "a", most, healthy, dropped, (), 2.0, "early")
    whole = Estimate("m", "b", Cost(50, None, 5.0, None), None, None, ())
    unrecorded = replace(whole, most=Cost(900, None, None, None), ends="recording")
    said = total_sentence([early, whole, unrecorded])
    assert re.search(r"about 90 samples \(9 s\) .* about 110 \(11 s\) .* at most 150 \(15 s\)", said)
    assert "no verdict without a reference; recording takes 1,800" in total_sentence([unrecorded] * 2)


@pytest.mark.parametrize(
    ("speed", "tokens", "rate"),
    [
        (Speed(4.0, 200.0), 10.0, 20.0),  # tokens a second, at the reference's length
        (Speed(4.0, 200.0), None, 4.0),  # imported without tokens: replies as long as the probe's
        (Speed(4.0, None), 10.0, 4.0),  # a server that counts none
        (Speed(4.0, 200.0), 0.0, 4.0),
    ],
)
@pytest.mark.parametrize("engine", ["vllm", "openai"])  # a reference of other hardware, or of another engine
def test_a_probe_tells_the_time_whatever_made_the_reference(project: Project, engine, speed, tokens, rate) -> None:
    (path,) = project.store.rglob("sums.toml")
    line = "" if tokens is None else f"completion_tokens = {tokens}\n"
    path.write_text(path.read_text().replace("completion_tokens = 10.0\n", line))
    project.models["m"]["engine"] = engine
    project.models["m"]["options"] = {"base_url": "http://127.0.0.1:1/v1"} if engine == "openai" else {}
    project.write()
    (check,) = plan_checks(load_config(project.config))
    estimate = estimate_of(check, [], lambda _: "server", speed)
    assert estimate.most.seconds == pytest.approx(200 / rate)
    assert estimate.most.gpu_hours is None
    assert estimate_of(check, [], lambda _: "server", speed, 60, 50).most.seconds == pytest.approx(150 / rate)
    assert f"a probe at {'200.0 tokens' if rate == 20.0 else '4.0 replies'}/s" in estimate.notes[-1]


def test_a_resumed_check_expects_nothing_at_samples_that_did_not_decide_it(project: Project) -> None:
    project.tasks["sums"] |= {"theta": 10.0, "discordance": 0.05}
    project.write(early_stopping=True)
    (check,) = plan_checks(load_config(project.config))
    healthy, dropped = check.expected_n_healthy, check.expected_n_dropped
    finished = (0, math.ceil(healthy), math.ceil(dropped), check.n)
    estimates = (estimate_of(check, [], lambda _: None, Speed(2.0, None), done, done) for done in finished)
    texts = [expected_text(estimate) for estimate in estimates]
    assert [text.count("about") for text in texts] == [2, 1, 0, 0]
    assert "after at most 101 samples (" in texts[2]
    assert "after at most 101 samples (under 1 s)" in texts[3]


def test_record_and_plan_agree_on_a_real_server(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Server(sums(wrong=0.2)) as server:
        config = tmp_path / "accuracy.toml"
        config.write_text(
            f'[models.m]\nengine = "openai"\nmodel = "toy"\noptions = {{ base_url = "{server.url}" }}\n'
            "[tasks.arithmetic]\noptions = { high = 20 }\nnum_samples = 40\n"
        )
        assert main(["plan", str(config), "--json"]) == 0
        cost = json.loads(capsys.readouterr().out)[0]["cost"]
        assert (cost["ends"], cost["most"]["seconds"]) == ("recording", None)
        assert "--probe measures a server's speed" in cost["notes"][-1]
        assert main(["record", str(config), "--out", str(tmp_path / "out"), "--quiet"]) == 0
        capsys.readouterr()
        assert main(["plan", str(config), "--json"]) == 0
        reference = json.loads(capsys.readouterr().out)[0]["cost"]
        assert main(["plan", str(config), "--json", "--runs", str(tmp_path / "out")]) == 0
        records = json.loads(capsys.readouterr().out)[0]["cost"]
        assert main(["plan", str(config)]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert re.search(r"after 40 samples \((\d+|under 1) s\); at most [\d,]+ tokens", shown)
    assert reference["most"]["tokens"] == pytest.approx(records["most"]["tokens"], rel=0.01)
    assert reference["most"]["seconds"] == pytest.approx(records["most"]["seconds"], rel=0.01)
    measured = json.loads((tmp_path / "out" / "m" / "arithmetic.settings.json").read_text())["measured"]
    assert measured["records"] == 40
    assert records["most"]["seconds"] == pytest.approx(measured["seconds"])


def test_validate_loads_nothing_heavy(tmp_path: Path) -> None:
    """Exact plans take scipy.special; nothing else of scipy is needed for them."""
    project = recorded_project(tmp_path, 40)
    code = (
        "import sys; from accgate.cli.main import main; code = main(sys.argv[1:]);"
        "late = ('scipy.stats', 'scipy.optimize', 'asyncio', 'aiohttp');"
        "sys.exit(code or any(name in sys.modules for name in late))"
    )
    done = subprocess.run([sys.executable, "-c", code, "validate", str(project.config)], check=False, timeout=60)
    assert done.returncode == 0
