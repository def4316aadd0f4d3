"""Rules are plain files of bounded size: no pipe waits for ever, no device and no file of /proc is read without end."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.inputs.toml import parsed_toml
from tests.attacks.chain import Chain
from tests.attacks.test_rule_files import PIXEL
from tests.gates import Project, questions, write_lines, write_task


def with_every_kind(project: Project) -> None:
    rows = [{**row, "picture": "shown.png"} for row in questions(60)]
    (project.folder / "shown.png").write_bytes(PIXEL)
    (project.folder / "mine.py").write_text(
        "import helper_of_mine\ndef score(answer, target):\n    return 100.0 * (answer == target)\n"
    )
    write_lines(project.folder / "solved.jsonl", questions(2, start=900))
    write_task(project.folder, "sums", rows, images=["picture"], few_shot__file="solved.jsonl")
    (project.folder / "comment.j2").write_text("")
    project.config.write_text(project.config.read_text() + '[report]\ntemplate = "comment.j2"\n')


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


@pytest.mark.parametrize("place", PLACES)
def test_no_rule_is_a_pipe_a_device_or_a_file_of_proc(chain: Chain, tmp_path: Path, place: str) -> None:
    """On a pull request and on main, whichever rule it is: an answer with exit code 2 or 3, and never a pass."""
    chain.begin(with_every_kind)
    for name in NAMES:
        head, base = chain.checkout("head"), chain.checkout("base")
        (head.folder / name).unlink()
        PLACES[place](head.folder / name)
        out = ["--out", str(tmp_path / "out"), "--quiet"]
        code = main(["run", str(head.config), "--base", str(base.config), *out])
        shown_only = name.endswith("replies.jsonl.gz") and place in ("a pipe", "a folder")
        assert code == (0 if shown_only or (name == "comment.j2" and code == 0) else 2), name
        if name != "comment.j2" and not shown_only:
            assert main(["run", str(head.config), "--tree", str(head.folder), *out]) in (2, 4), name


def test_a_users_own_run_reads_no_special_file_either(
    chain: Chain, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Without a base and a tree: what the user links to by mistake is told, and does not hang."""
    chain.begin(with_every_kind)
    for name in ("sums.jsonl", "solved.jsonl", "sums.toml"):
        for place in ("a pipe", "a device without end", "memory of the process"):
            project = chain.checkout("mine")
            (project.folder / name).unlink()
            PLACES[place](project.folder / name)
            assert main(["run", str(project.config), "--out", str(tmp_path / "o"), "--quiet"]) == 2, (name, place)
            assert name.split(".")[0] in capsys.readouterr().err


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


@pytest.mark.parametrize(
    ("name", "size"),
    [("accuracy.toml", 300_000_000), ("sums.toml", 300_000_000), ("sums.jsonl", 3_000_000_000),
     ("shown.png", 300_000_000), ("references/m/sums.toml", 300_000_000),
     ("references/m/sums.scores.csv", 3_000_000_000)],
)  # fmt: skip
def test_a_rule_file_past_any_use_is_refused_by_its_size(chain: Chain, tmp_path: Path, name: str, size: int) -> None:
    chain.begin(with_every_kind)
    head, base = chain.checkout("head"), chain.checkout("base")
    sparse(head.folder / name, size)
    assert main(["run", str(head.config), "--base", str(base.config), "--out", str(tmp_path / "o"), "--quiet"]) == 2


def test_a_row_with_a_text_of_hundreds_of_megabytes_is_refused_by_its_line(
    chain: Chain, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from accgate.inputs import rows

    assert rows.ROW <= 100_000_000
    monkeypatch.setattr(rows, "ROW", 10_000)
    chain.begin()
    head, base = chain.checkout("head"), chain.checkout("base")
    text = json.dumps({"q": "x" * 20_000, "a": 1})
    (head.folder / "sums.jsonl").write_text("".join(json.dumps(row) + "\n" for row in questions(60)) + text + "\n")
    assert main(["run", str(head.config), "--base", str(base.config), "--quiet"]) == 2
    assert "sums.jsonl:61: is a line of 10,000 bytes or more" in capsys.readouterr().err


def test_the_lines_of_a_long_array_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """An array of 4,000 lines took 24 s: each line that could end it was parsed with all before it."""
    from accgate.inputs import toml

    parsed: list[int] = []
    loads = toml.tomllib.loads
    monkeypatch.setattr(toml.tomllib, "loads", lambda text: (parsed.append(len(text)), loads(text))[1])
    text = "[gate]\nlist = [\n" + "".join(f'  "] # {i}", # ]\n' for i in range(4000)) + "]\n[tasks]\nkey = 1\n"
    file = parsed_toml(Path("accuracy.toml"), text)
    assert (file.line(("gate", "list", 3999)), file.line(("tasks", "key"))) == (2, 4005)
    assert sum(parsed) < 3 * len(text)


def test_lines_are_right_whatever_closes_a_statement() -> None:
    text = (
        'a = """x]\n"" \\""" ] #\n"""""\n'
        "b = '''it''s ]\n'''' # '\n"
        'c = ["#", \'"\', # "\n {d = "]"}, ]\n'
        '"e]" = "}" # {\n'
        "[[f]]\ng = 1\n[[f]] # [\ng = [\n[1],\n]\n'h' = 2\n"
    )
    file = parsed_toml(Path("x.toml"), text)
    keys = {("a",): 1, ("b",): 4, ("c",): 6, ("e]",): 8, ("f", 0, "g"): 10, ("f", 1, "g"): 12, ("f", 1, "h"): 15}
    assert {key: file.line(key) for key in keys} == keys


def test_a_dataset_of_a_parquet_bomb_is_refused_before_it_is_unpacked(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")

    from accgate.errors import BadInput
    from accgate.inputs import parquet as rows
    from accgate.tasks import read_rows

    path = tmp_path / "rows.parquet"
    parquet.write_table(pyarrow.table({"q": ["x" * 1000] * 5000}), path)
    assert path.stat().st_size < 100_000
    assert len(read_rows(path)) == 5000
    before, rows.MOST = rows.MOST, 1_000_000
    try:
        with pytest.raises(BadInput, match="unpacks to more than 1,000,000 bytes"):
            read_rows(path)
    finally:
        rows.MOST = before


def test_a_picture_that_is_no_plain_file_is_no_picture(chain: Chain, tmp_path: Path) -> None:
    chain.begin(with_every_kind)
    project = chain.checkout("mine")
    rows = [{**row, "picture": "/proc/self/pagemap"} for row in questions(60)]
    write_task(project.folder, "sums", rows, images=["picture"])
    assert main(["run", str(project.config), "--out", str(tmp_path / "o"), "--quiet"]) == 2
