"""Checkouts whose text files end their lines with CRLF: the same content is the same rule and the same reference."""

from pathlib import Path

import pytest

from accgate.inputs.paths import file_digest
from accgate.inputs.rows import read_table
from tests.support.gates import Project, said, write_task
from tests.support.trees import Trees, effects

N = 20
ROWS = "q,a\n" + "".join(f'"What is\n{i} + {i}?",{2 * i}\n' for i in range(N))
CODE = (
    'from pathlib import Path\n\ndef right(answer, target):\n    """Compare.\n\n    Plainly.\n    """\n    return 1.0\n'
)
SCORES = [100.0] * (N - 3) + [0.0] * 3


def with_crlf(folder: Path, *endings: str) -> list[str]:
    """Check a folder's text files out as git does for Windows; the names of those that changed."""
    changed = []
    for path in sorted(folder.rglob("*")):
        if path.suffix in endings and b"\r" not in (content := path.read_bytes()):
            path.write_bytes(content.replace(b"\n", b"\r\n"))
            changed.append(path.name)
    return changed


@pytest.fixture
def trees(tmp_path: Path) -> Trees:
    """A recorded gate of rows with line ends within cells, as base and head."""
    (tmp_path / "base").mkdir()
    project = Project(tmp_path / "base", n=N)
    task = {"dataset.file": "rows.csv", "metric": "code/mine.py:right", "files": ["words.txt"], "few_shot.count": 1}
    write_task(project.folder, **task, **{"few_shot.file": "shots.jsonl"})
    (project.folder / "code").mkdir()
    files = {"rows.csv": ROWS, "code/mine.py": CODE, "code/also.py": CODE, "words.txt": "a\nb\n"}
    for name, content in {**files, "shots.jsonl": '{"q": "1 + 1?", "a": 2}\n'}.items():
        (project.folder / name).write_text(content)
    return Trees(tmp_path, project.recorded(SCORES))


@pytest.mark.parametrize("endings", [(".csv",), (".csv", ".jsonl", ".py", ".toml", ".txt")])
def test_a_checkout_with_crlf_is_compared_with_its_reference(trees: Trees, capsys, endings: tuple[str, ...]) -> None:
    assert with_crlf(trees.head.folder, *endings)
    assert trees.head.run() == 0, said(capsys)
    assert trees.changes() == trees.back() == ()


def test_other_content_under_other_line_ends_is_a_change(trees: Trees, capsys) -> None:
    (trees.head.folder / "rows.csv").write_text(ROWS.replace("7 + 7", "7 + 8"))
    with_crlf(trees.head.folder, ".csv")
    assert effects(trees.changes()) == {"tasks.sums: dataset": "loosening"}
    scores = trees.head.store / "m" / "sums.scores.csv"
    scores.write_bytes(scores.read_bytes().replace(b"100", b"0", 1))
    assert trees.head.run() == 2
    assert "sums.scores.csv: is not what was recorded with sums.toml" in said(capsys)


@pytest.mark.parametrize(
    ("content", "other", "same"),
    [
        (b"a\nb\n", b"a\r\nb\r\n", True),
        (b"a" * (1 << 20) + b"\nb\n", b"a" * (1 << 20) + b"\r\nb\r\n", False),  # no text of lines
        (b"a\n" + b"b\n" * (1 << 19), b"a\r\n" + b"b\r\n" * (1 << 19), True),  # over several blocks
        (b"a\n" + b"b" * ((1 << 20) - 4) + b"\nc", b"a\r\n" + b"b" * ((1 << 20) - 4) + b"\r\nc", True),
        (b"a\nb\r\n", b"a\nb\n", False),  # no checkout has ends of both kinds
        (b"a\r", b"a", False),
        (b"\x89PNG\r\n\x1a\n\0", b"\x89PNG\n\x1a\n\0", False),
    ],
)
def test_the_digest_is_of_the_content(tmp_path: Path, content: bytes, other: bytes, same: bool) -> None:
    paths = tmp_path / "a", tmp_path / "b"
    for path, each in zip(paths, (content, other), strict=True):
        path.write_bytes(each)
    assert (file_digest(paths[0]) == file_digest(paths[1])) is same


def test_cells_of_a_file_with_lf_keep_their_own_line_ends(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_bytes(b'q\n"a\r\nb"\n')
    assert [row for _, row in read_table(tmp_path / "a.csv")] == [{"q": "a\r\nb"}]
