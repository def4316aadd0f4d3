"""Checks of whether two sides hold the same samples.

Ids, texts and the agreement of scores are compared.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from os.path import commonprefix
from pathlib import Path
from typing import Any

import numpy as np

from accgate.errors import BadInput
from accgate.inputs.paths import table_in
from accgate.inputs.rows import COMPARED, id_of, plain_of
from accgate.inputs.samples import Layout, sample_rows
from accgate.inputs.toml import read_toml
from accgate.records.file import ENDINGS, RecordPaths, settings_of_run
from accgate.records.scores import Scores
from accgate.text import clip, some_of

SCORES = ".scores.csv"  # beside the file of a reference
PARTS = {
    "dataset": "the dataset",
    "prompt": "the prompt",
    "extract": "target or extraction",
    "metric": "the metric",
    "reply": "stop strings or max_tokens",
    "files": "the files beside the metric's code",
}
ROWS, TEXT, BEFORE = 3, 40, 8  # samples that a message shows, characters of each text, and of these before a difference
TEMPLATE = re.compile(r"<[|\uff5c]|\[INST\]|<start_of_turn>|<s>")  # marks of models' chat templates
# One in fifty pairs of independent orders has a higher z. With fewer than LEAST samples that differ from a side's most
# frequent score, even true pairs often have a lower one, as among 78 pairs of public models on GSM8K, MMLU-Pro and
# BIG-Bench Hard.
CHANCE, LEAST = 2.054, 20


def refuse_other_samples(
    paths: tuple[Path, Path], reference: Scores, candidate: Scores, layout: Layout, may_differ: Collection[str] = ()
) -> bool:
    """Refuse two files in which the same ids name different samples.

    Columns of the rows tell (`accgate.inputs.rows.IDENTITY`), and the task's digests beside records and references, if
    both sides have them and `may_differ` does not name them. Returns whether more than the ids shows that the samples
    are the same.

    Raises
    ------
    BadInput
        What differs, on how many samples, with the first of them.
    """
    before, after = (fingerprint_in(about_beside(path)) for path in paths)
    parts = before.keys() & after.keys() & COMPARED - {*may_differ}
    if changed := [part for part in PARTS if part in parts and before[part] != after[part]]:
        what = " and in ".join(PARTS[part] for part in changed)
        raise _difference(paths, changed[0], f"the sides differ in {what}, as the files beside them say")
    places, is_shown = reference.ids.places(candidate.ids), bool(parts)
    for column in sorted(reference.shown.keys() & candidate.shown.keys()):
        left, right, name = reference.shown[column][places], candidate.shown[column], column.partition("_")[0]
        has_both = (places >= 0) & (left != 0) & (right != 0)
        if name in may_differ:
            continue
        if (left[has_both] != right[has_both]).any():
            old, new = (
                {id_of(row, path, line): row.get(column) for line, row in sample_rows(path, layout)} for path in paths
            )
            if other := other_texts(old, new):
                first = "; ".join(f"{id_} has {one} and {two}" for id_, one, two in other[:ROWS])
                fault = f"the {column} of {len(other)} of {candidate.n} samples differs: {first}"
                raise _difference(paths, name, f"{fault}; give a sample the same id on both sides")
        is_shown |= bool(has_both.all()) and len(np.unique(right)) > 1
    return is_shown


def _difference(paths: tuple[Path, Path], name: str, fault: str) -> BadInput:
    fix = f"to allow that, add --may-differ {name} to `accgate compare`"
    return BadInput(f"{paths[0]} and {paths[1]}: {fault}; {fix}")


def other_texts(before: Mapping[str, Any], after: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return each id whose texts differ, with the differing part of both.

    Ids without a text on one side, differences in spaces, and chat templates around all texts of a side do not count.

    >>> other_texts({"a": "1 + 2", "b": "3 + 4"}, {"a": "<s>[INST] 1 + 2 [/INST]", "b": "<s>[INST] 3 + 5 [/INST]"})
    [('b', "'3 + 4'", "'3 + 5'")]
    """
    shared = [id_ for id_ in after if plain_of(after[id_]) and plain_of(before.get(id_))]
    old, new = ([plain_of(side[id_]) for id_ in shared] for side in (before, after))
    if len(shared) > 1 and TEMPLATE.search(old[0] + new[0]):
        old, new = _without_frame(old), _without_frame(new)
    return [(id_, *_apart(one, two)) for id_, one, two in zip(shared, old, new, strict=True) if one != two]


def _without_frame(texts: list[str]) -> list[str]:
    """Remove what all texts begin and end with."""
    for _ in range(2):
        head = len(commonprefix(texts))  # noqa: RUF071 (texts, not paths)
        texts = [text[head:].strip()[::-1] for text in texts]
    return texts


def _apart(one: str, two: str) -> tuple[str, str]:
    """Shorten two texts for a message to the part where they differ."""
    start = max(0, len(commonprefix([one, two])) - BEFORE)  # noqa: RUF071 (texts, not paths)
    return repr(clip(one[start:], TEXT)), repr(clip(two[start:], TEXT))


def about_beside(path: Path) -> Mapping[str, Any]:
    """Read the file beside a reference's CSV or a run's records.

    The table is empty for other files.
    """
    try:
        if path.name.endswith(SCORES):
            return read_toml(path.with_name(f"{path.name.removesuffix(SCORES)}.toml"), fix="record it again").data
        base = path.name.removesuffix(".jsonl")
        return settings_of_run(RecordPaths(*(path.with_name(base + end) for end in ENDINGS)))
    except (BadInput, OSError):  # another file of such a name, or a name that is too long to append to
        return {}


def fingerprint_in(about: Mapping[str, Any]) -> dict[str, str]:
    """Return the digest of each part of a task.

    Settings beside records have it, and references' files.
    """
    of_run = {part: str(about[f"task {part}"]) for part in PARTS if f"task {part}" in about}
    return of_run or dict(table_in(about, "fingerprint"))


def changed_parts(recorded: Mapping[str, str], now: Mapping[str, str]) -> list[str]:
    """Name the parts in which two fingerprints of a task differ."""
    return [text for part, text in PARTS.items() if _differs(part, recorded, now)]


def is_rescored(recorded: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Tell whether a task asks or scores its samples in another way now."""
    return any(_differs(part, recorded, now) for part in ("prompt", "extract", "metric", "reply", "files"))


def is_asked_alike(recorded: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Tell whether a task still sends the same prompts.

    It must also cut replies alike, but may score them in another way.
    """
    return not any(_differs(part, recorded, now) for part in ("prompt", "reply"))


def _differs(part: str, recorded: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Tell whether a part differs, except for `files`, which references of earlier versions lack."""
    return recorded.get(part) != now.get(part) and not (part == "files" and part not in recorded)


def pair_scores(reference: Scores, candidate: Scores) -> Scores:
    """Return the reference's rows in the candidate's order.

    Raises
    ------
    BadInput
        When the sides hold different ids, or different clusters of the same samples.
    """
    rows = reference.ids.places(candidate.ids)
    # Counted, for `np.unique` hashes since NumPy 2.3 and takes 0.6 s for a million rows.
    if (rows < 0).any() or np.count_nonzero(np.bincount(rows)) < reference.n:
        raise _other_samples(reference, candidate)
    taken = reference.take(candidate.ids)
    if taken.clusters is None or candidate.clusters is None or taken.clusters == candidate.clusters:
        return taken
    both = zip(candidate.ids, taken.clusters, candidate.clusters, strict=True)
    moved = [id_ for id_, left, right in both if left != right]
    raise moved_fault("cluster", moved, candidate.n)


def moved_fault(kind: str, moved: Sequence[str], n: int) -> BadInput:
    """Describe samples of n that are in another cluster, or group, on each side."""
    return BadInput(
        f"the {kind} of {len(moved)} of {n} samples differs between reference and candidate: "
        f"{some_of(moved)}; give both sides the same {kind}s, or {kind}s to one side only"
    )


def _other_samples(reference: Scores, candidate: Scores) -> BadInput:
    missing, extra = reference.ids.without(candidate.ids), candidate.ids.without(reference.ids)
    faults = [f"the candidate has {reference.n - len(missing)} of the reference's {reference.n} samples"]
    if missing:
        faults.append(f"{len(missing)} missing from the candidate: {some_of(missing)}")
    if extra:
        faults.append(f"{len(extra)} not in the reference: {some_of(extra)}")
    return BadInput(
        "reference and candidate hold different samples: " + "; ".join(faults) + ". Evaluate the same samples, "
        "record the reference again, or use the unpaired test (two-sample)"
    )


def chance_correlation(reference: Scores, candidate: Scores) -> float | None:
    """Return the correlation of paired scores that agree no better than chance.

    The result is None where they agree better. The correlation of the means over repeats is compared with that of
    random orders. Scores of which too many are equal say nothing, and give None.
    """
    before, after = pair_scores(reference, candidate).means(), candidate.means()
    n = len(after)
    if min(n - int(np.unique(side, return_counts=True)[1].max()) for side in (before, after)) < LEAST:
        return None
    correlation = float(np.corrcoef(before, after)[0, 1])
    return correlation if correlation * (n - 1) ** 0.5 < CHANCE else None
