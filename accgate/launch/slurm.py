"""An sbatch file: an array with a task for each shard, and a job after it that merges."""

from __future__ import annotations

import shlex

from accgate.launch.job import RESTARTS, Job

# Exit codes: 3 and above 128 (killed, as for lack of memory) may end otherwise the next time; 130 is scancel, the time
# limit or a preemption, after which Slurm itself starts the task again where it should.
SCRIPT = """\
# One task of the array evaluates one shard. Submit it with `sbatch`; all nodes must see these paths.
{directives}
set -u
: "${{SLURM_ARRAY_JOB_ID:?is not set: submit this file with sbatch}}"
# A folder for each submission, so that no record of an earlier one is reused.
out={out}/job-$SLURM_ARRAY_JOB_ID
mkdir -p "$out"

# The first task submits the merge, which waits for the end of every task, also of those that are started again.
if [[ $SLURM_ARRAY_TASK_ID == 1 && ! -s $out/merge-job ]]; then
  merge={out_of_merge}"$SLURM_ARRAY_JOB_ID"{merge}  # for any POSIX shell, as /bin/sh may be another than bash
  sbatch --parsable --dependency="afterany:$SLURM_ARRAY_JOB_ID" {after} \\
    --wrap="$merge" >"$out/merge-job" ||
    echo "no job can be submitted from this node; when all tasks have ended: $merge" >&2
fi

{run}
code=$?
if ((code == 3 || (code > 128 && code != 130))) && ((${{SLURM_RESTART_COUNT:-0}} < {restarts})); then
  echo "shard $SLURM_ARRAY_TASK_ID ended with exit code $code; it is started again and goes on" >&2
  scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" && sleep 60  # Slurm ends this task now
fi
exit "$code"
"""


def sbatch_file(job: Job) -> str:
    """The text of a file for sbatch.

    A task that loses its node or is preempted is started again by Slurm; one that cannot finish asks for it itself, at
    most three times. Each goes on from its records. The merge runs whatever the tasks' ends, and says what is missing.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> file = sbatch_file(Job(config=PurePosixPath("/w/accuracy.toml"), out=PurePosixPath("/w/out"), shards=4, gpus=2))
    >>> [line for line in file.splitlines() if "array=" in line or "gres=" in line]
    ['#SBATCH --array=1-4', '#SBATCH --gres=gpu:2']
    """
    partition = [] if job.partition is None else [f"--partition={job.partition}"]
    time = [] if job.seconds is None else [f"--time={-(-job.seconds // 60)}"]  # minutes
    gpus = [f"--gres=gpu:{job.gpus}"] if job.gpus else []
    array = [f"--job-name={job.name}", f"--array=1-{job.shards}", "--nodes=1", "--ntasks=1", *gpus, *partition, *time]
    directives = [*array, "--requeue", "--open-mode=append"]
    out = shlex.quote(str(job.out))
    text = SCRIPT.format(
        directives="\n".join(f"#SBATCH {directive}" for directive in directives),
        out=out,
        out_of_merge=shlex.quote(f"out={out}/job-"),
        merge=shlex.quote("; " + job.merge('"$out"')),
        after=" ".join([f"--job-name={job.name}-merge", "--open-mode=append", *partition, *time]),
        run=job.run_shard('"$SLURM_ARRAY_TASK_ID"', '"$out"'),
        restarts=RESTARTS,
    )
    return f"#!/bin/bash\n{text}"
