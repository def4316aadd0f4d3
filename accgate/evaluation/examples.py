"""How a task reads replies, in a sentence and on ten example replies."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from accgate.engines import Reply
from accgate.errors import AccgateError, CannotEvaluate
from accgate.evaluation.reading import Thoughts, read
from accgate.evaluation.scoring import NotScored, score_of
from accgate.metrics import CALLS, Metric
from accgate.tasks import Definition, Sample, Samples, Task, library_file, read_definition
from accgate.tasks.choices import Option
from accgate.tasks.rows import Source
from accgate.tasks.task import build_task
from accgate.tasks.tools import tools_of

WHOLE = ("(?s).+", r"(?s)(.+)", r"(?s)\A(.*)\Z")  # regular expressions that take the whole reply
ROWS = 10  # rows of a generator, of which the first is shown
LONGEST = 60  # characters of a regular expression that a sentence shows
SORRY, CUT_OFF = "I'm sorry, but I can't help with that.", "Let us think step by step. First of all,"
PROSE = (  # {r} is the right answer and {w} a wrong one; {R} and {W} are these in the form that the task asks for
    "{R}", "It follows from the question.\n\n{R}", "**{R}**", "So it is $\\boxed{{{r}}}$.", "正确答案是{r}。",
    "At first I thought of {w}, but the answer is {r}.", "{W}", SORRY, "", CUT_OFF,
)  # fmt: skip
FENCED = (
    "{r}", "```{kind}\n{r}\n```", "Here it is:\n\n```{kind}\n{r}\n```\nI hope that this helps.", "```\n{r}\n```",
    "Voici le résultat :\n\n```{kind}\n{r}\n```", "```{kind}\n{w}\n```\n\nBetter:\n\n```{kind}\n{r}\n```",
    "```{kind}\n{w}\n```", SORRY, "", "```{kind}\n{half}",
)  # fmt: skip
CALLING = (
    ("", (("Rome",),)), ("I look it up.", (("Rome",),)), ("", (("Oslo",),)), ("", (("Rome",), ("Oslo",))), ("", ((),)),
    ('{"name": "weather", "arguments": {"city": "Rome"}}', ()), ("Ich rufe weather(Rome) auf.", ()), (SORRY, ()),
    ("", ()), (CUT_OFF, ()),
)  # fmt: skip # the text of a reply, and the cities of its calls
PAIRS = (
    ("Paris", "Rome"), ("42", "41"), ("B", "C"), ("yes", "no"), ("positive", "negative"), ("\\frac{1}{2}", "2"),
)  # fmt: skip # right and wrong
CODE = "def solve(x):\n    return x + 1", "def solve(x):\n    return x"
FORMS = (
    "{}", "Answer: {}", "The answer is {}", "#### {}", "\\boxed{{{}}}", "<answer>{}</answer>", '{{"answer": "{}"}}',
    "```\n{}\n```", "```python\n{}\n```", "Guess: {}\nProbability: 0.9",
)  # fmt: skip
WEATHER = {"name": "weather", "parameters": {"type": "dict", "required": ["city"], "properties": {
    "city": {"type": "string"}}}}  # fmt: skip


@dataclass(frozen=True)
class Example:
    """A reply, the answer that is read from it, and its points.

    The points are None where only a judge, a test or a real row can give them.
    """

    reply: str
    answer: str | None
    points: float | None
    is_cut: bool = False


def reading_of(definition: Definition) -> str:
    """Say in a sentence how a task reads and scores a reply."""
    content = definition.content
    kind, metric, extract = _metric_of(definition, loaded=False).kind, f"`{content.metric}`", content.extract
    if content.dataset.parts:
        return f"Each of its {len(content.dataset.parts)} parts is read as the task of that name, here the first."
    if content.by_likelihood:
        return "No reply is read: the answer is the option that the model finds likeliest after the prompt."
    if kind == "likelihood":
        return f"No reply is read: {metric} comes from the log-probabilities of the target after the prompt."
    if content.by_harness:
        return "lm-eval reads and scores the replies."
    regex = " ".join((extract.regex or "").split())
    shown = f"`{regex}`" if len(regex) <= LONGEST else "the task's own regular expression"
    what = "the whole reply"
    if content.metric == CALLS:
        what = "the functions that the reply calls, with their arguments"
    elif extract.form is not None:
        forms = {"number": f"the {extract.which} number in any notation", "boxed": "what the last \\boxed{} holds"}
        what = forms.get(extract.form, f"the {extract.which} block of Python code that fits")
    elif extract.json_path is not None:
        what = f"the value at {extract.json_path} of the first JSON in the reply"
    elif regex:
        what = "the whole reply as it is" if regex in WHOLE else f"the {extract.which} match of {shown}"
    elif content.choices is not None:
        what = "the label of the option that the reply chooses"
    reasoning = ", reasoning included" if content.reasoning == "keep" else ""
    by = {"code": "its tests give", "judge": "a judge gives"}.get(kind, f"{metric} gives")
    return f"The answer is {what}{reasoning}; {by} the points."


def examples_of(task: Task) -> list[Example]:
    """Return ten replies as the task reads and scores them.

    There are none if the task reads no reply. The replies answer the task's first sample, or a made-up one.
    """
    if task.content.dataset.parts:
        definition = read_definition(library_file(next(iter(task.content.dataset.parts.values()))))
        task = unread_task(task.name, definition)
    if task.by_likelihood or task.metric.kind == "likelihood" or task.content.by_harness:
        return []
    sample, written = _sample_of(task)
    is_code, is_json = task.metric.kind == "code", task.metric.name.startswith("json_")
    if is_code or is_json:
        kind, (r, w) = ("python", CODE) if is_code else ("json", (_target(task, sample), "{}"))
        texts = [text.format(kind=kind, r=r, w=w, half=r[: len(r) // 2]) for text in FENCED]
    elif task.has_tools:
        return [_example(task, sample, *each) for each in CALLING]
    else:
        r, w = _target(task, sample), _wrong(task, sample)
        names = {"r": r, "w": w, "R": written.format(r), "W": written.format(w)}
        texts = [text.format(**names) for text in PROSE]
    return [_example(task, sample, text) for text in texts]


def unread_task(name: str, definition: Definition) -> Task:
    """Return the task of a definition, without samples unless its rows are generated."""
    if definition.content.dataset.generator is not None:
        return build_task(name, definition, Source({}, seed=0, count=ROWS))
    return Task(name, Samples(()), _metric_of(definition), definition, {})


def _metric_of(definition: Definition, *, loaded: bool = True) -> Metric:
    """Return a definition's metric. A metric that is not installed here gives no points."""
    try:
        return definition.metric(loaded=loaded and not definition.content.by_harness)
    except CannotEvaluate:
        return Metric(definition.content.metric)


def _example(task: Task, sample: Sample, text: str, calls: Sequence[Sequence[str]] = ()) -> Example:
    is_cut = text.startswith(CUT_OFF) or text.count("```") == 1
    made = tuple(("weather", json.dumps(dict(zip(["city"], call, strict=False)))) for call in calls)
    reply = Reply(text, "length" if is_cut else "stop", tool_calls=made)
    answer = read(task, reply, Thoughts(), sample, recorded=False).answer
    points = task.metric.worst if answer is None else None
    if answer is not None and task.metric.kind == "text":
        try:
            points = score_of(task, sample, answer)
        except (NotScored, AccgateError):  # the metric does not take a made-up target
            points = None
    shown = " ".join([text, *(f"{name}({arguments})" for name, arguments in made)]).strip()
    return Example(shown, answer, points, is_cut)


def _sample_of(task: Task) -> tuple[Sample, str]:
    """Return a sample, and the form in which its task finds the answer.

    It is the first of `FORMS` in which the right answer is read.
    """
    has_row = task.samples and not task.has_tools and task.metric.kind != "code"
    samples = [task.samples[0]] if has_row else list(_made_up(task))
    for sample in samples:
        right = _target(task, sample)
        for form in FORMS:
            example = _example(task, sample, form.format(right))
            if example.answer == right and example.points in (task.metric.best, None):
                return sample, form
    return samples[0], "{}"


def _made_up(task: Task) -> Iterator[Sample]:
    sample = Sample("", "", "", "", "", options=tuple(map(Option, "ABCD", ("tin", "iron", "lead", "zinc"))))
    if task.has_tools:
        calls = json.dumps([{"weather": {"city": ["Rome"]}}])
        sample = replace(sample, target=calls, tools=tools_of([WEATHER]))
    if task.metric.kind == "code":
        yield replace(sample, target="<<answer>>\nassert solve(1) == 2")
    elif task.metric.name.startswith("json_"):
        yield replace(sample, target='{"name": "Ada", "age": 36}')
    if task.content.target and "{" not in task.content.target:  # the same for every row
        yield replace(sample, target=task.content.target)
    elif task.has_tools:
        yield sample
    first = 2 if task.content.choices is not None else -1 if task.content.metric == "math" else 0
    for right, _ in PAIRS[first:]:
        yield replace(sample, target=json.dumps([right]) if task.content.targets is not None else right)


def _target(task: Task, sample: Sample) -> str:
    """Return the right answer, the first if there are several."""
    if task.content.targets is None:
        return sample.target
    texts = json.loads(sample.target)
    return str(texts[0]) if texts else ""


def _wrong(task: Task, sample: Sample) -> str:
    right = _target(task, sample)
    labels = [option.label for option in sample.options if option.label != right] if task.content.choices else []
    if labels:
        return labels[-1]
    return dict(PAIRS).get(right) or (str(int(right) + 1) if right.lstrip("-").isdecimal() else "something else")
