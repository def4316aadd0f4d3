"""What `accgate init` asks at a terminal, where no option says what to write."""

from collections.abc import Callable, Sequence
from textwrap import TextWrapper

from accgate.cli.common import names_of
from accgate.cli.starter.files import LARGEST, MODELS, THETA, Answers
from accgate.tasks import ENDINGS
from accgate.text import nearest

ENGINES = {
    "openai": "a server that speaks OpenAI's API",
    "vllm": "vLLM in this process",
    "llamacpp": "llama.cpp in this process",
    "ray": "replicas over a Ray cluster",
    "recorded": "scores or replies from a file",
}
Ask = Callable[[str], str]
Say = Callable[[str], None]


def ask_answers(
    ask: Ask,
    say: Say,
    library: Sequence[str],
    *,
    missing: Callable[[str, str], str | None],
    reads: Callable[[str], str | None],
    serves: Callable[[str], tuple[str, Sequence[str], str]],
    width: int = 80,
) -> Answers:
    """Ask somebody at a terminal.

    A question comes again until its answer can be used. `ask` shows a question and returns the line that is typed,
    `say` shows a line of up to `width` characters. `missing` says what is wrong with an engine's model, None if nothing
    is; `reads` says what is wrong with a file of one's own rows, `serves` where a server answers, with which models,
    and that in words. EOFError of `ask` is passed on.
    """
    engines = "\n".join(f"  {engine:9} {about}" for engine, about in ENGINES.items())
    say("A few questions. Enter takes the answer in brackets; ? lists the choices.")
    say(engines)

    def engine_fault(text: str) -> str | None:
        return engines.removeprefix("  ") if text == "?" else _choice_fault(text, tuple(ENGINES), "engine")

    engine = _ask(ask, say, "Engine", "openai", engine_fault)
    base_url, usual = Answers.base_url, MODELS[engine]
    if engine == "openai":
        base_url, models, about = serves(_ask(ask, say, "Address of the server", base_url, _address_fault))
        say(f"  {about}")
        usual = models[0] if models else usual
    model = _ask(ask, say, "Model", usual, lambda text: _text_fault(text) or missing(engine, text))

    def tasks_fault(text: str) -> str | None:
        if text == "?":
            return list_names(library, width).removeprefix("  ")
        if text.lower().endswith(ENDINGS):
            return reads(text)
        tasks = names_of(text)
        faults = [fault for task in tasks if (fault := _choice_fault(task, library, "task"))]
        return "; ".join(faults) or (None if tasks else "name a task")

    question = f"A JSONL or CSV file of your own, or tasks with commas between them (? lists all {len(library)})"
    tasks = _ask(ask, say, question, ",".join(Answers.tasks), tasks_fault)
    data = tasks if tasks.lower().endswith(ENDINGS) else None
    theta = None
    if data is None:
        theta = float(_ask(ask, say, "Drop in points that must be detected", f"{THETA:g}", _theta_fault))
    workflow = _ask(ask, say, "Write a GitHub workflow, y or n", "y", _yes_no_fault).lower().startswith("y")
    return Answers(engine, model, base_url, names_of(tasks) if data is None else (), theta, workflow, data=data)


def list_names(names: Sequence[str], width: int) -> str:
    """Write names in lines of up to `width` characters.

    >>> print(list_names(["a", "f_1", "f_2", "f_3", "g_1"], 17))
      a, f_1, f_2,
      f_3, g_1
    """
    wrapper = TextWrapper(max(width, 3), initial_indent="  ", subsequent_indent="  ", break_on_hyphens=False)
    wrapper.break_long_words = False
    return wrapper.fill(", ".join(names))


def _ask(ask: Ask, say: Say, question: str, default: str, fault_of: Callable[[str], str | None]) -> str:
    while True:
        text = ask(f"{question} [{default}]: ").strip()
        fault = fault_of(text) if text else None  # the default's file may not exist yet; init says so at its end
        if fault is None:
            return text or default
        say(f"  {fault}")


def _choice_fault(text: str, choices: Sequence[str], kind: str) -> str | None:
    return None if text in choices else f"there is no {kind} {text!r}; {nearest(text, choices)}"


def _text_fault(text: str) -> str | None:
    return None if text.isprintable() else "write printable characters only"


def _address_fault(text: str) -> str | None:
    from accgate.engines import url_fault

    fault = url_fault(text)
    return fault and f"the address {fault}"


def _theta_fault(text: str) -> str | None:
    try:
        return None if 0.0 < float(text) <= LARGEST else f"give a number above 0 and up to {LARGEST:g}"
    except ValueError:
        return f"give a number above 0 and up to {LARGEST:g}, such as 2.5"


def _yes_no_fault(text: str) -> str | None:
    return None if text.lower() in ("y", "yes", "n", "no") else "answer y or n"
