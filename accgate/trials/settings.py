"""What differs between a model's settings and its reference's.

This module can put it back.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from accgate.config.tables import Model, Sampling
from accgate.decision.cause import Change
from accgate.errors import BadInput
from accgate.records.file import ENVIRONMENT
from accgate.references.settings import answer_settings, recorded_settings, surroundings
from accgate.references.store import Reference
from accgate.result import EngineInfo
from accgate.text import NOT_SET, differences, path_text, value_text

ENGINE = "engine and its options"
FIXED = {
    "version": "only this version is installed here",
    "hardware": "this is another machine",
    ENVIRONMENT: "it lies under the engine, where no setting reaches",
    "variant": "a label: no engine reads it",
}  # what cannot be put back, and why


@dataclass(frozen=True)
class Settings:
    """The settings that can be put back, by name.

    Each has (the reference's, the candidate's) value. `paths` has the keys that lead to each. An engine of another kind
    has options of its own: then engine, model, options and sampling are one setting. `fixed` differs too and cannot be
    put back; each says why.
    """

    candidate: Model
    values: Mapping[str, tuple[Any, Any]]
    fixed: tuple[Change, ...]
    paths: Mapping[str, tuple[str, ...]]

    @property
    def changes(self) -> tuple[Change, ...]:
        """What differs, for people."""
        if ENGINE in self.values:
            (old, _), new = self.values[ENGINE]
            return (Change(ENGINE, old, new),)
        return tuple(Change(name, value_text(old), value_text(new)) for name, (old, new) in self.values.items())

    def put_back(self, names: Iterable[str]) -> Model:
        """Return the candidate with the reference's values of these settings."""
        model = self.candidate
        engine, table = model.engine, _own(asdict(model))
        for name in names:
            value, _ = self.values[name]
            engine, table = value if name == ENGINE else (engine, _change(table, self.paths[name], value))
        sampling = Sampling(**{**table["sampling"], "stop": tuple(table["sampling"].get("stop", ()))})
        return replace(model, engine=engine, model=table["model"], options=table["options"], sampling=sampling)

    def set_alone(self, name: str) -> Model:
        """Return the reference's model with the candidate's value of one setting."""
        return self.put_back(other for other in self.values if other != name)

    def without(self, reasons: Mapping[str, str]) -> Settings:
        """Return the same where these cannot be put back, each for a reason."""
        values = {name: value for name, value in self.values.items() if name not in reasons}
        changes = {change.name: change for change in self.changes}
        fixed = tuple(replace(changes[name], why=why) for name, why in reasons.items())
        return replace(self, values=values, fixed=(*fixed, *self.fixed))


def settings_of(reference: Reference, model: Model, info: EngineInfo | None) -> Settings:
    """Find what differs between a model and its reference.

    Raises
    ------
    BadInput
        When the reference does not say what it was recorded with, or nothing that could be put back differs.
    """
    about = reference.about
    if not about.settings:
        raise BadInput(f"{reference.path}: has no settings, because an earlier version recorded it; record it again")
    fixed = [
        Change(path_text(path), value_text(old), value_text(new), FIXED[path[0]])
        for path, (old, new) in differences(surroundings(about, model, info))
    ]
    recorded = {"options": {}, "sampling": {}, **_own(recorded_settings(about, model))}
    if about.engine and about.engine != model.engine:
        values: dict[str, tuple[Any, Any]] = {ENGINE: ((about.engine, recorded), model.engine)}
        return Settings(model, values, tuple(fixed), {})
    now = _own(answer_settings(model))
    changed = [(path, (old, new)) for path, (old, new) in differences([_fill(recorded, now), _fill(now, recorded)])]
    if not changed:
        others = "; ".join(map(str, fixed))
        raise BadInput(
            f"{reference.path}: no setting differs from those it was recorded with, so none can be put back"
            + (f". What differs is {others}" if others else "; `accgate rerun` tells lost answers from flickering ones")
        )
    paths = {path_text(path): path for path, _ in changed}
    return Settings(model, {path_text(path): pair for path, pair in changed}, tuple(fixed), paths)


def _own(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are in accuracy.toml.

    Others follow from these, and cannot be put back by themselves.
    """
    return {key: value for key, value in settings.items() if key in ("model", "options", "sampling")}


def _fill(table: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Add an empty table for each that only the other has.

    Then the keys of that table are settings of their own.
    """
    filled = dict(table)
    for key, value in other.items():
        if isinstance(value, Mapping) and isinstance(inner := table.get(key, {}), Mapping):
            filled[key] = _fill(inner, value)
    return filled


def _change(table: Mapping[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    """Set the value at a path of a table, which NOT_SET removes.

    A table on the way is made where there is none.
    """
    first, *rest = path
    if rest:
        inner = table.get(first)
        return {**table, first: _change(inner if isinstance(inner, Mapping) else {}, rest, value)}
    changed = {**table, first: value}
    if value is NOT_SET:
        changed.pop(first)
    return changed
