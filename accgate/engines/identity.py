"""The identity of who answers, as servers report it.

It consists of the model's name, fingerprints and the server's list of models. They must stay the same during a run, and
be the same at all servers of one model.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

from accgate.errors import BadInput, CannotEvaluate, Key
from accgate.text import closest, nearest

ANY = "*"
MODEL, FINGERPRINT, LISTED = "model", "system_fingerprint", "listed"
SAME = "same_model"  # the names that the model's options declare, which travel with what they explain
LIST = "list of models"  # in messages


def _name(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def identity_of(engine: object) -> Identity | None:
    """Return the identity that an engine collects from its servers.

    Engines that load the model themselves have none.
    """
    identity = getattr(engine, "identity", None)
    return identity if isinstance(identity, Identity) else None


def fingerprints_of(settings: Mapping[str, Any]) -> frozenset[str]:
    """Return the fingerprints in settings kept beside records.

    The value there may be missing, one text, or a list.

    >>> sorted(fingerprints_of({"system_fingerprint": ["b", "a"]})), sorted(fingerprints_of({}))
    (['a', 'b'], [])
    """
    marks = settings.get(FINGERPRINT) or []
    return frozenset([marks] if isinstance(marks, str) else map(str, marks))


def may_mix(options: Mapping[str, Any], marks: Collection[str]) -> bool:
    """Tell whether one run may mix replies with all these fingerprints.

    The options of the model, or of its replicas, may allow several.

    >>> may_mix({"fingerprints": ["a", "b"]}, {"a", "b"}), may_mix({"options": {"fingerprints": ["*"]}}, {"a", "b"})
    (True, True)
    >>> may_mix({"fingerprints": ["a"]}, {"a", "b"}), may_mix({}, {"a"})
    (False, True)
    """
    return _are_allowed(frozenset(_of_either(options, "fingerprints")), marks)


def _are_allowed(allowed: frozenset[str], marks: Collection[str]) -> bool:
    return ANY in allowed or (allowed.issuperset(marks) if allowed else len(set(marks)) <= 1)


def _contradictions(
    one: Mapping[str, Any], other: Mapping[str, Any], same: Sequence[str] = ()
) -> Iterator[tuple[str, Any, Any]]:
    """Yield the fields in which two settings cannot belong to one model.

    Both values come with each field. `same` are other names of the model, in addition to those declared in the
    settings.
    """
    same = (*same, *one.get(SAME, ()), *other.get(SAME, ()))
    for key in (MODEL, LISTED):
        if (first := one.get(key)) and (second := other.get(key)) and not _agree(first, second, same):
            yield key, first, second


def _agree(one: Any, other: Any, same: Sequence[str]) -> bool:
    """Tell whether two names, or two lists of models, belong to one model.

    `same` are other names of that model.
    """
    if one == other:
        return True
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return one in same or other in same
    declared = any(name in same for name in {**one, **other})
    return declared and sorted(map(str, one.values())) == sorted(map(str, other.values()))


def are_one(options: Mapping[str, Any], values: Sequence[Any]) -> bool:
    """Tell whether names or lists of models agree.

    `options` are those of the model or of its replicas.

    >>> are_one({"same_model": ["b"]}, ["a", "b"]), are_one({}, ["a", "b"])
    (True, False)
    """
    return all(_agree(*pair, _of_either(options, SAME)) for pair in combinations(values, 2))


def _of_either(options: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return the texts of an option of a model, or of its replicas."""
    inner = options.get("options", {})
    return tuple(options.get(name) or (inner.get(name) if isinstance(inner, Mapping) else None) or ())


def _in_words(key: str, one: Any, other: Any) -> tuple[str, str, str]:
    """Write a contradiction for a message.

    Of two lists it keeps only what differs.
    """
    return (LIST, *difference(one, other)) if key == LISTED else (key, one, other)


def change_of(
    before: Mapping[str, Any], now: Mapping[str, Any], options: Mapping[str, Any] | None = None
) -> str | None:
    """Say why two settings are not of one model, if anything shows it.

    Nothing shows it where only one of them reports a value. Fingerprints show it if the two have none in common and the
    model's `options` do not allow them together. Without `options`, a list of fingerprints means that several were
    allowed.

    >>> change_of({"system_fingerprint": "a"}, {"system_fingerprint": "b"})
    "system_fingerprint was 'a', and now is 'b'"
    >>> change_of({"system_fingerprint": ["a", "b"]}, {"system_fingerprint": "b"})
    >>> change_of({"system_fingerprint": "a"}, {"system_fingerprint": "b"}, {"fingerprints": ["*"]})
    >>> change_of({"model": "toy"}, {})
    >>> change_of({"model": "toy"}, {"model": "gate/toy", "same_model": ["toy"]})
    """
    for contradiction in _contradictions(before, now, _of_either(options or {}, SAME)):
        what, one, other = _in_words(*contradiction)
        return f"{what} was {one!r}, and now is {other!r}"
    marks, others = fingerprints_of(before), fingerprints_of(now)
    if not marks or not others or marks & others:
        return None
    if options is None:
        options = {"fingerprints": [ANY]} if any(isinstance(t[FINGERPRINT], list) for t in (before, now)) else {}
    if may_mix(options, marks | others):
        return None
    names = (", ".join(map(repr, sorted(each))) for each in (marks, others))
    return f"{FINGERPRINT} was {next(names)}, and now is {next(names)}"


def union_of(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Join what the settings of several parts of a run say about one model.

    Different fingerprints become a list.

    >>> union_of([{"system_fingerprint": "a"}, {"model": "toy", "system_fingerprint": "b"}])
    {'model': 'toy', 'system_fingerprint': ['a', 'b']}
    """
    served = {key: value for part in reversed(parts) for key, value in part.items()}
    if marks := sorted(frozenset().union(*map(fingerprints_of, parts))):
        several = len(marks) > 1 or any(isinstance(part.get(FINGERPRINT), list) for part in parts)
        served[FINGERPRINT] = marks if several else marks[0]
    return served


class Identity:
    """The identity of one model's servers.

    Replies may mix the fingerprints in `fingerprints`, or any with `ANY`. Without it all replies that name a
    fingerprint must name the same one. `same_model` are other names of the model.
    """

    def __init__(self, fingerprints: Sequence[str] = (), same_model: Sequence[str] = ()) -> None:
        self._allowed, self._same = frozenset(fingerprints), tuple(same_model)
        self._model: str | None = None
        self._fingerprints: dict[str, None] = {}  # in the order of their first reply
        self._listed: Mapping[str, str] = {}

    def check(self, body: Any, place: str) -> None:
        """Record who gave a response, as far as its body says.

        `place` names the server.

        Raises
        ------
        CannotEvaluate
            When it is another than before.
        """
        model, mark = (_name(body.get(key)) if isinstance(body, dict) else None for key in (MODEL, FINGERPRINT))
        if model not in (None, self._model) and (self._model is None or model not in self._same):
            if self._model not in (None, *self._same):
                raise _change_fault(place, MODEL, str(self._model), str(model))
            self._model = model
        if mark is None or mark in self._fingerprints:
            return
        if self._allowed and not self._allowed & {mark, ANY}:
            listed = ", ".join(sorted(self._allowed))
            raise CannotEvaluate(f"{place} answers with the {FINGERPRINT} {mark!r}; options.fingerprints has {listed}")
        if self._fingerprints and not self._allowed:
            raise _change_fault(place, FINGERPRINT, next(iter(self._fingerprints)), mark)
        self._fingerprints[mark] = None

    def join(self, settings: Mapping[str, Any]) -> None:
        """Add the settings of another process that asks for the same model.

        Raises
        ------
        CannotEvaluate
            When it was another than here, or in a third.
        """
        for contradiction in _contradictions(self.settings(), settings, self._same):
            raise _apart(*_in_words(*contradiction))
        new = sorted(fingerprints_of(settings) - self._fingerprints.keys())
        if new and self._fingerprints and not self._allowed:
            raise _apart(FINGERPRINT, *self._fingerprints, *new)
        self._learn(settings)

    def see(self, listed: Mapping[str, str]) -> None:
        """Record what the first server lists about its model."""
        self._listed = dict(listed)

    def compare(self, other: Mapping[str, Any], where: str, deed: str = "answered by") -> None:
        """Refuse settings of another part of the run if they show another model.

        `where` names that part in the message, and `deed` is what the model did to its records.

        Raises
        ------
        BadInput
            When it was another.
        """
        marks = fingerprints_of(other)
        for key, before, now in _contradictions(other, self.settings(), self._same):
            earlier = f"{where}: its records were {deed} {key} {before!r}"
            raise _resume_fault(earlier, f"it is {now!r}", _note(key, before))
        all_marks = sorted(marks | self._fingerprints.keys())
        if marks and not _are_allowed(self._allowed, all_marks):
            names = ", ".join(sorted(self._allowed)) or "none"
            earlier = f"{where}: its records were {deed} {FINGERPRINT} {', '.join(sorted(marks))}"
            raise _resume_fault(earlier, f"options.fingerprints names {names}", _note(FINGERPRINT, *all_marks))

    def expect(self, earlier: Mapping[str, Any], where: str, deed: str = "answered by") -> None:
        """Start from the settings of an earlier part of the run.

        It refuses them as `compare` does.
        """
        self.compare(earlier, where, deed)
        self._learn(earlier)

    def _learn(self, settings: Mapping[str, Any]) -> None:
        """Add what settings say to what is known."""
        model, listed = settings.get(MODEL), settings.get(LISTED)
        self._model = self._model or (model if isinstance(model, str) else None)
        self._fingerprints.update(dict.fromkeys(sorted(fingerprints_of(settings))))
        if not self._listed and isinstance(listed, Mapping):
            self._listed = dict(listed)

    def settings(self) -> dict[str, Any]:
        """Return what is known so far, as the settings beside records keep it.

        Several fingerprints are a list.
        """
        marks = sorted(self._fingerprints)
        values = {
            MODEL: self._model,
            FINGERPRINT: marks if self._allowed else next(iter(marks), None),
            LISTED: dict(self._listed),
            SAME: list(self._same) if self._model or self._listed else None,
        }
        return {key: value for key, value in values.items() if value}


def _note(what: str, *names: Any) -> str:
    """Say how to declare fingerprints or another name of one model.

    >>> _note("model", "toy", "toy-2")
    'If that is another name of the same model, declare it: options.same_model = ["toy-2"]'
    """
    from accgate.engines.openai.options import option_text  # pydantic: files are compared without it

    if what == FINGERPRINT:
        allowed = option_text("fingerprints", names) or option_text("fingerprints", [ANY])
        fact = "If a load balancer serves one model from all of them"
        return f'{fact}, name them: options.{allowed}, or ["{ANY}"] for any'
    option = option_text(SAME, names[-1:]) if what == MODEL else ""
    return f"If that is another name of the same model, declare it: options.{option}" if option else ""


def _resume_fault(before: str, now: str, more: str) -> BadInput:
    fix = "another model or build; start that one again, or start without --resume in another --out"
    return BadInput(f"{before}, and now {now}: {fix}{f'. {more}' if more else ''}")


def _apart(what: str, one: str, other: str) -> CannotEvaluate:
    fault = f"the replicas are not one model: {what} is {one!r} at one, and {other!r} at another"
    return _mixed_fault(fault, "Serve one of them everywhere", _note(what, one, other))


def _change_fault(place: str, what: str, before: str, now: str) -> CannotEvaluate:
    fault = f"{place} changed in the middle of the run: {what} was {before!r}, and now is {now!r}"
    return _mixed_fault(fault, "Serve the first one again", _note(what, before, now))


def _mixed_fault(fault: str, fix: str, more: str) -> CannotEvaluate:
    promise = "Answers of two models are never mixed: what was finished before is kept"
    text = f"{fault}. {promise}. {fix} and go on with --resume, or start in another --out"
    return CannotEvaluate(f"{text}. {more}" if more else text)


def refuse_changed(place: str, before: Mapping[str, str], now: Mapping[str, str], same: Sequence[str] = ()) -> None:
    """Raise CannotEvaluate for a server that describes its model differently than before.

    `same` are other names of that model.
    """
    if not _agree(before, now, same):
        raise _change_fault(place, LIST, *difference(before, now))


def difference(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, str]:
    """Write only the entries in which two descriptions of a model differ.

    >>> difference({"toy": "8", "server": "vllm"}, {"toy": "4", "server": "vllm"})
    ('toy 8', 'toy 4')
    """
    keys = [key for key in {**before, **now} if before.get(key) != now.get(key)]

    def words(listed: Mapping[str, str]) -> str:
        return ", ".join(f"{key} {listed[key]}" for key in keys if key in listed) or "nothing"

    return words(before), words(now)


BASE_URL = ("options", "base_url")
# Of vLLM, SGLang and llama.cpp; times and permissions are new each time.
STABLE = ("root", "parent", "max_model_len", "meta")
STRICT = frozenset({"vllm", "sglang"})  # they answer only to the names that they list; llama.cpp answers to any
SERVER = "server"  # beside the models: the server's kind and version
LONGEST, MOST = 1_000, 100  # characters of a word, and fingerprints, that a reference keeps


@dataclass(frozen=True)
class Listing:
    """A server's kind and version, and the models that it lists.

    `details` has what the server says about each model, as JSON.
    """

    kind: str = "unknown"
    models: tuple[str, ...] = ()
    version: str = ""
    details: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Kind and version in one text."""
        return f"{self.kind} {self.version}".strip()

    def about(self, model: str) -> dict[str, str]:
        """Return what the server says about a model.

        A name that it does not list gives all its entries; a server that lists none gives nothing.
        """
        listed = [model] if model in self.models else sorted(self.models)
        entries = {name: self.details.get(name, "") for name in listed}
        return {SERVER: self.label, **entries} if entries else {}


def listing_of(body: Any) -> Listing:
    """Read the listing in the response body of `GET /v1/models`.

    It passes over whatever does not belong in a listing.

    >>> listing_of({"data": [{"id": "toy", "owned_by": "vllm"}]})
    Listing(kind='vllm', models=('toy',), version='', details={'toy': '{}'})
    """
    data = body.get("data") if isinstance(body, dict) else None
    rows = [row for row in data if isinstance(row, dict)] if isinstance(data, list) else []
    kind = next((row["owned_by"] for row in rows if _name(row.get("owned_by"))), "unknown")
    named = [row for row in rows if isinstance(row.get("id"), str)]
    stable = [{key: row[key] for key in STABLE if row.get(key) is not None} for row in named]
    details = {row["id"]: json.dumps(about, sort_keys=True) for row, about in zip(named, stable, strict=True)}
    return Listing(kind, tuple(row["id"] for row in named), details=details)


def model_hint(model: str, listed: Collection[str]) -> str:
    """Suggest the server's model that was probably meant, or list what it has.

    >>> model_hint("qwen3-8b", ["Qwen/Qwen3-8B", "meta/Llama"])
    'the server has Qwen/Qwen3-8B; did you mean that?'
    """
    tails = {name.rpartition("/")[2].lower(): name for name in listed}
    tail = next(iter(tails)) if len(tails) == 1 else closest(model.rpartition("/")[2].lower(), tails)
    return nearest(model, listed) if tail is None else f"the server has {tails[tail]}; did you mean that?"


def faults_of(model: str, listings: Mapping[str, Listing]) -> Iterator[tuple[Key, str]]:
    """Yield why these servers cannot all be asked for a model.

    `listings` has each server's listing by URL. Each fault comes with its key in the model's table.
    """
    named = any(model in listing.models for listing in listings.values())
    for url, listing in listings.items():
        if listing.models and model not in listing.models and (named or listing.kind in STRICT):
            yield ("model",), f"is {model!r}, which {url} does not serve; {model_hint(model, listing.models)}"
    (first_url, first), *others = listings.items()
    for url, listing in others:
        if listing.label != first.label:
            what = f"{first_url} is {first.label}, {url} is {listing.label}"
            yield BASE_URL, f"names different servers: {what}; run one version on all, since two answer differently"
        elif not named and set(listing.models) != set(first.models):
            what = f"{first_url} has {', '.join(first.models)}, {url} has {', '.join(listing.models)}"
            yield BASE_URL, f"names servers of different models: {what}"
        elif (one := first.about(model)) != (other := listing.about(model)):
            one_says, other_says = difference(one, other)
            what = f"{first_url} lists {one_says}, {url} lists {other_says}"
            yield BASE_URL, f"names servers of different models: {what}; start them with the same path and options"


def settings_to_keep(served: Mapping[str, Any]) -> dict[str, Any]:
    """Return the part of the settings that still identifies the model weeks later.

    It is well formed and short. A hosted API's list of models changes by itself, and so does the owner that it names
    first. So the list counts only where it has one model, and the server's kind and version only where the kind is one
    of `STRICT`. More fingerprints than a reference keeps identify nothing.

    >>> settings_to_keep({"model": "toy", "listed": {"server": "system", "toy": "{}"}})
    {'model': 'toy', 'listed': {'toy': '{}'}}
    >>> settings_to_keep({"listed": {"server": "acme", "gpt-4": "{}", "gpt-5": "{}"}, "system_fingerprint": ["a", "b"]})
    {'system_fingerprint': ['a', 'b']}
    """
    listed = served.get(LISTED)
    rows = listed.items() if isinstance(listed, Mapping) else ()
    texts = {name: text for name, text in rows if isinstance(text, str)}
    server = texts.pop(SERVER, "")
    models = {_short(name): _short(text) for name, text in texts.items()} if len(texts) == 1 else {}
    if models and server.partition(" ")[0] in STRICT:
        models[SERVER] = _short(server)
    model, marks = served.get(MODEL), served.get(FINGERPRINT)
    is_list = isinstance(marks, (list, tuple))
    names = [_short(mark) for mark in sorted(fingerprints_of({FINGERPRINT: marks}))] if is_list else []
    same = others if isinstance(others := served.get(SAME), (list, tuple)) else ()
    values = {
        MODEL: _short(model) if isinstance(model, str) else None,
        FINGERPRINT: _short(marks) if isinstance(marks, str) else names if len(names) <= MOST else None,
        LISTED: models,
        SAME: [_short(name) for name in same[:MOST] if isinstance(name, str)],
    }
    return {key: value for key, value in values.items() if value}


def _short(text: str) -> str:
    """Shorten a server's word to what a TOML file can hold, without surrogates."""
    return text[:LONGEST].encode("utf-8", "replace").decode()
