"""The folder of a trial, from which nothing is ever removed but what an earlier trial of the same command wrote."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from accgate.errors import BadInput, writing
from accgate.records import ENDINGS, refuse_unwritable, sole_run, write_atomically
from accgate.records.file import SETTINGS
from accgate.records.lock import LOCK

MARK = ".accgate"  # in a folder that was empty when a trial began in it: the command's name


@dataclass(frozen=True)
class TrialFolder:
    """What a command writes into its folder.

    `models` is a pattern of the folders in it that hold records, and `files` are the names of what lies beside them.
    """

    command: str
    models: str
    files: tuple[str, ...] = ()

    def begin(self, out: Path, *, resume: bool = False) -> None:
        """Make the folder; unless the trial goes on, remove the records of an earlier one; raises as `held`."""
        with self.held(out, resume=resume):
            pass

    @contextlib.contextmanager
    def held(self, out: Path, *, resume: bool = False) -> Iterator[None]:
        """Begin in the folder, and refuse another trial in it until this one has ended.

        Raises
        ------
        BadInput
            When the folder cannot be written, has another trial, or has files and no earlier trial of this command.
        CannotEvaluate
            When those records cannot be removed.
        """
        refuse_unwritable(out)
        with sole_run(out):
            with writing(out, "name another folder, or correct that"):
                self._begin(out, resume=resume)
            yield

    def _begin(self, out: Path, *, resume: bool) -> None:
        if not self._is_own(out):
            begun = (LOCK, f"{MARK}.part")  # by one that was killed
            names = sorted(path.name for path in out.iterdir() if path.name not in begun)
            if names:
                raise BadInput(
                    f"{out}: holds {names[0]!r} and no earlier `accgate {self.command}`, which would replace what "
                    "is there; name a new or empty folder, or move that away"
                )
            write_atomically(out / MARK, f"{self.command}\n".encode())
        elif not resume:
            self._remove(out)

    def _is_own(self, out: Path) -> bool:
        mark = out / MARK
        return mark.is_file() and mark.read_bytes().strip() == self.command.encode()

    def _remove(self, out: Path) -> None:
        for folder in self._folders(out):
            for settings in folder.glob(f"*{SETTINGS}"):
                base = settings.name.removesuffix(SETTINGS)
                for end in sorted(ENDINGS, key=SETTINGS.__eq__):  # the settings last: by them the others are found
                    (folder / (base + end)).unlink(missing_ok=True)
            for empty in (folder, *folder.parents):
                if empty == out:
                    break
                with contextlib.suppress(OSError):  # others' files are there
                    empty.rmdir()
        for name in self.files:
            (out / name).unlink(missing_ok=True)

    def _folders(self, out: Path) -> Iterator[Path]:
        """The folders of models, none of them through a link to elsewhere."""
        real = out.resolve()
        for path in list(out.glob(self.models)):
            if path.is_dir() and path.resolve() == real / path.relative_to(out):
                yield path
