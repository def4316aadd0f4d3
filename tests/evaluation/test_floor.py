"""`record` on a model whose answers are all wrong, or right by guessing alone: no drop could show."""

from __future__ import annotations

import re
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from accgate.records.file import Record
from accgate.report.readings import print_replies
from tests.support.gates import Project, right_but, said, write_task

OPTIONS = {"choices.options": '{{ ["w", "x", "y", "z"] | tojson }}', "target": "A", "metric": "exact_match"}


@pytest.mark.parametrize(
    ("n", "right", "keys", "fault"),
    [
        (3, 0, {}, "0 of 3 answers are right; no drop can show"),
        (20, 1, {}, "1 of 20 answers are right, no more than luck gives (1%)"),
        (20, 2, {}, None),
        (19, 1, {}, None),
        (100, 30, OPTIONS, "30 of 100 answers are right, no more than guessing gives (25%)"),
        (100, 35, OPTIONS, None),
        (100, 55, {"chance": 50.0}, "no more than guessing gives (50%)"),
        (30, 0, {"metric": "toxicity.py:rate", "metric_options.higher_is_better": False}, None),
    ],
)
def test_a_reference_that_leaves_no_room_is_refused(
    tmp_path: Path, capsys, n: int, right: int, keys: dict[str, Any], fault: str | None
) -> None:
    project = Project(tmp_path, n=n)
    (tmp_path / "toxicity.py").write_text("def rate(answer, target):\n    return 0.0\n")
    write_task(tmp_path, rows=[{"q": f"{i}?", "a": i} for i in range(n)], **keys)
    code = project.record(right_but(n - right, n))
    error = said(capsys)
    assert (code == 3) == (fault is not None), error
    assert (fault or "") in error
    assert project.store.exists() == (fault is None)


def test_a_low_reference_is_kept_on_request_without_asking_again(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=20)
    assert project.record(right_but(20, 20)) == 3
    assert "`accgate record --resume --accept-low` keeps it" in said(capsys)
    records = (tmp_path / "record-out-0" / "m" / "sums.jsonl").read_bytes()
    arguments = ["--resume", "--accept-low", "--out", str(tmp_path / "record-out-0")]
    assert project.record(args=arguments) == 0
    assert "0 of 20 answers are right; no drop can show" in said(capsys)
    assert (tmp_path / "record-out-0" / "m" / "sums.jsonl").read_bytes() == records


def test_a_theta_that_the_mean_cannot_fall_by_is_said(tmp_path: Path, capsys) -> None:
    project = Project(tmp_path, n=100, theta=8.0)
    assert project.record(right_but(95, 100)) == 0
    assert "the mean is 5 points, so it cannot drop by theta = 8" in said(capsys).replace("5.00", "5")


def test_three_replies_are_shown_beside_what_was_expected() -> None:
    def record(number: int, reply: str | None, score: float, reading: str = "read") -> Record:
        answer = None if reading == "unread" else reply
        made = Record(f"d{number}", 0, score, "4", answer, reply, None, None, None, 0.0, None)
        return replace(made, reading=reading, own_id=f"q{number}")

    right, wrong, unread = record(4, "4", 100.0), record(5, "five", 0.0), record(6, "Hm.", 0.0, "unread")
    for records, shown in (
        ([right, record(7, "4", 100.0), wrong, unread], ["q4", "q5", "q6"]),
        ([wrong, *(record(i, str(i), 0.0) for i in (8, 9, 10))], ["q5", "q8", "q9"]),
        ([record(1, None, 100.0)], []),
    ):
        text = StringIO()
        print_replies(Console(file=text, width=100), records)
        assert re.findall(r"q\d+", text.getvalue()) == shown
