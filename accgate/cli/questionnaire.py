"""The command `questionnaire`: build a page on which people rate answers, or import what they rated."""

from __future__ import annotations

import argparse
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import console, write
from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.questionnaire import Question

BUILDING = ("out", "model", "task", "config", "questions", "items", "seed", "show_targets", "force")
IMPORTING = ("key", "alpha", "beta", "theta", "correction", "allow_missing", "markdown", "json")
IMPORT = "import"


def questionnaire(arguments: argparse.Namespace) -> int:
    """Build a questionnaire, or import its ratings and decide on them."""
    importing = arguments.paths[0] == IMPORT
    unfit = [name for name in (BUILDING if importing else IMPORTING) if getattr(arguments, name) not in (None, False)]
    if unfit:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in unfit)
        other = "building a questionnaire" if importing else "`questionnaire import`"
        raise BadInput(f"{options}: for {other} only; leave it out here")
    return _import(arguments) if importing else _build(arguments)


def _build(arguments: argparse.Namespace) -> int:
    from accgate.questionnaire import key_json, page_html, read_wording
    from accgate.questionnaire import questionnaire as built

    page_path = arguments.out or Path("questionnaire.html")
    key_path = page_path.with_name(page_path.stem + ".key.json")
    if key_path.exists() and not arguments.force:
        mend = "the ratings of its questionnaire need it: name another --out, or --force to replace it"
        raise BadInput(f"{key_path}: exists; {mend}")
    wording = read_wording(arguments.items)
    reference, candidate, questions = _source(arguments)
    made = built(
        questions, wording, seed=secrets.randbits(63) if arguments.seed is None else arguments.seed,
        reference=reference, candidate=candidate, count=arguments.questions, show_targets=bool(arguments.show_targets),
    )  # fmt: skip
    page = page_html(made.page)
    write(str(key_path), key_json(made.key))
    write(str(page_path), page)
    answers, items = len(made.key.answers), len(made.key.items)
    print(
        f"wrote {page_path}: {len(made.key.questions)} of {len(questions)} questions, {answers} answers, {items} items"
    )
    print(f"wrote {key_path}: tells which answer is whose; keep it from the raters until they are done")
    print(f"Next: have people open the page, then accgate questionnaire import RATINGS.json... --key {key_path}")
    return PASSED


def _source(arguments: argparse.Namespace) -> tuple[str, str, tuple[Question, ...]]:
    from accgate.questionnaire import from_files, from_run

    paths = [Path(path) for path in arguments.paths]
    if len(paths) == 1 and paths[0].is_dir():
        return from_run(paths[0], arguments.config or Path("accuracy.toml"), arguments.model, arguments.task)
    if len(paths) != 2 or any(path.is_dir() for path in paths):
        raise BadInput("give a run's folder, or two files: REFERENCE and CANDIDATE, records or a reference's .toml")
    chosen = [f"--{name}" for name in ("model", "task", "config") if getattr(arguments, name) is not None]
    if chosen:
        raise BadInput(f"{', '.join(chosen)}: for a run's folder only; two files need no such choice")
    return from_files(*paths)


def _import(arguments: argparse.Namespace) -> int:
    from accgate.design import Design
    from accgate.questionnaire import judgement_markdown, judgement_of, print_judgement, read_key, read_ratings
    from accgate.result import to_json

    if arguments.key is None:
        raise BadInput(
            "which questionnaire? Name its key with --key FILE, the .key.json that was written with the page"
        )
    if len(arguments.paths) < 2:
        raise BadInput("which ratings? Name the files that the raters downloaded")
    if arguments.json and arguments.markdown == "-":
        raise BadInput("--json and --markdown - both want standard output; write the Markdown to a file")
    key = read_key(arguments.key)
    design = Design(
        alpha=0.05 if arguments.alpha is None else arguments.alpha,
        beta=0.2 if arguments.beta is None else arguments.beta, theta=arguments.theta,
    )  # fmt: skip
    ratings = read_ratings([Path(path) for path in arguments.paths[1:]], key)
    judged = judgement_of(
        key, ratings, design, correction=arguments.correction or "holm", allow_missing=bool(arguments.allow_missing)
    )
    if arguments.markdown is not None:
        write(arguments.markdown, judgement_markdown(judged))
    if arguments.json:
        print(to_json(judged))
    elif arguments.markdown != "-":
        print_judgement(console(), judged)
    return judged.exit_code
