"""LongBench's and ZeroSCROLLS's scores, as their papers' own code computes them.

References: Bai et al. 2023, arXiv 2308.14508; Shaham et al. 2023, arXiv 2305.14196.
"""

import difflib
import json
import re
import string
import warnings
from functools import cache
from itertools import combinations
from typing import Any, Literal

from accgate.metrics.metric import Metric, builders_of, required
from accgate.metrics.overlap import in_common
from accgate.metrics.rouge import lcs_positions

Language = Literal["en", "zh"]

# What LongBench takes from Chinese words. 《, 〈 and 〉 are not among them there, so not here.
PUNCTUATION = frozenset(
    string.punctuation + "！？｡。＂＃＄％＆＇（）＊＋，－／：；＜＝＞＠［＼］＾＿｀｛｜｝～｟｠｢｣"  # noqa: RUF001
    "､、〃》「」『』【】〔〕〖〗〘〙〚〛〜〝〞〟〰〾〿–—‘’‛“”„‟…‧﹏."  # noqa: RUF001
)


def longbench_f1_zh(answer: str, target: str) -> float:
    """Compute F1 of the Chinese words that answer and target share, in points."""
    left, right = _chinese_words(answer), _chinese_words(target)
    shared = in_common(left, right)
    return 200.0 * shared / (len(left) + len(right)) if shared else 0.0


def _chinese_words(text: str) -> list[str]:
    bare = ("".join("".join(c for c in word.lower() if c not in PUNCTUATION).split()) for word in _cut(text))
    return [word for word in bare if word]


def _cut(text: str) -> list[str]:
    return list(_jieba().cut(text, cut_all=False))


@cache
def _jieba() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its age shows: old escapes, and pkg_resources
        jieba = required("jieba", 'language = "zh" needs jieba')
    jieba.setLogLevel("ERROR")  # or it tells standard error how it loads its words
    return jieba


def _rouge_l(*, language: Language = "en") -> Metric:
    if language == "en":
        return Metric("longbench_rouge_l", rouge_l)
    return Metric("longbench_rouge_l", lambda a, b: rouge_l(" ".join(_cut(a)), " ".join(_cut(b))), prepare=_jieba)


def rouge_l(answer: str, target: str) -> float:
    """Score ROUGE-L of the package `rouge`, in points.

    Sentences end at full stops, and each different word counts once. Matched are the words in a longest common
    subsequence of any two sentences. Their share of the answer's different words is precision, of the target's recall;
    the score is the F-measure. A text without a sentence scores 0.

    >>> round(rouge_l("the cat sat. it slept", "the cat slept"), 2)
    75.0
    """
    left, right = _sentences(answer), _sentences(target)
    if not left or not right:
        return 0.0
    # Of several longest subsequences this is the one that the package picks, too.
    shared = {ours[place] for theirs in right for ours in left for place in lcs_positions(ours, theirs)}
    recall = len(shared) / len({word for sentence in right for word in sentence})
    precision = len(shared) / len({word for sentence in left for word in sentence})
    return 100.0 * 2.0 * (precision * recall / (precision + recall + 1e-8))


def _sentences(text: str) -> list[list[str]]:
    # A sentence of white space alone is one empty word there, so here too.
    return [sentence.split() or [""] for sentence in text.split(".") if sentence]


def number_share(answer: str, target: str) -> float:
    """Return the share of the answer's whole numbers that are the target.

    The unit is points. An answer without a number scores 0.

    >>> number_share("Paragraph 3, not paragraph 12", "3"), number_share("none", "3")
    (50.0, 0.0)
    """
    numbers = re.findall(r"\d+", answer)
    return 100.0 * numbers.count(target.strip()) / len(numbers) if numbers else 0.0


def class_named(answer: str, target: str) -> float:
    """Score 100 over the number of classes that the answer names.

    It scores 0 where the right one is not among them. `target` is JSON with `label` and `classes`. A class whose name
    is a part of the right one's does not count.

    >>> target = json.dumps({"label": "animal", "classes": ["animal", "food", "sport"]})
    >>> class_named("Type: animal", target), class_named("animal or food", target), class_named("sport", target)
    (100.0, 50.0, 0.0)
    """
    wanted = json.loads(target)
    label: str = wanted["label"]
    named = [name for name in wanted["classes"] if name in answer]
    place = 0
    while place < len(named):  # LongBench's own loop, which skips the name after one that it removes
        if named[place] in label and named[place] != label:
            named.remove(named[place])
        place += 1
    return 100.0 / len(named) if label in named else 0.0


def code_line_similarity(answer: str, target: str, *, blank_lines: bool = False) -> float:
    """Compare the answer's first line of code to the target.

    The similarity is fuzzywuzzy's `ratio`, in whole points. Lines with a back quote, `#` or `//` are passed over, and
    blank ones, as in lm-evaluation-harness. With `blank_lines` a blank line counts too, as in the benchmark's own code.

    >>> code_line_similarity("# next\\n    return a + b", "    return a + b"), code_line_similarity("", "x = 1")
    (100.0, 0.0)
    >>> code_line_similarity("# next\\n\\nreturn a", "return a", blank_lines=True)
    0.0
    """
    line = _line_of_code(answer, blank_lines=blank_lines)
    if line == target:
        return 100.0
    if not line or not target:
        return 0.0
    return float(round(100 * difflib.SequenceMatcher(None, line, target).ratio()))


def _line_of_code(answer: str, *, blank_lines: bool = False) -> str:
    lines = answer.lstrip("\n").split("\n")
    return next((line for line in lines if (blank_lines or line.strip()) and not re.search("`|#|//", line)), "")


def exponential_similarity(answer: str, target: str) -> float:
    """Score 100 where the answer's first number is the target.

    Every 10 points between the two halve the score. Without a number it is 0.

    >>> exponential_similarity("70%", "70"), exponential_similarity("about 60", "70%")
    (100.0, 50.0)
    """
    ours, theirs = (re.search(r"\d+(?:\.\d+)?", text) for text in (answer, target))
    if ours is None or theirs is None:
        return 0.0
    return float(100.0 * 2.0 ** (-abs(float(ours[0]) - float(theirs[0])) / 10.0))


def concordance_index(answer: str, target: str) -> float:
    """Return the share of pairs of numbers that are in the target's order.

    The unit is points. An answer with other numbers than the target scores 0.

    >>> concordance_index("2, 1, 3", "1, 2, 3"), concordance_index("1, 2", "1, 2, 3")
    (66.66666666666667, 0.0)
    """
    ours, theirs = (re.findall(r"\d+", text) for text in (answer, target))
    if sorted(ours) != sorted(theirs) or len(set(theirs)) < len(theirs) or not theirs:
        return 0.0
    if len(theirs) == 1:
        return 100.0
    places = {number: place for place, number in enumerate(ours)}
    pairs = [places[first] < places[second] for first, second in combinations(theirs, 2)]
    return 100.0 * sum(pairs) / len(pairs)


def _has_number(answer: str, _: str) -> bool:
    return re.search(r"\d", answer) is not None


METRICS = (
    {"longbench_rouge_l": _rouge_l}
    | builders_of(longbench_f1_zh, finds=lambda answer, _: bool(_chinese_words(answer)), prepare=_jieba)
    | builders_of(number_share, exponential_similarity, concordance_index, finds=_has_number)
    | builders_of(
        class_named, finds=lambda answer, target: any(name in answer for name in json.loads(target)["classes"])
    )
    | builders_of(code_line_similarity, finds=lambda answer, _: bool(_line_of_code(answer)))
)
