"""An engine that gives no reply: what is told, when the wait ends, and what does not count."""

from __future__ import annotations

import asyncio
import pickle
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

from accgate.engines import Reply
from accgate.engines.silence import Silence, Stalled
from tests.engines.asking import Clock, in_loop
from tests.engines.serving import ROOT


@in_loop
async def test_the_limit_follows_the_slowest_reply_and_the_longest_that_is_awaited() -> None:
    clock = Clock()
    silence = Silence("it", 600.0, clock=clock, tell=lambda _: None)

    async def answer(seconds: float) -> Reply:
        clock.now += seconds
        return Reply("x", completion_tokens=10)

    assert silence.limit == 600  # nothing was seen yet
    await silence.reply(answer(2.0))
    assert silence.limit == 120  # a fifth at least
    await silence.reply(answer(30.0))
    assert silence.limit == 300
    waiting = asyncio.ensure_future(silence.reply(asyncio.sleep(3600), tokens=80))
    await asyncio.sleep(0)
    assert silence.limit == 480  # eight times as many tokens as the longest reply so far, twice
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await silence.reply(answer(90.0))
    assert silence.limit == 600


@in_loop
async def test_all_that_wait_are_cut_and_others_who_cancel_are_not_mistaken_for_it() -> None:
    told: list[str] = []
    silence = Silence("the engine", 0.3, tell=told.append)
    stalled = await asyncio.gather(*(silence.reply(asyncio.sleep(60)) for _ in range(3)), return_exceptions=True)
    cancelled = asyncio.ensure_future(silence.reply(asyncio.sleep(60)))
    await asyncio.sleep(0)
    cancelled.cancel()
    with pytest.raises(asyncio.CancelledError):
        await cancelled
    for error in stalled:
        assert isinstance(error, Stalled)
        assert str(pickle.loads(pickle.dumps(error))) == str(error)  # out of a replica of Ray's
        assert "the engine has given no reply for 0.3" in str(error)
        assert "(requests that wait: 3; no reply came before) and counts as stalled" in str(error)
        assert str(error).endswith("raise options.max_silence")
    (message,) = told
    assert message.endswith("; it counts as stalled after 0.3 s")


def test_attempts_that_are_given_up_are_one_silence_however_they_end() -> None:
    """`timeout` and `max_silence` are the same time unless set: with one request at a time silence began anew."""

    async def given_up(after: float) -> str:
        await asyncio.sleep(after)
        return "no answer in time"

    async def attempts(seconds: float, most: int) -> int:
        """How many are given up, each after so many seconds, until that is a stall."""
        silence = Silence("it", 0.2, tell=lambda _: None)
        for number in range(most):
            try:
                await silence.reply(given_up(seconds), sign=lambda _: "none")
            except Stalled:
                return number
        return most

    assert asyncio.run(attempts(0.2, most=20)) < 20  # at once, but for the time in which a busy machine does not run
    assert 0 < asyncio.run(attempts(0.07, most=20)) < 20
    assert asyncio.run(attempts(0.01, most=2)) == 2


@in_loop
async def test_an_engine_that_answers_all_the_time_is_never_called_silent() -> None:
    """The time since the last reply counts, not that since the clock was last looked at."""
    told, clock = list[str](), Clock()
    silence = Silence("it", 4.0, clock=clock, tell=told.append)  # looks every 0.2 s, and tells after 0.2 s
    waits = asyncio.ensure_future(silence.reply(asyncio.sleep(0.5)))
    while not waits.done():
        clock.now += 0.05
        await silence.reply(asyncio.sleep(0.005))
    assert told == []


@in_loop
async def test_time_in_which_this_process_did_not_run_is_no_silence() -> None:
    clock = Clock()
    silence = Silence("it", 2.0, clock=clock, tell=lambda _: None)

    async def answer() -> str:
        await asyncio.sleep(0.15)
        clock.now += 1e6  # suspended, or a metric that held the loop up
        await asyncio.sleep(0.15)
        return "late"

    assert await silence.reply(answer()) == "late"


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.10 does not count cancellations")
@in_loop
async def test_a_wait_that_is_cancelled_in_the_moment_of_a_stall_is_cancelled() -> None:
    silence = Silence("it", 60.0)
    waiting = asyncio.ensure_future(silence.reply(asyncio.sleep(60)))
    await asyncio.sleep(0)
    silence._cut()
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting


STUCK = """
import asyncio, sys, threading
from pathlib import Path
import xllamacpp
from accgate.engines.base import ModelTable
from accgate.engines.table import create

async def work():
    engine = create("llamacpp", ModelTable("w.gguf", {"max_silence": 0.5}, Path(sys.argv[1])))
    try:
        await engine.start()
    finally:
        await engine.close()

xllamacpp.Server = lambda _: threading.Event().wait()
try:
    asyncio.run(work())
except Exception as error:
    print(type(error).__name__, error)
"""  # fmt: skip


@pytest.mark.skipif(util.find_spec("xllamacpp") is None, reason="needs xllamacpp")
def test_a_thread_of_llama_cpp_that_never_returns_holds_up_neither_the_run_nor_its_end(tmp_path: Path) -> None:
    (tmp_path / "w.gguf").touch()
    command = [sys.executable, "-c", STUCK, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, cwd=ROOT, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("Stalled llama.cpp, which loads ")
