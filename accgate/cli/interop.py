"""The command `import` for files of other evaluation tools."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.cli.common import json_option, layout_of, layout_options, print_json, print_note, scale_option
from accgate.cli.parser import Command, add_commands
from accgate.errors import BAD_INPUT, PASSED, BadInput
from accgate.text import nearest

if TYPE_CHECKING:
    from accgate.interop.task_log import Choice, TaskLog

OUT = Path("accgate-import")
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
    command.add_argument(
        "--references", type=Path, default=Path("references"), metavar="DIR", help="write them here (references)"
    )
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

    Return the exit code. `own` is what only the logs of this tool have to choose.
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
    variant = _variant_of(arguments.variant)
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
        print_note(f"left out {how_many}, so the import is incomplete; what is written is sound")
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


def _variant_of(texts: Sequence[str]) -> Mapping[str, str]:
    pairs = [text.partition("=") for text in texts]
    if wrong := [text for text, (key, _, value) in zip(texts, pairs, strict=True) if not key or not value]:
        raise BadInput(f"--variant {wrong[0]}: write KEY=VALUE, as quant=fp8")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _print_logs(rows: Sequence[Mapping[str, Any]]) -> None:
    for row in rows:
        checked = "as reported" if row["reported"] is not None else "not checked"
        figures = f"{row['samples']:,} samples, mean {row['mean']:.4g} ({checked}), {row['metric']}"
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
        raise BadInput(f"no task belongs to the model {arguments.model[0]!r}; {nearest(arguments.model[0], models)}")
    today = datetime.now(timezone.utc).date().isoformat()
    paths = keep_means(arguments.references, chosen, reason=arguments.reason, date=today)
    left_out = f"{len(faults)} of {len(files) - len(others)} files"
    if arguments.json:
        rows = [asdict(one) | {"reference": str(path)} for one, path in zip(chosen, paths, strict=True)]
        for row in rows:
            del row["source"], row["note"]
        print_json([*rows, *({"error": fault} for fault in faults)])
        return _print_left_out(faults, left_out)
    for one, path in zip(chosen, paths, strict=True):
        print(f"wrote {path}: mean {one.mean:g} of {one.n:,} samples")
    print(f"\nFor the suite's own settings, write into accuracy.toml:\n\n{task_tables(chosen)}")
    return _print_left_out(faults, left_out)


TOOLS = (
    Command("lm-eval", "per-sample logs of lm-evaluation-harness", _lm_eval_options, _import_lm_eval),
    Command("inspect", "logs of Inspect", _inspect_options, _import_inspect),
    Command("nemo", "results of NeMo Evaluator", _nemo_options, _import_nemo),
    Command("samples", "tables, and samples of any other tool", _samples_options, _import_samples),
    Command("trtllm", "reference files of TensorRT-LLM's accuracy suite", _trtllm_options, _import_trtllm),
)
