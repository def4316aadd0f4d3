"""Kept replies are read anew without a model: of a run into one beside it, of a reference in its place."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.guard.reference_rules import ReferencePair
from accgate.records.file import paths_of, read_records
from accgate.references.store import read_reference
from tests.evaluation.serving import configure, served_by
from tests.support.gates import Project, contents, questions, refused, said, write_task
from tests.support.servers import Server

N = 60
OLD, NEW = r"equals (-?\d+)", r"(?:equals|makes) (-?\d+)"


def reply(prompt: str, every: int = 3) -> str:
    """A right answer to a sum, which every third time has a wording that the first reader does not know."""
    i = int(prompt.split()[2])
    return f"That {'makes' if i % every == 0 else 'equals'} {2 * i}."


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer=reply) as made:
        yield made


class Gate:
    """A gate over sums that a server answers; `reads` writes the task's regular expression."""

    def __init__(self, folder: Path, server: Server, *, gate: dict[str, Any] | None = None, **keys: Any) -> None:
        self.folder, self.server, self.out = folder, server, folder / "out"
        self.config, self.reference = folder / "accuracy.toml", folder / "references" / "m" / "sums.toml"
        task = {"file": "sums.toml", "max_unread": 0.5, **keys.pop("task", {})}
        tables = {"gate": {"early_stopping": False, **(gate or {})}, "models.m": served_by(server.url)}
        configure(folder, {**tables, **keys.pop("tables", {}), "tasks.sums": task})
        self.keys = keys
        self.reads(OLD)

    def reads(self, regex: str, **keys: Any) -> None:
        write_task(self.folder, "sums", questions(N), **{"extract.regex": regex, **self.keys, **keys})

    def __call__(self, command: str, *args: str) -> int:
        return main([command, *args, "--quiet"])

    def record(self, *args: str) -> int:
        return self("record", str(self.config), "--out", str(self.folder / "record"), *args)

    def run(self, *args: str, out: str = "out") -> int:
        return self("run", str(self.config), "--out", str(self.folder / out), *args)

    def reread(self, *args: str) -> int:
        """Read the references and the run anew; the exit code of the run's verdict. The server must not be asked."""
        asked = len(self.server.seen)
        assert main(["record", str(self.config), "--reread"]) == 0
        code = self.rerun(*args)
        assert len(self.server.seen) == asked
        return code

    def rerun(self, *args: str) -> int:
        """Read the run anew."""
        return self("rerun", str(self.out), "--reread", "--config", str(self.config), *args)

    def scores(self, run: str = "out/reread") -> list[float | None]:
        return [record.score for record in read_records(paths_of(self.folder / run, "m", "sums").records)]

    @property
    def check(self) -> dict[str, Any]:
        (check,) = json.loads((self.out / "reread" / "accgate.json").read_text())["checks"]
        return check


def test_a_newer_reader_reads_reference_and_run_alike_and_the_old_ones_stay(
    tmp_path: Path, server: Server, capsys
) -> None:
    gate = Gate(tmp_path, server)
    assert (gate.record(), gate.run()) == (0, 0)
    run, recorded = contents(gate.out), contents(gate.reference.parent)
    assert gate.reread() == 0
    assert capsys.readouterr().out.count("0 of 60 readings changed.") == 2
    assert (contents(gate.reference.parent), gate.scores()) == (recorded, gate.scores("out"))
    old = shutil.copytree(gate.reference.parent, tmp_path / "old") / gate.reference.name
    gate.reads(NEW)
    capsys.readouterr()
    assert "accgate record --reread" in refused(capsys, gate.run(out="other"))
    assert main(["record", str(gate.config), "--reread"]) == 0
    text = capsys.readouterr().out
    assert main(["verify", str(gate.out), "--config", str(gate.config)]) == 2
    assert "`accgate rerun RUN --reread`" in said(capsys)
    assert gate.reread() == 0
    text += capsys.readouterr().out
    assert text.count("20 of 60 readings changed: 20") == 2
    assert "m / sums: 0 of 60 readings changed." in text
    assert "20 answers are found now that were not; mean 66.67 to 100.00." in text
    assert re.search(r"That makes \d+\. +no answer +\d+ +0.00 → 100.00", text)
    assert (gate.check["reference"]["mean"], gate.check["candidate"]["mean"], gate.check["n"]) == (100.0, 100.0, N)
    assert {path: content for path, content in contents(gate.out).items() if path.parts[0] != "reread"} == run
    pair = ReferencePair(read_reference(old), read_reference(gate.reference), higher_is_better=True)
    assert pair.effect == "loosening"
    assert "target or extraction and the metric changed" in pair.changes
    about = gate.reference.read_text()
    assert "20 of 60 replies scored otherwise by" in about
    assert "[replaced]\nmean = 66.6" in about
    assert re.search(r"unread = (\d+)", about)[1] == "0"
    assert main(["verify", str(gate.out / "reread"), "--config", str(gate.config)]) == 0
    assert gate.run("--resume", out="out/reread") == 0  # nothing is left to ask
    assert gate.run(out="other") == 0


def test_runs_of_several_answers_and_merged_shards_are_read_anew(tmp_path: Path, server: Server, capsys) -> None:
    gate = Gate(tmp_path, server, task={"repeats": 2})
    assert gate.record("--runs", "2") == 0
    parts = [str(tmp_path / part) for part in "ab"]
    assert [gate.run("--shard", f"{i}/2", out=part) for i, part in ((1, "a"), (2, "b"))] == [0, 0]
    assert main(["merge", *parts, "--config", str(gate.config), "--out", str(gate.out)]) == 0
    gate.reads(NEW)
    digests = re.findall(r"runs_sha256 = \[[^]]*\]", gate.reference.read_text())
    capsys.readouterr()
    assert main(["record", str(gate.config), "--reread", "--json", "--models", "m"]) == 0
    (told,) = json.loads(capsys.readouterr().out)
    assert (told["replies"], len(told["changed"]), told["means"][1]) == (4 * N, 80, 100.0)
    assert [each["score"] for each in told["changed"][0]] == [0.0, 100.0]
    assert gate.reread("--json") == 0
    readings = json.loads(capsys.readouterr().out.partition("changed.\n")[2].strip())["readings"]
    assert [len(each["changed"]) for each in readings] == [40]
    assert set(gate.scores()) == {100.0}
    assert len(gate.scores()) == 2 * N
    assert re.findall(r"runs_sha256 = \[[^]]*\]", gate.reference.read_text()) == digests
    result = json.loads((gate.out / "reread" / "accgate.json").read_text())
    assert (result["shards"], result["checks"][0]["reference"]["mean"]) == (2, 100.0)


def test_an_early_stop_holds_only_where_the_new_readings_decide_too(tmp_path: Path, server: Server, capsys) -> None:
    gate = Gate(tmp_path, server, gate={"early_stopping": True}, task={"theta": 30.0, "num_samples": N})
    gate.reads(NEW)
    server.answer = lambda prompt: reply(prompt).replace("makes", "equals")
    assert gate.record() == 0
    server.answer = lambda prompt: (
        f"It {'equals' if int(prompt.split()[2]) % 4 else 'makes'} {2 * int(prompt.split()[2])}"
    )
    assert gate.run() == 0
    count = len(gate.scores("out"))
    assert count < N
    gate.reads(NEW + "(?!x)")
    assert gate.reread() == 0
    assert (len(gate.scores()), gate.check["n"] <= count) == (count, True)
    gate.reads(OLD)
    assert gate.reread() == 3
    assert "do not end the check early" in " ".join(capsys.readouterr().out.split())
    assert gate.scores().count(0.0) > 0
    assert gate.run("--resume", out="out/reread") in (0, 1)
    assert len(gate.scores()) > count


def test_what_needs_more_than_the_reply_is_left_to_a_resumed_run(tmp_path: Path, server: Server, capsys) -> None:
    with Server(answer=lambda prompt: str(3 + len(prompt) % 2)) as marks:
        tables = {"judges.j": served_by(marks.url)}
        judged = {"metric": "judge", "judge": {"rubric": "Mark {{ reply }} from 1 to 5"}}
        gate = Gate(tmp_path, server, tables=tables, task={"judge": "j", "target": 10.0}, **judged)
        assert gate.run() == 0
        asked = len(marks.seen)
        gate.reads(r"equals (-?\d+)(?!\d)")
        assert gate.rerun() == 0
        assert gate.scores() == gate.scores("out")
        gate.reads(NEW)
        assert gate.rerun() == 3
        assert "with another answer, which the judge has not marked" in capsys.readouterr().out
        assert len(marks.seen) == asked
        assert gate.run("--resume", out="out/reread") == 0


@pytest.mark.parametrize(("keys", "words"), [
    ({"max_tokens": 99}, "stop strings or max_tokens changed; the model has to be asked again"),
    ({"system": "Be short."}, "the prompt and target or extraction and the metric changed; the model has"),
    ({"target": "{{ a }}.0"}, "is not among those asked now; the model has to be asked again"),
])  # fmt: skip
def test_a_reference_of_another_prompt_cannot_be_read_anew(
    tmp_path: Path, server: Server, keys: dict[str, Any], words: str, capsys
) -> None:
    gate = Gate(tmp_path, server)
    assert gate.record() == 0
    before = contents(gate.reference.parent)
    gate.reads(NEW, **keys)
    assert main(["record", str(gate.config), "--reread"]) == 2
    assert words in " ".join(capsys.readouterr().out.split())
    assert contents(gate.reference.parent) == before


def test_a_run_without_a_reply_is_left_to_a_resumed_run(tmp_path: Path, server: Server, capsys) -> None:
    gate = Gate(tmp_path, server, task={"target": 10.0})
    assert gate.run() == 0
    path = paths_of(gate.out, "m", "sums").records
    path.write_text(re.sub(r'"reply":"[^"]*"', '"reply":null', path.read_text(), count=1))
    gate.reads(NEW)
    assert gate.rerun() == 3
    assert re.search(r"not read anew: sample \w+ has no kept reply", capsys.readouterr().out)


def test_a_check_that_cannot_be_read_anew_and_is_scored_as_before_stays_as_it_is(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=N).recorded([100.0] * N)
    assert project.run() == 0
    capsys.readouterr()
    assert main(["record", str(project.config), "--reread"]) == 0
    assert main(["rerun", str(project.out), "--reread", "--config", str(project.config), "--quiet"]) == 0
    assert capsys.readouterr().out.count("not read anew: its answers come from a recording") == 2
    old, new = (paths_of(out, "m", "sums").records.read_bytes() for out in (project.out, project.out / "reread"))
    assert old == new


def test_a_reference_without_replies_says_so(tmp_path: Path, server: Server, capsys) -> None:
    gate = Gate(tmp_path, server)
    assert gate.record("--no-replies") == 0
    gate.reads(NEW)
    assert main(["record", str(gate.config), "--reread"]) == 2
    assert "has no kept reply; the model has to be asked again" in " ".join(capsys.readouterr().out.split())
    assert "--reread" not in refused(capsys, gate.run())


def test_an_empty_reply_of_a_reference_keeps_its_score(tmp_path: Path, server: Server) -> None:
    server.answer = lambda prompt: "equals 4" if int(prompt.split()[2]) % 2 else "<think>Hm"
    gate = Gate(tmp_path, server, metric="rouge_1")
    assert gate.record("--accept-low") == 0
    before = read_reference(gate.reference).about
    gate.reads(NEW)
    assert main(["record", str(gate.config), "--reread"]) == 0
    after = read_reference(gate.reference).about
    assert (
        (after.mean, after.unread, after.replies) == (before.mean, before.unread, before.replies) == (after.mean, 30, N)
    )


def test_code_runs_again_in_the_sandbox(tmp_path: Path, server: Server) -> None:
    server.answer = lambda prompt: f"```py\nanswer = {2 * int(prompt.split()[2])}\n```"
    code = {"target": "<<answer>>\nassert answer == {{ a }}\n", "metric": "code_tests"}
    gate = Gate(tmp_path, server, task={"run_code": True, "limit": 2, "max_unread": 1.0, "target": 1.0}, **code)
    gate.reads(r"(?s)```(?:py|python)\n(answer = 1\d*0)?.*```")
    gate.run()
    gate.reads(r"(?s)```(?:py|python)\n(.*)```")
    gate.rerun()
    assert set(gate.scores()) == {100.0}


def test_a_stated_confidence_is_read_anew_too(tmp_path: Path, server: Server, capsys) -> None:
    server.answer = lambda prompt: reply(prompt) + " Sure: {0}%. Confidence: 9{0}%".format(int(prompt.split()[2]) % 2)
    first = {"confidence": {"by": "reply", "regex": r"Sure: (\d+%)"}, "aggregate": "ece"}
    gate = Gate(tmp_path, server, **first)
    gate.reads(NEW)
    assert gate.record() == 0
    gate.keys["confidence"] = {"by": "reply"}
    gate.reads(NEW)
    assert main(["record", str(gate.config), "--reread"]) == 0
    assert "60 of 60 readings changed" in capsys.readouterr().out
    assert {record.confidence for record in read_reference(gate.reference).records()} == {0.9, 0.91}


@pytest.mark.parametrize(("regex", "words"), [
    (r"Surely: (\d+%)", "the reference stays as it was"),  # none is found: the samples would fail
    (r"Always: (\d+%)", "confidences are 0.5"),
])  # fmt: skip
def test_a_reference_that_shows_nothing_once_it_is_read_anew_stays(
    tmp_path: Path, server: Server, regex: str, words: str, capsys
) -> None:
    server.answer = lambda prompt: reply(prompt) + f" Sure: 3{int(prompt.split()[2]) % 2}%. Always: 50%"
    gate = Gate(tmp_path, server, confidence={"by": "reply", "regex": r"Sure: (\d+%)"}, aggregate="ece")
    gate.reads(NEW)
    assert gate.record() == 0
    before = contents(gate.reference.parent)
    gate.keys["confidence"] = {"by": "reply", "regex": regex}
    gate.reads(NEW)
    assert main(["record", str(gate.config), "--reread"]) == 2
    told = " ".join(capsys.readouterr().out.split())
    assert words in told
    assert "the reference stays as it was" in told
    assert contents(gate.reference.parent) == before


@pytest.mark.parametrize(("args", "words"), [
    (["record", "--reread", "--add"], "--reread asks no model"),
    (["record", "--reread", "--shard", "1/2"], "--reread asks no model"),
    (["rerun", "out", "--reread", "--task", "sums"], "--reread decides a whole run"),
    (["rerun", "out", "--flips", "--html"], "are for --reread"),
])  # fmt: skip
def test_options_that_mean_nothing_with_it_are_refused(args: list[str], words: str, capsys) -> None:
    assert words in refused(capsys, main(args))
