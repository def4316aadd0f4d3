"""Lost answers that were asked again, for the terminal.

They come from one run or from several commits.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from rich.console import Console
from rich.text import Text

from accgate.decision.bisection import Bisection, Commit, Culprit
from accgate.decision.cause import AskedAgain
from accgate.errors import BadInput
from accgate.records.file import numbered_records, paths_of, records_with
from accgate.report.flips import flips_of
from accgate.report.terminal import print_paragraph, print_table
from accgate.result import Result
from accgate.stats.walk import Floats
from accgate.text import number, visible
from accgate.verdict import Verdict


def print_asked_again(console: Console, done: AskedAgain, run: Path) -> None:
    """Print how often lost answers came back, and how many are lost for good."""
    back, scored, unread, asked = done.back, done.scored, done.unread, done.times * len(done.back)
    each = "once" if done.times == 1 else f"{done.times} times"
    gone, flickering = len(done.lost), len(done.flickering)
    silent = len(back) - gone - flickering
    lost = (
        f"{gone} {'is' if gone == 1 else 'are'} lost for good and {flickering} flicker{'s' if flickering == 1 else ''}"
    )
    end = f"; {silent} never got a score." if silent else "."
    text = f"{done.model} / {done.task}: of {len(back)} lost answers, asked again {each}, {lost}{end}"
    print_paragraph(console, text, "bold")
    if failed := asked - sum(scored.values()):
        text = f"{failed} of {asked} answers failed and are not counted; the first: {done.failure}"
        print_paragraph(console, text)
    if without := sum(unread.values()):
        print_paragraph(console, f"{without} of {sum(scored.values())} replies held no answer: they count as lost.")
    rows = [
        [done.own_ids.get(id_, id_), f"{count} of {scored[id_]}", *([str(unread[id_])] if without else [])]
        for id_, count in sorted(back.items(), key=lambda item: item[1])
    ]
    print_table(console, ("Sample", "Came back", *(["No answer"] if without else [])), rows, left=(0,))
    print_paragraph(console, f"One of them: accgate rerun {run} --sample ID")


def print_sample(console: Console, result: Result, run: Path, id_: str, model: str | None, task: str | None) -> None:
    """Print prompt, expected answer, both replies and scores of one sample of a run.

    Raises
    ------
    BadInput
        When no check of the run has the sample.
    """
    for verdict in result.checks:
        if model in (None, verdict.model) and task in (None, verdict.task) and (key := _key_of(verdict, run, id_)):
            break
    else:
        raise BadInput(f"{run}: no check has a record of sample {id_!r}; accgate.json lists those that got worse")
    (flip,) = flips_of(replace(verdict, flips=(key,)), run)
    console.print(Text(visible(f"{verdict.model} / {verdict.task}, sample {flip.id}"), style="bold"))
    scores = [number(flip.score_before), number(flip.score)]
    for heading, text in (
        ("Prompt", flip.prompt),
        ("Expected", flip.expected),
        (f"Reference's reply, score {scores[0]}", flip.before),
        (f"Reply, score {scores[1]}", flip.got),
        ("Reasoning", flip.reasoning),
    ):
        if text is not None:
            console.print(Text(heading, style="bold"))
            for line in str(text).splitlines() or [""]:
                print_paragraph(console, line, indent=2)


def _key_of(verdict: Verdict, run: Path, id_: str) -> str | None:
    """Find the key of the sample that has this key or id.

    The id is the sample's own in its dataset.
    """
    if verdict.model is None or verdict.task is None:
        return None
    path = paths_of(run, verdict.model, verdict.task).records
    if any(records_with(path, {id_})):
        return id_
    by_own_id = (record.id for _, record in numbered_records(path) if record.own_id == id_)
    return next(by_own_id, None) if path.exists() else None


# Over commits


CULPRITS = 5  # that are printed while a search goes on
WIDTH = 20  # characters of a bar of probability 1


def print_chances(console: Console, commits: Sequence[Commit], chances: Floats, questions: int) -> None:
    """Print the most probable culprits with a bar each, in the order of history.

    `chances` are the probabilities of all commits but the first.
    """
    best = sorted(sorted(range(len(chances)), key=lambda i: -float(chances[i]))[:CULPRITS])
    console.print(Text(f"{questions:,} questions; the culprit is most probably one of {len(chances)} commits:"))
    for i in best:
        chance = float(chances[i])
        bar = "█" * round(WIDTH * chance)
        console.print(Text(visible(f"  {bar:<{WIDTH}} {chance:4.2f} {commits[i + 1]}")), no_wrap=True)


def print_bisection(console: Console, bisection: Bisection, out: Path) -> None:
    """Print which commits lost the answers, what was skipped, and where the log lies."""
    for culprit in bisection.culprits:
        print_paragraph(console, _sentence(culprit), "bold")
    if not bisection.culprits:
        text = "No commit is shown to lose answers: each loses about as many as it gains, or too few to tell."
        print_paragraph(console, text, "bold")
    for each in bisection.flipping:
        text = f"{each.commit} flips answers either way, loses nothing: {each.lost} lost there, {each.gained} gained."
        print_paragraph(console, text)
    if len(bisection.culprits) > 1:
        print_paragraph(console, f"{len(bisection.culprits)} commits share the loss.")
    for commit, why in bisection.skipped:
        print_paragraph(console, f"Could not be asked: {commit}: {why}")
    text = f"{bisection.questions:,} questions, {bisection.commits} commits, {bisection.lost} lost answers."
    print_paragraph(console, f"{text} The log: {out / 'bisect.log'}")


def _sentence(culprit: Culprit) -> str:
    share = f"{culprit.lost} of {culprit.of} lost answers were right before it and are wrong at it"
    share += f", and {culprit.gained} were gained at it" if culprit.gained else ""
    if culprit.candidates:
        first, last = culprit.candidates[0].sha[:9], culprit.candidates[-1].sha[:9]
        return (
            f"One of the {len(culprit.candidates)} commits {first} to {last} did it; those between could not be asked. "
            f"{share}."
        )
    return f"{culprit.commit} did it (probability {culprit.probability:.2f}). {share}."
