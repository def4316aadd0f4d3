"""What one process with vLLM does, as JSON on standard output: `python -m tests.real.vllm_session MODEL COMMANDS`.

It asks an engine, and then runs accgate's COMMANDS, a JSON list of their arguments. Run by test_vllm_session.py in an
environment with vLLM, which takes long to import.
"""

from __future__ import annotations

import asyncio
import dataclasses
import json
import multiprocessing
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from importlib import import_module
from pathlib import Path
from typing import Any, get_args, get_origin

from accgate.engines import Request, RequestFailed
from accgate.engines.base import ModelTable
from accgate.engines.table import create
from accgate.engines.vllm.engine import VllmEngine
from accgate.engines.vllm.options import Own, _declared, _options_of, engine_arguments
from accgate.errors import KeyFaults

# The model in the process that schedules: of vLLM's processes, each of which takes seconds to import it, one less.
IN_CORE = {"distributed_executor_backend": "vllm.v1.executor.uniproc_executor.UniProcExecutor"}
HELLO, HI = {"role": "user", "content": "Hello!"}, {"role": "assistant", "content": "Hi."}
QUESTIONS = {
    "chat": Request("a", 0, "What is the capital of France?", max_tokens=12),
    "system": Request("b", 0, "Name a colour.", system="Answer in one word.", max_tokens=6),
    "completion": Request("c", 0, "1, 2, 3, 4,", mode="completion", max_tokens=8),
    "sure": Request("o", 0, "1, 2, 3, 4,", mode="completion", max_tokens=4, logprobs=True),
    "stop": Request("d", 0, "a b c d e f", mode="completion", max_tokens=12, stop=(" i",)),
    "turns": Request("p", 0, "", messages=(HELLO, HI, {"role": "user", "content": "What is 1 + 1?"}), max_tokens=4),
    "prefix": Request("q", 0, "", messages=(HELLO, {"role": "assistant", "content": "Hello, my name"}), max_tokens=4),
    "parts": Request("e", 0, "Which?", parts=({"type": "text", "text": "One or two."},), max_tokens=4),
}
SCORED = {
    "completion": (Request("f", 0, "The capital of France is", mode="completion"), " Paris, of course."),
    "chat": (Request("g", 0, "What is the capital of France?"), "The capital of France is Paris."),
    "inside": (Request("h", 0, "The capital of Fra", mode="completion"), "nce is Paris"),
    "nothing before": (Request("n", 0, "", mode="completion"), "The capital of France is Paris."),
}
SHOTS = "".join(f"Question: what is {n} + {n}?\nA. {n}\nB. {2 * n}\nAnswer: B\n\n" for n in range(1, 24))
TWO = Request("s", 0, SHOTS + "Question: what is 24 + 24?\nA. 24\nB. 48\nAnswer:", mode="completion")
OPTIONS = {
    "labels": (TWO, [" A", " B"]),
    "texts": (TWO, [" A", " the first, I think", " the second one, I think", " 48"]),
    "short": (Request("t", 0, "The capital of France is", mode="completion"), [" Paris", " the city of Paris"]),
}
DRAWN = Request("i", 0, "Write a word.", temperature=1.0, seed=1, max_tokens=16)
EXTRA = {"structured_outputs": {"choice": ["seven", "eight"]}, "logit_bias": {"0": -100.0}}
GUIDED = Request("r", 0, "What is 3 + 4?", max_tokens=8, extra=EXTRA)
REFUSED = {
    "long": Request("j", 0, "word " * 5000),
    "image": Request("k", 0, "What?", parts=({"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},)),
    "extra": Request("l", 0, "Hi", extra={"min_p": 7.0}),
}
ENDLESS = Request("m", 0, "Count.", max_tokens=1900, extra={"ignore_eos": True})


def engine_of(model: str) -> VllmEngine:
    """The engine in 32 bits, so that figures can be compared to transformers'."""
    options = {"enforce_eager": True, "dtype": "float32", "max_model_len": 2048, "gpu_memory_utilization": 0.2}
    made = create("vllm", ModelTable(model, options | IN_CORE, Path(), EXTRA))
    assert isinstance(made, VllmEngine)
    return made


async def options(engine: VllmEngine, request: Request, texts: list[str]) -> dict[str, Any]:
    """The log-probabilities of texts after a prompt, asked twice, and how many requests the first time took."""
    await engine._engine.reset_prefix_cache()
    before = next(engine._count)
    first = await engine.score(request, texts)
    asked = next(engine._count) - before - 1
    again = await engine.score(request, texts)  # now the cache holds the texts, too
    return {"first": [each.values for each in first], "again": [each.values for each in again], "asked": asked}


async def session(model: str) -> dict[str, Any]:
    """Everything that is asked of the engine."""
    engine = engine_of(model)
    before = dict(os.environ)
    facts: dict[str, Any] = {}
    try:
        await engine.start()
        facts["under"] = {name: import_module(name).__version__ for name in ("torch", "transformers", "triton")}
        facts["info"], facts["concurrency"] = asdict(engine.describe()), engine.concurrency
        facts["caching"] = engine._engine.vllm_config.cache_config.enable_prefix_caching
        facts["replies"] = {name: asdict(await engine.complete(request)) for name, request in QUESTIONS.items()}
        facts["prompts"] = {n: (await engine._render(r))["prompt_token_ids"] for n, r in QUESTIONS.items()}
        facts["scores"] = {
            name: asdict((await engine.score(prompt, [text]))[0]) for name, (prompt, text) in SCORED.items()
        }
        facts["options"] = {name: await options(engine, *asked) for name, asked in OPTIONS.items()}
        facts["guided"] = (await engine.complete(GUIDED)).text
        drawn = await asyncio.gather(*(engine.complete(replace(DRAWN, seed=seed)) for seed in (1, 1, 2)))
        facts["drawn"] = [reply.text for reply in drawn]
        facts["refused"] = {name: await refusal(engine, request) for name, request in REFUSED.items()}
        facts["aborted"] = await aborted(engine)
        engine._engine.model_config.override_generation_config = {"temperature": 0.7, "repetition_penalty": 1.5}
        engine._prepare()
        facts["defaults"] = engine._defaults
        facts["penalised"] = (await engine.complete(QUESTIONS["completion"])).text
        log = engine._log
        assert log is not None
        facts["logged"] = "INFO" in log.text()
    finally:
        await engine.close()
        await engine.close()
    facts["variables"] = sorted(name for name in {*os.environ, *before} if os.environ.get(name) != before.get(name))
    facts["log left"], facts["children left"] = log.path.exists(), len(multiprocessing.active_children())
    return facts


async def refusal(engine: VllmEngine, request: Request) -> str:
    """Why a request gets no reply."""
    try:
        await engine.complete(request)
    except RequestFailed as error:
        return str(error)
    return ""


async def aborted(engine: VllmEngine) -> dict[str, bool]:
    """Whether vLLM holds blocks of memory for a request while it runs, and after it was cancelled."""
    running = asyncio.create_task(engine.complete(ENDLESS))
    for _ in range(50):
        await asyncio.sleep(0.1)
        if not (during := await engine._engine.reset_prefix_cache()):
            break
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    for _ in range(10):  # far less than the request would take
        if after := await engine._engine.reset_prefix_cache():
            break
        await asyncio.sleep(0.2)
    return {"free during": during, "free after": after}


def refused_arguments(model: str) -> list[str]:
    """What is refused of all that vLLM documents: names and values of enumerations, literals, and its own defaults."""
    from vllm.engine.arg_utils import AsyncEngineArgs

    refused = []
    defaults = {field.name: field.default for field in dataclasses.fields(AsyncEngineArgs)}
    for name, kind in _declared(AsyncEngineArgs).items():
        words = ((each.name, each.name.lower(), each.value) for each in _options_of(kind))
        values = {word for each in words for word in each if word is not None} | set(literals(kind))
        if isinstance(default := defaults[name], (bool, int, float, str)):
            values.add(default)
        for value in () if name in ("model", "enable_lora") else values:
            try:
                AsyncEngineArgs(model, **engine_arguments(Own(), {name: value}, AsyncEngineArgs))
            except KeyFaults as error:
                refused.append(str(error))
    return refused


def literals(kind: Any) -> Iterator[Any]:
    """The values of a Literal, or of those in a union."""
    for part in () if get_origin(kind) is list else get_args(kind):
        yield from [part] if isinstance(part, (str, int)) else literals(part)


def by_transformers(model: str) -> dict[str, Any]:
    """The prompts' tokens and the continuations' log-probabilities, as transformers has them."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model)
    network = AutoModelForCausalLM.from_pretrained(model, dtype=torch.float32)

    def tokens(request: Request) -> list[int]:
        if request.mode == "completion":
            return list(tokenizer(request.prompt or tokenizer.bos_token)["input_ids"])
        text = "".join(f"{part['text']}\n" for part in request.parts) + request.prompt
        system = [{"role": "system", "content": request.system}] if request.system else []
        chat = list(request.messages) or [*system, {"role": "user", "content": text}]
        new = chat[-1]["role"] == "user"
        how = {"add_generation_prompt": new, "continue_final_message": not new, "return_dict": False}
        return list(tokenizer.apply_chat_template(chat, **how))

    def scores(request: Request, continuation: str) -> list[float]:
        prompt, more = tokens(request), list(tokenizer(continuation)["input_ids"])
        with torch.no_grad():
            rows = torch.log_softmax(network(torch.tensor([[*prompt, *more]])).logits[0].double(), -1)
        return [float(rows[len(prompt) - 1 + at, token]) for at, token in enumerate(more)]

    return {
        "prompts": {name: tokens(request) for name, request in QUESTIONS.items()},
        "scores": {name: scores(*asked) for name, asked in SCORED.items()},
        "options": {name: [scores(prompt, text) for text in texts] for name, (prompt, texts) in OPTIONS.items()},
    }


def command(arguments: Sequence[str]) -> dict[str, Any]:
    """The exit code of a command of accgate's, and all that this process and those that it starts print meanwhile."""
    from accgate.cli.main import main

    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        files, before = {1: out, 2: err}, {number: os.dup(number) for number in (1, 2)}
        for number, file in files.items():
            os.dup2(file.fileno(), number)
        try:
            code = main(arguments)
        finally:
            for number, own in before.items():
                os.dup2(own, number)
                os.close(own)
        said = []
        for file in files.values():
            file.seek(0)
            said.append(file.read().decode())
    return {"code": code, "out": said[0], "err": said[1]}


if __name__ == "__main__":
    facts = {"accgate": asyncio.run(session(sys.argv[1])), "transformers": by_transformers(sys.argv[1])}
    from vllm.platforms import current_platform

    facts["refused arguments"] = refused_arguments(sys.argv[1])
    facts["on a processor"] = current_platform.is_cpu()
    facts["commands"] = [command(arguments) for arguments in json.loads(sys.argv[2])]
    print(json.dumps(facts))
