"""A run's scores as the Hugging Face Hub shows them on a model's page.

They are `.eval_results/*.yaml`.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path

from accgate._version import __version__
from accgate.errors import BadInput
from accgate.interop.run_folder import CheckRun, RunFolder, write_files
from accgate.records.file import file_name
from accgate.text import number

FOLDER = ".eval_results"
NAME = r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*"  # of a model or dataset there
BENCHMARK = re.compile(rf"(?P<dataset>{NAME})(?::(?P<task>[\w.-]+))?(?:@(?P<revision>[0-9a-f]{{7,64}}))?")


def read_benchmark(text: str) -> re.Match[str]:
    """Read the name of a benchmark on the Hub.

    The form ORG/NAME[:TASK_ID][@REVISION] gives a dataset of the Hub that is a benchmark, the task's id in its
    eval.yaml, and the dataset's commit.

    Raises
    ------
    BadInput
        When it is not of this form.

    Examples
    --------
    >>> read_benchmark("openai/gsm8k:gsm8k@740312add88f781978c0658806c59bc2815b9866")["task"]
    'gsm8k'
    """
    match = BENCHMARK.fullmatch(text)
    if match is None:
        raise BadInput(f"{text!r} is not a Hub dataset; write ORG/NAME[:TASK_ID][@COMMIT], as openai/gsm8k:gsm8k")
    return match


def export_hub(
    run: RunFolder, out: Path, *, benchmarks: Mapping[str, str], fractions: bool, source: str | None
) -> list[Path]:
    """Write `<out>/<model>/.eval_results/<task>.yaml` for each task that has a benchmark.

    Values are points, or with `fractions` points / 100, as the benchmark's leaderboard has them. `source` is a link to
    the run.

    Raises
    ------
    BadInput
        When a score would claim more than the run shows: samples without a score, or a run that stopped early; when
        a task has no check, or none has a benchmark.
    """
    tasks = {str(check.verdict.task) for check in run.checks}
    if not benchmarks:
        raise BadInput("the Hub shows scores of benchmarks only; name each with --dataset TASK=ORG/NAME:TASK_ID")
    if unknown := sorted(set(benchmarks) - tasks):
        raise BadInput(f"{run.path}: has no task {unknown[0]!r}; its tasks: {', '.join(sorted(tasks))}")
    files = {
        out / file_name(model) / FOLDER / f"{file_name(str(check.verdict.task))}.yaml": _entry(
            run, check, read_benchmark(benchmarks[str(check.verdict.task)]), fractions, source
        ).encode()
        for model, checks in run.models.items()
        for check in checks
        if check.verdict.task in benchmarks
    }
    return write_files(out, files)


def _entry(run: RunFolder, check: CheckRun, benchmark: re.Match[str], fractions: bool, source: str | None) -> str:
    check.whole_samples()
    verdict, mean = check.verdict, check.figures["mean"]
    if verdict.is_early:
        fix = "run it with early_stopping = false before you publish its score"
        stop = f"stopped early, after {verdict.n:,} of {verdict.n_max:,} samples, which biases its mean"
        raise BadInput(f"{check.name}: {stop}; {fix}")
    notes = [
        f"{verdict.n:,} samples",
        *([] if check.mean_error is None else [f"standard error {number(check.mean_error)} points"]),
        *(f"{key}: {value}" for key, value in sorted(check.table("variant").items())),
        f"accgate {run.result.accgate or __version__}",
    ]
    entry = {
        "dataset": {"id": benchmark["dataset"], "task_id": benchmark["task"] or "default"}
        | ({"revision": benchmark["revision"]} if benchmark["revision"] else {}),
        "value": mean / 100.0 if fractions else mean,
        **({"date": run.result.started} if run.result.started else {}),
        **({"source": {"url": source, "name": "accgate"}} if source else {}),
        "notes": ", ".join(notes),
    }
    return json.dumps([entry], indent=2) + "\n"  # which is YAML too
