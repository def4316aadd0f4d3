"""Workflow commands, outputs and the summary: nothing in a value becomes a command of its own."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accgate.github.runner import SUMMARY_LIMIT, append_summary, command, mask, write_outputs


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


def outputs_of(path) -> dict[str, str]:
    """What the runner reads from the file, as its FileCommandManager.cs."""
    read, lines = {}, iter(path.read_bytes().decode().split("\n"))
    for line in lines:
        if not line:
            continue
        name, end = line.split("<<", 1)
        value = []
        while (part := next(lines)) != end:
            value.append(part)
        read[name] = "\n".join(value)
    return read


class TestCommand:
    @given(st.text(), st.text(min_size=1))
    def test_the_runner_reads_back_every_value(self, message, title):
        text = command("warning", message, title=title)
        assert not re.search(r"[\r\n]", text)
        assert runner_reads(text) == ("warning", {"title": title}, message)

    def test_one_without_properties_has_none_and_a_percent_sign_is_escaped_first(self):
        assert command("notice", "hello: a, b") == "::notice::hello: a, b"
        assert command("error", "%0A\n") == "::error::%250A%0A"

    def test_every_line_of_a_token_is_masked(self):
        assert mask("one\n\ntwo\n") == "::add-mask::one\n::add-mask::two"
        assert mask("") == ""


class TestOutputs:
    @given(values=st.dictionaries(st.sampled_from(["verdict", "passed", "results"]), st.text(alphabet="a\n<={}é")))
    def test_the_runner_reads_back_every_value(self, values, tmp_path_factory):
        path = tmp_path_factory.mktemp("out") / "outputs"
        path.write_text("before<<x\n1\nx\n")
        write_outputs(path, values)
        assert outputs_of(path) == {"before": "1"} | values

    def test_a_value_cannot_set_another_output(self, tmp_path):
        path = tmp_path / "outputs"
        write_outputs(path, {"verdict": "a\nghadelimiter\npassed=true\npassed<<x\ntrue\nx", "passed": "false"})
        assert outputs_of(path)["passed"] == "false"

    @pytest.mark.parametrize("path", [None, ""])
    def test_outside_a_job_nothing_happens(self, path):
        write_outputs(path, {"a": "b"})
        append_summary(path, "text")


class TestSummary:
    @pytest.fixture
    def path(self, tmp_path):
        return tmp_path / "summary"

    def test_text_is_appended_and_half_a_character_does_no_harm(self, path):
        append_summary(path, "one\n")
        append_summary(path, "zwei: ü\na\ud800b")
        assert path.read_text(encoding="utf-8") == "one\nzwei: ü\na?b"

    def test_it_stays_under_githubs_limit_with_a_note(self, path):
        append_summary(path, "first\n")
        append_summary(path, "ü" * SUMMARY_LIMIT)
        content = path.read_bytes()
        assert SUMMARY_LIMIT - 4 < len(content) <= 2**20  # GitHub takes no more
        assert content.decode().startswith("first\nüü")
        assert content.decode().rstrip().endswith("at most 1 MiB.*")

    def test_a_full_one_stays_as_it_is(self, path):
        path.write_bytes(b"x" * (SUMMARY_LIMIT - 5))
        append_summary(path, "more and more")
        assert path.stat().st_size == SUMMARY_LIMIT - 5

    def test_text_of_exactly_the_limit_is_whole(self, path):
        append_summary(path, "x" * SUMMARY_LIMIT)
        assert path.read_text() == "x" * SUMMARY_LIMIT
