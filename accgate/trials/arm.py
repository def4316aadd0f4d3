"""The folder of a trial, and its arms.

An arm is a model with its settings, asked on samples in an order of their own. From the folder nothing is removed but
what an earlier trial of the same command wrote.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from accgate.design import oriented
from accgate.errors import BadInput, CannotEvaluate, writing
from accgate.evaluation.assignment import Observer, RunOptions, StopRule, Watch
from accgate.evaluation.outcome import failures
from accgate.evaluation.run import evaluate_checks
from accgate.planning.checks import Check
from accgate.planning.model import PlannedModel
from accgate.records.file import ENDINGS, SETTINGS, Record
from accgate.records.lock import LOCK, sole_run
from accgate.records.replacement import refuse_unwritable, write_atomically
from accgate.records.scores import DECIMALS

MARK = ".accgate"  # in a folder that was empty when a trial began in it: the command's name


@dataclass(frozen=True)
class TrialFolder:
    """What a command writes into its folder.

    `models` is a pattern of the folders in it that hold records, and `files` are the names of other files that the
    command writes.
    """

    command: str
    models: str
    files: tuple[str, ...] = ()

    def begin(self, out: Path, *, resume: bool = False) -> None:
        """Make the folder.

        Unless the trial goes on, remove the records of an earlier one. Raises as `held` does.
        """
        with self.held(out, resume=resume):
            pass

    @contextlib.contextmanager
    def held(self, out: Path, *, resume: bool = False) -> Iterator[None]:
        """Begin in the folder, and refuse another trial in it until this one ends.

        Raises
        ------
        BadInput
            When the folder cannot be written, has another trial, or has files and no earlier trial of this command.
        CannotEvaluate
            When those records cannot be removed.
        """
        refuse_unwritable(out)
        with sole_run(out):
            with writing(out, "name another folder, or make this one writable"):
                self._begin(out, resume=resume)
            yield

    def _begin(self, out: Path, *, resume: bool) -> None:
        mark = out / MARK
        if not (mark.is_file() and mark.read_bytes().strip() == self.command.encode()):
            begun = (LOCK, f"{MARK}.part")  # by one that was killed
            names = sorted(path.name for path in out.iterdir() if path.name not in begun)
            if names:
                fault = f"holds {names[0]!r}, which is not from an earlier `accgate {self.command}`"
                raise BadInput(f"{out}: {fault}; name a new or empty folder, or move its files away")
            write_atomically(mark, f"{self.command}\n".encode())
        elif not resume:
            self._remove(out)

    def _remove(self, out: Path) -> None:
        real = out.resolve()
        for folder in list(out.glob(self.models)):
            if not folder.is_dir() or folder.resolve() != real / folder.relative_to(out):
                continue  # a link leads elsewhere
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


MAX_FAILED = 0.2  # share of an arm's samples that may have no score; those tell nothing
Scored = Mapping[str, float | None]


@dataclass(frozen=True)
class Answers:
    """What an arm answered.

    `questions` is the number of replies that were asked for.
    """

    records: Sequence[Record]
    scores: Scored
    questions: int


def ask(
    check: Check,
    name: str,
    model: PlannedModel,
    ids: Sequence[str],
    out: Path,
    *,
    observer: Observer,
    ends: Callable[[Scored], bool] | None = None,
) -> Answers:
    """Ask a model for its answer to each sample.

    Scores are in points, turned so that higher is better. Records lie in `out` under `name`, and an arm that broke off
    goes on from them. `ends` gets the scores of the finished beginning of `ids`, and tells whether they are enough.

    Raises
    ------
    CannotEvaluate
        When the engine fails for good, or more than a fifth of the samples have no score.
    """
    samples = {sample.id: sample for sample in check.task.samples}
    chosen_check = replace(
        check,
        model=name,
        planned_model=replace(model, name=name),
        task=check.task.of([samples[id_] for id_ in ids]),
        max_failed=MAX_FAILED,
        max_unread=1.0,
    )
    watches = {}
    if ends is not None:
        watches[name, check.task.name] = Watch(StopRule(lambda records: ends(mean_scores(check, records))))
    run = evaluate_checks([chosen_check], RunOptions(out, resume=True, observer=observer), watches)
    (item,) = run.checks
    if item.evaluation is None or not item.evaluation.complete:
        raise CannotEvaluate(f"{name}: {item.problem or failures(item, 'a trial needs their scores')}")
    evaluation = item.evaluation
    questions = len(evaluation.records) + len(evaluation.beyond)
    return Answers(evaluation.records, mean_scores(check, evaluation.records), questions)


def mean_scores(check: Check, records: Sequence[Record]) -> Scored:
    """Return the mean score of each sample, as `Scores.means` has it.

    Scores are turned so that higher is better. A sample with a failed repeat has None.
    """
    sums: dict[str, list[float | None]] = {}
    for record in records:
        sums.setdefault(record.id, []).append(record.score)
    means = {id_: _mean(scores) for id_, scores in sums.items() if len(scores) == check.repeats}
    up = check.design.higher_is_better
    return {id_: None if mean is None else float(oriented(mean, up)) for id_, mean in means.items()}


def _mean(scores: Sequence[float | None]) -> float | None:
    present = [score for score in scores if score is not None]
    return round(sum(present) / len(present), DECIMALS) if len(present) == len(scores) else None
