"""Whole runs with real vLLM, which is killed, interrupted, or cannot start."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path
from typing import Any

import pytest

from tests.real.vllm_environment import SHARED_MEMORY, SMALL, Environment, project, records, wait
from tests.real.vllm_session import IN_CORE
from tests.support.gates import table

pytestmark = pytest.mark.vllm


@pytest.mark.long
def test_ctrl_c_while_it_answers_leaves_nothing_but_records(vllm: Environment, tmp_path: Path) -> None:
    config = project(tmp_path, vllm.model, samples=2000, **IN_CORE)
    process = vllm.start("-m", "accgate", "run", str(config), "--out", str(tmp_path / "out"), "--quiet")
    wait(lambda: len(records(tmp_path)) > 2, process)
    os.killpg(process.pid, signal.SIGINT)  # as a terminal does: to every process of the group
    _, err = process.communicate(timeout=1200)
    assert process.returncode == 130, err
    assert "EngineCore" not in err
    found = records(tmp_path)
    assert 2 < len(found) < 2000
    assert all(record["error"] is None for record in found)


def replicated(folder: Path, model: str, options: dict[str, Any]) -> Path:
    """A file with two replicas of vLLM in a cluster of their own."""
    config = project(folder, model, samples=16)
    replicas = {"engine": "vllm", "address": "local", "replicas": 2, "max_restarts": 0, "resources": {"CPU": 0.5}}
    text = config.read_text().replace('engine = "vllm"', 'engine = "ray"').partition("[models.m.options]")[0]
    rest = config.read_text().partition("[models.m.sampling]")
    config.write_text(text + table("models.m.options", replicas | {"options": options}) + "".join(rest[1:]))
    return config


@pytest.mark.ray
@pytest.mark.long
def test_ctrl_c_while_replicas_load_leaves_nothing(vllm: Environment, tmp_path: Path) -> None:
    config = replicated(tmp_path, vllm.model, SMALL)
    before = {*SHARED_MEMORY.glob("psm_*")}
    process = vllm.start("-m", "accgate", "run", str(config), "--out", str(tmp_path / "out"), "--quiet")
    wait(lambda: "VLLM::EngineCor" in vllm.processes().values(), process)
    wait(lambda: {*SHARED_MEMORY.glob("psm_*")} - before, process)
    time.sleep(1)
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=1200)
    assert process.returncode == 130, err


@pytest.mark.long
def test_a_core_that_is_stopped_is_started_again_once_and_then_ends_the_run(vllm: Environment, tmp_path: Path) -> None:
    config = project(tmp_path, vllm.model, samples=2000, log="vllm.log", max_silence=60)
    process = vllm.start("-m", "accgate", "run", str(config), "--out", str(tmp_path / "out"), "--quiet", "--json")
    stopped, before = set(), 0
    for _ in range(2):
        wait(lambda count=before: len(records(tmp_path)) > count + 2, process)  # type: ignore[misc]
        cores = (number for number, name in vllm.processes().items() if name.startswith("VLLM::EngineCor"))
        (core,) = {*cores} - stopped
        os.kill(core, signal.SIGSTOP)
        stopped.add(core)
        before = len(records(tmp_path)) + 300  # what was on its way when it stopped
    out, err = process.communicate(timeout=1800)
    assert process.returncode == 3, err
    assert "vLLM has given no reply for" in err
    assert err.count("its processes are ended and started again, once") == 1
    (check,) = json.loads(out)["checks"]
    assert any("and counts as stalled; finished samples are kept" in reason for reason in check["reasons"])
    found = records(tmp_path)
    assert 300 < len(found) < 2000
    assert len({record["id"] for record in found if record["error"] is None}) == len(found)


@pytest.mark.long
@pytest.mark.parametrize("loaded", [False, True])
def test_a_worker_that_is_stopped_does_not_outlive_its_core(vllm: Environment, tmp_path: Path, loaded: bool) -> None:
    limit = {"max_silence": 20} if loaded else {"start_timeout": 60}
    config = project(tmp_path, vllm.model, samples=100, **limit)
    process = vllm.start("-m", "accgate", "run", str(config), "--out", str(tmp_path / "out"), "--quiet")

    def workers() -> list[int]:
        return [number for number, name in vllm.processes().items() if name == "VLLM::Worker"]

    (worker,) = wait(workers, process)
    if loaded:
        wait(lambda: len(records(tmp_path)) > 5, process)
    time.sleep(0.5)
    os.kill(worker, signal.SIGSTOP)
    _, err = process.communicate(timeout=600)
    assert process.returncode == (0 if loaded else 3), err
    assert ("its processes are ended and started again, once" in err) == loaded
    assert worker not in vllm.processes()  # and the fixture sees that nothing is left


@pytest.mark.long
@pytest.mark.parametrize("loaded", [False, True])
def test_what_vllm_started_does_not_outlive_a_killed_run(vllm: Environment, tmp_path: Path, loaded: bool) -> None:
    config = project(tmp_path, vllm.model, samples=2000)
    process = vllm.start("-m", "accgate", "run", str(config), "--out", str(tmp_path / "out"), "--quiet")
    core = "VLLM::EngineCor"
    wait(lambda: records(tmp_path) if loaded else core in vllm.processes().values(), process)
    time.sleep(0.5)
    if loaded:  # with Python's tracker of shared memory
        os.killpg(process.pid, signal.SIGKILL)
    else:
        process.kill()
    process.communicate(timeout=600)  # and the fixture sees that nothing is left


@pytest.mark.long
def test_what_cannot_start_says_why_and_the_mend_and_what_dies_keeps_its_records(
    vllm: Environment, tmp_path: Path
) -> None:
    """Each model of one run has its own reason: heads that two devices cannot share, a small cache, no such model."""
    long = {"max_model_len": 200_000, "hf_overrides": {"max_position_embeddings": 200_000}}
    cases = {
        "heads": (vllm.model, {"tensor_parallel_size": 2},
                  "attention heads (9) must be divisible by", "set options.tensor_parallel_"),
        "cache": (vllm.model, long | IN_CORE, "cache", "lower options.max_model_len"),
        "hub": ("no-such-owner/no-such-model", {}, "", "check `model`"),
    }  # fmt: skip
    config = project(tmp_path, vllm.model, samples=2000, log="vllm.log", **IN_CORE)
    dies, rest = config.read_text().split("[tasks.")
    models = (
        table(f"models.{name}", {"engine": "vllm", "model": model}) + table(f"models.{name}.options", SMALL | options)
        for name, (model, options, *_) in cases.items()
    )
    config.write_text("".join((*models, dies, "[tasks.", rest)))
    process = vllm.start("-m", "accgate", "run", str(config), "--out", str(tmp_path / "out"), "--quiet", "--json")
    wait(lambda: len(records(tmp_path)) > 2, process)
    (core,) = (number for number, name in vllm.processes().items() if name.startswith("VLLM::EngineCor"))
    os.kill(core, signal.SIGKILL)
    out, err = process.communicate(timeout=1200)
    assert process.returncode == 3, err
    reasons = {check["model"]: check["reasons"] for check in json.loads(out)["checks"]}
    assert reasons.keys() == {*cases, "m"}
    for name, (_, _, cause, mend) in cases.items():
        assert cause in " ".join(reasons[name])
        assert mend in " ".join(reasons[name])
    assert any("vLLM's engine died" in reason and "\n" not in reason for reason in reasons["m"])
    assert 2 < len(records(tmp_path)) < 2000
