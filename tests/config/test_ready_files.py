"""The files of configs/ that people start from: each is valid, can be planned, and says what it costs."""

from __future__ import annotations

from pathlib import Path

import pytest

from accgate import load_config
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


@pytest.fixture(autouse=True)
def away(monkeypatch: pytest.MonkeyPatch) -> None:
    """No dataset of the hub can be had: the sizes are those that the tasks name."""

    def cannot(name: str, *_: object) -> None:
        raise CannotEvaluate(f"dataset {name}: away")

    monkeypatch.setattr(rows, "hub_rows", cannot)


def test_each_is_valid_planned_and_says_what_it_is_for_and_costs(tmp_path: Path) -> None:
    assert len(FILES) >= 7
    for file in FILES:
        copied = tmp_path / file.name  # where no run has left references
        copied.write_bytes(file.read_bytes())
        checks = validate(load_config(copied))
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


def test_the_suite_has_every_dataset_of_tensorrt_llm_with_its_figures() -> None:
    """Those of `accgate import trtllm`, but audio, video and a chat of GSM8K, which have no task here."""
    config = load_config(CONFIGS / "tensorrt-llm-suite.toml")
    checks = {check.task.name: check for check in validate(config)}
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
