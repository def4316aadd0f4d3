"""A run over a cluster, with its Slurm file and its submission."""

import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from accgate.errors import BadInput, CannotEvaluate
from accgate.text import fill_template

RESTARTS = 3  # times that a shard which died or could not finish is started again
NAME = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
LONGEST = 40  # characters of a name; a RayJob's has at most 47, and `-merge` is added to it
OBJECT = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")  # of Kubernetes, by its name
LONGEST_OBJECT = {"claim": 253, "queue": 63}  # a queue is named in a label
WORD = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/:@+,-]*")
UNITS = {"m": 60, "h": 3600, "d": 86400}


@dataclass(frozen=True, kw_only=True)
class Job:
    """A run over a cluster.

    `config` and `out` are absolute paths as the cluster's nodes see them. `started` makes the name unique where the
    cluster does not number its jobs. `gpus` are those of one shard, or of one worker of a Ray cluster; `nodes` is the
    number of such workers.
    """

    config: PurePosixPath
    out: PurePosixPath
    name: str = "accgate"
    started: str | None = None
    shards: int = 1
    gpus: int = 0
    nodes: int = 1
    seconds: int | None = None
    models: tuple[str, ...] = ()
    tasks: tuple[str, ...] = ()
    image: str | None = None
    queue: str | None = None
    partition: str | None = None
    claim: str | None = None

    def __post_init__(self) -> None:
        """Refuse what a job file cannot say.

        Raises
        ------
        BadInput
            With a line for every fault.
        """
        counts = [("shards", self.shards, 1), ("gpus", self.gpus, 0), ("nodes", self.nodes, 1)]
        counts += [] if self.seconds is None else [("time", self.seconds, 60)]
        faults = [f"--{option} is {value}; give {low} or more" for option, value, low in counts if value < low]
        longest = LONGEST - len(self.full_name) + len(self.name)
        if not NAME.fullmatch(self.name) or len(self.name) > longest:
            what = f"at most {longest} of a to z, 0 to 9 and -, a letter first and no - last"
            faults.append(f"--name is {self.name!r}; write {what}")
        for option in ("image", "partition"):
            value = getattr(self, option)
            if value is not None and not WORD.fullmatch(value):
                faults.append(f"--{option} is {value!r}; write letters, digits and . _ / : @ + , - only")
        for option, longest in LONGEST_OBJECT.items():
            value = getattr(self, option)
            if value is not None and not (OBJECT.fullmatch(value) and len(value) <= longest):
                what = f"at most {longest} of a to z, 0 to 9, - and ., a letter or digit at each end"
                faults.append(f"--{option} is {value!r}; write {what}")
        for path in (self.config, self.out):
            if not path.is_absolute():
                faults.append(f"{path} is not an absolute path; name the folder on the nodes with --folder")
            if set(str(path)) & set('\n\r"%\\'):  # Slurm reads % and \ in the name of a log
                faults.append(f'{str(path)!r}: a job file cannot hold line ends, ", % or \\ in a path; rename it')
        if faults:
            raise BadInput(*faults)

    @property
    def full_name(self) -> str:
        """A name that no other job has, where the cluster does not number them."""
        return self.name if self.started is None else f"{self.name}-{self.started}"

    def run(self) -> str:
        """Return the shell command that evaluates all, and resumes if it is started again."""
        return f"{self._run()} --out {shlex.quote(str(self.out))}"

    def run_shard(self, index: str, out: str) -> str:
        """Return the shell command that evaluates a shard.

        The shard stops early together with the others. `index` and `out`, the folder of all shards, are shell words.
        """
        return f"{self._run()} --shard {index}/{self.shards} --together {out}"

    def merge(self, out: str) -> str:
        """Return the shell command that joins the shards in the folder `out` and decides.

        `out` is a shell word, and the result goes there too.
        """
        folders = " ".join(f"{out}/shard-{i}-of-{self.shards}" for i in range(1, self.shards + 1))
        return f"accgate merge {folders} --config {shlex.quote(str(self.config))}{self._selection()} --out {out}"

    def _run(self) -> str:
        # --resume also where nothing is there yet: what is started again goes on.
        return f"accgate run {shlex.quote(str(self.config))}{self._selection()} --resume --quiet"

    def _selection(self) -> str:
        options = (("--models", self.models), ("--tasks", self.tasks))
        return "".join(f" {option} {shlex.quote(','.join(names))}" for option, names in options if names)


def seconds_of(text: str) -> int:
    """Read a time such as 90m, 4h or 2d, in seconds.

    The form 1:30:00 gives hours, minutes and seconds.

    Raises
    ------
    BadInput
        For any other text.

    Examples
    --------
    >>> seconds_of("4h"), seconds_of("1:30:00")
    (14400, 5400)
    """
    if match := re.fullmatch(r"([0-9]{1,6})([mhd])", text):
        return int(match[1]) * UNITS[match[2]]
    if match := re.fullmatch(r"([0-9]{1,4}):([0-5][0-9]):([0-5][0-9])", text):
        return int(match[1]) * 3600 + int(match[2]) * 60 + int(match[3])
    raise BadInput(f"--time is {text!r}; write it as 90m, 4h, 2d or 1:30:00")


def sbatch_file(job: Job) -> str:
    """Return the text of a file for sbatch.

    Slurm restarts a task that loses its node or is preempted. A task that cannot finish asks for a restart itself, at
    most three times. Each resumes from its records. The merge runs however the tasks end, and reports what is missing.

    Examples
    --------
    >>> from pathlib import PurePosixPath
    >>> file = sbatch_file(Job(config=PurePosixPath("/w/accuracy.toml"), out=PurePosixPath("/w/out"), shards=4, gpus=2))
    >>> [line for line in file.splitlines() if "array=" in line or "gres=" in line]
    ['#SBATCH --array=1-4', '#SBATCH --gres=gpu:2']
    """
    out = shlex.quote(str(job.out))
    minutes = None if job.seconds is None else -(-job.seconds // 60)
    limits = {"partition": job.partition, "time": minutes}
    after = [f"--{name}={value}" for name, value in limits.items() if value is not None]
    return fill_template(
        "accgate.launch",
        "shards.sbatch.j2",
        job=job,
        minutes=minutes,
        out=out,
        out_of_merge=shlex.quote(f"out={out}/job-"),
        merge=shlex.quote("; " + job.merge('"$out"')),
        after=" ".join([f"--job-name={job.name}-merge", "--open-mode=append", *after]),
        run=job.run_shard('"$SLURM_ARRAY_TASK_ID"', '"$out"'),
        restarts=RESTARTS,
    )


def submit(text: str, command: Sequence[str]) -> str:
    """Pipe a job file to sbatch or kubectl, and return what the command printed.

    Raises
    ------
    CannotEvaluate
        When the command is not here or refuses the file, in its own words.
    """
    if shutil.which(command[0]) is None:
        raise CannotEvaluate(f"there is no {command[0]} here; leave --submit out, and submit the file where it is")
    done = subprocess.run([*command], input=text, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise CannotEvaluate(f"{' '.join(command)} refused the job: {(done.stderr or done.stdout).strip()}")
    return done.stdout.strip()
