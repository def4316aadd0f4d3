"""The kinds of metrics that need more than an answer and a target.

They need log-probabilities, a sandbox, a judge, or the tasks that are joined.
"""

import importlib.metadata
import math
from functools import partial
from typing import Literal

from accgate.metrics.metric import Builders, Metric
from accgate.text import closest

Per = Literal["token", "word", "byte"]


def perplexity(log_probability: float, *, tokens: int, text: str, per: Per = "token") -> float | None:
    """Return exp of the mean negative log-probability of a text.

    The mean is per token, word or UTF-8 byte. An empty text has none.

    >>> by_token, by_word = (perplexity(-6.0, tokens=3, text="one two", per=per) for per in ("token", "word"))
    >>> round(by_token, 3), round(by_word, 3)
    (7.389, 20.086)

    Reference: Jelinek et al. 1977, J. Acoust. Soc. Am. 62, S63; by word and byte as in lm-evaluation-harness.
    """
    count = {"token": tokens, "word": len(text.split()), "byte": len(text.encode())}[per]
    if count == 0:
        return None
    return math.exp(min(-log_probability / count, 700.0))  # past that a float overflows


def _perplexity(*, per: Per = "token") -> Metric:  # noqa: ARG001 whoever scores reads it
    return Metric("perplexity", lowest=1.0, highest=None, higher_is_better=False, kind="likelihood")


def _code_tests(*, timeout: float = 3.0, memory: int = 1024, packages: tuple[str, ...] = ()) -> Metric:
    return _code_metric("code_tests", timeout, memory, packages)


def _code_output(
    *, timeout: float = 6.0, memory: int = 1024, packages: tuple[str, ...] = (), before: str = ""
) -> Metric:
    try:
        compile(before, "before", "exec", dont_inherit=True)
    except (SyntaxError, ValueError) as error:
        raise ValueError(f"before is not Python: {error}") from error
    return _code_metric("code_output", timeout, memory, packages)


def _code_metric(name: str, timeout: float, memory: int, packages: tuple[str, ...]) -> Metric:
    if not 0.0 < timeout <= 3600.0:
        raise ValueError("timeout must be above 0 and up to 3600 seconds")
    if memory < 64:
        raise ValueError("memory must be 64 MB or more")
    if "" in packages:
        raise ValueError("packages names ''; write names of installed packages")
    return Metric(name, kind="code", prepare=partial(_refuse_missing, packages))


def _refuse_missing(packages: tuple[str, ...]) -> None:
    for package in packages:
        try:
            importlib.metadata.distribution(package)
        except importlib.metadata.PackageNotFoundError as error:
            names = {str(each.metadata["Name"]) for each in importlib.metadata.distributions()}
            near = f"did you mean {other!r}? if not, " if (other := closest(package, names)) else ""
            advice = f"{near}check the name before you install it beside accgate"
            raise ImportError(f"packages names {package!r}, which is not installed; {advice}") from error


PARTS = "parts"


METRICS: Builders = {
    "perplexity": _perplexity,
    "code_tests": _code_tests,
    "code_output": _code_output,
    PARTS: lambda: Metric(PARTS),
    "judge": lambda: Metric("judge", kind="judge"),
}
