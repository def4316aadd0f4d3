"""The commands `import` and `export`: files of other evaluation tools in and out."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.interop import SuiteReference, TaskLog

OUT = "accgate-import"


def import_arguments(command: argparse.ArgumentParser, shared: argparse.ArgumentParser) -> None:
    """The arguments of `import`, one parser for each tool."""
    tools = command.add_subparsers(dest="tool", metavar="TOOL", required=True)

    def add(name: str, text: str) -> argparse.ArgumentParser:
        made = tools.add_parser(name, help=text, description=text[0].upper() + text[1:] + ".", parents=[shared])
        made.add_argument("--json", action="store_true", help="print only JSON on standard output")
        made.add_argument("--reason", metavar="TEXT", help="why references are replaced")
        return made

    lm_eval = add("lm-eval", "per-sample logs of lm-evaluation-harness")
    lm_eval.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="samples_*.jsonl, or its folder")
    _record_arguments(lm_eval, "the metric, as acc_norm")
    lm_eval.add_argument("--filter", metavar="NAME", help="the filter, as flexible-extract")
    inspect = add("inspect", "logs of Inspect")
    inspect.add_argument("paths", nargs="+", type=Path, metavar="PATH", help=".eval or .json logs, or their folder")
    _record_arguments(inspect, "the scorer, or scorer/key of one with several values")
    trtllm = add("trtllm", "reference files of TensorRT-LLM's accuracy suite")
    trtllm.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="references/NAME.yaml, or the folder")
    trtllm.add_argument("--references", type=Path, default=Path("references"), metavar="DIR", help="(references)")
    trtllm.add_argument("--model", action="append", default=[], metavar="NAME", help="only this model's")
    trtllm.add_argument("--sigma", type=float, help="of one score in points, for a data set that is not known")
    trtllm.add_argument("--num-samples", type=int, metavar="N", help="likewise")


def _record_arguments(command: argparse.ArgumentParser, metric: str) -> None:
    command.add_argument("--metric", metavar="NAME", help=f"{metric}; needed where there are several")
    command.add_argument("--scale", type=float, help="factor to points: 100 for fractions, 1 for points")
    command.add_argument("--model", metavar="NAME", help="what the model is called here (as in the log)")
    command.add_argument("--task", metavar="NAME", help="what the task is called here, of a single log (as in it)")
    command.add_argument("--out", type=Path, metavar="DIR", help=f"write run records ({OUT}, without --references)")
    command.add_argument("--references", type=Path, metavar="DIR", help="write references with their scores")
    command.add_argument("--variant", action="append", default=[], metavar="KEY=VALUE", help="of the references")
    command.add_argument("--no-replies", action="store_true", help="keep no replies beside the references' scores")


def export_arguments(command: argparse.ArgumentParser) -> None:
    """The arguments of `export`."""
    command.add_argument("tool", choices=["lm-eval"], metavar="lm-eval", help="whose form to write")
    command.add_argument("records", nargs="+", type=Path, metavar="RECORDS", help="MODEL/TASK.jsonl of a run's folder")
    command.add_argument("--out", type=Path, default=Path("accgate-export"), metavar="DIR", help="(accgate-export)")
    command.add_argument("--metric", default="acc", metavar="NAME", help="what to call the score (acc)")
    command.add_argument("--lower-is-better", action="store_true", help="as for perplexity")


def import_(arguments: argparse.Namespace) -> int:
    """Import logs as run records and references, or the suite's files as references."""
    if arguments.tool == "trtllm":
        return _import_suite(arguments)
    from accgate.interop import Choice, import_inspect, import_lm_eval

    if arguments.tool == "lm-eval":
        choice = Choice(arguments.metric, arguments.filter, arguments.scale)
        found = import_lm_eval(arguments.paths, choice, model=arguments.model)
    else:
        found = import_inspect(arguments.paths, metric=arguments.metric, scale=arguments.scale, model=arguments.model)
    _keep(arguments, found if arguments.task is None else [_renamed(found, arguments.task)])
    return PASSED


def _renamed(found: Sequence[TaskLog], task: str) -> TaskLog:
    from dataclasses import replace

    if len(found) > 1:
        raise BadInput(f"--task {task}: names one log, but {len(found)} were found; import them one by one")
    return replace(found[0], task=task)


def _keep(arguments: argparse.Namespace, found: Sequence[TaskLog]) -> None:
    from accgate.interop import keep_records, missing_scores, write_run

    variant = _variant(arguments.variant)
    out = arguments.out or (Path(OUT) if arguments.references is None else None)
    rows = []
    for item in found:
        row: dict[str, Any] = {
            "model": item.model, "task": item.task, "metric": item.metric, "samples": item.samples, "mean": item.mean,
            "reported": item.reported, "higher_is_better": item.higher_is_better,
        }  # fmt: skip
        if out is not None:
            row["records"] = str(write_run(out, item).records)
        if arguments.references is not None:
            row["reference"] = str(
                keep_records(
                    arguments.references, item, variant=variant, reason=arguments.reason,
                    replies=not arguments.no_replies,
                )
            )  # fmt: skip
        for note in filter(None, (item.note, missing_scores(item.records))):
            print(f"accgate: {item.source}: {note}", file=sys.stderr)
        rows.append(row)
    if arguments.json:
        _print_json(rows)
        return
    for row in rows:
        checked = "as reported" if row["reported"] is not None else "not checked"
        told = f"{row['samples']:,} samples, mean {row['mean']:.4g} ({checked}), {row['metric']}"
        print(f"{row['model']} / {row['task']}: {told}")
        print(*(f"  wrote {row[key]}" for key in ("records", "reference") if key in row), sep="\n")
    if out is not None:
        lower = " --lower-is-better" if any(row["higher_is_better"] is False for row in rows) else ""
        print(f"Next: import the other side into another --out, then accgate compare REFERENCE CANDIDATE{lower}")


def _variant(given: Sequence[str]) -> Mapping[str, str]:
    pairs = [text.partition("=") for text in given]
    if wrong := [text for text, (key, _, value) in zip(given, pairs, strict=True) if not key or not value]:
        raise BadInput(f"--variant {wrong[0]}: write KEY=VALUE, as quant=fp8")
    return {key.strip(): value.strip() for key, _, value in pairs}


def _import_suite(arguments: argparse.Namespace) -> int:
    from accgate.interop import keep_means, read_suite, suite_files, task_tables

    files, unknown = suite_files(arguments.paths)
    found = [
        reference
        for file in files
        for reference in read_suite(file, sigma=arguments.sigma, num_samples=arguments.num_samples)
    ]
    for file in unknown:
        print(f"accgate: {file}: left out, its defaults are not known; name it, with --sigma", file=sys.stderr)
    chosen = [one for one in found if not arguments.model or one.model in arguments.model]
    if not chosen:
        from accgate.text import nearest

        known = sorted({one.model for one in found})
        raise BadInput(f"none is of the model {arguments.model[0]!r}; {nearest(arguments.model[0], known)}")
    from datetime import datetime, timezone

    today = datetime.now(timezone.utc).date().isoformat()
    written = keep_means(arguments.references, chosen, reason=arguments.reason, date=today)
    if arguments.json:
        _print_json([_suite_row(one, path) for one, path in zip(chosen, written, strict=True)])
        return PASSED
    for one, path in zip(chosen, written, strict=True):
        print(f"wrote {path}: mean {one.mean:g} of {one.n:,} samples")
    print(f"\nAs the suite judges, in accuracy.toml:\n\n{task_tables(chosen)}")
    return PASSED


def _suite_row(one: SuiteReference, path: Path) -> dict[str, Any]:
    return {
        "model": one.model, "variant": dict(one.variant), "task": one.task, "mean": one.mean, "n": one.n,
        "sigma": one.sigma, "alpha": one.alpha, "beta": one.beta, "higher_is_better": one.higher_is_better,
        "reference": str(path),
    }  # fmt: skip


def _print_json(rows: Sequence[Mapping[str, Any]]) -> None:
    import json

    print(json.dumps(list(rows), indent=2, ensure_ascii=False))


def export(arguments: argparse.Namespace) -> int:
    """Write run records in lm-eval's per-sample form."""
    from datetime import datetime

    from accgate.interop import export_lm_eval

    for records in arguments.records:
        samples, results = export_lm_eval(
            records, arguments.out, metric=arguments.metric, now=datetime.now(),  # noqa: DTZ005 lm-eval's names have none
            higher_is_better=not arguments.lower_is_better,
        )  # fmt: skip
        print(f"wrote {samples}\nwrote {results}")
    return PASSED
