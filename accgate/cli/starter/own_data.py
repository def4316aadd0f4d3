"""A task of a user's own rows: which field is the prompt, which the answer, and how replies are scored."""

import keyword
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tomli_w

from accgate.errors import BadInput
from accgate.text import clip, nearest, visible

PROMPTS = ("question", "prompt", "input", "instruction", "query", "problem", "user", "text", "q")
ANSWERS = (
    *("answer", "target", "expected", "expected_answer", "expected_output", "reference", "ideal", "gold", "label"),
    *("output", "completion", "response", "solution", "a"),
)
NUMBER = r"[-+]?[$€£]?\s*\d[\d,]*(\.\d+)?\s*%?"
FEW_LABELS, FEW_WORDS = 12, 5
USUAL_THETA = 4.0  # points
LOOKED_AT = 1000  # rows, to guess from
SHOWN = 60  # characters of a value


@dataclass(frozen=True)
class OwnTask:
    """A task over a file of rows: its name, its fields, and the metric with what is extracted for it.

    With `asks_all` a run does not stop early: so few rows show a smaller drop then. `about` says in words what was
    guessed and how replies are scored.
    """

    name: str
    text: str
    theta: float
    asks_all: bool
    about: tuple[str, ...]


def own_task(
    data: Path,
    home: Path,
    *,
    shown: str | None = None,
    prompt: str | None = None,
    answer: str | None = None,
    metric: str | None = None,
) -> OwnTask:
    """The task of a file's rows; what is None is guessed from them.

    `home` is the folder where the task's own file will stand, `shown` the data's path as it was typed.

    Raises
    ------
    BadInput
        Where a field is missing or empty in a row, none can be guessed, or the metric does not exist.
    """
    from accgate.planning.samples import plan
    from accgate.tasks import read_rows

    rows = read_rows(data)
    if prompt is None or answer is None:
        prompt, answer = _guess_fields(data, rows, prompt, answer)
    for field, option in ((prompt, "--prompt-field"), (answer, "--answer-field")):
        _refuse_gaps(data, rows, field, option)
    scoring = _scoring_of([row[answer] for row in rows[:LOOKED_AT]]) if metric is None else _scoring_by(metric)
    task = _name_of(data)
    about: tuple[str, ...] = (
        f"{shown or data}: {len(rows):,} rows",
        f"prompt: the field {prompt!r}, as in {_short(rows[0][prompt])}",
        f"answer: the field {answer!r}, as in {_short(rows[0][answer])}",
        f"scored by {scoring.metric}: {scoring.why}",
    )
    theta, asks_all = _theta_of(len(rows))
    many = plan(USUAL_THETA, test="paired").n
    if theta > USUAL_THETA:
        shows = f"a drop of {theta:g} points or more; one of {USUAL_THETA:g} would take about {many:,}"
        about = (*about, f"{len(rows):,} questions show {shows}")
    return OwnTask(task, _task_text(data, home, prompt, answer, scoring), theta, asks_all, about)


@dataclass(frozen=True)
class _Scoring:
    """A metric, the lines of [extract] for it, why it was taken, and the tokens that a reply may have."""

    metric: str
    why: str
    extract: str = ""
    max_tokens: int = 256


def _guess_fields(
    data: Path, rows: Sequence[dict[str, Any]], prompt: str | None, answer: str | None
) -> tuple[str, str]:
    fields = [field for field in rows[0] if all(field in row for row in rows[:LOOKED_AT])]
    texts = [field for field in fields if all(isinstance(row[field], str) for row in rows[:LOOKED_AT])]
    plain = [field for field in fields if all(_is_plain(row[field]) for row in rows[:LOOKED_AT])]
    if prompt is None:
        prompt = _by_name([field for field in texts if field != answer], PROMPTS)
    if answer is None:
        answer = _by_name([field for field in plain if field != prompt], ANSWERS)
    missing = [option for option, field in (("--prompt-field", prompt), ("--answer-field", answer)) if field is None]
    if prompt is None or answer is None:
        there = ", ".join(map(repr, rows[0])) or "none"
        raise BadInput(
            f"{data}: cannot tell the fields apart; name them with {' and '.join(missing)}: there are {there}"
        )
    return prompt, answer


def _by_name(fields: Sequence[str], usual: Sequence[str]) -> str | None:
    lower = {field.lower(): field for field in fields}
    return next((lower[name] for name in usual if name in lower), None)


def _is_plain(value: Any) -> bool:
    return isinstance(value, (str, int, float, bool, dict)) or (
        isinstance(value, list) and bool(value) and all(isinstance(item, str) for item in value)
    )


def _refuse_gaps(data: Path, rows: Sequence[dict[str, Any]], field: str, option: str) -> None:
    """Refuse a field that some row lacks, or has nothing in: such a sample could never be right."""
    names = {name for row in rows[:LOOKED_AT] for name in row}
    if field not in names:
        raise BadInput(f"{option} {field}: no row of {data} has it; {nearest(field, names)}")
    for number, row in enumerate(rows, 1):
        value = row.get(field)
        if value is None or (isinstance(value, (str, list, dict)) and not value) or not str(value).strip():
            raise BadInput(f"{data}: row {number:,} has nothing in {field!r}; write it, or remove the row")
        if not _is_plain(value):
            raise BadInput(
                f"{data}: row {number:,} has {_short(value)} in {field!r}; write text, a number or an object"
            )


def _scoring_of(answers: Sequence[Any]) -> _Scoring:
    """How replies are scored, by what the answers look like."""
    if all(isinstance(answer, dict) for answer in answers):
        return _Scoring("json_match", "the answers are objects; the reply must hold the same JSON", 'json_path = "$"\n')
    if all(isinstance(answer, list) for answer in answers):
        return _Scoring("contains", "each answer is a list; a reply that has one of its texts is right")
    return _scoring_of_texts([str(answer).strip() for answer in answers])


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


def _task_text(data: Path, home: Path, prompt: str, answer: str, scoring: _Scoring) -> str:
    import os

    file = Path(os.path.relpath(data, home)).as_posix()
    is_list = scoring.metric == "contains" and scoring.why.startswith("each")
    values = {
        ("targets" if is_list else "target"): _template(answer, as_json=is_list or scoring.metric == "json_match"),
        "metric": scoring.metric,
    }
    extract = f"\n[extract]\n{scoring.extract}" if scoring.extract else ""
    return (
        "# What is asked of the model and how its replies are scored; docs/tasks.md has every key.\n"
        + tomli_w.dumps({"prompt": _template(prompt)})
        + tomli_w.dumps(values)
        + f"max_tokens = {scoring.max_tokens}  # longest reply\n{extract}\n[dataset]\n"
        + tomli_w.dumps({"file": file})
    )


def _template(field: str, *, as_json: bool = False) -> str:
    is_name = re.fullmatch("[A-Za-z_][A-Za-z0-9_]*", field) and not keyword.iskeyword(field)
    name = field if is_name and field not in ("row", "examples", "loop", "true", "false", "none") else f"row[{field!r}]"
    return f"{{{{ {name}{' | tojson' if as_json else ''} }}}}"


def _name_of(data: Path) -> str:
    """A task's name after its file.

    >>> _name_of(Path("data/My questions.jsonl")), _name_of(Path("überall.jsonl")), _name_of(Path("overall.csv"))
    ('my_questions', 'berall', 'own')
    """
    name = re.sub("[^a-z0-9]+", "_", data.stem.lower()).strip("_")
    return "own" if name in ("", "overall") else name


def _theta_of(rows: int) -> tuple[float, bool]:
    """A drop in points that so many rows can show, 4 or more, and whether only where all of them are asked."""
    from accgate.planning.samples import plan

    if plan(USUAL_THETA, test="gsprt").n <= rows:
        return USUAL_THETA, False
    sizes = (half / 2.0 for half in range(int(2 * USUAL_THETA), 200))
    return next((theta for theta in sizes if plan(theta, test="paired").n <= rows), 100.0), True


def _short(value: Any) -> str:
    return repr(clip(visible(str(value)), SHOWN, "…"))
