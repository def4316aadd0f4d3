"""Text that a pull request brings cannot take for ever, fill the memory, or show as other text."""

import gzip
import itertools
import json
import os
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.engines.openai import client
from accgate.errors import BadInput
from accgate.github import outcome, proposal
from accgate.github.api import transport
from accgate.inputs import parquet as datasets
from accgate.inputs import rows, toml
from accgate.interop import inspect_file, lm_eval, trtllm
from accgate.records import file as records
from accgate.references import store
from accgate.report import result_file, sandbox
from accgate.tasks import extract, sample, templates
from accgate.text import MESSAGE
from tests.interop.inspect_logs import archive
from tests.support.cases import each
from tests.support.gates import Project, right_but, said, write_lines, write_task
from tests.support.servers import Server


@each("prompt", ["{{ q }}{{ 7 ** 9999999 }}", "{{ 10000000000 * ['a'] }}", "{{ '%*d' % (1000000000, 1) }}"])
def test_a_prompt_that_computes_without_end_is_refused_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], prompt: str
) -> None:
    project = Project(tmp_path)
    write_task(tmp_path, prompt=prompt)
    assert main(["plan", str(project.config)]) == 2
    assert "is too large" in said(capsys)


def test_a_junit_report_holds_no_character_that_turns_the_direction_of_others(tmp_path: Path) -> None:
    project = Project(tmp_path)
    assert project.record(right_but(0)) == 0
    assert project.run(right_but(0)) == 0
    result, junit = project.out / "accgate.json", tmp_path / "junit.xml"
    result.write_text(result.read_text().replace('"sums"', '"su\\u202ems"'))
    assert main(["report", str(result), "--junit", str(junit)]) == 0
    text = junit.read_text(encoding="utf-8")
    assert "su\N{REPLACEMENT CHARACTER}ms" in text
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in text


def deep(unit: str, end: str = "") -> str:
    return unit * 200_000 + end


BRACKETS = (
    deep("["), deep("[1,"), deep('{"a":'), deep('["'), deep("[", '"'), "[" * 900 + deep("0,"), "[" + deep("{},"),
)  # fmt: skip


@each("reply", BRACKETS)
def test_brackets_without_end_are_no_json_and_are_not_read_once_for_each(reply: str) -> None:
    """A thousand unclosed brackets before a megabyte read it a thousand times."""
    attempts: list[int] = []

    class Decoder(json.JSONDecoder):
        def raw_decode(self, s: str, idx: int = 0) -> tuple[object, int]:
            attempts.append(idx)
            return super().raw_decode(s, idx)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json, "JSONDecoder", Decoder)
        extract.json_in(reply)
    assert sum(attempts) <= 1_100 * len(reply) + 20_000_000  # of 40 billion


def test_an_expression_that_backtracks_ends_the_run_with_its_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(extract, "SECONDS", 0.2)
    project = Project(tmp_path, n=3)
    write_task(tmp_path, rows=[{"q": "?", "a": i} for i in range(3)], extract__regex="(a+)+$")
    write_lines(project.scores, [{"id": id_, "reply": "a" * 60 + "!"} for id_ in project.ids()])
    assert main(["record", str(project.config), "--out", str(project.out), "--quiet"]) == 2
    assert "regex '(a+)+$': takes more than 0.2 s" in said(capsys)


def test_an_answer_of_a_server_past_any_reply_is_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert client.LARGEST <= 2**26
    monkeypatch.setattr(client, "LARGEST", 10_000)
    project = Project(tmp_path, n=3)
    with Server(lambda _: "a" * 20_000) as server:
        project.models = {"m": {"engine": "openai", "model": "toy", "options": {"base_url": server.url}}}
        project.write()
        assert main(["record", str(project.config), "--out", str(project.out), "--quiet"]) == 3
    assert "an answer has 10,000 bytes or more" in said(capsys)


@each("method", [8, 93])
def test_a_log_that_unpacks_to_more_than_it_may_is_refused_before_it_is_unpacked(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], method: int
) -> None:
    """389 kB unpacked to 1.25 GB; what lies about its size is damaged, and not unpacked either."""
    assert (inspect_file.LARGEST, inspect_file.FREE, inspect_file.RATIO) == (2_000_000_000, 100_000_000, 200)
    bomb = archive([("header.json", b"{}"), ("samples/1.json", b" " * (inspect_file.FREE + 1))], method)
    assert inspect_file.RATIO * len(bomb) < inspect_file.FREE
    path = tmp_path / f"{method}.eval"
    path.write_bytes(bomb)
    assert main(["import", "inspect", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "unpacks to 100,000,003 bytes, more than 100,000,000" in said(capsys)
    path.write_bytes(bomb.replace((inspect_file.FREE + 1).to_bytes(4, "little"), (9).to_bytes(4, "little")))
    assert main(["import", "inspect", str(path), "--out", str(tmp_path / "out")]) == 2
    assert "samples/1.json is damaged" in said(capsys)


def test_compressed_replies_that_swell_are_refused_as_they_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (records.UNPACKED, records.LINE) == (2_000_000_000, 64_000_000)
    row = b'{"id": "a", "repeat": 0, "reply": "x"}\n'
    path = tmp_path / "sums.replies.jsonl.gz"
    path.write_bytes(gzip.compress(row * 100 + b"[" * 5000))
    monkeypatch.setattr(records, "LINE", 1000)
    lines = records.read_gzip_lines(path, "reply")
    assert len(list(itertools.islice(lines, 100))) == 100
    with pytest.raises(BadInput, match="or 1,000 in a line"):
        next(lines)
    with pytest.raises(BadInput, match="unpacks to more than 2,000 bytes"):
        list(records.read_gzip_lines(path, "reply", 2000))


def test_lines_and_tables_past_any_use_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """300 MB in one text: no reader holds it, whatever the file is."""
    assert toml.LIMIT <= 1_000_000
    assert max(rows.ROW, rows.TABLE, records.LINE) <= 2_000_000_000
    monkeypatch.setattr(rows, "ROW", 1000)
    monkeypatch.setattr(rows, "TABLE", 1000)
    monkeypatch.setattr(records, "LINE", 1000)
    for name in ("a.csv", "a.jsonl", "b.jsonl"):
        (tmp_path / name).write_bytes(b'{"id": "' + b"a" * 1000)
    with pytest.raises(BadInput, match="more than 1,000"):
        list(rows.read_table(tmp_path / "a.csv"))
    with pytest.raises(BadInput, match="a line of 1,000 bytes or more"):
        list(rows.read_table(tmp_path / "a.jsonl"))
    with pytest.raises(BadInput, match="a line of 1,000 bytes or more"):
        records.read_records(tmp_path / "b.jsonl")
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(BadInput, match="pipe or device"):
        records.read_records(tmp_path / "pipe.jsonl")


def test_yaml_whose_aliases_stand_for_gigabytes_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    laughs = "".join(f"a{i + 1}: &a{i + 1} [{', '.join([f'*a{i}'] * 9)}]\n" for i in range(9))
    path = tmp_path / "gsm8k.yaml"
    path.write_text("a0: &a0 [accuracy]\n" + laughs)
    assert main(["import", "trtllm", str(path), "--references", str(tmp_path / "references")]) == 2
    assert "holds an alias" in said(capsys)


def test_the_table_of_limits_is_what_the_code_has() -> None:
    page = (Path(__file__).parent.parent.parent / "docs/security.md").read_text(encoding="utf-8")
    lines = [line.split("|")[1:4] for line in page.split("## Generated code")[0].splitlines() if line.startswith("| ")]
    table = {what.strip(): most for what, most, _ in lines}
    limits = {
        "accuracy.toml": [toml.LIMIT, toml.DEPTH], "a dataset": [datasets.MOST, rows.TABLE, rows.ROW],
        "a picture": [sample.MOST_OF_PICTURE],
        "scores of a ref": [store.MOST], "run records": [records.LINE, records.SETTINGS_BYTES],
        "compressed": [records.UNPACKED, records.LINE],
        "references from": [
            proposal.MOST_FILES, proposal.FILE_LIMIT, proposal.TOTAL_LIMIT, proposal.UNPACKED_LIMIT,
        ],
        "accgate.json": [result_file.LARGEST, outcome.UNTRUSTED_BYTES],
        "a log of Inspect": [inspect_file.LARGEST, inspect_file.FREE, inspect_file.RATIO],
        "results of lm-eval": [lm_eval.RESULTS], "a reference file": [trtllm.LARGEST, trtllm.DEPTH],
        "an answer of a model": [client.LARGEST],
        "an answer of GitHub": [transport.MOST_BYTES, int(transport.ANSWER_SECONDS)],
        "a regular": [int(extract.SECONDS)], "a prompt": [templates.BITS, templates.LENGTH],
        "the comment": [sandbox.LONGEST, sandbox.SECONDS], "a line of": [MESSAGE],
    }  # fmt: skip
    for what, numbers in limits.items():
        (most,) = (most for name, most in table.items() if name.startswith(what))
        assert all(f"{number:,} " in f"{most} " for number in numbers), (what, numbers)
