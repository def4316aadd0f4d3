"""Rules are plain files of bounded size: no pipe waits for ever, no device and no file of /proc is read without end."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.errors import BadInput
from accgate.inputs import parquet, toml
from accgate.tasks import read_rows
from tests.attacks.chain import Chain
from tests.attacks.test_rule_files import pictured, with_parts
from tests.support.cases import each
from tests.support.gates import Project, right_but

NAMES = (
    "accuracy.toml", "sums.toml", "sums.jsonl", "solved.jsonl", "shown.png", "comment.j2", "references/m/sums.toml",
    "references/m/sums.scores.csv", "references/m/sums.replies.jsonl.gz",
)  # fmt: skip
PLACES: dict[str, Callable[[Path], None]] = {
    "a pipe": os.mkfifo,
    "memory of the process": lambda path: path.symlink_to("/proc/self/pagemap"),
    "a device without end": lambda path: path.symlink_to("/dev/zero"),
    "the terminal": lambda path: path.symlink_to("/dev/stdin"),
    "a folder": lambda path: path.mkdir(),
}


# Every rule as a pipe, and two of them as anything else.
CASES = [("a pipe", name) for name in NAMES]
CASES += [(place, name) for place in PLACES if place != "a pipe" for name in ("sums.jsonl", "references/m/sums.toml")]


@pytest.fixture
def pair(chain: Chain) -> tuple[Project, Project]:
    """The checkouts of a base and a head whose rules name a file of every kind."""
    chain.begin(with_parts)
    return chain.checkout("base"), chain.checkout("head")


def code_of(base: Project, head: Project, name: str, put: Callable[[Path], object], *args: str) -> int:
    """The exit code where something stands in a file's place. The file is there again afterwards."""
    path = head.folder / name
    content = path.read_bytes()
    path.unlink()
    put(path)
    try:
        return head.run(args=args or ["--base", str(base.config)])
    finally:
        path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
        path.write_bytes(content)


@each(("place", "name"), CASES)
def test_no_rule_is_a_pipe_a_device_or_a_file_of_proc(pair: tuple[Project, Project], place: str, name: str) -> None:
    """On a pull request and on main it is refused, and never a pass."""
    code = code_of(*pair, name, PLACES[place])
    if name.endswith("replies.jsonl.gz"):  # which are shown, and decide nothing
        assert code == 0
        return
    assert code == 2 or (name, code) == ("comment.j2", 0)
    if name != "comment.j2":
        assert code_of(*pair, name, PLACES[place], "--tree", str(pair[1].folder)) in (2, 4)


@each("place", ("a pipe", "a device without end", "memory of the process"))
def test_a_users_own_run_reads_no_special_file_either(
    pair: tuple[Project, Project], capsys: pytest.CaptureFixture[str], place: str
) -> None:
    """Without a base and a tree: what the user links to by mistake is told, and does not hang."""
    for name in ("sums.jsonl", "solved.jsonl", "sums.toml"):
        capsys.readouterr()
        assert code_of(*pair, name, PLACES[place], "--tasks", "sums") == 2, name
        assert name.split(".")[0] in capsys.readouterr().err


@each(
    ("name", "size"),
    [("accuracy.toml", 3e8), ("sums.toml", 3e8), ("sums.jsonl", 3e9), ("shown.png", 3e8),
     ("references/m/sums.toml", 3e8), ("references/m/sums.scores.csv", 3e9)],
)  # fmt: skip
def test_a_rule_file_past_any_use_is_refused_by_its_size(pair: tuple[Project, Project], name: str, size: float) -> None:
    def sparse(path: Path) -> None:
        with path.open("wb") as file:
            file.truncate(int(size))

    assert code_of(*pair, name, sparse) == 2


def test_the_lines_of_a_long_array_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of 4,000 lines took 24 s: each line that could end it was parsed with all before it."""
    parsed: list[int] = []
    loads = toml.tomllib.loads
    monkeypatch.setattr(toml.tomllib, "loads", lambda text: (parsed.append(len(text)), loads(text))[1])
    text = "[gate]\nlist = [\n" + "".join(f'  "] # {i}", # ]\n' for i in range(4000)) + "]\n[tasks]\nkey = 1\n"
    file = toml.parsed_toml(Path("accuracy.toml"), text)
    assert (file.line(("gate", "list", 3999)), file.line(("tasks", "key"))) == (2, 4005)
    assert sum(parsed) < 3 * len(text)


def test_a_dataset_of_a_parquet_bomb_is_refused_before_it_is_unpacked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    path = tmp_path / "rows.parquet"
    pytest.importorskip("pyarrow.parquet").write_table(pyarrow.table({"q": ["x" * 1000] * 5000}), path)
    assert path.stat().st_size < 100_000
    assert len(read_rows(path)) == 5000
    monkeypatch.setattr(parquet, "MOST", 1_000_000)
    with pytest.raises(BadInput, match="unpacks to more than 1,000,000 bytes"):
        read_rows(path)


def test_a_picture_that_is_no_plain_file_is_no_picture(pair: tuple[Project, Project]) -> None:
    pictured(pair[1], "/proc/self/pagemap")
    assert pair[1].run() == 2


def test_right_answers_still_pass_with_every_kind_of_file_in_place(chain: Chain) -> None:
    """So that the refusals above are of the paths."""
    chain.begin(with_parts)
    ended = chain.pull(lambda head: head.answer(right_but(0, 60)))
    assert (ended.run, ended.job, ended.conclusion) == (0, 0, "success")
