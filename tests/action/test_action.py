"""The action's files: inputs, outputs, scripts, documentation, examples and release in step."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from accgate._version import REPOSITORY, __version__
from tests.support.cases import each
from tests.support.runner import ROOT, load_yaml, posix_tools

ACTION, REPORT = load_yaml(ROOT / "action.yml"), load_yaml(ROOT / "report/action.yml")
ACTIONS = {REPOSITORY: ACTION, f"{REPOSITORY}/report": REPORT}
CI = sorted((ROOT / "docs/ci").iterdir())
EXAMPLES = sorted((ROOT / ".github/examples").glob("*.yml"))
DOCS = (ROOT / "docs/action.md").read_text(encoding="utf-8")


def steps(action: dict[str, Any]) -> list[dict[str, Any]]:
    return action["runs"]["steps"]


def documented(heading: str) -> dict[str, list[str]]:
    """The rows of the table under a heading of docs/action.md, by their first cell."""
    section = DOCS.split(f"\n### {heading}\n", 1)[1].split("\n#", 1)[0]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in section.splitlines() if line[:1] == "|"]
    return {row[0].strip("`"): row for row in rows[2:]}


# Files in step


@pytest.mark.parametrize(("end", "action"), [("", ACTION), (" of report", REPORT)])
def test_every_output_and_every_input_with_its_default_is_documented(end: str, action: dict[str, Any]) -> None:
    assert list(documented(f"Outputs{end}")) == list(action["outputs"])
    rows = documented(f"Inputs{end}")
    assert list(rows) == list(action["inputs"])
    for name, given in action["inputs"].items():
        default = str(given.get("default", ""))
        if given.get("required"):
            assert rows[name][1] == "required", name
        elif default.startswith("${{"):
            assert "github.token" in rows[name][1], name
        elif not default.startswith("ghcr.io"):
            assert rows[name][1] == (f"`{default}`" if default else ""), name


def test_the_outputs_are_those_that_the_steps_write() -> None:
    written = {"verdict", "passed", "summary-markdown", "json", "work", "results"}
    for action in ACTIONS.values():
        for output in action["outputs"].values():
            parts = output["value"].removeprefix("${{ ").removesuffix(" }}").split(" || ")
            names = {re.fullmatch(r"steps\.(?:publish|start|prepare)\.outputs\.([\w-]+)", part)[1] for part in parts}
            assert len(names) == 1
            assert names <= written


@pytest.mark.parametrize("action", ACTIONS.values(), ids=list(ACTIONS))
def test_inputs_reach_the_shell_through_the_environment_alone_and_the_token_few_steps(action: dict[str, Any]) -> None:
    assert set(re.findall(r"inputs\.([\w-]+)", json.dumps(steps(action)))) == set(action["inputs"])
    for step in steps(action):
        assert "${{" not in step["run"]
        assert step["shell"] == "bash"
        has_token = "token" in json.dumps(step["env"]).lower()
        assert has_token == (script_of(step) in {"prepare.sh", "start.sh", "publish.sh"})


def script_of(step: dict[str, Any]) -> str | None:
    found = re.search(r"action/([\w-]+\.sh)\"$", step["run"])
    return found[1] if found else None


@pytest.mark.parametrize("action", ACTIONS.values(), ids=list(ACTIONS))
def test_scripts_read_the_variables_that_their_step_sets_and_no_others(action: dict[str, Any]) -> None:
    common = set(re.findall(r"ACCGATE_[A-Z_]+", (ROOT / "action/common.sh").read_text()))
    for step in steps(action):
        name = script_of(step)
        if name is None:
            continue
        text = (ROOT / "action" / name).read_text()
        read = set(re.findall(r"ACCGATE_[A-Z_]+", text))
        assert set(step["env"]) <= read | common, name
        given_on = set(re.findall(r"--env \"(ACCGATE_[A-Z_]+)=", text))  # to the container, by the script itself
        defaulted = given_on | set(re.findall(r"\$\{(ACCGATE_[A-Z_]+):[-=]", text))
        assert read - defaulted <= set(step["env"]) | {"ACCGATE_SHA"}, name


def test_version_image_and_changelog_are_in_step() -> None:
    pinned = re.compile(rf"ghcr\.io/{REPOSITORY}:{re.escape(__version__)}-(publish|cpu|gpu)(@sha256:[0-9a-f]{{64}})?")
    texts = {path: path.read_text(encoding="utf-8") for path in [*EXAMPLES, *CI, ROOT / "docs/action.md"]}
    texts |= {ROOT / path: json.dumps(action) for path, action in (("action.yml", ACTION), ("report", REPORT))}
    for path, text in texts.items():
        for image in re.findall(r"ghcr\.io/[\w-]+/accgate:[^\s\"`']+", text):
            assert pinned.fullmatch(image), f"{path}: {image}"
    for name in ("README.md", "docs/action.md"):
        versions = re.findall(r"(?:accgate@|# |accgate )v(\d+\.\d+\.\d+)", (ROOT / name).read_text(encoding="utf-8"))
        assert set(versions) - set(re.findall(r"uses: actions/\S+ # v(\S+)", DOCS)) == {__version__}, name
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    heading = re.search(r"^## \[([^\]]+)\]", changelog, re.MULTILINE)
    assert heading is not None
    assert heading[1] in {"Unreleased", __version__}
    default = ACTION["inputs"]["image"]["default"]
    if "@" in default:  # the commit of a release
        assert default in changelog
        assert REPORT["inputs"]["image"]["default"] in changelog
    assert f'version = "{__version__}"' in (ROOT / "pyproject.toml").read_text()
    assert (ROOT / "Dockerfile").read_text().count(f"ARG VERSION={__version__}\n") == 2


def script(name: str, *arguments: str, tree: Path = ROOT) -> subprocess.CompletedProcess[str]:
    """Run a program of .ci on a tree."""
    variables = os.environ | {"ACCGATE_TREE": str(tree)}
    command = [str(ROOT / ".ci" / name), *arguments]
    return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)


@posix_tools
def test_a_release_names_the_images_by_digest_in_action_and_changelog(tmp_path: Path) -> None:
    for name in ("action.yml", "report/action.yml", "pyproject.toml", "CHANGELOG.md", "accgate/_version.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, tmp_path / name)
    digests = [f"sha256:{digit * 64}" for digit in "abc"]
    images = [f"{target}={digest}" for target, digest in zip(("publish", "cpu", "gpu"), digests, strict=True)]
    release = partial(script, "release", tree=tmp_path)
    changelog = tmp_path / "CHANGELOG.md"
    unreleased = changelog.read_text()
    changelog.write_text(unreleased.replace("## [Unreleased]", f"## [{__version__}] - 2026-12-01\n\n- News."))
    assert "pyproject.toml does not have" in release("pin", "9.9.9", *images).stderr
    for unclear in ("publish=latest", digests[0]):
        assert "is no digest" in release("pin", __version__, unclear, images[1]).stderr
    assert release("pin", __version__, *images).returncode == 0
    gpu = load_yaml(tmp_path / "action.yml")["inputs"]["image"]["default"]
    thin = load_yaml(tmp_path / "report/action.yml")["inputs"]["image"]["default"]
    assert gpu == f"ghcr.io/{REPOSITORY}:{__version__}-gpu@{digests[2]}"
    assert thin == f"ghcr.io/{REPOSITORY}:{__version__}-publish@{digests[0]}"
    notes = release("notes", __version__).stdout
    assert all(words in notes for words in (gpu, thin, f"{__version__}-cpu@{digests[1]}`", "- News."))
    changelog.write_text(unreleased.replace(f"## [{__version__}]", "## [0.0.0]"))
    assert "CHANGELOG.md has no heading" in release("pin", __version__, *digests).stderr
    assert [release("major", version).stdout for version in ("0.1.0", "1.4.0", "2.0.0")] == ["v1\n", "v1\n", "v2\n"]


def uses(workflow: dict[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Every step of a workflow, with its job."""
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            yield job, step


@each("path", EXAMPLES)
def test_an_example_uses_known_inputs_and_outputs_alone(path: Path) -> None:
    workflow = load_yaml(path)
    found = 0
    for job, step in uses(workflow):
        name = step.get("uses", "").split("@")[0]
        if name in ACTIONS:
            found += 1
            assert set(step.get("with", {})) <= set(ACTIONS[name]["inputs"])
            assert set(re.findall(r"steps\.accuracy\.outputs\.([\w-]+)", json.dumps(job))) <= set(ACTION["outputs"])
            required = {key for key, given in ACTIONS[name]["inputs"].items() if given.get("required")}
            assert required <= set(step.get("with", {}))
    assert found or path.stem in {"kubernetes", "accgate-commands"}
    assert f".github/examples/{path.name}" in DOCS


def test_the_page_says_which_settings_each_example_needs() -> None:
    rows = documented("The examples, and what each needs")
    assert {re.match(r"\[`([\w.-]+)`\]", name)[1] for name in rows} == {path.name for path in EXAMPLES}
    for path in EXAMPLES:
        (row,) = [" ".join(cells) for name, cells in rows.items() if f"`{path.name}`" in name]
        text, workflow = path.read_text(), load_yaml(path)
        assert "secrets." not in text
        assert "vars." not in text
        for job in workflow["jobs"].values():
            labels = [job["runs-on"]] if isinstance(job["runs-on"], str) else job["runs-on"]
            wanted = [label for label in labels if label != "ubuntu-latest"]
            wanted += [job["environment"]] if "environment" in job else []
            wanted += re.findall(r"cache-dir: (\S+)", text)
            assert all(f"`{name}`" in row for name in wanted), (path.name, wanted)
