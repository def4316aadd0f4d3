"""Tasks by the name of their library definition or by a file of their own, as accuracy.toml would give them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.tasks import Task, library_file, read_definition
from accgate.tasks.rows import Source
from accgate.tasks.schema import ChosenBy, Mode
from accgate.tasks.task import build_task


def load_task(
    name: str,
    *,
    file: Path | None = None,
    library: str | None = None,
    options: Mapping[str, Any] | None = None,
    mode: Mode | None = None,
    seed: int = 0,
    count: int | None = None,
    dataset: Path | None = None,
    few_shot: Path | None = None,
    subset: str | Sequence[str] | None = None,
    choose: ChosenBy | None = None,
) -> Task:
    """Read a definition, by default that of the library, and build its task; see `build_task` and `Source`."""
    definition = read_definition(file or library_file(library or name)).with_choice(choose)
    return build_task(name, definition, Source(options or {}, seed, count, dataset, few_shot, subset), mode=mode)
