"""`accgate validate --probe`: each server is asked once, and what is wrong with its URL is said at once."""

from __future__ import annotations

import asyncio
import socket
from pathlib import Path

import pytest

from accgate.cli.main import main
from accgate.engines.openai import probe
from accgate.errors import CannotEvaluate
from tests.engines.asking import engine_at
from tests.engines.planned import model_file
from tests.support.cases import each
from tests.support.gates import said, toml, write_task
from tests.support.servers import Fault, Server


def validated(folder: Path, model: str = "toy", tasks: str = "[tasks.arithmetic]", **options: object) -> int:
    path = folder / "accuracy.toml"
    path.write_text(f'[models.m]\nengine = "openai"\nmodel = "{model}"\noptions = {toml(options)}\n{tasks}\n')
    return main(["validate", "--probe", str(path)])


def test_a_server_that_has_the_model_is_valid_and_was_asked_nothing_else(
    server: Server, tmp_path: Path, capsys
) -> None:
    assert validated(tmp_path, base_url=server.url) == 0
    assert f"m: {server.url} answers and has toy." in capsys.readouterr().out
    assert server.seen == []


def test_what_a_server_does_not_tell_is_said(server: Server, tmp_path: Path, capsys) -> None:
    server.models = {"data": [{"id": "gpt-\x1b[31m5"}, {"id": "gpt-4"}]}
    assert validated(tmp_path, model="ours", base_url=server.url) == 0
    told = capsys.readouterr().out
    assert f"m: {server.url} answers; it does not list ours (known are gpt-�[31m5, gpt-4)" in told
    server.models = {"data": []}
    assert validated(tmp_path, base_url=server.url) == 0
    assert f"m: {server.url} answers; it lists no models." in capsys.readouterr().out
    assert validated(tmp_path, serve=["true", "{port}"]) == 0
    assert "m: nothing was asked: the run starts the server itself (options.serve)." in capsys.readouterr().out


def test_a_config_without_a_server_is_said_to_have_none(tmp_path: Path, capsys) -> None:
    path = model_file(tmp_path, "ray", "m", 'engine = "vllm"', "[tasks.arithmetic]\n")
    assert main(["validate", "--probe", str(path)]) == 0
    assert "no model has a server to ask" in capsys.readouterr().out


def test_a_url_without_v1_is_a_fault_with_the_right_one_beside_it(server: Server, tmp_path: Path, capsys) -> None:
    without = server.url.removesuffix("/v1")
    for written in (without, f"{without}/"):
        assert validated(tmp_path, base_url=written) == 2
        told = said(capsys)
        assert f'but {server.url} answers; write base_url = "{server.url}"' in told
        assert "accuracy.toml:4: models.m.options.base_url: " in told
    with pytest.raises(CannotEvaluate, match="answers; write base_url"):  # it may come right until the run starts
        asyncio.run(engine_at(without).reach())


def test_a_server_that_is_not_there_refuses_or_says_nothing_is_said_in_seconds(
    tmp_path: Path, capsys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(probe, "SECONDS", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        assert validated(tmp_path, base_url=f"http://127.0.0.1:{silent.getsockname()[1]}/v1") == 3
        assert "it said nothing for 0.3 s; is the server up, and options.base_url right?" in said(capsys)
        port = silent.getsockname()[1]
    assert validated(tmp_path, base_url=f"http://127.0.0.1:{port}/v1") == 3
    assert "is the server up" in said(capsys)
    assert main(["validate", str(tmp_path / "accuracy.toml")]) == 0  # without --probe nothing is reached


def test_a_refused_key_is_said_and_the_key_is_not(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys
) -> None:
    monkeypatch.setenv("TOY_KEY", "sesame")
    server.models = Fault(401, {"error": {"message": "Bearer sesame"}})
    assert validated(tmp_path, base_url=server.url, api_key_env="TOY_KEY") == 3
    told = said(capsys)
    assert "HTTP 401: the key is refused; check the variable that options.api_key_env names" in told
    assert "sesame" not in told


TWICE = "m / sums: the prompt writes the token that begins a text, and the tokenizer adds it (1) too: take it out of"
UNKNOWN = "m / sums: the prompt begins with a special token, and the server does not tell whether it adds another"


@each(
    ("place", "prompt", "keys", "tokens", "told"),
    [
        ("/tokenize", "<s>{{ q }}", {}, [1, 1, 7], TWICE),
        ("beside a completion", "<s>{{ q }}", {}, [1, 1, 7], TWICE),
        ("/tokenize", "[BOS] {{ q }}", {"system": "<s>Be brief."}, [1, 1, 7], TWICE),
        ("/tokenize", "<s>{{ q }}", {}, [1, 7, 7], None),  # the tokenizer adds none
        ("nowhere", "<s>{{ q }}", {}, None, UNKNOWN),
        ("/tokenize", "11{{ q }}", {}, [1, 1, 7], None),  # digits that are tokens
        ("/tokenize", "<s>{{ q }}", {"mode": "chat"}, [1, 1, 7], None),  # the server's template begins it
    ],
)
def test_a_raw_prompt_that_begins_twice_is_told(
    tmp_path: Path, capsys, place: str, prompt: str, keys: dict[str, str], tokens: list[int] | None, told: str | None
) -> None:
    write_task(tmp_path, **{"prompt": prompt, "mode": "completion", **keys})
    with Server() as server:
        if place == "/tokenize":
            server.tokens_of = lambda _: tokens
        elif place == "beside a completion":
            server.choice_of = lambda _: {"text": "x", "prompt_token_ids": tokens}
        assert validated(tmp_path, tasks='[tasks.sums]\nfile = "sums.toml"', base_url=server.url) == 0
    lines = [line for line in capsys.readouterr().out.splitlines() if line.startswith("m / sums: the prompt")]
    assert len(lines) == (told is not None)
    assert told is None or lines[0].startswith(told)
