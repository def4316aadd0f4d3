"""Files for Kueue in JSON, which is YAML too.

They are an indexed Kubernetes Job with the Job that merges, and a KubeRay RayJob.
"""

import json
import re
import shlex
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from accgate.errors import BAD_INPUT, BadInput
from accgate.launch.job import RESTARTS, Job

QUEUE = "kueue.x-k8s.io/queue-name"
INDEX = '`expr "$JOB_COMPLETION_INDEX" + 1`'  # of a pod; Kubernetes counts from 0
SHARED_MEMORY = PurePosixPath("/dev/shm")
# `ray job submit` takes a command apart and puts it together with quotes for spaces alone, before a shell reads it.
RAY_WORD = re.compile(r"[\w@%+=:,./ -]+")


def indexed_job(job: Job) -> str:
    """Return a List of two Jobs.

    One has a pod for each shard; the other merges, and is suspended until `merge_commands` releases it. A pod that
    dies, or ends with exit code 3, is restarted at most three times and resumes from its records; one with bad input is
    not. A pod that loses its node does not count.

    Raises
    ------
    BadInput
        Without an image or a volume, which pods have in place of this machine's files.
    """
    _require(job)
    out = shlex.quote(str(job.out))
    run = job.run_shard('"$shard"', out)
    spec: dict[str, Any] = {
        "completionMode": "Indexed",
        "completions": job.shards,
        "parallelism": job.shards,
        "backoffLimitPerIndex": RESTARTS,
        "podFailurePolicy": {
            "rules": [
                {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
                {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [BAD_INPUT]}},
            ]
        },
        "template": _pod(job, _shell(f"shard={INDEX}; exec {run}"), job.gpus, restart="Never"),
    }
    if job.queue is not None:
        spec["suspend"] = True  # Kueue starts it
    merge = {
        "suspend": True,
        "backoffLimit": 0,  # a regression is no fault
        "template": _pod(job, _shell(f"exec {job.merge(out)}"), 0, restart="Never"),
    }
    shards = {**_head("batch/v1", "Job", job.full_name, job.queue), "spec": _deadline(spec, job)}
    merging = {**_head("batch/v1", "Job", f"{job.full_name}-merge", None), "spec": merge}
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": [shards, merging]}, indent=2) + "\n"


def merge_commands(job: Job) -> list[str]:
    """Return the shell commands that merge the shards and show the verdict.

    The commands wait for the shards first.
    """
    patch = shlex.quote('{"spec":{"suspend":false}}')
    timeout = f"--timeout={job.seconds or 86400}s"
    return [
        f"kubectl wait --for=condition=complete job/{job.full_name} {timeout} &&",
        f"  kubectl patch job/{job.full_name}-merge --patch {patch} &&",
        f"  kubectl logs --follow --pod-running-timeout=1h job/{job.full_name}-merge",
    ]


def ray_job(job: Job) -> str:
    """Return a RayJob, with accgate as the driver on the head of its cluster.

    The cluster has `nodes` workers. KubeRay does not restart the job, because it would evaluate a regression twice.

    Raises
    ------
    BadInput
        Without an image or a volume, and for names that Ray's command line changes.
    """
    _require(job)
    words = (str(job.config), str(job.out), *job.models, *job.tasks)
    if unsafe := [word for word in words if not RAY_WORD.fullmatch(word)]:
        fault = "does not reach accgate unchanged through `ray job submit`"
        fix = "write letters, digits, spaces and _ @ % + = : , . / - only"
        raise BadInput(*(f"{word!r} {fault}; {fix}" for word in unsafe))
    head = {"rayStartParams": {"num-cpus": "0"}, "template": _pod(job, None, 0)}  # no replica there
    workers = {
        "groupName": "workers",
        "replicas": job.nodes,
        "minReplicas": job.nodes,
        "maxReplicas": job.nodes,
        "rayStartParams": {},
        "template": _pod(job, None, job.gpus),
    }
    spec = {
        "entrypoint": job.run(),
        "shutdownAfterJobFinishes": True,  # Kueue asks for it
        "suspend": job.queue is not None,
        "backoffLimit": 0,
        "rayClusterSpec": {"headGroupSpec": head, "workerGroupSpecs": [workers]},
    }
    document = {**_head("ray.io/v1", "RayJob", job.full_name, job.queue), "spec": _deadline(spec, job)}
    return json.dumps(document, indent=2) + "\n"


def _require(job: Job) -> None:
    faults, folder = [], job.config.parent
    if len(folder.parts) < 2 or folder == SHARED_MEMORY or ".." in folder.parts or ":" in str(folder):
        faults.append(f"--folder is {str(folder)!r}; name one for the volume alone, without : and .., such as /work")
    if ".." in job.out.parts or not job.out.is_relative_to(folder):
        faults.append(f"{job.out} is outside the volume at {folder}; name a folder beside accuracy.toml with --out")
    if job.image is None:
        faults.append("pods need an image with accgate and the engine; name it with --image")
    if job.claim is None:
        faults.append("pods share config and records on a volume; name its persistent volume claim with --claim")
    if faults:
        raise BadInput(*faults)


def _shell(code: str) -> list[str]:
    """Return a pod's command, escaped.

    The kubelet reads `$$` as `$`, and `$(NAME)` as a variable.
    """
    return ["/bin/sh", "-c", re.sub(r"\$(?=[$(])", "$$", code)]


def _head(version: str, kind: str, name: str, queue: str | None) -> dict[str, Any]:
    labels = {} if queue is None else {"labels": {QUEUE: queue}}
    return {"apiVersion": version, "kind": kind, "metadata": {"name": name, **labels}}


def _pod(job: Job, command: Sequence[str] | None, gpus: int, restart: str | None = None) -> dict[str, Any]:
    """Return a pod's template, with a volume and shared memory.

    The processes of vLLM need the shared memory.
    """
    mounts = [{"name": "work", "mountPath": str(job.config.parent)}, {"name": "shm", "mountPath": str(SHARED_MEMORY)}]
    container: dict[str, Any] = {"name": "accgate", "image": job.image, "volumeMounts": mounts}
    if command is not None:
        container["command"] = list(command)
    if gpus:
        container["resources"] = {"limits": {"nvidia.com/gpu": gpus}}
    volumes = [
        {"name": "work", "persistentVolumeClaim": {"claimName": job.claim}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
    ]
    policy = {} if restart is None else {"restartPolicy": restart}
    return {"spec": {**policy, "containers": [container], "volumes": volumes}}


def _deadline(spec: dict[str, Any], job: Job) -> dict[str, Any]:
    return spec if job.seconds is None else {**spec, "activeDeadlineSeconds": job.seconds}
