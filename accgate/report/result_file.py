"""A result as files for machines: accgate.json with its JSON schema, and JUnit XML."""

from __future__ import annotations

import math
from dataclasses import asdict
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from accgate.errors import BadInput, exit_code, worst, writing
from accgate.evaluation.shards.run import SHARD
from accgate.inputs.paths import read_json
from accgate.records import refuse_unwritable, write_atomically
from accgate.report.forest import FILES
from accgate.result import CAUSE, CAUSE_HTML, HTML, NAME, REPORT, Result, result_of_verdict, to_json
from accgate.text import clip
from accgate.verdict import Verdict, sentence

LARGEST = 200_000_000  # bytes of a result; one of a million samples has a few million
# Unicode's bidirectional controls
TURNING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


def forget_result(out: Path) -> None:
    """Remove the result and report of an earlier run, so that an old verdict never stands for a run that did not end.

    Raises
    ------
    BadInput
        When it is a file, or cannot be written.
    CannotEvaluate
        When they cannot be removed.
    """
    refuse_unwritable(out)
    with writing(out, "name another folder with --out, or make this one writable"):
        for name in (NAME, REPORT, HTML, CAUSE, CAUSE_HTML, SHARD, *FILES):
            (out / name).unlink(missing_ok=True)


def write_result(result: Result, out: Path) -> Path:
    """Write accgate.json into a run's folder.

    Raises
    ------
    CannotEvaluate
        When it cannot be written.
    """
    path = out / NAME
    with writing(path):
        out.mkdir(parents=True, exist_ok=True)
        write_atomically(path, to_json(result).encode("utf-8", "backslashreplace") + b"\n")
    return path


def read_result(path: Path) -> Result:
    """A result, from a whole result file or from one verdict as `compare --json` prints it.

    Raises
    ------
    BadInput
        When the file cannot be read, is not a result, or contradicts its own checks.
    """
    from pydantic import ValidationError

    from accgate.inputs.typed import adapter_of, first_fault

    if not path.exists():
        raise BadInput(f"{path}: there is no result; `accgate run` writes one, or name another file")
    data = read_json(path, LARGEST, "give an accgate.json")
    single = isinstance(data, dict) and "checks" not in data
    try:
        if not single:
            return _consistent(adapter_of(Result).validate_python(data), path)
        verdict = adapter_of(Verdict).validate_python(data)
    except ValidationError as error:
        fault = f"{path}: is not a result: {first_fault(error)} ({error.error_count()} faults)"
        raise BadInput(f"{fault}; name a file that `accgate run` wrote") from error
    return result_of_verdict(verdict)


def _consistent(result: Result, path: Path) -> Result:
    names = [check.verdict for check in result.decided]
    code = exit_code(names, inconclusive_passes=result.on_inconclusive == "warn")
    if (result.verdict, result.exit_code) != (worst(names), code):
        raise BadInput(
            f"{path}: says {result.verdict} with exit code {result.exit_code}, but its {len(names)} verdicts give "
            f"{worst(names)} with {code}; the file was changed, run the gate again"
        )
    return result


def differences(written: Result, computed: Result) -> list[str]:
    """Where a written result is not the one that was computed from the same records; empty where they agree.

    Verdicts are compared with all their figures, to a millionth, and all their samples; not with their `reasons`, which
    may speak of the dataset, nor with the verdicts that decide nothing. A verdict that differs brings its reasons.
    """
    faults = []
    for key in ("verdict", "exit_code", "rules", "correction", "on_inconclusive", "seed"):
        faults += _unequal(key, getattr(written, key), getattr(computed, key))
    then, now = ({(v.model, v.task): v for v in result.decided} for result in (written, computed))
    for model, task in now.keys() - then.keys():
        faults.append(f"{model} / {task}: is missing in the result, but the rules decide on it")
    for model, task in then.keys() - now.keys():
        faults.append(f"{model} / {task}: is in the result, but the rules make no such check")
    if len(written.decided) != len(then):
        faults.append("a check comes twice in the result")
    for pair in now.keys() & then.keys():
        faults += _unequal(place := " / ".join(map(str, pair)), _figures(then[pair]), _figures(now[pair]))
        if then[pair].verdict != now[pair].verdict:
            faults += [f"{place}: {reason}" for reason in now[pair].reasons]
    return sorted(faults)


def _figures(verdict: Verdict) -> dict[str, Any]:
    return {key: value for key, value in asdict(verdict).items() if key != "reasons"}


def _unequal(place: str, written: Any, computed: Any) -> list[str]:
    """The places where two values of plain data differ."""
    if isinstance(written, dict) and isinstance(computed, dict):
        keys = sorted({*written, *computed})
        return [fault for key in keys for fault in _unequal(f"{place}: {key}", written.get(key), computed.get(key))]
    if isinstance(written, (list, tuple)) and isinstance(computed, (list, tuple)):
        if len(written) != len(computed):
            return [f"{place}: has {len(written)} entries, but the records give {len(computed)}"]
        pairs = enumerate(zip(written, computed, strict=True))
        return [fault for number, (a, b) in pairs for fault in _unequal(f"{place}[{number}]", a, b)][:1]
    numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (written, computed)]
    if all(numbers) and math.isclose(written, computed, rel_tol=1e-6, abs_tol=1e-9):
        return []
    return [] if written == computed else [f"{place}: is {_short(written)}, but the records give {_short(computed)}"]


def _short(value: Any) -> str:
    return clip(f"{value:.10g}" if isinstance(value, float) else repr(value), 80)


def result_schema() -> dict[str, Any]:
    """JSON schema of accgate.json."""
    from accgate.inputs.typed import adapter_of

    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **adapter_of(Result).json_schema()}


def junit_xml(result: Result) -> str:
    """The result as JUnit XML, a test case per check and overall check.

    A regression or inconclusive check is a failure; one without a reference or a verdict is an error.
    """
    failures = [v for v in result.decided if v.verdict in ("regression", "inconclusive")]
    errors = [v for v in result.decided if v.verdict in ("error", "no-reference")]
    suite = ElementTree.Element(
        "testsuite",
        name="accgate",
        tests=str(len(result.decided)),
        failures=str(len(failures)),
        errors=str(len(errors)),
        time=f"{result.seconds or 0.0:.3f}",
    )
    for verdict in result.decided:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(verdict.model or "accgate"), name=_xml(verdict.task or "compare")
        )
        if verdict.verdict != "pass":
            kind = "failure" if verdict in failures else "error"
            fault = ElementTree.SubElement(case, kind, type=verdict.verdict, message=_xml(sentence(verdict)))
            fault.text = _xml("\n".join(verdict.reasons))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """The text without characters that XML 1.0 cannot hold, and without those that turn the direction of others."""
    return "".join(c if _is_allowed(ord(c)) and c not in TURNING else "\N{REPLACEMENT CHARACTER}" for c in text)


def _is_allowed(point: int) -> bool:
    return point in (9, 10, 13) or 32 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000
