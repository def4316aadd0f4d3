"""`accgate view`: a run that goes on, followed by a real HTTP client, and who is refused."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import requests

from accgate.cli.main import main
from accgate.report.live.progress import Follower, checks_of
from accgate.report.live.server import Viewer
from tests.report.runs import Clock
from tests.support.gates import recorded_project, right_but, said

N = 40


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Viewer]:
    """A viewer of a folder in which nothing happened yet."""
    viewer = Viewer(Follower(tmp_path), clock=(clock := Clock()))
    thread = threading.Thread(target=viewer.serve, daemon=True)
    thread.start()
    yield viewer
    clock.now = 1e9
    thread.join(120)
    assert not thread.is_alive()


@pytest.mark.slow
def test_the_command_follows_a_run_to_its_report(tmp_path: Path) -> None:
    project = recorded_project(tmp_path, N)
    assert project.run(right_but(N, N)) == 1
    records, result = project.out / "m/sums.jsonl", project.out / "accgate.json"
    lines, decided = records.read_text().splitlines(keepends=True), result.read_bytes()
    result.unlink()
    records.write_text("".join(lines[:10]))
    command = [sys.executable, "-m", "accgate", "view", str(project.out), "--no-browser", "--config", project.config]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as view, ExitStack() as stack:
        stack.callback(view.kill)
        assert view.stdout is not None
        url = view.stdout.readline().strip()

        def shown(name: str) -> requests.Response:
            return requests.get(f"{url}{name}", timeout=120)

        assert "Not yet decided." in shown("").text
        state = shown("state").json()
        assert (state["finished"], state["checks"][0]["done"], state["checks"][0]["total"]) == (False, 10, N)
        assert shown("report").status_code == 404
        records.write_text("".join(lines))
        result.write_bytes(decided)
        state = shown("state").json()
        assert (state["finished"], state["checks"][0]["done"], state["checks"][0]["difference"]) == (True, N, "-75.00")
        assert shown("").text == shown("report").text
        assert "Not yet decided." not in shown("").text
        view.send_signal(signal.SIGINT)
        assert view.wait(120) == 0


def test_without_token_from_another_host_or_origin_and_by_other_paths_nothing_is_shown(served: Viewer) -> None:
    (served.follower.folder / "secret.txt").write_text("sesame")
    port = urlsplit(served.url).port
    base = f"http://127.0.0.1:{port}"
    session = requests.Session()
    for url, headers, status in (
        (f"{base}/state", {}, 403), (f"{base}/{served.token[:-1]}/", {}, 403),
        (f"{base}/{served.token}x/state", {}, 403), (served.url, {"Host": f"evil.example:{port}"}, 403),
        (served.url, {"Origin": "http://evil.example"}, 403), (served.url, {"Origin": "null"}, 403),
        (f"{served.url}secret.txt", {}, 404), (f"{served.url}../secret.txt", {}, 404),
        (f"{served.url}%2e%2e/%2e%2e/etc/passwd", {}, 404), (f"{base}/{served.token}//etc/passwd", {}, 404),
    ):  # fmt: skip
        request = requests.Request("GET", url, headers=headers).prepare()
        request.url = url  # as it is written: requests would resolve the dots
        answer = session.send(request, timeout=120)
        assert answer.status_code == status, (url, headers)
        assert not [text for text in ("sesame", "root:", served.token) if text in answer.text]
    assert requests.post(served.url, timeout=120).status_code == 501
    assert requests.get(served.url.replace("127.0.0.1", "localhost"), timeout=120).status_code == 200


def test_what_is_shown_may_be_kept_framed_and_read_by_nobody_else(served: Viewer) -> None:
    answer = requests.get(served.url, timeout=120)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    nonce = re.search(r"script-src 'nonce-([^']+)'", policy)
    assert nonce
    assert answer.text.count(f'nonce="{nonce[1]}"') == 2
    assert "unsafe" not in policy
    assert (answer.headers["Referrer-Policy"], answer.headers["Cache-Control"]) == ("no-referrer", "no-store")
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_it_ends_by_itself_when_nobody_looks_and_later_where_the_run_is_over(tmp_path: Path) -> None:
    for seconds, visited, finished, ends in (
        (200.0, True, False, True),  # the browser has gone
        (200.0, False, False, False),  # nobody has opened it yet
        (200.0, True, True, False),  # the report is being read
        (700.0, False, False, True),
        (700.0, True, True, True),
    ):
        clock = Clock()
        viewer = Viewer(Follower(tmp_path), idle=600.0, clock=clock)
        (tmp_path / "accgate.json").unlink(missing_ok=True)
        if finished:
            (tmp_path / "accgate.json").write_text("{}")
        if visited:
            viewer.note_visit()
        clock.now = seconds
        thread = threading.Thread(target=viewer.serve, daemon=True)
        thread.start()
        thread.join(120.0 if ends else 0.5)
        assert thread.is_alive() is not ends, (seconds, visited, finished)
        clock.now = 1e9
        thread.join(120)


def test_records_that_are_damaged_or_hostile_are_told_and_not_run(tmp_path: Path, capsys) -> None:
    project = recorded_project(tmp_path, N)
    assert project.run(right_but(10, N)) == 0
    (project.out / "accgate.json").unlink()
    follower = Follower(project.out)
    (standing,) = follower.look()
    assert (standing.name, standing.done, standing.total, standing.difference) == ("m / sums", N, N, None)
    viewer = Viewer(follower)
    with (project.out / "m/sums.jsonl").open("a") as file:
        file.write('{"id": "<script>"}\n')
    state = viewer.state()
    viewer.server_close()
    assert "is not a run record" in state["fault"]
    assert state["finished"] is False
    assert main(["view", str(tmp_path / "gone")]) == 2
    assert "start a run, or name the folder" in said(capsys)
    assert main(["view", str(project.out), "--minutes", "0"]) == 2


def test_the_difference_is_that_of_the_fixed_order_without_gaps(tmp_path: Path) -> None:
    project = recorded_project(tmp_path, N)
    ids = project.ids()
    checks, fault = checks_of(project.config)
    assert fault is None
    assert project.run(right_but(20, N)) == 1
    path = project.out / "m/sums.jsonl"
    lines = {id_: line for line in path.read_text().splitlines() for id_ in ids if f'"{id_}"' in line}
    path.write_text("".join(f"{lines[id_]}\n" for id_ in [*ids[:12], *ids[30:]]))
    follower = Follower(project.out, checks)
    (standing,) = follower.look()
    assert (standing.done, standing.total, standing.first) == (22, N, 12)
    assert standing.difference == "-16.67"  # 2 of the first 12 were right before
    path.write_text("".join(f"{line}\n" for line in path.read_text().splitlines()[:3]))
    assert follower.look()[0].done == 3, "a run that begins again is read from its beginning"
