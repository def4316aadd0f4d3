"""The command `launch`.

It prints the job file of a run over a cluster, or submits it.
"""

from __future__ import annotations

import argparse
import sys
from datetime import datetime, timezone
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from accgate.cli.common import OUT, config_of, config_options, names_of, print_json
from accgate.errors import PASSED, BadInput

if TYPE_CHECKING:
    from accgate.config.config import Config
    from accgate.launch.job import Job

FOLDER = PurePosixPath("/work")  # of pods
KUBECTL = ("kubectl", "create", "--filename", "-")
ONLY = {  # options that only some clusters have
    "shards": ("slurm", "k8s"),
    "nodes": ("ray_job",),
    "partition": ("slurm",),
    **dict.fromkeys(("queue", "image", "claim", "folder"), ("ray_job", "k8s")),
}


def launch_options(command: argparse.ArgumentParser) -> None:
    """Add the options of `launch`."""
    config_options(command)
    cluster = command.add_mutually_exclusive_group(required=True)
    for option, what in (
        ("--slurm", "a file for sbatch: an array of shards, and the merge after it"),
        ("--ray-job", "a KubeRay RayJob, for models with the engine ray"),
        ("--k8s", "an indexed Kubernetes Job of shards, and a Job that merges"),
    ):
        name = option[2:].replace("-", "_")
        cluster.add_argument(option, dest="cluster", action="store_const", const=name, help=what)
    command.add_argument("--submit", action="store_true", help="submit it with sbatch or kubectl; else print it")
    command.add_argument("--shards", type=int, metavar="N", help="parts of the run, each on its own GPUs (4)")
    command.add_argument("--gpus", type=int, metavar="N", help="GPUs of a shard or Ray worker (what models take)")
    command.add_argument("--nodes", type=int, metavar="N", help="workers of the Ray cluster (what the replicas need)")
    command.add_argument("--time", metavar="TIME", help="limit of each job, such as 90m, 4h or 1:30:00")
    command.add_argument("--partition", metavar="NAME", help="Slurm's partition")
    command.add_argument("--queue", metavar="NAME", help="Kueue's local queue")
    command.add_argument("--image", metavar="IMAGE", help="the pods' image, with accgate and the engine")
    command.add_argument("--claim", metavar="NAME", help="persistent volume claim: accuracy.toml, and the records")
    command.add_argument("--folder", metavar="PATH", help=f"where pods mount that volume ({FOLDER})")
    command.add_argument("--out", type=Path, default=OUT, metavar="DIR", help=f"folder beside accuracy.toml ({OUT})")
    command.add_argument("--name", default="accgate", metavar="NAME", help="start of the job's name (accgate)")


def launch(arguments: argparse.Namespace) -> int:
    """Print a job file, or submit it."""
    from accgate.launch.job import sbatch_file, submit
    from accgate.launch.kubernetes import indexed_job, ray_job

    others = [
        f"--{option} is not for --{arguments.cluster.replace('_', '-')}; leave it out"
        for option, clusters in ONLY.items()
        if getattr(arguments, option) is not None and arguments.cluster not in clusters
    ]
    if others:
        raise BadInput(*others)
    job = _job_of(arguments, config_of(arguments), datetime.now(timezone.utc))
    text = {"slurm": sbatch_file, "k8s": indexed_job, "ray_job": ray_job}[arguments.cluster](job)
    if arguments.submit:
        text = submit(text, ("sbatch",) if arguments.cluster == "slurm" else KUBECTL) + "\n"
    steps = _next_steps(job, arguments.cluster)
    if arguments.json:
        print_json({"name": job.full_name, "submitted": arguments.submit, "output": text, "next": steps})
        return PASSED
    sys.stdout.write(text)
    for line in steps:
        print(line, file=sys.stderr)
    return PASSED


def _job_of(arguments: argparse.Namespace, config: Config, now: datetime) -> Job:
    """Build the job that the arguments describe.

    Slurm numbers its jobs; elsewhere the job's name and folder end with the time.
    """
    from accgate.launch.job import Job, seconds_of
    from accgate.launch.models import gpus_of_replicas, gpus_of_shard

    if arguments.cluster == "ray_job":
        nodes, gpus = gpus_of_replicas(config, arguments.nodes, arguments.gpus)
    else:
        nodes, gpus = 1, gpus_of_shard(config, arguments.gpus)
    here = Path(arguments.config).absolute()
    folder = PurePosixPath(here.parent)
    if arguments.cluster != "slurm":
        folder = FOLDER if arguments.folder is None else PurePosixPath(arguments.folder)
    started = None if arguments.cluster == "slurm" else f"{now:%Y%m%d%H%M%S}"
    return Job(
        config=folder / here.name,
        out=folder / PurePosixPath(arguments.out) / ("" if started is None else f"{arguments.name}-{started}"),
        name=arguments.name,
        started=started,
        shards=4 if arguments.shards is None else arguments.shards,
        gpus=gpus,
        nodes=nodes,
        seconds=None if arguments.time is None else seconds_of(arguments.time),
        models=names_of(*arguments.models),
        tasks=names_of(*arguments.tasks),
        image=arguments.image,
        queue=arguments.queue,
        partition=arguments.partition,
        claim=arguments.claim,
    )


def _next_steps(job: Job, cluster: str) -> list[str]:
    """Say where the verdict will be, and what to do for it."""
    from accgate.launch.kubernetes import merge_commands

    if cluster == "slurm":
        return [f"The verdict will be in {job.out}/job-ID/accgate.json; ID is the job id of the array."]
    merge = ["Apply it. When the shards are done, merge them:", *merge_commands(job)] if cluster == "k8s" else []
    return [f"The verdict will be in {job.out}/accgate.json.", *merge]
