"""JUnit XML: it parses, counts, and holds any name."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st

from accgate import compare
from accgate.cli.main import main
from accgate.errors import exit_code, worst
from accgate.report.result_file import junit_xml, write_result
from accgate.result import Result
from tests.support.gates import RIGHT, right_but


def result_of(*names: Any, **keys: Any) -> Result:
    plain = compare([RIGHT] * 50, right_but(20, 50))
    checks = tuple(replace(plain, verdict=name, model="m", task=f"t{i}", **keys) for i, name in enumerate(names))
    return Result(worst(names), exit_code(names), checks, seconds=12.3456)


def test_each_check_is_a_test_case_and_what_did_not_pass_is_counted() -> None:
    names = ("pass", "regression", "regression", "inconclusive", "error", "no-reference", "pass")
    suite = ElementTree.fromstring(junit_xml(result_of(*names)))
    counts = [suite.get(name) for name in ("name", "tests", "failures", "errors", "skipped", "time")]
    assert counts == ["accgate", "7", "3", "2", "0", "12.346"]
    kinds = [[(child.tag, child.get("type")) for child in case] for case in suite]
    failure, error = "failure", "error"
    assert kinds == [[], [(failure, "regression")], [(failure, "regression")], [(failure, "inconclusive")],
                     [(error, "error")], [(error, "no-reference")], []]  # fmt: skip
    assert [case.get("name") for case in suite] == [f"t{i}" for i in range(7)]


def test_a_failure_says_what_was_tested_and_why() -> None:
    suite = ElementTree.fromstring(junit_xml(result_of("regression", reasons=("first <reason>", "second & last"))))
    (failure,) = suite.findall("testcase/failure")
    assert "p < 0.0001; the gate fails below gamma" in (failure.get("message") or "")
    assert failure.text == "first <reason>\nsecond & last"


@given(name=st.text(alphabet=st.characters(exclude_categories=())))
@example("")
@example("\x00\x1b[31m\ufffe\ud800")
def test_any_name_parses_and_what_xml_cannot_hold_is_replaced(name: str) -> None:
    check = replace(result_of("error", reasons=(name,)).checks[0], model=name, task=name)
    (case,) = ElementTree.fromstring(junit_xml(Result("error", 3, (check,))))
    shown = case.get("name")
    assert shown is not None
    assert not set(shown) & {"\x00", "\x1b", "\ufffe", "\ud800"}
    if name.isprintable():
        assert (case.get("classname"), shown) == (name or "accgate", name or "compare")


def test_the_command_writes_it_to_a_file_or_standard_output(tmp_path: Path, capsysbinary) -> None:
    path = write_result(result_of("regression"), tmp_path)
    assert main(["report", str(path), "--junit", "-"]) == 0
    assert ElementTree.fromstring(capsysbinary.readouterr().out).get("failures") == "1"
    assert main(["report", str(path), "--junit", str(tmp_path / "junit.xml"), "--markdown", "-"]) == 0
    assert "✕" in capsysbinary.readouterr().out.decode()
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "1"
