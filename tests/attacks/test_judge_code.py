"""A judge's command sees, of the repository, what its settings name and declare: anything else cannot mark unseen."""

import asyncio
import json
import sys
from pathlib import Path

import pytest
import requests

from accgate.cli.main import main
from accgate.config.config import load_config
from accgate.engines.openai.engine import OpenAIEngine
from accgate.engines.openai.server import Server, free_port
from accgate.errors import BadInput, CannotEvaluate
from accgate.guard.base import within_tree
from accgate.planning.design import planned_judge
from accgate.sandbox import declared
from tests.attacks.chain import Chain
from tests.support.gates import Project, questions, toml, write_lines, write_task

SERVER = """
import http.server, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = {said}.encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *_):
        pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
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
    "a makefile": (["make", "PORT={port}"], {}, "Makefile"),
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


def said(project: Project, tree: Path) -> str:
    """What the judge's command answers, started as a run starts it."""
    engine = planned_judge(within_tree(load_config(project.config), tree), "strict").engine()
    assert isinstance(engine, OpenAIEngine)
    port = str(free_port())
    words = [word.replace("{port}", port) for word in engine._options.serve]
    server = Server(words, folder=project.folder, wall=engine._table.wall)

    def get() -> str:
        try:
            return requests.get(f"http://127.0.0.1:{port}/", timeout=5).text
        except requests.ConnectionError:
            return ""

    async def is_up() -> bool:
        return bool(get())

    async def ask() -> str:
        server.launch()
        try:
            await server.ready(is_up, 30)
            return get()
        finally:
            await server.stop()

    return asyncio.run(ask())


READS = SERVER.format(said="'read'")
MAKEFILE = f"all:\n\t{sys.executable} server.txt $(PORT)\n"
UNNAMED = ("a makefile", "what code imports")  # make and Python say only that there is none


@pytest.fixture
def _landlock() -> None:
    if not declared.has_landlock():
        pytest.skip("this kernel has no Landlock")


@pytest.mark.usefixtures("_landlock")
@pytest.mark.parametrize("how", WAYS)
def test_a_file_that_no_word_of_a_judges_command_names_is_declared_or_not_there(tmp_path: Path, how: str) -> None:
    words, files, hidden = WAYS[how]
    files = {name: text.replace("ROOT", str(tmp_path)) for name, text in files.items()}
    files |= {hidden: MAKEFILE if hidden == "Makefile" else READS, "server.txt": READS}
    project = Project(tmp_path, n=2)
    with_judge(project, words, files)
    with pytest.raises((BadInput, CannotEvaluate)) as refused:
        said(project, tmp_path)
    if how in UNNAMED:
        assert "it can read only those files of the repository" in str(refused.value)
    else:
        assert isinstance(refused.value, BadInput)
        assert f"{tmp_path}/{hidden}: the command of judge strict opens this file" in str(refused.value)
        assert f'add files = ["{hidden}"] to [judges.strict] of {project.config}' in str(refused.value)
    if how == "the whole path":
        return  # it is declared by a name, and found where the command runs
    project.write()
    with_judge(project, words, files, hidden, *(["server.txt"] if how == "a makefile" else []))
    assert said(project, tmp_path) == "read"


@pytest.mark.usefixtures("_landlock")
def test_a_judges_command_reads_and_writes_what_lies_outside_of_the_repository(tmp_path: Path) -> None:
    """Weights, caches, devices: a server needs them, and no pull request changes them."""
    root = tmp_path / "repository"
    root.mkdir()
    (tmp_path / "weights").write_text("weights")
    (tmp_path / "cache").mkdir()
    code = "import os, pathlib, tempfile\nmade = pathlib.Path(tempfile.mkdtemp()) / 'made'\n"
    code += f"made.write_text(pathlib.Path({str(tmp_path / 'weights')!r}).read_text())\n"
    code += f"place = pathlib.Path({str(tmp_path / 'cache')!r}) / 'moved'\nos.rename(made, place)\n"
    project = Project(root, n=2)
    files = {"judge/server.py": code + SERVER.format(said="place.read_text()")}
    with_judge(project, [sys.executable, "-m", "judge.server", "{port}"], files)
    assert said(project, root) == "weights"


def test_a_judges_command_is_not_started_where_nothing_shuts_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = Project(tmp_path, n=2)
    with_judge(project, [sys.executable, "serve.py", "{port}"], {"serve.py": READS})
    monkeypatch.setattr(declared, "has_landlock", lambda: False)
    with pytest.raises(CannotEvaluate, match=r"cannot be kept from other files .* Linux 5.13 or later with Landlock"):
        said(project, tmp_path)
    assert planned_judge(load_config(project.config), "strict").code is None  # on one's own machine


def test_what_the_command_of_a_judge_names_or_its_settings_declare_is_a_rule(chain: Chain) -> None:
    words = ["python", "-m", "judge.server", "--chat-template=judge.jinja", "--lora-modules", "mild=adapter", "run.sh"]
    named = ("judge.jinja", "judge/server.py", "judge/marks.py", "adapter/weights.bin", "run.sh")
    files = {
        **dict.fromkeys((*named, "serve.py", "lib/marks.py", "other.py"), ""),
        "judge/server.py": "from judge.marks import low\n",
    }
    chain.begin(lambda project: with_judge(project, words, files, "serve.py", "lib"))
    for name in (*named, "serve.py", "lib/marks.py", "lib/new.py"):
        ended = chain.pull(lambda head, name=name: (head.folder / name).write_text("low = 5"))
        assert ended.rules == {"judges.strict": "loosening"}, name
    assert chain.pull(lambda head: (head.folder / "other.py").write_text("low = 5")).rules == {}


def test_a_declared_file_of_a_judge_does_not_leave_the_repository(chain: Chain) -> None:
    chain.begin(lambda project: with_judge(project, ["bash", "run.sh"], {"run.sh": ""}))
    for name in ("../base/run.sh", "/etc/hostname", "~/run.sh"):
        ended = chain.pull(lambda head, name=name: declare(head, name))
        assert ended.run == 2, name


def declare(project: Project, name: str) -> None:
    project.config.write_text(project.config.read_text().replace("files = []", f"files = {json.dumps([name])}"))


MARKER = """
import http.server, json, pathlib, sys
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.say({"data": [{"id": "strict"}]})
    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        mark = pathlib.Path("lib/mark").read_text()
        message = {"role": "assistant", "content": mark}
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


@pytest.mark.usefixtures("_landlock")
def test_a_run_asks_a_judge_whose_command_sees_declared_files_alone(tmp_path: Path) -> None:
    for number in range(1500):  # each neighbour of the checkout has a rule, and 1,500 fill no argument of 128 KiB
        (tmp_path / f"{number:0>100}").touch()
    tree = tmp_path / "tree"
    tree.mkdir()
    project = Project(tree, n=4)
    write_task(tree, "sums", questions(4), metric="judge", judge={"rubric": "{{ reply }}"})
    project.tasks["sums"] |= {"judge": "strict", "target": 0.0}
    project.write()
    words = [sys.executable, "judge/serve.py", "{port}"]
    with_judge(project, words, {"judge/serve.py": MARKER, "lib/mark": "5"}, "lib")
    write_lines(project.scores, [{"id": id_, "reply": "x"} for id_ in project.ids()])
    assert main(["run", str(project.config), "--tree", str(tree), "--out", str(project.out), "--quiet"]) in (0, 4)
    assert project.check["candidate"]["mean"] == 100.0
