"""Every sample of a check in the order of its list, with what it is, from whatever files there are."""

import json
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from accgate.errors import BadInput
from accgate.records.file import Record, paths_of, to_line
from accgate.records.replacement import write_gzip_lines
from accgate.report.flips import Flip
from accgate.report.samples import BETTER, CUT, FAILED, UNREAD, WORSE, WRONG, Sample, Samples
from tests.report.html_pages import write_samples
from tests.support.cases import each


def listed(folder: Path, **keys: Any) -> list[Sample]:
    with tempfile.TemporaryFile() as spool:
        return list(Samples(spool, paths_of(folder, "m", "t"), **keys))


def flip_of(sample: Sample) -> Flip:
    record = sample.record
    return Flip(record.id, sample.prompt, record.target, sample.before, record.reply, *sample.scores, record.reasoning)


@each(
    ("before", "now", "columns", "keys", "kinds"),
    [
        (100.0, 100.0, {}, {}, 0),
        (100.0, 0.0, {}, {}, WORSE | WRONG),
        (0.0, 100.0, {}, {}, BETTER),
        (0.0, 0.0, {}, {}, WRONG),
        (80.0, 33.3, {}, {}, WORSE),
        (2.0, 3.5, {}, {"higher_is_better": False}, WORSE),
        (2.0, 0.0, {}, {"higher_is_better": False}, BETTER),
        (None, 100.0, {}, {}, 0),
        (None, 0.0, {"reading": "unread"}, {}, WRONG | UNREAD),
        (None, 0.0, {"reading": "empty"}, {}, WRONG | UNREAD),
        (None, 0.0, {"reading": "cut", "finish_reason": "length"}, {}, WRONG | UNREAD | CUT),
        (None, 100.0, {"reading": "read", "finish_reason": "length"}, {}, CUT),
        (100.0, None, {"error": "HTTP 500"}, {}, FAILED),
        (100.0, None, {"error": "HTTP 500"}, {"flips": ("a",), "judged": 1}, FAILED | WORSE),
        (100.0, 0.0, {}, {"flips": (), "judged": 0}, WRONG),  # answered when the run had been decided already
    ],
)
def test_a_sample_is_of_every_kind_that_it_is(
    tmp_path: Path, before: float | None, now: float | None, columns: dict[str, Any], keys: dict[str, Any], kinds: int
) -> None:
    write_samples(tmp_path, [Flip("a", "p", "e", "b", "g", before, now)], **columns)
    (sample,) = listed(tmp_path, **keys)
    assert sample.kinds == kinds
    assert sample.scores == (before, now)


def test_what_got_worse_comes_first_in_the_verdicts_order_and_nothing_is_left_out(tmp_path: Path) -> None:
    scores = {"worst": (100, 0), "bad": (100, 50), "less": (100, 90), "failed": (50, None), "unread": (0, 0),
              "better": (0, 100), "wrong": (0, 0), "cut": (9, 9), "same": (9, 9)}  # fmt: skip
    flips = [Flip(name, f"p {name}", "e", f"b {name}", f"g {name}", *pair) for name, pair in scores.items()]
    write_samples(tmp_path, flips[::-1])
    more = {"failed": {"error": "HTTP 500"}, "unread": {"reading": "unread"}, "cut": {"finish_reason": "length"}}
    path = paths_of(tmp_path, "m", "t").records
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    path.write_text("".join(json.dumps(row | more.get(row["id"], {})) + "\n" for row in rows))
    found = listed(tmp_path, flips=("worst", "bad", "of another run"))
    assert [flip_of(sample) for sample in found] == flips
    assert {sample.answers for sample in found} == {1}


def test_of_several_answers_the_worst_is_shown_with_the_means_and_its_own_earlier_reply(tmp_path: Path) -> None:
    paths = paths_of(tmp_path, "m", "t")
    write_samples(tmp_path, [])
    record = Record("a", 0, 100.0, "e", None, "good", "stop", None, None, 0.0, None, own_id="mine", group="g")
    paths.records.write_bytes(to_line(record) + to_line(replace(record, repeat=1, score=0.0, reply="bad")))
    rows = [{"id": "a", "repeat": at, "score": 50.0 + 50 * at, "reply": f"then {at}"} for at in (0, 1)]
    write_gzip_lines(paths.before, rows)
    (sample,) = listed(tmp_path)
    assert flip_of(sample) == Flip("a", None, "e", "then 1", "bad", 75.0, 50.0)
    assert (sample.answers, sample.record.shown_id) == (2, "mine")


def test_what_all_prompts_begin_with_is_said_once(tmp_path: Path) -> None:
    write_samples(tmp_path, [Flip(f"{at}", f"Examples.\n1 + 1 = 2\n{at} + 1 =", "e", None, "g") for at in (3, 4)])
    with tempfile.TemporaryFile() as spool:
        samples = Samples(spool, paths_of(tmp_path, "m", "t"))
        assert samples.head == "Examples.\n1 + 1 = 2\n"
        assert {sample.prompt for sample in samples} == {"3 + 1 =", "4 + 1 ="}


def test_a_file_that_is_not_there_leaves_its_texts_out_and_a_damaged_one_is_named(tmp_path: Path) -> None:
    flip, paths = Flip("a", "p", "e", "b", "g", 100.0, 0.0), paths_of(tmp_path, "m", "t")
    write_samples(tmp_path, [flip])
    paths.prompts.unlink()
    assert [flip_of(sample) for sample in listed(tmp_path)] == [replace(flip, prompt=None)]
    paths.before.write_bytes(paths.before.read_bytes()[:-9])
    with pytest.raises(BadInput, match=r"t\.before\.jsonl\.gz: is damaged"):
        listed(tmp_path)
    paths.before.unlink()
    assert [flip_of(sample) for sample in listed(tmp_path)] == [Flip("a", None, "e", None, "g", None, 0.0)]
