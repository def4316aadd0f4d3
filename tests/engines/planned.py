"""Engines as a run has them: of a model's table, with file and line before every fault."""

from __future__ import annotations

from accgate.config.tables import Model
from accgate.engines import Engine
from accgate.inputs.toml import TomlFile
from accgate.inputs.typed import parse_table
from accgate.planning.model import PlannedModel


def planned_model(source: TomlFile, name: str = "m") -> PlannedModel:
    """The model of `[models.NAME]`, of a file that needs no other table."""
    return PlannedModel(name, parse_table(source.data["models"][name], Model), source)


def engine_of(source: TomlFile, name: str = "m") -> Engine:
    """Its engine, not yet started."""
    return planned_model(source, name).engine()
