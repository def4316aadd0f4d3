"""Ratings as the page saves them: reading, checks against the key, and tables of levels."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np

from accgate.errors import BadInput
from accgate.questionnaire.key import Key, read_object
from accgate.records import Floats
from accgate.text import some_of

KIND = "accgate ratings"
WANTED = "a file that the questionnaire's page saved"


@dataclass(frozen=True)
class Ratings:
    """One rater's levels from 1 to 5 by answer and item, without those that were not rated."""

    path: Path
    rater: str
    levels: Mapping[str, Mapping[str, int]]


def read_ratings(paths: Sequence[Path], key: Key) -> tuple[Ratings, ...]:
    """The ratings of every file, one file a rater.

    Raises
    ------
    BadInput
        With every file's fault: not readable, of another questionnaire, an answer, item or level that this one does not
        have, no rater, or a rater who comes twice.
    """
    results: list[Ratings] = []
    faults: list[str] = []
    for path in paths:
        try:
            results.append(_check(path, read_object(path, KIND, WANTED), key))
        except BadInput as error:
            faults += error.messages
    first: dict[str, Ratings] = {}
    for ratings in results:
        before = first.setdefault(_name_key(ratings.rater), ratings)
        if before is not ratings:
            fix = "give one file for each rater"
            faults.append(f"{ratings.path}: rater {ratings.rater!r} comes in {before.path} already; {fix}")
    if faults:
        raise BadInput(*faults)
    return tuple(results)


def _name_key(rater: str) -> str:
    """A rater's name for comparison: spaces and capitals do not make another person."""
    return " ".join(unicodedata.normalize("NFKC", rater).casefold().split())


def _check(path: Path, data: Mapping[str, Any], key: Key) -> Ratings:
    if data.get("questionnaire") != key.questionnaire:
        raise BadInput(
            f"{path}: belongs to another questionnaire ({brief(data.get('questionnaire'))}) than the key "
            f"({key.questionnaire[:12]}...); give the key that was written with its page"
        )
    rater, ratings = data.get("rater"), data.get("ratings")
    if not isinstance(rater, str) or not _name_key(rater):
        raise BadInput(f"{path}: names no rater; enter a name on the page and download the ratings again")
    if not isinstance(ratings, dict) or not all(isinstance(levels, dict) for levels in ratings.values()):
        raise BadInput(f"{path}: holds no ratings by answer and item; give {WANTED}")
    if faults := list(_faults(ratings, key)):
        raise BadInput(*(f"{path}: {fault}" for fault in faults))
    return Ratings(path, rater.strip(), ratings)


def _faults(ratings: Mapping[str, Mapping[str, Any]], key: Key) -> Iterator[str]:
    answers, items = set(key.answers), {item.id for item in key.items}
    if unknown := [id_ for id_ in ratings if id_ not in answers]:
        yield f"rates {len(unknown)} answers that the questionnaire does not have: {some_of(unknown)}"
    if unknown := sorted({item for levels in ratings.values() for item in levels} - items):
        yield f"rates by {len(unknown)} items that the questionnaire does not have: {some_of(unknown)}"
    wrong = [
        f"{brief(level)} ({id_}, {item})"
        for id_, levels in ratings.items()
        for item, level in levels.items()
        if type(level) is not int or not 1 <= level <= len(key.levels)
    ]
    if wrong:
        yield f"{len(wrong)} ratings are not a whole number from 1 to {len(key.levels)}: {some_of(wrong)}"


def missing_of(ratings: Ratings, key: Key) -> list[str]:
    """The (question, item) that a rater did not rate for both sides, as they are numbered on the page."""
    return [
        f"question {number} {item.id}"
        for number, question in enumerate(key.questions, 1)
        for item in key.items
        if any(item.id not in ratings.levels.get(answer.id, {}) for answer in question.answers)
    ]


def by_answer(ratings: Sequence[Ratings], key: Key, item: str) -> Floats:
    """Levels of one item, shape (raters, answers) in the key's order; NaN where a rater gave none."""
    rows = [[one.levels.get(id_, {}).get(item, np.nan) for id_ in key.answers] for one in ratings]
    return np.array(rows, dtype=np.float64)
