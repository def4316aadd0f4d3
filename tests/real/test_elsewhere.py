"""Where people meet accgate beside its command line: pre-commit, editors, dev containers, each with the real tool."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
import yaml

from tests.real.environments import BUILDING, python_with
from tests.support.gates import Project
from tests.support.runner import KEPT, ROOT, commit, git

CLI = "@devcontainers/cli@0.89.0"
CATALOG = ROOT / ".github/schemastore.json"


def tool(name: str) -> str:
    return str(Path(sys.executable).with_name(name))


def published(folder: Path) -> str:
    """This tree as a repository that pre-commit can clone."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode:
        pytest.skip("needs a clone: git says which files are the project's")
    for name in filter(None, listed.stdout.split("\0")):
        if not name.startswith(("docs/", "tests/", "benchmarks/")) and (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return commit(folder, "release")


@pytest.mark.interop
def test_the_hook_stops_a_commit_that_breaks_accuracy_toml(tmp_path: Path) -> None:
    hooks, home = tmp_path / "accgate", tmp_path / "home"
    (tmp_path / "work").mkdir()
    project = Project(tmp_path / "work")
    project.answer([100.0] * 200)
    config = {"repos": [{"repo": str(hooks), "rev": published(hooks), "hooks": [{"id": "accgate-validate"}]}]}
    (project.folder / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    commit(project.folder)
    # pip installs accgate from the clone, and builds it with what is here; all else that it needs is here too.
    packages = [
        *Path(python_with(*BUILDING)).parents[1].glob("lib/python*/site-packages"),
        sysconfig.get_path("purelib"),
    ]
    environ = os.environ | {"PRE_COMMIT_HOME": str(home), "PIP_NO_DEPS": "1", "PIP_NO_BUILD_ISOLATION": "0"}
    environ |= {"PYTHONPATH": os.pathsep.join(map(str, packages)), "GIT_CONFIG_COUNT": "1"}
    environ |= {"GIT_CONFIG_KEY_0": "protocol.file.allow", "GIT_CONFIG_VALUE_0": "always"}

    def ran(path: Path) -> tuple[int, str]:
        git(project.folder, "add", "--all")
        done = subprocess.run(
            [tool("pre-commit"), "run", "--files", str(path)],
            cwd=project.folder, env=environ, capture_output=True, text=True, timeout=600, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout + done.stderr

    code, text = ran(project.config)
    assert (code, "Passed" in text) == (0, True), text
    project.write(alpha=2.0)
    code, text = ran(project.config)
    assert code == 1
    assert re.search(r"accuracy.toml:\d+: gate.alpha", text), text
    code, text = ran(project.scores)
    assert (code, "no files to check" in text) == (0, True), text


def test_an_editor_that_reads_schemastore_s_catalog_checks_accuracy_toml(tmp_path: Path) -> None:
    catalog = json.loads(CATALOG.read_bytes())
    (entry,) = catalog["schemas"]
    place = re.fullmatch(r"https://raw\.githubusercontent\.com/[\w-]+/accgate/main/(.*)", entry["url"])
    assert place
    assert set(entry) == {"name", "description", "fileMatch", "url"}
    entry["url"] = (ROOT / place[1]).as_uri()
    (tmp_path / "catalog.json").write_text(json.dumps(catalog))
    faults = {}
    for name, text in (("accuracy.toml", '[gate]\nalpha = "x"\n'), ("other.toml", '[gate]\nalpha = "x"\n')):
        (tmp_path / name).write_text(text)
        command = [tool("taplo"), "lint", "--schema-catalog", (tmp_path / "catalog.json").as_uri(), name]
        done = subprocess.run(
            command, cwd=tmp_path, env=os.environ | {"HOME": str(tmp_path)}, capture_output=True, text=True, check=False
        )
        faults[name] = done.returncode
    assert faults == {"accuracy.toml": 1, "other.toml": 0}


def devcontainer_installed() -> Path:
    """Dev containers' own command; skips where npm cannot install it."""
    folder = KEPT / "devcontainers"
    program = folder / "node_modules" / ".bin" / "devcontainer"
    if not program.exists():
        folder.mkdir(parents=True, exist_ok=True)
        command = ["npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", str(folder), CLI]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            pytest.skip(f"npm cannot install {CLI}: {error}")
        if done.returncode:
            pytest.skip(f"npm cannot install {CLI}: {done.stderr[-300:]}")
    return program


@pytest.mark.interop
def test_the_dev_container_is_read_by_its_own_command(tmp_path: Path) -> None:
    command = [str(devcontainer_installed()), "read-configuration", "--workspace-folder", str(ROOT)]
    done = subprocess.run(
        [*command, "--docker-path", "/bin/true"],
        capture_output=True, text=True, check=True, env=os.environ | {"HOME": str(tmp_path)},
    )  # fmt: skip
    told = json.loads(done.stdout)["configuration"]
    assert f"ARG PYTHON_IMAGE={told['image']}\n" in (ROOT / "Dockerfile").read_text()
    assert told["postCreateCommand"] == "make .venv/.dev"
