"""Gates over conversations and tools against a real server: what is recorded, what counts, and what fails closed."""

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from accgate.cli.main import main
from accgate.engines.vllm.engine import VllmEngine
from accgate.evaluation.presence import missing_ability
from accgate.records.file import Record, read_records
from tests.support.gates import toml, write_task
from tests.support.loading import load_task
from tests.support.servers import Server

CITIES = [f"City{i}" for i in range(20)]
TOOL = {"name": "get.weather", "parameters": {"type": "dict", "required": ["city"], "properties": {
    "city": {"type": "string"}, "days": {"type": "integer"}}}}  # fmt: skip
ROWS = [
    {"q": f"How warm is {city}?", "calls": [{"get.weather": {"city": [city], "days": [1, ""]}}], "tools": [TOOL]}
    for city in CITIES
]


def call(prompt: str, **arguments: Any) -> dict[str, Any]:
    """A message that calls the function for the city of the prompt, as vLLM sends it."""
    city = prompt.rsplit(maxsplit=1)[-1].rstrip("?")
    function = {"name": "get_weather", "arguments": json.dumps({"city": city, **arguments})}
    return {"content": None, "tool_calls": [{"id": "c1", "type": "function", "function": function}]}


@pytest.fixture
def server() -> Iterator[Server]:
    with Server(answer=call) as made:
        yield made


def write(folder: Path, server: Server, rows: Any = ROWS, *, least: int | None = 10, **keys: Any) -> Path:
    """A gate over these rows; without a `least` mean it needs a reference."""
    merged = {"target": "{{ calls | tojson }}", "metric": "tool_calls", **keys}
    task = write_task(folder, "chat", rows, prompt="{{ q }}", **merged)
    if "messages" in keys:
        lines = task.read_text().splitlines(keepends=True)
        task.write_text("".join(line for line in lines if not line.startswith("prompt")))
    config = folder / "accuracy.toml"
    options = {"base_url": server.url, "max_retries": 0}
    config.write_text(
        f'[models.m]\nengine = "openai"\nmodel = "toy"\noptions = {toml(options)}\n[tasks.chat]\nfile = "chat.toml"\n'
        + ("" if least is None else f"target = {least}\n")
    )
    return config


def run(config: Path, command: str = "run") -> tuple[int, list[Record]]:
    out = config.parent / command
    code = main([command, str(config), "--out", str(out), "--quiet"])
    path = out / "m" / "chat.jsonl"
    return code, list(read_records(path)) if path.exists() else []


def test_calls_are_recorded_scored_and_gated(tmp_path: Path, server: Server) -> None:
    config = write(tmp_path, server, tools="{{ tools | tojson }}", tool_choice="auto", least=None)
    code, records = run(config, "record")
    assert (code, {record.score for record in records}) == (0, {100.0})
    city = json.loads(records[0].answer or "")[0]["arguments"]["city"]
    assert records[0].answer == json.dumps([{"name": "get_weather", "arguments": {"city": city}}])
    assert json.loads(records[0].reply or "") == {"content": "", "tool_calls": json.loads(records[0].answer or "")}
    bodies = [seen.body for seen in server.seen if seen.body["max_tokens"] > 1]
    assert len(bodies) == 20
    assert all(body["tool_choice"] == "auto" for body in bodies)
    assert bodies[0]["tools"][0]["function"]["name"] == "get_weather"
    server.answer = lambda prompt: call(prompt, days=2 if prompt[-2:] > "4?" else 1)
    code, records = run(config)
    assert code == 1
    assert sum(record.score == 0.0 for record in records if record.score is not None) >= 6


WEATHER = '{"name": "get_weather", "arguments": {"city": "City1"}}'
UNREAD_CALLS = (  # as Llama, Gemma, DeepSeek, MiniMax, LFM, Nemotron, Phi, Cohere, gpt-oss and others write them
    f"<tool_call>{WEATHER}</tool_call>",
    '{"name": "get_weather", "parameters": {"city": "Rome"}}',
    '```json\n[{"get_weather": {"city": "Rome"}}]\n```',
    '[get_weather(city="Rome")]',
    '```tool_code\nprint(get_weather(city="Rome"))\n```',
    'I look it up.\n\nget_weather(city="Rome")',
    "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>get_weather",  # noqa: RUF001
    '<minimax:tool_call>\n<invoke name="x">',
    "<|tool_call_start|>[x()]<|tool_call_end|>",
    "<TOOLCALL>[]</TOOLCALL>",
    'functools[{"name": "x"}]',
    '<|START_ACTION|>[{"tool_name": "x"}]',
    "<|channel|>commentary to=functions.x <|message|>{}",
    "Action: x\nAction Input: {}",
)
REPLIES: list[tuple[Any, str | None, float]] = [
    (call("City1"), f"[{WEATHER}]", 100.0),
    ({**call("City1"), "content": "I look it up."}, f"[{WEATHER}]", 100.0),
    ({"tool_calls": call("City1")["tool_calls"] * 2}, f"[{WEATHER}, {WEATHER}]", 0.0),
    ({"tool_calls": [{"function": {"name": "get_weather", "arguments": '{"city": "C'}}]},
     '[{"name": "get_weather", "arguments": "{\\"city\\": \\"C"}]', 0.0),
    ("It is warm.", "[]", 0.0),
    (f"[{WEATHER}]", None, 0.0),  # a call written as text
    (json.dumps({"content": "", "tool_calls": [json.loads(WEATHER)]}), None, 0.0),  # a forged record
    ("The function get_weather(city) would tell, and `get_weather` alone.", "[]", 0.0),
    ({"content": None}, None, 0.0),
    *((unread, None, 0.0) for unread in UNREAD_CALLS),
]  # fmt: skip


def test_every_form_of_a_reply_is_read_or_counts_as_none(tmp_path: Path, server: Server) -> None:
    rows = [{**ROWS[1], "q": f"{i}: How warm is City1?"} for i in range(len(REPLIES))]
    config = write(tmp_path, server, rows, tools="{{ tools | tojson }}")
    server.answer = lambda prompt: "Hi" if prompt == "Hi" else REPLIES[int(prompt.split(":")[0])][0]
    by_id = {record.id: record for record in run(config)[1]}
    for sample in load_task("chat", file=tmp_path / "chat.toml").samples:
        reply, *read = REPLIES[int(sample.user.split(":")[0])]
        assert [by_id[sample.id].answer, by_id[sample.id].score] == read, reply


def test_where_no_call_is_right_words_are_and_silence_is_not(tmp_path: Path, server: Server) -> None:
    rows = [{**row, "calls": []} for row in ROWS]
    config = write(tmp_path, server, rows, tools="{{ tools | tojson }}")
    for answer, score in (("I cannot.", 100.0), ("", 0.0), (None, 0.0)):
        server.answer = call if answer is None else lambda _, text=answer: text
        _, records = run(config)
        assert {record.score for record in records} == {score}


def test_several_turns_with_a_tool_end_in_an_answer(tmp_path: Path, server: Server) -> None:
    asked = {"id": "c1", "name": "get_weather", "arguments": {"city": "Rome"}}
    messages = [
        {"role": "system", "content": "Be brief."}, {"role": "user", "content": "{{ q }}"},
        {"role": "assistant", "tool_calls": [asked]}, {"role": "tool", "tool_call_id": "c1", "content": "18 C"},
    ]  # fmt: skip
    keys = {"messages": messages, "tools": "{{ tools | tojson }}", "metric": "contains", "target": "18"}
    config = write(tmp_path, server, **keys)
    server.answer = lambda _: "It is 18 C."
    _, records = run(config)
    assert {(record.answer, record.score) for record in records} == {("It is 18 C.", 100.0)}
    assert server.seen[-1].body["messages"][2]["tool_calls"][0]["function"]["arguments"] == '{"city": "Rome"}'
    server.answer = call  # another call, where an answer is due
    _, records = run(config)
    assert {(record.answer, record.score) for record in records} == {(None, 0.0)}


def test_a_prefix_is_continued_and_a_server_that_cannot_ends_the_check(tmp_path: Path, server: Server, capsys) -> None:
    messages = [{"role": "user", "content": "{{ q }}"}, {"role": "assistant", "content": '{"city": "'}]
    keys = {"messages": messages, "metric": "exact_match", "target": "{{ q[12:-1] }}", "extract__json_path": "$.city"}
    config = write(tmp_path, server, **keys, extract__with_prefix=True)
    server.answer = lambda _: 'City7"} is warm'
    _, records = run(config)
    assert {record.reply for record in records} == {'City7"} is warm'}
    assert sum(record.score == 100.0 for record in records) == 1
    server.continues = False
    code, _ = run(config)
    assert code == 3
    assert "does not continue the assistant's last message" in " ".join(capsys.readouterr().out.split())


def test_an_engine_that_reads_no_calls_is_refused_before_it_starts(tmp_path: Path, server: Server) -> None:
    write(tmp_path, server, tools="{{ tools | tojson }}")
    check: Any = SimpleNamespace(task=load_task("chat", file=tmp_path / "chat.toml"), model="m")
    vllm: Any = SimpleNamespace(calls_tools=VllmEngine.calls_tools)
    for engine in (vllm, SimpleNamespace(inner=vllm)):  # alone, or in replicas
        assert "the engine of m reads no tool calls; use openai" in str(missing_ability(engine, check))
    assert missing_ability(SimpleNamespace(), check) is None
