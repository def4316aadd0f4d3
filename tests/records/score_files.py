"""Small files and arrays of scores, for tests."""

from pathlib import Path

import numpy as np
import pytest

from accgate.errors import BadInput
from accgate.records.scores import Scores, read_scores

LINE = '{"id": "a", "score": 100}\n'


def refusal(path: Path) -> str:
    with pytest.raises(BadInput) as caught:
        read_scores(path, "candidate")
    return str(caught.value)


def written(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


def one_each(values: list[float], ids: str | None = None) -> Scores:
    return Scores(tuple(ids or map(str, range(len(values)))), np.array(values, dtype=float)[:, None])
