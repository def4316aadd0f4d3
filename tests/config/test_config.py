"""accuracy.toml: its meaning, its pairs and its schema."""

from pathlib import Path

import pytest

from accgate.config.config import Config, config_schema, load_config
from accgate.config.tables import Sampling, TaskSettings
from tests.config.test_faults import document
from tests.support.cases import refusal

EXAMPLE = """\
[gate]
alpha = 0.05

[models.smollm2]
engine = "vllm"
model = "HuggingFaceTB/SmolLM2-135M-Instruct"
variant = { quant = "fp8", gpu = "H200" }
baseline = "smollm2@quant=bf16,gpu=H200"
options = { tensor_parallel_size = 1 }

[models."other model"]
engine = "openai"
model = "x"
[models."other model".sampling]
top_k = -1
stop = ["\\n", "Q:"]
extra = { min_p = 0.1 }

[tasks.arithmetic]
num_samples = 400
alpha = 0.01
models = ["smollm2"]
tags = ["fast", "math"]
options = { high = 20 }

[tasks.own]
file = "my_task.toml"
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "my_task.toml").touch()
    (tmp_path / "accuracy.toml").write_text(EXAMPLE)
    return load_config(tmp_path / "accuracy.toml")


def test_tables_and_their_tables_are_read(config: Config) -> None:
    smollm2, other = config.models.values()
    assert (smollm2.variant, smollm2.options) == ({"quant": "fp8", "gpu": "H200"}, {"tensor_parallel_size": 1})
    assert other.sampling == Sampling(top_k=-1, stop=("\n", "Q:"), extra={"min_p": 0.1})
    assert config.tasks["arithmetic"] == TaskSettings(
        num_samples=400, alpha=0.01, models=("smollm2",), tags=("fast", "math"), options={"high": 20}
    )
    assert config.references == config.folder / "references"


def test_paths_start_from_the_folder_of_the_file(config: Config) -> None:
    assert config.path("my_task.toml") == config.folder / "my_task.toml"
    assert config.path("/elsewhere/x") == Path("/elsewhere/x")


def test_pairs_are_models_by_tasks_in_the_order_of_the_file(config: Config) -> None:
    assert config.pairs() == [("smollm2", "arithmetic"), ("smollm2", "own"), ("other model", "own")]


def test_references_are_recorded_of_models_without_a_baseline(config: Config, tmp_path: Path) -> None:
    kept = config.without_baselines()
    assert list(kept.models) == ["other model"]
    assert (kept.gate, kept.tasks, kept.source) == (config.gate, config.tasks, config.source)
    path = tmp_path / "candidates.toml"
    path.write_text(document(model='baseline = "m@bf16"'), encoding="utf-8")
    assert "name the one to record with --models" in refusal(load_config(path).without_baselines)


def test_the_schema_takes_the_example_and_refuses_what_the_reader_refuses(config: Config) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(config_schema())
    validator.check_schema(config_schema())
    example = dict(config.source.data)
    assert list(validator.iter_errors(example)) == []
    for gate in ({"alpha": 0.5}, {"alhpa": 0.05}, {"correction": "hol"}):
        assert len(list(validator.iter_errors({**example, "gate": gate}))) == 1
    assert len(list(validator.iter_errors({}))) == 2
