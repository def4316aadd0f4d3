"""What a rule uses is the rule: code that a metric imports, files that it names, pictures, a reference's replies."""

import base64
import gzip
import importlib.util
import json
import py_compile
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.base import within_tree
from tests.attacks.chain import Chain, link
from tests.attacks.test_rule_files import PIXEL, ids_at, set_task
from tests.support.gates import Project, questions, right_but, said, write_lines, write_task
from tests.support.runner import commit
from tests.support.trees import Trees, effects, trees

METRIC = "tasks.sums: metric"
EQUAL = "def right(answer, target):\n    return answer.strip() == target\n"
ALWAYS = "def right(answer, target):\n    return True\n"
LAZY = "def score(answer, target):\n    from helper import right\n    return 100.0 * right(answer, target)\n"
SCORE = "def score(answer, target):\n    return 100.0 * right(answer, target)\n"
BESIDE = "import sys, pathlib\nsys.path.insert(0, str(pathlib.Path(__file__).parent))\n"


def write(project: Project, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = project.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


IMPORTING = {"code/mine.py": BESIDE + "from helper import right\n" + SCORE, "code/helper.py": EQUAL}


def with_metric(
    files: dict[str, str] = IMPORTING, *, metric: str = "code/mine.py:score", declared: tuple[str, ...] = ()
) -> Callable[[Project], None]:
    """A change that gives the project's task a metric of these files."""

    def change(project: Project) -> None:
        write(project, files)
        write_task(project.folder, "sums", questions(60), metric=metric, files=declared)

    return change


@pytest.fixture
def pair(tmp_path: Path) -> Trees:
    """A base, and a head that is its copy."""
    return trees(tmp_path, n=60)


def rules_after(pair: Trees, change: Callable[[Project], object]) -> dict[str, str]:
    """The rules that a head with this change alone changes, each with its effect."""
    pair = pair.again()
    change(pair.head)
    return effects(pair.changes())


def test_the_folder_of_a_metric_counts_whole_and_what_is_declared(pair: Trees) -> None:
    """By whatever way the code comes to a file of it."""
    more = {"code/deep/words": "yes", "lib/words": "yes"}
    with_metric({**IMPORTING, **more}, declared=("lib",))(pair.base)
    for change in (
        {"code/deep/words": "no"}, {"code/helper.py": ALWAYS}, {"code/deep/more/words": ""}, {"lib/words": "no"},
        # Python takes compiled and native code without a look at the source.
        {"code/other.pyc": "x"}, {"code/helper.cpython-311-x86_64-linux-gnu.so": "elf"},
    ):  # fmt: skip
        assert rules_after(pair, lambda head, change=change: write(head, change)) == {METRIC: "loosening"}, change
    ignored = {"code/__pycache__/mine.cpython-311.pyc": "x", "code/.DS_Store": "x", "other/mine.py": ALWAYS}
    assert rules_after(pair, lambda head: write(head, ignored)) == {}  # nor can it open these


def test_a_metric_beside_its_definition_is_its_file_and_what_is_declared(pair: Trees) -> None:
    """A change of another rule in that folder is no change of the metric."""
    code = BESIDE + "from helper import right\n" + SCORE
    with_metric({"mine.py": code, "helper.py": EQUAL}, metric="mine.py:score", declared=("helper.py",))(pair.base)
    assert rules_after(pair, lambda head: write(head, {"helper.py": ALWAYS})) == {METRIC: "loosening"}
    assert rules_after(pair, lambda head: write(head, {"other.py": ALWAYS, "README.md": "new"})) == {}
    more = with_metric({"new.py": EQUAL}, metric="mine.py:score", declared=("helper.py", "new.py"))
    assert rules_after(pair, more) == {METRIC: "loosening", "tasks.sums: files": "loosening"}


def test_a_metric_reads_nothing_of_what_a_job_left_for_models(tmp_path: Path) -> None:
    """Rules are exported from commits; the workspace beside has what no commit holds."""
    (tmp_path / "head").mkdir()
    project = Project(tmp_path / "head", n=2)
    workspace = tmp_path / "work/repo/gates"
    workspace.mkdir(parents=True)
    (tmp_path / "work/repo/.git").mkdir()
    config = within_tree(replace(load_config(project.config), workspace=workspace), project.folder)
    assert config.trees == (project.folder, workspace, tmp_path / "work/repo")


def test_a_link_in_the_folder_of_a_metric_counts_by_what_it_leads_to(pair: Trees) -> None:
    with_metric({"code/mine.py": EQUAL + SCORE, "data/words": "yes"})(pair.base)
    link(pair.base.folder / "code/words", "../data/words")
    link(pair.base.folder / "code/data", "../data")
    for name in ("data/words", "data/more"):
        assert rules_after(pair, lambda head, name=name: write(head, {name: "no"})) == {METRIC: "loosening"}
    for target in ("../../base/data/words", "/"):
        with pytest.raises(BadInput, match="code/words: leads"):
            rules_after(pair, lambda head, target=target: link(head.folder / "code/words", target))


def compiled(text: str, target: Path) -> None:
    """Compiled code that Python would take without a look at its source."""
    source = target.parent / "source.py"
    target.parent.mkdir(parents=True, exist_ok=True)
    source.write_text(text)
    py_compile.compile(str(source), str(target), invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
    source.unlink()


def reply(project: Project, text: str = "no number") -> None:
    """The model says this to everything, and is compared with a target."""
    write_lines(project.scores, [{"id": id_, "reply": text} for id_ in ids_at(project.folder / "sums.toml")])
    set_task(project, target=50.0)


def test_compiled_code_beside_a_metric_or_its_helper_never_scores(chain: Chain) -> None:
    chain.begin(with_metric())
    project = chain.checkout("main")
    for name, text in (("mine", ALWAYS + SCORE), ("helper", ALWAYS)):
        compiled(text, Path(importlib.util.cache_from_source(str(project.folder / f"code/{name}.py"))))
    reply(project)
    project.run(args=["--tree", str(project.folder)])
    assert project.check["candidate"]["mean"] == 0.0


def test_a_metric_opens_no_file_of_the_repository_that_is_no_part_of_it(
    chain: Chain, capsys: pytest.CaptureFixture[str]
) -> None:
    """Another pull request could change it unseen. Other ways to open one are in tests/sandbox/test_declared.py."""
    computed = "(pathlib.Path(__file__).parents[1] / 'data' / ''.join(['wor', 'ds'])).read_text()\n"
    with_metric({"code/mine.py": BESIDE + computed + EQUAL + SCORE, "data/words": "yes"})(chain.project)
    reply(chain.project)
    commit(chain.repository)
    project = chain.checkout("main")
    capsys.readouterr()
    assert project.run(args=["--tree", str(project.folder)]) == 2
    text = said(capsys)
    assert "code/mine.py:score opens this file" in text
    assert f'add files = ["data/words"] to {project.folder / "sums.toml"}' in text


def test_a_module_metric_is_never_loaded_from_a_checkout(
    chain: Chain, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An editable installation of the head's package would let the head score itself."""
    chain.begin()
    base, head = chain.checkout("base"), chain.checkout("head")
    for side in (base, head):
        with_metric({"mine_of_chain.py": EQUAL + SCORE}, metric="mine_of_chain:score")(side)
        set_task(side, target=50.0)
    monkeypatch.syspath_prepend(str(head.folder))
    assert main(["run", str(head.config), "--base", str(base.config), "--out", "o", "--quiet"]) == 2
    assert "import only its own files" in said(capsys)


def test_the_heads_helper_of_the_same_name_never_scores_for_the_base(chain: Chain) -> None:
    """Both metrics live in one process, and Python keeps one module a name."""
    chain.begin(with_metric({"code/mine.py": BESIDE + LAZY, "code/helper.py": EQUAL}))
    base, head = chain.checkout("base"), chain.checkout("head")
    write(head, {"code/mine.py": BESIDE + "import helper\n" + BESIDE + LAZY, "code/helper.py": ALWAYS})
    for side in (base, head):
        reply(side)
    assert head.run(args=["--base", str(base.config)]) == 1
    assert head.check["candidate"]["mean"] == 0.0


def test_a_reference_knows_the_code_that_its_metric_imports(chain: Chain, capsys: pytest.CaptureFixture[str]) -> None:
    chain.begin(with_metric())
    assert chain.main() == 0
    chain.pull(lambda head: write(head, {"code/helper.py": ALWAYS}))
    chain.merge()
    assert chain.main() == 2
    assert "files beside the metric's" in capsys.readouterr().err


def test_a_reference_of_an_earlier_version_stays_usable(chain: Chain) -> None:
    chain.begin(with_metric())
    path = chain.project.store / "m/sums.toml"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(line for line in lines if not line.startswith("files = ")))
    commit(chain.repository)
    assert chain.main() == 0


# --- pictures ---


def with_pictures(project: Project) -> None:
    rows = [{**row, "picture": f"shown/{i % 3}.png"} for i, row in enumerate(questions(60))]
    (project.folder / "shown").mkdir()
    for number in range(3):
        (project.folder / f"shown/{number}.png").write_bytes(PIXEL + bytes([number]))
    write_task(project.folder, "sums", rows, images=["picture"])


PICTURES = {"tasks.sums: pictures": "loosening"}


def test_a_picture_that_a_row_names_is_a_rule(pair: Trees) -> None:
    with_pictures(pair.base)
    for change in (
        lambda head: (head.folder / "shown/1.png").write_bytes(PIXEL + b"another"),
        lambda head: (head.folder / "shown/1.png").write_bytes((head.folder / "shown/2.png").read_bytes()),
        lambda head: link(head.folder / "shown/1.png", "2.png"),
    ):
        assert rules_after(pair, change) == PICTURES
    assert rules_after(pair, lambda head: (head.folder / "shown/9.png").write_bytes(PIXEL)) == {}


def test_pictures_are_rules_where_the_rows_come_from_a_file_that_accuracy_toml_names(pair: Trees) -> None:
    with_pictures(pair.base)
    rows = pair.base.folder / "rows"
    rows.mkdir()
    shutil.move(pair.base.folder / "shown", rows)
    shutil.copy(pair.base.folder / "sums.jsonl", rows)
    set_task(pair.base, dataset="rows/sums.jsonl")
    assert rules_after(pair, lambda head: (head.folder / "rows/shown/1.png").write_bytes(PIXEL + b"more")) == PICTURES


def test_a_file_named_like_an_encoded_picture_does_not_take_its_place_unseen(pair: Trees) -> None:
    text = base64.b64encode(PIXEL).decode().replace("/", "A")
    write_task(pair.base.folder, "sums", [{**row, "picture": text} for row in questions(60)], images=["picture"])
    assert rules_after(pair, lambda head: (head.folder / text).write_bytes(PIXEL + b"another")) == PICTURES


# --- replies of a reference: shown, and never deciding ---


def replies_of(project: Project) -> Path:
    return project.store / "m/sums.replies.jsonl.gz"


def packed(rows: list[object]) -> bytes:
    return gzip.compress("".join(json.dumps(row) + "\n" for row in rows).encode())


DAMAGED = {
    "no gzip": b"anything",
    "cut off": gzip.compress(b'{"id": "a", "repeat": 0, "reply": "x"}\n')[:-6],
    "rows of other types": packed([{"id": ["a"], "repeat": "first", "reply": {"a": 1}}]),
    "nested without end": gzip.compress(b"[" * 100_000),
    "a bomb of one line": gzip.compress(bytes(70_000_000), 1),
    "nothing": b"",
}


@pytest.mark.parametrize("how", DAMAGED)
def test_replies_of_a_reference_that_are_damaged_stop_nothing_and_the_report_says_so(chain: Chain, how: str) -> None:
    chain.begin()
    replies_of(chain.project).write_bytes(DAMAGED[how])
    commit(chain.repository)
    assert chain.main() == 0
    project = chain.checkout("main")
    assert project.run(right_but(20, 60)) == 1
    notes = [reason for reason in project.check["reasons"] if "replies are not shown" in reason]
    assert len(notes) == (how != "nothing")
    assert project.check["verdict"] == "regression"
