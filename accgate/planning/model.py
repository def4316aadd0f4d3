"""A model as a plan holds it: its settings, and the engine that they ask for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from accgate.config import Model
from accgate.engines import Engine, create, unchecked
from accgate.inputs import TomlFile


@dataclass(frozen=True)
class PlannedModel:
    """A table of [models] or [judges], in the file that it stands in."""

    name: str
    settings: Model
    source: TomlFile
    table: Literal["models", "judges"] = "models"

    @property
    def folder(self) -> Path:
        """Where relative paths of weights and recordings start."""
        return self.source.path.parent

    @property
    def variant(self) -> Mapping[str, Any]:
        """What labels was run: dtype, quantisation, kind of GPU."""
        return self.settings.variant

    def engine(self) -> Engine:
        """The engine, not yet started.

        Raises
        ------
        BadInput
            When its options or files cannot be used.
        CannotEvaluate
            When the engine is not installed, or the weights are not there.
        """
        return create(self.name, **self._arguments())

    def unchecked(self) -> str | None:
        """Why the options could not all be checked on this machine; None where they were, and are right.

        Raises
        ------
        BadInput
            When options or files cannot be used.
        """
        return unchecked(self.name, **self._arguments())

    def _arguments(self) -> dict[str, Any]:
        of = self.settings
        return {
            "engine": of.engine,
            "model": of.model,
            "options": of.options,
            "source": self.source,
            "table": self.table,
        }
