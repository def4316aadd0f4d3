"""A run in MLflow's store, or for Weights & Biases in offline mode."""

import json
import math
import re
import tempfile
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, needing
from accgate.interop.run_folder import CheckRun, RunFolder
from accgate.records.file import file_name

COLUMNS = ("id", "score", "reference")
LONGEST = 6000  # characters of a parameter in MLflow
SHA = "accgate.sha256"  # the tag by which a run is found again


def score_rows(check: CheckRun) -> Iterator[tuple[str, float | None, float | None]]:
    """Yield id, score and reference score of each sample that the check used.

    Scores are in points, repeats averaged.
    """
    if isinstance(check.samples, str):
        return
    for i, id_ in enumerate(check.samples.ids):
        score = float(check.samples.candidate[i])
        before = None if check.samples.reference is None else float(check.samples.reference[i])
        yield id_, None if math.isnan(score) else score, before


def export_mlflow(run: RunFolder, out: Path, *, uri: str | None, experiment: str) -> list[str]:
    """Log a run in MLflow, one there for each model, and return their ids.

    The metrics are `<task>/<figure>`, the scores a table `scores/<task>.json`, and each task a dataset with its digest.
    Without a `uri` the store is a file `mlflow.db` in `out`, with the artifacts beside it.

    Raises
    ------
    BadInput
        When MLflow is missing or refuses, or its experiment has this very result already.
    """
    with needing("this export needs MLflow", "mlflow", kind=BadInput):
        import mlflow
        from mlflow.exceptions import MlflowException
    import logging

    logging.getLogger("mlflow").setLevel(logging.WARNING)
    try:
        out.mkdir(parents=True, exist_ok=True)
        client = mlflow.MlflowClient(uri or f"sqlite:///{(out / 'mlflow.db').resolve()}")
        place = None if uri else (out / "artifacts").resolve().as_uri()
        present = client.get_experiment_by_name(experiment)
        id_ = client.create_experiment(experiment, place) if present is None else present.experiment_id
        if earlier := client.search_runs([id_], f"tags.`{SHA}` = '{run.sha256}'"):
            raise BadInput(f"{run.path}: is in the experiment {experiment!r} already, as run {earlier[0].info.run_id}")
        return [_mlflow_run(client, id_, run, model, checks) for model, checks in run.models.items()]
    except (MlflowException, OSError) as error:
        raise BadInput(f"MLflow could not log the run: {error}") from error


def _mlflow_run(client: Any, experiment: str, run: RunFolder, model: str, checks: tuple[CheckRun, ...]) -> str:
    from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param, RunTag

    began = int(datetime.fromisoformat(run.result.started).timestamp() * 1000) if run.result.started else 0
    engine = run.result.engines.get(model)
    tags = {
        "accgate.verdict": run.result.verdict,
        "accgate.version": run.result.accgate,
        "accgate.engine": "" if engine is None else f"{engine.name} {engine.version}",
        "accgate.hardware": "" if engine is None else engine.hardware,
        **{f"accgate.verdict.{_key(str(check.verdict.task))}": check.verdict.verdict for check in checks},
    }
    figures = [(f"{check.verdict.task}/{name}", value) for check in checks for name, value in check.figures.items()]
    metrics = [Metric(_key(name), value, began, 0) for name, value in figures]
    if len({metric.key for metric in metrics}) < len(metrics):
        raise BadInput(f"{model}: two tasks have one name in MLflow, which allows fewer characters; export one --task")
    id_ = str(client.create_run(experiment, start_time=began, run_name=model).info.run_id)
    client.log_batch(
        id_,
        metrics=metrics,
        params=[Param(_key(key), value[:LONGEST]) for key, value in _settings(checks[0]).items()],
        tags=[RunTag(key, value) for key, value in tags.items() if value],
    )
    client.log_inputs(
        id_,
        [
            DatasetInput(
                Dataset(str(check.verdict.task), digest, "accgate", json.dumps(check.digests)),
                [InputTag("mlflow.data.context", "evaluation")],
            )
            for check in checks
            if (digest := check.digests.get("dataset"))
        ],
    )
    client.log_artifact(id_, str(run.path))
    with tempfile.TemporaryDirectory() as folder:
        for check in checks:
            table = Path(folder) / f"{file_name(str(check.verdict.task))}.json"
            table.write_text(json.dumps({"columns": COLUMNS, "data": list(score_rows(check))}), encoding="utf-8")
            client.log_artifact(id_, str(table), "scores")
    client.set_tag(id_, SHA, run.sha256)  # last: what broke off before is logged again
    # A run that ended in a regression has finished; one that could not be decided has not.
    client.set_terminated(id_, "FAILED" if any(c.verdict.verdict == "error" for c in checks) else "FINISHED")
    return id_


def export_wandb(run: RunFolder, out: Path, *, project: str) -> list[Path]:
    """Write a run as Weights & Biases keeps one offline.

    There is a folder for each model. Nothing is sent: `wandb sync FOLDER` does that. Summary and table are named as for
    MLflow, and the same result has the same run id.

    Raises
    ------
    BadInput
        When wandb is missing or cannot write.
    """
    with needing("this export needs wandb", "wandb", kind=BadInput):
        import wandb
    try:
        out.mkdir(parents=True, exist_ok=True)
        return [_wandb_run(wandb, run, out, project, model, checks) for model, checks in run.models.items()]
    except (wandb.Error, OSError) as error:
        raise BadInput(f"wandb could not write the run: {error}") from error


def _wandb_run(wandb: Any, run: RunFolder, out: Path, project: str, model: str, checks: tuple[CheckRun, ...]) -> Path:
    import hashlib

    settings = wandb.Settings(
        silent=True, console="off", disable_git=True, disable_code=True, x_disable_stats=True, x_disable_meta=True
    )
    with wandb.init(
        project=project,
        dir=str(out),
        mode="offline",
        id=hashlib.sha256(f"{run.sha256} {model}".encode()).hexdigest()[:16],
        name=model,
        tags=[run.result.verdict],
        config={"accgate": run.result.accgate, "sha256": run.sha256, **_settings(checks[0])},
        settings=settings,
    ) as made:
        for check in checks:
            task = str(check.verdict.task)
            made.summary[f"{task}/verdict"] = check.verdict.verdict
            for name, value in check.figures.items():
                made.summary[f"{task}/{name}"] = value
            for part, digest in check.digests.items():
                made.config[f"{task}/{part}_sha256"] = digest
            table = wandb.Table(columns=list(COLUMNS), data=[list(row) for row in score_rows(check)])
            made.log({f"{task}/scores": table})
        return Path(made.dir).parent


def _settings(check: CheckRun) -> dict[str, str]:
    """Model, variant, sampling and options of an engine, by name."""
    values: dict[str, str] = {"model": str(check.settings.get("model", check.verdict.model))}
    for group in ("variant", "sampling", "options"):
        for key, value in check.table(group).items():
            if value not in (None, [], {}):
                values[f"{group}.{key}"] = value if isinstance(value, str) else json.dumps(value)
    return values


def _key(name: str) -> str:
    """Write a name as MLflow allows them."""
    return re.sub(r"[^\w\-. :/]", "_", name).strip("/. ") or "_"
