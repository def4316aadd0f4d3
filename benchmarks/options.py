"""Options scored by accgate beside lm-evaluation-harness' own vLLM model: `python benchmarks/options.py --model PATH`

Both engines are started once, in one process, with the same options, and take turns on the same samples:

labels   as MMLU asks: five solved questions ahead of each one, some 900 tokens, and the options A to D
endings  as HellaSwag asks: the beginning of a text, and four endings of some 20 tokens

accgate's time is that of its whole evaluation, records on disk included; lm-eval's is that of `loglikelihood` alone,
which is without loading the task, metrics and log. Each turn has new samples: neither finds them in its prefix cache.
A Python with vLLM and lm_eval runs it; accgate need not be installed. On a GPU both share its memory:
--option gpu_memory_utilization=0.45. Choices are compared best in 32 bits: --option 'dtype="float32"'.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib.metadata
import json
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, where it is not installed

from accgate.config.tables import Sampling
from accgate.engines import Engine
from accgate.engines.vllm.process import Log
from accgate.evaluation.assignment import Assignment, Observer
from accgate.evaluation.check import evaluate
from accgate.records.file import paths_of
from accgate.tasks.choices import continuation
from accgate.tasks.task import Task
from benchmarks.sides import add_engine_options, made
from tests.support.loading import load_task

NAMES = ["Mara", "Ilya", "Chen", "Oba", "Ines", "Tariq", "Lotte", "Ravi"]
THINGS = ["apples", "letters", "bolts", "maps", "candles", "stamps", "bricks", "coins"]
PLACES = ["the market", "the harbour", "a station", "the old mill", "a school", "the library", "a workshop", "the bank"]
ACTS = ["carries", "counts", "sorts", "sells", "paints", "loses", "packs", "stacks"]
Choices = dict[str, str]  # the label that each sample got
TRIES = {"labels": 1, "endings": 4}  # samples of the turn before those that count


def main() -> int:
    """Measure and print."""
    arguments = _arguments()
    kinds = {"labels": arguments.labels, "endings": arguments.endings}
    with (
        contextlib.closing(asyncio.new_event_loop()) as loop,
        tempfile.TemporaryDirectory() as folder,
        sides(arguments, loop) as (engine, harness),
    ):
        for kind, count in kinds.items():
            turn = Turns(engine, harness, loop, Path(folder), kind)
            turn.pair(0, TRIES[kind])
            pairs = [turn.pair(seed, count) for seed in range(1, arguments.pairs + 1)] if count else []
            if pairs:
                print(json.dumps({"kind": kind, **figures(pairs, count)}), flush=True)
        info = engine.describe()
    print(json.dumps({"version": info.version, "hardware": info.hardware, "options": arguments.option}))
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_engine_options(parser)
    parser.add_argument("--labels", type=int, default=64, help="samples of a turn with short labels (64)")
    parser.add_argument("--endings", type=int, default=256, help="samples of a turn with endings (256)")
    parser.add_argument("--pairs", type=int, default=3, help="turns of each side that count (3)")
    parser.set_defaults(engine="vllm")
    return parser.parse_args()


@contextlib.contextmanager
def sides(arguments: argparse.Namespace, loop: asyncio.AbstractEventLoop) -> Iterator[tuple[Engine, Any]]:
    """accgate's engine, and lm-eval's model with the same options."""
    engine, options = made(arguments, arguments.option)
    try:
        loop.run_until_complete(engine.start())
        with Log(None).capturing():
            harness = harness_model(arguments.model, options)
        yield engine, harness
    finally:
        loop.run_until_complete(engine.close())


def harness_model(model: str, options: dict[str, Any]) -> Any:
    """lm-eval's model; it asks for the version of a package "vllm", which the CPU build's is not called."""
    import vllm

    own = importlib.metadata.version
    with mock.patch.object(importlib.metadata, "version", lambda n: vllm.__version__ if n == "vllm" else own(n)):
        from lm_eval.models.vllm_causallms import VLLM
    return VLLM(pretrained=model, batch_size="auto", **options)


class Turns:
    """Both sides on the samples of one kind."""

    def __init__(self, engine: Engine, harness: Any, loop: asyncio.AbstractEventLoop, folder: Path, kind: str) -> None:
        self._engine, self._harness, self._loop, self._folder, self._kind = engine, harness, loop, folder, kind

    def pair(self, seed: int, count: int) -> dict[str, Any]:
        """Seconds of each side, and the samples that both gave the same answer."""
        task = task_of(self._kind, seed, count, self._folder)
        both: dict[str, tuple[float, Choices]] = {}
        turns: dict[str, Callable[[Task], Choices]] = {"accgate": self._accgate, "lm_eval": self._lm_eval}
        for name in sorted(turns, reverse=bool(seed % 2)):
            began = time.perf_counter()
            chosen = turns[name](task)
            both[name] = time.perf_counter() - began, chosen
        ours, theirs = both["accgate"][1], both["lm_eval"][1]
        assert ours.keys() == theirs.keys()
        times = {name: seconds for name, (seconds, _) in both.items()}
        return times | {"equal": sum(ours[id_] == theirs[id_] for id_ in ours)}

    def _accgate(self, task: Task) -> Choices:
        with tempfile.TemporaryDirectory(dir=self._folder) as out:
            assignment = Assignment("m", task, 1, Sampling(), {}, 0.0)
            paths = paths_of(Path(out), "m", task.name)
            done = self._loop.run_until_complete(evaluate(self._engine, assignment, paths, observer=Observer()))
            assert not done.failed, done.failed[0].error
            return {record.id: record.answer or "" for record in done.records}

    def _lm_eval(self, task: Task) -> Choices:
        """The likeliest option as lm-eval's acc has it, of endings as acc_norm has it."""
        from lm_eval.api.instance import Instance

        choices = task.content.choices
        assert choices is not None
        asked = [
            Instance("loglikelihood", {}, (sample.prompt, continuation(choices, option)), 0)
            for sample in task.samples
            for option in sample.options
        ]
        answers = iter(self._harness.loglikelihood(asked, disable_tqdm=True))
        chosen = {}
        for sample in task.samples:
            by_length = [
                (next(answers)[0] / (1 if choices.continuation == "label" else len(option.text)), option.label)
                for option in sample.options
            ]
            chosen[sample.id] = max(by_length)[1]
        return chosen


def task_of(kind: str, seed: int, count: int, folder: Path) -> Task:
    """The library's MMLU or HellaSwag, by likelihood, on rows made from a seed."""
    draw = random.Random(f"{kind} {seed}")
    make = question if kind == "labels" else beginning
    files = {}
    for name, size in (("rows", count), ("shots", 5)):
        files[name] = folder / f"{kind}-{seed}-{name}.jsonl"
        files[name].write_text("".join(json.dumps(make(draw)) + "\n" for _ in range(size)), encoding="utf-8")
    if kind == "labels":
        return load_task("mmlu", dataset=files["rows"], few_shot=files["shots"], choose="likelihood")
    return load_task("hellaswag", dataset=files["rows"])


def act(draw: random.Random) -> str:
    """A clause."""
    return f"{draw.choice(ACTS)} {draw.randint(2, 99)} {draw.choice(THINGS)} at {draw.choice(PLACES)}"


def question(draw: random.Random) -> dict[str, Any]:
    """A row of MMLU, of some 150 tokens."""
    told = " ".join(f"{draw.choice(NAMES)} {act(draw)}, then {act(draw)}." for _ in range(5))
    choices = [str(each) for each in draw.sample(range(2, 400), 4)]
    return {
        "question": f"{told} How many things is that?",
        "subject": "elementary_mathematics",
        "choices": choices,
        "answer": draw.randrange(4),
    }


def beginning(draw: random.Random) -> dict[str, Any]:
    """A row of HellaSwag: some 40 tokens, and four endings of 20."""
    told = " ".join(f"{draw.choice(NAMES)} {act(draw)}." for _ in range(3))
    endings = [f"{act(draw)}, and then {act(draw)}." for _ in range(4)]
    return {
        "activity_label": "Working",
        "ctx_a": told,
        "ctx_b": draw.choice(NAMES),
        "endings": endings,
        "label": str(draw.randrange(4)),
    }


def figures(pairs: Sequence[dict[str, Any]], count: int) -> dict[str, Any]:
    """lm-eval's time over accgate's, the median of the pairs."""
    ratios = [pair["lm_eval"] / pair["accgate"] for pair in pairs]
    return {
        "ratio": round(statistics.median(ratios), 2),
        "ratios": [round(ratio, 2) for ratio in ratios],
        "accgate_s": [round(pair["accgate"], 2) for pair in pairs],
        "lm_eval_s": [round(pair["lm_eval"], 2) for pair in pairs],
        "equal": [pair["equal"] for pair in pairs],
        "samples": count,
    }


if __name__ == "__main__":
    sys.exit(main())
