"""Which commit lost the answers: a noisy binary search that asks the commit and the samples that tell most.

Each commit has a working tree of its own; the user's checkout is never touched.
"""

from __future__ import annotations

import json
import shlex
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from accgate.config.config import load_config, select
from accgate.config.tables import Model
from accgate.decision.bisection import Bisection, Commit, Culprit
from accgate.errors import BadInput, CannotEvaluate, writing
from accgate.evaluation.assignment import Silent
from accgate.planning.checks import Check, plan_checks
from accgate.planning.design import planned_model
from accgate.planning.model import PlannedModel
from accgate.records import Scores, write_atomically
from accgate.report.result_file import read_result
from accgate.result import NAME
from accgate.stats import Floats
from accgate.stats.culprit import Asked, culprit_posterior, next_place
from accgate.text import nearest
from accgate.trials.arm import Scored, ask
from accgate.trials.folder import TrialFolder
from accgate.trials.loss import reference_scores

ANSWERS, LOG = "answers.jsonl", "bisect.log"
VISIT = "[0-9]" * 4 + "-*"  # the folders of the records of each commit asked
FOLDER = TrialFolder("bisect", models=f"{VISIT}/*", files=(ANSWERS, LOG))
SURE = 0.95
BATCH = 4  # samples that are asked of a commit at a time
ENOUGH = 8  # lost answers to search with
LEAST = 3
SHOWN = 30  # lost answers that are asked of the culprit and of the commit before it
SHARED = 0.3  # share of the lost answers that another commit must explain to be searched for too
DEEPEST = 3  # commits that are named at most

MARK = ".git"  # of a working tree: a file that names the repository
LONGEST = 600.0  # seconds that git may take
Shows = Callable[[Sequence[Commit], Floats, int], None]


def bisect(
    config: Path,
    good: str,
    bad: str = "HEAD",
    *,
    model: str | None = None,
    task: str | None = None,
    serve: str | None = None,
    run: Path | None = None,
    out: Path,
    resume: bool = False,
    shows: Shows | None = None,
) -> Bisection:
    """Find the commit that lost a model's answers, by the rules and references of the good one.

    Parameters
    ----------
    config : Path
        accuracy.toml in the repository.
    good, bad : str
        Revisions; the good one is an ancestor of the bad one.
    model, task : str, optional
        The check; needed where the good commit has several.
    serve : str, optional
        A command that serves the model of a commit, run in its working tree, with {port} for the port; by default
        each commit's own [models] is asked.
    run : Path, optional
        The folder of a run of the bad commit: the answers that it lost need not be found again.
    out : Path
        Where answers, records and the log lie: a new or empty folder, or that of an earlier search.
    shows : callable, optional
        Is told the commits, the probability of each after the first to be the culprit, and the questions so far.

    Raises
    ------
    BadInput
        When a revision, a check or a reference is missing, too few answers are lost between the two, or the folder has
        other files.
    CannotEvaluate
        When the bad commit itself cannot be asked.
    """
    history = History(config, good, bad)
    with ExitStack() as stack:
        stack.enter_context(FOLDER.held(out, resume=resume))
        rules = stack.enter_context(history.tree(history.commits[0], out / "good"))
        check = _check_of(rules, model, task)
        search = _Search(history, check, out, serve, shows)
        search.read_answers()
        lost = search.lost_answers(run)
        culprits = search.culprits(lost, 0, len(history.commits) - 1, DEEPEST)
        if not any(culprit.lost for culprit in culprits):
            raise BadInput(
                f"{check.name}: none of {len(lost)} lost answers is lost at {culprits[0].commit} "
                "when it is asked again; they were lost by chance, or the run is not one of the bad commit"
            )
        search.write_log(culprits)
    skipped = tuple((history.commits[place], why) for place, why in sorted(search.skipped.items()))
    return Bisection(
        check.model, check.task.name, len(history.commits) - 1, len(lost), tuple(culprits), skipped, search.questions
    )


def _check_of(rules: Path, model: str | None, task: str | None) -> Check:
    config = load_config(rules)
    config = select(config, () if model is None else (model,), () if task is None else (task,))
    checks = plan_checks(config)
    if len(checks) != 1:
        names = ", ".join(check.name for check in checks) or "none"
        raise BadInput(f"the good commit has the checks {names}; name one with --model and --task")
    (check,) = checks
    if not isinstance(check.reference, Scores) or check.task.content.aggregate is not None:
        raise BadInput(f"{check.name}: the good commit has no reference with scores of samples; record one")
    return check


@dataclass
class _Search:
    """The answers so far, of each lost sample at each commit, and how more are had."""

    history: History
    check: Check
    out: Path
    serve: str | None
    shows: Shows | None
    answers: dict[str, list[tuple[int, bool]]] = field(default_factory=dict)
    skipped: dict[int, str] = field(default_factory=dict)
    questions: int = 0
    visits: int = 0
    of_run: tuple[str, ...] = ()  # lost answers that only a run of the bad commit tells of

    @property
    def search(self) -> dict[str, str | None]:
        """What was asked, and by whose rules: answers to anything else are never mixed in."""
        good, config = self.history.commits[0].sha, self.history.path.as_posix()
        asked = {"model": self.check.model, "task": self.check.task.name, "serve": self.serve}
        return {"good": good, "config": config, **asked}

    def read_answers(self) -> None:
        """Those of a search that goes on; a torn last line is dropped.

        Raises
        ------
        BadInput
            When they are of another search.
        """
        path = self.out / ANSWERS
        if not path.exists():
            return
        with writing(path), path.open("r+b") as file:
            content = file.read()
            file.truncate(content.rfind(b"\n") + 1)  # a new line must not follow a torn one
        place = {commit.sha: number for number, commit in enumerate(self.history.commits)}
        for line in content.decode("utf-8", "replace").splitlines():
            try:
                row = json.loads(line)
                number = place[row["commit"]]
            except (ValueError, KeyError, TypeError):
                continue
            if row.get("search") != self.search:
                raise BadInput(
                    f"{path}: holds answers of a search with another --config, --good, --model, --task or --serve; "
                    "leave --resume out, or name another --out"
                )
            self.visits, self.questions = row["visit"], row["questions"]
            if row["skipped"] is not None:
                self.skipped[number] = row["skipped"]
            for id_, right in row["right"].items():
                self.answers.setdefault(id_, []).append((number, right))

    def lost_answers(self, run: Path | None) -> list[str]:
        """The answers that the bad commit lost, in the fixed order: those of a run of it, or the first found."""
        last = len(self.history.commits) - 1
        lost = _lost_in(run, self.check) if run is not None else self._find_lost(last)
        self.of_run = (
            () if run is None else tuple(id_ for id_ in lost if (last, False) not in self.answers.get(id_, []))
        )
        for id_ in lost:
            answers = self.answers.setdefault(id_, [])
            if run is not None and (last, False) not in answers:
                answers.append((last, False))
            if (0, True) not in answers:
                answers.append((0, True))
        if len(lost) < LEAST:
            raise BadInput(
                f"{self.check.name}: of {len(self.check.task.samples):,} samples the bad "
                f"commit lost {len(lost)}; a search needs {LEAST}: give a run that failed with --run, or another --bad"
            )
        return lost

    def _find_lost(self, place: int) -> list[str]:
        """Ask the bad commit in the fixed order until enough answers are lost."""
        ids = list(self.check.task.samples.ids)
        before = reference_scores(self.check)

        def lost_ids(scores: Scored) -> list[str]:
            return [id_ for id_, score in scores.items() if score is not None and score < before[id_]]

        if not any(number == place for of in self.answers.values() for number, _ in of):
            self._visit(place, ids, ends=lambda scores: len(lost_ids(scores)) >= ENOUGH)
        if place in self.skipped:
            raise CannotEvaluate(f"the bad commit cannot be asked: {self.skipped[place]}")
        wrong = {id_ for id_, of in self.answers.items() if (place, False) in of}
        return [id_ for id_ in ids if id_ in wrong]

    def culprits(self, lost: Sequence[str], low: int, high: int, deepest: int) -> list[Culprit]:
        """The commits after `low` up to `high` that lost these answers, oldest first."""
        place, chance = self._locate(lost, low, high)
        before = max((p for p in range(low, place) if p not in self.skipped), default=low)
        place = min((p for p in range(place, high) if p not in self.skipped), default=high)
        ids = lost[:SHOWN]
        self._forget_run(place)
        for number in (before, place):
            missing = [id_ for id_ in ids if all(p != number for p, _ in self.answers[id_])]
            if missing and number not in self.skipped:
                self._visit(number, missing)
        by_answers: dict[tuple[bool, bool], list[str]] = defaultdict(list)  # right before, right then
        for id_ in ids:
            by_answers[self._is_right(id_, before), self._is_right(id_, place)].append(id_)
        here, between = by_answers[True, False], tuple(self.history.commits[before + 1 : place + 1])
        sure = Culprit(self.history.commits[place], chance, len(here), len(ids), between if len(between) > 1 else ())
        earlier = self._others(by_answers[False, False], len(ids), low, before, deepest)
        later = self._others(by_answers[True, True], len(ids), place, high, deepest)
        is_enough = len(here) >= min(LEAST, len(ids)) or not deepest
        return [*earlier, *([sure] if is_enough else []), *later] or [sure]

    def _others(self, ids: Sequence[str], of: int, low: int, high: int, deepest: int) -> list[Culprit]:
        """The culprits of the answers that one commit does not explain, where they are enough to search with."""
        if deepest <= 1 or high <= low or len(ids) < max(LEAST, SHARED * of):
            return []
        return self.culprits(ids, low, high, deepest - 1)

    def _forget_run(self, place: int) -> None:
        """Leave out what a run says of the bad commit, once that is the culprit: it is asked itself."""
        if self.of_run and place == len(self.history.commits) - 1:
            for id_ in self.of_run:
                self.answers[id_].remove((place, False))
            self.of_run = ()

    def _is_right(self, id_: str, place: int) -> bool:
        """Whether most answers to a sample at a commit were right."""
        rights = [right for number, right in self.answers[id_] if number == place]
        return 2 * sum(rights) > len(rights)

    def _locate(self, lost: Sequence[str], low: int, high: int) -> tuple[int, float]:
        """The most probable culprit of these answers, and its probability."""
        while True:
            chances, follow = self._posterior(lost, low, high)
            if self.shows is not None:
                self.shows(self.history.commits[low : high + 1], chances, self.questions)
            best = int(chances.argmax())
            skipped = frozenset(place - low for place in self.skipped if low < place < high)
            place = next_place(chances, skipped)
            if chances[best] >= SURE or place is None:
                return low + 1 + best, float(chances[best])
            at = low + place
            times = {id_: sum(number == at for number, _ in self.answers[id_]) for id_ in lost}
            order = sorted(range(len(lost)), key=lambda i: (times[lost[i]], -follow[i]))
            if times[lost[order[0]]] >= 3:  # a commit between right and wrong: asking on would not end
                return low + 1 + best, float(chances[best])
            self._visit(at, [lost[i] for i in order[:BATCH]])

    def _posterior(self, lost: Sequence[str], low: int, high: int) -> tuple[Floats, Floats]:
        samples = []
        for id_ in lost:
            inside = [(place - low, right) for place, right in self.answers[id_] if low <= place <= high]
            samples.append(Asked(tuple(place for place, _ in inside), tuple(right for _, right in inside)))
        return culprit_posterior(samples, high - low)

    def _visit(self, place: int, ids: Sequence[str], *, ends: Callable[[Scored], bool] | None = None) -> None:
        """Ask samples of a commit; one that cannot be asked is skipped."""
        commit, number = self.history.commits[place], self.visits + 1
        folder = self.out / f"{number:04}-{commit.sha[:9]}"
        scores: Scored = {}
        try:
            with self.history.tree(commit, self.out / "tree") as path:
                name = f"{self.check.model} at {commit.sha[:9]}"
                answers = ask(self.check, name, self._model_at(path), ids, folder, observer=Silent(), ends=ends)
                scores = answers.scores
                self.questions += answers.questions
        except (BadInput, CannotEvaluate) as error:
            self.skipped[place] = str(error).splitlines()[0]
        before = reference_scores(self.check)
        right = {id_: score >= before[id_] for id_, score in scores.items() if score is not None}
        for id_, is_right in right.items():
            self.answers.setdefault(id_, []).append((place, is_right))
        if place not in self.skipped and not right:
            self.skipped[place] = "no sample had a score"
        self.visits = number
        row = {
            "search": self.search,
            "visit": number,
            "commit": commit.sha,
            "right": right,
            "skipped": self.skipped.get(place),
            "questions": self.questions,
        }
        with writing(path := self.out / ANSWERS), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")

    def _model_at(self, path: Path) -> PlannedModel:
        """The model as a commit has it."""
        config = load_config(path)
        if self.check.model not in config.models:
            raise BadInput(f"has no model {self.check.model!r}; {nearest(self.check.model, config.models)}")
        planned = planned_model(config, self.check.model)
        if self.serve is None:
            return planned
        options = {"serve": shlex.split(self.serve), "base_url": "http://127.0.0.1:{port}/v1"}
        name = planned.settings.model
        settings: Model = replace(planned.settings, engine="openai", model=name, options=options)
        return replace(planned, settings=settings)

    def write_log(self, culprits: Sequence[Culprit]) -> None:
        """Write what was found as `git bisect log` does; `git bisect replay` reads it."""
        commits = self.history.commits
        lines = [
            "git bisect start",
            f"# good: [{commits[0].sha}] {commits[0].subject}",
            f"git bisect good {commits[0].sha}",
        ]
        first = commits.index(culprits[0].commit)
        places = sorted({place for of in self.answers.values() for place, _ in of} | set(self.skipped))
        for place in [len(commits) - 1, *(p for p in places if 0 < p < len(commits) - 1)]:
            word = "skip" if place in self.skipped else "bad" if place >= first else "good"
            lines += [
                f"# {word}: [{commits[place].sha}] {commits[place].subject}",
                f"git bisect {word} {commits[place].sha}",
            ]
        lines += [f"# first bad commit: [{each.commit.sha}] {each.commit.subject}" for each in culprits]
        with writing(path := self.out / LOG):
            write_atomically(path, ("\n".join(lines) + "\n").encode())


def _lost_in(run: Path, check: Check) -> list[str]:
    """The answers that a run of the bad commit lost, in the fixed order."""
    result = read_result(run / NAME)
    lost = {id_ for verdict in result.checks if (verdict.model, verdict.task) == check.key for id_ in verdict.flips}
    return [id_ for id_ in check.task.samples.ids if id_ in lost]


class History:
    """A repository's commits from a good one to a bad one, oldest first, along first parents, and the `path` of a file.

    Raises
    ------
    BadInput
        When a revision is unknown, the good one is no ancestor of the bad one, or `file` is in no repository.
    """

    def __init__(self, file: Path, good: str, bad: str) -> None:
        folder = file.resolve().parent
        if not folder.is_dir():
            raise BadInput(f"{file}: its folder does not exist; name accuracy.toml with --config")
        self._root = Path(_git(folder, "rev-parse", "--show-toplevel"))
        self.path = file.resolve().relative_to(self._root)
        ends = [
            _git(self._root, "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", of=name) for name in (good, bad)
        ]
        if ends[0] == ends[1]:
            raise BadInput(f"{good} and {bad} are the same commit; name an older one with --good")
        if _git(self._root, "merge-base", *ends) != ends[0]:
            raise BadInput(f"{good} is not an ancestor of {bad}; name one that is with --good")
        between = _git(self._root, "rev-list", "--reverse", "--first-parent", f"{ends[0]}..{ends[1]}").splitlines()
        names = [ends[0], *between]
        subjects = _git(self._root, "log", "--no-walk=unsorted", "--format=%s", *names).splitlines()
        self.commits = tuple(Commit(sha, subject) for sha, subject in zip(names, subjects, strict=True))

    @contextmanager
    def tree(self, commit: Commit, folder: Path) -> Iterator[Path]:
        """The path of accuracy.toml in a working tree of the commit at `folder`, which is removed afterwards."""
        self._remove(folder)
        _git(self._root, "worktree", "add", "--quiet", "--detach", "--force", str(folder), commit.sha)
        try:
            yield folder / self.path
        finally:
            self._remove(folder)

    def _remove(self, folder: Path) -> None:
        if folder.is_symlink() or (folder.exists() and not _is_working_tree(folder)):
            raise BadInput(f"{folder}: is no working tree that bisect made; move it away, or name another --out")
        if folder.exists():
            for path in folder.iterdir():  # the mark that bisect made it goes last, in case this is killed
                if path.name != MARK:
                    shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
            shutil.rmtree(folder)
        _git(self._root, "worktree", "prune")


def _is_working_tree(folder: Path) -> bool:
    """Whether `git worktree add` made a folder, or began to."""
    file = folder / MARK
    if not file.exists():
        return folder.is_dir() and not any(folder.iterdir())
    return file.is_file() and "/worktrees/" in file.read_text(encoding="utf-8", errors="replace")


def _git(folder: Path, *arguments: str, of: str | None = None) -> str:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=LONGEST, check=True
        )
    except FileNotFoundError as error:
        raise BadInput("git is not installed; bisect needs it") from error
    except subprocess.CalledProcessError as error:
        what = f"no commit {of!r}" if of is not None else error.stderr.strip() or "failed"
        raise BadInput(f"{folder}: git {arguments[0]}: {what}") from error
    except subprocess.TimeoutExpired as error:
        raise BadInput(f"{folder}: git {arguments[0]} took over {LONGEST:g} s") from error
    return done.stdout.strip()
