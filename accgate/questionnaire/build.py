"""The questionnaire: which questions, in which order, under which names; and the key that tells the sides apart."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from accgate.errors import BadInput
from accgate.questionnaire.answers import Question
from accgate.questionnaire.key import Asked, Given, Key, Side
from accgate.questionnaire.wording import Wording
from accgate.report import shared_head

DEFAULT_QUESTIONS = 20


@dataclass(frozen=True)
class Questionnaire:
    """What the page holds, as JSON knows it, and the key, which the page must not hold."""

    page: dict[str, Any]
    key: Key


def questionnaire(
    questions: Sequence[Question],
    wording: Wording,
    *,
    seed: int,
    reference: str,
    candidate: str,
    count: int | None = None,
    show_targets: bool = False,
) -> Questionnaire:
    """A questionnaire of `count` questions drawn at random, by default 20 or all there are.

    The seed decides which questions are drawn in which order, which answer comes first (the reference's in half of the
    questions) and the answers' names; it goes to the key alone, since who knows it can tell the sides apart. Answers
    that are the same but for space around them are shown once, and count for both sides.

    Raises
    ------
    BadInput
        When there are fewer questions than asked for, or a target is to be shown and missing.
    """
    if count is not None and not 1 <= count <= len(questions):
        raise BadInput(
            f"{count} questions are asked for and there are {len(questions)}; give --questions from 1 to that"
        )
    drawn = _by_hash(questions, seed, "draw")[: count or DEFAULT_QUESTIONS]
    if show_targets and (without := [question.id for question in drawn if question.target is None]):
        raise BadInput(f"{len(without)} of {len(drawn)} questions have no target to show; leave --show-targets out")
    reference_first = {q.id for q in _by_hash(drawn, seed, "first")[: (len(drawn) + _bit(seed)) // 2]}
    asked, shown = [], []
    head = shared_head([question.prompt for question in drawn])
    for question in drawn:
        answers = _answers(question, seed, reference_first=question.id in reference_first)
        asked.append(Asked(question.id, question.cluster, tuple(given for given, _ in answers)))
        row: dict[str, Any] = {"prompt": question.prompt[len(head) :].strip()}
        if show_targets:
            row["target"] = question.target
        shown.append({**row, "answers": [{"id": given.id, "text": text} for given, text in answers]})
    page: dict[str, Any] = {
        "title": wording.title, "introduction": wording.introduction, "language": wording.language,
        "levels": list(wording.levels), "items": [{"id": item.id, "text": item.text} for item in wording.items],
        "head": head.strip(), "questions": shown,
    }  # fmt: skip
    digest = digest_of(page)
    key = Key(digest, seed, reference, candidate, wording.levels, wording.items, tuple(asked))
    return Questionnaire({"digest": digest, **page}, key)


def digest_of(page: dict[str, Any]) -> str:
    """What tells one questionnaire from another: SHA-256 of all that its page shows."""
    return hashlib.sha256(json.dumps(page, sort_keys=True).encode()).hexdigest()


def _answers(question: Question, seed: int, *, reference_first: bool) -> list[tuple[Given, str]]:
    """Both answers under names that tell nothing, or the one that both sides gave."""
    reference, candidate = question.reference.strip(), question.candidate.strip()
    if reference == candidate:
        return [(Given(_name(seed, question.id, 0), "both"), reference)]
    sides: list[tuple[Side, str]] = [("reference", reference), ("candidate", candidate)]
    ordered = sides if reference_first else sides[::-1]
    return [(Given(_name(seed, question.id, place), side), text) for place, (side, text) in enumerate(ordered)]


def _name(seed: int, id_: str, place: int) -> str:
    """An answer's name: of its place on the page, not of its side."""
    return _hash(seed, f"answer {place}", id_)[:12]


def _by_hash(questions: Sequence[Question], seed: int, purpose: str) -> list[Question]:
    return sorted(questions, key=lambda question: _hash(seed, purpose, question.id))


def _bit(seed: int) -> int:
    return int(_hash(seed, "bit", ""), 16) % 2


def _hash(seed: int, purpose: str, id_: str) -> str:
    return hashlib.sha256(f"{seed}:{purpose}:{id_}".encode("utf-8", "surrogatepass")).hexdigest()
