"""accgate beside vLLM's own offline chat: `python benchmarks/throughput.py --engine vllm --model PATH [--json]`.

Both engines are started once, in one process, with the same options, and take turns on the same prompts. accgate's
time is that of its whole evaluation: prompts, requests, scoring, records on disk. The other is one call of `LLM.chat`.
Each pair of turns has new prompts, so that neither finds them in its prefix cache; the ratio is the pairs' median.

On a GPU both share its memory: --option gpu_memory_utilization=0.45.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from accgate.assignment import Assignment, Sampling
from accgate.engines import Engine, create
from accgate.engines.vllm_process import Log
from accgate.errors import AccgateError
from accgate.evaluate import evaluate
from accgate.records import Record, paths_of
from accgate.tasks.samples import Sample, Task, load_task
from accgate.tomlfile import TomlFile, parsed_toml

CHATS = Path(__file__).with_name("chats.toml")


@dataclass(frozen=True)
class Turn:
    """What one side took for all chats: seconds, seconds of this process's processors, and tokens."""

    seconds: float
    processor: float
    prompt_tokens: int
    reply_tokens: int


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
    for name, key in (("accgate", "accgate"), ("LLM.chat", "engine")):
        rates = [figures[f"{key}_{unit}_per_s"] for unit in ("samples", "prompt_tokens", "reply_tokens")]
        processor = figures[f"{key}_processor_ms_per_sample"]
        print(f"{name:<12} {rates[0]:11,.1f} {rates[1]:17,.0f} {rates[2]:16,.0f} {processor:21.2f}")
    print(f"ratio        {figures['ratio']:11.3f}   of each pair: {', '.join(f'{r:.3f}' for r in figures['ratios'])}")
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engine", choices=["vllm"], default="vllm")
    parser.add_argument("--model", required=True, help="folder or hub id of the weights")
    parser.add_argument("--option", action="append", default=[], metavar="KEY=VALUE", help="engine option, as in TOML")
    parser.add_argument("--chats", type=int, default=512, help="prompts of a turn (512)")
    parser.add_argument("--pairs", type=int, default=5, help="turns of each side that count (5)")
    parser.add_argument("--shots", type=int, default=0, help="solved examples ahead of each question (0)")
    parser.add_argument("--max-tokens", type=int, default=32, help="longest reply (32)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    return parser.parse_args()


def measured(arguments: argparse.Namespace) -> dict[str, Any]:
    """The figures of all pairs; one more pair before them warms both sides up.

    Raises
    ------
    BadInput, CannotEvaluate
        For options that vLLM does not have, and when the model cannot be loaded.
    """
    source = config_of(arguments.model, arguments.option)
    table: dict[str, Any] = source.data["models"]["m"]
    engine = create("m", engine="vllm", model=arguments.model, options=table["options"], source=source)
    loop = asyncio.new_event_loop()
    ours: list[Turn] = []
    theirs: list[Turn] = []
    try:
        loop.run_until_complete(engine.start())
        log = Log(None)
        with log.capturing():
            llm = offline(arguments.model, table["options"])
        with tempfile.TemporaryDirectory() as folder:

            def accgate(task: Task) -> None:
                out = Path(folder) / str(len(ours))
                ours.append(loop.run_until_complete(evaluated(engine, task, out)))

            def vllm(task: Task) -> None:
                theirs.append(chat(llm, task))

            for pair in range(arguments.pairs + 1):
                task = asked(arguments, seed=pair, count=arguments.chats if pair else max(8, arguments.chats // 8))
                for turn in (accgate, vllm) if pair % 2 else (vllm, accgate):
                    turn(task)
                assert ours[-1].prompt_tokens == theirs[-1].prompt_tokens, "the prompts' tokens differ"
        info = engine.describe()
        ratios = [b.seconds / a.seconds for a, b in zip(ours[1:], theirs[1:], strict=True)]
        return {
            "ratio": statistics.median(ratios),
            "ratios": ratios,
            **rates("accgate", ours[1:], arguments.chats),
            **rates("engine", theirs[1:], arguments.chats),
            "chats": arguments.chats,
            "shots": arguments.shots,
            "version": info.version,
            "hardware": info.hardware,
        }
    finally:
        loop.run_until_complete(engine.close())
        loop.close()


def config_of(model: str, options: Sequence[str]) -> TomlFile:
    """The options as a file of accgate has them."""
    lines = "\n".join("{} = {}".format(*option.split("=", 1)) for option in options)
    text = f'[models.m]\nengine = "vllm"\nmodel = {json.dumps(model)}\n[models.m.options]\n{lines}\n'
    return parsed_toml(Path("--option"), text)


def offline(model: str, options: dict[str, Any]) -> Any:
    """vLLM's own offline engine, with the same options."""
    from vllm import LLM

    return LLM(model, **{name: value for name, value in options.items() if name != "concurrency"})


def asked(arguments: argparse.Namespace, *, seed: int, count: int) -> Task:
    """Questions whose prompts begin with the same solved examples, as in MMLU with 5 shots; others for each seed."""
    shots = arguments.shots
    task = load_task("chats", file=CHATS, options={"count": count + shots}, seed=seed)
    head = "".join(f"{sample.user}\nAnswer: {sample.target}\n\n" for sample in task.samples[:shots])
    return replace(task.of([_behind(head, sample) for sample in task.samples[shots:]]), max_tokens=arguments.max_tokens)


def _behind(head: str, sample: Sample) -> Sample:
    return replace(sample, user=head + sample.user, prompt=head + sample.prompt)


async def evaluated(engine: Engine, task: Task, out: Path) -> Turn:
    """accgate's whole evaluation."""
    began, processor = time.perf_counter(), time.process_time()
    assignment = Assignment("m", task, 1, Sampling(), {}, 0.0)
    done = await evaluate(engine, assignment, paths_of(out, "m", task.name), observer=Nobody())
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    assert len(done.records) == len(task.samples)
    assert not done.failed, done.failed[0].error
    tokens = (sum(count or 0 for count in counts) for counts in
              zip(*((r.prompt_tokens, r.completion_tokens) for r in done.records), strict=True))  # fmt: skip
    return Turn(seconds, processor, *tokens)


def chat(llm: Any, task: Task) -> Turn:
    """vLLM's offline chat on the same prompts."""
    from vllm import SamplingParams

    system = [[{"role": "system", "content": sample.system}] if sample.system else [] for sample in task.samples]
    users = [{"role": "user", "content": sample.user} for sample in task.samples]
    conversations = [[*before, user] for before, user in zip(system, users, strict=True)]
    parameters = SamplingParams(temperature=0.0, max_tokens=task.max_tokens, stop=list(task.stop))
    began, processor = time.perf_counter(), time.process_time()
    replies = llm.chat(conversations, parameters, use_tqdm=False)
    seconds, processor = time.perf_counter() - began, time.process_time() - processor
    prompts, answers = (sum(map(len, tokens)) for tokens in
                        zip(*((r.prompt_token_ids, r.outputs[0].token_ids) for r in replies), strict=True))  # fmt: skip
    return Turn(seconds, processor, prompts, answers)


class Nobody:
    """Watches nothing; accgate's own silent observer would load what a machine with only vLLM does not have."""

    def started(self, model: str, task: str, total: int, kept: Sequence[Record]) -> None:
        """Nothing."""

    def finished(self, record: Record) -> None:
        """Nothing."""

    def ended(self) -> None:
        """Nothing."""


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
