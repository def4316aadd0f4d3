"""Who answered and who marked.

References keep both, since the marks of two judges cannot be compared.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from accgate.engines import FINGERPRINT, union_of
from accgate.engines.identity import LIST, MODEL, change_of, settings_to_keep
from accgate.errors import BadInput
from accgate.inputs.paths import table_in
from accgate.records.file import FILES, JUDGE_SERVED, SERVED
from accgate.records.pairing import about_beside
from accgate.text import clip, some_of

OF_JUDGE = " of judge "  # follows the name of a judge's file, before the judge's name, in settings beside records
JUDGE_FILES = "judge_files"  # key of a reference's file
CHANGE = 600  # characters of a change that a message shows


@dataclass(frozen=True)
class Makers:
    """Who answered and who marked, as replies, servers' lists of models and files tell.

    `served` and `judge_served` are tables of `accgate.engines.settings_to_keep`. `judge_files` maps the judge's files
    to their digests.
    """

    served: Mapping[str, Any] = field(default_factory=dict)
    judge_served: Mapping[str, Any] = field(default_factory=dict)
    judge_files: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of_settings(cls, settings: Mapping[str, Any]) -> Makers:
        """Read the makers from the settings beside records, or from a reference's file."""
        files = table_in(settings, FILES)
        of_judge = {name.rpartition(OF_JUDGE)[0]: digest for name, digest in files.items() if OF_JUDGE in name}
        of_judge |= table_in(settings, JUDGE_FILES)
        texts = {name: digest for name, digest in of_judge.items() if isinstance(digest, str)}
        return cls(
            settings_to_keep(table_in(settings, SERVED)), settings_to_keep(table_in(settings, JUDGE_SERVED)), texts
        )

    def join(self, later: Makers) -> Makers:
        """Join the makers of two runs.

        The later run's wins where only one can be kept, as for names.
        """
        served, judge_served = (later.served, self.served), (later.judge_served, self.judge_served)
        return Makers(union_of(served), union_of(judge_served), {**self.judge_files, **later.judge_files})

    def judge_change(self, now: Makers, options: Mapping[str, Any] | None = None) -> str | None:
        """Return the change that shows that another judge marked `now`, if one does.

        Nothing shows it if only one side names its judge. The judge's `options` may allow several fingerprints
        (`accgate.engines.change_of`).

        >>> old, new = Makers(judge_files={"j.gguf": "1"}), Makers(judge_files={"j.gguf": "2"})
        >>> old.judge_change(new), old.judge_change(Makers())
        ('the content of j.gguf changed', None)
        """
        before, after = self.judge_files, now.judge_files
        if changed := sorted(name for name in before.keys() & after.keys() if before[name] != after[name]):
            return f"the content of {some_of(changed)} changed"
        return change_of(self.judge_served, now.judge_served, options)


def other_judge(path: Path, judge: str, change: str) -> str:
    """Return the message that another judge marked a reference.

    It shows the change and names the fix.
    """
    what, option = "both fingerprints are", "list both in the judge's options.fingerprints"
    if FINGERPRINT not in change:
        what, option = "both names are", "list the old one in the judge's options.same_model"
    hint = f"; if {what} of one model, {option}" if change.startswith((FINGERPRINT, f"{MODEL} ", LIST)) else ""
    return (
        f"{path}: {judge} is not the one that marked this reference: {clip(change, CHANGE, ' …')}. Marks of two "
        f"judges cannot be compared: serve the judge of the reference, or record a new reference with this one "
        f"(`accgate record --reason ...`){hint}"
    )


def refuse_other_judge(reference: Path, candidate: Path) -> None:
    """Refuse two files of scores that different judges marked, by the files beside both.

    Raises
    ------
    BadInput
        What shows that the judges differ.
    """
    before, after = (Makers.of_settings(about_beside(path)) for path in (reference, candidate))
    change = before.judge_change(after)
    if change is not None:
        raise BadInput(other_judge(reference, "the judge", change))
