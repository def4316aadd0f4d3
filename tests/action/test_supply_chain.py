"""What the workflows, the images and the release are made of: pinned, least privileged, and named in one place."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from accgate._version import REPOSITORY, __version__
from accgate.cli.starter.files import workflow_text
from accgate.inputs.toml import tomllib
from tests.action.test_action import EXAMPLES, script
from tests.real.vllm_cpu import version as vllm_version
from tests.support.runner import ROOT, load_yaml, posix_tools

OWN = sorted((ROOT / ".github/workflows").glob("*.yml"))
ACTIONS = [ROOT / "action.yml", ROOT / "report/action.yml"]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
RELEASE = load_yaml(ROOT / ".github/workflows/release.yml")["jobs"]
# Who may keep the checkout's token in the folder: those that push, and run nobody's code.
PUSHES = {("release", "release"), ("record", "propose"), ("history", "propose")}


def workflows() -> dict[str, dict[str, Any]]:
    return {path.stem: load_yaml(path) for path in [*OWN, *EXAMPLES]}


def jobs() -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Every job, with the names of its workflow and of itself."""
    for name, workflow in workflows().items():
        for job, content in workflow["jobs"].items():
            yield name, job, content


# Workflows


def test_every_action_is_pinned_by_its_commit_and_says_its_version_the_same_everywhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in [*OWN, *EXAMPLES, *ACTIONS]]
    pins = defaultdict(set)
    for line in re.findall(r"^.*\buses:.*$", "\n".join([*texts, workflow_text("accuracy.toml")]), re.MULTILINE):
        used = line.split("uses:")[1].strip()
        # Readers put in the commit of the release that they read.
        if re.fullmatch(rf"{REPOSITORY}(/report)?@v(1|{re.escape(__version__)})", used):
            continue
        if used == "./":  # gate.yml, which gates the tree that it checked out
            continue
        pin = re.fullmatch(r"([\w.-]+/[\w.-]+)(?:/[\w/-]+)?@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)(?: # zizmor: .*)?", used)
        assert pin, line
        pins[pin[1]].add((pin[2], pin[3]))
    assert {name: pin for name, pin in pins.items() if len(pin) > 1} == {}
    assert {"actions/checkout", "github/codeql-action", "ossf/scorecard-action"} <= set(pins)


def test_tokens_can_do_nothing_but_what_each_job_says() -> None:
    for name, workflow in workflows().items():
        assert workflow["permissions"] == {}, name
    for name, job, content in jobs():
        place, permissions = f"{name}/{job}", content["permissions"]
        assert isinstance(permissions, dict), place
        assert set(permissions.values()) <= {"read", "write"}, place
        assert "timeout-minutes" in content, place
        if "self-hosted" in content["runs-on"]:  # runs models, or what a pull request built
            writes = {scope for scope, level in permissions.items() if level == "write"}
            assert writes <= {"checks", "pull-requests"}, place


def test_no_workflow_runs_the_heads_code_with_the_bases_rights() -> None:
    for name, workflow in workflows().items():
        events = workflow["on"] if isinstance(workflow["on"], dict) else {workflow["on"]: None}
        assert "pull_request_target" not in events, name
        for job, content in workflow["jobs"].items():
            writes = "write" in content["permissions"].values()
            for step in content["steps"]:
                if step.get("uses", "").startswith("actions/checkout@"):
                    dropped = step.get("with", {}).get("persist-credentials") is False
                    assert dropped != ((name, job) in PUSHES), f"{name}/{job}"
                    assert "workflow_run" not in events, name
                    if {"issue_comment", "pull_request_review"} & set(events):  # those run with the base's rights
                        assert not writes, f"{name}/{job}"


def test_no_text_that_others_write_becomes_a_command() -> None:
    for name, _, job in jobs():
        assert not [step for step in job["steps"] if "${{" in step.get("run", "")], name


def test_dependabot_knows_the_actions_the_images_and_each_folder_of_python_packages() -> None:
    updates = {update["package-ecosystem"]: update for update in load_yaml(ROOT / ".github/dependabot.yml")["updates"]}
    assert set(updates) == {"github-actions", "docker", "pip"}
    folders = {f"/{path.parent.relative_to(ROOT)}" for path in ROOT.glob("*/*.txt") if "--hash=" in path.read_text()}
    assert {"/", *folders} == set(updates["pip"]["directories"])
    assert "/requirements" in folders


# Packages of the images


def pins(name: str) -> dict[str, str]:
    """The packages of a lock, each with its version; every one has hashes."""
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    text = re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    versions = {}
    for line in text.splitlines():
        pin = re.fullmatch(r"([a-z0-9-]+)==(\S+)((?:\s+--hash=sha256:[0-9a-f]{64})+)\s*", line)
        assert pin, f"{name}: {line}"
        versions[pin[1]] = pin[2]
    return versions


def needs(extras: set[str], python: str) -> Iterator[Requirement]:
    """What accgate with these extras requires, on that Python."""
    project = PROJECT["project"]
    texts = [*project["dependencies"], *(text for extra in extras for text in project["optional-dependencies"][extra])]
    for requirement in map(Requirement, texts):
        if requirement.marker is None or requirement.marker.evaluate({"python_version": python}):
            yield requirement


@pytest.mark.parametrize(("name", "python"), [("publish", "3.11"), ("cpu", "3.11"), ("gpu", "3.12")])
def test_the_lock_of_an_image_satisfies_the_project(name: str, python: str) -> None:
    text = (ROOT / f"requirements/{name}.txt").read_text(encoding="utf-8")
    installed = re.search(r"accgate(?:\[([\w,]+)\])?", text.splitlines()[0])
    assert installed
    assert f'"{installed[0]} @ file://' in DOCKERFILE
    # What vLLM's image has is not installed again; the build of that image fails where it does not fit.
    brought = set(re.findall(r"^# ([a-z0-9-]+)$", text.partition("brings:\n")[2], re.MULTILINE))
    locked = pins(name)
    assert not brought & set(locked)
    for requirement in needs({*filter(None, (installed[1] or "").split(","))}, python):
        package = canonicalize_name(requirement.name)
        if name == "gpu" and package in brought:
            continue
        assert package in locked, f"{name}: run make lock for {requirement}"
        assert requirement.specifier.contains(locked[package]), f"{name}: run make lock for {requirement}"


def test_what_publishes_and_what_evaluates_have_the_same_packages() -> None:
    assert pins("publish").items() <= pins("cpu").items()


def test_what_builds_packages_is_locked_too() -> None:
    locked = pins("build")
    named = [line for line in (ROOT / "requirements/build.in").read_text().splitlines() if line[:1] not in ("", "#")]
    assert set(PROJECT["build-system"]["requires"]) <= set(named)
    for requirement in map(Requirement, named):
        assert requirement.specifier.contains(locked[requirement.name]), f"run make lock for {requirement}"


def open_lines() -> str:
    """What the release's own check says of this tree."""
    return script("release", "check", __version__).stderr


def test_nothing_comes_into_an_image_or_a_release_but_by_digest_or_hash() -> None:
    bases = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)$", DOCKERFILE, re.MULTILINE))
    stages = {*re.findall(r"^FROM .* AS (\S+)$", DOCKERFILE, re.MULTILINE)}
    assert {*re.findall(r"^FROM (\S+)", DOCKERFILE, re.MULTILINE)} - stages == {f"${{{name}}}" for name in bases}
    pinned = re.compile(r"[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}")
    for image in bases.values():  # no release is made while one has no digest
        assert pinned.fullmatch(image) or f"the Dockerfile names {image} without its digest" in open_lines(), image
    steps = [step.get("run", "") for job in RELEASE.values() for step in job["steps"]]
    for command in re.split(r"&&|\n(?! )", "\n".join([re.sub(r"\\\n\s*", "", DOCKERFILE), *steps])):
        if re.search(r"\bpip\b.* (install|wheel) ", command) and not command.lstrip().startswith("#"):
            hashed = "--require-hashes" in command and "--no-deps" in command
            own = command.rstrip().endswith(" --wheel-dir /wheels .") and "--no-build-isolation" in command
            assert hashed or own or "--no-index" in command, command


def test_vllms_version_is_the_same_in_image_lock_docs_and_tests() -> None:
    version = vllm_version()  # the real tests take it from the Dockerfile as well
    texts = {
        path.name: path.read_text(encoding="utf-8") for path in [*(ROOT / "docs").glob("*.md"), ROOT / "README.md"]
    }
    assert f"vLLM {version}: the `-gpu` image" in texts["engines.md"]
    assert f"asynchronous engine ({version})" in texts["scale.md"]
    texts["gpu.txt"] = (ROOT / "requirements/gpu.txt").read_text(encoding="utf-8")
    assert f"vllm=={version}" in texts["gpu.txt"]
    for name, text in texts.items():
        others = re.findall(r"vllm(?:-cpu|-openai)?\W{1,3}v?(\d+(?:\.\d+)+)(?![\d.]*\d|, older)", text, re.IGNORECASE)
        assert set(others) <= {version}, name


# The release


def test_nothing_is_named_or_uploaded_before_the_smoke_test_and_a_reviewer() -> None:
    assert set(RELEASE["smoke"]["needs"].split()) == {"image"}
    assert RELEASE["smoke"]["strategy"] == RELEASE["image"]["strategy"]
    targets = RELEASE["image"]["strategy"]["matrix"]["target"]
    assert set(targets) == set(RELEASE["image"]["outputs"]) == {"publish", "cpu", "gpu"}
    for step in RELEASE["release"]["steps"]:
        assert {name.lower() for name in step.get("env", {})} & {*targets} in (set(), {*targets}), step["name"]
    assert RELEASE["release"]["needs"] == ["package", "image", "smoke"]
    assert RELEASE["pypi"]["needs"] == "release"
    for name, job in RELEASE.items():
        text = json.dumps(job)
        irreversible = any(word in text for word in ("git push", "imagetools create", "gh release", "pypi-publish"))
        assert ("environment" in job) == irreversible, name
        assert irreversible or "contents: write" not in text
        assert not irreversible or job["environment"] == "release"
        assert "secrets." not in text  # PyPI and the registry know the workflow itself
    # PyPI attests what a trusted publisher uploads; a password would switch that off.
    (upload,) = [step for step in RELEASE["pypi"]["steps"] if "pypi-publish" in step["uses"]]
    assert "with" not in upload
    assert RELEASE["pypi"]["permissions"] == {"id-token": "write"}
    for job in ("image", "release"):
        assert any(step.get("uses", "").startswith("actions/attest@") for step in RELEASE[job]["steps"]), job


# Whose accgate this is


NAMES = re.compile(
    r"""(?: github\.com/ | ghcr\.io/ | uses:\s | --repo\s | [@`"=] )  # what stands before a repository's name
        ([\w-]+)/accgate (?= [@:/"'`\s-] | $ )""",
    re.VERBOSE | re.MULTILINE,
)


def committed() -> list[Path]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        pytest.skip("needs a clone: git says which files are the project's")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


def names(paths: list[Path], root: Path = ROOT) -> dict[str, set[Path]]:
    """Which names stand before /accgate, and in which of these files below the root."""
    places = defaultdict(set)
    for path in paths:
        if "tests" not in path.relative_to(root).parts[-3:] and "test_" not in path.name:
            for name in NAMES.findall(path.read_text(encoding="utf-8", errors="ignore")):
                places[name].add(path)
    return places


def test_every_file_names_the_same_organisation() -> None:
    places = names(committed())
    organisation = REPOSITORY.partition("/")[0]
    assert {name: paths for name, paths in places.items() if name != organisation} == {}
    assert len(places[organisation]) >= 20
    # What can take it from accgate/_version.py does.
    code = {path for path in places[organisation] if path.suffix in (".py", ".sh") or path.parent.name == ".ci"}
    assert code == {ROOT / "accgate/_version.py"}


def check_of_a_release(tree: Path, repository: str) -> None:
    """A renamed tree is told what RELEASING.md leaves to do, and passes once that is done."""
    check = partial(script, "release", "check", tree=tree)
    before = {path: path.read_bytes() for path in map(tree.joinpath, CHANGED_BY_A_RELEASE)}
    open_ = check(__version__, repository).stderr
    if "## [Unreleased]" in (tree / "CHANGELOG.md").read_text():
        assert f"CHANGELOG.md has no heading '## [{__version__}] - DATE'" in open_
    elsewhere = check("9.9.9", "acme/accgate").stderr
    for words in ("run .ci/organisation acme", "_version.py does not have", "is not 9.9.9"):
        assert words in elsewhere, words
    for path in before:
        lines = path.read_text().replace("[Unreleased]", f"[{__version__}] - 2026-12-01").splitlines(keepends=True)
        named = {int(line) for line in re.findall(rf"{path.relative_to(tree)}:(\d+) says", open_)}
        path.write_text("".join(line for number, line in enumerate(lines, 1) if number not in named))
    dockerfile = tree / "Dockerfile"
    pin = r"\1@sha256:" + "0" * 64
    dockerfile.write_text(re.sub(r"(?m)^(ARG \w+_IMAGE=[^@\n]+)$", pin, dockerfile.read_text()))
    done = check(__version__, repository)
    assert (done.returncode, done.stderr) == (0, "")
    owners = tree / ".github/CODEOWNERS"
    team = owners.read_text()
    owners.write_text(team.replace(f"@{repository}-maintainers", "@acme/others"))
    assert "@acme/others, which is no team of" in check(__version__, repository).stderr
    owners.write_text(team)
    for path, content in before.items():
        path.write_bytes(content)


# Where accgate says that it is not released yet, and the changelog.
CHANGED_BY_A_RELEASE = (
    "CHANGELOG.md", "Dockerfile", "README.md", "docs/start.md", "accgate/cli/starter/templates/workflow.yml.j2"
)  # fmt: skip


@posix_tools
def test_one_command_changes_the_organisation_everywhere(tmp_path: Path) -> None:
    files = committed()
    for path in files:
        copy = tmp_path / path.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(path, copy)

    def change(name: str) -> int:
        return script("organisation", name, tree=tmp_path).returncode

    other = "another-one"
    assert change("a/b") == change("") == 2
    assert change(other) == 0
    copies = [tmp_path / path.relative_to(ROOT) for path in files]
    organisation = REPOSITORY.partition("/")[0]
    before, after = names(files)[organisation], names(copies, tmp_path)
    assert set(after) == {other}
    assert {path.relative_to(tmp_path) for path in after[other]} == {path.relative_to(ROOT) for path in before}
    assert f'REPOSITORY = "{other}/accgate"' in (tmp_path / "accgate/_version.py").read_text()
    left = re.compile(rf"(?<![\w.@-]){organisation}(\\\\?/)accgate(?![\w.])|@{organisation}/accgate")
    assert [str(copy) for copy in copies if left.search(copy.read_text(encoding="utf-8", errors="ignore"))] == []
    check_of_a_release(tmp_path, f"{other}/accgate")
    assert change(organisation) == 0
    for path, copy in zip(files, copies, strict=True):
        assert copy.read_bytes() == path.read_bytes(), path
