"""Task definition files: what they mean, and every fault with line, key and mend."""

import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

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


@each(
    ("top", "message"),
    [
        ('prompt2 = ""', "4: prompt2: unknown key; did you mean 'prompt'?"),
        ('system = "{{ q"', "4: system: is not a Jinja template: line 1 of it: unexpected end of template"),
        ('system = "{{ q }}\\n{% if %}"', "4: system: is not a Jinja template: line 2 of it: Expected an expression"),
        ("max_tokens = 0", "4: max_tokens: is 0; write a number from 1 (longest reply, tokens)"),
        ("chance = inf", "4: chance: is inf; write a number that is finite (mean of a guesser in points)"),
        ('stop = "x"', "4: stop: is 'x', text; write an array"),
        ('mode = "chats"', "4: mode: is 'chats'; write one of chat, completion; did you mean 'chat'?"),
        ("columns = {custer = 'x'}", "4: columns.custer: unknown key; did you mean 'cluster'?"),
        ("extract = {regex = '('}", "4: extract.regex: is not a regular expression: missing ), unt"),
        ("extract = {regex = '(a)(b)'}", "4: extract.regex: has 2 groups; keep one around the answer, write"),
        (f"extract = {{regex = '{'(' * 3000}{')' * 3000}'}}", "4: extract.regex: is not a regular expression: "),
        ("extract = {regex = 'a', which = 'lats'}", "4: extract.which: is 'lats'; write one of first, last; did"),
        ("extract = {regex = 'a', json_path = '$'}", "4: extract.json_path: is set together with regex; keep one"),
        ("extract = {form = 'number', regex = 'a'}", "4: extract.regex: is set together with form; keep one"),
        ("extract = {regex = 'a', language = 'de'}", '4: extract.language: needs form = "number"'),
        ("extract = {form = 'number', language = 'dee'}", "4: extract.language: is 'dee'; did you mean 'de'?"),
        ("extract = {form = 'number', language = 'group'}", '4: extract.language: is "group"; name the column'),
        ("extract = {form = 'boxed', which = 'first'}", '4: extract.which: is "first", but the answer'),
        ("extract = {json_path = '$['}", "4: extract.json_path: is not a JSON path: unexpected end of query"),
        ("few_shot = {file = 'no.csv'}", "4: few_shot.file: there is no file 'no.csv' in FOLDER"),
        ("few_shot = {split = 'train'}", "4: few_shot.split: needs a dataset of the hub; give examples or file"),
        ("few_shot = {examples = [{q = 1}], file = 'task.toml'}", "4: few_shot: has several sources of examples; keep"),
        ("few_shot = {examples = [{q = 1}], count = 2}", "4: few_shot.count: is 2, but 1 examples are written"),
        ("few_shot = {examples = [{q = 1}], seed = 3}", "4: few_shot.seed: needs count beside it: how many"),
    ],
)  # fmt: skip
def test_a_fault_names_line_key_and_mend(tmp_path: Path, top: str, message: str) -> None:
    (only,) = refusals(tmp_path, document(top))
    assert only.startswith(message)


@each(
    ("dataset", "messages"),
    [
        ("", ["5: dataset: has no source; give one of file, hub, generator and parts"]),
        ("file = 'task.toml'\nhub = 'x'", ["5: dataset: has file and hub; give one of file, hub, generator and parts"]),
        ("file = 'no'", ["6: dataset.file: there is no file 'no' in FOLDER; write the path relative to this file"]),
        (f"file = '{'a' * 5000}'", [
            f"6: dataset.file: there is no file '{'a' * 5000}' in FOLDER; write the path relative to this file"]),
        ("file = 'task.toml'", [
            "6: dataset.file: is 'task.toml'; the name must end in .jsonl, .json, .csv, .tsv, .txt, .parquet"]),
        ("generator = 'arithmetics'", ["6: dataset.generator: is 'arithmetics'; did you mean 'arithmetic'?"]),
        ("hub = 'x'\nwhere = '{{ a }}'\n[dataset.parameters]\na = 1\nb = 2", [
            "10: dataset.parameters.b: is unused: only dataset.where can use it"]),
        ("generator = 'arithmetic'\n[dataset.options]\nhgih = 9\nlow = '1'\ncount = 0\nseed = true\noperation = '/'", [
            "8: dataset.options.hgih: is not an option of arithmetic; did you mean 'high'?",
            "9: dataset.options.low: is '1'; give a whole number",
            "10: dataset.options.count: is 0; give 1 or more",
            "11: dataset.options.seed: is True; give a whole number",
            "12: dataset.options.operation: is '/'; give one of '+', '-', '*'"]),
    ],
)  # fmt: skip
def test_a_dataset_fault_names_line_key_and_mend(tmp_path: Path, dataset: str, messages: list[str]) -> None:
    assert refusals(tmp_path, document(dataset=dataset)) == messages


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
def test_any_file_is_a_definition_or_messages_that_start_with_its_path(
    tmp_path_factory: pytest.TempPathFactory, line: int, value: str, at: int, byte: int | None
) -> None:
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
