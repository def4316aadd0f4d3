from .job import Job, seconds_of, submit
from .kubernetes import indexed_job, merge_commands, ray_job
from .models import gpus_of_replicas, gpus_of_shard
from .slurm import sbatch_file

__all__ = [
    "Job",
    "gpus_of_replicas",
    "gpus_of_shard",
    "indexed_job",
    "merge_commands",
    "ray_job",
    "sbatch_file",
    "seconds_of",
    "submit",
]
