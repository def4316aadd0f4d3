"""A model as a plan holds it, with the engine that it needs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from accgate.config.tables import Model
from accgate.engines import Engine, Request
from accgate.engines.base import ModelTable
from accgate.engines.table import check_options, check_template, create, server_engine
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import TomlFile
from accgate.sandbox.declared import Code, PrivateFolder
from accgate.verdict import Reason

if TYPE_CHECKING:
    from accgate.engines.openai.engine import OpenAIEngine

ModelKey = tuple[str, str, Path]  # table, name and folder


@dataclass(frozen=True)
class PlannedModel:
    """A table of [models] or [judges], with the file that holds it. `code` is what a judge's command consists of."""

    name: str
    settings: Model
    source: TomlFile
    table: Literal["models", "judges"] = "models"
    workspace: Path | None = None
    code: Code | None = None

    @property
    def key(self) -> ModelKey:
        """Table, name and folder, which tell models and judges of several files apart."""
        return self.table, self.name, self.folder

    @property
    def folder(self) -> Path:
        """Where relative paths of weights and recordings start."""
        return self.source.path.parent if self.workspace is None else self.workspace

    @property
    def variant(self) -> Mapping[str, Any]:
        """Labels of the model that runs, such as dtype, quantisation and kind of GPU."""
        return self.settings.variant

    def locating(self) -> AbstractContextManager[None]:
        """Add file and line to faults found in this model's table.

        The engine finds these faults.
        """
        return self.source.locating((self.table, self.name))

    def engine(self) -> Engine:
        """Return the engine, not yet started.

        Raises
        ------
        BadInput
            When its options or files cannot be used.
        CannotEvaluate
            When the engine is not installed, or the weights are not there.
        """
        with self.locating():
            return create(self.settings.engine, self._engine_table())

    def check_options(self) -> None:
        """Check the options, as far as this machine can.

        Raises
        ------
        BadInput
            When options or files cannot be used.
        CannotEvaluate
            When the engine is not here to check them.
        """
        with self.locating():
            check_options(self.settings.engine, self._engine_table())

    def check_template(self, requests: Sequence[Request]) -> None:
        """Render requests with the model's chat template, where it can be read here.

        Raises
        ------
        BadInput
            When it is broken.
        """
        with self.locating():
            check_template(self.settings.engine, self._engine_table(), requests)

    def server(self) -> OpenAIEngine | None:
        """Return the engine where it asks servers, not yet started.

        It is None where it loads the model.

        Raises
        ------
        BadInput
            When its options cannot be used.
        """
        with self.locating():
            return server_engine(self.settings.engine, self._engine_table())

    def probe(self) -> tuple[str, ...]:
        """Ask servers once whether they have the model, and return their answers.

        Raises
        ------
        BadInput
            When a URL or the model's name is wrong.
        CannotEvaluate
            When a server does not answer.
        """
        server = self.server()
        with self.locating():
            return () if server is None else server.probe()

    async def reach(self) -> None:
        """Ask the servers of the model once whether they have it.

        They are asked long before the model's turn in a run.

        Raises
        ------
        BadInput
            When one does not have it.
        CannotEvaluate
            When one does not answer, which may still do so in time.
        """
        if (server := self.server()) is not None:
            with self.locating():
                await server.reach()

    def _engine_table(self) -> ModelTable:
        of = self.settings
        wall = None if self.code is None else partial(PrivateFolder, self.code)
        return ModelTable(of.model, of.options, self.folder, of.sampling.extra, wall)


def check_engines(models: Sequence[PlannedModel]) -> Mapping[tuple[str, str], Reason]:
    """Check the engines' options.

    Faults are raised, and engines that cannot be checked here have notes. Notes are by table and name.
    """
    notes: dict[tuple[str, str], Reason] = {}
    faults: list[str] = []
    for model in models:
        try:
            model.check_options()
        except CannotEvaluate as error:
            notes[model.table, model.name] = Reason.of("engine-not-checked", text=str(error))
        except BadInput as error:
            faults.extend(error.messages)
    if faults:
        raise BadInput(*faults)
    return notes
