"""Requests of an lm-eval task to an engine, and the engine's answers."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from accgate.engines import Engine, LogProbs, Reply, Request, RequestFailed, all_or_first_error
from accgate.engines.base import likelihoods, measurement_fault
from accgate.errors import BadInput, CannotEvaluate

Kind = Literal["generate", "score", "rolling"]
Response = str | tuple[float, "bool | None"] | float
MAX_TOKENS = 256  # where a task sets none, as lm-eval's own clients have it


@dataclass(frozen=True)
class LmEvalRequest(Request):
    """One request of a sample to an engine.

    `generate` wants a text, `score` the log-likelihood of `continuation` after `prompt`, and `rolling` the
    log-likelihood of a whole text. Each request is sent under its sample's id.
    """

    mode: Literal["chat", "completion"] = "completion"
    kind: Kind = "generate"
    continuation: str = ""


def request_of(request_type: str, arguments: Sequence[Any], *, chat: bool, where: str) -> LmEvalRequest:
    """Make a request of lm-eval's, from its type and arguments.

    Spaces that end a context are moved to the continuation, as lm-eval does before it counts tokens.

    Raises
    ------
    BadInput
        For requests that no engine takes: a conversation of several turns, or the start of an answer in a chat.
    """
    if request_type == "loglikelihood_rolling":
        return LmEvalRequest("", 0, "", kind="rolling", continuation=str(arguments[0]))
    if request_type == "loglikelihood":
        context, continuation = str(arguments[0]), str(arguments[1])
        prompt = context.rstrip()
        return LmEvalRequest("", 0, prompt, kind="score", continuation=context[len(prompt) :] + continuation)
    settings = _generation(dict(arguments[1]), where)
    if not chat:
        return LmEvalRequest("", 0, str(arguments[0]), **settings)
    system, prompt = _of_chat(str(arguments[0]), where)
    return LmEvalRequest("", 0, prompt, system, "chat", **settings)


def _of_chat(text: str, where: str) -> tuple[str, str]:
    messages = json.loads(text)
    system = messages.pop(0)["content"] if messages[0]["role"] == "system" else ""
    if [message["role"] for message in messages] != ["user"]:
        raise BadInput(f"{where}: begins the answer itself (gen_prefix), which a chat cannot; leave chat out")
    return system, messages[0]["content"]


def _generation(options: dict[str, Any], where: str) -> dict[str, Any]:
    """Read generation_kwargs as lm-eval's clients of completion servers do."""
    options.pop("do_sample", None)
    until = options.pop("until", None) or []
    longest = options.pop("max_gen_toks", MAX_TOKENS)
    settings = {
        "stop": tuple([until] if isinstance(until, str) else map(str, until)),
        "max_tokens": options.pop("max_tokens", longest),
        "temperature": options.pop("temperature", 0.0),
        "top_p": options.pop("top_p", None),
        "top_k": options.pop("top_k", None),
    }
    if type(settings["max_tokens"]) is not int or settings["max_tokens"] < 1:  # true is no number
        raise BadInput(f"{where}: max_gen_toks is {settings['max_tokens']!r}; write a whole number of tokens")
    return {**settings, "temperature": float(settings["temperature"]), "extra": options}


async def responses_of(
    engine: Engine, requests: Sequence[LmEvalRequest], id_: str, repeat: int = 0
) -> tuple[tuple[Response, ...], tuple[Reply, ...]]:
    """Return the engine's answers to a sample's requests, in their order.

    Second are the replies to requests for a text.

    Raises
    ------
    RequestFailed
        When one gets no answer, or every token the same log-probability: the sample has failed.
    CannotEvaluate
        When no further request can succeed, or the engine cannot score.
    """
    if any(request.kind != "generate" for request in requests) and not hasattr(engine, "score"):
        lack = f"the engine {engine.describe().name} gives no log-likelihoods, which this task of lm-eval needs"
        raise CannotEvaluate(f"{lack}; use vllm, or a task that generates text")
    pairs = await all_or_first_error(_responses(engine, group, id_, repeat) for group in _groups(requests))
    by_place = dict(pair for group in pairs for pair in group)
    answers = [by_place[place] for place in range(len(requests))]
    scores = [each for _, each in answers if isinstance(each, LogProbs)]
    if scores and (fault := measurement_fault(scores)) is not None:
        raise RequestFailed(fault)
    return tuple(response for response, _ in answers), tuple(each for _, each in answers if isinstance(each, Reply))


def _groups(requests: Sequence[LmEvalRequest]) -> list[dict[int, LmEvalRequest]]:
    """Group the requests by their places.

    Continuations of the same prompt are one group.
    """
    groups: dict[Any, dict[int, LmEvalRequest]] = {}
    for place, request in enumerate(requests):
        same = (request.kind, request.prompt) if request.kind == "score" else place
        groups.setdefault(same, {})[place] = request
    return list(groups.values())


async def _responses(
    engine: Engine, group: Mapping[int, LmEvalRequest], id_: str, repeat: int
) -> list[tuple[int, tuple[Response, Reply | LogProbs]]]:
    first = replace(next(iter(group.values())), id=id_, repeat=repeat)
    if first.kind == "generate":
        reply = await engine.complete(first)
        if reply.text is None:
            raise RequestFailed("the reply holds no text")
        return [(place, (reply.text, reply)) for place in group]
    question = replace(first, continuation="")
    scores = await likelihoods(engine, question, [request.continuation for request in group.values()])
    is_whole = first.kind == "rolling"
    pairs = zip(group, scores, strict=True)
    return [(place, (score.total if is_whole else (score.total, score.greedy), score)) for place, score in pairs]
