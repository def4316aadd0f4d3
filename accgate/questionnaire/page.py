"""The questionnaire as an HTML page that hides the sides.

A key tells which side gave which answer.
"""

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from accgate.errors import BadInput
from accgate.questionnaire.answers import Question
from accgate.questionnaire.key import AnswerKey, Key, QuestionKey, Side, Wording
from accgate.report.flips import shared_head
from accgate.report.html.inline import embed, page_parts, whole_page

DEFAULT_QUESTIONS = 20


def draw_questionnaire(
    questions: Sequence[Question],
    wording: Wording,
    *,
    seed: int,
    reference: str,
    candidate: str,
    count: int | None = None,
    show_targets: bool = False,
) -> tuple[dict[str, Any], Key]:
    """Draw `count` questions at random, by default 20 or all if there are fewer.

    Return the content of the page as JSON, and the key, which the page must not hold. The seed decides which questions
    are drawn in which order, which answer comes first (the reference's in half of the questions) and the answers'
    names. With the seed anybody could tell the sides apart, so that only the key holds it. Answers that differ only in
    the space around them are shown once, and count for both sides.

    Raises
    ------
    BadInput
        When there are fewer questions than `count`, or a target to show is missing.
    """
    if count is not None and not 1 <= count <= len(questions):
        raise BadInput(f"--questions is {count}; give a number from 1 to {len(questions)}, as many as there are")
    drawn = _by_hash(questions, seed, "draw")[: count or DEFAULT_QUESTIONS]
    if show_targets and (without := [question.id for question in drawn if question.target is None]):
        raise BadInput(f"no target to show for {len(without)} of {len(drawn)} questions; leave --show-targets out")
    bit = int(_hash(seed, "bit", ""), 16) % 2  # rounds the half of an odd number of questions up or down
    reference_first = {q.id for q in _by_hash(drawn, seed, "first")[: (len(drawn) + bit) // 2]}
    key_questions, page_questions = [], []
    head = shared_head([question.prompt for question in drawn])
    for question in drawn:
        answers = _answers(question, seed, reference_first=question.id in reference_first)
        key_questions.append(QuestionKey(question.id, question.cluster, tuple(answer for answer, _ in answers)))
        row: dict[str, Any] = {"prompt": question.prompt[len(head) :].strip()}
        if show_targets:
            row["target"] = question.target
        page_questions.append({**row, "answers": [{"id": answer.id, "text": text} for answer, text in answers]})
    page: dict[str, Any] = {
        "title": wording.title, "introduction": wording.introduction, "language": wording.language,
        "levels": list(wording.levels), "items": [{"id": item.id, "text": item.text} for item in wording.items],
        "head": head.strip(), "questions": page_questions,
    }  # fmt: skip
    digest = hashlib.sha256(json.dumps(page, sort_keys=True).encode()).hexdigest()  # of all that the page shows
    key = Key(digest, seed, reference, candidate, wording.levels, wording.items, tuple(key_questions))
    return {"digest": digest, **page}, key


def _answers(question: Question, seed: int, *, reference_first: bool) -> list[tuple[AnswerKey, str]]:
    """Return both answers under names that hide the sides.

    An answer that both sides gave comes only once.
    """
    reference, candidate = question.reference.strip(), question.candidate.strip()
    if reference == candidate:
        return [(AnswerKey(_name(seed, question.id, 0), "both"), reference)]
    sides: list[tuple[Side, str]] = [("reference", reference), ("candidate", candidate)]
    ordered = sides if reference_first else sides[::-1]
    return [(AnswerKey(_name(seed, question.id, place), side), text) for place, (side, text) in enumerate(ordered)]


def _name(seed: int, id_: str, place: int) -> str:
    """Name an answer by its place on the page, and not by its side."""
    return _hash(seed, f"answer {place}", id_)[:12]


def _by_hash(questions: Sequence[Question], seed: int, purpose: str) -> list[Question]:
    return sorted(questions, key=lambda question: _hash(seed, purpose, question.id))


def _hash(seed: int, purpose: str, id_: str) -> str:
    return hashlib.sha256(f"{seed}:{purpose}:{id_}".encode("utf-8", "surrogatepass")).hexdigest()


def page_html(page: dict[str, Any]) -> str:
    """Write the page as HTML in ASCII.

    Prompts and answers can hold anything: they are data for the page's script, which shows them as text.
    """
    from markupsafe import Markup

    html = whole_page(
        "accgate.questionnaire",
        "page.html.j2",
        style=page_parts("accgate.questionnaire", "page.css"),
        script=page_parts("accgate.questionnaire", "page.js"),
        data=Markup(embed(page)),
        title=page["title"],
        language=page["language"],
    )
    return html.encode("ascii", "xmlcharrefreplace").decode()
