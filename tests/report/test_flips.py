"""Samples that got worse, with what was asked and answered, from whatever files there are."""

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.records.file import paths_of
from accgate.report.flips import Flip, excerpt, flips_of, flips_of_result, opening
from accgate.report.result_file import read_result
from tests.report.runs import result_of
from tests.support.cases import each
from tests.support.gates import Project, write_lines

N = 40


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A run in which the replies of 8 samples went from good to bad, with files of everything."""
    project = Project(tmp_path, n=N)
    ids = project.ids()
    write_lines(project.scores, [{"id": i, "reply": "good", "score": 100} for i in ids])
    assert project.record() == 0
    write_lines(project.scores, [{"id": i, "reply": "bad", "score": 100 * (k >= 8)} for k, i in enumerate(ids)])
    assert project.run() == 1
    return project


def flips(project: Project) -> tuple[Flip, ...]:
    return flips_of(read_result(project.out / "accgate.json").checks[0], project.out)


def test_each_flip_of_a_check_that_did_not_pass_has_prompt_target_and_both_replies(project: Project) -> None:
    found = flips(project)
    assert [flip.id for flip in found] == project.ids()[:8]
    for flip in found:
        half = int(flip.expected or "") // 2
        assert (flip.prompt, flip.before, flip.got) == (f"What is {half} + {half}?", "good", "bad")
        assert (flip.score_before, flip.score) == (100.0, 0.0)
    result = read_result(project.out / "accgate.json")
    assert flips_of_result(result, project.out) == {("m", "sums"): found}
    bare = Flip(project.ids()[0], None, None, None, None)
    assert flips_of(result.checks[0], project.folder / "elsewhere")[0] == bare
    assert flips_of_result(result_of(replace(result.checks[0], verdict="pass")), project.out) == {}


def test_a_file_that_is_not_there_leaves_its_texts_out(project: Project) -> None:
    flip = flips(project)[0]
    for gone, missing in (
        ("prompts", {"prompt"}), ("before", {"before", "score_before"}), ("records", {"expected", "got", "score"}),
    ):  # fmt: skip
        getattr(paths_of(project.out, "m", "sums"), gone).unlink()
        flip = replace(flip, **dict.fromkeys(missing))  # type: ignore[arg-type]
        assert flips(project)[0] == flip


@each("damage", [lambda data: data[:-9], lambda _: gzip.compress(b"[1]\n"), lambda _: gzip.compress(b'{"id": "a"}\n')])
def test_a_file_that_is_damaged_or_of_other_content_is_named(
    project: Project, damage: Callable[[bytes], bytes]
) -> None:
    path = paths_of(project.out, "m", "sums").before
    whole = path.read_bytes()
    path.write_bytes(damage(whole))
    with pytest.raises(BadInput, match=r"sums\.before\.jsonl\.gz: is damaged"):
        flips(project)
    path.write_bytes(whole)


def test_of_several_repeats_the_worst_is_shown_and_of_a_failed_one_its_error(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N, repeats=2)
    project.write(max_failed=0.1)
    write_lines(project.scores, [{"id": i, "repeat": r, "score": 100} for i in project.ids() for r in (0, 1)])
    project.record()
    rows = [{"id": i, "repeat": r, "score": 90 - 50 * r, "reply": f"try {r}"} for i in project.ids() for r in (0, 1)]
    failed = {"id": rows[1]["id"], "repeat": 1, "error": "HTTP 500"}  # beside a score of 0
    write_lines(project.scores, [rows[0] | {"score": 0}, failed, *rows[2:]])
    assert project.run() == 1
    assert {flip.got for flip in flips(project)} == {"try 1", "HTTP 500"}


@each(
    ("text", "end", "start"),
    [
        (None, "", ""), ("", "", ""), (" a\n b\t", "a b", "a b"), ("0123456789", "0123456789", "0123456789"),
        ("0123456789x", "… 3456789x", "01234567 …"), ("0123456 89x", "… 3456 89x", "0123456 …"),
        ("a\x1b[2Jb\u202e", "a\ufffd[2Jb\ufffd", "a\ufffd[2Jb\ufffd"),
    ],
)  # fmt: skip
def test_texts_are_cut_at_the_length_with_their_end_or_beginning(text: str | None, end: str, start: str) -> None:
    assert (excerpt(text, 10), opening(text, 10)) == (end, start)


def test_a_long_text_is_read_only_where_it_is_shown() -> None:
    text = "begin" + " " * 5_000 + "end"
    assert (excerpt(f"{text}\n\n"), opening(f"\n{text}")) == ("… end", "begin …")
    assert len(excerpt("word " * 10**6)) <= 160
