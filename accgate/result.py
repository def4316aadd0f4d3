"""The result file, accgate.json: written, read back, and its JSON schema."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Literal

from accgate.engines.base import EngineInfo
from accgate.errors import BadInput, CannotEvaluate, VerdictName, exit_code, worst
from accgate.records import write_atomically
from accgate.verdict import Verdict

NAME = "accgate.json"
REPORT = "report.md"  # beside it
HTML = "report.html"


@dataclass(frozen=True)
class Result:
    """A whole run: its verdict is the worst of its checks.

    `rules` says whose rules judged: the file's own; those of a base commit; in a bootstrap the file's own because the
    base has none; or a pull request's own because somebody approved that they differ. `beside` holds what the other
    rules, a pull request's own or those of its base, say of the same records where that differs; it decides nothing.
    `samples` counts all that were evaluated, `cached` those of them that a cache had, which cost no tokens.
    `shards` counts the parts that were merged; early stopping then saved nothing, since every part was evaluated whole.
    """

    verdict: VerdictName
    exit_code: int
    checks: tuple[Verdict, ...]
    accgate: str = ""
    started: str | None = None
    seconds: float | None = None
    seed: int = 0
    correction: str = "none"
    on_inconclusive: str = "fail"
    samples: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    engines: Mapping[str, EngineInfo] = field(default_factory=dict)
    rules: Literal["own", "base", "bootstrap", "approved"] = "own"
    beside: tuple[Verdict, ...] = ()
    shards: int = 1
    cached: int = 0


def to_json(value: Result | Verdict) -> str:
    """The JSON text of a result or of one verdict; a figure that does not exist is null, never NaN."""
    return plain_json(value)


def plain_json(value: Any) -> str:
    """The JSON text of a dataclass; a figure that does not exist is null, never NaN."""
    return json.dumps(_finite(asdict(value)), indent=2, ensure_ascii=False, allow_nan=False)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_result(result: Result, out: Path) -> Path:
    """Write accgate.json into a run's folder.

    Raises
    ------
    CannotEvaluate
        When it cannot be written.
    """
    path = out / NAME
    try:
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(path, to_json(result).encode("utf-8", "backslashreplace") + b"\n")
    except OSError as error:
        cause = f"{path}: cannot be written: {error.strerror}"
        raise CannotEvaluate(f"{cause}; mend that, then go on with --resume") from error
    return path


def read_result(path: Path) -> Result:
    """A result, from a whole result file or from one verdict as `compare --json` prints it.

    Raises
    ------
    BadInput
        When the file cannot be read, does not have the result's form, or says another verdict than its checks.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        if isinstance(error, FileNotFoundError):
            raise BadInput(f"{path}: there is no result; `accgate run` writes one, or name another file") from error
        raise BadInput(f"{path}: cannot be read as JSON: {error}; give an accgate.json") from error
    single = isinstance(data, dict) and "checks" not in data
    try:
        if not single:
            return _consistent(TypeAdapter(Result).validate_python(data), path)
        verdict = TypeAdapter(Verdict).validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or "the whole"
        raise BadInput(f"{path}: is not a result: {where}: {first['msg']} ({error.error_count()} faults)") from error
    return result_of_verdict(verdict)


def _consistent(result: Result, path: Path) -> Result:
    names = [check.verdict for check in result.checks]
    code = exit_code(names, inconclusive_passes=result.on_inconclusive == "warn")
    if (result.verdict, result.exit_code) != (worst(names), code):
        raise BadInput(
            f"{path}: says {result.verdict} with exit code {result.exit_code}, but its {len(names)} checks give "
            f"{worst(names)} with {code}; the file was changed, run the gate again"
        )
    return result


def result_of_verdict(verdict: Verdict) -> Result:
    """A result of one check, as `compare` gives it."""
    from accgate import __version__

    return Result(verdict.verdict, exit_code([verdict.verdict]), (verdict,), accgate=__version__)


def result_schema() -> dict[str, Any]:
    """JSON schema of accgate.json."""
    from pydantic import TypeAdapter

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **TypeAdapter(Result).json_schema()}
