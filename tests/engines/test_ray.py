"""The ray engine before it reaches a cluster: its options, those of the inner engine, paths, and what it says."""

from __future__ import annotations

import asyncio
import os
import pickle
import socket
import sys
from dataclasses import replace
from importlib import util
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from accgate.engines import Reply, Request, RequestFailed
from accgate.engines.base import EngineDied, ModelTable
from accgate.engines.ray import actors
from accgate.engines.ray.actors import Host, Spec
from accgate.engines.ray.cluster import probe
from accgate.engines.ray.engine import RayEngine, value_of
from accgate.engines.recording import RecordedEngine
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import read_toml
from accgate.result import EngineInfo
from tests.engines.asking import in_loop
from tests.engines.planned import engine_of, model_file
from tests.support.cases import refusal
from tests.support.servers import Server

URL = "http://127.0.0.1:8000/v1"
INNER = f'engine = "openai", options = {{ base_url = "{URL}"'


def made(folder: Path, options: str, model: str = "toy") -> RayEngine:
    """The engine of a file whose options stand on line 4."""
    engine = engine_of(read_toml(model_file(folder, "ray", model, options), fix=""))
    assert isinstance(engine, RayEngine)
    return engine


def travelled(value: Any) -> Any:
    """As it arrives in another process."""
    return pickle.loads(pickle.dumps(value))


WRONG = (
    "", 'engine = "ray"', INNER + "}, resources = { GPU = -1 }", INNER + "}, start_timeout = 0",
    INNER + ", timeuot = 1 }", 'engine = "recorded"',
)  # fmt: skip


def test_a_fault_of_the_options_or_of_the_inner_engines_names_line_and_key(
    tmp_path: Path, messages: SnapshotAssertion
) -> None:
    assert {options: refusal(made, tmp_path, options) for options in WRONG} == messages


def test_paths_start_from_the_files_folder_also_in_a_process_with_another_working_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "scores.jsonl").write_text('{"id": "a", "score": 100}\n')
    monkeypatch.chdir(tmp_path)
    engine = made(Path(), 'engine = "recorded"', "scores.jsonl")
    monkeypatch.chdir("/")
    spec = travelled(engine._spec)
    inner = spec.create(spec.kind, spec.table)
    assert isinstance(inner, RecordedEngine)
    inner.read()


def test_without_ray_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(CannotEvaluate, match=r"needs Ray .*; pip install 'accgate\[ray\]'"):
        asyncio.run(made(tmp_path, INNER + "}").start())


def test_a_variable_for_the_replicas_that_is_not_set_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HF_TOKEN", raising=False)
    with pytest.raises(BadInput, match=r"variable HF_TOKEN, named by options\.env"):
        value_of("HF_TOKEN")


def test_an_address_where_nothing_listens_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        with pytest.raises(ConnectionRefusedError):
            probe(address)
        monkeypatch.setenv("RAY_ADDRESS", address)
        with pytest.raises(ConnectionRefusedError):
            probe("auto")
        unused.listen()
        probe(address)
    probe("local")
    probe("ray://127.0.0.1:1")  # Ray's own client says so itself
    monkeypatch.delenv("RAY_ADDRESS")
    probe("auto")


@pytest.mark.parametrize(
    ("model", "message"), [("a.jsonl", "a.jsonl: holds no records"), ("b.jsonl", ""), ("no.jsonl", "no file")]
)
@in_loop
async def test_the_process_of_a_replica_gives_its_engines_errors_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: str, message: str
) -> None:
    monkeypatch.setenv("GIVEN_TO_REPLICAS", "")
    (tmp_path / "a.jsonl").touch()
    (tmp_path / "b.jsonl").write_text('{"id": "a", "score": 100}\n')
    spec = travelled(made(tmp_path, 'engine = "recorded"', "b.jsonl")._spec)
    host = Host()
    outcome = await host.start(replace(spec, table=replace(spec.table, model=model), env={"GIVEN_TO_REPLICAS": "1"}))
    if message:
        assert isinstance(outcome, BadInput)
        assert message in str(travelled(outcome))
    else:
        assert not isinstance(outcome, Exception)
        assert (outcome.info.name, outcome.slots) == ("recorded", 1)
        assert isinstance(await host.score(None, ""), CannotEvaluate)  # type: ignore[arg-type]
    await host.close()
    assert os.environ["GIVEN_TO_REPLICAS"] == "1"


@pytest.mark.skipif(util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_an_engine_that_is_not_installed_here_may_be_on_the_nodes_which_say_if_it_is_not(tmp_path: Path) -> None:
    engine = made(tmp_path, 'engine = "vllm", replicas = 2')
    assert (engine.inner, engine.concurrency) == (None, 2)
    outcome = asyncio.run(Host().start(engine._spec))
    assert str(outcome).startswith("options.engine: is vllm, which is not installed")


class Toy:
    """An engine that notes when it is closed."""

    concurrency = 1

    def __init__(self) -> None:
        self.steps: list[str] = []

    @property
    def spec(self) -> Spec:
        return Spec("toy", ModelTable("m", {}, Path()), lambda *_: self)  # type: ignore[arg-type, return-value]

    async def start(self) -> None: ...

    def describe(self) -> EngineInfo:
        return EngineInfo("toy", "1", "CPU")

    async def close(self) -> None:
        self.steps.append("closed")


@in_loop
async def test_a_start_that_is_cancelled_ends_before_the_engine_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    class Loading(Toy):
        async def start(self) -> None:  # it needs a moment to give up what it loads, as vLLM's engine does
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0.05)
                self.steps.append("given up")

    monkeypatch.setattr(actors, "free_shared_memory", lambda: None)
    engine, host = Loading(), Host()
    starting = asyncio.create_task(host.start(engine.spec))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    starting.cancel()
    await host.close()
    await asyncio.gather(starting, return_exceptions=True)
    assert engine.steps == ["given up", "closed"]


@in_loop
async def test_all_that_a_dead_engine_fails_is_its_death(monkeypatch: pytest.MonkeyPatch) -> None:
    class Dying(Toy):
        """Fails one sample, dies of the next, and then has nothing left to ask, as vLLM's engine once it is closed."""

        async def complete(self, request: Request) -> Reply:
            if request.id == "a":
                raise RequestFailed("too long")
            if request.id == "c":
                raise AttributeError("'NoneType' object has no attribute 'generate'")
            raise EngineDied(f"vLLM's engine died of {request.id}")

    monkeypatch.setattr(actors, "free_shared_memory", lambda: None)
    engine, host = Dying(), Host()
    await host.start(engine.spec)
    first, *others = [await host.complete(Request(name, 0, "")) for name in "abcda"]
    assert isinstance(first, RequestFailed)
    assert list(map(str, others)) == ["vLLM's engine died of b"] * 4
    assert engine.steps
    assert type(travelled(EngineDied("x"))) is EngineDied


def test_replicas_whose_servers_name_two_models_or_builds_end_the_run(tmp_path: Path) -> None:
    async def work(first: dict[str, str], second: dict[str, str], more: str = "") -> dict[str, object]:
        hosts = Host(), Host()
        with Server() as server:
            engine: Any = made(tmp_path, f'engine = "openai", options = {{ base_url = "{server.url}"{more} }}')

            async def call(method: str, *arguments: object) -> object:
                """Ask the replicas in turns; what travels between their processes is pickled."""
                turn = len(server.seen) % 2
                server.says = (first, second)[turn]  # type: ignore[assignment]
                outcome = travelled(await getattr(hosts[turn], method)(*arguments))
                assert outcome.completion_tokens == outcome.value.completion_tokens
                return outcome

            engine._replicas, engine._lifeline = SimpleNamespace(call=call), SimpleNamespace(run=lambda asked: asked)
            try:
                for host in hosts:
                    await host.start(engine._spec)
                for number in range(3):
                    assert isinstance(await engine.complete(Request(str(number), 0, "1 + 2")), Reply)
            finally:
                await asyncio.gather(*(host.close() for host in hosts))
            return engine.identity.settings()

    a, b = {"system_fingerprint": "a"}, {"system_fingerprint": "b"}
    assert asyncio.run(work(a, a))["system_fingerprint"] == "a"
    assert asyncio.run(work(a, b, ', fingerprints = ["a", "b"]'))["system_fingerprint"] == ["a", "b"]
    with pytest.raises(CannotEvaluate, match=r"system_fingerprint is 'a' at one, and 'b' at another.*\["):
        asyncio.run(work(a, b))
    with pytest.raises(CannotEvaluate, match="not one model: model is 'toy-1' at one, and 'toy-2' at another"):
        asyncio.run(work({"model": "toy-1"}, {"model": "toy-2"}))
