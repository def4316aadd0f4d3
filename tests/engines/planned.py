"""Engines as a run has them: of a model's table, with file and line before every fault."""

from __future__ import annotations

from accgate.config import Model
from accgate.engines import Engine
from accgate.inputs import TomlFile, parse_table
from accgate.planning import PlannedModel


def planned_model(source: TomlFile, name: str = "m") -> PlannedModel:
    """The model of `[models.NAME]`, of a file that needs no other table."""
    return PlannedModel(name, parse_table(source.data["models"][name], Model), source)


def engine_of(source: TomlFile, name: str = "m") -> Engine:
    """Its engine, not yet started."""
    return planned_model(source, name).engine()
