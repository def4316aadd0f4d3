"""Samples from rows: prompt, target, options, images and attacks of each."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from accgate.errors import BadInput
from accgate.inputs import Row
from accgate.tasks.attacks import CannotAttack, attacked, attacked_row
from accgate.tasks.choices import Option, options_of
from accgate.tasks.definition import Definition
from accgate.tasks.faults import as_attack
from accgate.tasks.images import digests, images_of
from accgate.tasks.prompts import CannotRender, rendered
from accgate.tasks.sample import Sample, sample_id
from accgate.tasks.schema import AttackFile, DefinitionFile


def rendered_samples(
    name: str, definition: Definition, rows: Sequence[Row], examples: Sequence[Row], folder: Path
) -> list[Sample]:
    """A sample for each row, in their order; images are looked for in `folder`.

    Raises
    ------
    BadInput
        With the row's number, for templates that fail on it.
    """
    seen: Counter[str] = Counter()  # identical rows, by the id of the first
    samples = []
    for number, row in enumerate(rows, 1):
        try:
            samples.append(_sample(name, definition.content, row, examples, folder, seen))
        except (CannotRender, UnicodeEncodeError) as error:
            raise BadInput(f"{definition.source.path}: row {number} of the dataset: {error}") from error
    return samples


def _sample(
    name: str, content: DefinitionFile, row: Row, examples: Sequence[Row], folder: Path, seen: Counter[str]
) -> Sample:
    options = () if content.choices is None else options_of(content.choices, row, examples)
    names = _names(content, options)
    user = rendered(content.prompt, row, examples, names)
    system = rendered(content.system, row, examples, names) if content.system else ""
    target = _target(content, row, examples, names)
    rubric = "" if content.judge is None else _rubric(content.judge.rubric, row, user, target)
    extras = {key: _column(row, column) for key, column in _named_columns(content)}
    images = images_of(row, content.images, folder)
    "".join((user, system, target, rubric, *extras.values())).encode()  # JSON can spell half a character
    if options and target not in [option.label for option in options]:
        raise CannotRender(f"the target {target!r} is none of the labels {[option.label for option in options]}")
    prompt = (f"{system}\n\n{user}" if system else user) + digests(images)
    id_ = first = sample_id(name, prompt, target, 0)
    if seen[first]:
        id_ = sample_id(name, prompt, target, seen[first])
    seen[first] += 1
    changed = tuple(_attacked(each, content, row, examples, names, user, id_) for each in content.attack)
    return Sample(
        id_, prompt, user, system, target, **extras, options=options, images=images, attacked=changed, rubric=rubric
    )


def _names(content: DefinitionFile, options: Sequence[Option]) -> Mapping[str, Any]:
    """What templates see beside the row's columns."""
    if content.choices is None:
        return {}
    return {
        "options": [{"label": option.label, "text": option.text} for option in options],
        "by": content.choices.by,
    }


def _target(content: DefinitionFile, row: Row, examples: Sequence[Row], names: Mapping[str, Any]) -> str:
    if content.target is not None:
        return rendered(content.target, row, examples, names)
    assert content.targets is not None
    text = rendered(content.targets, row, examples, names)
    try:
        texts = json.loads(text)
    except ValueError:
        texts = None
    if not isinstance(texts, list) or not texts or not all(isinstance(each, str) for each in texts):
        raise CannotRender(f"targets gives {text[:80]!r}, no JSON list of texts; write {{{{ column | tojson }}}}")
    return json.dumps(texts, ensure_ascii=False)


def _rubric(template: str, row: Row, prompt: str, target: str) -> str:
    return rendered(template, row, (), {"prompt": prompt, "target": target})


def _attacked(
    attack: AttackFile, content: DefinitionFile, row: Row, examples: Sequence[Row], names: Mapping[str, Any],
    user: str, id_: str,
) -> str:  # fmt: skip
    """The user's part after an attack on one column, or on all of it."""
    try:
        if attack.field is None:
            paired = None if attack.column is None else _cell(row, attack.column)
            return attacked(as_attack(attack), user, key=id_, paired=paired)
        changed = attacked_row(as_attack(attack), row, key=id_)
    except CannotAttack as error:
        raise CannotRender(str(error)) from error
    return rendered(content.prompt, changed, examples, names)


def _named_columns(content: DefinitionFile) -> list[tuple[str, str]]:
    columns = content.columns
    named = {"cluster": columns.cluster, "group": columns.group, "label": columns.label}
    return [(key, column) for key, column in named.items() if column is not None]


def _column(row: Row, column: str) -> str:
    return str(_cell(row, column))


def _cell(row: Row, column: str) -> Any:
    if column not in row:
        raise CannotRender(f"has no column {column!r}; the row has {', '.join(map(str, row))}")
    return row[column]
