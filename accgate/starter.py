"""The files that `accgate init` writes."""

from __future__ import annotations

CONFIG = """\
# accgate: does this change lower the model's accuracy? See docs/config.md for every key.

[gate]
alpha = 0.05                # how often a healthy change may fail
beta = 0.2                  # how often a drop of theta may pass
references = "references"   # commit this folder: a pull request then shows what changed

[models.{name}]
engine = "{engine}"
model = "{model}"
{extra}
[tasks.{task}]
theta = {theta}                 # the drop in points that must be seen; the plan finds the number of samples
"""

EXTRA = {
    "openai": '\n[models.{name}.options]\nbase_url = "{base_url}"\n# api_key_env = "OPENAI_API_KEY"\n',
    "llamacpp": "\n[models.{name}.options]\nn_parallel = 8\nn_ctx = 8192\n",
    "recorded": "",
    "vllm": "",
}

WORKFLOW = """\
name: accuracy
on: pull_request

permissions:
  contents: read

jobs:
  accuracy:
    runs-on: [self-hosted, gpu]
    permissions:
      contents: read
      pull-requests: write
      checks: write
    steps:
      - uses: actions/checkout@v4
        with:
          persist-credentials: false
      - uses: org/accgate@v1
        with:
          config: accuracy.toml
"""


def config_text(*, name: str, engine: str, model: str, task: str, theta: float, base_url: str) -> str:
    """A starter accuracy.toml.

    >>> text = config_text(name="m", engine="openai", model="x", task="arithmetic", theta=4.0, base_url="http://h/v1")
    >>> 'base_url = "http://h/v1"' in text
    True
    """
    extra = EXTRA[engine].format(name=name, base_url=base_url)
    return CONFIG.format(name=name, engine=engine, model=model, task=task, theta=f"{theta:g}", extra=extra)
