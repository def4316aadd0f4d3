"""accgate beside an engine's own client, in turns on the same prompts: `python benchmarks/throughput.py [--json] ...`

accgate's time is that of its whole evaluation: prompts, requests, scoring, records on disk. The ratio is accgate's
samples/s over the other's, the median of the pairs.

--engine vllm --model PATH: beside one call of vLLM's own `LLM.chat`. Both engines are started once, in one process,
with the same options; each pair has new prompts, so that neither finds them in its prefix cache. On a GPU both share
its memory: --option gpu_memory_utilization=0.45. On a processor --quick lets both start in a minute or two.

--engine openai --model NAME (--base-url URL | --serve): beside a bare asynchronous client with as many connections, on
the same server, which has seen the prompts before any turn that counts. --serve starts `vllm serve`, or the command
given.

The first runs with any Python that has vLLM, the second needs accgate's dependencies; neither needs accgate installed.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, where it is not installed

from accgate.config.tables import Sampling
from accgate.engines import Engine
from accgate.errors import AccgateError
from accgate.evaluation.assignment import Assignment, Observer
from accgate.evaluation.check import evaluate
from accgate.records.file import paths_of
from accgate.tasks.sample import Sample
from accgate.tasks.task import Task
from benchmarks.sides import Turn, add_engine_options, offline_side, server_side
from tests.support.loading import load_task

CHATS = Path(__file__).with_name("chats.toml")


def main() -> int:
    """Measure and print."""
    arguments = _arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # as `timeout` ends it: the engines must end too
    try:
        figures = measured(arguments)
    except AccgateError as error:
        print(f"throughput: {error}", file=sys.stderr)
        return error.exit_code
    if arguments.json:
        print(json.dumps(figures))
        return 0
    print(f"{figures['version']} on {figures['hardware']}: {arguments.chats:,} chats, {arguments.pairs} pairs, medians")
    print("               samples/s   prompt tokens/s   reply tokens/s   processor ms/sample")
    for name, key in (("accgate", "accgate"), (figures["beside"], "engine")):
        rates = [figures[f"{key}_{unit}_per_s"] for unit in ("samples", "prompt_tokens", "reply_tokens")]
        processor = figures[f"{key}_processor_ms_per_sample"]
        print(f"{name:<12} {rates[0]:11,.1f} {rates[1]:17,.0f} {rates[2]:16,.0f} {processor:21.2f}")
    print(f"ratio        {figures['ratio']:11.3f}   of each pair: {', '.join(f'{r:.3f}' for r in figures['ratios'])}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["vllm", "openai"], default="vllm")
    add_engine_options(parser)
    parser.add_argument("--base-url", help="of a running server, up to and with /v1")
    parser.add_argument("--serve", nargs="?", const="", metavar="COMMAND", help="start a server, on the port {port}")
    parser.add_argument("--connections", type=int, default=256, help="requests at once at a server (256)")
    parser.add_argument("--chats", type=int, default=512, help="prompts of a turn (512)")
    parser.add_argument("--pairs", type=int, default=5, help="turns of each side that count (5)")
    parser.add_argument("--shots", type=int, default=0, help="solved examples ahead of each question (0)")
    parser.add_argument("--max-tokens", type=int, default=32, help="longest reply (32)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    if arguments.engine == "openai" and (arguments.base_url is None) == (arguments.serve is None):
        parser.error("--engine openai needs one of --base-url and --serve")
    return arguments


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of all pairs; one more pair before them warms both sides up.

    Raises
    ------
    BadInput, CannotEvaluate
        For options that the engine does not have, and when the model cannot be loaded or reached.
    """
    side = offline_side if arguments.engine == "vllm" else server_side
    ours: list[Turn] = []
    theirs: list[Turn] = []
    with (
        contextlib.closing(asyncio.new_event_loop()) as loop,
        tempfile.TemporaryDirectory() as folder,
        side(arguments, loop) as (engine, other),
    ):

        def accgate(task: Task) -> None:
            out = Path(folder) / str(len(ours))
            ours.append(loop.run_until_complete(evaluated(engine, task, out)))

        def bare(task: Task) -> None:
            theirs.append(other(task))

        for pair in range(arguments.pairs + 1):
            task = prompts(arguments, pair)
            for turn in (accgate, bare) if pair % 2 else (bare, accgate):
                turn(task)
            assert ours[-1].prompt_tokens == theirs[-1].prompt_tokens, "the prompts' tokens differ"
        info = engine.describe()
    ratios = [b.seconds / a.seconds for a, b in zip(ours[1:], theirs[1:], strict=True)]
    return {
        "ratio": statistics.median(ratios),
        "ratios": ratios,
        "beside": "LLM.chat" if arguments.engine == "vllm" else "bare client",
        **rates("accgate", ours[1:], arguments.chats),
        **rates("engine", theirs[1:], arguments.chats),
        "chats": arguments.chats,
        "shots": arguments.shots,
        "version": info.version,
        "hardware": info.hardware,
    }


def prompts(arguments: argparse.Namespace, pair: int) -> Task:
    """The prompts of a pair: others each time, but for a server, where one side would find those of the other."""
    if arguments.engine == "openai":
        return asked(arguments, seed=0, count=arguments.chats)
    return asked(arguments, seed=pair, count=arguments.chats if pair else max(8, arguments.chats // 8))


def asked(arguments: argparse.Namespace, *, seed: int, count: int) -> Task:
    """Questions whose prompts begin with the same solved examples, as in MMLU with 5 shots; others for each seed."""
    shots = arguments.shots
    task = load_task("chats", file=CHATS, options={"count": count + shots}, seed=seed)
    head = "".join(f"{sample.user}\nAnswer: {sample.target}\n\n" for sample in task.samples[:shots])
    content = replace(task.content, max_tokens=arguments.max_tokens)
    questions = task.of(_behind(head, sample) for sample in task.samples[shots:])
    return replace(questions, definition=replace(task.definition, content=content))


def _behind(head: str, sample: Sample) -> Sample:
    return replace(sample, user=head + sample.user, prompt=head + sample.prompt)


async def evaluated(engine: Engine, task: Task, out: Path) -> Turn:
    """accgate's whole evaluation."""
    began, processor = time.perf_counter(), time.process_time()
    assignment = Assignment("m", task, 1, Sampling(), {}, 0.0)
    done = await evaluate(engine, assignment, paths_of(out, "m", task.name), observer=Observer())
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    assert len(done.records) == len(task.samples)
    assert not done.failed, done.failed[0].error
    tokens = (sum(count or 0 for count in counts) for counts in
              zip(*((r.prompt_tokens, r.completion_tokens) for r in done.records), strict=True))  # fmt: skip
    return Turn(seconds, processor, *tokens)


def rates(name: str, turns: Sequence[Turn], chats: int) -> dict[str, float]:
    """Medians over the turns of samples and tokens per second."""
    return {
        f"{name}_samples_per_s": statistics.median(chats / turn.seconds for turn in turns),
        f"{name}_prompt_tokens_per_s": statistics.median(turn.prompt_tokens / turn.seconds for turn in turns),
        f"{name}_reply_tokens_per_s": statistics.median(turn.reply_tokens / turn.seconds for turn in turns),
        f"{name}_processor_ms_per_sample": statistics.median(1000 * turn.processor / chats for turn in turns),
    }


if __name__ == "__main__":
    sys.exit(main())
