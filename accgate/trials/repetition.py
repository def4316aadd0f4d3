"""The lost answers of a run asked again, several times: lost for good, or flickering."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from accgate.config.config import Config
from accgate.evaluation.assignment import Observer, Silent
from accgate.records import Record, failed_of
from accgate.trials.arm import Arm, ask
from accgate.trials.folder import TrialFolder
from accgate.trials.loss import loss_of, reference_scores, refuse_unread

FOLDER = "rerun"
OWN_FOLDER = TrialFolder("rerun", models="*")


@dataclass(frozen=True)
class AskedAgain:
    """The lost answers of a check, asked again `times` times.

    `back` has of each how often it was at least as good as in the reference; `scored` how often it had a score at all;
    `unread` how often the reply held no answer, which is scored as wrong. `failure` says why the first request without
    a score failed.
    """

    model: str
    task: str
    times: int
    back: dict[str, int]
    scored: dict[str, int]
    unread: dict[str, int]
    failure: str | None = None

    @property
    def lost(self) -> tuple[str, ...]:
        """Those that never came back: lost for good."""
        return tuple(id_ for id_, count in self.back.items() if not count and self.scored[id_])

    @property
    def flickering(self) -> tuple[str, ...]:
        """Those that came back at least once."""
        return tuple(id_ for id_, count in self.back.items() if count)


def rerun(
    config: Config | str | Path,
    run: Path,
    *,
    model: str | None = None,
    task: str | None = None,
    times: int = 3,
    resume: bool = False,
    observer: Observer | None = None,
) -> AskedAgain:
    """Ask the lost answers of a run again, nothing else changed; the verdict stays what it is.

    Raises
    ------
    BadInput
        When the run lost nothing, or the config is not that of the run.
    CannotEvaluate
        When the engine fails for good; records are kept, and `resume` goes on. When no reply holds an answer, and
        those in the run did.
    """
    loss = loss_of(config, run, model, task)
    out = run / FOLDER
    OWN_FOLDER.begin(out, resume=resume)
    before = reference_scores(loss.check)
    back: Counter[str] = Counter()
    scored: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    records: list[Record] = []
    for number in range(1, times + 1):
        arm = Arm(f"{loss.check.model}, time {number} of {times}", loss.check.planned_model)
        answers = ask(loss.check, arm, loss.ids, out, observer=observer or Silent())
        scores = answers.scores
        scored.update(id_ for id_, score in scores.items() if score is not None)
        back.update(id_ for id_, score in scores.items() if score is not None and score >= before[id_])
        unread.update({record.id for record in answers.records if record.is_unread})
        records.extend(answers.records)
    refuse_unread(loss, records)
    failure = next((record.error for record in failed_of(records)), None)
    counts = [{id_: counter[id_] for id_ in loss.ids} for counter in (back, scored, unread)]
    return AskedAgain(loss.check.model, loss.check.task.name, times, counts[0], counts[1], counts[2], failure)
