"""The search for the commit that lost answers.

It places each lost or gained sample between commits, and names only commits with a net loss.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from accgate.config.config import load_config, select
from accgate.decision.bisection import Bisection, Commit, Culprit
from accgate.decision.cause import flips_either_way, selection_of
from accgate.errors import BadInput, CannotEvaluate, writing
from accgate.evaluation.assignment import Observer
from accgate.planning.checks import Check, plan_checks
from accgate.planning.design import planned_model
from accgate.planning.model import PlannedModel
from accgate.records.replacement import write_atomically
from accgate.records.scores import Scores
from accgate.report.result_file import read_result
from accgate.result import NAME
from accgate.stats.betting import coin_evidence
from accgate.stats.walk import Floats
from accgate.text import nearest
from accgate.trials.arm import Scored, TrialFolder, ask
from accgate.trials.commits import History
from accgate.trials.culprit import (
    ALPHA,
    Placed,
    counts_of,
    culprits,
    evidence_of,
    is_explained,
    needed_evidence,
    next_question,
)
from accgate.trials.loss import Changed, changed_of, reference_scores
from accgate.verdict import Verdict

ANSWERS, LOG = "answers.jsonl", "bisect.log"
VISIT = "[0-9]" * 4 + "-*"  # the folders of the records of each commit asked
FOLDER = TrialFolder("bisect", models=f"{VISIT}/*", files=(ANSWERS, LOG))
LEAST = 3  # lost answers; fewer cannot be told from flicker
BATCHES = (8, 30, 10**9)  # lost answers to search with, beside those gained between them; at last all
MOST = 3  # commits that are named at most
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
    """Find the commit that lost a model's answers.

    Rules and references are those of the good one.

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
        Is told the commits, how the evidence spreads over those after the first, and the questions so far.

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
        changed = search.changed(run)
        search.search_for_culprits(changed)
        lost = sum(is_lost for _, is_lost in changed)
        culprits, flipping = search.named_commits()
        search.write_log(culprits)
    skipped = tuple((history.commits[place], why) for place, why in sorted(search.skipped.items()))
    name, counts = (check.model, check.task.name), (search.last, lost)
    return Bisection(*name, *counts, tuple(culprits), skipped, search.questions, tuple(flipping))


def _beginning(changed: Sequence[tuple[str, bool]], lost: int) -> Sequence[tuple[str, bool]]:
    """Return the first samples that changed, up to so many lost ones."""
    places = [place for place, (_, is_lost) in enumerate(changed) if is_lost]
    return changed if lost >= len(places) else changed[: places[lost - 1] + 1]


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
    """A search for commits, with the answers so far.

    `answers` has for each (sample, commit) -1 where the sample is lost, 1 where it is gained, else 0.
    """

    history: History
    check: Check
    out: Path
    serve: str | None
    shows: Shows | None
    answers: dict[tuple[str, int], int] = field(default_factory=dict)
    placed: dict[str, Placed] = field(default_factory=dict)
    further: Sequence[str] = ()  # samples of which nothing is known at the bad commit at first
    skipped: dict[int, str] = field(default_factory=dict)
    questions: int = 0
    visits: int = 0

    @property
    def last(self) -> int:
        """The place of the bad commit."""
        return len(self.history.commits) - 1

    @property
    def search(self) -> dict[str, str | None]:
        """Which search this is, since answers of another one are never mixed in."""
        rules = {"good": self.history.commits[0].sha, "config": self.history.path.as_posix()}
        return {**rules, "model": self.check.model, "task": self.check.task.name, "serve": self.serve}

    def read_answers(self) -> None:
        """Read the answers of a search that goes on.

        A torn last line is dropped.

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
                raise BadInput(f"{path}: holds answers of another search; leave --resume out, or name another --out")
            self.visits, self.questions = row["visit"], row["questions"]
            if row["skipped"] is not None:
                self.skipped[number] = row["skipped"]
            gained = set(row.get("gained", ()))
            for id_, right in row["right"].items():
                self.answers[id_, number] = 1 if id_ in gained else 0 if right else -1

    def changed(self, run: Path | None) -> list[tuple[str, bool]]:
        """Return the samples that the bad commit lost or gained, in the fixed order.

        Each comes with whether it was lost. They are those of a `run` of that commit, and of more samples asked here
        until a net loss is shown.

        Raises
        ------
        BadInput
            When too few are lost, or not enough more than were gained.
        """
        ids, alpha = list(self.check.task.samples.ids), self.check.alpha_planned
        signs, selection = dict[str, int](), alpha
        if run is not None:
            verdict = _verdict_in(run, self.check)
            of = changed_of(self.check, verdict, run)
            signs = dict.fromkeys(of.lost, -1) | dict.fromkeys(of.gained, 1)
            ids, alpha = list(of.further), verdict.level
            self._refuse_other_loss(of)
            selection = selection_of(verdict.p_value, alpha, ALPHA)
        self.further = ids
        is_shown = selection == 1.0 or self._ask_bad(ids, signs, needed_evidence(alpha))
        changed = [(id_, signs[id_] < 0) for id_ in self.check.task.samples.ids if signs.get(id_)]
        lost = sum(is_lost for _, is_lost in changed)
        beginning = f"{self.check.name}: of {len(self.check.task.samples):,} samples the bad commit lost {lost}"
        if lost < LEAST:
            raise BadInput(f"{beginning}; a search needs {LEAST}: give a run that failed with --run, or another --bad")
        if not is_shown:
            raise BadInput(
                f"{beginning} and gained {len(changed) - lost}. A harmless change may do the same, so no commit is "
                "named: give a run that failed with --run, more samples, or another --bad"
            )
        return changed

    def _refuse_other_loss(self, of: Changed) -> None:
        """Refuse a run of whose lost answers the bad commit loses none again."""
        first = list(of.lost[: BATCHES[0]])
        self._ask(self.last, first)
        self._refuse_no_answers()
        if not any(self.answers.get((id_, self.last)) == -1 for id_ in first):
            raise BadInput(
                f"{self.check.name}: none of {len(first)} lost answers is lost at {self.history.commits[-1]} "
                "when it is asked again; they were lost by chance, or the run is not one of the bad commit"
            )

    def _refuse_no_answers(self) -> None:
        if self.last in self.skipped:
            raise CannotEvaluate(f"the bad commit cannot be asked: {self.skipped[self.last]}")

    def _ask_bad(self, ids: Sequence[str], signs: dict[str, int], needed: float) -> bool:
        """Ask the bad commit until its net loss is shown.

        Return whether it is shown. Samples are asked in their order.
        """
        last = self.last

        def is_shown() -> bool:
            return coin_evidence(sum(s < 0 for s in signs.values()), sum(s > 0 for s in signs.values())) >= needed

        def is_enough(scores: Scored) -> bool:
            signs.update(self._signs_of(scores))
            return is_shown()

        signs.update((id_, self.answers[id_, last]) for id_ in ids if (id_, last) in self.answers)
        missing = [id_ for id_ in ids if (id_, last) not in self.answers]
        if missing and not is_shown():
            self._visit(last, missing, ends=is_enough)
            self._refuse_no_answers()
            signs.update((id_, self.answers[id_, last]) for id_ in missing if (id_, last) in self.answers)
        return is_shown()

    def search_for_culprits(self, changed: Sequence[tuple[str, bool]]) -> None:
        """Place the samples that changed, a few at first.

        The search goes on until commits are named or no sample is left.
        """
        for count in BATCHES:
            self._place(_beginning(changed, count))
            if count != BATCHES[0] and is_explained([*self.placed.values()]):
                return
        count = BATCHES[0]

        def is_enough(scores: Scored) -> bool:
            return [*self._signs_of(scores).values()].count(-1) >= count

        while missing := [id_ for id_ in self.further if (id_, self.last) not in self.answers]:
            count *= 2
            more = self._visit(self.last, missing, ends=is_enough)
            self._place([(id_, sign < 0) for id_, sign in more.items() if sign])
            if is_explained([*self.placed.values()]) or not more:
                return

    def _place(self, changed: Sequence[tuple[str, bool]]) -> None:
        """Ask commits until nothing more tells where these samples changed.

        Samples that were placed before are asked, too.
        """
        self._ask(self.last, [id_ for id_, _ in changed])
        for id_, is_lost in changed:
            if id_ not in self.placed and self.answers.get((id_, self.last)) == (-1 if is_lost else 1):
                self.placed[id_] = Placed(is_lost, 0, self.last)
        while True:
            ids, samples = list(self.placed), list(self.placed.values())
            if self.shows is not None and samples:
                self.shows(self.history.commits, self._chances(), self.questions)
            question = next_question(samples, frozenset(self.skipped))
            if question is None:
                return
            place, those = question
            self._ask(place, [ids[i] for i in those])
            for id_ in () if place in self.skipped else [ids[i] for i in those]:
                sign = self.answers.get((id_, place))
                if sign is None:  # without a score there it tells nothing of where it changed
                    del self.placed[id_]
                else:
                    is_changed = sign == (-1 if self.placed[id_].lost else 1)
                    self.placed[id_] = self.placed[id_].answered(place, is_changed=is_changed)

    def _chances(self) -> Floats:
        """Return how the evidence is spread over the commits after the first."""
        chances = np.zeros(self.last)
        evidence = evidence_of([*self.placed.values()])
        for (low, high), value in evidence.items():
            chances[low:high] += value / sum(evidence.values()) / (high - low)
        return chances

    def named_commits(self) -> tuple[list[Culprit], list[Culprit]]:
        """Return the commits that lost answers, and those that flip them either way.

        Both are oldest first.
        """
        samples = [*self.placed.values()]
        evidence, counts, named = evidence_of(samples), counts_of(samples), culprits(samples)[:MOST]
        of = sum(sample.lost for sample in samples)
        rest = sum(value for cell, value in evidence.items() if cell not in named)

        def culprit(cell: tuple[int, int]) -> Culprit:
            between = self.history.commits[cell[0] + 1 : cell[1] + 1]
            chance = evidence[cell] / (evidence[cell] + rest) if cell in named else 0.0
            lost, gained = counts[cell]
            return Culprit(between[-1], chance, lost, of, between if len(between) > 1 else (), gained)

        either = [c for c in counts if c not in named and c[1] == c[0] + 1 and flips_either_way(*counts[c])]
        return [culprit(cell) for cell in sorted(named)], [culprit(cell) for cell in sorted(either)]

    def _ask(self, place: int, ids: Sequence[str]) -> None:
        """Ask samples of a commit that it was not asked yet."""
        missing = [id_ for id_ in ids if (id_, place) not in self.answers]
        if missing and place not in self.skipped:
            self._visit(place, missing)

    def _signs_of(self, scores: Scored) -> dict[str, int]:
        """Return whether each sample is lost (-1), gained (1) or as before (0).

        Samples without a score are left out.
        """
        before = reference_scores(self.check)
        return {
            id_: (score > before[id_]) - (score < before[id_]) for id_, score in scores.items() if score is not None
        }

    def _visit(self, place: int, ids: Sequence[str], *, ends: Callable[[Scored], bool] | None = None) -> dict[str, int]:
        """Ask samples of a commit, and return their signs.

        A commit that cannot be asked is skipped.
        """
        commit, number = self.history.commits[place], self.visits + 1
        folder = self.out / f"{number:04}-{commit.sha[:9]}"
        scores: Scored = {}
        try:
            with self.history.tree(commit, self.out / "tree") as path:
                name = f"{self.check.model} at {commit.sha[:9]}"
                answers = ask(self.check, name, self._model_at(path), ids, folder, observer=Observer(), ends=ends)
                scores = answers.scores
                self.questions += answers.questions
        except (BadInput, CannotEvaluate) as error:
            self.skipped[place] = str(error).splitlines()[0]
        signs = self._signs_of(scores)
        self.answers.update({(id_, place): sign for id_, sign in signs.items()})
        if place not in self.skipped and not signs:
            self.skipped[place] = "no sample had a score"
        self.visits = number
        row = {
            "search": self.search,
            "visit": number,
            "commit": commit.sha,
            "right": {id_: sign >= 0 for id_, sign in signs.items()},
            "gained": [id_ for id_, sign in signs.items() if sign > 0],
            "skipped": self.skipped.get(place),
            "questions": self.questions,
        }
        with writing(path := self.out / ANSWERS), path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        return signs

    def _model_at(self, path: Path) -> PlannedModel:
        """Return the model as a commit has it."""
        config = load_config(path)
        if self.check.model not in config.models:
            raise BadInput(f"has no model {self.check.model!r}; {nearest(self.check.model, config.models)}")
        planned = planned_model(config, self.check.model)
        if self.serve is None:
            return planned
        options = {"serve": shlex.split(self.serve), "base_url": "http://127.0.0.1:{port}/v1"}
        return replace(planned, settings=replace(planned.settings, engine="openai", options=options))

    def write_log(self, culprits: Sequence[Culprit]) -> None:
        """Write a log as `git bisect log` does, for `git bisect replay`."""
        commits = self.history.commits

        def mark(word: str, commit: Commit) -> list[str]:
            return [f"# {word}: [{commit.sha}] {commit.subject}", f"git bisect {word} {commit.sha}"]

        lines = ["git bisect start", *mark("good", commits[0])]
        first = commits.index(culprits[0].commit) if culprits else self.last
        places = sorted({place for _, place in self.answers if culprits} | set(self.skipped))
        for place in [self.last, *(place for place in places if 0 < place < self.last)]:
            word = "skip" if place in self.skipped else "bad" if place >= first else "good"
            lines += mark(word, commits[place])
        lines += [f"# first bad commit: [{each.commit.sha}] {each.commit.subject}" for each in culprits]
        with writing(path := self.out / LOG):
            write_atomically(path, ("\n".join(lines) + "\n").encode())


def _verdict_in(run: Path, check: Check) -> Verdict:
    """Return the verdict of a run of the bad commit."""
    verdicts = [verdict for verdict in read_result(run / NAME).checks if (verdict.model, verdict.task) == check.key]
    if not verdicts:
        raise BadInput(f"{run / NAME}: has no check of {check.name}")
    return verdicts[0]
