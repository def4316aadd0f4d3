"""Which files a questionnaire is of: two files, or a run's folder with the reference that accuracy.toml names."""

from __future__ import annotations

import urllib.parse
from pathlib import Path

from accgate.errors import BadInput
from accgate.questionnaire.answers import Question, of_reference, questions_of, read_side
from accgate.records import paths_of
from accgate.text import nearest


def from_files(reference: Path, candidate: Path) -> tuple[str, str, tuple[Question, ...]]:
    """Names of both sides and their questions, from two files.

    Raises
    ------
    BadInput
        For what cannot be read or does not fit.
    """
    left, right = read_side(reference), read_side(candidate)
    subset = reference.suffix.lower() == ".toml"
    return left.name, right.name, questions_of(left, right, subset=subset)


def from_run(folder: Path, config: Path, model: str | None, task: str | None) -> tuple[str, str, tuple[Question, ...]]:
    """Names of both sides and their questions, from a run's folder and the reference of its model.

    Raises
    ------
    BadInput
        Where the model or task is not clear, or the reference keeps no replies.
    """
    from accgate.config import load_config
    from accgate.references import baseline_of, find_reference, missing_reference

    model, task = _chosen(folder, model, task)
    candidate = read_side(paths_of(folder, model, task).records, f"{model} / {task}")
    known = load_config(config)
    if model not in known.models:
        raise BadInput(f"{config}: no model {model!r}; {nearest(model, known.models)}")
    baseline = baseline_of(model, known.models[model].variant, known.models[model].baseline)
    reference = find_reference(known.references, baseline, task)
    if reference is None:
        raise BadInput(missing_reference(known.references, baseline, task))
    side = of_reference(reference, f"{baseline} / {task}")
    return side.name, candidate.name, questions_of(side, candidate, subset=True)


def _chosen(folder: Path, model: str | None, task: str | None) -> tuple[str, str]:
    """The model and task whose records are meant."""
    found = [
        (urllib.parse.unquote(path.parent.name), urllib.parse.unquote(path.stem))
        for path in sorted(folder.glob("*/*.jsonl"))
    ]
    fitting = [pair for pair in found if model in (None, pair[0]) and task in (None, pair[1])]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{m} / {t}" for m, t in (fitting or found)[:10])
    if not found:
        raise BadInput(f"{folder}: holds no records; give the folder of a run (--out), or two files of answers")
    fault = f"records of {len(fitting)} pairs of model and task fit" if fitting else "no records fit"
    raise BadInput(f"{folder}: {fault}; name one with --model and --task: {listed}")
