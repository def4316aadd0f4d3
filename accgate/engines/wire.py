"""Requests and replies in the form of the OpenAI API, which llama.cpp speaks too."""

import html
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from functools import cache
from typing import Any

import orjson

from accgate.engines.base import Reply, Request
from accgate.engines.reasoning import without_blank_lines
from accgate.errors import Key
from accgate.records.file import is_number
from accgate.records.finish import CUT, KNOWN, end_within, reason_of
from accgate.text import clip

MOST_TOKENS = 2**31  # a larger count is a server's word for unknown
ROUNDING = 1e-6  # by which a mean that a server computed in floats may fall below 1
QUOTED = 120  # characters of an unusable body that a message quotes
BLANK = frozenset({"", "0", "200", "false", "none", "null", "ok", "success", "[]", "{}"})  # no errors


# Fields of a request, their harmless values, and why other values are refused.
UNREADABLE: Mapping[str, tuple[tuple[Any, ...], str]] = {
    "stream": ((False,), "accgate reads whole replies only"),
    "stream_options": ((), "accgate reads whole replies only"),
    "n": ((1,), "accgate reads only the first reply; for several replies a sample set the task's repeats"),
    "echo": ((False,), "a reply that begins with its prompt would be read as an answer"),
    "background": ((False,), "accgate does not wait for a later reply"),
    "messages": ((), "the task sets what is asked"),
    "prompt": ((), "the task sets what is asked"),
    "model": ((), "the model's table names the model"),
}
BEGINNING = 2**16  # bytes of a body that is no JSON: a page's title comes after its scripts
PAGES = re.compile(r"(?is)\s*(?:<\?xml.*?>\s*|<!--.*?-->\s*)*<(?:!doctype\s+html|html|head|title)\b")
TITLE = re.compile(r"(?is)<title\b[^>]*>(.*?)</title>")
PAGE = "is options.base_url an API's, and does a gateway want a login?"
UNSTREAMED = "add `extra = { stream = false }` to the model's sampling"
STREAM = re.compile(r"\s*(?:(?:data|event|id|retry)?:|\{[^\n]*\}\s*\n\s*\{)")  # events, or JSON line by line
# Names of the field that says why a reply ended; vLLM's `stop_reason` beside `finish_reason` is a stop string.
LIMIT = re.compile(r"max_\w*tokens|n_predict|num_predict")
ENDS = "finish_reason", "finishReason", "stop_reason", "stopReason", "done_reason"
SPECIAL = re.compile(r"\s*[<\[]")  # as the text of every model's special tokens begins


class MalformedReply(ValueError):
    """The body does not hold a completion."""


def body_of(request: Request, model: str) -> dict[str, Any]:
    """Return the JSON body of a chat or completion request. `extra` has the last word."""
    body = {"model": model, **sampling_of(request)}
    if request.mode == "chat":
        body |= _chat(request)
    else:
        body["prompt"] = f"{request.system}\n\n{request.prompt}" if request.system else request.prompt
    if request.logprobs:
        body["logprobs"] = True if request.mode == "chat" else 1
    body |= request.extra
    if not request.prefix:
        body.pop("continue_final_message", None)  # of a model's settings; there is nothing to continue
    return body


def sampling_of(request: Request) -> dict[str, Any]:
    """Return the sampling fields that a request sets."""
    names = ("max_tokens", "temperature", "top_p", "top_k", "seed")
    values = {name: getattr(request, name) for name in names} | {"stop": list(request.stop) or None}
    return {name: value for name, value in values.items() if value is not None}


def extra_faults(extra: Mapping[str, Any]) -> Iterator[tuple[Key, str]]:
    """Yield the extra fields that cannot be sent, with their keys.

    They would change the question or make the reply unreadable.

    >>> [fault for _, fault in extra_faults({"n": 1, "stream": True, "min_p": 0.1})]
    ['is True, but accgate reads whole replies only; remove it']
    """
    for name, value in extra.items():
        if name in UNREADABLE and value not in (None, *UNREADABLE[name][0]):
            yield ("sampling", "extra", name), f"is {value!r}, but {UNREADABLE[name][1]}; remove it"


def second_beginning(prompt: str, tokens: Sequence[int]) -> str | None:
    """Say, from a raw prompt's tokens, that it begins twice, if it does.

    >>> second_beginning("<s>Paris is", [1, 1, 3681, 338])
    'the prompt writes the token that begins a text, and the tokenizer adds it (1) too: take it out of the prompt'
    >>> second_beginning("11 + 5", [29896, 29896, 718])
    """
    if SPECIAL.match(prompt) is None or len(tokens) < 2 or tokens[0] != tokens[1]:
        return None
    fault = f"the prompt writes the token that begins a text, and the tokenizer adds it ({tokens[0]}) too"
    return f"{fault}: take it out of the prompt"


@cache
def tell_second_beginning(fault: str) -> None:
    """Warn of a raw prompt that begins twice, once a process."""
    logging.getLogger(__name__).warning('mode = "completion": %s', fault)


def _chat(request: Request) -> dict[str, Any]:
    """Return the fields of a chat.

    Those for an assistant's message that the model continues have the names of vLLM, SGLang and llama.cpp.
    """
    system: list[Mapping[str, Any]] = [{"role": "system", "content": request.system}] if request.system else []
    messages = list(request.messages) or [*system, {"role": "user", "content": request.prompt}]
    if request.parts:
        place = max(number for number, message in enumerate(messages) if message["role"] == "user")
        text = {"type": "text", "text": messages[place]["content"]}
        messages[place] = {**messages[place], "content": [*request.parts, text]}
    fields: dict[str, Any] = {"messages": messages}
    if request.prefix:
        fields |= {"continue_final_message": True, "add_generation_prompt": False}
    if request.tools:
        fields |= {"tools": list(request.tools)}
        fields |= {} if request.tool_choice is None else {"tool_choice": request.tool_choice}
    return fields


def reply_of(body: Any, limit: float = 0.0) -> Reply:
    """Read the reply in a response body.

    Reasoning that the server gives apart stays apart. A message without content is an empty reply: its tokens were
    reasoning, a tool call or a stop string. A refusal is a reply too. A reply that was cut off well before `limit`
    tokens met a limit of the server's own.

    Raises
    ------
    MalformedReply
        When the body has no choice with text, or says that the server broke the reply off.
    """
    try:
        choice, *others = first_choices(body["choices"])
        message = choice.get("message")
        tool_calls = () if message is None else _tool_calls(message.get("tool_calls"))
        usage = counts if isinstance(counts := body.get("usage"), dict) else {}
        reason = next(filter(reason_of, map(choice.get, ENDS)), None)
        finish_reason = reason_of(reason)
        prompt_tokens = _count(usage.get("prompt_tokens")) or None  # no prompt has none: 0 is no count
        completion_tokens = _count(usage.get("completion_tokens"))
        details = usage.get("completion_tokens_details")  # of OpenAI and vLLM; SGLang's are of the usage itself
        reasoning_tokens = _count((details if isinstance(details, dict) else usage).get("reasoning_tokens"))
        text, reasoning = (choice["text"], None) if message is None else _message(message, finish_reason)
    except (KeyError, IndexError, TypeError, AttributeError, ValueError) as error:
        raise MalformedReply(f"the response holds no choice with text: {clip(error_text(body), QUOTED)}") from error
    if errors := errors_in(body):
        raise MalformedReply(f"the response was broken off by the server: {error_text(errors[0])}")
    if others:
        raise MalformedReply(f"the response holds {len(others) + 1} replies to one request")
    if finish_reason not in KNOWN:
        raise MalformedReply(f"the response is not known to be whole: finish_reason {clip(str(reason), QUOTED)!r}")
    if not isinstance(text, str):
        raise MalformedReply(f"the response's text is {text!r}")
    if message is not None and text and text == message.get("refusal") and finish_reason not in CUT:
        finish_reason = "refusal"  # OpenAI's ends with "stop"
    spent = [_count(usage.get("total_tokens")) or 0, completion_tokens or 0]  # some leave a thought out of the second
    if reasoning is None:
        finish_reason = end_within(finish_reason, max(spent[0] - (prompt_tokens or 0), spent[1]), limit)
    return Reply(
        text,
        finish_reason,
        prompt_tokens,
        completion_tokens,
        logprobs=_logprobs(choice.get("logprobs")),
        tool_calls=tool_calls,
        reasoning=reasoning,
        reasoning_tokens=reasoning_tokens,
        acceptance=_acceptance(body, choice, completion_tokens),
    )


def _acceptance(body: Mapping[str, Any], choice: Mapping[str, Any], tokens: int | None) -> float | None:
    """Return the reply's tokens per decoding step, as the server reports them.

    vLLM, TensorRT-LLM, SGLang and llama.cpp report them. llama.cpp reports nothing for a reply without drafts. Its
    first token comes from the prompt, and each step adds one token to the accepted draft.
    """
    metrics, meta, timings = _table(body, "metrics"), _table(choice, "meta_info"), _table(body, "timings")
    verified, accepted = _count(meta.get("spec_verify_ct")), _count(timings.get("draft_n_accepted"))
    decoded = (_count(timings.get("predicted_n")) or 1) - 1
    lengths = (
        drafted_length(_table(metrics, "speculative_decoding"), tokens),
        length_of(choice.get("avg_decoded_tokens_per_iter")),
        length_of(meta.get("spec_accept_length")),
        length_of(tokens / verified) if tokens and verified else None,
        None if accepted is None or accepted >= decoded else length_of(decoded / (decoded - accepted)),
    )
    return next((each for each in lengths if each is not None), None)


def drafted_length(metrics: Mapping[str, Any], tokens: int | None) -> float | None:
    """Return a reply's tokens per decoding step, from vLLM's metrics.

    vLLM counts only steps with a draft, so a drafter that falls silent would not show. Here each other token counts as
    a step, except the first, which comes from the prompt.

    >>> drafted_length({"mean_acceptance_length": 3.0, "num_spec_steps": 10}, 31)
    3.0
    >>> drafted_length({"mean_acceptance_length": 4.0, "num_spec_steps": 2}, 11)  # and 2 steps without a draft
    2.5
    """
    length, steps = length_of(metrics.get("mean_acceptance_length")), _count(metrics.get("num_spec_steps"))
    if length is None or steps is None or tokens is None:
        return None
    drafted = length * steps
    alone = max(tokens - 1 - drafted, 0.0)
    return length_of((drafted + alone) / (steps + alone)) if steps + alone else 1.0


def length_of(value: Any) -> float | None:
    """Read an acceptance length, a number of at least 1, or return None.

    >>> length_of(2.51234567), length_of(0.9999999), length_of(0), length_of("3"), length_of(float("nan"))
    (2.5123, 1.0, None, None, None)
    """
    return max(round(float(value), 4), 1.0) if is_number(value) and value >= 1.0 - ROUNDING else None


def _table(within: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    """Return the table under this key, or an empty one."""
    return value if isinstance(value := within.get(key), dict) else {}


def first_choices(choices: Sequence[Any]) -> list[Any]:
    """Return the choices that belong to the reply.

    They have index 0. There are several where a gateway splits the reply.
    """
    return [each for each in choices if isinstance(each, dict) and each.get("index") == 0] or list(choices[:1])


def _count(value: Any) -> int | None:
    return value if type(value) is int and 0 <= value < MOST_TOKENS else None


def _tool_calls(calls: Any) -> tuple[tuple[str, str], ...]:
    """Return the name and arguments of each call.

    Some servers give the arguments as an object.
    """
    functions = [call["function"] for call in calls or ()]
    pairs = [(str(function["name"]), function.get("arguments", "")) for function in functions]
    return tuple((name, value if isinstance(value, str) else json.dumps(value)) for name, value in pairs)


def _message(message: Any, finish_reason: str | None) -> tuple[Any, str | None]:
    """Return text and reasoning of a chat's message.

    The reasoning is in `reasoning_content` (DeepSeek, SGLang) or `reasoning` (vLLM). A server that reports empty
    reasoning puts blank lines before its text, which are removed.
    """
    apart = [each for each in (message.get("reasoning_content"), message.get("reasoning")) if isinstance(each, str)]
    reasoning = next((each for each in apart if each.strip()), None)
    text = message.get("content")
    if apart and reasoning is None and isinstance(text, str):
        text = without_blank_lines(text)
    if isinstance(text, list):
        text, thoughts = _parts(text)
        reasoning = reasoning or thoughts
    if text is None and isinstance(refusal := message.get("refusal"), str) and refusal:
        text = refusal
    elif text is None and (finish_reason is not None or reasoning is not None or message.get("tool_calls")):
        text = ""
    return message["content"] if text is None else text, reasoning


def _parts(parts: list[Any]) -> tuple[str, str | None]:
    """Return text and reasoning of a content in parts, as Mistral's servers give it."""
    texts: list[str] = []
    thoughts: list[str] = []
    for part in parts:
        inner = part.get("thinking")
        if part.get("type") == "thinking":
            thoughts.append(_parts(inner)[0] if isinstance(inner, list) else str(inner or ""))
        elif isinstance(part.get("text"), str):
            texts.append(part["text"])
    return "".join(texts), "\n\n".join(thoughts) or None


def _logprobs(logprobs: Any) -> tuple[float, ...] | None:
    """Return the reply's log-probabilities, if there are any.

    A chat and a completion have different forms.
    """
    if not isinstance(logprobs, dict):
        return None
    content, values = logprobs.get("content"), logprobs.get("token_logprobs")
    if isinstance(content, list):
        values = [token.get("logprob") if isinstance(token, dict) else None for token in content]
    if not isinstance(values, list) or not all(isinstance(value, (int, float)) for value in values):
        return None
    try:
        return tuple(map(float, values))
    except OverflowError:  # JSON can spell a whole number that no float holds
        return None


def json_bytes(body: Any) -> bytes:
    """Write a body as JSON.

    Python's own json takes text with lone surrogates, which orjson refuses.
    """
    try:
        return orjson.dumps(body)
    except TypeError:
        return json.dumps(body).encode()


def json_value(raw: bytes) -> Any:
    """Read JSON with orjson, or with Python's own more lenient json.

    Raises
    ------
    ValueError
        When it is no JSON.
    RecursionError
        When it is nested too deeply.
    """
    try:
        return orjson.loads(raw)
    except ValueError:
        return json.loads(raw)


def limit_of(body: Mapping[str, Any]) -> float:
    """Return the most tokens that a request's body allows a reply, or 0.

    >>> limit_of({"max_tokens": 256, "max_completion_tokens": 64})
    64
    """
    return min((value for key, value in body.items() if LIMIT.fullmatch(key) and isinstance(value, int)), default=0)


def body_value(raw: bytes) -> Any:
    """Read an answer's body.

    It is JSON, an error in a stream of events, or else the beginning of its text.
    """
    try:
        return json_value(raw)
    except (ValueError, RecursionError):
        text = raw[:BEGINNING].decode(errors="replace")
    for event in re.findall(r"(?m)^data: *(\{.*\}) *\r?$", text):
        with suppress(ValueError, RecursionError):
            if (value := json.loads(event)).get("error"):
                return value
    return text


def body_fault(raw: bytes, body: Any) -> str:
    r"""Say why an answer's body is no JSON, or return "".

    `body` is what `body_value` made of `raw`.

    >>> body_fault(b"\xff{}", ""), body_fault(b'{"choices": [', '{"choices": [')
    ('the response is not UTF-8 text: byte 0xff at 0', 'the response is not JSON, or not all of it: {"choices": [')
    """
    try:
        raw.decode()
    except UnicodeDecodeError as error:
        return f"the response is not UTF-8 text: byte 0x{raw[error.start]:02x} at {error.start}"
    if not isinstance(body, str) or raw.lstrip()[:1] == b'"':
        return ""
    if page := page_of(body):
        return f"the response is {page}; {PAGE}"
    words = clip(" ".join(body.split()), QUOTED)
    if STREAM.match(body):
        return f"the response is a stream; {UNSTREAMED}: {words}"
    return f"the response is not JSON, or not all of it: {words}" if words else "the response is empty"


def page_of(body: Any) -> str:
    """Describe the web page that came instead of an answer, or return "".

    It may be a login's.

    >>> page_of("<!DOCTYPE html><html><title>Sign&nbsp;in - Corp</title>"), page_of("<h1>no</h1>")
    ('a web page, "Sign in - Corp"', '')
    """
    if not isinstance(body, str) or PAGES.match(body) is None:
        return ""
    title = " ".join(html.unescape(match[1]).split()) if (match := TITLE.search(body)) else ""
    return f'a web page, "{clip(title, QUOTED)}"' if title else "a web page"


def errors_in(body: Any) -> list[dict[Any, Any]]:
    """Return the errors that a body reports, beside its first choice or in it.

    Google puts them in a list. Gateways add an error of blank fields to a good reply; that is none.

    >>> errors_in({"choices": [{"error": {"code": 502}}], "error": {"message": "", "code": None}})
    [{'code': 502}]
    """
    parts = body if isinstance(body, list) else [body]
    choices = body.get("choices") if isinstance(body, dict) else None
    inner = first_choices(choices) if isinstance(choices, list) else []
    tables = [part for part in (*parts, *inner) if isinstance(part, dict)]
    # A body without choices may be an error itself.
    reported = [table.get("error", {} if inner else table) for table in tables]
    errors = [error if isinstance(error, dict) else {"message": error} for error in reported]
    return [error for error in errors if not BLANK.issuperset(str(each).strip().lower() for each in error.values())]


def error_text(body: Any) -> str:
    """Return the message of an error body in one short line.

    The message may stand alone or be wrapped in a table.
    """
    error = body.get("error", body) if isinstance(body, dict) else body
    if isinstance(error, dict):
        error = error.get("message", error)
    return clip(page_of(error) or " ".join(str(error).split()), 300)
