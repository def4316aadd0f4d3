"""A judge's command sees, of the repository, what its settings name and declare: anything else cannot mark unseen."""

import sys
from pathlib import Path

import pytest

from accgate.config.config import load_config
from accgate.errors import BadInput
from accgate.guard.base import within_tree
from accgate.sandbox import declared
from tests.support.gates import Project, questions, said, toml, write_lines, write_task
from tests.support.trees import effects, trees

# A judge that gives this MARK to all.
SERVER = """
import http.server, json, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.say({"data": [{"id": "strict"}]})
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": MARK}
        self.say({"id": "1", "model": "strict", "choices": [{"message": message, "finish_reason": "stop", "index": 0}]})
    def say(self, body):
        body = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""
# How a command comes to a file that no word of it names: the words, the files that they need, and that file.
WAYS: dict[str, tuple[list[str], dict[str, str], str]] = {
    "what a script starts": (
        ["bash", "run.sh", "{port}"], {"run.sh": f"exec {sys.executable} serve.py $1\n"}, "serve.py",
    ),
    "what code imports": (
        [sys.executable, "judge/server.py", "{port}"], {"judge/server.py": "import sys\nsys.path.insert(0, 'lib')\n"
         "import marks\n"}, "lib/marks.py",
    ),
    "the whole path": (
        [sys.executable, "judge/server.py", "{port}"],
        {"judge/server.py": "import runpy\nrunpy.run_path('ROOT/deep.py')\n"}, "deep.py",
    ),
}  # fmt: skip


def with_judge(project: Project, words: list[str], files: dict[str, str], *declare: str) -> None:
    for name, text in files.items():
        (project.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (project.folder / name).write_text(text)
    options = f'engine = "openai"\nmodel = "strict"\nfiles = {toml(declare)}\noptions.serve = {toml(words)}\n'
    project.config.write_text(f"{project.config.read_text()}[judges.strict]\n{options}")


def gate(folder: Path) -> Project:
    """A gate of two replies, each of which the judge may mark."""
    project = Project(folder, n=2)
    write_task(folder, "sums", questions(2), metric="judge", judge={"rubric": "{{ reply }}"})
    project.tasks["sums"] |= {"judge": "strict", "target": 0.0}
    project.write()
    write_lines(project.scores, [{"id": id_, "reply": "x"} for id_ in project.ids()])
    return project


def is_marked(project: Project, *more: str) -> bool:
    """Whether the judge gave all replies the best mark; else the run is refused."""
    code = project.run(args=more or ["--tree", str(project.folder)])
    assert code in (0, 2, 3, 4)
    return code in (0, 4) and bool(project.check["candidate"]["mean"] == 100.0)


MARKS = SERVER.replace("MARK", "'5'")


@pytest.fixture
def _landlock() -> None:
    if not declared.has_landlock():
        pytest.skip("this kernel has no Landlock")


@pytest.mark.usefixtures("_landlock")
@pytest.mark.parametrize("how", WAYS)
def test_a_file_that_no_word_of_a_judges_command_names_is_declared_or_not_there(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], how: str
) -> None:
    words, files, hidden = WAYS[how]
    files = {name: text.replace("ROOT", str(tmp_path)) for name, text in files.items()}
    files[hidden] = MARKS
    project = gate(tmp_path)
    with_judge(project, words, files)
    assert not is_marked(project)
    if how == "what code imports":  # Python says only that there is none
        assert "it can read only" in project.check["reasons"][0]
    else:
        text = said(capsys)
        assert f"{tmp_path}/{hidden}: the command of judge strict" in text
        assert f'add files = ["{hidden}"] to [judges.strict] of {project.config}' in text
    if how != "the whole path":  # it is declared by a name, and found where the command runs
        project.write()
        with_judge(project, words, files, hidden)
        assert is_marked(project)


@pytest.mark.usefixtures("_landlock")
def test_a_judges_command_reads_and_writes_what_lies_outside_of_the_repository(tmp_path: Path) -> None:
    """Weights, caches, devices: a server needs them, and no pull request changes them."""
    for number in range(1500):  # each neighbour of the checkout has a rule, and 1,500 fill no argument of 128 KiB
        (tmp_path / f"{number:0>100}").touch()
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "weights").write_text("5")
    (tmp_path / "cache").mkdir()
    code = "import os, pathlib, tempfile\nmade = pathlib.Path(tempfile.mkdtemp()) / 'made'\n"
    code += f"made.write_text(pathlib.Path({str(tmp_path / 'weights')!r}).read_text())\n"
    code += f"place = pathlib.Path({str(tmp_path / 'cache')!r}) / 'moved'\nos.rename(made, place)\n"
    project = gate(root)
    files = {"judge/server.py": code + SERVER.replace("MARK", "place.read_text()")}
    with_judge(project, [sys.executable, "-m", "judge.server", "{port}"], files)
    assert is_marked(project)


def test_a_judges_command_is_not_started_where_nothing_shuts_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declared, "has_landlock", lambda: False)
    project = gate(tmp_path)
    with_judge(project, [sys.executable, "serve.py", "{port}"], {"serve.py": MARKS})
    assert not is_marked(project)
    assert "Linux 5.13 or later" in project.check["reasons"][0]
    assert is_marked(project, "--quiet")  # on one's own machine


def test_what_the_command_of_a_judge_names_or_its_settings_declare_is_a_rule(tmp_path: Path) -> None:
    words = ["python", "-m", "judge.server", "--chat-template=judge.jinja", "--lora-modules", "mild=adapter", "run.sh"]
    named = ("judge.jinja", "judge/server.py", "judge/marks.py", "adapter/weights.bin", "run.sh")
    files = {
        **dict.fromkeys((*named, "serve.py", "lib/marks.py", "other.py"), ""),
        "judge/server.py": "from judge.marks import low\n",
    }
    pair = trees(tmp_path)
    for project in (pair.base, pair.head):
        with_judge(project, words, files, "serve.py", "lib")
    for name in (*named, "serve.py", "lib/marks.py", "lib/new.py", "other.py"):
        (pair.head.folder / name).write_text("low = 5")
        assert effects(pair.changes()) == ({} if name == "other.py" else {"judges.strict": "loosening"}), name
        pair = pair.again()


def test_a_declared_file_of_a_judge_does_not_leave_the_repository(tmp_path: Path) -> None:
    project = Project(tmp_path, n=2)
    for name in ("../base/run.sh", "/etc/hostname", "~/run.sh"):
        project.write()
        with_judge(project, ["bash", "run.sh"], {"run.sh": ""}, name)
        with pytest.raises(BadInput, match=name):
            within_tree(load_config(project.config), tmp_path)
