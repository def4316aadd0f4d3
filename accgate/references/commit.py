"""The commit that a reference was recorded at."""

import os
import subprocess
from pathlib import Path


def commit_of(folder: Path) -> str:
    """Return the folder's git commit.

    It has `+changes` where files differ from it. Without git it is GITHUB_SHA or "".
    """
    try:
        commit = _git(folder, "rev-parse", "HEAD")
        return f"{commit}+changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else commit
    except (OSError, subprocess.SubprocessError):
        return os.environ.get("GITHUB_SHA", "")


def _git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=30, check=True
    )
    return done.stdout.strip()
