"""Evidence that is the same for every sample is no evidence, whatever its value."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from accgate.evaluation.sameness import FEWEST, sameness_fault, sameness_note
from accgate.records.file import Record
from tests.evaluation.serving import configure, served_by
from tests.support.cases import each
from tests.support.gates import said, write_task
from tests.support.loading import load_task
from tests.support.servers import Server

N = 2 * FEWEST
ROWS = [{"q": f"What is {i} + 1?", "a": str(i % 2), "g": "ab"[i % 4 // 2], "hard": f"{i} and one?"} for i in range(N)]
JUDGED = {"metric": "judge", "judge__rubric": "Right? {{ reply }}"}
GROUPED = {"metric": "exact_match", "columns__group": "g", "aggregate_options": {"positive": "1"}}
ODDS = {**GROUPED, "aggregate": "equalised_odds_difference"}
PARITY = {**GROUPED, "aggregate": "demographic_parity_difference_selection_rate"}
BY_SCORE = {**ODDS, "columns__label": "a", "aggregate_options": {"positive": "1", "labels": "score"}}
ECE = {"metric": "exact_match", "confidence__by": "tokens", "aggregate": "ece"}
ATTACK = {"metric": "exact_match", "aggregate": "attack_success_rate"}
CHANGED = {**ATTACK, "attack": [{"kind": "column", "field": "q", "column": "hard"}]}
ELSEWHERE = {**ATTACK, "attack": [{"kind": "case", "field": "hard"}]}  # a column that the prompt does not show


def records(**columns: Any) -> list[Record]:
    """Records whose columns are a value, or a function of its number; half of them right."""
    plain = {"answer": str, "target": lambda i: str(i % 2), "score": lambda i: 100.0 * (i % 2), "confidence": None}
    made = []
    for i in range(N):
        own = {name: value(i) if callable(value) else value for name, value in {**plain, **columns}.items()}
        made.append(Record(str(i), 0, own["score"], own["target"], own["answer"], "", None, 1, 1, 1.0, None,
                           confidence=own["confidence"]))  # fmt: skip
    return made


@each(
    ("task", "columns", "fault"),
    [
        (JUDGED, {"score": 44.0}, "the judge gave all 40 answers 44 points: correct the rubric"),
        (JUDGED, {"score": lambda i: 100.0 * (i > 0)}, None),
        (JUDGED, {"score": 100.0, "answer": "4"}, None),  # one answer has one mark
        (JUDGED, {"score": 0.0, "answer": ""}, None),  # no judge was asked
        (JUDGED, {"score": 0.0, "answer": lambda i: str(i) if i < FEWEST - 1 else ""}, None),  # too few were judged
        (JUDGED, {"score": 0.0, "answer": lambda i: str(i) if i < FEWEST else ""}, "the judge gave all 20 answers 0"),
        (ECE, {"confidence": 0.5}, "all 40 confidences are 0.5, so they cannot tell sure answers"),
        (ECE, {"confidence": lambda i: 0.5 + 0.1 * (i == 7)}, None),
        (ODDS, {"answer": "1"}, "all 40 answers are '1', in every group alike"),
        (PARITY, {"answer": "0"}, "all 40 answers are '0', in every group alike"),
        (ODDS, {"answer": lambda i: str(i % 3 % 2)}, None),
        (BY_SCORE, {"score": 0.0}, "none of 40 answers is right, in every group alike"),
        (BY_SCORE, {"score": 100.0}, None),  # both groups fare as well as can be
        (ELSEWHERE, {}, "the attack 1 (case) changes no prompt"),
        (CHANGED, {}, None),
        ({"metric": "exact_match"}, {"score": 100.0, "answer": "1"}, None),
        ({"metric": "word_error_rate"}, {"score": 0.0, "answer": "", "target": ""}, "all 40 answers are empty, and"),
        ({"metric": "word_error_rate"}, {"score": 100.0, "answer": ""}, None),
        ({"metric": "exact_match"}, {"answer": lambda i: "" if i % 2 else "no"}, None),  # some rightly say nothing
    ],
)
def test_evidence_that_is_alike_shows_nothing(
    tmp_path: Path, task: Mapping[str, Any], columns: Mapping[str, Any], fault: str | None
) -> None:
    loaded = load_task("sums", file=write_task(tmp_path, rows=ROWS, **task))
    said_of = sameness_fault(loaded, records(**columns))
    assert said_of is None if fault is None else (said_of or "").startswith(fault)
    assert sameness_fault(loaded, records(**columns)[: FEWEST - 1]) is None  # so few may be alike by chance


@each(
    ("columns", "note"),
    [
        ({"answer": "I cannot help."}, "all 40 answers are the same: 'I cannot help.'"),
        ({"answer": "1", "target": "1"}, None),  # as they should be
        ({"answer": lambda i: str(i == 3)}, None),
        ({"answer": None}, None),
    ],
)
def test_one_answer_to_everything_is_told(columns: Mapping[str, Any], note: str | None) -> None:
    assert sameness_note(records(**columns)) == note


def test_a_judge_that_marks_all_alike_makes_no_reference_and_no_pass(tmp_path: Path, capsys) -> None:
    write_task(tmp_path, rows=ROWS[:FEWEST], **JUDGED)
    with Server() as model, Server(lambda _: "5") as judge:
        task = {"file": "sums.toml", "judge": "j", "target": 50}
        sides = {"models.m": served_by(model.url), "judges.j": served_by(judge.url)}
        config = configure(tmp_path, {**sides, "tasks.sums": task})
        for command in ("record", "run"):
            assert main([command, str(config), "--out", str(tmp_path / command), "--quiet"]) == 3
            told = said(capsys) if command == "record" else (tmp_path / "run" / "accgate.json").read_text()
            assert "the judge gave all 20 answers 100 points" in told
    assert not (tmp_path / "references").exists()
