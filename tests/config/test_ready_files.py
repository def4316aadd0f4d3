"""The files of configs/ that people start from: each is valid, can be planned, and says what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from accgate import load_config
from accgate.config.config import Config
from accgate.errors import CannotEvaluate
from accgate.interop.trtllm import DEFAULTS
from accgate.planning.checks import Check
from accgate.planning.validation import validate
from accgate.tasks import rows

CONFIGS = Path(__file__).parents[2] / "configs"
FILES = sorted(CONFIGS.glob("*.toml"))


def cost_of(checks: tuple[Check, ...]) -> str:
    """What `accgate plan` says of all checks, as the head of a file has it."""
    answers = sum(check.n * check.repeats for check in checks)
    usual = [check.expected_n_healthy for check in checks]
    early = [n * check.repeats for n, check in zip(usual, checks, strict=True) if n is not None]
    stops = f"; where nothing changed about {round(sum(early), -1):,.0f}" if len(early) == len(checks) else ""
    tokens = sum(check.max_tokens for check in checks) / 1e6
    return f"at most {answers:,} answers of {tokens:.3g} million tokens in all{stops} (`accgate plan`)."


@pytest.fixture(scope="module")
def planned(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Config, tuple[Check, ...]]]:
    """Plan each file without any dataset of the hub. The sizes are those that the tasks name."""

    def cannot(name: str, *_: object) -> None:
        raise CannotEvaluate(f"dataset {name}: away")

    folder, found = tmp_path_factory.mktemp("configs"), {}  # where no run has left references
    with pytest.MonkeyPatch.context() as monkeypatch:
        monkeypatch.setattr(rows, "hub_rows", cannot)
        for file in FILES:
            (folder / file.name).write_bytes(file.read_bytes())
            config = load_config(folder / file.name)
            found[file.stem] = config, validate(config)
    return found


def test_each_is_valid_planned_and_says_what_it_is_for_and_costs(
    planned: dict[str, tuple[Config, tuple[Check, ...]]],
) -> None:
    assert len(FILES) >= 7
    for file in FILES:
        _, checks = planned[file.stem]
        head = file.read_text(encoding="utf-8").partition("\n[")[0]
        assert head.startswith("#:schema ./accuracy.schema.json\n# "), file.name
        assert "\n# To change: " in head, file.name
        assert f"\n# Cost: {cost_of(checks)}\n" in f"{head}\n", (file.name, cost_of(checks))
        for check in checks:  # without references the plan assumes that 10% of the scores change
            late = [note for note in check.notes if note.kind == "more-samples"]
            assert late == [], (file.name, check.task.name)
            if check.design.theta is not None and file.stem != "quickstart":  # whose reference is much steadier
                assert check.theta is not None
                assert check.theta <= check.design.theta, (file.name, check.task.name)


def test_the_suite_has_every_dataset_of_tensorrt_llm_with_its_figures(
    planned: dict[str, tuple[Config, tuple[Check, ...]]],
) -> None:
    """Those of `accgate import trtllm`, but audio, video and a chat of GSM8K, which have no task here."""
    config, all_checks = planned["tensorrt-llm-suite"]
    checks = {check.task.name: check for check in all_checks}
    for name, suite in DEFAULTS.items():
        if name.startswith(("videomme", "voxpopuli", "gsm8k_inference", "mixed_modality")):
            continue
        task = suite.task or name
        if name == "humaneval":  # scored by its tests here
            assert checks["humaneval"].n == suite.num_samples
            continue
        check = checks.pop(task)
        assert check.n == suite.num_samples, name
        assert check.design.sigma == suite.sigma, name
        assert check.design.beta == suite.beta, name
        if suite.alpha != 0.5:  # of the pass keys, whose sigma is 0
            assert check.design.alpha == suite.alpha, name
    assert set(checks) == {"humaneval"}
    assert config.gate.correction == "none"
