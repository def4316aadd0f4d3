"""Code of a metric sees the files alone that it consists of, with Landlock and where the kernel has none."""

import sqlite3
from collections.abc import Mapping
from pathlib import Path

import pytest

from accgate.errors import CannotEvaluate
from accgate.metrics import Metric
from accgate.metrics.code import code_files
from accgate.sandbox import declared
from accgate.sandbox.declared import Code
from accgate.tasks.definition import own_metric

HEAD = "import importlib, importlib.util, mmap, os, pathlib, sqlite3, subprocess, sys, threading\n"
HERE = "HERE = pathlib.Path(__file__).resolve().parent\nROOT = HERE.parent\nDATA = ROOT / 'data'\n"


def indented(body: str) -> str:
    return "".join(f"    {line}\n" for line in body.splitlines())


def repository(folder: Path, body: str, *, level: int = 50, more: str = "") -> Path:
    """A repository with a metric in code/, and data of every form beside that folder."""
    root = folder / "repository"
    for name in ("code", "data", "gates"):
        (root / name).mkdir(parents=True, exist_ok=True)
    (root / "code/mine.py").write_text(f"{HEAD}{HERE}{more}def score(answer, target):\n{indented(body)}")
    (root / "data/level").write_text(str(level))
    (root / "data/more.py").write_text(f"LEVEL = {level}\n")
    for old in (root / "data").glob("*.db"):
        old.unlink()
    with sqlite3.connect(root / "data/level.db") as base:
        base.execute("create table levels (level int)")
        base.execute(f"insert into levels values ({level})")
    (root / f"data/only{level}").touch()
    (root / f"data/only{150 - level}").unlink(missing_ok=True)
    (root / "data/size").write_text(" " * level)
    return root


def metric_of(root: Path, *files: str, trees: tuple[Path, ...] | None = None) -> Metric:
    gates = root / "gates"
    own = code_files(gates / "../code/mine.py", gates, files)
    code = Code("the metric", own, (root,) if trees is None else trees, str(gates / "sums.toml"), gates)
    return own_metric("../code/mine.py:score", code)


def points(root: Path, *files: str, trees: tuple[Path, ...] | None = None) -> float:
    return metric_of(root, *files, trees=trees)("4", "4")


# Ways to read data of the repository; each gives the level, and names the file or folder that it reads.
WAYS: Mapping[str, tuple[str, str]] = {
    "open": ("return float((ROOT / ''.join(['da', 'ta']) / 'level').read_text())", "data/level"),
    "sqlite3": (
        "base = sqlite3.connect(f'file:{DATA}/level.db?mode=ro', uri=True)\n"
        "return float(base.execute('select * from levels').fetchone()[0])", "data/level.db",
    ),
    "a thread": (
        "found = []\nthread = threading.Thread(target=lambda: found.append((DATA / 'level').read_text()))\n"
        "thread.start()\nthread.join()\nreturn float(found[0])", "data/level",
    ),
    "a shell": ("return float(subprocess.check_output(f'cat < {DATA}/level', shell=True))", "data/level"),
    "listdir": ("return float(next(n for n in os.listdir(DATA) if n.startswith('only'))[4:])", "data"),
    "stat": ("return float(os.stat(DATA / 'size').st_size)", "data/size"),
    "a descriptor of the folder": (
        "folder = os.open(DATA, os.O_RDONLY)\nreturn float(os.read(os.open('level', os.O_RDONLY, dir_fd=folder), 9))",
        "data",
    ),
    "a descriptor of the folder above": (
        "folder = os.open(HERE, os.O_RDONLY)\n"
        "return float(os.read(os.open('../data/level', os.O_RDONLY, dir_fd=folder), 9))", "data/level",
    ),
    "ctypes": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.fopen.restype = ctypes.c_void_p\n"
        "file = libc.fopen(os.fsencode(DATA / 'level'), b'r')\nif not file:\n    raise OSError(str(DATA / 'level'))\n"
        "text = ctypes.create_string_buffer(9)\nlibc.fgets(text, 9, ctypes.c_void_p(file))\nreturn float(text.value)",
        "data/level",
    ),
    "the root of the process": ("return float(open(f'/proc/self/root{DATA}/level').read())", "data/level"),
    "a module": ("sys.path.insert(0, str(DATA))\nimport more\nreturn float(more.LEVEL)", "data"),
    "a link of its own": (
        "link = os.path.join(os.environ['HOME'], 'link')\nos.symlink(DATA / 'level', link)\n"
        "return float(open(link).read())", "data/level",
    ),
    "what was swallowed": (
        "try:\n    return float((DATA / 'level').read_text())\nexcept Exception:\n    return 0.0", "data/level",
    ),
}  # fmt: skip
UNSAID = ("stat", "a descriptor of the folder above")  # no event names what is not there


@pytest.fixture(params=["landlock", "no landlock"])
def kernel(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "landlock" and not declared.has_landlock():
        pytest.skip("this kernel has no Landlock")
    if request.param == "no landlock":
        monkeypatch.setattr(declared, "has_landlock", lambda: False)
    return str(request.param)


def outcome(root: Path) -> str:
    try:
        return str(points(root))
    except Exception as error:
        return f"{type(error).__name__}: {error}"


def is_refused(root: Path, kernel: str, file: str) -> None:
    end = outcome(root)
    assert end.startswith(("ReadsOutside", "CannotEvaluate")), end
    if kernel == "landlock":
        assert f"{root}/{file}: the metric opens this file" in end
        assert f'add files = ["../{file}"] to {root}/gates/sums.toml' in end


@pytest.mark.parametrize("how", WAYS)
def test_a_file_that_is_not_declared_changes_no_score(tmp_path: Path, kernel: str, how: str) -> None:
    body, file = WAYS[how]
    if how in UNSAID:
        ends = [outcome(repository(tmp_path, body, level=level)) for level in (50, 100)]
        assert ends[0] == ends[1]
        assert not ends[0].startswith(("50", "100"))
    else:
        is_refused(repository(tmp_path, body), kernel, file)


@pytest.mark.parametrize("how", ["open", "a shell", "listdir"])
def test_nor_does_it_by_its_whole_path(tmp_path: Path, kernel: str, how: str) -> None:
    """But for names, sizes and times (docs/security.md)."""
    body, file = WAYS[how]
    whole = f"ROOT = pathlib.Path({str(tmp_path / 'repository')!r})\nDATA, HERE = ROOT / 'data', ROOT / 'code'\n"
    is_refused(repository(tmp_path, whole + body), kernel, file)


def test_a_declared_file_is_read_in_any_way(tmp_path: Path) -> None:
    ways = "".join(f"def way{n}():\n{indented(body)}" for n, (body, _) in enumerate(WAYS.values()))
    metric = metric_of(repository(tmp_path, "return globals()[answer]()", more=ways), "../data")
    assert {how: metric(f"way{n}", "4") for n, how in enumerate(WAYS)} == dict.fromkeys(WAYS, 50.0)


def test_on_ones_own_machine_files_may_lie_anywhere(tmp_path: Path) -> None:
    assert points(repository(tmp_path, WAYS["open"][0]), trees=()) == 50.0


@pytest.mark.parametrize("by_whole_path", [False, True])
def test_nothing_of_another_checkout_is_read(tmp_path: Path, kernel: str, by_whole_path: bool) -> None:
    other = tmp_path / "head/level"
    other.parent.mkdir()
    other.write_text("50")
    name = f"pathlib.Path({str(other)!r})" if by_whole_path else "ROOT.parent / 'head/level'"
    root = repository(tmp_path, f"return float(({name}).read_text())")
    with pytest.raises(Exception, match="which is in another checkout" if by_whole_path else "No such file"):
        points(root, trees=(root, tmp_path / "head"))


def test_what_it_writes_is_gone_with_it(tmp_path: Path) -> None:
    body = "place = pathlib.Path(os.environ['TMPDIR']) / 'kept'\nplace.write_text('5')\nprint('no reply')\n"
    body += "return float(place.read_text()) + len(list(HERE.rglob('*.pyc')))"
    assert points(repository(tmp_path, body)) == 5.0
    assert points(repository(tmp_path, "(HERE / 'new').write_text('5')\nreturn 5.0"), trees=()) == 5.0
    with pytest.raises(Exception, match=r"new|Permission denied"):
        points(repository(tmp_path, "(HERE / 'newer').write_text('5')\nreturn 5.0"))


def test_variables_of_the_environment_are_no_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of the pull request's own workflow could set them: the process has a few that Python needs."""
    monkeypatch.setenv("LEVEL", "50")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    body = "return float(os.environ.get('LEVEL', 7)) + ('PYTHONPATH' in os.environ)"
    assert points(repository(tmp_path, body)) == 7.0
    assert points(repository(tmp_path, body), trees=()) == 51.0


@pytest.mark.parametrize("body", ["import numpy\nreturn 1.0", "os.fork()\nreturn 1.0"])
def test_without_landlock_what_opens_files_unseen_is_refused(tmp_path: Path, monkeypatch, body: str) -> None:
    root = repository(tmp_path, body)
    monkeypatch.setattr(declared, "has_landlock", lambda: False)
    with pytest.raises(
        CannotEvaluate, match=r"the metric (loads|calls) .* which cannot be confined here: run on Linux"
    ):
        points(root)


def test_a_pool_of_processes_and_a_library_work(tmp_path: Path) -> None:
    body = "import numpy, json, random, tempfile, ssl, zoneinfo\nssl.create_default_context()\n"
    body += "zoneinfo.ZoneInfo('UTC')\nwith tempfile.TemporaryFile() as file:\n    file.write(b'x')\n"
    body += "return float(subprocess.check_output([sys.executable, '-c', 'print(50)']))"
    assert points(repository(tmp_path, body)) == 50.0


@pytest.mark.parametrize("body", ["return float(answer)", "subprocess.run(['true', answer, target])\nreturn 5.0"])
def test_a_reply_that_is_the_name_of_a_file_opens_none(tmp_path: Path, body: str) -> None:
    metric = metric_of(repository(tmp_path, body))
    for reply in ("data", "data/level", "gates"):
        try:
            assert metric(reply, "4") == 5.0
        except Exception as error:
            assert type(error).__name__ == "ValueError"  # noqa: PT017 (a class of the code's own process)
