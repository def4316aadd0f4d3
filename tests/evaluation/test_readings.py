"""How replies are read: every right answer, whatever its shape, and every reply without one counted."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines import Reply
from accgate.engines.vllm.engine import thought_tokens
from accgate.evaluation.reading import Thoughts, read, unread_problem
from accgate.records.file import Record, paths_of, read_records
from accgate.references.store import read_reference
from tests.support.cases import each
from tests.support.gates import questions, write_task
from tests.support.loading import load_task
from tests.support.servers import Server
from tests.support.shapes import SHAPES, WRONG

N = len(SHAPES)
REGEX = r"\d+"


def numbers(prompt: str) -> tuple[int, int]:
    """Which question it is, and its answer."""
    number = int(re.findall(r"What is (\d+)", prompt)[-1])
    return number, 2 * number


def either(second: Callable[[int], bool], text: str | dict[str, Any]) -> Callable[[str], dict[str, Any]]:
    """Right answers, but to some questions this text, or choice."""
    other = plainly(text) if isinstance(text, str) else lambda _: dict(text)
    return lambda prompt: (other if second(numbers(prompt)[0]) else plainly("{a}"))(prompt)


def in_shapes(prompt: str) -> dict[str, Any]:
    number, answer = numbers(prompt)
    return {**SHAPES[number - 100].choice(answer), "usage": {"completion_tokens_details": {"reasoning_tokens": 5}}}


def plainly(text: str, **choice: Any) -> Callable[[str], dict[str, Any]]:
    """Every reply is this text, with {a} for the answer."""

    def choice_of(prompt: str) -> dict[str, Any]:
        content = text.replace("{a}", str(numbers(prompt)[1]))
        return {"finish_reason": "stop", "message": {"content": content}, **choice}

    return choice_of


def counts(replies: int, **others: int) -> dict[str, int]:
    """How so many replies were read; those that are not named are none."""
    return {"replies": replies, "unread": 0, "empty": 0, "cut": 0, "refused": 0, "full": 0, **others}


class Gate:
    """A gate of sums on a server that answers in shapes."""

    def __init__(self, folder: Path, server: Server, capsys) -> None:
        self.folder, self.server, self._capsys = folder, server, capsys
        self.write()

    def write(self, *, model: str = "m", settings: str = "", n: int = N, **keys: Any) -> None:
        write_task(self.folder, rows=questions(n, 100), **{"extract__regex": REGEX, **keys})
        (self.folder / "accuracy.toml").write_text(
            f'[gate]\nearly_stopping = false\n[models.{model}]\nengine = "openai"\nmodel = "toy"\n'
            f'options = {{ base_url = "{self.server.url}", concurrency = 1 }}\n'
            f'[tasks.sums]\nfile = "sums.toml"\n{settings}\n'
        )

    def call(self, command: str, *more: str) -> tuple[int, str]:
        out = self.folder / ("recorded" if command == "record" else "out")
        self._capsys.readouterr()
        code = main([command, str(self.folder / "accuracy.toml"), "--out", str(out), *more])
        said = self._capsys.readouterr()
        assert "Traceback" not in said.err
        return code, " ".join((said.out + said.err).split())

    def record(self, choice_of: Callable[[str], Any] = plainly("{a}"), **keys: Any) -> None:  # noqa: B008 (a pure function)
        """Record replies of this kind, to a task of these keys."""
        self.server.choice_of = choice_of
        if keys:
            self.write(**keys)
        assert self.call("record")[0] == 0

    def records(self, folder: str = "out") -> dict[int, Record]:
        """The records by their questions' numbers."""
        records = read_records(paths_of(self.folder / folder, "m", "sums").records)
        return {int(record.target) // 2: record for record in records}

    @property
    def check(self) -> dict[str, Any]:
        (check,) = json.loads((self.folder / "out" / "accgate.json").read_text())["checks"]
        return dict(check)

    @property
    def reference(self) -> Path:
        return self.folder / "references" / "m" / "sums.toml"


@pytest.fixture
def gate(tmp_path: Path, capsys) -> Iterator[Gate]:
    with Server() as server:
        yield Gate(tmp_path, server, capsys)


def test_every_right_answer_is_read_and_every_reply_without_one_is_counted(gate: Gate) -> None:
    gate.server.choice_of = in_shapes
    gate.write(settings="max_unread = 0.5")
    code, said = gate.call("record")
    assert code == 0, said
    records = gate.records("recorded")
    for number, shape in enumerate(SHAPES, 100):
        record = records[number]
        assert (shape.name, record.reading) == (shape.name, shape.reading)
        assert (shape.name, record.score) == (shape.name, 100.0 if shape.reading == "read" else 0.0)
        assert (shape.name, record.reasoning is not None) == (shape.name, shape.reasoning)
        assert str(WRONG) not in (record.answer or ""), shape.name
        assert record.reasoning_tokens == 5
    unread = sum(shape.reading != "read" for shape in SHAPES)
    empty, cut = (sum(shape.reading == kind for shape in SHAPES) for kind in ("empty", "cut"))
    assert f"{unread} of {N} replies hold no answer ({empty} empty), {cut} were cut off at max_tokens" in said
    text = gate.reference.read_text()
    assert all(f"{key} = {count}\n" in text for key, count in (("replies", N), ("unread", unread), ("cut", cut)))


def test_whole_replies_are_read_without_their_reasoning_too(gate: Gate) -> None:
    gate.record(in_shapes, settings="max_unread = 0.9", extract__regex=r"(?s)\A\s*(\d+)\s*\Z")
    bare = {shape.name for number, shape in enumerate(SHAPES, 100) if gate.records("recorded")[number].score == 100.0}
    assert {"think", "opened in the prompt", "gpt-oss", "Cohere", "ERNIE", "reasoning"} <= bare
    gate.write(settings="max_unread = 0.5", metric="exact_match", extract__which="last", extract__regex=r"(?s)(.+)")
    assert gate.call("record", "--reason", "whole")[0] == 0
    assert gate.records("recorded")[100].answer == "200"


def test_a_task_may_keep_the_reasoning(gate: Gate) -> None:
    gate.record(in_shapes, settings='max_unread = 0.5\nreasoning = "keep"')
    records = gate.records("recorded")
    cut = next(number for number, shape in enumerate(SHAPES, 100) if shape.name == "cut in the thought")
    assert records[cut].answer == str(WRONG)
    assert records[100].reply is not None
    assert records[100].reply.startswith("<think>")


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (plainly("no" + " x" * 100 + " THE END"), "THE END"),
        (plainly("", finish_reason="length"), "raise max_tokens"),
        (plainly("", finish_reason="model_length"), "shorten the prompts"),
        (plainly("I can't.", finish_reason="content_filter"), "look at what the model refuses"),
        (plainly("", message={"content": None, "reasoning_content": "so 7"}), "after reasoning that ends"),
    ],
    ids=["an extraction that never matches", "cut", "the context is full", "filtered", "null"],
)
def test_no_reference_is_written_of_replies_that_were_not_read(
    gate: Gate, choice: Callable[[str], Any], words: str
) -> None:
    gate.server.choice_of = choice
    for settings in ("", "max_unread = 1.0"):
        gate.write(extract__regex=r"#### (\d+)", settings=settings)
        code, said = gate.call("record")
        assert code == 3
        assert words in said
        assert said.count("sample ") >= 3
        assert "hold no answer" in said
        assert not gate.reference.exists()


def test_too_many_unread_replies_are_an_error_whatever_the_scores(gate: Gate) -> None:
    gate.record()
    gate.server.choice_of = either(lambda i: i % 4 == 0, "<b>no</b> | @team")
    code, said = gate.call("run")
    assert code == 3
    check = gate.check
    assert check["verdict"] == "error"
    assert check["candidate"]["readings"]["unread"] == N // 5 + 1  # there the run ends: it is lost
    assert "more than max_unread = 0.2 allows" in said
    report = (gate.folder / "out" / "report.md").read_text()
    assert "<b>no</b>" not in report
    assert "@team" not in report
    gate.write(settings="max_unread = 0.5")
    code, said = gate.call("run", "--resume")
    assert code == 1
    check = gate.check
    assert check["lost"] == check["lost_unread"] == 11
    assert check["candidate"]["readings"] == counts(N, unread=11)
    assert check["reference"]["readings"] == counts(N)
    assert "11 answers lost: 11 could no longer be read" in said
    assert f"11 of {N} replies hold no answer; in the reference all were read whole" in said
    assert main(["report", str(gate.folder / "out" / "accgate.json"), "--check", "sums"]) == 0
    assert main(["report", str(gate.folder / "out" / "accgate.json"), "--html", str(gate.folder / "r.html")]) == 0
    assert "11 could no longer be read" in (gate.folder / "r.html").read_text()


EMPTY, CUT_OFF, REFUSAL = ({"finish_reason": end, "message": {"content": ""}} for end in ("stop", "length", "refusal"))
NO_MATCH = {"finish_reason": "stop", "message": {"content": "none"}}


@pytest.mark.parametrize(
    ("silence", "share", "verdict", "words"),
    [
        (EMPTY, 1.0, "regression", "24 of 24 replies hold no answer (24 empty), where the reference's"),
        (EMPTY, 0.5, "regression", "(12 empty), where the reference's replies were read: see why"),
        (CUT_OFF, 1.0, "regression", "where the reference's replies were read: raise max_tokens"),
        (REFUSAL, 1.0, "regression", "where the reference's replies were read: look at what the model refuses"),
        (NO_MATCH, 1.0, "error", "more than max_unread = 0.2 allows: correct [extract] of the task"),
    ],
)  # fmt: skip
def test_a_model_that_says_nothing_is_a_regression_with_this_cause(
    gate: Gate, silence: dict[str, Any], share: float, verdict: str, words: str
) -> None:
    gate.record(n=24)
    heard = 24 * (1.0 - share)
    gate.server.choice_of = either(lambda i: i - 100 >= heard, silence)
    code, said = gate.call("run")
    assert (code, gate.check["verdict"]) == ({"regression": 1, "error": 3}[verdict], verdict)
    assert words in said
    assert gate.check["causes"][0]["kind"] == ("unread" if verdict == "regression" else "not-evaluated")
    assert words in gate.check["reasons"][0]
    out = gate.folder / "out"
    assert main(["report", str(out / "accgate.json"), "--html", str(out / "r.html")]) == 0
    for page in ("report.md", "r.html"):
        told = html.unescape((out / page).read_text()).replace("\\", "").replace("\u2019", "'")
        assert words.partition(": ")[0] in told, page


@pytest.mark.parametrize("recorded", ["plain", "silent"])
def test_silence_that_the_reference_shares_or_that_costs_nothing_never_passes(gate: Gate, recorded: str) -> None:
    """Replies that are empty where the reference was wrong lose no point: too many of them are an error."""
    gate.write(n=24, settings="max_unread = 0.3")
    silent = range(100, 107 if recorded == "silent" else 100)
    gate.server.choice_of = lambda prompt: (
        dict(EMPTY) if numbers(prompt)[0] in silent else plainly("{a}" if numbers(prompt)[0] < 110 else "1")(prompt)
    )
    assert gate.call("record")[0] == 0
    gate.server.choice_of = either(lambda i: i >= 110, EMPTY)
    code, said = gate.call("run")
    assert (code, gate.check["verdict"]) == (3, "error")
    assert "see why the model says nothing" in said


def stops_early(gate: Gate, n: int) -> Path:
    """Let runs stop early, and record a reference; the configuration."""
    gate.write(n=n)
    config = gate.folder / "accuracy.toml"
    config.write_text(config.read_text().replace("early_stopping = false", "") + f"theta = 10\nnum_samples = {n}\n")
    gate.record()
    return config


def test_an_early_stop_ends_a_run_of_silence_as_a_regression(gate: Gate) -> None:
    config = stops_early(gate, 150)
    gate.server.choice_of = lambda _: dict(EMPTY)
    assert gate.call("run")[0] == 1
    assert gate.check["n"] < 150 // 4
    assert main(["verify", str(gate.folder / "out"), "--config", str(config)]) == 1  # as the run: they agree


def test_a_reference_of_an_earlier_version_that_was_never_read_does_not_pass(gate: Gate) -> None:
    gate.server.choice_of = plainly("1")
    gate.write(n=60)
    assert gate.call("record", "--accept-low")[0] == 0
    lines = gate.reference.read_text().splitlines()
    old = [line for line in lines if line.split(" =")[0] not in counts(0)]
    gate.reference.write_text("\n".join(old) + "\n")
    assert len(old) == len(lines) - 6
    for text in ("1", "{a}"):
        gate.server.choice_of = plainly(text)
        code, said = gate.call("run")
        assert (gate.check["verdict"], code) == ("inconclusive", 4)
        assert gate.check["reference"]["readings"] is None
    assert "record it again" in said


def test_what_was_read_before_it_showed_that_the_prompt_opens_thoughts_is_read_again(gate: Gate) -> None:
    thought = {"finish_reason": "length", "message": {"content": "so 1, then 2"}}
    seen: list[str] = []

    def choice_of(prompt: str) -> dict[str, Any]:
        seen.append(prompt)
        return dict(thought) if len(seen) <= 5 else plainly("so 7\n</think>\n\n{a}")(prompt)

    gate.record(choice_of)
    records = list(gate.records("recorded").values())
    assert sum(record.reading == "cut" for record in records) == 5
    assert {record.score for record in records if record.reading == "cut"} == {0.0}
    assert all(record.reasoning for record in records)


def test_what_the_model_or_a_filter_refused_is_counted_and_shown_on_both_sides(gate: Gate) -> None:
    ends = {0: "content_filter", 1: "SAFETY", 2: "model_context_window_exceeded"}

    def ending(first: int) -> Callable[[str], dict[str, Any]]:
        return lambda prompt: plainly("{a}", finish_reason=ends.get(numbers(prompt)[0] - first, "eos"))(prompt)

    gate.record(ending(101), n=60)
    assert "refused = 2\n" in gate.reference.read_text()
    kept = read_reference(gate.reference).kept_records()
    assert sorted(one.finish_reason for one in kept if one.finish_reason) == sorted(map(str.lower, ends.values()))
    gate.server.choice_of = ending(99)
    assert gate.call("run")[0] == 0
    assert gate.check["candidate"]["readings"] == counts(60, cut=1, refused=1, full=1)
    report = (gate.folder / "out" / "report.md").read_text()
    cut = "was cut off before max_tokens, at the server's own limit"
    assert f"{cut}, 1 was refused or stopped by a filter; in the reference 1 of 60 replies {cut}" in report
    assert f"{cut}, 2 were refused or stopped by a filter" in report


def test_a_recording_says_how_its_replies_were_read(gate: Gate, tmp_path: Path) -> None:
    gate.record(n=60)
    path = paths_of(tmp_path / "recorded", "m", "sums").records
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row in rows[:30]:
        row |= {"reading": "unread", "score": 0.0, "reply": "no"}
    (tmp_path / "elsewhere.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "accuracy.toml").write_text(
        '[models.m]\nengine = "recorded"\nmodel = "elsewhere.jsonl"\n[tasks.sums]\nfile = "sums.toml"\n'
    )
    code, said = gate.call("run")
    assert code == 3
    assert "replies hold no answer, more than max_unread = 0.2 allows" in said


def test_replies_to_attacked_prompts_are_counted_and_limited_apart(gate: Gate) -> None:
    attack = [{"kind": "distractor", "text": "Birds sing."}]
    unread: list[int] = []  # the attacked questions that get no answer
    ends = {100: "content_filter", 101: "model_length", 102: "length"}  # of attacked questions

    def choice_of(prompt: str) -> dict[str, Any]:
        number, is_attacked = numbers(prompt)[0], "Birds sing." in prompt
        if is_attacked and number in ends:
            return plainly("no", finish_reason=ends[number])(prompt)
        return plainly("none" if is_attacked and number in unread else "{a}")(prompt)

    gate.server.choice_of = choice_of
    gate.write(attack=attack, aggregate="attack_success_rate")
    code, said = gate.call("record", "--json", "--quiet")
    assert code == 0, said
    printed = json.loads(said)
    counted = counts(2 * N, unread=3, cut=2, refused=1, full=1)
    assert list(printed["readings"].items()) == [(printed["references"][0], counted)]
    attacked = [gate.records("recorded")[number].attacked_reading for number in range(100, 104)]
    assert attacked == [["refused"], ["full"], ["cut"], ["read"]]
    ends.clear()
    unread.extend(range(100, 100 + N, 10))  # few enough: they count as wrong
    gate.call("run")
    assert gate.check["candidate"]["readings"] == counts(2 * N, unread=len(unread))
    assert f"{len(unread)} of {2 * N} replies hold no answer" in (gate.folder / "out" / "report.md").read_text()
    unread.extend(range(101, 100 + N, 4))  # more than 0.2 of the attacked, and fewer of all replies
    assert 0.2 < len(unread) / N < 0.4
    code, said = gate.call("run")
    assert (code, gate.check["verdict"]) == (3, "error")
    assert "replies to attacked prompts hold no answer, more than max_unread = 0.2 allows: correct [extract]" in said
    assert "attacked samples whose replies hold no answer: " in said
    gate.write(attack=attack, aggregate="attack_success_rate", settings="max_unread = 1.0")
    unread.extend(range(100, 100 + N))
    code, said = gate.call("record", "--reason", "again")
    assert code == 3
    assert f"{N} of {N} replies to attacked prompts hold no answer, that is all of them" in said


@each(
    ("kinds", "fix"),
    [
        (("refused", "refused"), "look at what the model refuses"),
        (("cut", "cut"), "raise max_tokens"),
        (("full", "full"), "shorten the prompts"),
        (("unread", "unread"), "correct [extract] of the task, or the text that [[attack]] changes"),
        (("cut", "refused"), "correct [extract] of the task, or the text"),
    ],
)
def test_the_fix_for_attacked_replies_is_that_of_their_one_cause(kinds: tuple[str, ...], fix: str) -> None:
    records = [
        Record(str(i), 0, 100.0, "1", "1", "1", "stop", 1, 1, 0.0, None, None, reading="read", attacked_reading=[kind])
        for i, kind in enumerate(kinds)
    ]
    problem = unread_problem(records, 0.2)
    assert problem is not None
    assert problem[0].startswith("2 of 2 replies to attacked prompts hold no answer")
    assert f": {fix}" in problem[0]


def test_a_run_does_not_end_early_on_a_beginning_that_holds_too_few_answers(gate: Gate) -> None:
    stops_early(gate, 150)
    samples = load_task("sums", file=gate.folder / "sums.toml").samples
    first = {int(sample.target) // 2 for sample in samples[:20]}
    gate.server.choice_of = either(lambda i: i in first, "no")
    assert gate.call("run")[0] == 1
    check = gate.check
    assert (check["verdict"], check["lost_unread"]) == ("regression", check["lost"])
    assert check["candidate"]["readings"]["replies"] >= 5 * len(first)


@each(
    ("text", "reasoning", "whole", "answer"),
    [
        ("\n\nB", "so B", "B", "B"),
        (" \n\n  B", "so B", "  B", None),
        ("\n\nB", None, "\n\nB", None),
        ("<think>so</think>\n\nB", None, "B", "B"),
    ],
)
def test_blank_lines_behind_a_thought_are_no_part_of_the_answer(
    text: str, reasoning: str | None, whole: str, answer: str | None, tmp_path: Path
) -> None:
    write_task(tmp_path, rows=questions(1, 100), extract__regex=r"\A([A-D])")
    task = load_task("sums", file=tmp_path / "sums.toml")
    reading = read(task, Reply(text, reasoning=reasoning), Thoughts(), task.samples[0], recorded=False)
    assert (reading.text, reading.answer) == (whole, answer)


def test_in_process_tokens_of_the_reasoning_are_counted_apart() -> None:
    class Words:
        def encode(self, text: str, *, add_special_tokens: bool) -> list[str]:
            assert not add_special_tokens
            return text.split()

    assert thought_tokens(Words(), "<think>\none two three</think>four") == 3
    assert thought_tokens(Words(), "four") is None
