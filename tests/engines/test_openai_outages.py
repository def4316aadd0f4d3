"""A server that limits, is away, says nothing or comes back as another: nothing is lost, nothing is mixed."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines import RequestFailed
from accgate.engines.openai import client, dispatch, pace
from accgate.engines.openai.engine import LISTING_ATTEMPTS
from accgate.errors import CannotEvaluate
from accgate.records.file import read_records
from tests.engines.asking import answers, engine_at, outcomes_of, questions, run_on
from tests.engines.conftest import echo
from tests.support.cases import each, refusal
from tests.support.gates import said
from tests.support.servers import Fault, Server

pytestmark = pytest.mark.usefixtures("short_waits")


def replies(server: Server, count: int, workers: int = 64, **options: Any) -> list[Any]:
    """What becomes of so many requests; the first error ends it, as a run."""
    engine = engine_at(server.url, **{"max_retries": 5, **options})
    done, requests = list[Any](), iter(questions(count))

    async def ask() -> None:
        for request in requests:
            done.append(await engine.complete(request))

    async def work() -> None:
        await asyncio.gather(*(ask() for _ in range(workers)))

    run_on(engine, work)
    return done


@pytest.mark.slow
def test_a_server_that_limits_its_rate_fails_no_request_and_refuses_few(server: Server) -> None:
    """A busy machine sends in bursts, and more is refused; benchmarks/limits.py says how few on a quiet one."""
    rate, refused, state = 200.0, 0, [200.0, time.monotonic()]

    def limit(_: Any) -> Fault | None:
        nonlocal refused
        now = time.monotonic()
        state[:] = min(200.0, state[0] + (now - state[1]) * rate), now
        if state[0] >= 1:
            state[0] -= 1
            return None
        refused += 1
        return Fault(429, {"error": "slow down"})

    server.fault_of = limit
    assert len(replies(server, 1000, max_retries=0)) == 1000
    assert refused < 1000  # without a pace it refuses ten thousand


NO_ANSWER = r"HTTP {} .*; no server has answered for [\d.]+ s; start it again"
AWAY = [502, 503, 504, 408, 424, 425, 505, 507, 511, *range(520, 528), 530, 561, 598, 599]
OUTAGES: list[tuple[str, int, Any]] = [
    *(("away", status, "<h1>away</h1>") for status in AWAY),
    *(("busy", status, {}) for status in (429, 529)),
    *(("away", 200, {"error": {"code": code, "message": "Provider returned error"}}) for code in (502, "503", 524)),
    *(("busy", 200, {"error": {"code": code, "message": "Provider returned error"}}) for code in (429, 529)),
    ("away", 200, {"choices": [{"text": "1", "finish_reason": "error", "error": {"code": 502, "message": "gone"}}]}),
    ("busy", 200, {"error": {"message": "Rate limit reached for requests", "type": "requests", "code": None}}),
    ("busy", 200, {"detail": "Rate limit exceeded"}),
    ("busy", 200, "Too Many Requests"),
    ("busy", 200, [{"error": {"code": 429, "message": "quota per minute", "status": "RESOURCE_EXHAUSTED"}}]),
    ("busy", 400, {"error": {"type": "ThrottlingException", "message": "wait"}}),
    *(("", status, {}) for status in (409, 500, 501)),
    (None, 200, {"error": {"code": 400, "message": "no such option"}}),
    (None, 200, {"choices": [{"text": "1 about rate limits: 429", "finish_reason": "network_error"}]}),
    (None, 400, {"error": {"code": 400, "message": "the prompt is about a rate limit"}}),
    *((None, status, {"error": {"code": status}}) for status in (400, 401, 403, 404, 413, 422)),
]


@each(("kind", "status", "body"), OUTAGES)
def test_an_outage_is_told_from_a_refusal_by_status_and_body(kind: str | None, status: int, body: Any) -> None:
    assert client.kind_of(client.meant_by(body, status)) == kind


@pytest.mark.parametrize("kind", ["away", "busy"])
def test_outages_in_any_form_cost_no_retry_and_no_sample(server: Server, kind: str) -> None:
    faults = [Fault(status, body) for told, status, body in OUTAGES if told == kind]
    server.fail(faults[-4:])
    assert len(replies(server, 6, workers=3, max_retries=0)) == 6
    assert not server.faults


def test_an_error_in_a_good_status_that_may_be_of_one_request_alone_fails_its_sample(server: Server) -> None:
    for code, message in ((500, "CUDA error"), (400, "no such option")):
        server.fail([Fault(200, {"error": {"code": code, "message": message}})] * 2)
        with pytest.raises(RequestFailed, match=rf"{message} \(after 2 attempts\)"):
            replies(server, 1, max_retries=1)


def test_a_gateway_whose_server_is_away_costs_no_retry(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.fail([Fault(502, b"<h1>away</h1>")] * 40)
    assert len(replies(server, 100, workers=16, max_retries=0)) == 100
    assert "no server takes a request; the run asks again for up to 300 s" in caplog.text
    assert f"{server.url} answers again" in caplog.messages


@pytest.mark.parametrize("status", [503, 429])
def test_a_server_that_still_loads_is_awaited_at_the_start_as_in_the_middle_of_a_run(
    server: Server, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    server.loading, server.loading_fault = 9, Fault(status)
    assert len(replies(server, 4, max_retries=0)) == 4
    first, last = caplog.messages
    assert first.startswith(f"{server.url}: HTTP {status}")
    assert first.endswith("; it is asked again for up to 300 s (options.max_outage)")
    assert last == f"{server.url} answers"


def test_a_server_that_never_finishes_loading_ends_the_run_after_an_outage(server: Server) -> None:
    server.loading, server.loading_fault = 10**6, Fault(503, headers={"retry-after": "900"})
    with pytest.raises(CannotEvaluate, match=r"^cannot reach http\S+: HTTP 503 for 0\.2 s; raise options\.max_outage"):
        replies(server, 4, max_outage=0.2)
    assert server.loading >= 10**6 - 3  # asked again at the end only, as it asked to be left alone


@pytest.mark.parametrize(("max_retries", "asked"), [(2, 3), (99, LISTING_ATTEMPTS)])
def test_a_server_that_fails_at_the_start_is_given_up_soon(server: Server, max_retries: int, asked: int) -> None:
    server.loading, server.loading_fault = 10**6, Fault(500)
    with pytest.raises(CannotEvaluate, match=r"^cannot reach http\S+: HTTP 500; is the server up"):
        replies(server, 4, max_retries=max_retries)
    assert server.loading == 10**6 - asked


@pytest.mark.parametrize("hangs", [0.0, 0.8])
def test_an_outage_ends_the_run_and_fails_no_sample_though_a_request_is_still_in_flight(
    server: Server, hangs: float
) -> None:
    """The last of those in flight ends the run: a sample alone failed before, though no server had answered any."""
    server.fault_of = lambda _: Fault(503, b"away", hang=hangs if len(server.seen) == 3 else 0.0)
    with pytest.raises(CannotEvaluate, match=NO_ANSWER.format(503)):
        replies(server, 20, max_outage=0.3, max_retries=0)


@pytest.mark.parametrize("headers", [{}, {"retry-after": "1"}])
def test_a_server_that_only_limits_ends_the_run_and_is_told(
    server: Server, headers: dict[str, str], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Each of many requests is refused seldom: what counts is how long none was answered."""
    monkeypatch.setattr(dispatch, "LIMITED", 0.1)
    monkeypatch.setattr(pace, "FIRST_PAUSE", 0.05)
    monkeypatch.setattr(pace, "SLOWEST", 5.0)
    server.fault_of = lambda _: Fault(429, b"slow down", headers) if len(server.seen) > 20 else None
    with pytest.raises(CannotEvaluate, match=NO_ANSWER.format(429)):
        replies(server, 200, max_outage=0.5)
    assert "slow down; no server takes a request" in caplog.text


def test_a_slow_reply_keeps_a_run_alive_while_other_requests_are_refused(server: Server) -> None:
    def seconds() -> float:
        return time.monotonic() - server.seen[0].at

    server.may_answer = lambda number: number > 1 or seconds() > 1.0
    server.fault_of = lambda _: Fault(503, b"one at a time") if seconds() < 1.0 else None
    assert len(replies(server, 4, workers=4, max_retries=100, max_outage=0.2)) == 4


def test_a_server_that_answers_and_does_not_say_what_it_serves_is_an_outage(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Once cut it may be another one; all who wait share one question for its models."""

    def fault_of(_: Any) -> Fault | None:
        if len(server.seen) < 10 or isinstance(server.models, Fault):
            return None
        monkeypatch.setattr(client, "LISTING_SECONDS", 0.3)
        server.models = Fault(200, server.models, hang=60.0)
        return Fault(cut=True)

    server.fault_of = fault_of
    with pytest.raises(CannotEvaluate, match=r"does not list its models: it took the connection, and said nothing for"):
        replies(server, 200, workers=32, max_outage=1.0)
    assert "no server takes a request" in caplog.text


@pytest.mark.parametrize("status", [200, 403, 429])
def test_a_quota_that_is_used_up_ends_the_run_at_once(server: Server, status: int) -> None:
    server.fault_of = lambda _: Fault(status, {"error": {"message": "no credit", "code": "insufficient_quota"}})
    with pytest.raises(CannotEvaluate, match=r"no credit; the key's quota is used up"):
        replies(server, 1)
    assert len(server.seen) == 1


def test_a_server_that_takes_requests_and_never_answers_ends_the_run(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.hold_after = 3
    with pytest.raises(CannotEvaluate, match=r"no reply for .* s, since \d\d:\d\d:\d\d \(requests that wait: 4;"):
        replies(server, 20, workers=4, max_silence=0.6)
    assert "it counts as stalled after 0." in caplog.text


def test_of_several_servers_a_silent_one_is_asked_no_more(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with Server(echo) as silent:
        silent.hold_after = 0
        engine = engine_at([silent.url, server.url], max_silence=0.5)
        assert outcomes_of(engine, questions(40)) == answers(40)
        assert f"{silent.url} has given no reply" in caplog.text


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"model": "toy-2"}, "model was 'toy-1', and now is 'toy-2'"),
        ({"system_fingerprint": "b"}, "system_fingerprint was 'a', and now is 'b'"),
    ],
)
def test_another_model_in_the_middle_ends_the_run_with_what_changed(
    server: Server, change: dict[str, Any], words: str
) -> None:
    server.says = {"model": "toy-1", "system_fingerprint": "a"}
    server.fault_of = lambda _: server.says.update(change if len(server.seen) > 5 else {})
    with pytest.raises(CannotEvaluate, match=f"changed in the middle of the run: {words}"):
        replies(server, 20, workers=1)


@pytest.mark.parametrize("allowed", [("a", "b"), ("*",)])
def test_servers_behind_a_balancer_may_mix_the_fingerprints_that_an_option_names(
    server: Server, allowed: tuple[str, ...]
) -> None:
    server.fault_of = lambda _: server.says.update(system_fingerprint="ab"[len(server.seen) % 2])
    assert len(replies(server, 20, workers=1, fingerprints=allowed)) == 20
    with pytest.raises(CannotEvaluate, match=r'options.fingerprints = \["[ab]", "[ab]"\], or \["\*"\] for any'):
        replies(server, 20, workers=1)
    with pytest.raises(CannotEvaluate, match=r"answers with the system_fingerprint '[ab]'; options.fingerprints has c"):
        replies(server, 20, workers=1, fingerprints=("c",))


def test_after_an_outage_the_server_is_asked_again_what_it_serves(server: Server) -> None:
    server.models = {"data": [{"id": "toy", "root": "/weights/one/hf", "created": 1}]}

    def restart(_: Any) -> Fault | None:
        if len(server.seen) != 10:
            return None
        server.models = {"data": [{"id": "toy", "root": "/weights/two/hf", "created": 2}]}
        return Fault(cut=True)

    server.fault_of = restart
    with pytest.raises(CannotEvaluate, match=r"list of models was .*/one/hf.*, and now is .*/two/hf"):
        replies(server, 20, workers=1)


def test_a_resumed_run_mixes_no_other_model(server: Server, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = {"model": "toy-1", "system_fingerprint": "a"}
    server.answer, server.says = lambda _: "1", first
    options = f'{{ base_url = "{server.url}", concurrency = 1, max_retries = 0 }}'
    (tmp_path / "accuracy.toml").write_text(
        f'[gate]\nmax_failed = 0\n[models.m]\nengine = "openai"\nmodel = "toy"\noptions = {options}\n'
        "[tasks.arithmetic]\nnum_samples = 30\ntarget = 50\n"
    )
    run = ["run", str(tmp_path / "accuracy.toml"), "--out", str(tmp_path / "out"), "--quiet"]
    out = tmp_path / "out" / "m"

    def scored() -> int:
        return sum(record.score is not None for record in read_records(out / "arithmetic.jsonl"))

    server.fault_of = lambda _: Fault(400) if len(server.seen) == 10 else None
    assert main(run) == 3
    before = scored()
    settings = json.loads(next(out.glob("arithmetic*.json")).read_text())
    assert first.items() <= settings["served"].items()
    server.fault_of = None
    for other in ({"model": "toy-2"}, {"model": "toy-1", "system_fingerprint": "b"}):
        server.says = other
        assert main([*run, "--resume"]) == 3
        reason = json.loads((tmp_path / "out" / "accgate.json").read_text())["checks"][0]["reasons"][0]
        assert "changed in the middle of the run" in reason
        assert scored() == before
    server.models = {"data": [{"id": "toy", "owned_by": "toyserver", "root": "/other"}]}
    assert main([*run, "--resume"]) == 2
    assert "its records were answered by listed" in said(capsys)
    server.models = {"data": [{"id": "toy", "owned_by": "toyserver"}]}
    server.says = first
    assert main([*run, "--resume"]) in (0, 1)


def test_fields_are_renamed_or_left_out_and_a_refused_one_says_so(server: Server) -> None:
    refusal = {"error": {"message": "no", "code": "unsupported_parameter", "param": "max_tokens"}}
    server.fault_of = lambda body: Fault(400, refusal) if "max_tokens" in body else None
    with pytest.raises(RequestFailed, match=r'options.fields renames .* { max_tokens = "max_completion_tokens" }'):
        replies(server, 1)
    replies(server, 1, fields={"max_tokens": "max_completion_tokens", "temperature": False})
    assert server.seen[-1].body == {"model": "toy", "prompt": "0", "max_completion_tokens": 256}


@each("fields", [{"a": 1}, {"model": "b"}, {"a": "prompt"}, {"a": ""}, {"a": "c", "b": "c"}, "a"])
def test_fields_that_cannot_be_renamed_so_are_refused(fields: Any) -> None:
    assert refusal(engine_at, "http://h/v1", fields=fields).startswith("options.fields: ")
