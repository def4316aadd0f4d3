"""Servers that accgate starts itself: real processes, waited for, and ended with everything they started."""

from __future__ import annotations

import asyncio
import functools
import json
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.cli.main import main
from accgate.engines.openai import server
from accgate.engines.openai.client import Client
from accgate.errors import BadInput, CannotEvaluate
from tests.engines.serving import (
    ANSWER,
    FAMILY,
    SERVING,
    TOY,
    asked,
    lives,
    made,
    own_environment,
    pids,
    script,
    written,
)
from tests.support.cases import each, refusal
from tests.support.servers import Fault, Server


@pytest.fixture(autouse=True)
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of logs."""
    (tmp_path / "temporary").mkdir()
    own_environment(tmp_path / "temporary", monkeypatch)
    monkeypatch.setattr(server, "POLL", 0.02)
    return tmp_path / "temporary"


@pytest.fixture(autouse=True)
def clock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The time that a server has to answer is over when it makes the file `over`, and not before."""
    over = tmp_path / "over"
    ready = functools.partialmethod(server.Server.ready, clock=lambda: 1e9 if over.exists() else 0.0)
    monkeypatch.setattr(server.Server, "ready", ready)


def test_a_server_is_started_asked_and_ended(tmp_path: Path, temporary: Path) -> None:
    code = FAMILY + SERVING
    seen: dict[str, int] = {}
    assert asked(made(tmp_path, script(tmp_path, code)), lambda: seen.update(pids(tmp_path))).text == ANSWER
    assert seen.keys() == {"leader", "plain", "away"}
    assert not any(map(lives, seen.values()))
    assert not [*temporary.iterdir()]


def test_a_server_that_loads_is_waited_for_and_its_output_kept_where_the_option_says(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "server.log").write_text("of an earlier run")
    assert asked(made(tmp_path, [*TOY, "0.5"], serve_log="logs/server.log")).text == ANSWER
    assert (tmp_path / "logs" / "server.log").read_text().split() == ["loading", "ready"]


def test_the_command_has_this_environment_and_the_configs_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PASSED_ON", "a value")
    code = "import json, os, sys; print(json.dumps([os.environ['PASSED_ON'], os.getcwd(), sys.argv[2:]])); sys.exit(1)"
    command = [*script(tmp_path, code), "$PASSED_ON; exit 0", '{"a": 1}', "p={port}"]
    with pytest.raises(CannotEvaluate):
        asked(made(tmp_path, command, serve_log="log"))
    value, folder, (shell, json_word, port) = json.loads((tmp_path / "log").read_text())
    assert (value, folder, shell, json_word) == ("a value", str(tmp_path), "$PASSED_ON; exit 0", '{"a": 1}')
    assert 1024 <= int(port.removeprefix("p=")) < 65536


def test_a_server_that_ends_while_it_loads_is_said_with_its_last_lines(tmp_path: Path, temporary: Path) -> None:
    code = r"""
    import sys
    print("\n".join(f"line {i}" for i in range(100)), flush=True)
    print("\x1b[31mValueError:\x1b[0m  no such   model", file=sys.stderr)
    sys.exit(7)
    """
    said = failure(tmp_path, code)
    lines = "line 96 | line 97 | line 98 | line 99 | ValueError: no such model"
    assert f"ended with exit code 7, before it answered; its last output: {lines} (log: " in said
    assert "\n" not in said
    log = Path(said.rpartition(" (log: ")[2].removesuffix(")"))
    assert log.parent == temporary
    assert log.read_text().startswith("line 0\nline 1\n")


def failure(folder: Path, code: str) -> str:
    """Why a server that runs this code cannot be used."""
    with pytest.raises(CannotEvaluate) as caught:
        asked(made(folder, script(folder, code)))
    return str(caught.value)


def test_a_cause_that_stands_far_above_the_last_lines_of_a_log_goes_before_them(tmp_path: Path) -> None:
    error, lines = "(EngineCore pid=7) ERROR [core.py:9] ValueError: ", [f"line {i}" for i in range(100)]
    end = "RuntimeError: Engine core initialization failed. See root cause above."
    log = tmp_path / "log"
    log.write_text("\n".join([f"{error}of a first try", f"{error}no memory", *lines, end]))
    assert server.last_lines(log) == ["ValueError: no memory", "...", *lines[-2:], end]


def test_a_key_in_a_servers_output_is_not_shown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "sk-secret")
    command = script(tmp_path, "import os, sys; sys.exit(os.environ['MY_KEY'])")
    with pytest.raises(CannotEvaluate, match=r"its last output: \*\*\* \(log"):
        asked(made(tmp_path, command, api_key_env="MY_KEY"))


def test_a_server_that_is_killed_while_it_loads_is_said_with_the_signal(tmp_path: Path) -> None:
    code = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"
    assert "was ended by SIGKILL, before it answered; its last output: nothing " in failure(tmp_path, code)


@pytest.mark.parametrize("deaf", [False, True])
def test_a_server_that_never_answers_is_given_up_and_ended_or_killed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, deaf: bool
) -> None:
    code = FAMILY + "print('still loading', flush=True)\nPath('over').touch()\ntime.sleep(600)"
    if deaf:
        monkeypatch.setattr(server, "GRACE", 0.2)
        code = "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + code
    with pytest.raises(CannotEvaluate, match=r"does not answer after 5 s; raise .*serve_timeout .*: still loading "):
        asked(made(tmp_path, script(tmp_path, code), serve_timeout=5))
    found = pids(tmp_path)
    assert len(found) == 3
    assert not any(map(lives, found.values()))


def test_a_server_may_clean_up_before_it_ends(tmp_path: Path) -> None:
    code = """
    import signal, sys, time
    from pathlib import Path
    def end(*_):
        time.sleep(0.3)
        Path("cleaned").touch()
        sys.exit()
    signal.signal(signal.SIGTERM, end)
    Path("over").touch()
    time.sleep(600)
    """
    assert "does not answer" in failure(tmp_path, code)
    assert (tmp_path / "cleaned").exists()


@each(
    ("health", "models", "up"),
    [
        (200, Fault(500), True),
        (503, {"data": []}, False),
        (405, {"data": []}, True),
        (404, Fault(503), False),
        (200, Fault(cut=True), True),
    ],
)
def test_a_server_is_up_when_its_health_says_so_or_without_one_its_models(health: int, models: Any, up: bool) -> None:
    async def work(url: str) -> bool:
        client = Client(connections=1, timeout=10.0)
        try:
            return await client.is_up(url)
        finally:
            await client.close()

    with Server() as server:
        server.health, server.models = health, models
        assert asyncio.run(work(server.url)) is up
    assert asyncio.run(work(server.url)) is False


ONE, SERVED = "http://127.0.0.1:8000/v1", "http://127.0.0.1:{port}/v1"
NOT_SERVED: tuple[tuple[list[str], dict[str, Any]], ...] = (
    (TOY, {"base_url": ["http://a/v1", "http://b/v1"]}), (["vllm", "serve", "m"], {}), (TOY, {"base_url": ONE}),
    ([" "], {"base_url": ONE}), ([], {"base_url": SERVED}), ([], {"base_url": ONE, "serve_log": "x"}),
    (TOY, {"base_url": []}), ([], {"base_url": ["http://a/v1", "http://a/v1/"]}),
)  # fmt: skip


def test_what_cannot_be_served_is_refused(tmp_path: Path, messages: SnapshotAssertion) -> None:
    assert [refusal(made, tmp_path, serve, **options) for serve, options in NOT_SERVED] == messages


@each(
    ("serve", "options", "message"),
    [
        (["no-such-command", "{port}"], {}, "serve: 'no-such-command': No such file"),
        (TOY, {"serve_log": "no/such/folder"}, "serve_log: "),
    ],
)
def test_what_cannot_be_started_is_located(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], serve: list[str], options: dict[str, Any], message: str
) -> None:
    path = written(tmp_path, serve, **options)
    assert main(["run", str(path), "--out", str(tmp_path / "out"), "--quiet"]) == 2
    assert f"accgate: {path}:4: models.m.options.{message}" in capsys.readouterr().err


def test_a_port_that_another_server_holds_is_not_asked(tmp_path: Path) -> None:
    with Server() as other, pytest.raises(BadInput, match=rf"serve: something answers at {other.url} already; end"):
        asked(made(tmp_path, ["sleep", "600"], base_url=other.url))
