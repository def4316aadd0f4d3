"""The cost of a plan in tokens, seconds and GPU-hours, as earlier runs measured it. Nothing is guessed."""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.engines.base import cpu_name
from accgate.errors import BadInput
from accgate.planning.checks import Check
from accgate.records.file import MEASURED, numbered_records, paths_of, settings_of_run

SEVERAL = re.compile(r"(\d+) x (.+)")
GPU = re.compile(r"NVIDIA|AMD Instinct|Radeon|Gaudi|GPU")


@dataclass(frozen=True)
class Measured:
    """The cost of samples in an earlier run; tokens are means per sample, None where the engine counts none."""

    source: str
    engine: str
    hardware: str
    tokens: float | None
    samples_per_second: float | None


@dataclass(frozen=True)
class Cost:
    """The cost of so many samples; a figure is None where no earlier run tells it."""

    samples: float
    tokens: float | None
    seconds: float | None
    gpu_hours: float | None


@dataclass(frozen=True)
class Estimate:
    """The cost of a check: at most, and with early stopping on average where nothing changed and after a drop."""

    model: str
    task: str
    most: Cost
    healthy: Cost | None
    dropped: Cost | None
    notes: tuple[str, ...]


def estimate_of(check: Check, runs: Sequence[Path], hardware: Callable[[str], str | None]) -> Estimate:
    """The cost of a check, from run folders or else from its reference.

    Tokens are those of any run; seconds only of one on the hardware that `hardware` says an engine has here.
    """
    engine = check.planned_model.settings.engine
    sources = [*(_of_run(check, folder) for folder in runs), _of_reference(check)]
    measured = [each for each in sources if each is not None and each.engine == engine]
    here = hardware(engine)
    rated = next((each for each in measured if each.samples_per_second and _fits(each.hardware, here)), None)
    counted = next((each for each in measured if each.tokens is not None), None)
    rate, devices = (None, 0) if rated is None else (rated.samples_per_second, _gpus(rated.hardware))
    tokens = None if counted is None else counted.tokens

    def cost(samples: float) -> Cost:
        n = samples * check.repeats
        seconds = n / rate if rate else None
        hours = None if seconds is None or not devices else seconds * devices / 3600.0
        return Cost(n, None if tokens is None else tokens * n, seconds, hours)

    means = check.expected_n_healthy, check.expected_n_dropped
    healthy, dropped = (None if samples is None else cost(samples) for samples in means)
    notes = tuple(_notes(engine, here, measured, rated, counted))
    return Estimate(check.model, check.task.name, cost(check.n), healthy, dropped, notes)


def _notes(
    engine: str, here: str | None, measured: Sequence[Measured], rated: Measured | None, counted: Measured | None
) -> list[str]:
    """Where the figures come from, or why there are none."""
    if engine == "recorded":
        return ["recorded answers cost nothing"]
    notes = [f"tokens as in {counted.source}"] if counted is not None else ["no earlier run counted tokens"]
    if rated is not None:
        return [*notes, f"time as in {rated.source} on {rated.hardware}"]
    place = here or "the hardware, which is not known before the engine runs"
    elsewhere = sorted({each.hardware for each in measured if each.samples_per_second})
    others = f"; there are measurements on {' and '.join(elsewhere)}" if elsewhere else ""
    return [*notes, f"no run was measured on {place}, so its time is not known{others}"]


def _of_run(check: Check, folder: Path) -> Measured | None:
    """The cost that a run folder's records of the same model and variant show."""
    model, paths = check.planned_model.settings, paths_of(folder, *check.key)
    if not paths.settings.is_file() or not paths.records.is_file():
        return None
    try:
        settings = settings_of_run(paths)
        counts = [
            (record.prompt_tokens or 0) + (record.completion_tokens or 0)
            for _, record in numbered_records(paths.records)
            if record.prompt_tokens is not None or record.completion_tokens is not None
        ]
    except BadInput:
        return None
    engine = settings.get("engine")
    is_same = (settings.get("model"), settings.get("variant")) == (model.model, dict(model.variant))
    if not isinstance(engine, Mapping) or not is_same:
        return None
    tokens = sum(counts) / len(counts) if counts else None
    name, hardware = str(engine.get("name", "")), str(engine.get("hardware", ""))
    return Measured(str(paths.records), name, hardware, tokens, _rate(settings.get(MEASURED)))


def _rate(measured: Any) -> float | None:
    """Samples a second, from the time that a run's settings hold."""
    if not isinstance(measured, dict):
        return None
    records, seconds = measured.get("records"), measured.get("seconds")
    if not isinstance(records, (int, float)) or not isinstance(seconds, (int, float)) or seconds <= 0:
        return None
    return records / seconds or None


def _of_reference(check: Check) -> Measured | None:
    if check.recorded is None:
        return None
    about = check.recorded.about
    counts = [each for each in (about.prompt_tokens, about.completion_tokens) if each is not None]
    tokens = sum(counts) if counts else None
    return Measured(str(check.recorded.path), about.engine, about.hardware, tokens, about.samples_per_second)


def _fits(measured: str, here: str | None) -> bool:
    several = SEVERAL.fullmatch(measured)
    return here is not None and here in (measured, several and several[2])


def _gpus(hardware: str) -> int:
    """GPUs that a hardware's name counts; 0 for processors and for servers, which do not say."""
    several = SEVERAL.fullmatch(hardware)
    return int(several[1]) if several and GPU.search(hardware) else int(bool(GPU.search(hardware)))


def hardware_here(engine: str) -> str | None:
    """The hardware that an engine would run on here, as it names it; None where that is not known."""
    if engine == "llamacpp":
        return cpu_name()
    if engine == "openai":
        return "server"
    return _gpu_name() or cpu_name() if engine == "vllm" else None


def _gpu_name() -> str | None:
    command = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.splitlines()[0].strip() if done.returncode == 0 and done.stdout.strip() else None
