"""Engines as a run has them: of a model's table, with file and line before every fault."""

from __future__ import annotations

from pathlib import Path

from accgate.config.tables import Model
from accgate.engines import Engine
from accgate.inputs.toml import TomlFile
from accgate.inputs.typed import parse_table
from accgate.planning.model import PlannedModel


def model_file(folder: Path, engine: str, model: str, options: str = "", more: str = "") -> Path:
    """A file whose options stand on line 4."""
    path = folder / "accuracy.toml"
    path.write_text(f'[models.m]\nengine = "{engine}"\nmodel = "{model}"\noptions = {{ {options} }}\n{more}')
    return path


def planned_model(source: TomlFile, name: str = "m") -> PlannedModel:
    """The model of `[models.NAME]`, of a file that needs no other table."""
    return PlannedModel(name, parse_table(source.data["models"][name], Model), source)


def engine_of(source: TomlFile, name: str = "m") -> Engine:
    """Its engine, not yet started."""
    return planned_model(source, name).engine()
