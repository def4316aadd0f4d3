"""The options of the openai engine, `[models.NAME.options]`, and hints that name them."""

import os
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, PlainValidator
from pydantic.dataclasses import dataclass

from accgate.engines.base import Operational, operational_of
from accgate.engines.wire import errors_in
from accgate.errors import BadInput
from accgate.inputs.typed import CLOSED, Count, Number, Text, Texts, Whole, setting, setting_text

PORT = "{port}"  # stands for a free port, in the words of `serve` and in its base_url
SERVED_URL = f"http://127.0.0.1:{PORT}/v1"
# Fields that make up the question.
SPOKEN = frozenset({"model", "messages", "prompt", "echo", "logprobs", "tools", "tool_choice"})
SILENCE = 600.0  # seconds; the default of `timeout`, so that one slow request is no silence
LOGIN = (
    "leave it out, and name an environment variable in options.api_key_env, which holds the key, or for a name and a "
    'password the words "Basic" and BASE64, where BASE64 is what `printf NAME:PASSWORD | base64` prints'
)
QUERY = "would be lost; write the URL up to and with /v1 (Azure's is https://NAME.openai.azure.com/openai/v1)"
PATH = re.compile(
    r"(?:/chat)?/completions/*$|/(?:models|responses|messages|embeddings)/*$"
)  # of requests, not of an API
REFUSES_A_FIELD = frozenset({"unsupported_parameter", "unsupported_value", "unknown_parameter"})
CONTEXT = re.compile(
    r"(?i)context.?(?:length|window|size)|max\w*.(?:model|sequence|input|seq).?len|prompt (?:is )?too long"
)
EXAMPLE = 'add it: base_url = "http://127.0.0.1:8000/v1", the URL up to and with /v1'


def _urls(value: Any) -> str | tuple[str, ...]:
    """Read one URL as text, or several in an array."""
    if isinstance(value, str):
        return value
    urls = tuple(value) if isinstance(value, (list, tuple)) else ()
    if not urls or not all(isinstance(url, str) for url in urls):
        raise ValueError(f"is {value!r}; write a URL in quotes, or an array of them: the servers of one model")
    if len({url.rstrip("/") for url in urls}) < len(urls):
        raise ValueError("names a server twice; write each once")
    return urls


def _fields(value: Any) -> dict[str, str | Literal[False]]:
    """Read names of fields of a request, with another name or false."""
    fix = 'as in { max_tokens = "max_completion_tokens", temperature = false }'
    if not isinstance(value, Mapping):
        raise ValueError(f"is {value!r}; write a table, {fix}")
    for name, other in value.items():
        if other is not False and not (isinstance(other, str) and other.strip()):
            raise ValueError(f"has {name} = {other!r}; write another name in quotes, or false to leave it out, {fix}")
        if name in SPOKEN or other in SPOKEN:
            fields = ", ".join(sorted(SPOKEN))
            raise ValueError(f"has {name} = {other!r}; {fields} carry the question and cannot be renamed or left out")
    if len({*value.values()} - {False}) < sum(other is not False for other in value.values()):
        raise ValueError("gives two fields one name; write each once")
    return dict(value)


Fields = Annotated[dict[str, str | Literal[False]], PlainValidator(_fields)]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Options:
    """The table `[models.NAME.options]` of the openai engine.

    Messages about a number show its description.
    """

    # The URL up to and with /v1, or several of servers of one model; their version says what may change an answer.
    base_url: Operational[Annotated[str | tuple[str, ...] | None, PlainValidator(_urls)]] = None
    api_key_env: Operational[Text | None] = None  # name of the environment variable with the key
    concurrency: Operational[Count] = setting(64, "most requests in flight, 1 or more")
    timeout: Operational[Number] = setting(600.0, "seconds until one attempt is given up, above 0", gt=0)
    max_retries: Operational[Whole] = setting(5, "further attempts after the first, 0 or more", ge=0)
    max_outage: Operational[Number] = setting(
        300.0, "seconds in which servers refuse and none answers before the run ends, 0 or more", ge=0
    )
    max_silence: Operational[Number | None] = setting(
        None, "seconds without any reply before the first, and later at most, above 0; 600 or timeout, if longer", gt=0
    )
    fields: Fields = Field(default_factory=dict)  # another name for a field of requests, or false to leave it out
    # The system_fingerprints that replies may mix, "*" for any; without them all replies name one.
    fingerprints: Operational[Texts] = ()
    same_model: Operational[Texts] = ()  # other names under which servers answer for this same model
    serve: Texts = ()  # command that serves the model, a word each, with {port} for its port
    serve_timeout: Operational[Number] = setting(600.0, "seconds the command may take to answer, above 0", gt=0)
    serve_log: Operational[Text | None] = Field(default=None, min_length=1)  # file of the command's output

    @property
    def silence(self) -> float:
        """Seconds for which a server may say nothing at all."""
        return max(SILENCE, self.timeout) if self.max_silence is None else self.max_silence

    @property
    def urls(self) -> tuple[str, ...]:
        """The servers' URLs, without slashes at their ends.

        The URL of a server that `serve` starts still has `{port}`.
        """
        urls = SERVED_URL if self.base_url is None else self.base_url
        return tuple(url.rstrip("/") for url in ((urls,) if isinstance(urls, str) else urls))


OPERATIONAL = operational_of(Options)


def key_of(variable: str | None) -> str:
    """Read the key from an environment variable, without a newline at its end.

    Without a variable there is no key, which is "".

    Raises
    ------
    BadInput
        When it is not set, or what it holds cannot stand in a header; the key itself is not shown.
    """
    if variable is None:
        return ""
    key = os.environ.get(variable, "").strip()
    named = f"environment variable {variable}, named by options.api_key_env,"
    if not key:
        raise BadInput(f"{named} is not set; set it to the server's key")
    if not (key.isascii() and key.isprintable()):
        raise BadInput(f"{named} holds no key: a key has printable ASCII characters only")
    return key


def option_text(name: str, value: Any) -> str:
    """Write an option of the openai engine as TOML.

    The text is empty where validation would refuse the option.

    >>> option_text("fields", {"top_k": False}), option_text("fields", {"messages": False})
    ('fields = { top_k = false }', '')
    """
    return setting_text(name, value, Options)


def shown_url(url: str) -> str:
    """Strike out what may be a secret in a URL.

    >>> shown_url("https://me:pw@h/login?token=1")
    'https://***h/login?***'
    """
    return re.sub(r"(?:(?<=//)|^(?!http)).*@|(?<=[?#]).+", "***", url)


def url_fault(url: str) -> str | None:
    """Say why a text cannot be the URL of a server, if so.

    Either requests could not be sent to it, or records would keep a secret, which the message does not show.

    >>> url_fault("localhost:8000")
    "is 'localhost:8000', which does not begin with http:// or https://; write it as http://127.0.0.1:8000/v1"
    """
    fix, shown = "write it as http://127.0.0.1:8000/v1", shown_url(url)
    if not url.lower().startswith(("http://", "https://")):
        return f"is {shown!r}, which does not begin with http:// or https://; {fix}"
    try:
        parts = urlsplit(url.replace(PORT, "1"))
        is_url = bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number up to 65535, a bracket that stays open
        is_url = False
    if not is_url or not url.isprintable() or " " in url:
        return f"is {shown!r}, which is not a URL; {fix}"
    if (path := PATH.search(parts.path)) is not None:
        return f"is {shown!r}; requests add {path[0]} to it: write {url[: -len(path[0])].rstrip('/')}"
    if "@" in parts.netloc:
        return f"is {shown!r}, which holds a secret; {LOGIN}"
    if "?" in url or "#" in url:
        mark = "?" if parts.query else "#"
        return f"is {shown!r}; requests add their paths to the end, so what follows {mark} {QUERY}"
    return None


def faults_of(options: Options) -> Iterator[tuple[str, str]]:
    """Yield what does not fit together, as (option, message)."""
    yield from (("base_url", fault) for url in options.urls if (fault := url_fault(url)))
    has_port = any(PORT in word for word in options.serve)
    if not options.serve:
        if options.base_url is None:
            yield "base_url", f'is missing; {EXAMPLE}; or serve = ["vllm", "serve", "MODEL", "--port", "{PORT}"]'
        elif any(PORT in url for url in options.urls):
            yield "base_url", f"has {PORT}, which only a server that `serve` starts has; write the port"
        if options.serve_log is not None:
            yield "serve_log", "is set without serve; remove it"
        return
    if not options.serve[0].strip():
        yield "serve", 'has an empty command; write its words, as in ["vllm", "serve", "MODEL", "--port", "{port}"]'
    if len(options.urls) > 1:
        yield "base_url", "names several servers beside serve, which starts one; keep one of the two"
    elif has_port and not any(PORT in url for url in options.urls):
        yield "base_url", f"has no {PORT}, but serve has; write {SERVED_URL}, or remove base_url"
    elif not has_port and any(PORT in url for url in options.urls):
        yield "serve", f'has no {PORT}; add it where the command takes its port, as in "--port", "{PORT}"'


def codes_of(body: Any) -> tuple[str, ...]:
    """Return the `code`, `type` and `status` values of an error body."""
    keys = ("code", "type", "status", "status_code")
    return tuple(str(error.get(key)) for error in errors_in(body) for key in keys)


def field_hint(body: Any, sent: Mapping[str, Any], fields: Mapping[str, Any]) -> str:
    """Say how to leave out or rename a field that the server refuses.

    It is "" where the server names no field of the request. `sent` is the request's body. `fields` is the present
    option, whose entries the suggested one keeps.

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
    """Say what to do where prompt and reply exceed the model's context.

    The hint is empty for any other message.

    >>> context_hint("This model's maximum context length is 2048 tokens"), context_hint("no such option")
    ('; prompt and max_tokens must fit in the context: shorten the prompt, lower max_tokens, or serve more context', '')
    """
    fix = "prompt and max_tokens must fit in the context: shorten the prompt, lower max_tokens, or serve more context"
    return "" if CONTEXT.search(message) is None else f"; {fix}"
