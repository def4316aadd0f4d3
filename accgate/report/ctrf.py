"""A result in the Common Test Report Format (ctrf.io), a test per check: what dashboards read beside JUnit XML."""

from __future__ import annotations

import json
import math
from datetime import datetime
from typing import Any

from accgate._version import __version__
from accgate.result import Result
from accgate.text import visible
from accgate.verdict import Verdict, name_of, sentence

SPECIFICATION = "0.0.0"


def ctrf_json(result: Result) -> str:
    """The result as CTRF, a test per check and overall check; its figures, in points, are labels.

    What did not pass has failed there, so that no reader takes a check without a verdict for a pass. CTRF wants a
    duration of each test, which a run does not measure: it is 0.
    """
    tests = [_test(verdict) for verdict in result.decided]
    passed = sum(test["status"] == "passed" for test in tests)
    start = int(datetime.fromisoformat(result.started).timestamp() * 1000) if result.started else 0
    duration = round(1000 * (result.seconds or 0.0))
    summary = {"tests": len(tests), "passed": passed, "failed": len(tests) - passed}
    report = {
        "reportFormat": "CTRF",
        "specVersion": SPECIFICATION,
        "generatedBy": "accgate",
        "results": {
            "tool": {"name": "accgate", "version": result.accgate or __version__},
            "summary": summary
            | {"skipped": 0, "pending": 0, "other": 0, "start": start, "stop": start + duration, "duration": duration},
            "tests": tests,
        },
    }
    return json.dumps(report, indent=2) + "\n"


def _test(verdict: Verdict) -> dict[str, Any]:
    test: dict[str, Any] = {
        "testId": f"{verdict.model or 'accgate'}/{verdict.task or 'compare'}",
        "name": visible(name_of(verdict)),
        "status": "passed" if verdict.verdict == "pass" else "failed",
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
    low, high = (None, None) if verdict.interval is None else verdict.interval.two_sided
    figures: dict[str, float | None] = {
        "reference": verdict.reference.mean,
        "mean": verdict.candidate.mean,
        "n": verdict.n,
        "difference": verdict.difference,
        "interval_low": low,
        "interval_high": high,
        "gamma": verdict.gamma,
        "theta": verdict.theta,
        "p_value": verdict.p_value,
    }
    return {name: value for name, value in figures.items() if value is not None and math.isfinite(value)}
