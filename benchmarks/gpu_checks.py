"""What only a GPU shows of the engine `vllm`: `python benchmarks/gpu_checks.py --model PATH [--option KEY=VALUE]...`

GPUs run another model runner than vLLM's build for processors, with its own sampler and log-probabilities. Each check
has a line: `ok`, `differs` with what was expected, `left out` with why, or `failed` with the error. The exit code is 1
where one differs or failed. An engine is started for each of STARTS, one after the other; what the card cannot do is
left out. On a processor the same file checks itself, and its engine: --quick --option 'dtype="float32"'.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import re
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # this checkout, where it is not installed

from accgate.engines import LogProbs, Request
from accgate.engines.base import tokens_after
from accgate.engines.vllm.engine import VllmEngine
from accgate.errors import AccgateError
from benchmarks.sides import add_engine_options, made

# How far apart log-probabilities of the same weights may be, since another batch adds in another order. Logits of 16
# bits between 16 and 32 are 0.125 apart.
NEAR = {16: 0.25, 32: 0.005}
FAR = 2.0  # the same with a cache in 8 bits: 0.96 with SmolLM2-135M on a processor, where 3 of 16 replies stayed
MEMORY = 500  # MiB that may stay in use after an engine
SHOTS = "".join(f"Question: what is {n} + {n}?\nA. {n}\nB. {2 * n}\nAnswer: B\n\n" for n in range(1, 16))
LETTERS = Request("letters", 0, SHOTS + "Question: what is 40 + 40?\nA. 40\nB. 80\nAnswer:", mode="completion")
TEXTS = Request("texts", 0, SHOTS + "Question: who wrote it?\nAnswer:", mode="completion")
COUNTING = Request("counting", 0, "1, 2, 3, 4,", mode="completion", max_tokens=12, logprobs=True)
QUESTIONS = [
    Request(f"q{n}", 0, f"What is {n} + {3 * n}? Explain.", max_tokens=24, logprobs=True) for n in range(11, 27)
]
OPTIONS = [" A", " B", " C", " D"]
LONGER = [" a writer whom nobody knows", " the author of the first book", " two sisters from the north"]


class Differs(Exception):
    """A check found another result than the one that is expected."""


class LeftOut(Exception):
    """A check means nothing here."""


@dataclass
class Run:
    """What the checks of a start know: its engine, and what checks of earlier starts kept."""

    engine: VllmEngine
    on_gpu: bool
    kept: dict[str, Any] = field(default_factory=dict)

    @property
    def vllm(self) -> Any:
        """vLLM's own engine."""
        return self.engine._engine

    @property
    def near(self) -> float:
        """How far apart two log-probabilities of the same may be with these weights."""
        return NEAR[min(32, self.vllm.vllm_config.model_config.dtype.itemsize * 8)]


Check = Callable[[Run], Awaitable[str]]


def expect(holds: bool, expected: str, found: Any) -> None:
    """Raise Differs unless something holds."""
    if not holds:
        raise Differs(f"expected {expected}; found {found}")


def apart(some: Sequence[float], others: Sequence[float]) -> float:
    """The largest distance between two lists of log-probabilities; infinite where one is longer."""
    if len(some) != len(others):
        return float("inf")
    return max(abs(a - b) for a, b in zip(some, others, strict=True))


def values(scores: Sequence[LogProbs]) -> list[float]:
    """The log-probabilities of all texts, in a row."""
    return [value for score in scores for value in score.values]


async def runner(run: Run) -> str:
    """GPUs have vLLM's second model runner, which needs Triton; the build for processors has the first."""
    second = run.vllm.vllm_config.use_v2_model_runner
    expect(second == run.on_gpu, f"model runner V{1 + run.on_gpu}", f"V{1 + second}")
    return f"model runner V{1 + second}"


async def graphs(run: Run) -> str:
    """CUDA graphs are captured unless the options forbid it."""
    config = run.vllm.vllm_config
    mode = config.compilation_config.cudagraph_mode
    if not run.on_gpu or config.model_config.enforce_eager:
        raise LeftOut(f"no graphs with these options or this device ({mode})")
    expect(mode is not None and mode.name != "NONE", "a mode other than NONE", mode)
    return f"{mode.name}, {len(config.compilation_config.cudagraph_capture_sizes)} sizes"


async def logprobs(run: Run) -> str:
    """A greedy reply's log-probabilities are those that `score` gives its text, and each token is the first choice."""
    reply = await run.engine.complete(COUNTING)
    (score,) = await run.engine.score(COUNTING, [reply.text or ""])
    distance = apart(reply.logprobs or (), score.values)
    expect(distance < run.near, f"log-probabilities within {run.near} of the reply's", (reply.logprobs, score.values))
    expect(score.greedy is True, "every token the first choice", score)
    return f"{len(score.values)} tokens, {distance:.2g} apart"


async def rendered_with(run: Run, request: Request, text: str) -> tuple[Any, int, list[int]]:
    """A prompt with a text behind it, as vLLM takes both; how many tokens the prompt has, and those of the text."""
    rendered, tokenizer = await run.engine._render(request), run.vllm.get_tokenizer()
    prompt = list(rendered["prompt_token_ids"])
    encode = partial(tokenizer.encode, add_special_tokens=False)
    tokens = list(tokens_after(encode, prompt, rendered.get("prompt") or tokenizer.decode(prompt), text))
    return {**rendered, "prompt_token_ids": prompt + tokens}, len(prompt), tokens


async def whole(run: Run, request: Request, texts: Sequence[str]) -> list[list[float]]:
    """The log-probabilities of texts, each with its whole prompt and no cache, as lm-evaluation-harness asks."""
    found = []
    for text in texts:
        both, size, tokens = await rendered_with(run, request, text)
        parameters = run.engine._reading(prompt_logprobs=1, skip_reading_prefix_cache=True)
        final = await run.engine._final(request, both, parameters)
        found.append([row[token].logprob for row, token in zip(final.prompt_logprobs[size:], tokens, strict=True)])
    return found


async def score(run: Run, request: Request, texts: Sequence[str]) -> str:
    """Options by accgate's way, from a cold and from a warm cache, are those of the whole prompt once per option."""
    expected = await whole(run, request, texts)
    await run.vllm.reset_prefix_cache()
    cold = await run.engine.score(request, texts)
    warm = await run.engine.score(request, texts)
    flat = [value for each in expected for value in each]
    distances = apart(values(cold), flat), apart(values(warm), flat)
    expect(max(distances) < run.near, f"log-probabilities within {run.near} of {flat}", (values(cold), values(warm)))
    totals = [sum(each) for each in expected]
    margin = sorted(totals)[-1] - sorted(totals)[-2]
    chosen = [each.total for each in cold]
    same = chosen.index(max(chosen)) == totals.index(max(totals))
    expect(same or margin < 2 * run.near, "the same likeliest option", (chosen, totals))
    return f"{len(texts)} texts, {distances[0]:.2g} apart cold, {distances[1]:.2g} warm"


async def cache(run: Run) -> str:
    """Of the second text after a prompt of several blocks all whole blocks of the prompt come from the prefix cache."""
    await run.vllm.reset_prefix_cache()
    cached: list[int] = []
    own = run.engine._final

    async def final(*arguments: Any) -> Any:
        ended = await own(*arguments)
        cached.append(ended.num_cached_tokens or 0)
        return ended

    with mock.patch.object(run.engine, "_final", final):
        await run.engine.score(TEXTS, LONGER)
    prompt = len((await run.engine._render(TEXTS))["prompt_token_ids"])
    block = run.vllm.vllm_config.cache_config.block_size
    least = (prompt - 1) // block * block
    expect(cached[0] == 0 and min(cached[1:]) >= least, f"0, then at least {least} for each text", cached)
    return f"{cached} of {prompt} tokens"


async def prompt_ids(run: Run) -> str:
    """Log-probabilities by `prompt_logprob_token_ids`, which only the second runner has, are those of `score`."""
    if not run.vllm.vllm_config.use_v2_model_runner:
        raise LeftOut("the first model runner has no prompt_logprob_token_ids")
    expected, found = values(await run.engine.score(TEXTS, LONGER)), []
    for text in LONGER:
        both, size, tokens = await rendered_with(run, TEXTS, text)
        parameters = run.engine._reading(
            prompt_logprob_token_ids=[[token] for token in tokens],
            prompt_logprob_start=size - 1,
            skip_reading_prefix_cache=False,
        )
        final = await run.engine._final(TEXTS, both, parameters)
        found += [float(row[0]) for row in final.prompt_token_id_logprobs]
    expect(apart(found, expected) < run.near, f"within {run.near} of {expected}", found)
    return f"{len(found)} tokens, {apart(found, expected):.2g} apart; engine.py may use it in `_after`"


async def together(run: Run) -> str:
    """Options of 32 prompts at once are those of one prompt after the other."""
    question = "Question: what is {} + {}?\nA. {}\nB. {}\nAnswer:"
    asked = [replace(LETTERS, id=f"{n}", prompt=question.format(n, n, n, 2 * n)) for n in range(20, 52)]
    await run.vllm.reset_prefix_cache()
    one = [await run.engine.score(each, OPTIONS) for each in asked]
    await run.vllm.reset_prefix_cache()
    many = await asyncio.gather(*(run.engine.score(each, OPTIONS) for each in asked))
    distance = max(apart(values(a), values(b)) for a, b in zip(one, many, strict=True))
    expect(distance < run.near, f"within {run.near}", distance)
    return f"{distance:.2g} apart"


async def structured(run: Run) -> str:
    """A guided reply has the form that was asked for: of a choice, a pattern, and a schema."""
    schema = {
        "type": "object",
        "properties": {"n": {"enum": [7, 8]}},
        "required": ["n"],
        "additionalProperties": False,
    }
    forms: dict[str, tuple[dict[str, Any], Callable[[str], bool]]] = {
        "choice": ({"choice": ["seven", "eight"]}, lambda text: text in ("seven", "eight")),
        "regex": ({"regex": "[0-9]{3}"}, lambda text: re.fullmatch("[0-9]{3}", text) is not None),
        "json": ({"json": schema}, lambda text: set(json.loads(text)) == {"n"}),
    }
    texts = {}
    for name, (form, fits) in forms.items():
        extra = {"structured_outputs": form}
        texts[name] = (await run.engine.complete(Request(name, 0, "What is 3 + 4?", max_tokens=40, extra=extra))).text
        expect(fits(texts[name] or ""), f"a reply of the form {form}", texts[name])
    return f"{texts}"


async def bias(run: Run) -> str:
    """A bias of -100 keeps the first choice away, one of +100 leaves nothing else."""
    request = replace(COUNTING, max_tokens=4, logprobs=False)

    async def tokens(by: float, token: int = 0) -> list[int]:
        biased = replace(request, extra={"logit_bias": {str(token): by}})
        rendered, parameters = await run.engine._render(biased), run.engine._sampling(biased)
        return list((await run.engine._final(biased, rendered, parameters)).outputs[0].token_ids)

    first = (await tokens(0.0))[0]
    away, only = await tokens(-100.0, first), await tokens(100.0, first)
    expect(away[0] != first, f"a first token other than {first}", away)
    expect(only == [first] * 4, f"four times token {first}", only)
    return f"{first}: {away}, {only}"


async def sampling(run: Run) -> str:
    """The first of one candidate is the greedy reply; a seed repeats what it drew, another draws something else."""
    request = replace(QUESTIONS[0], logprobs=False)
    greedy = (await run.engine.complete(request)).text
    narrow = (await run.engine.complete(replace(request, temperature=1.0, top_k=1))).text
    expect(narrow == greedy, f"{greedy!r}", narrow)
    drawn = [(await run.engine.complete(replace(request, temperature=2.0, seed=seed))).text for seed in (1, 1, 2)]
    expect(drawn[0] == drawn[1] != drawn[2], "the first two equal, the third not", drawn)
    return "top_k = 1 is greedy; seeds repeat"


async def keep(run: Run) -> str:
    """Replies and scores that later starts are compared with."""
    replies, scored = await answers(run), values(await run.engine.score(TEXTS, LONGER))
    run.kept |= {"replies": replies, "score": scored}
    return f"{len(QUESTIONS)} replies kept"


async def answers(run: Run) -> list[tuple[str, tuple[float, ...]]]:
    """The questions' replies, asked together, with their log-probabilities."""
    replies = await asyncio.gather(*map(run.engine.complete, QUESTIONS))
    return [(reply.text or "", reply.logprobs or ()) for reply in replies]


async def same(run: Run, least: int, within: float = 0.0) -> str:
    """At least so many replies are those of the first start, and scores are so near."""
    if not run.kept:
        raise LeftOut("the first start kept nothing to compare with")
    replies = await answers(run)
    equal = [mine[0] == other[0] for mine, other in zip(replies, run.kept["replies"], strict=True)]
    expect(sum(equal) >= least, f"at least {least} of {len(equal)} replies as at the first start", sum(equal))
    distance = apart(values(await run.engine.score(TEXTS, LONGER)), run.kept["score"])
    within = within or run.near
    expect(distance < within, f"scores within {within} of the first start's", distance)
    return f"{sum(equal)} of {len(equal)} replies equal, scores {distance:.2g} apart"


async def invariant(run: Run) -> str:
    """A reply alone has the same bits as in a batch."""
    batch = await answers(run)
    for n, request in enumerate(QUESTIONS):
        reply = await run.engine.complete(request)
        expect((reply.text, reply.logprobs) == batch[n], f"{batch[n]}", (reply.text, reply.logprobs))
    return f"{len(batch)} replies with equal bits"


async def sleep(run: Run) -> str:
    """An engine that sleeps gives memory back, and answers as before once it is awake."""
    before = memory_in_use() or 0
    await run.vllm.sleep(1)
    given = before - (memory_in_use() or 0)
    await run.vllm.wake_up()
    expect(given > MEMORY, f"more than {MEMORY} MiB given back", given)
    return f"{given} MiB given back; {await same(run, least=14)}"


def memory_in_use() -> int | None:
    """MiB in use on the first card; None without one. It starts no CUDA here, which would change how vLLM starts."""
    ask = ["nvidia-smi", "--query-gpu=memory.used", "--format=csv,noheader,nounits"]
    try:
        return int(subprocess.run(ask, check=True, capture_output=True, text=True).stdout.split()[0])
    except (OSError, subprocess.CalledProcessError, IndexError, ValueError):
        return None


@dataclass(frozen=True)
class Start:
    """An engine with options of its own, and its checks."""

    name: str
    options: tuple[str, ...]
    checks: dict[str, Check]
    needs_gpu: bool = False


STARTS = [
    Start("as it is", (), {
        "runner": runner, "graphs": graphs, "logprobs": logprobs,
        "score: letters": partial(score, request=LETTERS, texts=OPTIONS),
        "score: texts": partial(score, request=TEXTS, texts=LONGER),
        "score: mixed": partial(score, request=TEXTS, texts=[*OPTIONS, *LONGER]),
        "score: prefix cache": cache, "score: prompt_logprob_token_ids": prompt_ids, "score: together": together,
        "structured_outputs": structured, "logit_bias": bias, "sampling": sampling, "kept for later": keep,
    }),
    Start("the same again: two models in a row", (), {"same": partial(same, least=14)}),
    Start("without graphs and compiling", ("enforce_eager=true",), {"same": partial(same, least=12)}),
    Start("cache in fp8", ('kv_cache_dtype="fp8"',), {
        "same": partial(same, least=1, within=FAR), "logprobs": logprobs,
    }),
    Start("sleep mode", ("enable_sleep_mode=true",), {"sleep": sleep}, needs_gpu=True),
    Start("batch_invariant", ("batch_invariant=true",), {
        "invariant": invariant, "score: texts": partial(score, request=TEXTS, texts=LONGER),
    }, needs_gpu=True),
]  # fmt: skip


def main() -> int:
    """Run every check; return 1 where one differs or failed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_engine_options(parser)
    parser.add_argument("--starts", type=int, default=len(STARTS), help="engines that are started, from the first on")
    parser.set_defaults(engine="vllm")
    arguments = parser.parse_args()
    kept: dict[str, Any] = {}
    faults, on_gpu = 0, memory_in_use() is not None
    for start in STARTS[: arguments.starts]:
        if start.needs_gpu and not on_gpu:
            say("left out", start.name, "needs a GPU")
            continue
        faults += asyncio.run(checked(start, arguments, kept))
    print(f"{faults} of the checks differ or failed", flush=True)
    return 1 if faults else 0


async def checked(start: Start, arguments: argparse.Namespace, kept: dict[str, Any]) -> int:
    """Run one start's checks, and what it leaves behind; return how many differ or failed."""
    before, began, faults = memory_in_use(), time.perf_counter(), 0
    try:
        engine, _ = made(arguments, [*arguments.option, *start.options])
        assert isinstance(engine, VllmEngine)
        try:
            await engine.start()
            say("ok", f"{start.name}: starts", f"{time.perf_counter() - began:.1f} s")
            run = Run(engine, before is not None, kept)
            for name, check in start.checks.items():
                faults += await result(f"{start.name}: {name}", check(run))
            if start is STARTS[0]:
                print(json.dumps(asdict(engine.describe()), default=str), flush=True)
        finally:
            await engine.close()
    except AccgateError as error:
        say("failed", start.name, str(error))
        return faults + 1
    return faults + await result(f"{start.name}: ends", ended(before))


async def ended(before: int | None) -> str:
    """Nothing of an engine is left: no process of it, and no memory of the card."""
    children = multiprocessing.active_children()
    expect(not children, "no process left", children)
    if before is None:
        return "no process left"
    for _ in range(20):  # the driver takes a moment
        left = (memory_in_use() or 0) - before
        if left < MEMORY:
            return f"no process left, {left} MiB still in use"
        await asyncio.sleep(0.5)
    raise Differs(f"expected less than {MEMORY} MiB still in use; found {left}")


async def result(name: str, check: Awaitable[str]) -> int:
    """Await a check and print its line; 1 where it differs or failed."""
    try:
        say("ok", name, await check)
    except LeftOut as why:
        say("left out", name, str(why))
    except Differs as difference:
        say("differs", name, str(difference))
        return 1
    except Exception as error:  # the checks after it are still worth running
        say("failed", name, f"{type(error).__name__}: {error}")
        return 1
    return 0


def say(word: str, name: str, words: str) -> None:
    """Print a check's line."""
    print(f"{word:<9} {name}: {words}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
