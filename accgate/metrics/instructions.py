"""Instructions that a program can check, as IFEval has them: "no commas", "at least 300 words".

Reference: Zhou et al. 2023, arXiv 2311.07911.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

from accgate.metrics.instruction_checks import CHECKS
from accgate.metrics.metric import Entry, Metric

Level = Literal["prompt", "instruction"]


def instruction_following(answer: str, target: str, *, level: Level = "prompt", strict: bool = True) -> float:
    """100 where the answer follows every instruction of the target; by `level = "instruction"` the share followed.

    `target` is JSON with `instruction_id_list` and `kwargs`, one object for each. Where not `strict` an instruction
    counts as followed too where it is without the first line, the last, or asterisks. An empty answer follows nothing.

    Raises
    ------
    ValueError
        For an instruction that is not known, or lacks an option.
    ImportError
        When a package is missing: langdetect for languages, nltk for words in capitals.

    Examples
    --------
    >>> target = json.dumps({
    ...     "instruction_id_list": ["punctuation:no_comma", "length_constraints:number_words"],
    ...     "kwargs": [{}, {"relation": "at least", "num_words": 3}],
    ... })
    >>> instruction_following("None of them here.", target), instruction_following("Well, no", target)
    (100.0, 0.0)
    >>> instruction_following("Well, one of the two", target, level="instruction")
    50.0
    """
    wanted = json.loads(target)
    texts = [text for text in ([answer] if strict else _loosened(answer)) if text.strip()]
    followed = [
        any(_follows(text, name, options) for text in texts)
        for name, options in zip(wanted["instruction_id_list"], wanted["kwargs"], strict=True)
    ]
    if level == "prompt":
        return 100.0 if all(followed) and followed else 0.0
    return 100.0 * sum(followed) / len(followed) if followed else 0.0


def _loosened(answer: str) -> list[str]:
    lines = answer.split("\n")
    cut = [answer, *("\n".join(part).strip() for part in (lines[1:], lines[:-1], lines[1:-1]))]
    return [*cut, *(text.replace("*", "") for text in cut)]


def _follows(text: str, name: str, options: Mapping[str, Any]) -> bool:
    if name not in CHECKS:
        raise ValueError(f"no instruction {name!r}; known are {', '.join(sorted(CHECKS))}")
    given = {key: value for key, value in options.items() if value is not None}
    try:
        return CHECKS[name](text, **given)
    except TypeError as error:  # an option too few or too many
        raise ValueError(f"instruction {name}: {error}") from error


def _build(*, level: Level = "prompt", strict: bool = True) -> Metric:
    try:
        import langdetect  # type: ignore[import-untyped]  # noqa: F401
        import nltk  # noqa: F401
    except ImportError as error:
        raise ImportError('instruction_following needs langdetect and nltk; pip install "accgate[metrics]"') from error

    def score(answer: str, target: str) -> float:
        return instruction_following(answer, target, level=level, strict=strict)

    return Metric("instruction_following", score)


ENTRIES = (Entry("instruction_following", _build, "the answer follows instructions that a program can check (IFEval)"),)
