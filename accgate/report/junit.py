"""JUnit XML, which most CI systems show as test results."""

from __future__ import annotations

from xml.etree import ElementTree

from accgate.report import words
from accgate.result import Result


def junit_xml(result: Result) -> str:
    """A test case per check: a regression or inconclusive check is a failure, one without evidence an error."""
    failures = [v for v in result.checks if v.verdict in ("regression", "inconclusive")]
    errors = [v for v in result.checks if v.verdict in ("error", "no-reference")]
    suite = ElementTree.Element(
        "testsuite", name="accgate", tests=str(len(result.checks)), failures=str(len(failures)),
        errors=str(len(errors)), time=f"{result.seconds or 0.0:.3f}",
    )  # fmt: skip
    for verdict in result.checks:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(verdict.model or "accgate"), name=_xml(verdict.task or "compare")
        )
        if verdict.verdict != "pass":
            kind = "failure" if verdict in failures else "error"
            fault = ElementTree.SubElement(case, kind, type=verdict.verdict, message=_xml(words.sentence(verdict)))
            fault.text = _xml("\n".join(verdict.reasons))
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(suite, encoding="unicode") + "\n"


def _xml(text: str) -> str:
    """The text without characters that XML 1.0 cannot hold."""
    return "".join(c if _allowed(ord(c)) else "\N{REPLACEMENT CHARACTER}" for c in text)


def _allowed(point: int) -> bool:
    return point in (9, 10, 13) or 32 <= point <= 0xD7FF or 0xE000 <= point <= 0xFFFD or point >= 0x10000
