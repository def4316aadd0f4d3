"""The ratings that the page saves, and what they show together.

They are checked against the key.
"""

import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from reprlib import repr as brief
from typing import Any

import numpy as np

from accgate.decision.comparison import decide
from accgate.decision.evidence import Evidence
from accgate.design import Design
from accgate.errors import BadInput, exit_code, worst
from accgate.questionnaire.key import Item, Key, read_object
from accgate.records.ids import Ids
from accgate.records.membership import codes_of
from accgate.records.scores import Floats, Scores
from accgate.result import Result
from accgate.stats.agreement import krippendorff_alpha
from accgate.stats.names import Correction
from accgate.text import count_of, some_of

KIND = "accgate ratings"
WANTED = "a file that the questionnaire's page saved"


@dataclass(frozen=True)
class Ratings:
    """One rater's levels from 1 to 5 by answer and item.

    Items that were not rated are left out.
    """

    path: Path
    rater: str
    levels: Mapping[str, Mapping[str, int]]


def read_ratings(paths: Sequence[Path], key: Key) -> tuple[Ratings, ...]:
    """Read the ratings of every file, one file a rater.

    Raises
    ------
    BadInput
        When a file cannot be read, is of another questionnaire, has an unknown answer, item or level or no rater, or
        when a rater comes twice: with the faults of all files.
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
    """Normalise a rater's name for comparison.

    Spaces and capitals do not make another person.
    """
    return " ".join(unicodedata.normalize("NFKC", rater).casefold().split())


def _check(path: Path, data: Mapping[str, Any], key: Key) -> Ratings:
    if data.get("questionnaire") != key.questionnaire:
        theirs, ours = brief(data.get("questionnaire")), f"{key.questionnaire[:12]}..."
        fault = f"belongs to another questionnaire ({theirs}) than the key ({ours})"
        raise BadInput(f"{path}: {fault}; give the key that was written with its page")
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
        yield f"rates {count_of(len(unknown), 'answer')} that the questionnaire does not have: {some_of(unknown)}"
    if unknown := sorted({item for levels in ratings.values() for item in levels} - items):
        yield f"rates by {count_of(len(unknown), 'item')} that the questionnaire does not have: {some_of(unknown)}"
    rated = ((id_, item, level) for id_, levels in ratings.items() for item, level in levels.items())
    allowed = range(1, len(key.levels) + 1)
    if wrong := [f"{brief(n)} ({id_}, {item})" for id_, item, n in rated if type(n) is not int or n not in allowed]:
        number = count_of(len(wrong), "rating")
        yield f"holds {number} that should be a whole number from 1 to {len(key.levels)}: {some_of(wrong)}"


def missing_of(ratings: Ratings, key: Key) -> list[str]:
    """List what a rater did not rate for both sides, by question and item.

    Questions are numbered as on the page.
    """
    missing = []
    for number, question in enumerate(key.questions, 1):
        rated = [ratings.levels.get(answer.id, {}) for answer in question.answers]
        missing += [f"question {number} {item.id}" for item in key.items if any(item.id not in one for one in rated)]
    return missing


def by_answer(ratings: Sequence[Ratings], key: Key, item: str) -> Floats:
    """Return the levels of one item by rater and answer.

    The shape is (raters, answers) in the key's order, with NaN for what was not rated.
    """
    rows = [[one.levels.get(id_, {}).get(item, np.nan) for id_ in key.answers] for one in ratings]
    return np.array(rows, dtype=np.float64)


TENTATIVE = 0.667  # Krippendorff, Content Analysis: the least alpha that tentative conclusions can rest on


@dataclass(frozen=True)
class Agreement:
    """Krippendorff's alpha over the answers that at least two raters rated.

    1 is perfect agreement. Where there is no alpha, `reason` says why.
    """

    answers: int
    ordinal: float | None
    interval: float | None
    reason: str | None = None


@dataclass(frozen=True)
class ItemResult:
    """One item with the means of both sides in points.

    100 is best even for a reversed item.
    """

    id: str
    text: str
    reversed: bool
    reference: float
    candidate: float
    agreement: Agreement


@dataclass(frozen=True)
class Survey:
    """The ratings in figures.

    `expected` counts the pairs of ratings, one of each side, that the raters should give. `missing` of them lack one.
    """

    questionnaire: str
    reference: str
    candidate: str
    raters: tuple[str, ...]
    questions: int
    answers: int
    missing: int
    expected: int
    items: tuple[ItemResult, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True)
class SurveyResult(Result):
    """A result with one check per item, and the ratings in figures.

    Checks are in the order of the items.
    """

    judgement: Survey = field(kw_only=True)  # a key of the JSON result


def survey_of(
    key: Key, ratings: Sequence[Ratings], design: Design, *, correction: Correction, allow_missing: bool
) -> SurveyResult:
    """Decide for each item whether the candidate is rated lower than the reference.

    A question's score is the mean over raters of their level in points. A rater counts for a question if both sides are
    rated. The question is the unit of the test, or the cluster of its samples where they have one.

    Raises
    ------
    BadInput
        When ratings are missing; with `allow_missing` when nobody rated both sides of a question.
    """
    if not ratings:
        raise BadInput("there are no ratings; name the files that the raters saved")
    missing = [missing_of(one, key) for one in ratings]
    if not allow_missing and any(missing):
        raise BadInput(*(_incomplete(one, key, left) for one, left in zip(ratings, missing, strict=True) if left))
    levels = {item.id: by_answer(ratings, key, item.id) for item in key.items}
    sides = {item.id: _sides(key, item, levels[item.id]) for item in key.items}
    groups = [question.cluster for question in key.questions]
    clusters = None if None in groups else codes_of(groups)
    evidences = [
        Evidence(candidate, reference, design, key.candidate, id_, clusters=clusters, binary=False)
        for id_, (reference, candidate) in sides.items()
    ]
    checks = decide(evidences, correction=correction)
    items = tuple(
        ItemResult(item.id, item.text, item.reversed, left.mean, right.mean, agreement_of(levels[item.id]))
        for item, (left, right) in zip(key.items, sides.values(), strict=True)
    )
    from accgate._version import __version__

    missing_pairs = sum(map(len, missing))
    expected = len(ratings) * len(key.questions) * len(key.items)
    survey = Survey(
        key.questionnaire,
        key.reference,
        key.candidate,
        tuple(one.rater for one in ratings),
        len(key.questions),
        len(key.answers),
        missing_pairs,
        expected,
        items,
        tuple(_notes(items, missing_pairs, expected)),
    )
    names = [check.verdict for check in checks]
    ends = worst(names), exit_code(names)
    return SurveyResult(*ends, checks, accgate=__version__, correction=correction, judgement=survey)


def _incomplete(ratings: Ratings, key: Key, missing: Sequence[str]) -> str:
    total = len(key.questions) * len(key.items)
    fix = "have them completed, or give --allow-missing"
    return f"{ratings.path}: lacks {len(missing)} of {total} pairs of ratings: {some_of(missing)}; {fix}"


def _sides(key: Key, item: Item, levels: Floats) -> tuple[Scores, Scores]:
    """Return the scores of both sides by question.

    A score is the mean over the raters who rated both sides.
    """
    place = {id_: column for column, id_ in enumerate(key.answers)}
    columns = [[place[question.answer(side)] for question in key.questions] for side in ("reference", "candidate")]
    points = np.vectorize(item.points, otypes=[np.float64])(levels)
    reference, candidate = (points[:, side] for side in columns)  # (raters, questions)
    pairs = ~(np.isnan(reference) | np.isnan(candidate))
    ids = [question.id for question in key.questions]
    if nobody := [f"question {number}" for number, rated in enumerate(pairs.any(axis=0), 1) if not rated]:
        questions = f"{len(nobody)} of {len(ids)} questions: {some_of(nobody)}"
        raise BadInput(f"nobody rated both sides by {item.id!r} in {questions}")
    means = [np.where(pairs, side, 0.0).sum(axis=0) / pairs.sum(axis=0) for side in (reference, candidate)]
    return Scores(Ids(ids), means[0][:, None]), Scores(Ids(ids), means[1][:, None])


def agreement_of(levels: Floats) -> Agreement:
    """Measure the agreement of raters on levels of shape (raters, answers)."""
    answers = int(((~np.isnan(levels)).sum(axis=0) >= 2).sum())
    ordinal, interval = krippendorff_alpha(levels, "ordinal"), krippendorff_alpha(levels, "interval")
    if not np.isnan(ordinal):
        return Agreement(answers, ordinal, interval)
    same = "all ratings are the same, as they could be by chance"
    return Agreement(answers, None, None, same if answers else "no answer has two raters")


def _notes(items: Sequence[ItemResult], missing: int, expected: int) -> Iterator[str]:
    if missing:
        yield f"{missing} of {expected} pairs of ratings are missing and left out; they may not be missing at random"
    weak = [item.id for item in items if item.agreement.ordinal is not None and item.agreement.ordinal < TENTATIVE]
    if weak:
        fix = "make the statement clearer, or have more people rate"
        yield f"raters agree too little on {', '.join(weak)} for a conclusion (alpha below {TENTATIVE}): {fix}"
    if all(item.agreement.answers == 0 for item in items):
        yield "there is only one rater, so whether others agree is unknown"
