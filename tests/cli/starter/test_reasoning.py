"""`accgate init --reasoning`: settings and tasks for a model that thinks before it answers, which load and plan."""

import json
import re
from pathlib import Path

import pytest

from accgate import load_config
from accgate.cli.main import main
from accgate.cli.starter.files import MODELS, REASONING, Answers, config_text
from accgate.config.tables import Sampling
from tests.support.cases import each
from tests.tasks.dataset_rows import AIME, GPQA, MATH
from tests.tasks.test_library import written

ROWS = {
    "aime_2025": [AIME | {"problem": f"Find {i}."} for i in range(30)],
    "math_500": [MATH | {"problem": f"What is ${i}$?"} for i in range(500)],
    "gpqa_diamond": [GPQA | {"Question": f"{'Which ' * (i % 7)}is {i}?"} for i in range(198)],
}


def test_what_it_writes_is_a_reasoning_models_and_plans(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("math_verify")
    text = config_text(Answers(name="r1", model="x", base_url="http://127.0.0.1:9/v1", reasoning=True), REASONING)
    for task, rows in ROWS.items():  # in place of the hub's
        written(folder / f"{task}.jsonl", rows)
        text = text.replace(f"[tasks.{task}]\n", f'[tasks.{task}]\ndataset = "{task}.jsonl"\n')
    (folder / "accuracy.toml").write_text(text)
    config = load_config("accuracy.toml")
    assert config.models["r1"].sampling == Sampling(temperature=0.6, top_p=0.95, max_tokens=32_768)
    assert {name: (task.repeats, task.theta, task.reasoning) for name, task in config.tasks.items()} == {
        "aime_2025": (8, 10.0, "strip"), "math_500": (4, 4.0, "strip"), "gpqa_diamond": (4, 6.0, "strip"),
    }  # fmt: skip
    assert main(["validate"]) == 0
    capsys.readouterr()
    assert main(["plan", "--json"]) == 0
    checks = {check["task"]: check for check in json.loads(capsys.readouterr().out)}
    assert {name: (check["n"], check["repeats"]) for name, check in checks.items()} == {
        "aime_2025": (30, 8), "math_500": (500, 4), "gpqa_diamond": (198, 4),
    }  # fmt: skip


@each("engine", sorted({*MODELS} - {"recorded"}))
def test_every_engine_has_room_for_the_thought(folder: Path, engine: str) -> None:
    text = config_text(Answers(engine, "x", name="m", reasoning=True), REASONING)
    (folder / "accuracy.toml").write_text(text)
    assert load_config("accuracy.toml").models["m"].sampling.max_tokens == 32_768
    rooms = [int(room) for room in re.findall(r"(?:max_model_len|n_ctx) = (\d+)", text)]
    assert all(room > 32_768 for room in rooms)
    assert bool(rooms) == (engine != "openai"), "a server has its own"
    assert "n_parallel = 8" not in text, "the slots share the context"


def test_named_tasks_get_the_settings_too_and_a_drop_that_is_named_holds(folder: Path) -> None:
    assert main(["init", "--reasoning", "--tasks", "json_extraction", "--theta", "3", "--no-workflow"]) == 0
    config = load_config("accuracy.toml")
    assert config.models["SmolLM2-135M-Instruct"].sampling.temperature == 0.6
    assert (config.tasks["json_extraction"].repeats, config.tasks["json_extraction"].theta) == (4, 3.0)
    assert main(["init", "--force", "--no-workflow", "--tasks", "json_extraction"]) == 0
    config = load_config("accuracy.toml")
    assert config.models["SmolLM2-135M-Instruct"].sampling == Sampling()
    assert config.tasks["json_extraction"].repeats == 1


def test_what_no_reasoning_model_can_be_asked_is_refused(
    folder: Path, capsys: pytest.CaptureFixture[str], ends
) -> None:
    assert main(["init", "--reasoning", "--tasks", "mmlu,math_500"]) == 2
    assert "mmlu is a raw completion, in which a model does not reason" in capsys.readouterr().err
    assert "--reasoning is for engines that ask a model" in ends(2, "init", "--reasoning", "--engine", "recorded")
    assert main(["init", "--reasoning", "--theta", "0"]) == 2
    assert list(folder.iterdir()) == []
