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
from accgate.guard.base import within_tree
from tests.attacks.chain import Chain, link
from tests.attacks.test_rule_files import PIXEL, add, ids_at, set_task
from tests.support.gates import Project, questions, right_but, said, write_lines, write_task
from tests.support.runner import commit

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


def test_the_folder_of_a_metric_counts_whole_and_what_is_declared(chain: Chain) -> None:
    """By whatever way the code comes to a file of it."""
    more = {"code/deep/words": "yes", "lib/words": "yes"}
    chain.begin(with_metric({**IMPORTING, **more}, declared=("lib",)))
    for change in (
        {"code/deep/words": "no"}, {"code/helper.py": ALWAYS}, {"code/deep/more/words": ""}, {"lib/words": "no"},
    ):  # fmt: skip
        ended = chain.pull(lambda head, change=change: write(head, change))
        assert (ended.rules, ended.is_green) == ({METRIC: "loosening"}, False), change
    ignored = {"code/__pycache__/mine.cpython-311.pyc": "x", "code/.DS_Store": "x", "other/mine.py": ALWAYS}
    assert chain.pull(lambda head: write(head, ignored)).is_green  # nor can it open these


def test_a_metric_beside_its_definition_is_its_file_and_what_is_declared(chain: Chain) -> None:
    """A change of another rule in that folder is no change of the metric."""
    code = BESIDE + "from helper import right\n" + SCORE
    chain.begin(with_metric({"mine.py": code, "helper.py": EQUAL}, metric="mine.py:score", declared=("helper.py",)))
    assert chain.pull(lambda head: write(head, {"helper.py": ALWAYS})).rules == {METRIC: "loosening"}
    assert chain.pull(lambda head: write(head, {"other.py": ALWAYS, "README.md": "new"})).is_green
    more = with_metric({"new.py": EQUAL}, metric="mine.py:score", declared=("helper.py", "new.py"))
    assert chain.pull(more).rules == {METRIC: "loosening", "tasks.sums: files": "loosening"}


def test_a_metric_reads_nothing_of_what_a_job_left_for_models(tmp_path: Path) -> None:
    """Rules are exported from commits; the workspace beside has what no commit holds."""
    (tmp_path / "head").mkdir()
    project = Project(tmp_path / "head", n=2)
    workspace = tmp_path / "work/repo/gates"
    workspace.mkdir(parents=True)
    (tmp_path / "work/repo/.git").mkdir()
    config = within_tree(replace(load_config(project.config), workspace=workspace), project.folder)
    assert config.trees == (project.folder, workspace, tmp_path / "work/repo")


def test_a_link_in_the_folder_of_a_metric_counts_by_what_it_leads_to(chain: Chain) -> None:
    def change(project: Project) -> None:
        with_metric({"code/mine.py": EQUAL + SCORE, "data/words": "yes"})(project)
        link(project.folder / "code/words", "../data/words")
        link(project.folder / "code/data", "../data")

    chain.begin(change)
    for name in ("data/words", "data/more"):
        assert chain.pull(lambda head, name=name: write(head, {name: "no"})).rules == {METRIC: "loosening"}
    for target in ("../../base/data/words", "/"):
        ended = chain.pull(lambda head, target=target: link(head.folder / "code/words", target))
        assert (ended.run, ended.is_green) == (2, False), target


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


def test_compiled_code_that_comes_before_or_instead_of_a_helper_is_a_rule(chain: Chain) -> None:
    either = "try:\n    from helper import right\nexcept ImportError:\n    from other import right\n"
    chain.begin(with_metric({"code/mine.py": BESIDE + either + SCORE, "code/other.py": EQUAL}))
    ended = chain.pull(lambda head: compiled(ALWAYS, head.folder / "code/helper.pyc"))
    assert ended.rules == {METRIC: "loosening"}
    native = "code/other.cpython-311-x86_64-linux-gnu.so"  # Python takes it before other.py
    assert chain.pull(lambda head: write(head, {native: "elf"})).rules == {METRIC: "loosening"}


COMPUTED = "(pathlib.Path(__file__).parents[1] / 'data' / ''.join(['wor', 'ds'])).read_text()\n"
DATABASE = "    sqlite3.connect('data/words.db').execute('create table if not exists a (b int)')\n"


@pytest.mark.parametrize(
    "code",
    [f"{COMPUTED}{EQUAL}{SCORE}", EQUAL + SCORE.replace("\n", f"\n{DATABASE}", 1)],
    ids=["as it is loaded", "as it scores"],
)
def test_a_metric_opens_no_file_of_the_repository_that_is_no_part_of_it(
    chain: Chain, capsys: pytest.CaptureFixture[str], code: str
) -> None:
    """Another pull request could change it unseen. Other ways to open one are in tests/sandbox/test_declared.py."""
    files = {"code/mine.py": f"{BESIDE}import sqlite3\n{code}", "data/words": "yes", "data/words.db": ""}
    with_metric(files)(chain.project)
    reply(chain.project)
    commit(chain.repository)
    project = chain.checkout("main")
    capsys.readouterr()
    assert project.run(args=["--tree", str(project.folder)]) == 2
    text = said(capsys)
    assert "the metric code/mine.py:score opens this file, which is not part of it; add files = [" in text
    assert f"to {project.folder / 'sums.toml'}" in text


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
    assert "of the repository it can import only its own files" in said(capsys)


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
    assert "the files beside the metric's code changed" in capsys.readouterr().err


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


def test_a_picture_that_a_row_names_is_a_rule(chain: Chain) -> None:
    chain.begin(with_pictures)
    for change in (
        lambda head: (head.folder / "shown/1.png").write_bytes(PIXEL + b"another"),
        lambda head: (head.folder / "shown/1.png").write_bytes((head.folder / "shown/2.png").read_bytes()),
        lambda head: link(head.folder / "shown/1.png", "2.png"),
    ):
        ended = chain.pull(change)
        assert ended.rules["tasks.sums: pictures"] == "loosening"
        assert not ended.is_green
    assert chain.pull(lambda head: (head.folder / "shown/9.png").write_bytes(PIXEL)).is_green


def test_pictures_are_rules_where_the_rows_come_from_a_file_that_accuracy_toml_names(chain: Chain) -> None:
    def ids(_: str = "sums") -> list[str]:
        folder = chain.project.folder
        return ids_at(folder / "sums.toml", dataset=folder / "rows/sums.jsonl")

    def change(project: Project) -> None:
        with_pictures(project)
        (project.folder / "rows").mkdir()
        shutil.move(project.folder / "shown", project.folder / "rows/shown")
        shutil.copy(project.folder / "sums.jsonl", project.folder / "rows/sums.jsonl")
        set_task(project, dataset="rows/sums.jsonl")
        project.ids = ids  # type: ignore[method-assign]

    chain.begin(change)
    ended = chain.pull(lambda head: (head.folder / "rows/shown/1.png").write_bytes(PIXEL + b"another"))
    assert ended.rules["tasks.sums: pictures"] == "loosening"


def test_a_file_named_like_an_encoded_picture_does_not_take_its_place_unseen(chain: Chain) -> None:
    text = base64.b64encode(PIXEL).decode().replace("/", "A")
    assert "/" not in text

    def change(project: Project) -> None:
        write_task(project.folder, "sums", [{**row, "picture": text} for row in questions(60)], images=["picture"])

    chain.begin(change)
    ended = chain.pull(lambda head: (head.folder / text).write_bytes(PIXEL + b"another"))
    assert ended.rules["tasks.sums: pictures"] == "loosening"


# --- other files that decide ---


def test_a_judges_weights_in_the_repository_and_the_comments_template_are_rules(chain: Chain) -> None:
    def change(project: Project) -> None:
        write(project, {"judge.gguf": "weights", "comment.j2": '{% extends "comment.md.j2" %}'})
        add(project, '[judges.strict]\nengine = "llamacpp"\nmodel = "judge.gguf"\n')
        add(project, '[report]\ntemplate = "comment.j2"\n')

    chain.begin(change)
    for name, rule in (("judge.gguf", "judges.strict"), ("comment.j2", "report.template")):
        ended = chain.pull(lambda head, name=name: write(head, {name: "All is well."}))
        assert ended.rules == {rule: "loosening"}


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
    notes = [reason for reason in project.check["reasons"] if "earlier replies are not shown" in reason]
    assert len(notes) == (how != "nothing")
    assert project.check["verdict"] == "regression"


def test_replies_that_a_report_shows_are_not_replaced_unseen(chain: Chain) -> None:
    chain.begin()
    rule = "references: m/sums (replies)"
    rows = [{"id": "a", "repeat": 0, "reply": "It was always wrong."}]
    ended = chain.pull(lambda head: replies_of(head).write_bytes(packed(rows)))
    assert ended.rules == {rule: "loosening"}
    assert not ended.is_green
    assert chain.pull(lambda head: replies_of(head).unlink()).rules == {rule: "loosening"}
