"""The two sides of `throughput.py`: accgate's engine, and the engine's own client or a bare one beside it."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import shlex
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accgate.engines import Engine, Request
from accgate.engines.base import ModelTable
from accgate.engines.openai.server import free_port
from accgate.engines.table import create
from accgate.engines.vllm.process import Log
from accgate.engines.wire import body_of, json_bytes
from accgate.inputs.toml import parsed_toml
from accgate.tasks.sample import Sample
from accgate.tasks.task import Task


@dataclass(frozen=True)
class Turn:
    """What one side took for all chats: seconds, seconds of this process's processors, and tokens."""

    seconds: float
    processor: float
    prompt_tokens: int
    reply_tokens: int


Side = Iterator[tuple[Engine, Callable[[Task], Turn]]]
# Starts in seconds: nothing is compiled or captured, the cache is small, and the process that schedules has the model.
QUICK = (
    "enforce_eager=true",
    "max_model_len=2048",
    "max_num_seqs=64",
    "kv_cache_memory_bytes=2147483648",
    'distributed_executor_backend="vllm.v1.executor.uniproc_executor.UniProcExecutor"',
)


class Quick(argparse.Action):
    """Puts QUICK before the options that follow it."""

    def __call__(self, _parser: Any, namespace: argparse.Namespace, *_: Any) -> None:
        """Add them."""
        namespace.option = [*QUICK, *namespace.option]


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """The arguments that say which model is measured, and with which options."""
    parser.add_argument("--model", required=True, help="folder or hub id of the weights, or the server's name of them")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="engine option, as in TOML")
    parser.add_argument("--quick", action=Quick, nargs=0, help="vLLM's: start in seconds; before other options")


@contextlib.contextmanager
def offline_side(arguments: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> Side:
    """accgate's engine, and vLLM's own offline engine with the same options."""
    engine, options = made(arguments, arguments.option)
    try:
        loop.run_until_complete(engine.start())
        log = Log(None)
        with log.capturing():
            from vllm import LLM

            llm = LLM(arguments.model, **{name: value for name, value in options.items() if name != "concurrency"})
        yield engine, lambda task: chat(llm, task)
    finally:
        loop.run_until_complete(engine.close())


@contextlib.contextmanager
def server_side(arguments: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> Side:
    """accgate's engine, and a bare client of the same server."""
    from benchmarks.bare_client import asked as asked_bare

    url, more = arguments.base_url, []
    if arguments.serve is not None:
        port = free_port()
        url = f"http://127.0.0.1:{port}/v1"
        command = arguments.serve or f"vllm serve {shlex.quote(arguments.model)} --host 127.0.0.1 --port {{port}}"
        more = [f"serve={json.dumps([word.replace('{port}', str(port)) for word in shlex.split(command)])}"]
    fixed = [f"base_url={json.dumps(url)}", f"concurrency={arguments.connections}", "max_retries=0"]
    engine, _ = made(arguments, [*fixed, *more, *arguments.option])

    def bare(task: Task) -> Turn:
        replies: list[Any] = []
        bodies = [json_bytes(body_of(request_of(sample, task), arguments.model)) for sample in task.samples]
        began, processor = time.perf_counter(), time.process_time()
        loop.run_until_complete(asked_bare(bodies, f"{url}/chat/completions", arguments.connections, replies.append))
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
        usages = [reply["usage"] for reply in replies]
        return Turn(seconds, processor, *(sum(usage[f"{part}_tokens"] for usage in usages)
                                          for part in ("prompt", "completion")))  # fmt: skip

    try:
        loop.run_until_complete(engine.start())
        yield engine, bare
    finally:
        loop.run_until_complete(engine.close())


def request_of(sample: Sample, task: Task) -> Request:
    """The request that accgate makes of a sample."""
    return Request(
        sample.id,
        0,
        sample.user,
        system=sample.system,
        mode=task.content.mode,
        max_tokens=task.content.max_tokens,
        stop=task.content.stop,
    )


def made(arguments: argparse.Namespace, options: Sequence[str]) -> tuple[Engine, dict[str, Any]]:
    """accgate's engine, not yet started, and its options as a file of accgate has them."""
    values = dict(option.split("=", 1) for option in options)  # the last of a name counts
    lines = "\n".join(f"{name} = {value}" for name, value in values.items())
    table = dict(parsed_toml(Path("--option"), lines + "\n").data)
    return create(arguments.engine, ModelTable(arguments.model, table, Path())), table


def chat(llm: Any, task: Task) -> Turn:
    """vLLM's offline chat on the same prompts."""
    from vllm import SamplingParams

    system = [[{"role": "system", "content": sample.system}] if sample.system else [] for sample in task.samples]
    users = [{"role": "user", "content": sample.user} for sample in task.samples]
    conversations = [[*before, user] for before, user in zip(system, users, strict=True)]
    parameters = SamplingParams(temperature=0.0, max_tokens=task.content.max_tokens, stop=list(task.content.stop))
    began, processor = time.perf_counter(), time.process_time()
    replies = llm.chat(conversations, parameters, use_tqdm=False)
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    prompts, answers = (sum(map(len, tokens)) for tokens in
                        zip(*((r.prompt_token_ids, r.outputs[0].token_ids) for r in replies), strict=True))  # fmt: skip
    return Turn(seconds, processor, prompts, answers)
