"""TOML of the pages validates, JSON and YAML parse, and what is given to the action are inputs that it has."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomli_w
import yaml

from accgate._version import REPOSITORY
from accgate.config.config import load_config
from accgate.inputs.toml import tomllib
from accgate.questionnaire.key import read_wording
from accgate.tasks.definition import read_definition
from tests.docs.blocks import ROOT, Block, blocks
from tests.support.cases import each

CONFIG = {"gate", "models", "tasks", "judges", "report"}
MODEL = {"engine": "openai", "model": "m", "options": {"base_url": "http://127.0.0.1:8000/v1"}}
JOINED: dict[str, Any] = {"metric": "parts", "columns": {"group": "dataset"}}  # beside dataset.parts
TASK: dict[str, Any] = {
    "prompt": "{{ question }}", "target": "{{ answer }}", "metric": "exact_match", "dataset": {"file": "rows.jsonl"},
}  # fmt: skip
NAMED_FILE = re.compile(r'"([\w/.-]+\.(?:jsonl|json|csv|toml|parquet|j2))"')


def merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    both = dict(base)
    for key, value in over.items():
        kept = both.get(key)
        both[key] = merged(kept, value) if isinstance(kept, Mapping) and isinstance(value, Mapping) else value
    return both


def within(table: str, keys: Mapping[str, Any]) -> Mapping[str, Any]:
    for part in reversed(table.split(".")):
        keys = {part: keys}
    return keys


def write_named_files(text: str, folder: Path) -> None:
    """The files that a block speaks of; what is in them is not its point."""
    for name, function in re.findall(r'"([\w/.-]+\.py):(\w+)"', text):
        (folder / name).write_text(f"def {function}(answer, target, **options):\n    return 0.0\n", encoding="utf-8")
    for name in NAMED_FILE.findall(text):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith(".toml"):
            path.write_text(tomli_w.dumps(TASK), encoding="utf-8")
        else:
            path.write_text('{"question": "1", "answer": "1"}\n', encoding="utf-8")


def check_toml(block: Block, folder: Path) -> None:
    found: Mapping[str, Any] = tomllib.loads(block.text)
    write_named_files(block.text + '"rows.jsonl"', folder)
    if "toml" in block.notes:
        found = within(block.notes["toml"], found)
    path = folder / "block.toml"
    if set(found) <= CONFIG:
        names = {name for name, keys in found.get("models", {}).items() if "engine" not in keys} or {"m"}
        if not any("engine" in keys for keys in found.get("models", {}).values()):
            found = merged({"models": dict.fromkeys(names, MODEL)}, found)
        path.write_text(tomli_w.dumps(merged({"tasks": {"arithmetic": {}}}, found)), encoding="utf-8")
        load_config(path)
    elif "items" in found:
        path.write_text(block.text, encoding="utf-8")
        read_wording(path)
    else:
        task = {key: value for key, value in TASK.items() if key != "prompt" or "messages" not in found}
        if "parts" in found.get("dataset", {}):
            task = JOINED
        path.write_text(tomli_w.dumps(merged(task, found)), encoding="utf-8")
        read_definition(path)


@each("block", blocks("toml"))
def test_toml_validates(block: Block, tmp_path: Path) -> None:
    check_toml(block, tmp_path)


@each("block", blocks("json"))
def test_json_parses(block: Block) -> None:
    json.loads(block.text)


@each("block", blocks("yaml"))
def test_yaml_parses_and_gives_the_action_inputs_that_it_has(block: Block) -> None:
    found = yaml.safe_load(block.text)
    inputs = {
        name: set(yaml.safe_load((ROOT / name / "action.yml").read_text(encoding="utf-8"))["inputs"])
        for name in ("", "report")
    }
    for step in found.get("steps", []):
        used = re.fullmatch(rf"{REPOSITORY}/?(\w*)@v\d+", step.get("uses", ""))
        if used:
            assert set(step.get("with", {})) <= inputs[used[1]], str(block)
    if set(found) == {"with"}:
        assert set(found["with"]) <= inputs[""], str(block)
