"""Pages of the HTML report as tests read them, and runs that have something to show in each of its parts."""

import json
import random
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from accgate import compare
from accgate.records.file import Record, paths_of, to_line
from accgate.records.ids import Ids, order_of
from accgate.records.replacement import write_gzip_lines
from accgate.report.flips import Flip
from accgate.report.html.page import html_report
from accgate.report.result_file import read_result, write_result
from accgate.result import Result
from accgate.verdict import Verdict
from tests.report.rendered import Reader
from tests.report.runs import result_of
from tests.support.gates import Project

WORDS = ["the", "model", "adds", "both", "numbers", "and", "says", "what", "it", "found", "so", "that"]


@dataclass
class Picture:
    """An SVG of a page: its class names, its attributes, and every element within as (tag, attributes)."""

    kind: str
    attributes: dict[str, str]
    elements: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    title: str = ""
    text: str = ""

    def figure(self, name: str) -> float | None:
        """A figure that the picture was drawn with, all its digits."""
        found = self.attributes.get(f"data-{name}")
        return None if found is None else float(found)

    def all(self, tag: str, class_: str) -> list[dict[str, str]]:
        return [given for name, given in self.elements if name == tag and class_ in given.get("class", "").split()]


@dataclass
class Document(Reader):
    """A page of accgate's: its table rows and pictures, and its text outside of both style and pictures."""

    rows: list[list[str]] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)
    policy: str = ""
    data: str = ""
    style: str = ""
    script: str = ""

    def begin(self, tag: str, given: dict[str, str]) -> None:
        self.ids += [given["id"]] if "id" in given else []
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
        elif is_chart(tag, given):
            self.pictures.append(Picture(given["class"].split()[-1], given))
        if any(is_chart(*each) for each in self.open):
            self.pictures[-1].elements.append((tag, given))

    def handle_data(self, data: str) -> None:
        tag, given = self.open[-1] if self.open else ("", {})
        if tag == "style":
            self.style = data
        elif tag == "script" and given.get("type") == "application/json":
            self.data = data
        elif tag == "script":
            self.script = data
        elif any(is_chart(*each) for each in self.open):
            self.pictures[-1].title += data if tag == "title" else ""
            self.pictures[-1].text += data
        else:
            self.text += data
        if self.is_in("td", "th"):
            self.rows[-1][-1] += data

    @property
    def samples(self) -> dict[str, dict[str, Any]]:
        """The samples of each check, as the page's script reads them."""
        return dict(json.loads(self.data))

    def picture(self, kind: str, at: int = 0) -> Picture:
        return [picture for picture in self.pictures if picture.kind == kind][at]


def is_chart(tag: str, given: dict[str, str]) -> bool:
    """Whether an element is a chart, and no symbol or drawing within a row."""
    return tag == "svg" and "chart" in given.get("class", "").split()


def document(text: str) -> Document:
    return Document().read(text)


def page_of(project: Project) -> tuple[tuple[Verdict, ...], Document]:
    """The verdicts of a project's last run, and its report."""
    result = read_result(project.out / "accgate.json")
    return result.checks, document(html_report(result, folder=project.out))


def changed(n: int, lost: float, gained: float, seed: int = 0) -> tuple[list[float], list[float]]:
    """Scores of n samples, right with probability 0.7, and the same with these shares lost and gained of all."""
    draw = random.Random(seed)
    before = [100.0 * (draw.random() < 0.7) for _ in range(n)]
    after = [
        100.0 - score if draw.random() < (lost / 0.7 if score else gained / 0.3) else score for score in before
    ]  # fmt: skip
    return before, after


def write_samples(folder: Path, flips: Sequence[Flip], *, model: str = "m", task: str = "t", **columns: Any) -> None:
    """The records, prompts and earlier replies of these samples, with further columns of every record."""
    paths = paths_of(folder, model, task)
    paths.records.parent.mkdir(parents=True, exist_ok=True)
    with paths.records.open("wb") as file:
        for flip in flips:
            record = Record(flip.id, 0, flip.score, flip.expected or "", None, flip.got, "stop", 50, 40, 1.0, None)
            file.write(to_line(replace(record, reasoning=flip.reasoning, **columns)))
    write_gzip_lines(paths.prompts, ({"id": flip.id, "prompt": flip.prompt} for flip in flips if flip.prompt))
    write_gzip_lines(
        paths.before,
        ({"id": flip.id, "repeat": 0, "score": flip.score_before, "reply": flip.before} for flip in flips),
    )


def written_run(folder: Path, checks: int, n: int, *, lost: float = 0.05, early: bool = False) -> Result:
    """A run's folder of so many checks of n samples, with prompts, replies and the reference's scores of each."""
    verdicts = []
    for check in range(checks):
        before, after = changed(n, lost, 0.02, seed=check)
        given = Ids(f"{check:04x}{at:012x}" for at in range(n))
        ids = given.take(order_of(0, given))
        sides = (dict(zip(ids, side, strict=True)) for side in (before, after))
        verdicts.append(replace(compare(*sides, theta=2.0, early_stopping=early), model="model", task=f"task-{check}"))
        draw, flips = random.Random(check), []
        for number, (id_, *scores) in enumerate(zip(ids, before, after, strict=True)):
            prompt, text = (" ".join(draw.choices(WORDS, k=count)) for count in (30, 40))
            then, now = (f"{text} So the answer is {int(score)}." for score in scores)
            flips.append(Flip(id_, f"Question {number}: {prompt}?", "100", then, now, *scores))
        write_samples(folder, flips, model="model", task=f"task-{check}")
    result = result_of(*verdicts)
    write_result(result, folder)
    return result
