"""The commands `compare` and `sigma`, which need files of scores and no model."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import layout_of, print_note, print_outcome, rate_options, scores_options
from accgate.errors import PASSED
from accgate.inputs.rows import COMPARED
from accgate.stats.names import TESTS

if TYPE_CHECKING:
    from rich.console import Console


def compare_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `compare`."""
    what = "a table, or another tool's file, with id and score"
    command.add_argument("reference", type=Path, metavar="REFERENCE", help=what)
    command.add_argument("candidate", type=Path, metavar="CANDIDATE", help="the same of the run to decide on")
    what = "the test to decide by (auto)"
    command.add_argument("--test", default="auto", choices=[test for test in TESTS if test != "target"], help=what)
    rate_options(command)
    command.add_argument("--sigma", type=float, help="standard deviation of one score in points, for two-sample")
    command.add_argument("--theta", type=float, help="drop in points that must be detectable")
    command.add_argument("--early-stopping", action="store_true", help="use as few samples as the evidence allows")
    command.add_argument("--discordance", type=float, metavar="Q", help="share of samples expected to change")
    command.add_argument("--seed", type=int, default=0, help="seed of the sample order and of resampling (0)")
    command.add_argument("--lower-is-better", action="store_true", help="lower scores are better, as for perplexity")
    command.add_argument("--allowed-drop", default="0", metavar="D", help="accepted loss: points, or N%% of mean (0)")
    command.add_argument("--certify", action="store_true", help="a pass must prove a drop below D + theta")
    words = "what may differ between both sides' samples, such as the prompt; may be repeated"
    command.add_argument("--may-differ", action="append", default=[], choices=sorted(COMPARED), help=words)
    scores_options(command)


def sigma_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `sigma`."""
    command.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="one or two files with id and score")
    command.add_argument("--theta", type=float, default=2.0, help="drop in points to plan for (2)")
    rate_options(command)
    scores_options(command)


def compare(arguments: argparse.Namespace) -> int:
    """Decide from two files of scores."""
    from accgate.decision.comparison import compare_scores
    from accgate.design import Design, allowed_points
    from accgate.records.pairing import refuse_other_samples
    from accgate.records.scores import in_points, read_scores
    from accgate.references.judge import refuse_other_judge
    from accgate.result import result_of_verdict

    layout, unpaired = layout_of(arguments), arguments.test == "two-sample"
    bounds, paths = arguments.bounds and tuple(arguments.bounds), (arguments.reference, arguments.candidate)
    sides = read_scores(paths[0], "reference", layout), read_scores(paths[1], "candidate", layout)
    names = str(paths[0]), str(paths[1])
    reference, candidate = in_points(*sides, arguments.scale, bounds=bounds, names=names)
    is_shown = unpaired or refuse_other_samples(paths, reference, candidate, layout, arguments.may_differ)
    refuse_other_judge(*paths)
    is_larger = candidate.n > reference.n and not reference.ids.without(candidate.ids)
    if is_larger and not unpaired and "dataset" in arguments.may_differ:
        print_note(f"{reference.n:,} of {candidate.n:,} samples have a reference; only these are compared")
        candidate = candidate.take(reference.ids)
    design = Design(
        test=arguments.test,
        alpha=arguments.alpha,
        beta=arguments.beta,
        sigma=arguments.sigma,
        theta=arguments.theta,
        higher_is_better=not arguments.lower_is_better,
        discordance=arguments.discordance,
        early_stopping=arguments.early_stopping,
        seed=arguments.seed,
        allowed_drop=allowed_points(arguments.allowed_drop, float(reference.means().mean())),
        certify=arguments.certify,
    )
    result = result_of_verdict(compare_scores(reference, candidate, design, bounds=bounds, is_shown=is_shown))

    def show(screen: Console) -> None:
        from accgate.report.ending import print_result  # rich, which --json does without

        print_result(screen, result)

    print_outcome(arguments, result.checks[0], show)
    return result.exit_code


def sigma(arguments: argparse.Namespace) -> int:
    """Estimate how much scores vary, within a run and between two runs."""
    from accgate.planning.noise import noise_of
    from accgate.report.plans import print_noise

    noise = noise_of(
        arguments.records,
        theta=arguments.theta,
        alpha=arguments.alpha,
        beta=arguments.beta,
        scale=arguments.scale,
        bounds=arguments.bounds and tuple(arguments.bounds),
        layout=layout_of(arguments),
    )
    print_outcome(arguments, noise, lambda screen: print_noise(screen, noise))
    return PASSED
