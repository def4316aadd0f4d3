"""Settings that `accgate validate` takes, to write after a server refused a request."""

import re
from collections.abc import Mapping
from typing import Any

from accgate.engines.openai.options import option_text, url_fault
from accgate.engines.wire import errors_in

REFUSES_A_FIELD = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
CONTEXT = re.compile(
    r"(?i)context.?(?:length|window|size)|max\w*.(?:model|sequence|input|seq).?len|prompt (?:is )?too long"
)


def codes_of(body: Any) -> tuple[str, ...]:
    """What an error body calls itself, by `code`, `type` or `status`."""
    keys = ("code", "type", "status", "status_code")
    return tuple(str(error.get(key)) for error in errors_in(body) for key in keys)


def field_hint(body: Any, sent: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """How to leave out or rename a field that the server refuses by name.

    It is empty where nothing would help.

    `sent` is the request's body, `fields` the option as it is: what is written in its place keeps what it has.

    >>> body = {"error": {"code": "unsupported_parameter", "param": "max_tokens", "message": "no"}}
    >>> field_hint(body, {"max_tokens": 9}, {})
    '; options.fields renames a field, as in fields = { max_tokens = "max_completion_tokens" }, or leaves it out: false'
    """
    names = [error["param"] for error in errors_in(body) if "param" in error]
    name = names[0] if names and REFUSES_A_FIELD & set(codes_of(body)) else None
    if not isinstance(name, str) or name not in sent:
        return ""  # within a message, or none of the request's
    renames = name == "max_tokens"
    own = next((own for own, other in fields.items() if other == name), name)
    text = option_text("fields", {**fields, own: "max_completion_tokens" if renames else False})
    how, also = ("renames a field", ", or leaves it out: false") if renames else ("leaves a field out", "")
    return f"; options.fields {how}, as in {text}{also}" if text else ""


def context_hint(message: str) -> str:
    """What to do where a prompt and its reply have no room in the model's context; "" for other refusals.

    >>> context_hint("This model's maximum context length is 2048 tokens"), context_hint("no such option")
    ('; the prompt and max_tokens must fit in the context: shorten the one, lower the other, or serve a longer one', '')
    """
    if CONTEXT.search(message) is None:
        return ""
    return (
        "; the prompt and max_tokens must fit in the context: shorten the one, lower the other, or serve a longer one"
    )


def redirect_hint(target: str) -> str:
    """What to do about a server that sends requests on to another address.

    >>> redirect_hint("https://h/v1"), redirect_hint("https://h/login?next=v1")
    ('write that as options.base_url', 'that is no address of an API; does the server want a login?')
    """
    is_api = url_fault(target) is None
    return "write that as options.base_url" if is_api else "that is no address of an API; does the server want a login?"
