"""A task definition: its checked content, and the file it stands in."""

from __future__ import annotations

from dataclasses import dataclass as plain_dataclass
from pathlib import Path

from accgate.inputs import TomlFile, located, read_toml, validated
from accgate.tasks.schema import DefinitionFile


@plain_dataclass(frozen=True)
class Definition:
    """A checked definition with its file."""

    content: DefinitionFile
    source: TomlFile

    @property
    def folder(self) -> Path:
        """The folder that the definition's paths start from."""
        return self.source.path.parent


def read_definition(path: Path) -> Definition:
    """Read and check a task definition.

    Raises
    ------
    BadInput
        With a message for every fault: file, line, key, what is wrong and the mend.
    """
    from accgate.tasks.faults import definition_faults

    file = read_toml(path, mend="docs/tasks.md shows how a task is written")
    content = validated(file, DefinitionFile)
    if faults := list(definition_faults(content, path.parent)):
        raise located(file, faults)
    return Definition(content, file)
