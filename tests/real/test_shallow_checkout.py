"""The base of a checkout of depth one, fetched with the token from a git server that asks for it."""

from __future__ import annotations

import base64
import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.real.docker import OFFLINE, machine
from tests.support.gates import recorded_project, right_but
from tests.support.runner import TOKEN, commit, git

pytestmark = pytest.mark.container


class GitServer(BaseHTTPRequestHandler):
    """git over HTTP, by git's own http-backend, for those who have the token."""

    folder: Path
    asked: list[str]

    def do_GET(self) -> None:
        self.serve(b"")

    def do_POST(self) -> None:
        self.serve(self.rfile.read(int(self.headers["content-length"])))

    def serve(self, body: bytes) -> None:
        header = self.headers.get("authorization", "")
        self.asked.append(header)
        wanted = base64.b64encode(f"x-access-token:{TOKEN}".encode()).decode()
        if header.lower() != f"basic {wanted}".lower():
            self.send_response(401)
            self.send_header("www-authenticate", "Basic")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        variables = os.environ | {
            "GIT_PROJECT_ROOT": str(self.folder), "GIT_HTTP_EXPORT_ALL": "1", "PATH_INFO": path, "QUERY_STRING": query,
            "REQUEST_METHOD": self.command, "CONTENT_TYPE": self.headers.get("content-type", ""),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""), "CONTENT_LENGTH": str(len(body)),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
            "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
        }  # fmt: skip
        done = subprocess.run(["git", "http-backend"], input=body, env=variables, capture_output=True, check=True)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        self.send_response(200)
        for line in head.decode().split("\r\n"):
            name, _, value = line.partition(": ")
            if name != "Status":
                self.send_header(name, value)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        return


@pytest.fixture
def git_server(tmp_path: Path) -> Iterator[ThreadingHTTPServer]:
    handler = type("Handler", (GitServer,), {"folder": tmp_path, "asked": []})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


def test_a_checkout_of_depth_one_without_credentials_gets_its_base(
    image: str, tmp_path: Path, git_server: ThreadingHTTPServer
) -> None:
    source, bare = tmp_path / "source", tmp_path / "octo/models"
    source.mkdir()
    project = recorded_project(source, 200)
    base = commit(source, "base")
    project.answer(right_but(12))
    for number in range(3):
        commit(source, f"head {number}")
    subprocess.run(["git", "clone", "--quiet", "--bare", str(source), str(bare)], check=True)
    git(bare, "config", "uploadpack.allowAnySHA1InWant", "true")
    with machine() as runner:
        subprocess.run(["git", "clone", "--quiet", "--depth=1", f"file://{bare}", str(runner.workspace)], check=True)
        git(runner.workspace, "remote", "remove", "origin")
        arguments = runner.folder / "git-arguments"
        real = shutil.which("git")
        (runner.bin / "git").write_text(f'#!/bin/bash\necho "$@" >>{arguments}\nexec {real} "$@"\n')
        (runner.bin / "git").chmod(0o755)
        runner.own()
        url = f"http://127.0.0.1:{git_server.server_port}"
        done = runner.prepare(ACCGATE_BASE_SHA=base, GITHUB_SERVER_URL=url)
        assert done.code == 0, done.text
        assert not (runner.work / "exit-code").exists(), done.text
        assert (runner.work / "base/references/m/sums.toml").exists()
        assert (runner.work / "base/m.jsonl").read_text() != (runner.work / "head/m.jsonl").read_text()
        assert runner.evaluate(**OFFLINE, ACCGATE_BASE_SHA=base).code == 0
        assert json.loads((runner.work / "out/accgate.json").read_text())["verdict"] == "pass"
        left = subprocess.run(["grep", "-rl", TOKEN[4:], str(runner.temp), str(runner.workspace)], check=False)
        assert left.returncode == 1
        assert TOKEN not in arguments.read_text()
        assert TOKEN not in done.text
        refused = runner.prepare(ACCGATE_BASE_SHA=base, GITHUB_SERVER_URL=url, ACCGATE_TOKEN="")
        assert "cannot be fetched" in refused.text
        assert runner.exit_code == 3
