"""The files of a result that machines read.

The files are accgate.json, JUnit XML, CTRF, and a statement to sign.
"""

import hashlib
import json
import math
import re
from collections import Counter
from dataclasses import asdict
from datetime import datetime
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from pydantic import ValidationError

from accgate._version import REPOSITORY, __version__
from accgate.errors import BadInput, exit_code, worst, writing
from accgate.evaluation.shards.run import SHARD
from accgate.inputs.paths import file_digest, read_json
from accgate.inputs.typed import adapter_of, first_fault
from accgate.records.file import NOT_COMPARED, paths_of, settings_of_run
from accgate.records.replacement import refuse_unwritable, write_atomically
from accgate.report.forest import FILES
from accgate.result import CAUSE, CAUSE_HTML, HTML, NAME, REPORT, SAMPLES, Result, deciding, result_of_verdict, to_json
from accgate.text import clip, visible
from accgate.verdict import Verdict
from accgate.verdict.sentences import name_of, sentence

LARGEST = 200_000_000  # bytes of a result; one of a million samples has a few million
# What XML 1.0 cannot hold, and Unicode's bidirectional controls
REFUSED = re.compile(
    "[^\\t\\n\\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]|[\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def forget_result(out: Path) -> None:
    """Remove the result and report of an earlier run from a run's folder.

    Otherwise the old verdict would stand for a run that did not finish.

    Raises
    ------
    BadInput
        When `out` is a file, or cannot be written.
    CannotEvaluate
        When the files cannot be removed.
    """
    refuse_unwritable(out)
    with writing(out, "name another folder with --out, or make this one writable"):
        for name in (NAME, REPORT, HTML, SAMPLES, CAUSE, CAUSE_HTML, SHARD, *FILES):
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
        write_atomically(path, to_json(result).encode("utf-8", "backslashreplace") + b"\n")
    return path


def read_result(path: Path) -> Result:
    """Read a result, or the single verdict that `compare --json` prints.

    Raises
    ------
    BadInput
        When the file cannot be read, is not a result, or contradicts its own checks.
    """
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
    names = deciding(result.decided)
    code = exit_code(names, inconclusive_passes=result.on_inconclusive == "warn")
    if (result.verdict, result.exit_code) != (worst(names), code):
        raise BadInput(
            f"{path}: says {result.verdict} with exit code {result.exit_code}, but its {len(names)} verdicts give "
            f"{worst(names)} with {code}; the file was changed, run the gate again"
        )
    return result


def differences(written: Result, computed: Result) -> list[str]:
    """List where a written result differs from the one computed from the same records.

    Verdicts are compared with all their figures, to a millionth, and all their samples. Their `reasons` and `causes`
    are not compared, which may quote the dataset, nor are the verdicts that decide nothing. A verdict that differs is
    listed with its reasons.
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
    return {key: value for key, value in asdict(verdict).items() if key not in ("reasons", "causes")}


def _unequal(place: str, written: Any, computed: Any) -> list[str]:
    """Find the places where two values of plain data differ."""
    if isinstance(written, dict) and isinstance(computed, dict):
        keys = sorted({*written, *computed})
        return [fault for key in keys for fault in _unequal(f"{place}: {key}", written.get(key), computed.get(key))]
    if isinstance(written, (list, tuple)) and isinstance(computed, (list, tuple)):
        if len(written) != len(computed):
            return [f"{place}: has {len(written)} entries, but the records give {len(computed)}"]
        pairs = enumerate(zip(written, computed, strict=True))
        return [fault for number, (a, b) in pairs for fault in _unequal(f"{place}[{number}]", a, b)][:1]
    are_numbers = [isinstance(value, (int, float)) and not isinstance(value, bool) for value in (written, computed)]
    # Another processor or version of numpy rounds sums elsewhere.
    if all(are_numbers) and math.isclose(written, computed, rel_tol=1e-6, abs_tol=1e-9):
        return []
    return [] if written == computed else [f"{place}: is {_short(written)}, but the records give {_short(computed)}"]


def _short(value: Any) -> str:
    return clip(f"{value:.10g}" if isinstance(value, float) else repr(value), 80)


def result_schema() -> dict[str, Any]:
    """Return the JSON schema of accgate.json."""
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **adapter_of(Result).json_schema()}


JUNIT = {"regression": "failure", "inconclusive": "failure"}


def junit_xml(result: Result) -> str:
    """Write the result as JUnit XML.

    Each check is a test case. A regression or inconclusive check is a failure, one without a reference or a verdict an
    error, and an advisory check that did not pass is skipped, with its sentence.
    """
    suite, counts = ElementTree.Element("testsuite", name="accgate", tests=str(len(result.decided))), Counter[str]()
    for verdict in result.decided:
        names = {"classname": _xml(verdict.model or "accgate"), "name": _xml(verdict.task or "compare")}
        case = ElementTree.SubElement(suite, "testcase", names)
        if verdict.verdict != "pass":
            kind = "skipped" if verdict.tier == "advisory" else JUNIT.get(verdict.verdict, "error")
            counts[kind] += 1
            fault = ElementTree.SubElement(case, kind, type=verdict.verdict, message=_xml(sentence(verdict)))
            fault.text = _xml("\n".join(verdict.reasons))
    for name, kind in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(counts[kind]))
    suite.set("time", f"{result.seconds or 0.0:.3f}")
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """Replace characters that XML 1.0 cannot hold, or that turn the direction of others."""
    return REFUSED.sub("\N{REPLACEMENT CHARACTER}", text)


# The Common Test Report Format, ctrf.io, which dashboards read


CTRF = "0.0.0"


def ctrf_json(result: Result) -> str:
    """Write a result as CTRF.

    Each check is a test, with its figures in points as labels. A check without a verdict has failed too, so that nobody
    takes it for a pass. CTRF demands a duration of each test, which a run does not measure, so that it is 0.
    """
    tests = [_ctrf_test(verdict) for verdict in result.decided]
    counts = Counter(test["status"] for test in tests)
    start = int(datetime.fromisoformat(result.started).timestamp() * 1000) if result.started else 0
    duration = round(1000 * (result.seconds or 0.0))
    statuses = {status: counts[status] for status in ("passed", "failed", "skipped", "pending", "other")}
    times = {"start": start, "stop": start + duration, "duration": duration}
    report = {
        "reportFormat": "CTRF",
        "specVersion": CTRF,
        "generatedBy": "accgate",
        "results": {
            "tool": {"name": "accgate", "version": result.accgate or __version__},
            "summary": {"tests": len(tests), **statuses, **times},
            "tests": tests,
        },
    }
    return json.dumps(report, indent=2) + "\n"


def _ctrf_test(verdict: Verdict) -> dict[str, Any]:
    test: dict[str, Any] = {
        "testId": f"{verdict.model or 'accgate'}/{verdict.task or 'compare'}",
        "name": visible(name_of(verdict)),
        "status": "passed" if verdict.verdict == "pass" else "other" if verdict.tier == "advisory" else "failed",
        "rawStatus": verdict.verdict,
        "duration": 0,
        "suite": [verdict.model or "accgate"],
        "type": "accuracy",
        "labels": _labels(verdict),
    }
    if verdict.verdict != "pass":
        test["message"] = visible(sentence(verdict))
    if verdict.reasons:
        test["trace"] = "\n".join(map(visible, verdict.reasons))
    return test


def _labels(verdict: Verdict) -> dict[str, float]:
    low, high = verdict.ends or (None, None)
    figures = {name: getattr(verdict, name) for name in ("n", "difference", "gamma", "theta", "p_value")}
    figures |= {"reference": verdict.reference.mean, "mean": verdict.candidate.mean}
    figures |= {"interval_low": low, "interval_high": high}
    return {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}


# in-toto Attestation Framework, Statement v1: https://github.com/in-toto/attestation/blob/main/spec/v1/statement.md


STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = f"https://github.com/{REPOSITORY}/verdict/v1"
STATED = (
    "model", "task", "verdict", "test", "n", "difference", "alpha", "beta", "theta", "theta_target", "gamma",
    "p_value", "p_adjusted", "is_new",
)  # fmt: skip


def statement_of(result: Result, out: Path, *, commit: str) -> dict[str, Any]:
    """Make the in-toto statement of a run's verdict, which must have been verified.

    Its subjects are the commit and, for each model, the digest of the settings that its answers were made with (engine
    and version, weights by name, options, sampling). The predicate has every check's figures in points, and the SHA-256
    of accgate.json and of every file of records.

    Raises
    ------
    BadInput
        When the commit is not a whole SHA, or a file cannot be read.
    """
    if not re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", commit):
        raise BadInput(f"--commit is {commit!r}; write the whole name of the commit, 40 or 64 hexadecimal digits")
    pairs = [(v.model, v.task) for v in result.checks if v.model is not None and v.task is not None]
    places = {pair: paths_of(out, *pair) for pair in pairs}
    evaluated = {pair: paths for pair, paths in places.items() if paths.records.exists()}
    settings = {
        model: {key: value for key, value in settings_of_run(paths).items() if key in ANSWERING}
        for (model, _), paths in evaluated.items()
    }
    files = [out / NAME, *(paths.records for paths in evaluated.values())]
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": "commit", "digest": {"gitCommit": commit}},
            *({"name": f"model {name}", "digest": {"sha256": _sha(table)}} for name, table in settings.items()),
        ],
        "predicateType": PREDICATE,
        "predicate": {
            "verdict": result.verdict,
            "exitCode": result.exit_code,
            "rules": result.rules,
            "accgate": result.accgate,
            "checks": [{key: row[key] for key in STATED} for row in json.loads(to_json(result.decided))],
            "files": [
                {"name": file.relative_to(out).as_posix(), "digest": {"sha256": file_digest(file)}} for file in files
            ],
        },
    }


ANSWERING = frozenset({"engine", "model", "variant", "options", "sampling"}) - NOT_COMPARED


def _sha(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
