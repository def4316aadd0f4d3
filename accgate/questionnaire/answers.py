"""The answers of two sides to the same questions.

They come from two files, or from a run and its reference.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from reprlib import repr as brief
from typing import Any
from urllib.parse import unquote

from accgate.errors import BadInput
from accgate.inputs.rows import id_of, read_table, repeat_of, text_of
from accgate.records.file import paths_of, read_gzip_lines
from accgate.records.pairing import other_texts
from accgate.references.store import Reference, read_reference
from accgate.text import count_of, some_of


@dataclass(frozen=True)
class Side:
    """One side's answers by sample id, of several repeats the first.

    `failed` are the ids without a reply. Prompts, targets and clusters have the samples for which they are known.
    """

    name: str
    path: Path
    replies: Mapping[str, str]
    failed: tuple[str, ...]
    prompts: Mapping[str, str]
    targets: Mapping[str, str]
    clusters: Mapping[str, str]


@dataclass(frozen=True)
class Question:
    """One question with both answers, as a rater may see them."""

    id: str
    prompt: str
    reference: str
    candidate: str
    target: str | None
    cluster: str | None


def read_side(path: Path, name: str | None = None) -> Side:
    """Read one side's answers from a reference or a table.

    A reference is a TOML file, and a table is JSONL or CSV with `id` and `reply`. Rows of a table may have a prompt and
    a target. The prompts of a run's records are read from its own file of them.

    Raises
    ------
    BadInput
        When the file cannot be read, or a row is not an answer or comes twice: with file and line.
    """
    if path.suffix.lower() != ".toml":
        return _of_table(path, name)
    reference = read_reference(path)
    if reference is None:
        raise BadInput(f"{path}: there is no such file; give a reference from the store, or a file of records")
    return of_reference(reference, name)


def of_reference(reference: Reference, name: str | None) -> Side:
    """Return the answers that a reference keeps.

    Raises
    ------
    BadInput
        When it keeps none, or not one of each sample.
    """
    path = reference.replies_path
    if not path.is_file():
        fix = "record it again without --no-replies, or give a file of records"
        raise BadInput(f"{reference.path}: has no replies beside it ({path.name}); {fix}")
    rows = sorted(read_gzip_lines(path, "reply"), key=lambda row: (row.get("repeat", 0), row["id"]))
    first: dict[str, str | None] = {}
    for row in rows:
        first.setdefault(row["id"], row["reply"])
    scores = reference.scores
    ids = () if scores is None else scores.ids
    clusters = {} if scores is None or scores.clusters is None else dict(zip(ids, scores.clusters, strict=True))
    missing = [id_ for id_ in ids if id_ not in first]
    if missing:
        raise BadInput(f"{path}: lacks the replies of {len(missing)} of {len(ids)} samples: {some_of(missing)}")
    about = reference.about
    own_name = name or f"{about.model} / {about.task}"
    return Side(own_name, reference.path, _present(first), _absent(first), {}, {}, clusters)


def _of_table(path: Path, name: str | None) -> Side:
    seen: dict[tuple[str, int], int] = {}
    rows: dict[str, tuple[int, int, dict[str, Any]]] = {}  # by id: the first repeat's number, line and row
    for line, row in read_table(path):
        id_, repeat = id_of(row, path, line), repeat_of(row, path, line)
        if (before := seen.setdefault((id_, repeat), line)) != line:
            fault = f"is already on line {before}; each answer must come once"
            raise BadInput(f"{path}:{line}: id {id_!r} (repeat {repeat}) {fault}")
        if id_ not in rows or repeat < rows[id_][0]:
            rows[id_] = (repeat, line, row)
    if not rows:
        raise BadInput(f"{path}: holds no answers; give a file with one of every sample")
    readers = {"reply": _text, "prompt": _optional, "target": _optional, "cluster": text_of}
    replies, prompts, targets, clusters = (
        {id_: read(row, column, path, line) for id_, (_, line, row) in rows.items()} for column, read in readers.items()
    )
    texts = ({**_prompts_beside(path), **_present(prompts)}, _present(targets), _present(clusters))
    return Side(name or str(path), path, _present(replies), _absent(replies), *texts)


def _present(texts: Mapping[str, str | None]) -> dict[str, str]:
    return {key: text for key, text in texts.items() if text is not None}


def _absent(texts: Mapping[str, str | None]) -> tuple[str, ...]:
    return tuple(key for key, text in texts.items() if text is None)


def _text(row: Mapping[str, Any], column: str, path: Path, line: int) -> str | None:
    if column not in row:
        raise BadInput(f"{path}:{line}: has no {column}; write the answer as text, or null where the sample failed")
    return _optional(row, column, path, line)


def _optional(row: Mapping[str, Any], column: str, path: Path, line: int) -> str | None:
    value = row.get(column)
    if value is not None and not isinstance(value, str):
        raise BadInput(f"{path}:{line}: {column} is {brief(value)}; write text")
    return value


def _prompts_beside(path: Path) -> dict[str, str]:
    """Read the prompts that a run keeps beside its records."""
    if path.suffix != ".jsonl":
        return {}
    beside = path.with_name(path.name.removesuffix(".jsonl") + ".prompts.jsonl.gz")
    return {row["id"]: row["prompt"] or "" for row in read_gzip_lines(beside, "prompt")}


def questions_of(reference: Side, candidate: Side, *, subset: bool) -> tuple[Question, ...]:
    """Return every question with both answers, in the candidate's order.

    With `subset` the candidate may have only some of the reference's samples, as a run of fewer samples does.

    Raises
    ------
    BadInput
        When a sample is missing on a side, has no reply or no prompt, or has other prompts on both sides: how many.
    """
    faults = [*_failures(reference), *_failures(candidate)]
    old, new = set(reference.replies), set(candidate.replies)
    extra = [id_ for id_ in candidate.replies if id_ not in old]
    missing = [] if subset else [id_ for id_ in reference.replies if id_ not in new]
    if extra and not faults:
        faults.append(f"{reference.path}: has no answer to {len(extra)} of {len(new)} samples: {some_of(extra)}")
    if missing and not faults:
        faults.append(f"{candidate.path}: has no answer to {len(missing)} of {len(old)} samples: {some_of(missing)}")
    if faults:
        raise BadInput(*faults)
    for kind in ("prompts", "targets"):
        if other := other_texts(getattr(reference, kind), getattr(candidate, kind)):
            ids = some_of([id_ for id_, *_ in other])
            have = f"{count_of(len(other), 'sample')} {'has' if len(other) == 1 else 'have'} different {kind}"
            raise BadInput(f"{have} in {reference.path} and {candidate.path}: {ids}")
    prompts = {**reference.prompts, **candidate.prompts}
    if without := [id_ for id_ in candidate.replies if id_ not in prompts]:
        fix = "give a run's record with its .prompts.jsonl.gz beside it, or rows with a prompt"
        fault = f"no prompt for {len(without)} of {len(new)} samples: {some_of(without)}"
        raise BadInput(f"{candidate.path}: {fault}; {fix}")
    targets, clusters = {**reference.targets, **candidate.targets}, {**reference.clusters, **candidate.clusters}
    if clusters and (loose := [id_ for id_ in candidate.replies if id_ not in clusters]):
        fault = f"no cluster for {len(loose)} of {len(new)} samples: {some_of(loose)}"
        raise BadInput(f"{fault}; give every sample its cluster, or none")
    return tuple(
        Question(id_, prompts[id_], reference.replies[id_], reply, targets.get(id_), clusters.get(id_))
        for id_, reply in candidate.replies.items()
    )


def _failures(side: Side) -> list[str]:
    if not side.failed:
        return []
    total = len(side.failed) + len(side.replies)
    fix = "evaluate them again (--resume), or leave them out on both sides"
    return [f"{side.path}: {len(side.failed)} of {total} samples have no reply: {some_of(side.failed)}; {fix}"]


def from_files(reference: Path, candidate: Path) -> tuple[str, str, tuple[Question, ...]]:
    """Return the names of both sides and their questions, from two files.

    Raises
    ------
    BadInput
        For files that cannot be read or do not fit together.
    """
    left, right = read_side(reference), read_side(candidate)
    return left.name, right.name, questions_of(left, right, subset=reference.suffix.lower() == ".toml")


def from_run(folder: Path, config: Path, model: str | None, task: str | None) -> tuple[str, str, tuple[Question, ...]]:
    """Return the names of a run and its reference, and their questions.

    Raises
    ------
    BadInput
        When the model or task is ambiguous, or the reference keeps no replies.
    """
    from accgate.config.config import load_config, select
    from accgate.references.store import baseline_of, find_reference, missing_reference

    model, task = _choose(folder, model, task)
    candidate = read_side(paths_of(folder, model, task).records, f"{model} / {task}")
    rules = select(load_config(config), (model,))
    baseline = baseline_of(model, rules.models[model].variant, rules.models[model].baseline)
    reference = find_reference(rules.references, baseline, task)
    if reference is None:
        raise BadInput(missing_reference(rules.references, baseline, task))
    side = of_reference(reference, f"{baseline} / {task}")
    return side.name, candidate.name, questions_of(side, candidate, subset=True)


def _choose(folder: Path, model: str | None, task: str | None) -> tuple[str, str]:
    """Choose the model and task of the records to use."""
    pairs = [(unquote(path.parent.name), unquote(path.stem)) for path in sorted(folder.glob("*/*.jsonl"))]
    fitting = [pair for pair in pairs if model in (None, pair[0]) and task in (None, pair[1])]
    if len(fitting) == 1:
        return fitting[0]
    listed = ", ".join(f"{m} / {t}" for m, t in (fitting or pairs)[:10])
    if not pairs:
        raise BadInput(f"{folder}: holds no records; give the folder of a run (--out), or two files of answers")
    fault = f"records of {len(fitting)} pairs of model and task fit" if fitting else "no records fit"
    raise BadInput(f"{folder}: {fault}; name one with --model and --task: {listed}")
