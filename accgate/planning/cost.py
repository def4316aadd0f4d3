"""The cost of a plan, as earlier runs or a probe measured it."""

import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from accgate.engines.base import cpu_name
from accgate.errors import BadInput
from accgate.planning.checks import Check
from accgate.records.file import MEASURED, numbered_records, paths_of, settings_of_run

Ends = Literal["early", "all", "recording"]
SEVERAL = re.compile(r"(\d+) x (.+)")
GPU = re.compile(r"NVIDIA|AMD Instinct|Radeon|Gaudi|GPU")


@dataclass(frozen=True)
class Measured:
    """The cost of samples in an earlier run.

    Tokens are means per sample, and `written` has those of the replies; None where the engine counts none.
    """

    source: str
    engine: str
    hardware: str
    tokens: float | None
    written: float | None
    samples_per_second: float | None


@dataclass(frozen=True)
class Speed:
    """The number of replies and tokens that an engine gives a second.

    `tokens` is None if the engine does not count them.
    """

    replies: float
    tokens: float | None


@dataclass(frozen=True)
class Cost:
    """The cost of so many samples. A figure is None where no earlier run tells it."""

    samples: float
    tokens: float | None
    seconds: float | None
    gpu_hours: float | None


@dataclass(frozen=True)
class Estimate:
    """The cost of a check at most, and what is expected.

    An early stop is expected at one point where nothing changed, and at another after a drop. `drop` is that drop in
    points. A check `ends` early, or with all samples, or as a recording without a verdict.
    """

    model: str
    task: str
    most: Cost
    healthy: Cost | None
    dropped: Cost | None
    notes: tuple[str, ...]
    drop: float | None = None
    ends: Ends = "all"


def estimate_of(
    check: Check,
    runs: Sequence[Path],
    hardware: Callable[[str], str | None],
    speed: Speed | str | None = None,
    done: int = 0,
    free: int = 0,
) -> Estimate:
    """Estimate the cost of a check, from run folders or its reference.

    Tokens are taken from any run. Seconds follow from the engine's `speed` (a text where that could not be measured),
    or else from a run on the hardware that `hardware` says the engine has here. Of a check that is resumed, `done`
    records have not decided it, and `free` ones took no time.
    """
    engine = check.planned_model.settings.engine
    sources = [*(_of_run(check, folder) for folder in runs), _of_reference(check)]
    measured = [each for each in sources if each is not None and each.engine == engine]
    here = hardware(engine)
    rated = next((each for each in measured if each.samples_per_second and _fits(each.hardware, here)), None)
    counted = next((each for each in measured if each.tokens is not None), None)
    if isinstance(speed, Speed):  # a model's replies are as long on any engine
        written = next((each.written for each in sources if each is not None and each.written), None)
        figure, noun, of = (
            (speed.tokens, "tokens", written) if speed.tokens and written else (speed.replies, "replies", 1)
        )
        rated = Measured(f"a probe at {figure:,.1f} {noun}/s", engine, here or "", None, None, figure / of)
    rate, devices = (None, 0) if rated is None else (rated.samples_per_second, _gpus(rated.hardware))
    tokens = None if counted is None else counted.tokens

    def cost(samples: float) -> Cost:
        n = samples * check.repeats
        seconds = max(n - free, 0.0) / rate if rate else None
        hours = None if seconds is None or not devices else seconds * devices / 3600.0
        return Cost(n, None if tokens is None else tokens * n, seconds, hours)

    means = check.expected_n_healthy, check.expected_n_dropped
    healthy, dropped = (None if n is None or n * check.repeats <= done else cost(n) for n in means)
    notes = (*_notes(engine, here, measured, rated, counted), *([speed] if isinstance(speed, str) else []))
    drop = None if (theta := check.design.theta or check.theta) is None else theta + check.design.allowed_drop
    has_verdict = check.reference is not None or check.other_side is not None
    ends: Ends = "early" if check.expected_n_healthy is not None else "all"
    ends = ends if has_verdict else "recording"
    return Estimate(check.model, check.task.name, cost(check.n), healthy, dropped, notes, drop, ends)


def _notes(
    engine: str, here: str | None, measured: Sequence[Measured], rated: Measured | None, counted: Measured | None
) -> list[str]:
    """Say where the figures come from, or why there are none."""
    if engine == "recorded":
        return ["recorded answers cost nothing"]
    notes = [f"tokens as in {counted.source}"] if counted is not None else ["no earlier run counted tokens"]
    if rated is not None:
        return [*notes, f"time as in {rated.source} on {rated.hardware}"]
    place = here or "the hardware, which is not known before the engine runs"
    elsewhere = sorted({each.hardware for each in measured if each.samples_per_second})
    others = f"; there are measurements on {' and '.join(elsewhere)}" if elsewhere else ""
    fix = "; --probe measures a server's speed" if engine == "openai" else ""
    return [*notes, f"no run was measured on {place}, so its time is not known{others}{fix}"]


def _of_run(check: Check, folder: Path) -> Measured | None:
    """Measure the cost that the records of a run folder show. They must be of the same model and variant."""
    model, paths = check.planned_model.settings, paths_of(folder, *check.key)
    if not paths.settings.is_file() or not paths.records.is_file():
        return None
    try:
        settings = settings_of_run(paths)
        counts = [
            (record.prompt_tokens or 0, record.completion_tokens or 0)
            for _, record in numbered_records(paths.records)
            if record.prompt_tokens is not None or record.completion_tokens is not None
        ]
    except BadInput:
        return None
    engine = settings.get("engine")
    is_same = (settings.get("model"), settings.get("variant")) == (model.model, dict(model.variant))
    if not isinstance(engine, Mapping) or not is_same:
        return None
    read, written = (sum(each) / len(counts) for each in zip(*counts, strict=True)) if counts else (0.0, None)
    tokens = None if written is None else read + written
    name, hardware = str(engine.get("name", "")), str(engine.get("hardware", ""))
    return Measured(str(paths.records), name, hardware, tokens, written, _rate(settings.get(MEASURED)))


def _rate(measured: Any) -> float | None:
    """Return samples a second, from the time that a run's settings hold."""
    match measured:
        case {"records": int() | float() as records, "seconds": int() | float() as seconds} if seconds > 0:
            return records / seconds or None
    return None


def _of_reference(check: Check) -> Measured | None:
    if check.recorded is None:
        return None
    about = check.recorded.about
    counts = [each for each in (about.prompt_tokens, about.completion_tokens) if each is not None]
    tokens = sum(counts) if counts else None
    rate = about.samples_per_second
    return Measured(str(check.recorded.path), about.engine, about.hardware, tokens, about.completion_tokens, rate)


def _fits(measured: str, here: str | None) -> bool:
    several = SEVERAL.fullmatch(measured)
    return here is not None and here in (measured, several and several[2])


def _gpus(hardware: str) -> int:
    """Count the GPUs in a hardware's name. The count is 0 for processors and for servers, which do not say."""
    several = SEVERAL.fullmatch(hardware)
    return int(several[1]) if several and GPU.search(hardware) else int(bool(GPU.search(hardware)))


def hardware_here(engine: str) -> str | None:
    """Name the hardware that an engine would run on here, if known.

    The name is the one that the engine itself gives.
    """
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
