"""Workflow commands, outputs and the summary: nothing in a value becomes a command of its own."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from accgate.github.runner import append_summary, command, mask, write_outputs
from tests.github.asking import outputs_of


def runner_reads(line: str) -> tuple[str, dict[str, str], str]:
    """What the runner makes of a command, as its ActionCommand.cs."""
    name, properties, message = re.fullmatch(r"::([a-z-]+)(?: (.*?))?::(.*)", line).groups()
    unescape = {"%0D": "\r", "%0A": "\n", "%3A": ":", "%2C": ",", "%25": "%"}
    for code, text in list(unescape.items()):
        message = message.replace(code, text) if code not in ("%3A", "%2C") else message
    pairs = dict(pair.split("=", 1) for pair in (properties or "").split(",") if pair)
    for code, text in unescape.items():
        pairs = {key: value.replace(code, text) for key, value in pairs.items()}
    return name, pairs, message


class TestCommand:
    @given(st.text(), st.text(min_size=1))
    def test_the_runner_reads_back_every_value(self, message, title):
        text = command("warning", message, title=title)
        assert not re.search(r"[\r\n]", text)
        assert runner_reads(text) == ("warning", {"title": title}, message)

    def test_every_line_of_a_token_is_masked(self):
        assert mask("one\n\ntwo\n") == "::add-mask::one\n::add-mask::two"
        assert mask("") == ""


class TestOutputs:
    @given(values=st.dictionaries(st.sampled_from(["verdict", "passed", "results"]), st.text(alphabet="a\n<={}é")))
    def test_the_runner_reads_back_every_value(self, values, tmp_path_factory):
        path = tmp_path_factory.mktemp("out") / "outputs"
        path.write_text("before<<x\n1\nx\n")
        write_outputs({"GITHUB_OUTPUT": str(path)}, values)
        assert outputs_of(path) == {"before": "1"} | values

    def test_outside_a_job_nothing_happens(self):
        write_outputs({}, {"a": "b"})
        append_summary({"GITHUB_STEP_SUMMARY": ""}, "text")


def test_text_is_appended_to_the_summary_and_half_a_character_does_no_harm(tmp_path):
    environ = {"GITHUB_STEP_SUMMARY": str(tmp_path / "summary")}
    append_summary(environ, "one\n")
    append_summary(environ, "zwei: ü\na\ud800b")
    assert (tmp_path / "summary").read_text(encoding="utf-8") == "one\nzwei: ü\na?b"
