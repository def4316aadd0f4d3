"""Questions to a server before a run.

Does anything answer, and which models does it have?
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass, field

from accgate.engines.base import RequestFailed
from accgate.engines.identity import Listing, model_hint
from accgate.engines.openai.client import VERSION, Client, Fault, reach_advice, root_of
from accgate.engines.openai.options import key_of, option_text
from accgate.engines.silence import timeout
from accgate.engines.wire import SPECIAL, second_beginning
from accgate.errors import CannotEvaluate

SECONDS = 5.0  # that a server may take for its list of models


@dataclass(frozen=True)
class Answer:
    """A server's answer to one request for its models.

    `fault` is None where it answered. `better` is the URL with `/v1`, where only that one has a list; `listing` is that
    list then.
    """

    url: str
    listing: Listing = field(default_factory=Listing)
    fault: str | None = None
    better: str | None = None

    @property
    def models(self) -> tuple[str, ...]:
        """The names of the server's models, where it lists them."""
        return self.listing.models

    def text(self) -> str:
        """The answer in a sentence, with the fix where there is a fault.

        >>> Answer("http://h:1/v1", fault="it said nothing for 5 s").text()
        'http://h:1/v1: it said nothing for 5 s; is the server up, and options.base_url right?'
        """
        if self.better is not None:
            return f"{self.url}: {self.fault}, but {self.better} answers; write {option_text('base_url', self.better)}"
        if self.fault is not None:
            return f"{self.url}: {self.fault}{reach_advice(self.fault)}"
        return f"{self.url} answers" + (f" and has {', '.join(self.models)}" if self.models else "")

    def about(self, model: str) -> str:
        """Say whether a server that answers has a model, as far as it tells.

        >>> Answer("http://h:1/v1", Listing(models=("toy",))).about("toy")
        'http://h:1/v1 answers and has toy'
        """
        if model in self.models:
            return f"{self.url} answers and has {model}"
        if not self.models:
            return f"{self.url} answers; it lists no models"
        return f"{self.url} answers; it does not list {model} ({model_hint(model, self.models)}), but may serve it"


def ask_server(url: str, api_key_env: str | None = None) -> Answer:
    """Ask a server for its models, where no event loop runs.

    A refused key is a fault.
    """
    return asyncio.run(answer_of(url.rstrip("/"), api_key_env))


async def answer_of(url: str, api_key_env: str | None, *, strict: bool = True) -> Answer:
    """Ask a server once for its models.

    Where it gives none, the same URL with `/v1` is asked.

    Raises
    ------
    BadInput
        When the environment has no key under the name.
    """
    client = Client(connections=2, timeout=SECONDS, key=key_of(api_key_env))
    try:
        answer = await _listing(client, url, strict=strict)
        if answer.models or url.endswith(VERSION):
            return answer
        other = await _listing(client, url + VERSION, strict=strict)
        if not other.models:
            return answer
        return Answer(url, other.listing, answer.fault or "it lists no models", other.url)
    finally:
        await client.close()


def beginning_fault(url: str, model: str, prompt: str, api_key_env: str | None) -> str | None:
    """Say what is wrong with how a raw prompt begins, if anything.

    The server's own tokens show it. vLLM, SGLang and llama.cpp give them at `/tokenize`; vLLM behind a gateway gives
    them beside a completion. A prompt without a special token at its beginning needs no question.
    """
    if SPECIAL.match(prompt) is None:
        return None
    tokens = asyncio.run(_tokens(url, model, prompt, key_of(api_key_env)))
    unknown = "the prompt begins with a special token, and the server does not tell whether it adds another"
    return unknown if tokens is None else second_beginning(prompt, tokens)


async def _tokens(url: str, model: str, prompt: str, key: str) -> list[int] | None:
    common, client = {"model": model, "prompt": prompt}, Client(connections=1, timeout=SECONDS, key=key)
    words = {**common, "content": prompt, "add_special": True, "parse_special": True}
    completion = {**common, "max_tokens": 1, "return_token_ids": True}
    questions = (
        (root_of(url), "/tokenize", words, lambda body: body["tokens"]),
        (url, "/completions", completion, lambda body: body["choices"][0]["prompt_token_ids"]),
    )
    try:
        for question in questions:
            with suppress(RequestFailed, CannotEvaluate, LookupError, TypeError):
                if isinstance(answer := await client.post(*question), list):
                    return answer
    finally:
        await client.close()
    return None


async def _listing(client: Client, url: str, *, strict: bool) -> Answer:
    try:
        async with timeout(SECONDS):
            listing = await client.listing(url, strict=strict)
    except asyncio.TimeoutError:
        return Answer(url, fault=f"it said nothing for {SECONDS:g} s")
    return Answer(url, fault=client.without_key(listing.text)) if isinstance(listing, Fault) else Answer(url, listing)
