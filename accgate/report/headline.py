"""The one sentence that a pull request's author reads first."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from accgate.report import words

if TYPE_CHECKING:
    from accgate.guard import Guard
    from accgate.result import Result

APPROVAL = "loosens the gate: approval needed"


class Headline(NamedTuple):
    """A symbol, and a sentence that says the same in words; the sentence can hold names, so it needs escaping."""

    symbol: str
    text: str


def headline_of(
    result: Result | None, *, guard: Guard | None = None, exit_code: int | None = None, advisory: bool = False
) -> Headline:
    """Verdict and guard of a pull request in a sentence; `exit_code` is that of a run that ended without a result.

    >>> from accgate.guard import Guard
    >>> headline_of(None, exit_code=130, guard=Guard("loosened")).text
    'No verdict: the run was cancelled (exit code 130). This pull request also loosens the gate: approval needed.'
    """
    found = _verdict(result, exit_code)
    if result is not None and exit_code is None and is_bootstrap(result, guard):
        found = Headline("🌱", "Nothing is gated yet: the base branch of this repository has no accuracy.toml.")
    if guard is not None and not guard.holds:
        found = _unguarded(found, guard)
    return Headline("ℹ️", f"Advisory only: {found.text}") if advisory else found  # noqa: RUF001


def is_bootstrap(result: Result | None, guard: Guard | None) -> bool:
    """Whether the base has no rules yet."""
    return (guard is not None and guard.state == "bootstrap") or (result is not None and result.rules == "bootstrap")


def _verdict(result: Result | None, exit_code: int | None) -> Headline:
    if result is None or exit_code is not None:
        why = "the run left no result" if exit_code is None else words.ended(exit_code)
        return Headline(words.SYMBOLS["error"], f"No verdict: {why}.")
    return Headline(words.SYMBOLS[result.verdict], words.headline(result))


def _unguarded(found: Headline, guard: Guard) -> Headline:
    passed = found.symbol == words.SYMBOLS["pass"]
    if guard.state == "unreadable":
        but = "whether this pull request loosens the gate could not be checked"
        also = "Whether it loosens the gate could not be checked."
    else:
        but, also = f"this pull request {APPROVAL}", f"This pull request also {APPROVAL}."
    if passed:
        return Headline("🔒", f"{found.text.removesuffix('.')}, but {but}.")
    return Headline(found.symbol, f"{found.text} {also}")
