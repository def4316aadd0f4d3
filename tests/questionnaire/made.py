"""Two files of answers, the questionnaire that the command makes of them, and ratings as its page saves them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from accgate.cli.main import main
from tests.support.gates import write_lines

N = 12
Level = Callable[[str, str, str], int]  # question, side, item -> 1 to 5


def answers(side: str, n: int = N, **columns: Any) -> list[dict[str, Any]]:
    """Rows of one side, whose every answer is another."""
    return [{"id": f"q{i}", "reply": f"{side} says {i}", "prompt": f"What is {i}?", **columns} for i in range(n)]


def always(level: int) -> Level:
    """The same level for everything."""
    return lambda *_: level


@dataclass(frozen=True)
class Made:
    """A folder in which the command was run."""

    folder: Path
    capsys: pytest.CaptureFixture[str]

    def run(self, *arguments: str | Path) -> tuple[int, str, str]:
        """Exit code, standard output and standard error of `accgate questionnaire`."""
        self.capsys.readouterr()
        try:
            code = main(["questionnaire", *map(str, arguments)])
        except SystemExit as stop:
            code = int(stop.code or 0)
        return (code, *self.capsys.readouterr())

    def write(self, side: str, rows: Sequence[Mapping[str, Any]]) -> Path:
        return write_lines(self.folder / f"{side}.jsonl", rows)

    def build(self, *options: str | Path, n: int = N, seed: int = 7) -> str:
        """Build a questionnaire of two files that exist or are written now; what it printed."""
        for side in ("reference", "candidate"):
            if not (self.folder / f"{side}.jsonl").exists():
                self.write(side, answers(side, n))
        files = (self.folder / "reference.jsonl", self.folder / "candidate.jsonl")
        code, out, err = self.run(*files, "--out", self.page_path, "--seed", str(seed), "--force", *options)
        assert (code, err) == (0, "")
        return out

    @property
    def page_path(self) -> Path:
        return self.folder / "page.html"

    @property
    def key_path(self) -> Path:
        return self.folder / "page.key.json"

    @property
    def html(self) -> str:
        return self.page_path.read_text(encoding="utf-8")

    @property
    def page(self) -> dict[str, Any]:
        """The data that the page shows."""
        found = re.search(r'<script type="application/json" id="data">(.*?)</script>', self.html, re.DOTALL)
        assert found
        return dict(json.loads(found[1]))

    @property
    def texts(self) -> dict[str, str]:
        """The answers on the page by their names."""
        return {answer["id"]: answer["text"] for question in self.page["questions"] for answer in question["answers"]}

    @property
    def key(self) -> dict[str, Any]:
        return dict(json.loads(self.key_path.read_text(encoding="utf-8")))

    def levels(self, level: Level) -> dict[str, dict[str, int]]:
        """Ratings of all answers, by what they are."""
        items = [item["id"] for item in self.key["items"]]
        return {
            given["id"]: {item: level(asked["id"], given["side"], item) for item in items}
            for asked in self.key["questions"]
            for given in asked["answers"]
        }

    def rate(self, name: str, ratings: Level | Mapping[str, Any], **other: Any) -> Path:
        """A file as the page saves it."""
        given = self.levels(ratings) if callable(ratings) else ratings
        saved = {
            "kind": "accgate ratings", "questionnaire": self.key["questionnaire"], "rater": name, "missing": 0,
            "exported": "2026-11-21T15:00:00.000Z", "ratings": given, **other,
        }  # fmt: skip
        path = self.folder / f"ratings-{name}.json"
        path.write_text(json.dumps(saved), encoding="utf-8")
        return path

    def judge(self, *arguments: str | Path) -> dict[str, Any]:
        """What `import --json` says."""
        code, out, err = self.run("import", *arguments, "--key", self.key_path, "--json")
        assert err == ""
        result = json.loads(out)
        assert code == result["exit_code"]
        return dict(result)
