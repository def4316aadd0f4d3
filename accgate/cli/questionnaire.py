"""The command `questionnaire`.

It builds a page on which people rate answers, or imports their ratings.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import CONFIG, print_outcome, write
from accgate.cli.parser import run_folder
from accgate.cli.working_folder import nearest_config
from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.questionnaire.answers import Question

IMPORT = "import"
PAGE = Path("questionnaire.html")
TO_BUILD = ("out", "model", "task", "config", "questions", "items", "seed", "show_targets", "force")
TO_IMPORT = ("key", "alpha", "beta", "theta", "correction", "allow_missing", "markdown", "json")


def questionnaire_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `questionnaire`.

    Their defaults are None, so that one in the wrong place is noticed.
    """
    command.usage = (
        "accgate questionnaire [--out FILE] [...] DIR | REFERENCE CANDIDATE\n"
        "       accgate questionnaire import RATINGS.json... --key FILE [...]"
    )
    what = "a run's folder, or two files of answers; or `import` and the files that raters downloaded"
    command.add_argument("paths", nargs="+", metavar="PATH", help=what)
    build = command.add_argument_group("to build the page that people rate on")
    build.add_argument("--out", type=Path, metavar="FILE", help=f"the page; its key is written beside it ({PAGE})")
    build.add_argument("--config", type=Path, metavar="FILE", help=f"config with the run's references ({CONFIG})")
    build.add_argument("--model", metavar="NAME", help="which model, if the run's folder has several")
    build.add_argument("--task", metavar="NAME", help="which task, if the run's folder has several")
    build.add_argument("--questions", type=int, metavar="N", help="number of questions to draw (20, or all)")
    build.add_argument("--items", type=Path, metavar="FILE", help="TOML with the statements to agree or disagree with")
    build.add_argument("--seed", type=int, help="seed of draw and order (random); it reveals which side gave an answer")
    build.add_argument("--show-targets", action="store_true", default=None, help="show the expected answers")
    build.add_argument("--force", action="store_true", default=None, help="replace a questionnaire and its key")
    ratings = command.add_argument_group("to import ratings")
    ratings.add_argument("--key", type=Path, metavar="FILE", help="the .key.json that was written with the page")
    ratings.add_argument("--alpha", type=float, help="type I error rate (0.05)")
    ratings.add_argument("--beta", type=float, help="type II error rate (0.2)")
    ratings.add_argument("--theta", type=float, help="drop in points (25 a level) that must be detectable")
    ratings.add_argument("--correction", choices=["none", "holm", "bonferroni", "bh"], help="over several items (holm)")
    ratings.add_argument("--allow-missing", action="store_true", default=None, help="leave out what was not rated")
    ratings.add_argument("--markdown", metavar="FILE", help="write Markdown too; - prints only it on standard output")
    ratings.add_argument("--json", action="store_true", default=None, help="print only JSON on standard output")


def questionnaire(arguments: argparse.Namespace) -> int:
    """Build a questionnaire, or import its ratings and decide on them."""
    importing = arguments.paths[0] == IMPORT
    unfit = [name for name in (TO_BUILD if importing else TO_IMPORT) if getattr(arguments, name) is not None]
    if unfit:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in unfit)
        other = "building a questionnaire" if importing else "`questionnaire import`"
        raise BadInput(f"{options}: for {other} only; leave it out here")
    return _import(arguments) if importing else _build(arguments)


def _build(arguments: argparse.Namespace) -> int:
    import secrets

    from accgate.questionnaire.key import key_json, read_wording
    from accgate.questionnaire.page import draw_questionnaire, page_html

    page_path = arguments.out or PAGE
    key_path = page_path.with_name(page_path.stem + ".key.json")
    if key_path.exists() and not arguments.force:
        fix = "the ratings of its questionnaire need it: name another --out, or replace it with --force"
        raise BadInput(f"{key_path}: exists; {fix}")
    wording = read_wording(arguments.items)
    reference, candidate, questions = _source_of(arguments)
    page, key = draw_questionnaire(
        questions,
        wording,
        seed=secrets.randbits(63) if arguments.seed is None else arguments.seed,
        reference=reference,
        candidate=candidate,
        count=arguments.questions,
        show_targets=bool(arguments.show_targets),
    )
    html = page_html(page)
    write(key_path, key_json(key))
    write(page_path, html)
    drawn, answers, items = len(key.questions), len(key.answers), len(key.items)
    print(f"wrote {page_path}: {drawn} of {len(questions)} questions, {answers} answers, {items} items")
    print(f"wrote {key_path}: tells which answer is whose; keep it from the raters until they are done")
    print(f"Next: have people open the page, then accgate questionnaire import RATINGS.json... --key {key_path}")
    return PASSED


def _source_of(arguments: argparse.Namespace) -> tuple[str, str, tuple[Question, ...]]:
    """Return the names of reference and candidate, and the questions with both answers."""
    from accgate.questionnaire.answers import from_files, from_run

    paths = [run_folder(path) for path in arguments.paths]
    if len(paths) == 1 and paths[0].is_dir():
        return from_run(paths[0], arguments.config or nearest_config(), arguments.model, arguments.task)
    if len(paths) != 2 or any(path.is_dir() for path in paths):
        raise BadInput("give a run's folder, or two files: REFERENCE and CANDIDATE, records or a reference's .toml")
    chosen = [f"--{name}" for name in ("model", "task", "config") if getattr(arguments, name) is not None]
    if chosen:
        raise BadInput(f"{', '.join(chosen)}: for a run's folder only; leave it out for two files")
    return from_files(*paths)


def _import(arguments: argparse.Namespace) -> int:
    from accgate.design import Design
    from accgate.questionnaire.key import read_key
    from accgate.questionnaire.survey import read_ratings, survey_of
    from accgate.questionnaire.views import print_survey, survey_markdown

    if arguments.key is None:
        raise BadInput("which questionnaire? Give its key with --key FILE, the .key.json written beside the page")
    if len(arguments.paths) < 2:
        raise BadInput("which ratings? Name the files that the raters downloaded")
    if arguments.json and arguments.markdown == "-":
        raise BadInput("--json and --markdown - both want standard output; write the Markdown to a file")
    key = read_key(arguments.key)
    design = Design(
        alpha=0.05 if arguments.alpha is None else arguments.alpha,
        beta=0.2 if arguments.beta is None else arguments.beta,
        theta=arguments.theta,
    )
    ratings = read_ratings([Path(path) for path in arguments.paths[1:]], key)
    result = survey_of(
        key, ratings, design, correction=arguments.correction or "holm", allow_missing=bool(arguments.allow_missing)
    )
    print_outcome(arguments, result, lambda screen: print_survey(screen, result), lambda: survey_markdown(result))
    return result.exit_code
