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
ROUNDING = 1e-3  # above 0, at most, of a log-probability in 16 bits
CHANGES_NO_ANSWER = "changes no answer"
Operational = Annotated[T, CHANGES_NO_ANSWER]  # an option in which --resume and merge allow a difference


@dataclass(frozen=True)
class ModelTable:
    """A model's table as its engine reads it.

    Relative paths start from `folder`, and `extra` is that of its sampling. `wall` gives what a command of the table
    runs behind, where it may not see all files.
    """

    model: str
    options: Mapping[str, Any]
    folder: Path
    extra: Mapping[str, Any] = field(default_factory=dict)
    wall: Callable[[], Wall] | None = None


class Wall(Protocol):
    """What keeps files from a command.

    It runs behind `words`, and in the folder that `inside` gives of another.
    """

    def words(self) -> Sequence[str]:
        """Return the words before the command's own."""

    def inside(self, path: Path) -> str:
        """Return where the command finds a file or folder."""

    def fault_in(self, text: str) -> Exception | None:
        """Return the error that it could not open a file.

        The text of its output tells. None where nothing tells.
        """

    def remove(self) -> object:
        """Remove what was made for the command."""


def operational_of(options: type) -> frozenset[str]:
    """Return the names of a dataclass's options that are declared as operational."""
    hints = get_type_hints(options, include_extras=True)
    return frozenset(name for name, hint in hints.items() if CHANGES_NO_ANSWER in getattr(hint, "__metadata__", ()))


@dataclass(frozen=True)
class Request:
    """One prompt to complete. `id` and `repeat` identify the sample; an engine that asks a model ignores them.

    `parts` are further parts of the user's last message, before its text: images, audio. `messages` is a conversation
    in the place of prompt and system, of which the model continues a last message of the assistant; `tools` are
    functions that it may call. All are in the form of the OpenAI API. With `logprobs` the reply has the
    log-probabilities of its tokens, where the engine can.
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
        """The text of the assistant that the model continues.

        It is "" where there is none.
        """
        return prefix_of(self.messages)


def prefix_of(messages: Sequence[Mapping[str, Any]]) -> str:
    """Return the text of the assistant that the model continues.

    It is that of a last message of the assistant, "" where there is none.
    """
    last = messages[-1] if messages else {}
    return str(last.get("content") or "") if last.get("role") == "assistant" and "tool_calls" not in last else ""


@dataclass(frozen=True, slots=True)  # a recording holds millions
class Reply:
    """What came back. An engine that replays a recording alone sets `score`, `confidence`, `attacked` and `seconds`.

    `cached` is set where the reply was kept of an earlier run. `logprobs` has the natural logarithm of the probability
    of each of the reply's tokens, where they were asked for. `tool_calls` has the name and the arguments, JSON text as
    the model wrote it, of each function that it calls. `reasoning` is what the server gives apart from the text, and
    `reasoning_tokens` counts those of `completion_tokens` that are reasoning, where the engine tells. `reading` is a
    recording's own, see `accgate.records.Record`. `acceptance` is the mean number of tokens per decoding step of this
    reply, where the engine tells: 1 and the accepted draft tokens.
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
    """How likely a model finds a given continuation.

    It is the natural logarithm of the probability of each of its tokens. `greedy` says whether every token is the
    model's first choice, None where the engine does not tell. `cached` is set where they were kept of an earlier run.
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
    """Say why the log-probabilities of a question's texts can be no model's.

    None where they can. No model finds every token certain, or many tokens equally likely to the last bit. A broken
    server says so.

    >>> measurement_fault([LogProbs(("a", "b"), (0.0, 0.0))])
    'every token has the log-probability 0: nothing was measured'
    >>> measurement_fault([LogProbs(("a",), (-0.5,)), LogProbs(("b",), (-0.5,))])  # a tie
    """
    values = [value for text in texts for value in text.values]
    if len(set(values)) > 1 or (len(values) <= len(texts) and any(values)):
        return None
    return f"every token has the log-probability {values[0]:.4g}: nothing was measured"


class EngineDied(CannotEvaluate):
    """The engine's process is gone, and every request to it fails.

    One started anew, or another replica, may answer.
    """


class RequestFailed(Exception):
    """This sample got no reply, and others may.

    The message becomes the record's `error`.
    """


class Engine(Protocol):
    """Who answers. `concurrency` is how many requests are worth having in flight."""

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
        """Say what runs.

        It is valid after `start`.
        """

    async def close(self) -> None:
        """Free everything.

        It is safe to call twice, and after a failed start.
        """


def useful_in_flight(engine: Engine) -> int:
    """Return how many requests in flight use an engine fully.

    More would only slow each other. Else it is its `concurrency`.
    """
    return min(engine.concurrency, getattr(engine, "saturated_at", None) or engine.concurrency)


SCORING = "next token"  # the way in which engines score texts: those of one token together, as references keep it


class Scorer(Protocol):
    """An engine that can say how likely it finds given continuations."""

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of each continuation's tokens.

        They come right after the request's prompt.

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

    The prompt has these tokens and this text. They are those of both texts together, or its own where a token would
    reach over the boundary. `encode` adds no special tokens.

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
    """Await works together.

    At the end of the block those that have not ended are cancelled and awaited.
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

    Where one fails, the others are cancelled first.
    """
    import asyncio

    async with side_by_side(*works) as tasks:
        return list(await asyncio.gather(*tasks))


def environment_of(*packages: str, environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return versions of the packages, driver and image under an engine.

    It stands on these on this machine.
    """
    versions = {"image": environ.get(IMAGE, "")}
    for name in packages:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[name.removesuffix("-python")] = metadata.version(name)
    with contextlib.suppress(OSError):
        found = re.search(r"Module\b.*?\s(\d+(?:\.\d+)+)\s", DRIVER.read_text(encoding="utf-8", errors="replace"))
        versions["driver"] = found[1] if found else ""
    return {name: version for name, version in versions.items() if version}


def cpu_name() -> str:
    """Name the processor, as the operating system does."""
    with contextlib.suppress(OSError):
        if match := re.search(r"model name\s*: (.+)", Path("/proc/cpuinfo").read_text(encoding="utf-8")):
            return match[1].strip()
    return platform.processor() or platform.machine()
