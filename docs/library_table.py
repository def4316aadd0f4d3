"""The table of docs/library.md from the task library: `python -m docs.library_table` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from accgate.evaluation.examples import reading_of
from accgate.tasks.definition import read_definition
from accgate.tasks.library import library_file, library_names
from accgate.tasks.schema import Dataset, DefinitionFile

PAGE = Path(__file__).with_name("library.md")
START, END = "<!-- library: written by python -m docs.library_table -->", "<!-- end of the library -->"
HEADER = (
    "| task | asks | how a reply is read | same prompt and score as | dataset | solved examples | metric | samples "
    "| sigma | alpha, beta | chance |\n|---|---|---|---|---|---|---|---|---|---|---|"
)
HUB = re.compile(r"(?:huggingface\.co/datasets|hf://datasets)/([^/]+/[^/@]+)(?:/resolve/|@)([^/]+)/")


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
    table = "\n".join([HEADER, *map(_row, library_names())])
    return f"{before}{START}\n\n{table}\n\n{END}{rest.partition(END)[2]}"


def _row(name: str) -> str:
    definition = read_definition(library_file(name))
    content = definition.content
    cells = (
        f"`{name}`",
        re.split(r"\.\s", " ".join(content.description.split()))[0].rstrip("."),
        reading_of(definition),
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
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
