"""The parts that an imported log and a task of lm-evaluation-harness share.

They are ids, answers, fingerprints and points. Both give a sample the same id, so that a reference made from a log
serves a run of the same task.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from typing import Any

from accgate.errors import BadInput
from accgate.tasks.sample import Occurrences
from accgate.tasks.task import hash_of

# Lower is better, as lm-eval has it; the guard and `verify` do not load it to ask.
LOWER = frozenset({"perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte", "ter", "brier_score"})
# Shares of right answers: lm-eval's own and those of its tasks that document one, then scorers of Inspect.
_SHARES = """
    acc acc_norm acc_bytes acc_mutual_info acc_all exact_match em pass@1 pass_at_1 prompt_level_strict_acc
    prompt_level_loose_acc contains mc1 mc2
    accuracy match includes answer choice pattern exact f1 math model_graded_qa model_graded_fact
"""
FRACTIONS = frozenset(_SHARES.split())


def request_text(requests: Iterable[Sequence[Any]]) -> str:
    r"""Write the texts of a sample's requests, each below the one before.

    A context that several requests share comes once.

    >>> request_text([("2 + 2 =", " 4"), ("2 + 2 =", " 5")])
    '2 + 2 =\n 4\n 5'
    """
    texts: list[str] = []
    context = None
    for request in requests:
        own = [part for part in map(_text, request) if part is not None]
        texts += own[1:] if own and own[0] == context else own
        context = own[0] if own else None
    return "\n".join(texts)


def _text(part: Any) -> str | None:
    """Write a context or continuation.

    A chat's messages are a list of one text.
    """
    match part:
        case str(text) | [str(text)]:
            return text
    return None


def likeliest(requests: Sequence[tuple[str, str]], likelihoods: Sequence[float]) -> str | None:
    """Choose the likeliest of scored options.

    Each option is a context and its continuation. A single option gives None, a tie gives "". Options without a
    context, which lm-eval also scores for mutual information, do not count. Where options differ only in the context,
    the answer is the option's number from 0.

    >>> likeliest([("Q", " yes"), ("Q", " no"), ("", " yes")], [-2.0, -1.0, -0.5])
    'no'
    >>> likeliest([("Q", " yes"), ("Q", " no")], [0.0, 0.0])
    ''
    >>> likeliest([("Ann", " left"), ("Bob", " left")], [-2.0, -1.0])
    '1'
    """
    with_context = next((place for place, (context, _) in enumerate(requests) if not context), len(requests))
    count = with_context or len(requests)
    if count < 2:
        return None
    best = max(range(count), key=likelihoods.__getitem__)
    if likelihoods[:count].count(likelihoods[best]) > 1:
        return ""
    texts = [continuation.strip() for _, continuation in requests[:count]]
    return texts[best] if len(set(texts)) > 1 else str(best)


def numbered_ids(task: str, pairs: Iterable[tuple[str, str]]) -> list[str]:
    """Return the id of each (prompt, target), in order.

    The rule is that of every run record: identical samples are counted from 0.
    """
    seen = Occurrences()
    return [seen.id_of(task, prompt, target) for prompt, target in pairs]


def harness_fingerprint(
    task: str, metric: str, chosen_filter: str, generation: Mapping[str, Any] | None
) -> dict[str, str]:
    """Return hashes of the parts of an lm-eval task that can change a score.

    References keep them; the dataset is not among them. `generation` has the options of a request for text, and is None
    where options are scored.

    >>> [digest[:8] for digest in harness_fingerprint("arc", "acc", "none", None).values()]
    ['5a87f7ad', '30a0924a', '0f57eea6', '74234e98']
    """
    parts: dict[str, Any] = {
        "prompt": ["lm-eval", task],
        "extract": chosen_filter,
        "metric": [metric, chosen_filter],
        "reply": None if generation is None else dict(generation),
    }
    return {key: hash_of(part) for key, part in parts.items()}


def scale_of(metric: str, values: Sequence[float], scale: float | None, where: str) -> float:
    """Return the factor to points.

    It is `scale`, or 100 for a metric that is known to be a fraction.

    Raises
    ------
    BadInput
        For a metric that is not known, where no scale is given: points are never guessed. For values that contradict
        the table, and for a scale that is no positive number.
    """
    if scale is not None:
        if not (isfinite(scale) and scale > 0.0):
            raise BadInput(f"scale is {scale:g}; give a number above 0")
        return scale
    ask = "give --scale 100 where its values are fractions, --scale 1 where they are points or have a unit of their own"
    if metric not in FRACTIONS:
        raise BadInput(f"{where}: accgate does not know whether {metric} is a fraction or in points; {ask}")
    outside = [value for value in values if not 0.0 <= value <= 1.0]
    if outside:
        fault = f"should be a fraction, but {outside[0]:g} is none ({len(outside)} such values)"
        raise BadInput(f"{where}: {metric} {fault}; {ask}")
    return 100.0


def stated_direction(metric: str | None, option: bool | None) -> bool:
    """Tell whether more of a metric is better, by the task's options.

    A loaded task must agree.
    """
    return metric not in LOWER if option is None else option is True
