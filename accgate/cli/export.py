"""The command `export`, which writes a run in the formats of other tools."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from accgate.cli.common import RESULT
from accgate.cli.parser import Command, add_commands
from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.interop.run_folder import RunFolder

OUT = Path("accgate-export")


def export_options(command: argparse.ArgumentParser) -> None:
    """Add a command of `export` for each target."""
    add_commands(command, TARGETS, "TOOL")


def _lm_eval_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="MODEL/TASK.jsonl of a run's folder")
    _out_option(command)
    command.add_argument("--metric", default="acc", metavar="NAME", help="what to call the score (acc)")
    command.add_argument("--lower-is-better", action="store_true", help="lower scores are better, as for perplexity")


def _every_eval_ever_options(command: argparse.ArgumentParser) -> None:
    _run_options(command)
    command.add_argument("--organisation", required=True, metavar="NAME", help="who evaluated")
    what = "what they are to the model's developer (third_party)"
    command.add_argument(
        "--relationship",
        default="third_party",
        choices=["first_party", "third_party", "collaborative", "other"],
        help=what,
    )
    command.add_argument("--metric", default="accuracy", metavar="NAME", help="what to call the score (accuracy)")
    command.add_argument("--model-id", action="append", default=[], metavar="MODEL=ORG/NAME", help="name on the Hub")
    command.add_argument("--dataset", action="append", default=[], metavar="TASK=ORG/NAME", help="its place on the Hub")


def _hub_options(command: argparse.ArgumentParser) -> None:
    _run_options(command)
    what = "the task's benchmark on the Hub and its id in eval.yaml there; @COMMIT may follow"
    command.add_argument("--dataset", action="append", default=[], metavar="TASK=ORG/NAME:TASK_ID", help=what)
    command.add_argument("--fractions", action="store_true", help="write points / 100, where its leaderboard does")
    command.add_argument("--source", metavar="URL", help="a link to the run")


def _mlflow_options(command: argparse.ArgumentParser) -> None:
    _run_options(command)
    command.add_argument(
        "--tracking-uri", metavar="URI", help="MLflow's server or database (mlflow.db in the folder of --out)"
    )
    command.add_argument("--experiment", default="accgate", metavar="NAME", help="MLflow's experiment (accgate)")


def _wandb_options(command: argparse.ArgumentParser) -> None:
    _run_options(command)
    command.add_argument("--project", default="accgate", metavar="NAME", help="the project (accgate)")


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", type=Path, default=RESULT, metavar="RUN", help=f"a run ({RESULT})")
    command.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task")
    _out_option(command)


def _out_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder to write to ({OUT})")


def _export_lm_eval(arguments: argparse.Namespace) -> int:
    from datetime import datetime

    from accgate.interop.lm_eval_export import export_lm_eval
    from accgate.records.replacement import refuse_unwritable

    refuse_unwritable(arguments.out)
    for records in arguments.records:
        now, higher = datetime.now(), not arguments.lower_is_better  # noqa: DTZ005 lm-eval's names have none
        files = export_lm_eval(records, arguments.out, metric=arguments.metric, now=now, higher_is_better=higher)
        _print_written(files)
    return PASSED


def _export_every_eval_ever(arguments: argparse.Namespace) -> int:
    from accgate.interop.every_eval_ever import Source, export_every_eval_ever

    run = _run_of(arguments)
    model_ids = _pairs(arguments.model_id, "--model-id MODEL=ORG/NAME")
    datasets = _pairs(arguments.dataset, "--dataset TASK=ORG/NAME")
    source = Source(arguments.organisation, arguments.relationship, arguments.metric, model_ids, datasets)
    return _print_written(export_every_eval_ever(run, arguments.out, source))


def _export_hub(arguments: argparse.Namespace) -> int:
    from accgate.interop.hub import export_hub

    files = export_hub(
        _run_of(arguments),
        arguments.out,
        benchmarks=_pairs(arguments.dataset, "--dataset TASK=ORG/NAME:TASK_ID"),
        fractions=arguments.fractions,
        source=arguments.source,
    )
    _print_written(files)
    print("Next: upload the folder .eval_results to the model's repository, with `hf upload`")
    return PASSED


def _export_mlflow(arguments: argparse.Namespace) -> int:
    from accgate.interop.trackers import export_mlflow

    run = _run_of(arguments)
    for id_ in export_mlflow(run, arguments.out, uri=arguments.tracking_uri, experiment=arguments.experiment):
        print(f"logged run {id_} in the experiment {arguments.experiment}")
    if arguments.tracking_uri is None:
        print(f"Next: mlflow ui --backend-store-uri sqlite:///{arguments.out / 'mlflow.db'}")
    return PASSED


def _export_wandb(arguments: argparse.Namespace) -> int:
    from accgate.interop.trackers import export_wandb

    folders = export_wandb(_run_of(arguments), arguments.out, project=arguments.project)
    _print_written(folders)
    print(f"Next: wandb sync {folders[0]}")
    return PASSED


def _run_of(arguments: argparse.Namespace) -> RunFolder:
    """Read the run to export, once its output can be written."""
    from accgate.interop.run_folder import read_run
    from accgate.records.replacement import refuse_unwritable

    refuse_unwritable(arguments.out)
    return read_run(arguments.folder, tasks=arguments.task)


def _print_written(paths: Sequence[Path]) -> int:
    print(*(f"wrote {path}" for path in paths), sep="\n")
    return PASSED


def _pairs(texts: Sequence[str], form: str) -> Mapping[str, str]:
    """Split NAME=VALUE pairs, by name.

    The name of a model or task may hold what a value may not, so the last = counts.
    """
    pairs = [text.rpartition("=") for text in texts]
    if wrong := [text for text, (name, _, value) in zip(texts, pairs, strict=True) if not name or not value]:
        raise BadInput(f"{wrong[0]!r}: write {form}")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise BadInput(f"{form}: names one of them twice")
    return {name: value for name, _, value in pairs}


TARGETS = (
    Command("lm-eval", "write run records as lm-evaluation-harness does", _lm_eval_options, _export_lm_eval),
    Command(
        "every-eval-ever", "write a run in Every Eval Ever's schema", _every_eval_ever_options, _export_every_eval_ever
    ),
    Command("hf", "write a run's scores for a model's page on the Hugging Face Hub", _hub_options, _export_hub),
    Command("mlflow", "log a run in MLflow", _mlflow_options, _export_mlflow),
    Command("wandb", "write a run for Weights & Biases, offline", _wandb_options, _export_wandb),
)
