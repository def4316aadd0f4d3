"""The files that `accgate init` writes."""

from __future__ import annotations

import math
import re

import tomli_w

from accgate.errors import BadInput

CONFIG = """\
# accgate: does this change lower the model's accuracy? See docs/config.md for every key.

[gate]
alpha = 0.05                # how often a healthy change may fail
beta = 0.2                  # how often a drop of theta may pass
references = "references"   # commit this folder: a pull request then shows what changed

[{table}]
engine = "{engine}"
model = {model}
{extra}
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

permissions: {}

concurrency:
  group: accuracy-${{ github.ref }}
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
          config: accuracy.toml
"""


def config_text(*, name: str, engine: str, model: str, task: str, theta: float, base_url: str) -> str:
    """A starter accuracy.toml.

    Raises
    ------
    BadInput
        When theta is no drop.

    Examples
    --------
    >>> text = config_text(name="m", engine="openai", model="x", task="arithmetic", theta=4.0, base_url="http://h/v1")
    >>> 'base_url = "http://h/v1"' in text
    True
    """
    if not 0.0 < theta < math.inf:
        raise BadInput(f"theta is {theta:g}; give a drop in points above 0")
    table = "models." + (name if re.fullmatch("[A-Za-z0-9_-]+", name) else _quoted(name))
    extra = EXTRA[engine].format(table=table, base_url=_quoted(base_url))
    return CONFIG.format(table=table, engine=engine, model=_quoted(model), task=task, theta=f"{theta:g}", extra=extra)


def _quoted(text: str) -> str:
    return tomli_w.dumps({"": text}).partition(" = ")[2].strip()
