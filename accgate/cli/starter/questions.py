"""What `accgate init` asks where nothing is said on the command line."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import TextWrapper

from accgate.cli.starter.files import LARGEST, MODELS, THETA
from accgate.text import nearest

BASE_URL = "http://127.0.0.1:8000/v1"
TASK = "arithmetic"
FAMILY = 5  # tasks with the same first word that are listed together
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


def asked(
    ask: Callable[[str], str], say: Callable[[str], None], library: Sequence[str], *,
    missing: Callable[[str, str], str | None], width: int = 80,
) -> Answers:  # fmt: skip
    """The answers of somebody at a terminal; a question comes again until its answer can be used.

    `ask` shows a question and gives the line that is typed, `say` shows a line of up to `width` characters. `missing`
    says what an engine lacks of a model that was typed, None where it is there. EOFError of `ask` is passed on.
    """
    engines = "\n".join(f"  {engine:9} {ABOUT[engine]}" for engine in ENGINES)
    say("A few questions; Enter takes what stands in brackets, ? lists what can be chosen.")
    say(engines)

    def engine_of(text: str) -> str | None:
        return engines.removeprefix("  ") if text == "?" else _known(text, ENGINES, "engine")

    engine = _answer(ask, say, "Engine", "openai", engine_of)
    model = _answer(ask, say, "Model", MODELS[engine], lambda text: _any(text) or missing(engine, text))
    base_url = _answer(ask, say, "Address of the server", BASE_URL, _address) if engine == "openai" else BASE_URL

    def tasks_of(text: str) -> str | None:
        if text == "?":
            return listed(library, width).removeprefix("  ")
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


def listed(names: Sequence[str], width: int) -> str:
    """Names in lines of up to `width` characters; a family of five or more has lines of its own, after the others.

    >>> print(listed(["a", "f_1", "f_2", "f_3", "f_4", "f_5", "g_1"], 17))
      a, g_1
      f_1, f_2, f_3,
      f_4, f_5
    """
    counts = Counter(name.partition("_")[0] for name in names)
    families: dict[str, list[str]] = {"": []}
    for name in names:
        family = name.partition("_")[0]
        families.setdefault(family if counts[family] >= FAMILY else "", []).append(name)
    wrapper = TextWrapper(max(width, 3), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    wrapper.break_long_words = False
    return "\n".join(wrapper.fill(", ".join(family)) for family in families.values() if family)


def _answer(
    ask: Callable[[str], str], say: Callable[[str], None], question: str, usual: str,
    fault_of: Callable[[str], str | None],
) -> str:  # fmt: skip
    while True:
        text = ask(f"{question} [{usual}]: ").strip()
        fault = fault_of(text) if text else None  # what is usual can be lacking yet: init says so at its end
        if fault is None:
            return text or usual
        say(f"  {fault}")


def _known(text: str, known: Sequence[str], kind: str) -> str | None:
    return None if text in known else f"there is no {kind} {text!r}; {nearest(text, known)}"


def _any(text: str) -> str | None:
    return None if text.isprintable() else "write printable characters only"


def _address(text: str) -> str | None:
    from accgate.engines import url_fault

    fault = url_fault(text)
    return fault and f"the address {fault}"


def _drop(text: str) -> str | None:
    try:
        return None if 0.0 < float(text) <= LARGEST else f"give a number above 0 and up to {LARGEST:g}"
    except ValueError:
        return f"give a number above 0 and up to {LARGEST:g}, such as 2.5"


def _yes_or_no(text: str) -> str | None:
    return None if text.lower() in ("y", "yes", "n", "no") else "answer y or n"
