"""A task of the user's own rows.

This module finds which field is the prompt, which the answer, and how replies are scored.
"""

import json
import os
import re
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tomli_w

from accgate.cli.starter.files import LARGEST, THETA, Answers, OwnTask
from accgate.cli.starter.shapes import COMMAS, SHOWN, Rows, Shape, Unsure, shape_of
from accgate.errors import BadInput
from accgate.inputs.parquet import MOST
from accgate.inputs.paths import read_json
from accgate.tasks.sample import OWN_IDS
from accgate.text import clip, count_of, visible

NUMBER = r"[-+]?[$€£]?\s*\d[\d,]*(\.\d+)?\s*%?"
FEW_LABELS, FEW_WORDS = 12, 5  # more different answers are no classes, and longer ones are sentences


@dataclass(frozen=True)
class _Scoring:
    """How replies are scored.

    `extract` has the lines of [extract] for the metric, `why` says why it was chosen, and a reply may have
    `max_tokens`.
    """

    metric: str
    why: str
    extract: str = ""
    max_tokens: int = 256


def own_task(data: Path, home: Path, answers: Answers) -> OwnTask:
    """Make the task of a file's rows.

    Answers that are None are guessed from the rows. `home` is the folder where the task's own file will stand.

    Raises
    ------
    Unsure
        Where an answer is needed that nobody gave.
    BadInput
        Where a field is missing or empty in a row, none can be guessed, or the metric does not exist.
    """
    from accgate.planning.samples import plan
    from accgate.tasks import read_rows

    key = _key_of_rows(data)
    rows = Rows(data, read_rows(data, key))
    shape = shape_of(rows, answers.prompt_field, answers.answer_field, answers.answer_form)
    for field in shape.needed:
        _refuse_gaps(data, rows.rows, field)
    shape = _with_labels(rows, shape, answers)
    scoring = _scoring_of(rows, shape) if answers.metric is None else _scoring_by(answers.metric)
    shape = _with_hint(rows, shape, scoring)
    count, ids = len(rows.rows), [name for name in OWN_IDS if name in rows.names and name not in shape.used][:1]
    about: tuple[str, ...] = (
        f"{answers.data}: {count_of(count, 'row')}" + (f" in {key!r}" if key else ""),
        f"asked: {_quoted(name for name in shape.used if name != shape.needed[-1]) or shape.about}",
        f"answer: the field {shape.needed[-1]!r}" + (f"; {shape.about}" if shape.about else ""),
        f"scored by {scoring.metric}: {scoring.why}",
        f"not used: {_quoted(name for name in rows.names if name not in (*shape.used, *ids)) or 'none'}",
        *(f"each sample is shown by its {name!r}" for name in ids),
    )
    theta, asks_all = _theta_of(count)
    if theta > THETA:
        many = plan(THETA, test="paired").n
        shows = f"a drop of {theta:g} points or more; one of {THETA:g} would take about {many:,}"
        about = (*about, f"{count:,} questions show {shows}")
    return OwnTask(_name_of(data), _task_text(data, home, key, shape, scoring), theta, asks_all, about)


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def _key_of_rows(data: Path) -> str | None:
    """Return the key of a JSON object that holds the rows.

    Return None for a list and for other files.
    """
    content = read_json(data, MOST, "is the file cut off?") if data.suffix.lower() == ".json" else []
    keys = [key for key, value in content.items() if isinstance(value, list)] if isinstance(content, dict) else []
    if len(keys) > 1:
        raise BadInput(f"{data}: has lists in {_quoted(keys)}; save the one with the questions as a file of its own")
    return keys[0] if keys else None


def _with_labels(data: Rows, shape: Shape, answers: Answers) -> Shape:
    """Put names into a shape for numbers that stand for classes.

    A column `label` often has such numbers.
    """
    name = shape.needed[-1]
    texts = {str(value) for value in data.values(name)}
    numbers = {int(text) for text in texts if re.fullmatch(r"\d+", text)}
    is_class = "label" in name.lower() and len(texts) == len(numbers) <= FEW_LABELS and not shape.choices
    if not is_class or answers.metric is not None:
        return shape
    if answers.labels is None:
        fault = f"{data.path}: {name!r} holds the numbers {sorted(numbers)}, and no column says what they stand for"
        raise Unsure(fault, "labels", ["their names with commas between them, from the lowest number on"])
    names, first = [label.strip() for label in answers.labels.split(",")], min(numbers)
    if len(names) != (wanted := max(numbers) - first + 1):
        raise BadInput(f"--labels: {name!r} goes from {first} to {max(numbers)}; give {wanted} names, not {len(names)}")
    own = f"{data.expression(name)} | int - {first}"
    return replace(shape, answer=f"{{{{ {json.dumps(names, ensure_ascii=False)}[{own}] }}}}")


def _with_hint(data: Rows, shape: Shape, scoring: _Scoring) -> Shape:
    """Name the labels in a shape's prompt, where its own words do not."""
    samples = shape.samples(data) if scoring.metric == "classification" else []
    labels, prompt = sorted({sample.target for sample in samples}), shape.asked.get("prompt")
    named = any(all(label.lower() in sample.user.lower() for label in labels) for sample in samples)
    if prompt is None or named or not labels or "{" in "".join(labels):
        return shape
    return replace(shape, asked={**shape.asked, "prompt": f"{prompt}\n\nAnswer with one of: {', '.join(labels)}."})


def _refuse_gaps(data: Path, rows: Sequence[Mapping[str, Any]], field: str) -> None:
    """Refuse a field that some row has nothing in. Such a sample could never be right."""
    for number, row in enumerate(rows, 1):
        value = row.get(field)
        inner = list(value.values()) if isinstance(value, dict) else [value]
        if all(each in (None, [], {}) or not str(each).strip() for each in inner):
            raise BadInput(f"{data}: row {number:,} has nothing in {field!r}; write it, or remove the row")
        if isinstance(value, list) and not all(isinstance(item, (str, dict)) for item in value):
            shown = repr(clip(visible(str(value)), SHOWN, "…"))
            raise BadInput(f"{data}: row {number:,} has {shown} in {field!r}; write text, a number or an object")


def _scoring_of(data: Rows, shape: Shape) -> _Scoring:
    """Choose how replies are scored, by what the answers look like."""
    if shape.choices:
        return _Scoring("exact_match", "the option that a reply chooses is compared with the right one's letter")
    if shape.metric == "json_match":
        return _Scoring("json_match", "the answers are objects; the reply must hold the same JSON", 'json_path = "$"\n')
    if shape.metric == "contains":
        return _Scoring("contains", "each answer is a list; a reply that has one of its texts is right")
    scoring = _scoring_of_texts([sample.target.strip() for sample in shape.samples(data)])
    is_number = scoring.metric == "numeric_match" and COMMAS in shape.answer
    return replace(scoring, extract=f'{scoring.extract}language = "de"\n') if is_number else scoring  # decimal commas


def _scoring_of_texts(texts: Sequence[str]) -> _Scoring:
    if all(re.fullmatch(NUMBER, text) for text in texts):
        why = "the answers are numbers; the last number of a reply is compared"
        return _Scoring("numeric_match", why, 'form = "number"\nwhich = "last"\n')
    if all(re.fullmatch(r"\(?[A-J]\)?\.?", text) for text in texts):
        letters = "".join(sorted({letter for text in texts for letter in text if letter.isalpha()}))
        why = "the answers are letters; the last one that stands alone in a reply is compared"
        return _Scoring("multiple_choice", why, f"regex = '(?<![A-Za-z])[{letters}](?![A-Za-z])'\nwhich = \"last\"\n")
    labels = sorted(set(texts), key=lambda text: (-len(text), text))
    if len(labels) <= min(FEW_LABELS, len(texts) // 2) and all(len(text.split()) <= FEW_WORDS for text in labels):
        pattern = "|".join(re.escape(label) for label in labels)
        regex = tomli_w.dumps({"regex": rf"(?i)(?<!\w)(?:{pattern})(?!\w)"})
        why = f"the answers are {len(labels)} labels; the last one that a reply names is compared"
        return _Scoring("classification", why, f'{regex}which = "last"\n')
    if all(len(text.split()) <= FEW_WORDS for text in texts):
        return _Scoring("contains", "the answers are short; a reply that contains the answer's exact text is right")
    return _Scoring("rouge_l", "the answers are long; the words that a reply shares with them count", max_tokens=512)


def _scoring_by(metric: str) -> _Scoring:
    from accgate.metrics import UnknownMetric, get

    try:
        get(metric)
    except UnknownMetric as error:
        raise BadInput(f"--metric: {error}") from error
    except (ImportError, ValueError) as error:
        raise BadInput(f"--metric {metric}: {error}") from error
    return _Scoring(metric, "you named it")


def _task_text(data: Path, home: Path, key: str | None, shape: Shape, scoring: _Scoring) -> str:
    target = "targets" if shape.metric == "contains" else "target"
    extract = f"\n[extract]\n{scoring.extract}" if scoring.extract else ""
    choices = f"\n[choices]\n{tomli_w.dumps(shape.choices)}" if shape.choices else ""
    file = Path(os.path.relpath(data, home)).as_posix()
    return (
        "# What is asked of the model and how its replies are scored; docs/tasks.md has every key.\n"
        + tomli_w.dumps(shape.asked, multiline_strings=True)
        + tomli_w.dumps({target: shape.answer, "metric": scoring.metric})
        + f"max_tokens = {scoring.max_tokens}  # longest reply\n{extract}{choices}\n[dataset]\n"
        + tomli_w.dumps({"file": file} | ({"path": key} if key else {}))
    )


def _name_of(data: Path) -> str:
    """Name a task after its file.

    >>> _name_of(Path("data/My questions.jsonl")), _name_of(Path("überall.jsonl")), _name_of(Path("overall.csv"))
    ('my_questions', 'berall', 'own')
    """
    name = re.sub("[^a-z0-9]+", "_", data.stem.lower()).strip("_")
    return "own" if name in ("", "overall") else name


def _theta_of(rows: int) -> tuple[float, bool]:
    """Choose a drop in points, 4 or more, that so many rows can show.

    Return also whether only all rows show it.
    """
    from accgate.planning.samples import plan

    if plan(THETA, test="gsprt").n <= rows:
        return THETA, False
    halves = range(2 * int(LARGEST))  # of a point
    least = bisect_left(halves, True, int(2 * THETA), key=lambda half: plan(half / 2.0, test="paired").n <= rows)
    return least / 2.0, True
