"""Virtual environments with other people's packages, installed once into a folder that stays."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.runner import KEPT, ROOT

INSTALL_SECONDS = 1800
# After the environment's own packages, and not written into it: another checkout uses it too.
HERE = "import os, sys; sys.path += filter(None, os.environ.get('ACCGATE_FROM_HERE', '').split(os.pathsep))\n"
FROM_HERE = {"ACCGATE_FROM_HERE": os.pathsep.join((str(ROOT), sysconfig.get_path("purelib")))}
BUILDING = ("plugin", ["hatchling==1.28.0"])  # for `python_with`: what builds a wheel of this tree
# For `wheels_unpacked`: IFBench's own checks, what they need, and nltk's data but for its tagger.
IFBENCH = ("ifbench", "evalscope==1.14.1", "emoji==2.16.0", "syllapy==0.8.0", "llama-index-core==0.14.25")
NLTK_DATA = "llama_index/core/_static/nltk_cache"


def python_with(name: str, *installs: Sequence[str], accgate: bool = False) -> str:
    """A Python in which each of `installs`, arguments of pip install, was done; skips where pip cannot.

    With `accgate` it also has what the variables of `FROM_HERE` name: accgate and what that needs.
    """
    folder = KEPT / name
    python, mark = folder / "bin" / "python", folder / "installed.json"
    wanted = json.loads(json.dumps([sys.version, installs, HERE if accgate else ""]))
    if not mark.exists() or json.loads(mark.read_text()) != wanted:
        venv.create(folder, clear=True, with_pip=True)
        more = FROM_HERE if accgate else {}  # what is here is not installed again
        if accgate:
            (site,) = (folder / "lib").glob("python*/site-packages")
            (site / "ours.pth").write_text(HERE)
        for install in installs:
            command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *install]
            try:
                done = subprocess.run(
                    command, capture_output=True, text=True, timeout=INSTALL_SECONDS, check=False,
                    env={key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | more,
                )  # fmt: skip
            except subprocess.TimeoutExpired:
                pytest.skip(f"pip did not install {install} in {INSTALL_SECONDS} s")
            if done.returncode:
                pytest.skip(f"pip cannot install {install}: {done.stderr[-300:]}")
        mark.write_text(json.dumps(wanted))
    return str(python)


def wheels_unpacked(name: str, *packages: str) -> Path:
    """A folder with the files of these packages' wheels alone, nothing that they need; skips where pip cannot."""
    folder = KEPT / name
    mark = folder / "unpacked.json"
    if not mark.exists() or json.loads(mark.read_text()) != list(packages):
        shutil.rmtree(folder, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--dest", str(folder), *packages]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"pip cannot fetch {', '.join(packages)}: {done.stderr[-300:]}")
        for wheel in folder.glob("*.whl"):
            with zipfile.ZipFile(wheel) as files:
                files.extractall(folder)
        mark.write_text(json.dumps(packages))
    return folder
