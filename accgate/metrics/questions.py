"""Short answers to questions, scored as the benchmarks' own scripts do.

The benchmarks are SQuAD 2, TriviaQA and DROP.
"""

import json
import re
import string
from collections.abc import Sequence
from functools import partial
from typing import Literal

from accgate.metrics.forms import ARTICLES, NO_PUNCTUATION, filled, squad_form
from accgate.metrics.metric import Metric, builders_of
from accgate.metrics.overlap import Matched, harmonic_mean, in_common

Measure = Literal["f1", "exact"]
Bag = frozenset[str]

_SPACED = str.maketrans(dict.fromkeys(string.punctuation + "‘’´`", " "))  # noqa: RUF001 as TriviaQA's script has them


def squad_v2(
    answer: str,
    targets: Sequence[str],
    *,
    measure: Measure = "f1",
    no_answer: str = "unanswerable",
    as_published: bool = False,
) -> float:
    """Compute SQuAD 2's score, 0 to 100 points.

    The best score over the targets counts; an empty target means that there is no answer. An answer that says
    `no_answer` is the empty one, which is right where the question has no answer and nowhere else. With `as_published`
    a text of which the normalisation leaves nothing is an empty one, as in the script.

    >>> squad_v2("Unanswerable.", [""]), squad_v2("in Paris", [""]), squad_v2("in Paris", ["Paris"])
    (100.0, 0.0, 66.66666666666666)
    >>> squad_v2("the", ["A"]), squad_v2("the", ["A"], as_published=True)
    (0.0, 100.0)

    Reference: Rajpurkar et al. 2018, arXiv 1806.03822, and its evaluate-v2.0.py.
    """
    form = partial(filled, squad_form, as_published=as_published)
    ours = [] if form(answer) == form(no_answer) else form(answer).split()
    right = [words for target in targets if (words := form(target).split())] or [[]]
    if measure == "exact" or not ours:
        return 100.0 if ours in right else 0.0
    return max(_shared(ours, theirs) for theirs in right)


def triviaqa(answer: str, target: str, *, measure: Measure = "exact", as_published: bool = False) -> float:
    """Compute TriviaQA's score, 0 to 100 points.

    Punctuation counts as space, so that `Grand-Prix` is two words. With `as_published` all texts of which nothing is
    left are the same, as in the script.

    >>> triviaqa("The Grand Prix!", "grand-prix"), triviaqa("grand prix of Rome", "Grand Prix", measure="f1")
    (100.0, 66.66666666666666)

    Reference: Joshi et al. 2017, arXiv 1705.03551, and its triviaqa_evaluation.py.
    """
    ours, theirs = (filled(_trivia_form, text, as_published=as_published).split() for text in (answer, target))
    if measure == "exact":
        return 100.0 if ours == theirs else 0.0
    return _shared(ours, theirs)


def _trivia_form(text: str) -> str:
    return " ".join(ARTICLES.sub(" ", text.lower().translate(_SPACED)).split())


def _shared(ours: Sequence[str], theirs: Sequence[str]) -> float:
    return Matched(in_common(ours, theirs), len(ours), len(theirs)).points("f")


def drop(
    answer: str, target: str, *, measure: Measure = "f1", separator: str = "", as_published: bool = False
) -> float:
    """Compute DROP's score, 0 to 100 whole points.

    The best score over the right answers counts, each of one span or more. Words are compared as sets. A span with
    numbers earns nothing unless the answer's span has one of them. Spans are paired so that the sum is largest.

    Parameters
    ----------
    target
        A JSON list of right answers, each a text or a list of spans; any other text is one answer.
    separator
        What stands between the spans of an answer; without one an answer is one span.
    as_published
        Whether spans of which nothing is left are all the same, as in the script.

    Examples
    --------
    >>> drop("8", '[["8"], ["eight"]]'), drop("8 yards", '[["9 yards"]]'), drop("8 yards", '[["8"]]')
    (100.0, 0.0, 67.0)
    >>> drop("Rome; Paris", '[["Paris", "Rome"]]', separator=";"), drop("Rome", '[["Paris", "Rome"]]')
    (100.0, 50.0)

    Reference: Dua et al. 2019, arXiv 1903.00161, and its drop_eval.py, which rounds F1 to two decimals of 1.
    """
    spans = [span for span in answer.split(separator) if span.strip()] if separator else [answer]
    form = partial(filled, _drop_form, as_published=as_published)
    ours = [form(span) for span in spans or [answer]]
    score = _drop_f1 if measure == "f1" else _drop_exact
    right = (spans for spans in _right_answers(target) if spans[0].strip())
    return max((score(ours, [form(span) for span in spans]) for spans in right), default=0.0)


def _right_answers(target: str) -> list[list[str]]:
    try:
        answers = json.loads(target)
    except (ValueError, RecursionError):
        answers = None
    if not isinstance(answers, list):
        return [[target]]
    listed = [answer if isinstance(answer, list) else [answer] for answer in answers]
    return [[str(span) for span in spans] for spans in listed if spans]


def _drop_form(text: str) -> str:
    """Write a span as DROP compares it.

    Hyphens separate words, and numbers are written as floats.
    """
    words = (_drop_word(token.lower()) for token in re.split(r"[ -]", text))
    return " ".join(" ".join(words).split())


def _drop_word(token: str) -> str:
    bare = token if _is_number(token) else token.translate(NO_PUNCTUATION)
    return ARTICLES.sub(" ", str(float(bare)) if _is_number(bare) else bare)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _drop_exact(ours: Sequence[str], theirs: Sequence[str]) -> float:
    return 100.0 if sorted(set(ours)) == sorted(set(theirs)) and len(ours) == len(theirs) else 0.0


def _drop_f1(ours: Sequence[str], theirs: Sequence[str]) -> float:
    left, right = ([frozenset(span.split()) for span in spans] for spans in (ours, theirs))
    shares = [[_share(answer, target) for answer in left] for target in right]
    return 100.0 * round(best_pairs(shares) / max(len(left), len(right)), 2)


def _share(answer: Bag, target: Bag) -> float:
    """Compute F1 of two sets of words.

    An empty answer has precision 1, an empty target recall 1.
    """
    numbers = {word for word in target if _is_number(word)}
    if numbers and not numbers & answer:
        return 0.0
    shared = len(answer & target)
    precision = shared / len(answer) if answer else 1.0
    recall = shared / len(target) if target else 1.0
    return harmonic_mean(precision, recall)


def best_pairs(shares: list[list[float]]) -> float:
    """Return the largest sum over pairs of a row and a column.

    Each row and each column is used once.
    """
    if len(shares) == len(shares[0]) == 1:
        return shares[0][0]
    import numpy as np
    from scipy.optimize import linear_sum_assignment

    values = np.array(shares)
    return float(values[linear_sum_assignment(values, maximize=True)].sum())


def _all_spans_form(text: str) -> str:
    """Write the spans of all right answers, or of an answer, in their form."""
    return " ".join(_drop_form(span) for spans in _right_answers(text) for span in spans).strip()


def _has_span(answer: str, target: str) -> bool:
    return bool(_all_spans_form(answer)) or drop(answer, target) > 0.0


def _squad_v2(*, measure: Measure = "f1", no_answer: str = "unanswerable", as_published: bool = False) -> Metric:
    points = partial(squad_v2, measure=measure, no_answer=no_answer, as_published=as_published)
    return Metric("squad_v2", lambda answer, target: points(answer, [target]), many=points, form=squad_form)


METRICS = {"squad_v2": _squad_v2} | builders_of(triviaqa, form=_trivia_form)
METRICS |= builders_of(drop, form=_all_spans_form, finds=_has_span)
