"""Samples that got worse, with what was asked and answered, from whatever files there are."""

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.records.file import paths_of
from accgate.report.flips import Flip, excerpt, flips_of, flips_of_result, opening
from accgate.report.result_file import read_result
from tests.cases import each
from tests.gates import RIGHT, Project, right_but, write_lines

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


def flips(project: Project, **keys: int) -> tuple[Flip, ...]:
    return flips_of(read_result(project.out / "accgate.json").checks[0], project.out, **keys)


def test_each_flip_has_prompt_target_and_both_replies(project: Project) -> None:
    found = flips(project)
    assert [flip.id for flip in found] == project.ids()[:8]
    for flip in found:
        assert flip.expected is not None
        half = int(flip.expected) // 2
        assert (flip.prompt, flip.before, flip.got) == (f"What is {half} + {half}?", "good", "bad")
        assert (flip.score_before, flip.score) == (100.0, 0.0)


def test_as_many_are_shown_as_asked(project: Project) -> None:
    assert flips(project, shown=3) == flips(project)[:3]


def test_only_checks_that_did_not_pass_have_flips(project: Project) -> None:
    result = read_result(project.out / "accgate.json")
    assert flips_of_result(result, project.out) == {("m", "sums"): flips(project)}
    write_lines(project.scores, [{"id": i, "score": 100} for i in project.ids()])
    assert project.run() == 0
    assert flips_of_result(read_result(project.out / "accgate.json"), project.out) == {}


def test_without_the_run_folder_flips_have_ids_only(project: Project, tmp_path: Path) -> None:
    verdict = read_result(project.out / "accgate.json").checks[0]
    assert flips_of(verdict, tmp_path / "elsewhere")[0] == Flip(project.ids()[0], None, None, None, None)


@pytest.mark.parametrize("gone", ["records", "prompts", "before"])
def test_a_file_that_is_not_there_leaves_its_texts_out(project: Project, gone: str) -> None:
    whole = flips(project)[0]
    getattr(paths_of(project.out, "m", "sums"), gone).unlink()
    flip = flips(project)[0]
    missing = {"records": ("expected", "got"), "prompts": ("prompt",), "before": ("before",)}[gone]
    for name in ("prompt", "expected", "before", "got"):
        assert getattr(flip, name) == (None if name in missing else getattr(whole, name))


@pytest.mark.parametrize("damage", [lambda data: data[:-9], lambda data: data[:10] + b"\xff" * 9 + data[-8:]])
def test_a_damaged_file_is_named(project: Project, damage: Callable[[bytes], bytes]) -> None:
    path = paths_of(project.out, "m", "sums").before
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(BadInput, match=r"sums\.before\.jsonl\.gz: is damaged"):
        flips(project)


@pytest.mark.parametrize(
    "content",
    [b'{"id": "a"}\n', b'{"reply": "a"}\n', b"[1]\n", b"1\n", b'{"id": [], "reply": "a"}\n'],
    ids=["no reply", "no id", "a list", "a number", "an id that is none"],
)
def test_a_file_of_other_content_is_named(project: Project, content: bytes) -> None:
    path = paths_of(project.out, "m", "sums").before
    path.write_bytes(gzip.compress(content))
    with pytest.raises(BadInput, match=r"sums\.before\.jsonl\.gz: is damaged"):
        flips(project)


def test_of_several_repeats_the_worst_is_shown(tmp_path: Path) -> None:
    project = Project(tmp_path, n=12, repeats=2)
    write_lines(project.scores, [{"id": i, "repeat": r, "score": 100} for i in project.ids() for r in (0, 1)])
    project.record()
    rows = [{"id": i, "repeat": r, "score": 90 - 50 * r, "reply": f"try {r}"} for i in project.ids() for r in (0, 1)]
    write_lines(project.scores, rows)
    assert project.run() == 1
    assert {flip.got for flip in flips(project)} == {"try 1"}


def test_a_failed_sample_shows_its_error(tmp_path: Path) -> None:
    project = Project(tmp_path, n=N)
    project.write(max_failed=0.1)
    project.record([RIGHT] * N)
    rows = [{"id": i, "score": s} for i, s in zip(project.ids(), right_but(20, N), strict=True)]
    rows[0] = {"id": rows[0]["id"], "error": "HTTP 500"}
    write_lines(project.scores, rows)
    assert project.run() == 1
    assert flips(project)[0].got == "HTTP 500"


@each(
    ("text", "end", "start"),
    [
        (None, "", ""),
        ("", "", ""),
        (" a\n b\t", "a b", "a b"),
        ("0123456789", "0123456789", "0123456789"),
        ("0123456789x", "… 3456789x", "01234567 …"),
        ("0123456 89x", "… 3456 89x", "0123456 …"),
    ],
)
def test_texts_are_cut_at_the_length_with_their_end_or_beginning(text: str | None, end: str, start: str) -> None:
    assert (excerpt(text, 10), opening(text, 10)) == (end, start)


def test_control_characters_are_shown_and_not_obeyed() -> None:
    assert excerpt("a\x1b[2Jb\u202e") == opening("a\x1b[2Jb\u202e") == "a\ufffd[2Jb\ufffd"


def test_a_long_text_is_read_only_where_it_is_shown() -> None:
    text = "begin" + " " * 5_000 + "end"
    assert (excerpt(text), opening(text)) == ("… end", "begin …")
    assert (excerpt(f"{text}\n\n"), opening(f"\n{text}")) == ("… end", "begin …")
    assert excerpt("word " * 10**6).endswith("word word")
    assert len(excerpt("word " * 10**6)) <= 160
