"""What a checkout has in place of a file: each reader names it, and what to do."""

import re
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.engines.vllm.options import weights
from accgate.errors import KeyFaults
from accgate.inputs.checkout import absence_of
from accgate.inputs.paths import model_file_in
from accgate.inputs.rows import Row, read_table
from tests.support.cases import each, refusal
from tests.support.gates import Project, questions, refused, right_but, said, write_task
from tests.support.runner import commit, git

POINTER = "version https://git-lfs.github.com/spec/v1\noid sha256:" + "0" * 64 + "\nsize 12345\n"
AS_POINTER = "is a Git LFS pointer and not the file itself; run `git lfs pull`, or check out with `lfs: true`"
N = 12


def in_conflict(text: str, *, start: int = 2, size: int = 7, base: bool = False) -> str:
    """A text whose lines from `start` on two branches changed, as git writes it with markers of this size."""
    lines = text.splitlines(keepends=True)
    rest = "".join(lines[start:])
    middle = f"{'|' * size} 0123abc\n{rest}" if base else ""  # diff3
    ours, theirs = f"{'<' * size} HEAD\n{rest}", f"{'=' * size}\n{rest}{'>' * size} other\n"
    return "".join(lines[:start]) + ours + middle + theirs


def gate_of_files(folder: Path, *, end: str = "") -> Project:
    """A recorded gate whose task has a file of each kind; its questions and its prompt end in `end`."""
    (folder / "code").mkdir(parents=True)
    project = Project(folder, n=N)
    task = {"dataset.file": "rows.csv", "metric": "code/mine.py:right", "files": ["words.txt"], "few_shot.count": 1}
    write_task(folder, rows=questions(N), **task, prompt=f"{{{{ q }}}}{end}", **{"few_shot.file": "shots.json"})
    files = {
        "rows.csv": "q,a\n" + "".join(f'"{row["q"]}{end}",{row["a"]}\n' for row in questions(N)),
        "code/mine.py": 'from math import sqrt\n\ndef right(answer, target):\n    """Compare."""\n    return 1.0\n',
        "words.txt": "a\nb\n", "shots.json": '[\n{"q": "1 + 1?",\n"a": 2}\n]\n',
    }  # fmt: skip
    for name, content in files.items():
        (folder / name).write_text(content)
    return project.recorded(right_but(2, N))


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return gate_of_files(tmp_path / "gate")


FILES = (
    "accuracy.toml", "sums.toml", "rows.csv", "shots.json", "m.jsonl", "code/mine.py", "references/m/sums.toml",
    "references/m/sums.scores.csv",
)  # fmt: skip


def fault_with(project: Project, capsys, name: str, content: bytes) -> str:
    """What a run says while one of the gate's files has this content: it is bad input, and the file is named."""
    path = project.folder / name
    before = path.read_bytes()
    path.write_bytes(content)
    code, error = project.run(), said(capsys)
    path.write_bytes(before)
    assert code == 2
    assert path.name in error
    return error


@each(
    ("name", "size", "base"),
    [*((name, 7, False) for name in (*FILES, "words.txt")), ("rows.csv", 7, True), ("sums.toml", 32, True)],
)
def test_an_unresolved_merge_is_named(project: Project, capsys, name: str, size: int, base: bool) -> None:
    text = in_conflict((project.folder / name).read_text(), size=size, base=base)
    assert "unresolved merge conflict" in fault_with(project, capsys, name, text.encode())


@each("name", (*FILES, "words.txt"))
def test_a_pointer_of_lfs_is_named(project: Project, capsys, name: str) -> None:
    assert AS_POINTER in fault_with(project, capsys, name, POINTER.encode())


UTF16 = "q,a\n1,1\n".encode("utf-16")
ANNEX = b"/annex/objects/SHA256E-s12--00.csv\n", "is a git-annex pointer and not the file itself; run `git annex get`"
CRYPT = b"\0GITCRYPT\0" + b"\x81\0\n" * 99, "is encrypted by git-crypt; run `git-crypt unlock`"
TRANSCRYPT = b"U2FsdGVkX1/aGVsbG8gd29ybGQ=\n", "is encrypted by transcrypt; run `transcrypt` with"


@each(
    ("name", "start", "told"),
    [
        ("rows.csv", b"version https://hawser.github.com/spec/v1\noid sha256:0\n", "is a Git LFS pointer"),
        *((name, *what) for name, what in zip(FILES, (ANNEX, CRYPT, TRANSCRYPT), strict=False)),
        *((name, UTF16, "UTF-8") for name in ("shots.json", "code/mine.py", FILES[-1])),
    ],
)
def test_what_is_not_the_content_is_named_as_what_it_is(
    project: Project, capsys, name: str, start: bytes, told: str
) -> None:
    assert told in fault_with(project, capsys, name, start)


def test_a_run_s_own_files_are_named_too(project: Project, capsys) -> None:
    assert project.run() == 0
    for name in ("accgate.json", "m/sums.jsonl", "m/sums.settings.json"):
        path = project.out / name
        content = path.read_text()
        path.write_text(POINTER)
        assert AS_POINTER in refused(capsys, main(["verify", str(project.out), "--config", str(project.config)]))
        path.write_text(content)
    records = project.out / "m/sums.jsonl"
    records.write_text(in_conflict(records.read_text()))
    assert main(["verify", str(project.out), "--config", str(project.config)]) == 2
    assert "sums.jsonl:3: begins an unresolved merge" in said(capsys)


def test_weights_that_are_pointers_are_named(tmp_path: Path) -> None:
    (tmp_path / "m").mkdir()
    (tmp_path / "m/model.safetensors").write_text(POINTER)
    (tmp_path / "m.gguf").write_text(POINTER)
    with pytest.raises(KeyFaults, match=r"has model\.safetensors, which is a Git LFS pointer"):
        weights("m", tmp_path, ("model",))
    with pytest.raises(KeyFaults, match=r"'m\.gguf' is a Git LFS pointer"):
        model_file_in(tmp_path, "m.gguf", "a .gguf file")


def read(path: Path) -> list[tuple[int, Row]]:
    return list(read_table(path))


@each("content", ['q\n"<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> main\n"\n', "q\n<<<<<<< what is this?\n"])
def test_a_cell_about_merges_is_a_cell(tmp_path: Path, content: str) -> None:
    (tmp_path / "a.csv").write_text(content)
    assert list(read_table(tmp_path / "a.csv"))


def test_a_conflict_in_the_only_column_is_no_row(tmp_path: Path) -> None:
    for start in (0, 1, 2):
        (tmp_path / "a.csv").write_text(in_conflict("q\na\nb\n", start=start))
        assert f"csv:{start + 1}: begins an unresolved merge" in refusal(read, tmp_path / "a.csv")


@pytest.fixture(scope="module")
def origin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a submodule `shared/data`."""
    folder = tmp_path_factory.mktemp("origin")
    for name in ("data/rows.csv", "main/top.csv"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("q,a\n1,1\n")
    for name in ("data", "main"):
        commit(folder / name)
    git(folder / "main", "submodule", "add", "-q", str(folder / "data"), "shared/data")
    commit(folder / "main")
    return folder / "main"


def test_a_submodule_that_is_not_checked_out_is_named(origin: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(origin), "there")
    path = tmp_path / "there/shared/data/rows.csv"
    assert re.search("submodule shared/data, .*; run `git submodule update --init", refusal(read, path))
    git(tmp_path / "there", "submodule", "update", "-q", "--init")
    assert list(read_table(path))
    assert absence_of(path.with_name("no.csv")) is None
    assert absence_of(tmp_path / "there/shared/no.csv") is None


def test_references_in_a_submodule_are_not_recorded_anew(project: Project, capsys) -> None:
    (project.folder / ".gitmodules").write_text('[submodule "r"]\n\tpath = references\n\turl = ../r\n')
    for path in sorted(project.store.rglob("*"), reverse=True):
        path.rmdir() if path.is_dir() else path.unlink()
    assert "lies in the submodule references, which is not checked out" in refused(capsys, project.run())
