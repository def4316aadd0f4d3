"""Which files hold the same samples: what their rows say, what stands beside them, and how their scores agree."""

import csv
import json
import re
from pathlib import Path
from typing import Any

import numpy as np

from accgate.decision.comparison import compare
from accgate.inputs.rows import COMPARED
from accgate.inputs.samples import AS_FOUND
from accgate.planning.noise import noise_of
from accgate.records.pairing import PARTS, chance_correlation, refuse_other_samples
from accgate.records.scores import from_python, read_scores
from tests.support.cases import each, refusal
from tests.support.gates import write_lines

N = 40
Column = list[Any]


def rows_with(column: str | None, values: Column) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = [{"id": f"q{i}", "score": 100.0 * (i % 3 > 0)} for i in range(N)]
    return rows if column is None else [{**row, column: value} for row, value in zip(rows, values, strict=True)]


def check(before: Path, after: Path, *may_differ: str) -> bool:
    sides = read_scores(before, "reference"), read_scores(after, "candidate")
    return refuse_other_samples((before, after), *sides, AS_FOUND, may_differ)


def questions(text: str, start: int = 0) -> Column:
    return [text.format(i) for i in range(start, start + N)]


CHATML = "<|im_start|>user\nHow much is {} times 7?<|im_end|>\n<|im_start|>assistant\n"
ASKED = "How much is {} times 7?"


@each(
    ("column", "before", "after"),
    [
        ("target", list(range(N)), [*range(N - 1), 1000]),  # one label that was corrected
        ("target", [["a", i] for i in range(N)], [["b", i] for i in range(N)]),
        ("prompt", questions(ASKED), questions(f"Think first. {ASKED}")),
        ("prompt", questions(ASKED), questions(CHATML, 1)),
        *((column, questions(ASKED), questions(ASKED, 1)) for column in ("question", "input", "doc_hash")),
        ("doc", [{"q": i} for i in range(N)], [{"q": i + 1} for i in range(N)]),
        *((column, questions("{}f"), questions("{}f", 1)) for column in ("prompt_sha256", "target_digest")),
        ("dataset", ["test"] * N, ["train"] * N),
        ("target", [*questions("{}")[:-1], None], [*questions("{}", 1)[:-1], "x"]),  # the last says nothing
    ],
)
def test_an_id_that_names_another_sample_on_each_side_is_refused(
    tmp_path: Path, column: str, before: Column, after: Column
) -> None:
    one = write_lines(tmp_path / "before.jsonl", rows_with(column, before))
    two = write_lines(tmp_path / "after.jsonl", rows_with(column, after))
    assert re.search(rf"after\.jsonl: the {column} of \d+ of {N} samples", refusal(check, one, two))
    check(one, two, column.partition("_")[0])  # a user who means it can say so


@each(
    ("column", "before", "after", "is_shown"),
    [
        (None, [], [], False),
        ("target", questions("\ufeff{}\r\n"), questions(" {}"), True),
        ("target", list(range(N)), [f"{i}.0" for i in range(N)], True),
        ("target", ["yes"] * N, ["yes"] * N, False),  # any order would agree
        ("target", questions("{}"), [None] * N, False),
        ("target", [*questions("{}")[:5], *[""] * 35], questions("{}"), False),
        ("prompt", questions(f"<s>[INST] {ASKED} [/INST]"), questions(CHATML), True),
        ("reply", questions("{}"), questions("{}", 1), False),
        ("metric", list(range(N)), list(range(1, N + 1)), False),
    ],
)
def test_what_agrees_or_says_nothing_is_let_through(
    tmp_path: Path, column: str | None, before: Column, after: Column, is_shown: bool
) -> None:
    one = write_lines(tmp_path / "before.jsonl", rows_with(column, before))
    rows = rows_with(column, after)[::-1]  # another order of rows is none of samples
    assert check(one, write_lines(tmp_path / "after.jsonl", rows)) is is_shown
    with (tmp_path / "after.csv").open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert check(one, tmp_path / "after.csv") is is_shown


def test_the_message_shows_the_first_rows_from_where_they_part(tmp_path: Path) -> None:
    long = "A very long passage that all questions of this page are about, again and again. "
    one = write_lines(tmp_path / "1.jsonl", rows_with("prompt", questions(long + "Who was number {}?")))
    two = write_lines(tmp_path / "2.jsonl", rows_with("prompt", questions(long + "When was number {}?")))
    fault = refusal(noise_of, [one, two], theta=2.0)
    assert re.search(r"of 40 of 40 .*: q0 has 'gain. Who .*' and 'gain. When .*'; q1 ", fault)
    assert "q3" not in fault
    assert fault.endswith("add --may-differ prompt to `accgate compare`")


@each("part", [part for part in PARTS if part != "reply"])
@each("is_reference", [False, True])
def test_digests_beside_records_and_references_must_agree(tmp_path: Path, part: str, is_reference: bool) -> None:
    files = []
    for name in ("before", "after"):
        digests = dict.fromkeys(PARTS, "0") | {"reply": name, part: name}
        files.append(write_lines(tmp_path / f"{name}.jsonl", rows_with("target", [""] * N)))
        beside = {f"task {part}": digest for part, digest in digests.items()}
        (tmp_path / f"{name}.settings.json").write_text(json.dumps(beside), encoding="utf-8")
        if is_reference and name == "before":
            files[0] = tmp_path / "before.scores.csv"
            files[0].write_text("id,score\n" + "".join(f"q{i},0\n" for i in range(N)), encoding="utf-8")
            lines = "".join(f'{part} = "{digest}"\n' for part, digest in digests.items())
            (tmp_path / "before.toml").write_text(f"[fingerprint]\n{lines}", encoding="utf-8")
    assert re.search(f"differ in {PARTS[part]}, as .* add --may-differ {part} to", refusal(check, *files))
    assert part in COMPARED
    assert check(files[0], files[1], part)


def scores(n: int, same: float, right: float = 0.7, seed: int = 0) -> tuple[list[float], list[float]]:
    """Scores of which a share is the same on both sides, and the others have nothing to do with each other."""
    rng = np.random.default_rng(seed)
    before, other = 100.0 * (rng.random((2, n)) < right)
    return list(before), list(np.where(rng.random(n) < same, before, other))


@each(
    ("n", "same", "right", "is_told"),
    [
        (200, 0.0, 0.7, True),
        (200, 0.4, 0.7, False),
        (1000, 0.0, 0.97, True),
        (200, 0.0, 0.98, False),  # at the ceiling nothing shows
        (200, 0.0, 0.02, False),
        (30, 0.0, 0.5, False),
    ],
)
def test_scores_that_agree_by_chance_alone_are_told(n: int, same: float, right: float, is_told: bool) -> None:
    told = []
    for seed in range(20):
        before, after = scores(n, same, right, seed)
        told.append(chance_correlation(from_python(before, "reference"), from_python(after, "candidate")) is not None)
    assert sum(told) >= 16 if is_told else sum(told) <= 2


def test_a_verdict_says_that_only_ids_pair_its_scores() -> None:
    before, after = scores(300, 0.0)
    verdict = compare(before, after)
    assert [cause.kind for cause in verdict.causes][-1] == "unrelated"
    assert all(cause.kind != "unrelated" for cause in compare(before, after, test="two-sample").causes)
    assert all(cause.kind != "unrelated" for cause in compare(before, before).causes)
