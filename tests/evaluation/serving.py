"""Gates of models that a server answers for, and what they leave behind, for tests."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.cli.main import main
from accgate.result import EngineInfo
from tests.support.gates import table


class Toy:
    """What an engine has besides its answers."""

    async def start(self) -> None: ...

    async def close(self) -> None: ...

    def describe(self) -> EngineInfo:
        return EngineInfo("toy", "1", "paper")


def served_by(url: str, model: str = "toy", **options: Any) -> dict[str, Any]:
    """A model of a server, or a judge, as accuracy.toml names it."""
    return {"engine": "openai", "model": model, "options": {"base_url": url, "max_retries": 0, **options}}


def sums_of(n: int, high: int = 20, **keys: Any) -> dict[str, Any]:
    """A task of so many sums."""
    return {"options": {"high": high}, "num_samples": n, **keys}


def configure(folder: Path, tables: Mapping[str, Mapping[str, Any]]) -> Path:
    """Write accuracy.toml of these tables; its path."""
    path = folder / "accuracy.toml"
    path.write_text("".join(table(name, values) for name, values in tables.items()), encoding="utf-8")
    return path


def command(folder: Path, name: str, *arguments: str) -> int:
    """Run a command with the accuracy.toml of a folder; its exit code."""
    return main([name, str(folder / "accuracy.toml"), "--quiet", *arguments])


def merge(folder: Path, parts: Sequence[Path]) -> int:
    """Merge the shards in these folders into `merged`; the exit code."""
    where = ["--config", str(folder / "accuracy.toml"), "--out", str(folder / "merged")]
    return main(["merge", *map(str, parts), *where])


def checks_of(out: Path) -> list[dict[str, Any]]:
    """The checks in the result of a run, or of a merge."""
    return list(json.loads((out / "accgate.json").read_text())["checks"])
