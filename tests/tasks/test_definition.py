"""Task definition files: what they mean, and every fault with line, key and mend."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from syrupy.assertion import SnapshotAssertion

from accgate.errors import BadInput
from accgate.metrics.registry import metric_builders
from accgate.tasks.definition import Definition, library_file, library_names, read_definition
from tests.support.cases import each

FULL = library_file("mmlu").read_text(encoding="utf-8")


def document(top: str = "", dataset: str = 'generator = "arithmetic"', rest: str = "") -> str:
    """A definition whose own top line is line 4, whose dataset starts on line 6, and the rest after it."""
    return (
        f'prompt = "{{{{ q }}}}"\ntarget = "{{{{ a }}}}"\nmetric = "exact_match"\n{top}\n[dataset]\n{dataset}\n{rest}\n'
    )


def read(folder: Path, text: str | bytes) -> Definition:
    path = folder / "task.toml"
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return read_definition(path)


def refusals(folder: Path, text: str | bytes) -> list[str]:
    """The messages about a definition, without its path."""
    with pytest.raises(BadInput) as caught:
        read(folder, text)
    path = folder / "task.toml"
    assert all(message.startswith(f"{path}:") and "\n" not in message for message in caught.value.messages)
    return [message.removeprefix(f"{path}:").replace(str(folder), "FOLDER") for message in caught.value.messages]


@each("name", library_names())
def test_every_task_of_the_library_is_a_definition_with_a_description_and_source(name: str) -> None:
    content = read_definition(library_file(name)).content
    assert content.description
    assert content.source
    assert content.metric in metric_builders()


# Of other packages' faults the words are theirs, and not in the table.
@each(
    ("top", "message"),
    [
        ('system = "{{ q"', "system: is not a Jinja template: line 1 of it: "),
        ('system = "{{ q }}\\n{% if %}"', "system: is not a Jinja template: line 2 of it: "),
        ("extract = {regex = '('}", "extract.regex: is not a regular expression: "),
        (f"extract = {{regex = '{'(' * 3000}{')' * 3000}'}}", "extract.regex: is not a regular expression: "),
        ("extract = {json_path = '$['}", "extract.json_path: is not a JSON path: "),
    ],
)
def test_a_text_of_another_language_is_refused_with_its_line_and_key(tmp_path: Path, top: str, message: str) -> None:
    (only,) = refusals(tmp_path, document(top))
    assert only.startswith(f"4: {message}")


KEYS = (
    'prompt2 = ""', "max_tokens = 0", "chance = inf", 'stop = "x"', 'mode = "chats"',
    "columns = {custer = 'x'}", "extract = {regex = '(a)(b)'}", "extract = {regex = 'a', which = 'lats'}",
    "extract = {regex = 'a', json_path = '$'}", "extract = {form = 'number', regex = 'a'}",
    "extract = {regex = 'a', language = 'de'}", "extract = {form = 'number', language = 'dee'}",
    "extract = {form = 'number', language = 'group'}", "extract = {form = 'boxed', which = 'first'}",
    "few_shot = {file = 'no.csv'}", "few_shot = {split = 'train'}",
    "few_shot = {examples = [{q = 1}], file = 'task.toml'}", "few_shot = {examples = [{q = 1}], count = 2}",
    "few_shot = {examples = [{q = 1}], seed = 3}",
)  # fmt: skip
DATASETS = (
    "",
    "file = 'task.toml'\nhub = 'x'",
    "file = 'no'",
    "file = 'task.toml'",
    "generator = 'arithmetics'",
    "hub = 'x'\nwhere = '{{ a }}'\n[dataset.parameters]\na = 1\nb = 2",
    "generator = 'arithmetic'\n[dataset.options]\nhgih = 9\nlow = '1'\ncount = 0\nseed = true\noperation = '/'",
)


def test_a_fault_names_line_key_and_fix(tmp_path: Path, messages: SnapshotAssertion) -> None:
    faults = {top: "\n".join(refusals(tmp_path, document(top))) for top in KEYS}
    assert all(fault.startswith("4: ") for fault in faults.values())
    assert faults == messages


def test_a_dataset_fault_names_line_key_and_fix(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert {text: "\n".join(refusals(tmp_path, document(dataset=text))) for text in DATASETS} == messages
    (fault,) = refusals(tmp_path, document(dataset=f"file = '{'a' * 5000}'"))  # longer than the system's names
    assert "there is no file" in fault


def test_several_faults_come_at_once_in_the_order_of_the_file(tmp_path: Path) -> None:
    text = document('extract.regex = "("', "hub = 'x'\nfile = 'y'", "[few_shot]\nsplit = 'a'\nfile = 'no.csv'")
    faults = refusals(tmp_path, text.replace("exact_match", "exact_mtch").replace("{{ q", "{{ 1 +"))
    assert faults[0].startswith("1: prompt: is not a Jinja template")
    faults = refusals(tmp_path, text.replace("exact_match", "exact_mtch"))
    assert faults[0] == "3: metric: is 'exact_mtch'; did you mean 'exact_match'?"
    places = [message.split(": ")[:2] for message in refusals(tmp_path, text)]
    assert places == [["4", "extract.regex"], ["5", "dataset"], ["8", "few_shot"], ["10", "few_shot.file"]]


def test_faults_of_examples_in_arrays_of_tables_are_found_on_their_own_lines(tmp_path: Path) -> None:
    rest = "[[few_shot.examples]]\nq = 1\n[[few_shot.examples]]\nq = 2\n[few_shot]\ncuont = 2"
    assert refusals(tmp_path, document(rest=rest)) == ["12: few_shot.cuont: unknown key; did you mean 'count'?"]
    keys = "few_shot.count = 3\nfew_shot.examples = [\n  {q = 1},\n  2,\n]"
    assert refusals(tmp_path, document(keys)) == ["5: few_shot.examples[1]: is 2, a whole number; write a table"]


def test_a_definition_without_its_parts_says_what_to_add(tmp_path: Path) -> None:
    dataset, metric = refusals(tmp_path, "description = ''")
    assert dataset.startswith("1: dataset: is missing; add it: a table [dataset]")
    assert metric.startswith('1: metric: is missing; add it: metric = "exact_match"')
    assert refusals(tmp_path, "")[0].startswith("1: is empty; docs/tasks.md")


@pytest.mark.filterwarnings("default")  # Python warns of odd expressions that it takes
@settings(max_examples=40, deadline=None)
@given(
    line=st.integers(0, FULL.count("\n") - 1),
    value=st.sampled_from(["'('", "'{{'", "'$['", "nan", "-1", "{}", "[]", "'\\x00'", "true", "1979-05-27"])
    | st.text(max_size=8).map(json.dumps),
    at=st.integers(0, len(FULL) - 1),
    byte=st.integers(0, 255) | st.none(),
)
def test_any_file_is_a_definition_or_messages_that_start_with_its_path(tmp_path_factory, line, value, at, byte) -> None:
    folder = tmp_path_factory.getbasetemp()
    lines = FULL.splitlines()
    lines[line] = lines[line].partition("=")[0] + "= " + value
    raw = bytearray("\n".join(lines).encode(errors="replace"))
    if byte is not None:
        raw[at % len(raw)] = byte
    try:
        outcome: Definition | BadInput = read(folder, bytes(raw))
    except BadInput as error:
        outcome = error
    if isinstance(outcome, BadInput):
        assert outcome.messages
        assert all(re.match(rf"{re.escape(str(folder))}/task.toml:\d+: \S", text) for text in outcome.messages)
    else:
        assert outcome.content.metric in metric_builders()
