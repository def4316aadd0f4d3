"""The table of docs/library.md from the task library: `python -m docs.library_table` writes it anew."""

from __future__ import annotations

import re
from pathlib import Path

from accgate.tasks.definition import library_file, library_names, read_definition
from accgate.tasks.schema import Dataset, DefinitionFile

PAGE = Path(__file__).with_name("library.md")
START, END = "<!-- library: written by python -m docs.library_table -->", "<!-- end of the library -->"
HEADER = "| task | asks | same as | dataset | metric | samples |\n|---|---|---|---|---|---|"
FILES, HUB_PAGES = "../accgate/tasks/library", "https://huggingface.co/datasets"
GATES_RATES = (50.0, 0.05)  # sigma and alpha of most tasks, which the page names once
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
    first = re.match(r".*?[.?](?=\s|$)", " ".join(content.description.split()))
    cells = (
        f"[`{name}`]({FILES}/{name}.toml)",
        first[0].rstrip(".") if first else "",
        content.same_as.partition(";")[0],
        _dataset(content.dataset),
        f"`{content.metric}`{_choice(content)}",
        _samples(content),
    )
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _dataset(dataset: Dataset) -> str:
    """Name the dataset, with a link to the commit it is pinned to; a star marks one without."""
    if dataset.generator is not None:
        return "generated"
    if dataset.parts:
        return f"{len(dataset.parts)} tasks"
    match = HUB.search(str(dataset.options))
    name, revision = match.groups() if match else (dataset.hub, dataset.revision)
    pinned = revision is not None and len(revision) == 40
    address = f"{HUB_PAGES}/{name}/tree/{revision}" if pinned else f"{HUB_PAGES}/{name}"
    return f"[{name}]({address}){'' if pinned else '*'}"


def _choice(content: DefinitionFile) -> str:
    return f" by {content.choices.by}" if content.choices else ""


def _samples(content: DefinitionFile) -> str:
    """How many samples are asked, and the rates where they are not those that the page names."""
    number = "all" if content.num_samples is None else f"{content.num_samples:,}"
    if content.alpha is None or content.sigma is None or (content.sigma, content.alpha) == GATES_RATES:
        return number
    return f"{number}; sigma {content.sigma:g}, alpha {content.alpha:g}"


if __name__ == "__main__":
    PAGE.write_text(with_table(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
