"""JUnit XML: it parses, counts, and holds any name."""

from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

from hypothesis import example, given
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate import compare
from accgate.cli.main import main
from accgate.errors import SEVERITY, exit_code, worst
from accgate.report.result_file import junit_xml, write_result
from accgate.result import Result
from accgate.verdict import Verdict
from tests.support.gates import RIGHT, right_but

PLAIN = replace(
    compare([RIGHT] * 50, right_but(20, 50)), model="m", task="t", reasons=("first <reason>", "second & last")
)


def result_of(*checks: Verdict) -> Result:
    names = [check.verdict for check in checks]
    return Result(worst(names), exit_code(names), checks, seconds=12.3456)


def test_each_check_is_a_test_case_and_what_did_not_pass_is_counted_and_explained(
    messages: SnapshotAssertion,
) -> None:
    suite = ElementTree.fromstring(junit_xml(result_of(*(replace(PLAIN, verdict=name) for name in SEVERITY))))
    ElementTree.indent(suite)
    assert ElementTree.tostring(suite, encoding="unicode") == messages


@given(name=st.text(alphabet=st.characters(exclude_categories=())))
@example("")
@example("\x00\x1b[31m\ufffe\ud800")
def test_any_name_parses_and_what_xml_cannot_hold_is_replaced(name: str) -> None:
    check = replace(PLAIN, verdict="error", reasons=(name,), causes=(), model=name, task=name)
    (case,) = ElementTree.fromstring(junit_xml(Result("error", 3, (check,))))
    shown = case.get("name")
    assert shown is not None
    assert not set(shown) & {"\x00", "\x1b", "\ufffe", "\ud800"}
    if name.isprintable():
        assert (case.get("classname"), shown) == (name or "accgate", name or "compare")


def test_the_command_writes_it_to_a_file_or_standard_output(tmp_path: Path, capsysbinary) -> None:
    path = write_result(result_of(PLAIN), tmp_path)
    assert main(["report", str(path), "--junit", "-"]) == 0
    assert ElementTree.fromstring(capsysbinary.readouterr().out).get("failures") == "1"
    assert main(["report", str(path), "--junit", str(tmp_path / "junit.xml"), "--markdown", "-"]) == 0
    assert "✕" in capsysbinary.readouterr().out.decode()
    assert ElementTree.parse(tmp_path / "junit.xml").getroot().get("failures") == "1"
