"""Conversations and tools of docs/tasks.md, as the page has them, each a gate against a real server."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from accgate.records.file import read_records
from tests.docs.blocks import blocks
from tests.support.servers import Server

CALL = {"function": {"name": "get_weather", "arguments": '{"city": "Rome"}'}}
ANSWERS: Mapping[str, Any] = {
    "rag": "She was born in London [1].", "turns": "The Danube", "prefix": 'Paris"}',
    "weather": {"content": None, "tool_calls": [CALL]}, "result": "It is 18 degrees.",
}  # fmt: skip
SHOWN: Mapping[str, list[str]] = {
    "rag": ["system", "user"], "turns": ["system", "user", "assistant", "user"], "prefix": ["user", "assistant"],
    "weather": ["user"], "result": ["user", "assistant", "tool"],
}  # fmt: skip


def test_every_example_runs_and_a_right_reply_is_right(tmp_path: Path) -> None:
    examples = {}
    page = [block for block in blocks("toml", "json") if block.page == "docs/tasks.md"]
    for task, row in pairwise(page):
        if (name := re.match(r"# (\w+)\.toml\n", task.text)) and row.language == "json":
            examples[name[1]] = (task.text, row.text)
    assert set(examples) == set(ANSWERS)
    with Server() as server:
        config = f'[models.m]\nengine = "openai"\nmodel = "toy"\noptions.base_url = "{server.url}"\n'
        for name, (task, row) in examples.items():
            (tmp_path / f"{name}.toml").write_text(task, encoding="utf-8")
            (tmp_path / f"{name}.jsonl").write_text(row, encoding="utf-8")
            config += f'[tasks.{name}]\nfile = "{name}.toml"\ntarget = 1\n'
        (tmp_path / "accuracy.toml").write_text(config, encoding="utf-8")
        current = {"name": ""}
        server.fault_of = lambda body: current.update(name=of_body(body))
        server.answer = lambda _: ANSWERS[current["name"]]
        main(["run", str(tmp_path / "accuracy.toml"), "--out", str(tmp_path / "out"), "--quiet"])
        bodies = [seen.body for seen in server.seen if seen.body["max_tokens"] > 1]
    for name in ANSWERS:
        (record,) = read_records(tmp_path / "out" / "m" / f"{name}.jsonl")
        assert (record.score, record.error) == (100.0, None), (name, record)
    roles = {of_body(body): [message["role"] for message in body["messages"]] for body in bodies}
    assert roles == SHOWN


def of_body(body: Mapping[str, Any]) -> str:
    """The example that a request is of, by its messages; one without any is a question of accgate's own."""
    texts = " ".join(str(message.get("content")) for message in body["messages"])
    marks = {"Ada": "rag", "river": "turns", "capital": "prefix", "degrees": "result", "Rome": "weather"}
    return next((name for mark, name in marks.items() if mark in texts), "weather")
