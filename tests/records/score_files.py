"""Small files and arrays of scores, for tests."""

from pathlib import Path

import numpy as np

from accgate.records.scores import Scores, read_scores
from tests.support.cases import refusal as refusal_of

LINE = '{"id": "a", "score": 100}\n'


def refusal(path: Path) -> str:
    return refusal_of(read_scores, path, "candidate")


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def one_each(values: list[float], ids: str | None = None) -> Scores:
    return Scores(tuple(ids or map(str, range(len(values)))), np.array(values, dtype=float)[:, None])
