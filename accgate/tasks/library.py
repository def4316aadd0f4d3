"""The task library: definitions that come with accgate, and their table for the documentation.

`python -m accgate.tasks.library docs/library.md` writes the table between the page's two marks.
"""

from __future__ import annotations

import re
import sys
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from accgate.tasks.schema import Dataset, DefinitionFile

FOLDER = Path(__file__).with_name("library")
START, END = "<!-- library: written by python -m accgate.tasks.library -->", "<!-- end of the library -->"
HEADER = (
    "| task | asks | same prompt and score as | dataset | solved examples | metric | samples | sigma | alpha, beta "
    "| chance |\n|---|---|---|---|---|---|---|---|---|---|"
)
HUB = re.compile(r"(?:huggingface\.co/datasets|hf://datasets)/([^/]+/[^/@]+)(?:/resolve/|@)([^/]+)/")


FORMER = {"gsm8k": "gsm8k_cot"}  # a name that got another definition, and the name that its own one has now


def former_task(file: Path) -> str | None:
    """The library's name for what a definition of the library asked before it was written anew; None for all others."""
    return FORMER.get(file.stem) if file.parent == FOLDER else None


@cache
def library_names() -> tuple[str, ...]:
    """Names of the library's tasks, sorted."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def library_file(name: str) -> Path:
    """The definition's file."""
    return FOLDER / f"{name}.toml"


def library_table() -> str:
    """A row for each task of the library, in Markdown."""
    return "\n".join([HEADER, *(_row(name) for name in library_names())])


def with_table(page: str) -> str:
    """The page with the table between its marks.

    Raises
    ------
    ValueError
        When the page has not each mark once.
    """
    if page.count(START) != 1 or page.count(END) != 1:
        raise ValueError(f"the page needs {START} and {END}, each once")
    before, _, rest = page.partition(START)
    return f"{before}{START}\n\n{library_table()}\n\n{END}{rest.partition(END)[2]}"


def _row(name: str) -> str:
    from accgate.tasks.definition import read_definition

    content = read_definition(library_file(name)).content
    cells = (
        f"`{name}`",
        re.split(r"\.\s", " ".join(content.description.split()))[0].rstrip("."),
        content.same_as,
        _dataset(content.dataset),
        _examples(content),
        _metric(content),
        "all" if content.num_samples is None else f"{content.num_samples:,}",
        _number(content.sigma),
        ", ".join(_number(rate) for rate in (content.alpha, content.beta)) if content.beta else "",
        _number(content.chance),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _dataset(dataset: Dataset) -> str:
    if dataset.generator is not None:
        return "generated"
    if dataset.parts:
        return f"those of {len(dataset.parts)} tasks"
    match = HUB.search(str(dataset.options))
    name, revision = match.groups() if match else (dataset.hub, dataset.revision)
    pinned = revision[:7] if revision and len(revision) == 40 else "pin it"
    part = f"{len(dataset.subsets)} subsets" if dataset.subsets else dataset.name
    return f"{name}{f', {part}' if part else ''}, {dataset.split}, {pinned}"


def _examples(content: DefinitionFile) -> str:
    few_shot = content.few_shot
    if few_shot.split is not None:
        return f"{few_shot.count or ''} of {few_shot.split}".strip()
    return str(few_shot.count or len(few_shot.examples) or "none")


def _metric(content: DefinitionFile) -> str:
    shown = {
        key: value for key, value in content.metric_options.items() if "\n" not in str(value)
    }  # code is in the file
    options = ", ".join(f"{key} = {value}" for key, value in shown.items())
    return f"`{content.metric}`{f' ({options})' if options else ''}{_choice(content)}"


def _choice(content: DefinitionFile) -> str:
    choices = content.choices
    if choices is None:
        return ""
    per = "" if choices.by == "letter" or choices.normalise == "none" else f" per {choices.normalise.rstrip('s')}"
    return f", by {choices.by}{per}"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:g}"


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(with_table(path.read_text(encoding="utf-8")), encoding="utf-8")
