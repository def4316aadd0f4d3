"""The protocol every engine follows."""

from __future__ import annotations

import contextlib
import math
import os
import platform
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol, TypeVar, cast, get_type_hints

from accgate.errors import CannotEvaluate
from accgate.result import EngineInfo

T = TypeVar("T")
IMAGE = "ACCGATE_IMAGE_DIGEST"  # digest of the container's image: every installed file
DRIVER = Path("/proc/driver/nvidia/version")
ROUNDING = 1e-3  # a log-probability in 16 bits may round to this much above 0
CHANGES_NO_ANSWER = "changes no answer"
Operational = Annotated[T, CHANGES_NO_ANSWER]  # an option in which --resume and merge allow a difference


@dataclass(frozen=True)
class ModelTable:
    """A model's table as its engine reads it.

    Relative paths start from `folder`. `extra` is `sampling.extra`. `wall` makes the barrier behind which a command of
    the table runs, where that command may not see all files.
    """

    model: str
    options: Mapping[str, Any]
    folder: Path
    extra: Mapping[str, Any] = field(default_factory=dict)
    wall: Callable[[], Wall] | None = None


class Wall(Protocol):
    """A barrier that keeps files from a command."""

    def words(self) -> Sequence[str]:
        """Return the words that go before the command's own."""

    def inside(self, path: Path) -> str:
        """Return the path under which the command finds a file or folder."""

    def fault_in(self, text: str) -> Exception | None:
        """Return the error for a file that the command could not open.

        `text` is the command's output.
        """

    def remove(self) -> object:
        """Remove what was made for the command."""


def operational_of(options: type) -> frozenset[str]:
    """Return the names of a dataclass's options that are declared as operational."""
    hints = get_type_hints(options, include_extras=True)
    return frozenset(name for name, hint in hints.items() if CHANGES_NO_ANSWER in getattr(hint, "__metadata__", ()))


@dataclass(frozen=True)
class Request:
    """One prompt to complete.

    `id` and `repeat` identify the sample; an engine that asks a model ignores them.

    `parts` are further parts of the user's last message, before its text: images, audio. `messages` is a conversation
    that replaces prompt and system; the model continues its last message if that is the assistant's. `tools` are
    functions that the model may call. All are in the form of the OpenAI API. With `logprobs` the reply has the
    log-probabilities of its tokens, where the engine can give them.
    """

    id: str
    repeat: int
    prompt: str
    system: str = ""
    mode: Literal["chat", "completion"] = "chat"
    max_tokens: int = 256
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
    parts: tuple[Mapping[str, Any], ...] = ()
    logprobs: bool = False
    messages: tuple[Mapping[str, Any], ...] = ()
    tools: tuple[Mapping[str, Any], ...] = ()
    tool_choice: str | Mapping[str, Any] | None = None

    @property
    def prefix(self) -> str:
        """The assistant's text that the model continues, or ""."""
        return prefix_of(self.messages)


def prefix_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the beginning of a reply that the model continues, or "".

    A last message of the assistant holds this beginning.
    """
    last = messages[-1] if messages else {}
    return str(last.get("content") or "") if last.get("role") == "assistant" and "tool_calls" not in last else ""


@dataclass(frozen=True, slots=True)  # a recording holds millions
class Reply:
    """What an engine answered.

    Only an engine that replays a recording sets `score`, `confidence`, `attacked` and `seconds`. `cached` marks a reply
    kept from an earlier run. `logprobs` has the natural logarithm of the probability of each token, where they were
    requested. `tool_calls` has the name and the arguments of each function that the model calls; the arguments are JSON
    text as the model wrote it. `reasoning` is what the server gives apart from the text; `reasoning_tokens` counts the
    part of `completion_tokens` that is reasoning, where the engine reports it. `reading` comes from a recording, see
    `accgate.records.Record`. `acceptance` is the mean number of tokens per decoding step, where the engine reports it:
    1 plus the accepted draft tokens.
    """

    text: str | None
    finish_reason: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    score: float | None = None
    cached: bool = False
    logprobs: tuple[float, ...] | None = None
    confidence: float | None = None
    attacked: float | tuple[float | None, ...] | None = None
    attacked_reading: tuple[str | None, ...] | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    reasoning: str | None = None
    reasoning_tokens: int | None = None
    reading: str | None = None
    seconds: float | None = None
    acceptance: float | None = None


@dataclass(frozen=True)
class LogProbs:
    """Log-probabilities of the tokens of a given continuation.

    They are natural logarithms. `greedy` says whether every token is the model's first choice, or None where the engine
    does not report it. `cached` marks values kept from an earlier run.
    """

    tokens: tuple[str, ...]
    values: tuple[float, ...]
    greedy: bool | None = None
    cached: bool = False

    @property
    def total(self) -> float:
        """The continuation's log-probability.

        >>> LogProbs(("a", "b"), (-0.5, -1.0)).total
        -1.5
        """
        return sum(self.values)


def measurement_fault(texts: Sequence[LogProbs]) -> str | None:
    """Say why the log-probabilities of a question's texts can be no model's, if so.

    No model finds every token certain, or many tokens equally likely to the last bit. A broken server reports that.

    >>> measurement_fault([LogProbs(("a", "b"), (0.0, 0.0))])
    'every token has the log-probability 0: nothing was measured'
    >>> measurement_fault([LogProbs(("a",), (-0.5,)), LogProbs(("b",), (-0.5,))])  # a tie
    """
    values = [value for text in texts for value in text.values]
    if len(set(values)) > 1 or (len(values) <= len(texts) and any(values)):
        return None
    return f"every token has the log-probability {values[0]:.4g}: nothing was measured"


class EngineDied(CannotEvaluate):
    """The engine's process is gone, so every request to it fails.

    A restarted one, or another replica, may answer.
    """


class RequestFailed(Exception):
    """This sample got no reply, though others may.

    The message becomes the record's `error`.
    """


class Engine(Protocol):
    """The protocol of all engines.

    `concurrency` is how many requests are worth having in flight.
    """

    concurrency: int

    async def start(self) -> None:
        """Load or reach the model.

        Raises
        ------
        KeyFaults
            When options do not fit what was loaded or reached; keys are relative to the model's table.
        CannotEvaluate
            When the model cannot be loaded or reached.
        """

    async def complete(self, request: Request) -> Reply:
        """Answer one prompt.

        Raises
        ------
        RequestFailed
            When this sample gets no reply.
        CannotEvaluate
            When no further request can succeed.
        """

    def describe(self) -> EngineInfo:
        """Describe what runs.

        Call it after `start`.
        """

    async def close(self) -> None:
        """Free everything.

        It may be called twice, and after a failed start.
        """


def useful_in_flight(engine: Engine) -> int:
    """Return how many requests in flight use an engine fully.

    Beyond `saturated_at`, where an engine has it, requests only slow each other.
    """
    return min(engine.concurrency, getattr(engine, "saturated_at", None) or engine.concurrency)


SCORING = "next token"  # how engines score texts, as references keep it: those of one token share a request


class Scorer(Protocol):
    """An engine that can say how likely it finds given continuations."""

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of each continuation's tokens, right after the request's prompt.

        Raises
        ------
        RequestFailed
            When this sample gets none.
        CannotEvaluate
            When no further request can succeed, or the server cannot do it at all.
        """


async def likelihoods(engine: Engine, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
    """Ask a scorer for the log-probabilities of continuations, each after the request's prompt.

    Raises
    ------
    RequestFailed
        When one gets none, or a value that is no log-probability.
    CannotEvaluate
        When no further request can succeed.
    """
    scores = await cast("Scorer", engine).score(request, continuations)
    for score in scores:
        refuse_no_logarithms(score.values)
        if not score.values:
            raise RequestFailed("the text has no token")
    return scores


def tokens_after(
    encode: Callable[[str], Sequence[int]], prompt: Sequence[int], text: str, continuation: str
) -> list[int]:
    """Return the tokens of a continuation of a prompt.

    `prompt` and `text` are the prompt's tokens and its text. The continuation's tokens come from encoding both texts
    together, or its text alone where a token would cross the boundary. `encode` adds no special tokens.

    >>> tokens_after(lambda text: [*map(ord, text)], [0, 97], "a", "b")
    [98]
    """
    together, alone = list(encode(text + continuation)), list(encode(text))
    if text and together[: len(alone)] == alone and list(prompt[len(prompt) - len(alone) :]) == alone:
        return together[len(alone) :]
    return list(encode(continuation))


def refuse_no_logarithms(values: Iterable[float]) -> None:
    """Raise RequestFailed where one of a text's log-probabilities cannot be one."""
    for each in values:
        if not -math.inf < each < ROUNDING:  # NaN, too
            raise RequestFailed(f"the engine gave {each:.4g} as the log-probability of a token")


@contextlib.asynccontextmanager
async def side_by_side(*works: Awaitable[Any]) -> AsyncIterator[list[Any]]:
    """Run awaitables together for the length of a block.

    Those that still run when the block ends are cancelled and awaited.
    """
    import asyncio  # a plan needs none

    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        yield tasks
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def all_or_first_error(works: Iterable[Awaitable[T]]) -> list[T]:
    """Await all, and return their results in order.

    The first failure cancels the others.
    """
    import asyncio

    async with side_by_side(*works) as tasks:
        return list(await asyncio.gather(*tasks))


def environment_of(*packages: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return this machine's versions of packages, GPU driver and container image."""
    versions = {"image": environ.get(IMAGE, "")}
    for name in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name.removesuffix("-python")] = metadata.version(name)
    with contextlib.suppress(OSError):
        match = re.search(r"Module\b.*?\s(\d+(?:\.\d+)+)\s", DRIVER.read_text(encoding="utf-8", errors="replace"))
        versions["driver"] = match[1] if match else ""
    return {name: version for name, version in versions.items() if version}


def cpu_name() -> str:
    """Return the processor's name as the operating system has it."""
    with contextlib.suppress(OSError):
        if match := re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return match[1].strip()
    return platform.processor() or platform.machine()
