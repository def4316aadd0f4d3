"""What a server says it serves, and whether several servers serve one model."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from accgate.engines.identity import FINGERPRINT, LISTED, MODEL, difference, fingerprints_of
from accgate.errors import Key
from accgate.text import nearest

BASE_URL = ("options", "base_url")
# Of vLLM, SGLang and llama.cpp; times and permissions are new each time.
STABLE = ("root", "parent", "max_model_len", "meta")
STRICT = frozenset({"vllm", "sglang"})  # they answer only to the names that they list; llama.cpp answers to any
SERVER = "server"  # beside the models: the server's kind and version
LONGEST, MOST = 1_000, 100  # characters of a word, and fingerprints, that a reference keeps


@dataclass(frozen=True)
class Listing:
    """A server's kind and version, the names of its models where it lists them, and what it says of each as JSON."""

    kind: str = "unknown"
    models: tuple[str, ...] = ()
    version: str = ""
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Kind and version in one text."""
        return f"{self.kind} {self.version}".strip()

    def about(self, model: str) -> dict[str, str]:
        """What it says of a model, or of all where it does not list that name; empty where it lists none."""
        listed = [model] if model in self.models else sorted(self.models)
        said = {name: self.details.get(name, "") for name in listed}
        return {SERVER: self.label, **said} if said else {}


def listing_of(body: Any) -> Listing:
    """The listing in the body of `GET /v1/models`, as far as it is one.

    >>> listing_of({"data": [{"id": "toy", "owned_by": "vllm"}]})
    Listing(kind='vllm', models=('toy',), version='', details={'toy': '{}'})
    """
    data = body.get("data") if isinstance(body, dict) else None
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    kinds = [row["owned_by"] for row in rows if isinstance(row.get("owned_by"), str) and row["owned_by"]]
    names = tuple(row["id"] for row in rows if isinstance(row.get("id"), str))
    details = {
        row["id"]: json.dumps({key: row[key] for key in STABLE if row.get(key) is not None}, sort_keys=True)
        for row in rows
        if isinstance(row.get("id"), str)
    }
    return Listing(kinds[0] if kinds else "unknown", names, details=details)


def faults_of(model: str, listings: Mapping[str, Listing]) -> Iterator[tuple[Key, str]]:
    """Why servers, by their URLs, cannot all be asked for a model, each with the key of the model's table."""
    named = any(model in listing.models for listing in listings.values())
    for url, listing in listings.items():
        if listing.models and model not in listing.models and (named or listing.kind in STRICT):
            yield ("model",), f"is {model!r}, which {url} does not serve; {nearest(model, listing.models)}"
    (first_url, first), *others = listings.items()
    for url, listing in others:
        if listing.label != first.label:
            what = f"{first_url} is {first.label}, {url} is {listing.label}"
            yield BASE_URL, f"names different servers: {what}; two versions of an engine answer differently"
        elif not named and set(listing.models) != set(first.models):
            what = f"{first_url} has {', '.join(first.models)}, {url} has {', '.join(listing.models)}"
            yield BASE_URL, f"names servers of different models: {what}"
        elif (one := first.about(model)) != (other := listing.about(model)):
            one_says, other_says = difference(one, other)
            what = f"{first_url} lists {one_says}, {url} lists {other_says}"
            yield BASE_URL, f"names servers of different models: {what}; start them with the same path and options"


def settings_to_keep(served: Mapping[str, Any]) -> dict[str, Any]:
    """What settings beside records say of who answered that still holds weeks later, well formed and short.

    A hosted API's list of models changes by itself, and so does the owner that it names first: of a list the model
    asked for counts, or the only one there is, and the server's kind and version where it is one of `STRICT`. More
    fingerprints than a reference keeps tell nothing.

    >>> settings_to_keep({"model": "toy", "listed": {"server": "system", "toy": "{}"}})
    {'model': 'toy', 'listed': {'toy': '{}'}}
    >>> settings_to_keep({"listed": {"server": "acme", "gpt-4": "{}", "gpt-5": "{}"}, "system_fingerprint": ["a", "b"]})
    {'system_fingerprint': ['a', 'b']}
    """
    listed = served.get(LISTED)
    texts = (
        {name: text for name, text in listed.items() if isinstance(text, str)} if isinstance(listed, Mapping) else {}
    )
    server = texts.pop(SERVER, "")
    kept = {_short(name): _short(text) for name, text in texts.items()} if len(texts) == 1 else {}
    if kept and server.partition(" ")[0] in STRICT:
        kept[SERVER] = _short(server)
    model, marks = served.get(MODEL), served.get(FINGERPRINT)
    is_list = isinstance(marks, (list, tuple))
    names = [_short(mark) for mark in sorted(fingerprints_of({FINGERPRINT: marks}))] if is_list else []
    values = {
        MODEL: _short(model) if isinstance(model, str) else None,
        FINGERPRINT: _short(marks) if isinstance(marks, str) else names if len(names) <= MOST else None,
        LISTED: kept,
    }
    return {key: value for key, value in values.items() if value}


def _short(text: str) -> str:
    """A server's word as a TOML file can hold it: not endless, and without halves of characters."""
    return text[:LONGEST].encode("utf-8", "replace").decode()
