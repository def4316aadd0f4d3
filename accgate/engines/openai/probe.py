"""One question to a server before a run: whether anything answers there, and which models it has."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from accgate.engines.openai.client import Client, Fault, key_of
from accgate.engines.openai.listing import Listing, faults_of
from accgate.engines.openai.options import Options
from accgate.engines.silence import timeout
from accgate.errors import CannotEvaluate, Key, refuse_faults
from accgate.text import nearest

SECONDS = 5.0  # that a server may take for its list of models
VERSION = "/v1"


@dataclass(frozen=True)
class Answer:
    """What one request for a server's models gave.

    `fault` is None where it answered. `better` is the URL with `/v1` where only that one has the list; then it is
    that list.
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
            return f'{self.url}: {self.fault}, but {self.better} answers; write base_url = "{self.better}"'
        if self.fault is not None:
            return f"{self.url}: {self.fault}; is the server up, and options.base_url right?"
        return f"{self.url} answers" + (f" and has {', '.join(self.models)}" if self.models else "")

    def about(self, model: str) -> str:
        """Whether a server that answers has a model, as far as it tells.

        >>> Answer("http://h:1/v1", Listing(models=("toy",))).about("toy")
        'http://h:1/v1 answers and has toy'
        """
        if model in self.models:
            return f"{self.url} answers and has {model}"
        if not self.models:
            return f"{self.url} answers; it lists no models"
        return f"{self.url} answers; it does not list {model} ({nearest(model, self.models)}), but may serve it"


def ask_server(url: str, api_key_env: str | None = None) -> Answer:
    """Ask a server once for its models, and where it gives none the same URL with `/v1`.

    Raises
    ------
    BadInput
        When the environment has no key under the name.
    CannotEvaluate
        When the URL cannot be used.
    """
    return asyncio.run(_ask(url.rstrip("/"), api_key_env))


async def _ask(url: str, api_key_env: str | None, *, strict: bool = True) -> Answer:
    key = "" if api_key_env is None else key_of(api_key_env)
    client = Client(connections=2, timeout=SECONDS, key=key)
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


async def _listing(client: Client, url: str, *, strict: bool) -> Answer:
    try:
        async with timeout(SECONDS):
            listing = await client.listing(url, strict=strict)
    except asyncio.TimeoutError:
        return Answer(url, fault=f"it said nothing for {SECONDS:g} s")
    return Answer(url, fault=client.without_key(listing.text)) if isinstance(listing, Fault) else Answer(url, listing)


def probe(model: str, options: Options) -> tuple[str, ...]:
    """Ask every server of a model once; what each of them answered.

    A command of `serve` is not started, and nothing is asked.

    Raises
    ------
    KeyFaults
        When a URL lacks `/v1`, or a server does not have the model; keys are relative to the model's table.
    CannotEvaluate
        When a server does not answer.
    """
    if options.serve:
        return ("nothing was asked: the run starts the server itself (options.serve)",)
    answers = [ask_server(url, options.api_key_env) for url in options.urls]
    faults: list[tuple[Key, str]] = []
    for answer in answers:
        if answer.better is not None:
            faults.append((("options", "base_url"), answer.text()))
        elif answer.fault is not None:
            raise CannotEvaluate(answer.text())
    faults.extend(faults_of(model, {answer.url: answer.listing for answer in answers}))
    refuse_faults(faults)
    return tuple(answer.about(model) for answer in answers)


async def reach(model: str, options: Options) -> None:
    """Ask every server of a model once, before a run comes to it; a refused key is none: the list alone may have one.

    Raises
    ------
    KeyFaults
        When one that answers does not have the model, or another than the others; keys are relative to the model's
        table.
    CannotEvaluate
        When one does not answer, or only with `/v1`: what may come right until the run asks it again.
    """
    answers = [await _ask(url, options.api_key_env, strict=False) for url in options.urls]
    listings = {answer.url: answer.listing for answer in answers if answer.fault is None}
    refuse_faults(faults_of(model, listings) if listings else ())
    if silent := [answer.text() for answer in answers if answer.fault is not None]:
        raise CannotEvaluate("; ".join(silent))
