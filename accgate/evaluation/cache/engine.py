"""An engine that asks its model only what no earlier run asked."""

import asyncio
import os
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from accgate.engines import Engine, LogProbs, Reply, Request, useful_in_flight
from accgate.engines.base import Scorer
from accgate.evaluation.cache.identity import KeyIncomplete, identity_of, request_key
from accgate.evaluation.cache.store import FILES, Say, Shelf
from accgate.evaluation.files import FileDigests
from accgate.planning.checks import Check
from accgate.planning.model import PlannedModel
from accgate.result import EngineInfo


class CachedEngine:
    """An engine that looks up every request before it asks the engine behind it.

    That engine is started and closed elsewhere.
    """

    def __init__(self, engine: Engine, shelf: Shelf) -> None:
        self.concurrency = engine.concurrency
        self.saturated_at = useful_in_flight(engine)
        self._engine, self._shelf = engine, shelf

    async def start(self) -> None:
        """Do nothing, for the engine runs already."""

    async def complete(self, request: Request) -> Reply:
        """Return the reply of an earlier run, or the engine's."""
        key = request_key(request)
        if isinstance(kept := self._shelf.get(key), Reply):
            await asyncio.sleep(0)  # many hits in a row must not keep other tasks waiting
            return kept
        new = await self._engine.complete(request)
        self._shelf.put(key, new)
        return new

    async def score(self, request: Request, continuations: Sequence[str]) -> list[LogProbs]:
        """Return the log-probabilities of texts, asking the engine only for new ones.

        The cache holds what earlier runs asked.
        """
        keys = {text: request_key(request, text) for text in continuations}
        scores = {text: kept for text, key in keys.items() if isinstance(kept := self._shelf.get(key), LogProbs)}
        await asyncio.sleep(0)  # many hits in a row must not keep other tasks waiting
        if new := [text for text in keys if text not in scores]:
            asked = await cast("Scorer", self._engine).score(request, new)
            for text, score in zip(new, asked, strict=True):
                scores[text] = score
                self._shelf.put(keys[text], score)
        return [scores[text] for text in continuations]

    def describe(self) -> EngineInfo:
        """Say what runs."""
        return self._engine.describe()

    async def close(self) -> None:
        """Close the cache's files."""
        self._shelf.close()


class Cache:
    """A cache folder in use by a run, with the digests of models' files."""

    def __init__(self, folder: Path, *, say: Say) -> None:
        self._folder, self._say = folder, say
        self._shelves: dict[str, Shelf | None] = {}
        self.digests = FileDigests(folder / FILES)

    def before(self, engine: Engine, check: Check, info: EngineInfo) -> Engine:
        """Put the cache before an engine, if it is on.

        Otherwise say why it is off, and return the engine itself.
        """
        if is_same(check, info):
            why = "it runs what its reference was recorded with, so cached replies would only repeat the reference"
            self._say(f"cache: off for {check.name}: {why}")
            return engine
        if check.model not in self._shelves:
            self._shelves[check.model] = self._shelf(check.planned_model, info)
        shelf = self._shelves[check.model]
        return engine if shelf is None else CachedEngine(engine, shelf)

    def _shelf(self, model: PlannedModel, info: EngineInfo) -> Shelf | None:
        try:
            identity = identity_of(model, info, digest_of=self.digests, environ=os.environ)
        except (KeyIncomplete, OSError) as error:
            self._say(f"cache: off for {model.name}: {error}")
            return None
        self.digests.save()
        return Shelf(self._folder, identity, self._say)

    def close(self) -> None:
        """Close the files."""
        for shelf in self._shelves.values():
            if shelf is not None:
                shelf.close()


def is_same(check: Check, info: EngineInfo) -> bool:
    """Tell whether a check is an A/A run.

    Its model and engine are then those of its reference.
    """
    about = None if check.recorded is None else check.recorded.about
    return (
        about is not None
        and (about.model, dict(about.variant)) == (check.model, dict(check.planned_model.variant))
        and info.name in about.engine.split("; ")  # of runs added to each other, all are named
        and info.version in about.engine_version.split("; ")
        and info.hardware in about.hardware.split("; ")
    )
