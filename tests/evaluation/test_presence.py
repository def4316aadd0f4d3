"""Servers are asked for their models before anything is evaluated; those of finished models are asked no more."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.config.tables import Model
from accgate.evaluation.presence import running_servers
from accgate.inputs.toml import TomlFile
from accgate.planning.model import PlannedModel
from accgate.records.file import paths_of
from tests.evaluation.serving import checks_of, configure, served_by, sums_of
from tests.support.gates import said, table, write_task
from tests.support.servers import Fault, Server

N = 20
AWAY = "http://127.0.0.1:9/v1"


@pytest.fixture
def second() -> Iterator[Server]:
    with Server() as made:
        yield made


def write(folder: Path, **models: dict[str, Any]) -> None:
    tables = {f"models.{name}": values for name, values in models.items()}
    configure(folder, {"gate": {"max_failed": 0.0}, **tables, "tasks.arithmetic": sums_of(N, target=1.0)})


def asked_of(url: str, model: str = "toy") -> dict[str, Any]:
    return served_by(url, model, concurrency=1)


def judged(folder: Path, model: str, **judges: str) -> None:
    """A model on tasks that each have a judge of their own, by these URLs."""
    tables: dict[str, Any] = {"gate": {"max_failed": 0.0}, "models.a": asked_of(model)}
    for name, url in judges.items():
        rows = [{"q": f"What is {i} + 1?", "a": name} for i in range(N)]
        write_task(folder, f"of_{name}", rows, metric="judge", judge={"rubric": "1 + 4 {{ reply }}"})
        tables[f"judges.{name}"] = asked_of(url)
        tables[f"tasks.of_{name}"] = {"file": f"of_{name}.toml", "judge": name, "target": 1.0}
    configure(folder, tables)


def marks(prompt: str) -> str:
    """Not all answers get the same."""
    return "45"[len(prompt) % 2]


def run(folder: Path, *arguments: str, command: str = "run") -> int:
    return main([command, str(folder / "accuracy.toml"), "--out", str(folder / "out"), "--quiet", *arguments])


def checks(folder: Path) -> list[dict[str, Any]]:
    return checks_of(folder / "out")


def serves(server: Server, *names: str) -> None:
    server.models = {"data": [{"id": name, "owned_by": "vllm"} for name in names]}


@pytest.mark.parametrize(("command", "more"), [("record", []), ("run", ["--shard", "1/2"])])
def test_a_model_that_its_server_lacks_ends_the_run_before_any_is_asked(
    tmp_path: Path, server: Server, second: Server, command: str, more: list[str], capsys
) -> None:
    serves(second, "toy-8b")
    write(tmp_path, a=asked_of(server.url), b=asked_of(second.url, "toy-8"), c=asked_of(second.url, "toi-8b"))
    assert run(tmp_path, *more, command=command) == 2
    told = said(capsys)
    for name, model in (("b", "toy-8"), ("c", "toi-8b")):  # all that is wrong at once
        lacks = f"models.{name}.model: is '{model}', which {second.url} does not serve"
        assert f"{lacks}; the server has toy-8b; did you" in told
    assert (server.seen, second.seen) == ([], [])
    assert not (tmp_path / "out" / "accgate.json").exists()


@pytest.mark.parametrize("command", ["run", "ab"])
def test_a_judge_of_a_later_task_is_looked_for_first(
    tmp_path: Path, server: Server, second: Server, command: str, capsys
) -> None:
    judged(tmp_path, server.url, one=second.url, other=second.url)
    serves(second, "toy")
    config = tmp_path / "accuracy.toml"
    before, _, after = config.read_text().partition("[judges.other]")
    text = f"{before}[judges.other]{after.replace('toy', 'toi', 1)}"
    config.write_text(text + table("models.b", asked_of(server.url)))
    where = ["ab", "a", "b", "--config", str(config)] if command == "ab" else ["run", str(config)]
    assert main([*where, "--out", str(tmp_path / "out"), "--quiet"]) == 2
    assert "judges.other.model: is 'toi', which" in said(capsys)
    assert (server.seen, second.seen) == ([], [])


def test_each_server_is_asked_once_before_and_once_in_its_turn(tmp_path: Path, server: Server, second: Server) -> None:
    write(tmp_path, a=asked_of(server.url), b=asked_of(second.url))
    assert run(tmp_path) in {0, 4}
    assert (server.listings, second.listings) == (1, 2)  # the first one's turn comes at once
    judged(tmp_path, server.url, one=second.url)
    second.answer, server.listings, second.listings = marks, 0, 0
    assert run(tmp_path, "--tasks", "of_one") in {0, 4}
    assert (server.listings, second.listings) == (1, 1)


def test_a_server_that_does_not_answer_is_told_at_once_and_leaves_the_others_decided(
    tmp_path: Path, server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    write(tmp_path, a=asked_of(server.url), b=asked_of(AWAY))
    told: list[str] = []

    def answer(_: str) -> str:
        told.extend(record.getMessage() for record in caplog.records)
        return "1"

    server.answer = answer
    with caplog.at_level(logging.WARNING):
        assert run(tmp_path) == 3
    assert told[0].startswith(f"model b: {AWAY}: ")
    assert told[0].endswith("is the server up, and options.base_url right? It is asked again when its turn comes")
    good, away = checks(tmp_path)
    assert (good["candidate"]["mean"] is not None, away["verdict"]) == (True, "error")


def test_resume_asks_no_server_of_a_finished_model(tmp_path: Path, second: Server) -> None:
    with Server() as server:
        write(tmp_path, a=asked_of(server.url), b=asked_of(second.url))
        second.fault_of = lambda _: Fault(401) if len(second.seen) > N // 2 else None
        assert run(tmp_path) == 3
        (done, _), kept = checks(tmp_path), paths_of(tmp_path / "out", "a", "arithmetic").records.read_bytes()
    second.fault_of = None
    assert run(tmp_path, "--resume") in {0, 4}  # the first server is gone
    again, other = checks(tmp_path)
    assert again | {"costs": []} == done | {"costs": []}
    assert other["candidate"]["mean"] is not None
    assert paths_of(tmp_path / "out", "a", "arithmetic").records.read_bytes() == kept
    engines = json.loads((tmp_path / "out" / "accgate.json").read_text())["engines"]
    assert engines["a"] == {"name": "openai", "version": "toyserver", "hardware": "server", "environment": {}}
    second.listings = 0
    assert run(tmp_path, "--resume") in {0, 4}
    assert second.listings == 0


def test_resume_asks_no_server_of_a_model_that_was_decided_early(tmp_path: Path) -> None:
    with Server() as server:
        write(tmp_path, a=asked_of(server.url))
        config = tmp_path / "accuracy.toml"
        config.write_text(config.read_text().replace("target = 1.0", "theta = 60.0"))
        assert run(tmp_path, command="record") == 0
        assert run(tmp_path) == 0
    (done,) = checks(tmp_path)
    assert done["n"] < N
    assert run(tmp_path, "--resume") == 0
    assert [check | {"costs": []} for check in checks(tmp_path)] == [done | {"costs": []}]
    assert main(["verify", str(tmp_path / "out"), "--config", str(config)]) == 0
    config.write_text(config.read_text().replace("theta = 60.0", "theta = 5.0"))
    assert run(tmp_path, "--resume") == 3  # more samples are needed now, and the server is gone


def test_finished_records_that_are_removed_before_their_turn_make_an_error(
    tmp_path: Path, server: Server, second: Server
) -> None:
    write(tmp_path, a=asked_of(server.url), b=asked_of(second.url))
    assert run(tmp_path) in {0, 4}
    unfinished, finished = (paths_of(tmp_path / "out", name, "arithmetic").records for name in "ab")
    unfinished.unlink()
    answer = server.answer

    def while_one_removes_them(prompt: str) -> Any:
        finished.unlink(missing_ok=True)
        return answer(prompt)

    server.answer = while_one_removes_them
    assert run(tmp_path, "--resume") == 3
    asked, removed = checks(tmp_path)
    assert asked["candidate"]["mean"] is not None
    assert removed["verdict"] == "error"
    assert "was removed, replaced or changed by something else" in removed["reasons"][0]


@pytest.mark.parametrize("answered", [N, N // 2])
def test_another_model_than_a_later_tasks_is_asked_once_and_nothing_of_it_is_recorded(
    tmp_path: Path, server: Server, answered: int
) -> None:
    for name in ("new", "old"):
        rows = [{"q": f"What is {i} + 1?", "a": f"{i + 1} {name}"} for i in range(N)]
        write_task(tmp_path, name, rows)
    tables: dict[str, Any] = {"gate": {"max_failed": 0.0}, "models.a": asked_of(server.url)}
    new, old = ({f"tasks.{name}": {"file": f"{name}.toml", "target": 1.0}} for name in ("new", "old"))
    configure(tmp_path, tables | old)
    server.says = {"system_fingerprint": "a"}
    server.fault_of = lambda _: Fault(401) if len(server.seen) > answered else None
    assert run(tmp_path) == (3 if answered < N else 4)
    server.fault_of = None
    configure(tmp_path, tables | new | old)
    server.says = {"system_fingerprint": "b"}
    server.seen.clear()
    assert run(tmp_path, "--resume") == 3
    assert len(server.seen) == 1
    server.says = {"system_fingerprint": "a"}
    assert run(tmp_path, "--resume") in {0, 1, 4}
    assert [check["n"] for check in checks(tmp_path)] == [N, N]


def test_resume_asks_a_model_again_whose_samples_failed(tmp_path: Path, server: Server, second: Server) -> None:
    write(tmp_path, a=asked_of(server.url), b=asked_of(second.url))
    config = tmp_path / "accuracy.toml"
    config.write_text(config.read_text().replace("max_failed = 0.0", "max_failed = 0.5"))
    server.faults.append(Fault(400))
    run(tmp_path)
    server.seen.clear()
    second.listings = 0
    run(tmp_path, "--resume")
    assert (len(server.seen), second.listings) == (1, 0)


def test_resume_asks_no_judge_of_a_finished_task(tmp_path: Path, server: Server, second: Server) -> None:
    with Server(answer=marks) as judge:
        judged(tmp_path, server.url, one=judge.url, other=second.url)
        second.answer = marks
        second.fault_of = lambda _: Fault(401) if len(second.seen) > N // 2 else None
        assert run(tmp_path) == 3
    second.fault_of = None
    assert run(tmp_path, "--resume") in {0, 4}
    assert [check["candidate"]["mean"] for check in checks(tmp_path)] == [85.0, 85.0]


@pytest.mark.parametrize("command", ["run", "record"])
def test_a_server_that_has_its_model_no_more_ends_the_run_and_what_was_evaluated_is_kept(
    tmp_path: Path, server: Server, second: Server, command: str, capsys
) -> None:
    write(tmp_path, a=asked_of(server.url), b=asked_of(second.url))

    def answer(_: str) -> str:
        serves(second, "other")
        return "1"

    server.answer = answer
    assert run(tmp_path, command=command) == 2
    told = said(capsys)
    assert f"models.b.model: is 'toy', which {second.url} does not serve" in told
    assert "finished samples are kept; correct that, then go on with --resume" in told
    serves(second, "toy")
    server.seen.clear()
    low = ["--accept-low"] if command == "record" else []  # every reply is "1"
    assert run(tmp_path, "--resume", *low, command=command) in {0, 4}
    assert server.seen == []


def test_a_server_that_is_gone_in_its_turn_is_an_error_of_its_model_and_the_rest_is_kept(
    tmp_path: Path, server: Server, capsys
) -> None:
    with Server() as second:
        write(tmp_path, a=asked_of(server.url), b=asked_of(second.url))

        def answer(_: str) -> str:
            second.loading, second.loading_fault = 99, Fault(500)
            return "1"

        server.answer = answer
        assert run(tmp_path) == 3
        assert "accgate run --resume" in " ".join(capsys.readouterr().out.split())
        assert checks(tmp_path)[1]["reasons"][0].startswith(f"cannot reach {second.url}: HTTP 500")
        server.seen.clear()
        second.loading = 0
        assert run(tmp_path, "--resume") in {0, 4}
        assert server.seen == []


def test_servers_that_the_run_may_start_itself_are_not_looked_for(tmp_path: Path) -> None:
    def planned(name: str, **options: Any) -> PlannedModel:
        settings = Model(engine="openai", model="m", options=options)
        return PlannedModel(name, settings, TomlFile(tmp_path / "accuracy.toml", "", {}), "models")

    def running(*models: PlannedModel) -> list[str]:
        pairs: Any = [SimpleNamespace(planned_model=model, judge=None) for model in models]
        return [name for _, name, _ in running_servers(pairs)]

    here, there = planned("here", base_url="http://localhost:8000/v1"), planned("there", base_url="http://gpu:8000/v1")
    started = planned("started", serve=["serve", "{port}"])
    loaded = PlannedModel("loaded", Model(engine="recorded", model="m.jsonl"), here.source)
    assert running(here, there, loaded) == ["here", "there"]
    assert running(here, there, started) == ["there"]
