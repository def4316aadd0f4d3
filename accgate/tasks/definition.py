"""A task definition that was read and checked.

It knows the places of its faults, its metric and its direction.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate import metrics
from accgate.errors import BadInput, CannotEvaluate, Key, KeyFaults, refuse_faults
from accgate.inputs.checkout import refuse_no_text
from accgate.inputs.toml import TomlFile, read_toml
from accgate.inputs.typed import parse_table_of
from accgate.metrics.code import DESCRIBING, entry_point_of, files_digest, own_file, own_files, unloaded_metric
from accgate.sandbox.declared import Code, CodeFailed, CodeProcess
from accgate.tasks.faults import aggregate_faults, definition_faults
from accgate.tasks.schema import ChosenBy, DefinitionFile, Mode, ReasoningUse

if TYPE_CHECKING:
    from accgate.metrics.aggregates.base import Aggregate


@dataclass(frozen=True)
class Definition:
    """A checked definition.

    `_file` serves the places of faults; a task of lm-eval has none. `trees` are the repositories whose rules decide: of
    their files a user's metric may open only those that it consists of.
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
        """Return the error about the value at a key.

        The message has the definition's file and line.
        """
        return KeyFaults((key, text)) if self._file is None else BadInput(self._file.error(key, text))

    def metric(self, *, loaded: bool = True) -> metrics.Metric:
        """Build the metric, with all that scoring needs.

        Unless `loaded` it has only bounds and direction, and neither packages nor a user's module need be there.

        Raises
        ------
        BadInput
            When the function cannot be loaded or does not take its options.
        CannotEvaluate
            When the metric needs a package that is not installed.
        """
        name, options = self.content.metric, self.content.metric_options
        try:
            if name in metrics.metric_builders():
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
        """The statistic that is decided on instead of the mean.

        Most tasks name none.
        """
        content = self.content
        return None if content.aggregate is None else metrics.aggregate(content.aggregate, **content.aggregate_options)

    @property
    def higher_is_better(self) -> bool:
        """The direction of the statistic that is decided on, or else of the metric.

        No user's code is loaded for it.
        """
        return (self.statistic or self.metric(loaded=False)).higher_is_better

    def with_reasoning(self, use: ReasoningUse | None) -> Definition:
        """Return the same definition with another use of a model's reasoning.

        None changes nothing.
        """
        return self if use is None else replace(self, content=replace(self.content, reasoning=use))

    def with_mode(self, mode: Mode | None) -> Definition:
        """Return the same definition asked in another mode.

        None changes nothing. Raises KeyFaults where the task is a conversation, which only a chat takes.
        """
        content = self.content
        if mode is None:
            return self
        if mode != "chat" and (content.messages is not None or content.tools is not None):
            raise KeyFaults((("mode",), f"is {mode!r}, but the task is a conversation or has tools; leave mode out"))
        return replace(self, content=replace(content, mode=mode))

    def with_choice(self, by: ChosenBy | None) -> Definition:
        """Return the same definition with its multiple choice answered in another way.

        None changes nothing.

        Raises
        ------
        BadInput
            When it is no multiple choice, or decided on a statistic that this way gives nothing for.
        """
        if by is None:
            return self
        choices = self.content.choices
        if choices is None:
            raise BadInput(f"{self.path}: has no [choices]; remove choose = {by!r}")
        content = replace(self.content, choices=replace(choices, by=by))
        for key, fault in aggregate_faults(content):
            raise self.fault(key, f"{fault}; remove choose = {by!r}, which gives no confidence")
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


FOLDER = Path(__file__).with_name("library")  # the definitions that come with accgate
FORMER = {"gsm8k": "gsm8k_cot"}  # a name that got another definition, and the name that its own one has now


@cache
def library_names() -> tuple[str, ...]:
    """Return the names of the library's tasks, sorted."""
    return tuple(sorted(file.stem for file in FOLDER.glob("*.toml")))


def library_file(name: str) -> Path:
    """Return the file of a definition of the library."""
    return FOLDER / f"{name}.toml"


def former_task(file: Path) -> str | None:
    """Return the library's name for what a definition of this name asked before.

    Only definitions that were written anew have one.
    """
    return FORMER.get(file.stem) if file.parent == FOLDER else None


# A metric of the user's own, in a process that opens the files alone that it consists of


def own_metric(name: str, code: Code, **options: Any) -> metrics.Metric:
    """Build the metric of a user's function, by place or by registered name.

    The function is `(answer, target, **options) -> points`. It does not see the options `lowest` and `highest` (points;
    0 and 100) and `higher_is_better`, which describe the score. An infinite bound is no bound.

    Raises
    ------
    BadOption
        When there is no such function, its module fails, or it does not take the options.
    BadInput
        When its module opens a file of the repository that is not part of it.
    """
    described = unloaded_metric(name, **options)
    options = {key: value for key, value in options.items() if key not in DESCRIBING}
    try:
        state = f"{files_digest(code.files, code.folder)} {Path.cwd()}"  # the code may look there
        process = _process(name, code, json.dumps(options, sort_keys=True), state)
    except TypeError as error:  # a date
        raise metrics.BadOption(f"{name}: metric_options: {error}; write it as text") from error

    def points(answer: str, target: str) -> float:
        try:
            return float(process.call("points", answer=answer, target=target))
        except ImportError as error:
            raise CannotEvaluate(f"{name} cannot import what it needs: {error}") from error
        except CodeFailed as error:  # as if the function had raised it here
            raise type(error.kind, (Exception,), {})(error.text) from None

    return replace(described, function=points)


@lru_cache(maxsize=16)  # planning asks for a metric several times
def _process(name: str, code: Code, options: str, state: str) -> CodeProcess:  # noqa: ARG001 (of its files)
    """Return the process with a metric's function.

    The same process serves until its code changes.
    """
    place, _, function = (name if ":" in name else entry_point_of(name) or name).rpartition(":")
    own_place = place if own_file(name) is None else code.folder / place
    try:
        arguments = {"place": own_place, "name": function, "options": json.loads(options)}
        return CodeProcess(code, ":start_function", arguments)
    except ImportError as error:
        hint = "; of the repository it can import only its own files" if code.trees else ""
        raise metrics.BadOption(f"{name} cannot be loaded: {type(error).__name__}: {error}{hint}") from error
    except CodeFailed as error:
        if error.kind == "CannotBeCalled":
            fault = f"cannot be called as function(answer, target, **metric_options): {error.text}"
            raise metrics.BadOption(f"{name} {fault}") from error
        for file in code.files:
            refuse_no_text(file, file.read_bytes())
        raise metrics.BadOption(f"{name} cannot be loaded: {error}") from error
