"""The key of a questionnaire: which side gave which answer, in a file of its own beside the page."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from accgate.errors import BadInput
from accgate.questionnaire.wording import Item

KIND = "accgate questionnaire key"
LIMIT = 100_000_000  # bytes of a key or of ratings; far more than people can rate
STRICT = ConfigDict(extra="forbid", strict=True)
Side = Literal["reference", "candidate", "both"]
Digest = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


@dataclass(frozen=True, config=STRICT)
class AnswerKey:
    """An answer by its name on the page, and the side that gave it."""

    id: Annotated[str, Field(pattern=r"^[0-9a-f]{12}$")]
    side: Side


@dataclass(frozen=True, config=STRICT)
class QuestionKey:
    """A question by its sample's id, with the answers in the page's order."""

    id: str
    cluster: str | None
    answers: tuple[AnswerKey, ...]

    def answer(self, side: str) -> str:
        """The name of a side's answer."""
        return next(answer.id for answer in self.answers if answer.side in (side, "both"))


@dataclass(frozen=True, config=STRICT)
class Key:
    """All that an import of ratings needs: the questionnaire's digest, its questions, and the side of each answer."""

    questionnaire: Digest
    seed: int
    reference: str
    candidate: str
    levels: tuple[str, ...]
    items: tuple[Item, ...]
    questions: tuple[QuestionKey, ...]

    @property
    def answers(self) -> tuple[str, ...]:
        """The names of all answers, in the page's order."""
        return tuple(answer.id for question in self.questions for answer in question.answers)


def key_json(key: Key) -> str:
    """The key's file."""
    return json.dumps({"kind": KIND, **asdict(key)}, indent=1) + "\n"


def read_key(path: Path) -> Key:
    """The key of a file.

    Raises
    ------
    BadInput
        When it cannot be read, is not a key, or contradicts itself.
    """
    from pydantic import TypeAdapter, ValidationError

    from accgate.inputs.typed import first_fault

    data = read_object(path, KIND, "the .key.json that was written with the questionnaire")
    try:
        key = TypeAdapter(Key).validate_json(json.dumps(data))  # JSON has arrays where the key has tuples
    except ValidationError as error:
        raise BadInput(f"{path}: is damaged: {first_fault(error)}; take the file that was written") from error
    if fault := next(_faults(key), None):
        raise BadInput(f"{path}: is damaged: {fault}; take the file that was written")
    return key


def _faults(key: Key) -> Iterator[str]:
    for what, names in (
        ("answer", key.answers),
        ("question", [q.id for q in key.questions]),
        ("item", [i.id for i in key.items]),
    ):
        twice = [name for name, count in Counter(names).items() if count > 1]
        if twice or not names:
            yield f"{what} {twice[0]!r} comes twice" if twice else f"it has no {what}"
    for question in key.questions:
        if sorted(answer.side for answer in question.answers) not in (["both"], ["candidate", "reference"]):
            yield f"question {question.id!r} does not have one answer of each side"


def read_object(path: Path, kind: str, wanted: str) -> dict[str, Any]:
    """The JSON object of a file, less its `kind`.

    Raises
    ------
    BadInput
        When it cannot be read, is not JSON, names a key twice or is of another kind; `wanted` says what to give.
    """
    try:
        if path.stat().st_size > LIMIT:
            raise BadInput(f"{path}: has more than {LIMIT:,} bytes; give {wanted}")
        data = json.loads(path.read_bytes().decode("utf-8-sig"), object_pairs_hook=_once, parse_constant=_no_number)
    except OSError as error:
        raise BadInput(f"{path}: cannot be read: {error.strerror}; give {wanted}") from error
    except (ValueError, RecursionError) as error:
        raise BadInput(f"{path}: cannot be read as JSON ({error}); give {wanted}") from error
    if not isinstance(data, dict) or data.get("kind") != kind:
        raise BadInput(f"{path}: is not of kind {kind!r}; give {wanted}")
    return {name: value for name, value in data.items() if name != "kind"}


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object that names no key twice: which of two ratings would count?"""
    table = dict(pairs)
    if len(table) < len(pairs):
        twice = next(name for name, count in Counter(name for name, _ in pairs).items() if count > 1)
        raise ValueError(f"{twice!r} comes twice in one object")
    return table


def _no_number(name: str) -> None:
    raise ValueError(f"{name} is not a number")
