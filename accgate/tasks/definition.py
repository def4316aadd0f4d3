"""A task definition: its checked content, the place of its faults, its metric and its direction."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from accgate import metrics
from accgate.errors import BadInput, CannotEvaluate, Key, KeyFaults, refuse_faults
from accgate.inputs.toml import TomlFile, read_toml
from accgate.inputs.typed import parse_table_of
from accgate.metrics import metric_builders
from accgate.metrics.own import own_files, unloaded_metric
from accgate.sandbox.declared import Code
from accgate.tasks.faults import aggregate_faults, definition_faults
from accgate.tasks.own_metric import own_metric
from accgate.tasks.schema import ChosenBy, DefinitionFile, ReasoningUse

if TYPE_CHECKING:
    from accgate.metrics.aggregates.base import Aggregate


@dataclass(frozen=True)
class Definition:
    """A checked definition; its file is only for the places of faults, and None for a task that has none of ours.

    `trees` are the repositories that decide: of their files a user's metric may open only those that it consists of.
    """

    content: DefinitionFile
    path: Path
    _file: TomlFile | None = None
    trees: tuple[Path, ...] = ()

    @property
    def folder(self) -> Path:
        """The folder that the definition's paths start from."""
        return self.path.parent

    def fault(self, key: Key, text: str) -> BadInput:
        """The error about the value at a key, with the definition's file and line."""
        return KeyFaults((key, text)) if self._file is None else BadInput(self._file.error(key, text))

    def metric(self, *, loaded: bool = True) -> metrics.Metric:
        """Build the metric, with all that scoring needs.

        Unless `loaded` it has bounds and direction alone, and neither packages nor a user's module need be there.

        Raises
        ------
        BadInput
            When the function cannot be loaded or does not take its options.
        CannotEvaluate
            When the metric needs a package that is not installed.
        """
        name, options = self.content.metric, self.content.metric_options
        try:
            if name in metric_builders():
                return (metrics.get if loaded else metrics.describe)(name, **options)
            if not loaded:
                return unloaded_metric(name, **options)
            files = own_files(name, self.folder, self.content.files)
            code = Code(f"the metric {name}", files, self.trees, str(self.path), self.folder)
            return own_metric(name, code, **options)
        except metrics.BadOption as error:
            raise self.fault(("metric",), str(error)) from error
        except ImportError as error:
            raise CannotEvaluate(f"{self.path}: metric {name}: {error}") from error

    @property
    def statistic(self) -> Aggregate | None:
        """The statistic that is decided on instead of the mean, if the definition names one."""
        content = self.content
        return None if content.aggregate is None else metrics.aggregate(content.aggregate, **content.aggregate_options)

    @property
    def higher_is_better(self) -> bool:
        """The direction of the statistic that is decided on, or else of the metric. Loads no user's code."""
        return (self.statistic or self.metric(loaded=False)).higher_is_better

    def with_reasoning(self, use: ReasoningUse | None) -> Definition:
        """The same with a model's reasoning left out of what is read, or kept, where `use` says."""
        return self if use is None else replace(self, content=replace(self.content, reasoning=use))

    def with_choice(self, by: ChosenBy | None) -> Definition:
        """The same with its multiple choice answered in another way, where `by` gives one.

        Raises
        ------
        BadInput
            When it is no multiple choice, or decided on a statistic that this way gives nothing for.
        """
        if by is None:
            return self
        choices = self.content.choices
        if choices is None:
            raise BadInput(f"{self.path}: has no [choices], so nothing to choose by {by}")
        content = replace(self.content, choices=replace(choices, by=by))
        for key, fault in aggregate_faults(content):
            raise self.fault(key, f"{fault}; choose = {by!r} leaves none, remove it")
        return replace(self, content=content)


def read_definition(path: Path) -> Definition:
    """Read and check a task definition.

    Raises
    ------
    BadInput
        With a message for every fault: file, line, key, what is wrong and the fix.
    """
    file = read_toml(path, fix="docs/tasks.md shows how a task is written")
    content = parse_table_of(file, DefinitionFile)
    with file.locating():
        refuse_faults(definition_faults(content, path.parent))
    return Definition(content, path, file)
