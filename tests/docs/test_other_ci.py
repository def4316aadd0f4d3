"""The files of docs/ci for GitLab, Jenkins and Buildkite: their linters, and their commands on a real repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from tests.support.cases import each
from tests.support.gates import Project, right_but
from tests.support.runner import ROOT, commit, load_yaml, posix_tools

pytestmark = posix_tools
FILES = ROOT / "docs/ci"
RUN = "ci/gate.sh run accuracy.toml accgate-out"
VERDICTS = {"healthy": (12, {}, 0), "regression": (60, {}, 1), "loosened rules": (12, {"alpha": 0.001}, 4)}


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone whose origin has references of 10 wrong answers in 200 on `main`."""
    origin = tmp_path / "origin"
    origin.mkdir()
    project = Project(origin)
    project.record(right_but(10))
    (origin / "ci").mkdir()
    shutil.copy(FILES / "gate.sh", origin / "ci")
    commit(origin, "base")
    subprocess.run(["git", "clone", "--quiet", f"file://{origin}", str(tmp_path / "clone")], check=True)
    return tmp_path / "clone"


@pytest.fixture
def stubs(tmp_path: Path) -> Path:
    """A folder with programs of the CI's machines."""
    folder = tmp_path / "bin"
    folder.mkdir()
    programs = {
        "docker": 'while [ "$1" != --entrypoint ]; do shift; done\nprogram=$2; shift 3\nexec "$program" "$@"',
        "buildkite-agent": 'echo "$*" >>annotated; cat >>annotated',
    }
    for name, text in programs.items():
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def sh(folder: Path, command: str, stubs: Path | None = None, **variables: str) -> subprocess.CompletedProcess[str]:
    path = [str(stubs)] * (stubs is not None) + [str(Path(sys.executable).parent), os.environ["PATH"]]
    given = os.environ | {"PATH": ":".join(path), "PYTHONPATH": str(ROOT)} | variables
    return subprocess.run(["sh", "-c", command], cwd=folder, env=given, capture_output=True, text=True, check=False)


@each(
    "command",
    [
        ("check-jsonschema", "--builtin-schema", "vendor.gitlab-ci", "gitlab-ci.yml"),
        ("check-jsonschema", "--builtin-schema", "vendor.buildkite", "buildkite.yml"),
        ("shellcheck", "gate.sh"),
    ],
)
def test_each_file_passes_its_linter(command: tuple[str, ...]) -> None:
    words = [str(Path(sys.executable).with_name(command[0])), *command[1:]]
    done = subprocess.run(words, cwd=FILES, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.parametrize("case", VERDICTS)
def test_buildkites_step_ends_as_the_gate_and_annotates(clone: Path, stubs: Path, case: str) -> None:
    wrong, gate, code = VERDICTS[case]
    project = Project(clone)
    project.write(**gate)
    project.answer(right_but(wrong))
    commit(clone, "head")
    project.write(alpha=0.5)  # in no commit, so no rule
    (step,) = load_yaml(FILES / "buildkite.yml")["steps"]
    done = sh(clone, step["command"].replace("$$", "$"), stubs, BUILDKITE_PULL_REQUEST_BASE_BRANCH="main")
    assert done.returncode == code, done.stderr
    assert "<testsuite" in (clone / "accgate-out/junit.xml").read_text()
    style = {0: "success", 1: "error", 4: "warning"}[code]
    annotated = (clone / "annotated").read_text()
    assert f"--style {style}" in annotated
    assert ("Regression" in annotated, "`gate.alpha`" in annotated) == (case == "regression", case == "loosened rules")


def test_what_cannot_be_evaluated_never_ends_as_a_regression(clone: Path) -> None:
    assert sh(clone, "ci/gate.sh trees gone").returncode == 3
    shutil.rmtree(clone / "accgate-trees")
    assert sh(clone, "ci/gate.sh run").returncode == 3
    assert sh(clone, "ci/gate.sh").returncode == 2


def test_a_branch_without_rules_leaves_them_to_the_commit(clone: Path, stubs: Path) -> None:
    (stubs / "accgate").write_text('#!/bin/sh\necho "$PWD" "$@"\n')
    (stubs / "accgate").chmod(0o755)
    trees = clone / "accgate-trees"
    cases = {"accuracy.toml": f"--base {trees}/base/accuracy.toml", "new/a.toml": f"--tree {trees}/head"}
    for config, rules in cases.items():
        done = sh(clone, f"ci/gate.sh trees main && ci/gate.sh run {config}", stubs)
        assert f"{trees}/empty run {trees}/head/{config} {rules} --workspace {(clone / config).parent}" in done.stdout
        assert ("has no new/a.toml" in done.stderr) == (config == "new/a.toml")


@pytest.fixture
def posts() -> Iterator[tuple[str, list[tuple[str, str | None, bytes]]]]:
    """A server's address, and the path, token and body of what is posted there."""
    found: list[tuple[str, str | None, bytes]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            found.append((self.path, self.headers["private-token"], body))
            self.send_response(201)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}", found
        server.shutdown()


def test_gitlabs_second_job_alone_has_the_token_and_posts_the_report(
    tmp_path: Path, posts: tuple[str, list[tuple[str, str | None, bytes]]]
) -> None:
    jobs = load_yaml(FILES / "gitlab-ci.yml")
    evaluate, report = jobs["accuracy"], jobs["accuracy-report"]
    assert evaluate["script"] == [RUN]
    assert "environment" not in evaluate
    assert "gate.sh" not in str(report)
    (tmp_path / "accgate-out").mkdir()
    (tmp_path / "accgate-out/comment.md").write_text('## "Passed" ✓\n')
    (command,) = report["script"]
    ci = {"CI_API_V4_URL": posts[0], "CI_PROJECT_ID": "7", "CI_MERGE_REQUEST_IID": "3", "ACCGATE_GITLAB_TOKEN": "t"}
    done = sh(tmp_path, command, POST_NOTE=jobs["variables"]["POST_NOTE"], no_proxy="*", **ci)
    assert done.returncode == 0, done.stderr
    assert posts[1] == [("/projects/7/merge_requests/3/notes", "t", b'{"body": "## \\"Passed\\" \\u2713\\n"}')]


def test_jenkins_runs_the_same_two_commands() -> None:
    text = (FILES / "Jenkinsfile").read_text()
    assert re.findall(r"'[^'\n]*(ci/gate\.sh [^'\n]*)'", text) == ['ci/gate.sh trees "$CHANGE_TARGET"', RUN]
    assert text.count("{") == text.count("}")
