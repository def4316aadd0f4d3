"""Hand a job file to the cluster's own command."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence

from accgate.errors import CannotEvaluate


def submit(text: str, command: Sequence[str]) -> str:
    """Give a job file to sbatch or kubectl on standard input; what the command printed.

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
