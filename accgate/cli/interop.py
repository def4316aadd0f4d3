"""The commands `import` and `export`, for files of other evaluation tools."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.cli.common import RESULT, json_option, layout_of, layout_options, print_json, print_note, scale_option
from accgate.cli.parser import Command, add_commands
from accgate.errors import BAD_INPUT, PASSED, BadInput
from accgate.text import count_of, nearest

if TYPE_CHECKING:
    from accgate.interop.run_folder import RunFolder
    from accgate.interop.task_log import Choice, TaskLog

OUT, EXPORTED = Path("accgate-import"), Path("accgate-export")
OF_LOG = ("model", "task", "metric", "samples", "mean", "reported", "higher_is_better")  # what is printed of one


def import_options(command: argparse.ArgumentParser) -> None:
    """Add a command of `import` for each tool."""
    add_commands(command, TOOLS, "TOOL")


def _lm_eval_options(command: argparse.ArgumentParser) -> None:
    _log_options(command, "samples_*.jsonl, or its folder", "metric to read, such as acc_norm")
    command.add_argument("--filter", metavar="NAME", help="filter to read, such as flexible-extract")


def _inspect_options(command: argparse.ArgumentParser) -> None:
    metric = "scorer to read, or scorer/key if it has several values"
    _log_options(command, ".eval or .json logs, or their folder", metric)
    command.add_argument("--reducer", metavar="NAME", help="how epochs become one score, if the log has several ways")


def _nemo_options(command: argparse.ArgumentParser) -> None:
    _log_options(command, "results.jsonl or byob_predictions.jsonl, or a folder", "metric to read")


def _samples_options(command: argparse.ArgumentParser) -> None:
    _log_options(command, "tables, or files of other tools")
    layout_options(command)


def _trtllm_options(command: argparse.ArgumentParser) -> None:
    _file_options(command, "references/NAME.yaml, or the folder")
    what = "write them here (references)"
    command.add_argument("--references", type=Path, default=Path("references"), metavar="DIR", help=what)
    command.add_argument("--model", action="append", default=[], metavar="NAME", help="only this model's")
    command.add_argument("--sigma", type=float, help="standard deviation of one score in points, where it is unknown")
    command.add_argument("--num-samples", type=int, metavar="N", help="number of samples, where it is unknown")


def _file_options(command: argparse.ArgumentParser, paths: str) -> None:
    json_option(command)
    command.add_argument("--reason", metavar="TEXT", help="why references are replaced")
    command.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=paths)


def _log_options(command: argparse.ArgumentParser, paths: str, metric: str = "") -> None:
    _file_options(command, paths)
    if metric:
        command.add_argument("--metric", metavar="NAME", help=f"{metric}; needed if the log has several")
    scale_option(command)
    command.add_argument("--model", metavar="NAME", help="what to call the model (its name in the log)")
    command.add_argument("--task", metavar="NAME", help="name of the task of a single log (its name in the log)")
    command.add_argument("--out", type=Path, metavar="DIR", help=f"write run records ({OUT}, without --references)")
    command.add_argument("--references", type=Path, metavar="DIR", help="write references with their scores")
    command.add_argument("--variant", action="append", default=[], metavar="KEY=VALUE", help="variant of references")
    command.add_argument("--no-replies", action="store_true", help="keep no replies beside the references' scores")


def _import_lm_eval(arguments: argparse.Namespace) -> int:
    from accgate.interop.lm_eval import import_lm_eval, lm_eval_files

    return _import_logs(arguments, lm_eval_files(arguments.paths), import_lm_eval, filter=arguments.filter)


def _import_inspect(arguments: argparse.Namespace) -> int:
    from accgate.interop.inspect_logs import import_inspect, inspect_files

    return _import_logs(arguments, inspect_files(arguments.paths), import_inspect, reducer=arguments.reducer)


def _import_nemo(arguments: argparse.Namespace) -> int:
    from accgate.interop.nemo import import_nemo, nemo_files

    return _import_logs(arguments, nemo_files(arguments.paths), import_nemo)


def _import_samples(arguments: argparse.Namespace) -> int:
    from accgate.interop.task_log import import_samples

    arguments.metric, arguments.no_replies, layout = arguments.score, True, layout_of(arguments)
    return _import_logs(arguments, arguments.paths, lambda path, choice: import_samples(path, choice, layout))


def _import_logs(
    arguments: argparse.Namespace, files: Sequence[Path], read: Callable[[Path, Choice], TaskLog], **own: str | None
) -> int:
    """Write logs as run records and references, and print what became of each.

    Return the exit code. `own` has the choices that only this tool's logs need.
    """
    from accgate.interop.task_log import Choice, import_each
    from accgate.records.replacement import refuse_unwritable

    choice = Choice(arguments.metric, arguments.scale, arguments.model, **own)
    logs, left_out = import_each(files, read, choice)
    total = len(logs) + len(left_out)
    if arguments.out is not None or arguments.references is None:
        refuse_unwritable(arguments.out or OUT)
    if arguments.references is not None:
        refuse_unwritable(arguments.references, "with --references")
    if arguments.task is not None:
        if total > 1:
            fix = f"names one log, but {total} were found; import them one by one"
            raise BadInput(f"--task {arguments.task}: {fix}")
        logs = [replace(logs[0], task=arguments.task)]
    variant = _pairs(arguments.variant, "--variant KEY=VALUE, as quant=fp8")
    rows, faults = [], list(left_out)
    for log in logs:
        try:
            rows.append(_keep_log(arguments, log, variant))
        except BadInput as error:
            if total == 1:
                raise
            faults.append(str(error))
    if arguments.json:
        print_json([*rows, *({"error": fault} for fault in faults)])
    else:
        _print_logs(rows)
    return _print_left_out(faults, f"{len(faults)} of {total} logs")


def _print_left_out(faults: Sequence[str], how_many: str) -> int:
    """Report what an import left out, and return the exit code."""
    for fault in faults:
        print_note(f"left out: {fault}")
    if faults:
        print_note(f"left out {how_many}, so the import is incomplete; the rest was written")
    return BAD_INPUT if faults else PASSED


def _keep_log(arguments: argparse.Namespace, log: TaskLog, variant: Mapping[str, str]) -> dict[str, Any]:
    from accgate.interop.task_log import keep_records, missing_scores, write_run

    out = arguments.out or (OUT if arguments.references is None else None)
    row: dict[str, Any] = {name: getattr(log, name) for name in OF_LOG}
    if out is not None:
        row["records"] = str(write_run(out, log).records)
    if arguments.references is not None:
        replies = not arguments.no_replies
        path = keep_records(arguments.references, log, variant=variant, reason=arguments.reason, replies=replies)
        row["reference"] = str(path)
    for note in filter(None, (log.note, missing_scores(log.records))):
        print_note(f"{log.source}: {note}")
    return row


def _print_logs(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        checked = "as reported" if row["reported"] is not None else "not checked"
        figures = f"{count_of(row['samples'], 'sample')}, mean {row['mean']:.4g} ({checked}), {row['metric']}"
        print(f"{row['model']} / {row['task']}: {figures}")
        print(*(f"  wrote {row[key]}" for key in ("records", "reference") if key in row), sep="\n")
    if any("records" in row for row in rows):
        lower = " --lower-is-better" if any(row["higher_is_better"] is False for row in rows) else ""
        print(f"Next: import the other side into another --out, then accgate compare REFERENCE CANDIDATE{lower}")


def _import_trtllm(arguments: argparse.Namespace) -> int:
    from datetime import datetime, timezone

    from accgate.interop.trtllm import NoAccuracies, keep_means, read_suite, suite_files, task_tables
    from accgate.records.replacement import refuse_unwritable

    refuse_unwritable(arguments.references, "with --references")
    files = suite_files(arguments.paths)
    references, faults, others = [], [], []
    for file in files:
        try:
            references += read_suite(file, sigma=arguments.sigma, num_samples=arguments.num_samples)
        except NoAccuracies as error:
            others.append(str(error))
        except BadInput as error:
            faults.append(str(error))
    if not references:
        raise BadInput("\n".join(faults or others))
    for other in others:
        print_note(other)
    chosen = [one for one in references if not arguments.model or one.model in arguments.model]
    if not chosen:
        models = sorted({one.model for one in references})
        raise BadInput(f"no file has a model {arguments.model[0]!r}; {nearest(arguments.model[0], models)}")
    today = datetime.now(timezone.utc).date().isoformat()
    paths = keep_means(arguments.references, chosen, reason=arguments.reason, date=today)
    written = list(zip(chosen, paths, strict=True))
    if arguments.json:
        columns = [name for name in asdict(chosen[0]) if name not in ("source", "note")]
        rows = [{**{name: getattr(one, name) for name in columns}, "reference": str(path)} for one, path in written]
        print_json([*rows, *({"error": fault} for fault in faults)])
    else:
        for one, path in written:
            print(f"wrote {path}: mean {one.mean:g} of {one.n:,} samples")
        print(f"\nFor the suite's own settings, write into accuracy.toml:\n\n{task_tables(chosen)}")
    return _print_left_out(faults, f"{len(faults)} of {len(files) - len(others)} files")


TOOLS = (
    Command("lm-eval", "per-sample logs of lm-evaluation-harness", _lm_eval_options, _import_lm_eval),
    Command("inspect", "logs of Inspect", _inspect_options, _import_inspect),
    Command("nemo", "results of NeMo Evaluator", _nemo_options, _import_nemo),
    Command("samples", "tables, and samples of any other tool", _samples_options, _import_samples),
    Command("trtllm", "reference files of TensorRT-LLM's accuracy suite", _trtllm_options, _import_trtllm),
)


def export_options(command: argparse.ArgumentParser) -> None:
    """Add a command of `export` for each target."""
    add_commands(command, TARGETS, "TOOL")


def _to_lm_eval_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="MODEL/TASK.jsonl of a run's folder")
    _out_option(command)
    command.add_argument("--metric", default="acc", metavar="NAME", help="what to call the score (acc)")
    command.add_argument("--lower-is-better", action="store_true", help="lower scores are better, as for perplexity")


def _every_eval_ever_options(command: argparse.ArgumentParser) -> None:
    _run_options(command)
    command.add_argument("--organisation", required=True, metavar="NAME", help="who evaluated")
    what = "what they are to the model's developer (third_party)"
    kinds = ["first_party", "third_party", "collaborative", "other"]
    command.add_argument("--relationship", default="third_party", choices=kinds, help=what)
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
    what = "MLflow's server or database (mlflow.db in the folder of --out)"
    command.add_argument("--tracking-uri", metavar="URI", help=what)
    command.add_argument("--experiment", default="accgate", metavar="NAME", help="MLflow's experiment (accgate)")


def _wandb_options(command: argparse.ArgumentParser) -> None:
    _run_options(command)
    command.add_argument("--project", default="accgate", metavar="NAME", help="the project (accgate)")


def _run_options(command: argparse.ArgumentParser) -> None:
    command.add_argument("folder", nargs="?", type=Path, default=RESULT, metavar="RUN", help=f"a run ({RESULT})")
    command.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task")
    _out_option(command)


def _out_option(command: argparse.ArgumentParser) -> None:
    command.add_argument("--out", type=Path, default=EXPORTED, metavar="DIR", help=f"folder to write to ({EXPORTED})")


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

    run, benchmarks = _run_of(arguments), _pairs(arguments.dataset, "--dataset TASK=ORG/NAME:TASK_ID")
    files = export_hub(
        run, arguments.out, benchmarks=benchmarks, fractions=arguments.fractions, source=arguments.source
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
    """Read the run to export, after checking that its output can be written."""
    from accgate.interop.run_folder import read_run
    from accgate.records.replacement import refuse_unwritable

    refuse_unwritable(arguments.out)
    return read_run(arguments.folder, tasks=arguments.task)


def _print_written(paths: Sequence[Path]) -> int:
    print(*(f"wrote {path}" for path in paths), sep="\n")
    return PASSED


def _pairs(texts: Sequence[str], form: str) -> Mapping[str, str]:
    """Split NAME=VALUE pairs, by name.

    The last = separates, because the name of a model or task may hold one.
    """
    pairs = [[part.strip() for part in text.rpartition("=")] for text in texts]
    if wrong := [text for text, (name, _, value) in zip(texts, pairs, strict=True) if not name or not value]:
        raise BadInput(f"{wrong[0]!r}: write {form}")
    if len({name for name, _, _ in pairs}) < len(pairs):
        raise BadInput(f"{form}: one name is given twice")
    return {name: value for name, _, value in pairs}


TARGETS = (
    Command("lm-eval", "write run records as lm-evaluation-harness does", _to_lm_eval_options, _export_lm_eval),
    Command(
        "every-eval-ever", "write a run in Every Eval Ever's schema", _every_eval_ever_options, _export_every_eval_ever
    ),
    Command("hf", "write a run's scores for a model's page on the Hugging Face Hub", _hub_options, _export_hub),
    Command("mlflow", "log a run in MLflow", _mlflow_options, _export_mlflow),
    Command("wandb", "write a run for Weights & Biases, offline", _wandb_options, _export_wandb),
)
