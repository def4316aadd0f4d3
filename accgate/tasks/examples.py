"""The solved examples that each row's prompt shows: of its own subset, drawn or the first, and never the row itself."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

from accgate.errors import BadInput
from accgate.inputs.rows import Row
from accgate.tasks.definition import Definition
from accgate.tasks.prompts import Scope
from accgate.tasks.rows import SUBSET, Source, by_subset, examples_fault
from accgate.tasks.sample import asked_of
from accgate.text import some_of


class SolvedExamples:
    """The solved examples of a task's rows, taken in the order of the rows.

    An example that asks what the row asks is left out and one more is taken, as lm-evaluation-harness does within one
    split (api/samplers.py). Prompts are compared, so other columns and another file do not hide it. The draws of other
    rows stay as they are.
    """

    def __init__(self, definition: Definition, source: Source, rows: Iterable[Row], pool: Sequence[Row]) -> None:
        """Sort the examples by subset.

        Raises
        ------
        BadInput
            When examples name their subset, and some subset of the rows has none.
        """
        self._definition, self._source = definition, source
        self._pools = by_subset(definition, pool)
        self._draws: dict[Any, Random] = {}  # of each subset, row by row, as lm-evaluation-harness draws
        self._asked: dict[int, str | None] = {}
        if self._pools.keys() - {None}:
            subsets = {str(row.get(SUBSET)) for row in rows}
            if without := sorted(subsets - set(map(str, self._pools))):
                fault = f"subsets {some_of(without)} have no solved example; give each at least one"
                raise BadInput(f"{definition.path}: {fault}")

    def of(self, row: Row) -> Sequence[Row]:
        """The examples of a row.

        Raises
        ------
        BadInput
            When too few are left without those that ask the same.
        """
        few_shot = self._definition.content.few_shot
        subset = row.get(SUBSET) if self._definition.content.dataset.subsets else None
        pool = self._pools.get(subset) or self._pools.get(None)
        if not pool:
            return ()
        number, again = len(pool) if few_shot.count is None else few_shot.count, Random()
        shots, first = pool[:number], pool[:number]
        if few_shot.seed is not None:
            draw = self._draws.setdefault(subset, Random(few_shot.seed))
            again.setstate(draw.getstate())
            shots = draw.sample(pool, number)
        asked = asked_of(self._definition.content, Scope(row, first)) if shots else None
        if asked is None or all(self._asked_by(each, first) != asked for each in shots):
            return shots
        more = min(len(pool), number + sum(self._asked_by(each, first) == asked for each in pool))
        drawn = pool[:more] if few_shot.seed is None else again.sample(pool, more)
        others = [each for each in drawn if self._asked_by(each, first) != asked]
        if len(others) < (few_shot.count or 1):
            size = "unset" if few_shot.count is None else few_shot.count
            fault = f"is {size}, but a row that is itself a solved example has only {len(others)} to show; give more"
            raise examples_fault(self._definition, self._source, fault)
        return others[:number]

    def _asked_by(self, example: Row, first: Sequence[Row]) -> str | None:
        """What an example would ask as a row, behind the same examples."""
        if id(example) not in self._asked:
            self._asked[id(example)] = asked_of(self._definition.content, Scope(example, first))
        return self._asked[id(example)]
