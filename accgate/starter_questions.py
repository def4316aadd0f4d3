"""What `accgate init` asks where nothing is said on the command line."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from accgate.starter import MODELS, THETA
from accgate.tomlfile import nearest

BASE_URL = "http://127.0.0.1:8000/v1"
TASK = "arithmetic"
ENGINES = ("openai", "vllm", "llamacpp", "ray", "recorded")
ABOUT = {
    "openai": "a server that speaks OpenAI's API",
    "vllm": "vLLM in this process",
    "llamacpp": "llama.cpp in this process",
    "ray": "replicas over a Ray cluster",
    "recorded": "scores or replies from a file",
}


@dataclass(frozen=True)
class Answers:
    """What a starter is made of; `theta` is a drop in points, None for each task's own."""

    engine: str = "openai"
    model: str = MODELS["openai"]
    base_url: str = BASE_URL
    tasks: tuple[str, ...] = (TASK,)
    theta: float | None = None
    workflow: bool = True
    name: str = "model"


def asked(ask: Callable[[str], str], say: Callable[[str], None], library: Sequence[str]) -> Answers:
    """The answers of somebody at a terminal; a question comes again until its answer can be used.

    `ask` shows a question and gives the line that is typed, `say` shows a line. EOFError of `ask` is passed on.
    """
    say("A few questions; Enter takes what stands in brackets.")
    for engine in ENGINES:
        say(f"  {engine:9} {ABOUT[engine]}")
    engine = _answer(ask, say, "Engine", "openai", lambda text: _known(text, ENGINES, "engine"))
    model = _answer(ask, say, "Model", MODELS[engine], _any)
    base_url = _answer(ask, say, "Address of the server", BASE_URL, _any) if engine == "openai" else BASE_URL

    def tasks_of(text: str) -> str | None:
        if text == "?":
            return ", ".join(library)
        named = names_of(text)
        faults = [fault for task in named if (fault := _known(task, library, "task"))]
        return "; ".join(faults) or (None if named else "name a task")

    tasks = _answer(ask, say, f"Tasks, with commas between them (? lists all {len(library)})", TASK, tasks_of)
    theta = _answer(ask, say, "Drop in points that must be seen", f"{THETA:g}", _drop)
    workflow = _answer(ask, say, "Write a GitHub workflow, y or n", "y", _yes_or_no)
    return Answers(engine, model, base_url, names_of(tasks), float(theta), workflow.lower().startswith("y"))


def names_of(text: str) -> tuple[str, ...]:
    """Names with commas between them, each once.

    >>> names_of("mmlu, gsm8k,,mmlu")
    ('mmlu', 'gsm8k')
    """
    return tuple(dict.fromkeys(name for part in text.split(",") if (name := part.strip())))


def _answer(
    ask: Callable[[str], str], say: Callable[[str], None], question: str, usual: str,
    fault_of: Callable[[str], str | None],
) -> str:  # fmt: skip
    while True:
        text = ask(f"{question} [{usual}]: ").strip() or usual
        fault = fault_of(text)
        if fault is None:
            return text
        say(f"  {fault}")


def _known(text: str, known: Sequence[str], kind: str) -> str | None:
    return None if text in known else f"there is no {kind} {text!r}; {nearest(text, known)}"


def _any(text: str) -> str | None:
    return None if text.isprintable() else "write printable characters only"


def _drop(text: str) -> str | None:
    try:
        return None if 0.0 < float(text) < math.inf else "give a number above 0"
    except ValueError:
        return "give a number above 0, such as 2.5"


def _yes_or_no(text: str) -> str | None:
    return None if text.lower() in ("y", "yes", "n", "no") else "answer y or n"
