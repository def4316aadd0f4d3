"""A task as the installed lm-evaluation-harness loads it.

lm-eval itself makes the requests of each document (few-shot examples included) and scores the answers, through the
task's filters and `process_results`. Nothing of a task is rewritten here.
"""

import copy
import math
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from accgate.errors import BadInput, CannotEvaluate, KeyFaults
from accgate.inputs.typed import setting_text
from accgate.sandbox.declared import Code, CodeFailed, CodeProcess, hub_cache
from accgate.tasks.lm_eval.loading import LmEvalOptions, failures, load_tasks, means_of
from accgate.tasks.lm_eval.mapping import (
    FRACTIONS,
    harness_fingerprint,
    likeliest,
    numbered_ids,
    request_text,
    scale_of,
    stated_direction,
)
from accgate.tasks.lm_eval.requests import LmEvalRequest, Response, request_of

# Decided in bits, document by document: lm-eval pools all documents, which no test of pairs can.
LOGARITHMS = ("perplexity", "word_perplexity", "byte_perplexity", "bits_per_byte")
NEED_GREEDY = frozenset({("loglikelihood", "acc"), ("multiple_choice", "exact_match")})


@dataclass(frozen=True)
class LmEvalSample:
    """A document of a task with its requests, in order.

    A request comes as often as the task repeats it.
    """

    id: str
    task: str
    prompt: str
    target: str
    requests: tuple[LmEvalRequest, ...]
    instances: tuple[Any, ...] = field(repr=False, compare=False, default=())


@dataclass(frozen=True)
class LmEvalTask:
    """A task or group of lm-eval, ready to be asked.

    `samples` are in the order of lm-eval's documents; the caller orders and draws them by their ids. A group has
    samples of several tasks, which `LmEvalSample.task` names. `fingerprint` is that of an imported log of the same
    task.
    """

    name: str
    samples: tuple[LmEvalSample, ...]
    metric: str
    filter: str
    scale: float
    higher_is_better: bool
    output_type: str
    fingerprint: Mapping[str, str]
    tasks: Mapping[str, Any] = field(repr=False, compare=False)

    @cached_property
    def documents(self) -> Mapping[str, LmEvalSample]:
        """The samples by their ids."""
        return {sample.id: sample for sample in self.samples}

    @property
    def needs_likelihoods(self) -> bool:
        """Whether the engine must score given texts."""
        return any(request.kind != "generate" for request in self.samples[0].requests)

    def score(self, sample: LmEvalSample, responses: Sequence[Response]) -> dict[str, float]:
        """Compute every metric behind every filter, by "metric,filter".

        Values are lm-eval's own. Perplexities are this document's bits per word, per byte, or of the whole
        continuation. Metrics that lm-eval combines over all documents in another way are left out.

        Parameters
        ----------
        sample : LmEvalSample
            One of `samples`.
        responses : sequence of str, (float, bool or None) or float
            To each of its requests: the text; the log-likelihood, and whether the continuation is the model's first
            choice; the log-likelihood of a whole text.

        Raises
        ------
        CannotEvaluate
            When lm-eval cannot score them.
        """
        task = self.tasks[sample.task]
        instances = _with_responses(sample, responses)
        scores: dict[str, float | None] = {}
        with failures(f"lm-eval's task {sample.task} cannot score sample {sample.id}"):
            for ensemble in task._filters:
                ensemble.apply(instances)
            for name in instances[0].filtered_resps:
                values = task.process_results(instances[0].doc, [one.filtered_resps[name] for one in instances])
                scores |= {f"{metric},{name}": _scalar(metric, value) for metric, value in values.items()}
        return {key: value for key, value in scores.items() if value is not None}

    def points(self, sample: LmEvalSample, responses: Sequence[Response]) -> float:
        """Return the chosen metric in points (bits for a perplexity).

        Raises
        ------
        BadInput
            When the task gives no such value, or one that is no fraction where it should be.
        CannotEvaluate
            When lm-eval cannot score, or needs to know of first choices and the engine does not tell.
        """
        unknown = any(isinstance(response, tuple) and response[1] is None for response in responses)
        if unknown and (self.output_type, self.metric) in NEED_GREEDY:
            fault = "needs to know the model's first choices, which the engine hides"
            raise CannotEvaluate(f"{self.name}: {self.metric} {fault}")
        scores = self.score(sample, responses)
        key = f"{self.metric},{self.filter}"
        if key not in scores:
            raise BadInput(f"{self.name}: gives no {key}; set metric and filter: {', '.join(scores) or 'none'}")
        value = scores[key]
        if not math.isfinite(value) or (self.scale == 100.0 and self.metric in FRACTIONS and not 0.0 <= value <= 1.0):
            raise BadInput(f"{self.name}: {key} of sample {sample.id} is {value:g}; set scale")
        return value * self.scale

    def answer(self, sample: LmEvalSample, responses: Sequence[Response]) -> str | None:
        """Return the reply after the filter.

        For scored options it is the likeliest one; a single option gives None.
        """
        if isinstance(responses[0], str):
            instances = _with_responses(sample, responses)
            ensemble = next((one for one in self.tasks[sample.task]._filters if one.name == self.filter), None)
            if ensemble is not None:
                ensemble.apply(instances)
            answer = instances[0].filtered_resps.get(self.filter, responses[0])
            while isinstance(answer, (list, tuple)) and answer:
                answer = answer[0]
            return answer if isinstance(answer, str) else None
        likelihoods = [response[0] for response in responses if isinstance(response, tuple)]
        if len(likelihoods) != len(sample.requests):
            return None
        return likeliest([(request.prompt, request.continuation) for request in sample.requests], likelihoods)

    def is_unread(self, answer: str | None) -> bool:
        """Tell whether an answer is what the filter gives where it finds none.

        Examples are "[invalid]" and an empty answer.
        """
        if answer is None:
            return False
        tasks = self.tasks.values()
        ensembles = [one for task in tasks for one in task._filters if one.name == self.filter]
        return not answer.strip() or answer in {text for one in ensembles for text in _fallbacks(one)}


def _fallbacks(ensemble: Any) -> list[str]:
    """Return what an ensemble's filters give where they find nothing, each once."""
    texts: list[Any] = []
    for build in ensemble.filters:
        fallback = getattr(build(), "fallback", None)
        texts += fallback if isinstance(fallback, list) else [fallback]
    return [text for text in texts if isinstance(text, str)]


def lm_eval_task(name: str, *, options: LmEvalOptions | None = None, folder: Path = Path()) -> LmEvalTask:
    """Load a task or group of lm-eval by its name.

    Every document has its requests.

    Parameters
    ----------
    name : str
        As `lm_eval --tasks` takes it.
    options : LmEvalOptions or None
        What differs from the task's own settings.
    folder : Path
        Where `include_path` starts from.

    Raises
    ------
    BadInput
        When there is no such task, it has several metrics or filters and none is chosen, or it is of a kind that is
        not run here: images, sounds, or code from the model.
    CannotEvaluate
        When lm-eval is not installed, or the data set cannot be had.
    """
    options = options or LmEvalOptions()
    own = None if options.include_path is None else folder / options.include_path
    tasks = load_tasks(name, options, own)
    metric, filter_name = _metric_and_filter(name, tasks, options)
    first = next(iter(tasks.values()))
    output_type = str(first.OUTPUT_TYPE)
    if options.chat and output_type != "generate_until":
        raise BadInput(f"{name}: scores given texts ({output_type}), which a chat cannot; leave chat out")
    samples = tuple(sample for each, task in tasks.items() for sample in _samples(each, task, chat=options.chat))
    stated = stated_direction(options.metric, options.higher_is_better)
    higher = bool(first.higher_is_better().get(metric, stated))
    if higher is not stated:  # the guard and `verify` do not load lm-eval
        fault = f"lm-eval says that {'more' if higher else 'less'} of {metric} is better"
        raise KeyFaults((("options", "higher_is_better"), f"{fault}; write higher_is_better = {str(higher).lower()}"))
    generation = dict(first.config.generation_kwargs or {}) if output_type == "generate_until" else None
    scale = 1.0 if metric in LOGARITHMS else scale_of(metric, (), options.scale, name)
    return LmEvalTask(
        name=name,
        samples=samples,
        metric=metric,
        filter=filter_name,
        scale=scale,
        higher_is_better=higher,
        output_type=output_type,
        fingerprint=harness_fingerprint(name, metric, filter_name, generation),
        tasks=tasks,
    )


def _metric_and_filter(name: str, tasks: Mapping[str, Any], options: LmEvalOptions) -> tuple[str, str]:
    """Choose the metric and the filter that are set, or the only ones.

    A metric that a task makes up while it scores may be set too.
    """
    first, *others = [list(means_of(task, LOGARITHMS)) for task in tasks.values()]
    pairs = [pair for pair in first if all(pair in other for other in others)]
    fitting = [pair for pair in pairs if options.metric in (None, pair[0]) and options.filter in (None, pair[1])]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting and options.metric is not None:
        filters = dict.fromkeys(one.name for task in tasks.values() for one in task._filters)
        matching = [one for one in filters if options.filter in (None, one)]
        if len(matching) == 1:
            return options.metric, matching[0]
    ways = (f"{setting_text('metric', metric)}, {setting_text('filter', one)}" for metric, one in fitting or pairs)
    raise BadInput(f"{name}: which score decides? Set one of: {'; '.join(ways) or 'none'}")


def _samples(name: str, task: Any, *, chat: bool) -> list[LmEvalSample]:
    by_document: dict[int, list[Any]] = {}
    for instance in task.instances:
        by_document.setdefault(instance.doc_id, []).append(instance)
    groups = [sorted(group, key=lambda one: one.idx) for group in by_document.values()]
    texts = [(request_text(one.args for one in group), str(task.doc_to_target(group[0].doc))) for group in groups]
    return [
        LmEvalSample(id_, name, prompt, target, _requests(name, group, chat=chat), tuple(group))
        for id_, (prompt, target), group in zip(numbered_ids(name, texts), texts, groups, strict=True)
    ]


def _requests(name: str, group: Sequence[Any], *, chat: bool) -> tuple[LmEvalRequest, ...]:
    where, repeated = f"lm-eval's task {name}", (one for one in group for _ in range(one.repeats or 1))
    return tuple(request_of(one.request_type, one.args, chat=chat, where=where) for one in repeated)


def _with_responses(sample: LmEvalSample, responses: Sequence[Response]) -> list[Any]:
    """Copy a document's instances with their responses.

    This is the form in which lm-eval has instances after it asked.
    """
    repeats = [one.repeats or 1 for one in sample.instances]
    if len(responses) != sum(repeats):
        raise ValueError(f"{len(responses)} responses to the {sum(repeats)} requests of sample {sample.id}")
    rest = iter(responses)
    copies = []
    for one, times in zip(sample.instances, repeats, strict=True):
        instance = copy.copy(one)
        own = [next(rest) for _ in range(times)]
        instance.resps = [(value[0], bool(value[1])) if isinstance(value, tuple) else value for value in own]
        instance.filtered_resps = {}
        copies.append(instance)
    return copies


def _scalar(name: str, value: Any) -> float | None:
    """Return a metric's value for one document.

    Perplexities give their logarithm. A value that exists only for a whole dataset gives None.

    >>> _scalar("acc", True), _scalar("word_perplexity", (-2 * math.log(2), 4)), _scalar("f1", (0, 1))
    (1.0, 0.5, None)
    """
    if name in LOGARITHMS:
        total, count = value if isinstance(value, tuple) else (value, 1)
        return -float(total) / max(int(count), 1) / math.log(2.0)
    try:
        return None if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        return None


# A task whose code runs in a process of its own, which sees the files alone that the task consists of

PLAIN = ("name", "metric", "filter", "scale", "higher_is_better", "output_type", "fingerprint")  # of a task


@dataclass(frozen=True)
class TaskApart(LmEvalTask):
    """A task whose samples are here, and whose scorer is in the process.

    `place` is its number in that process.
    """

    process: CodeProcess = field(repr=False, compare=False)
    place: int = field(repr=False, compare=False)

    def score(self, sample: LmEvalSample, responses: Sequence[Response]) -> dict[str, float]:
        """Score as `LmEvalTask.score` does.

        Raises BadInput where the task's code opens another file of the repository.
        """
        return dict(_call(self.process, "score", place=self.place, id_=sample.id, responses=list(responses)))

    def answer(self, sample: LmEvalSample, responses: Sequence[Response]) -> str | None:
        """Return the answer as `LmEvalTask.answer` does."""
        text: str | None = _call(self.process, "answer", place=self.place, id_=sample.id, responses=list(responses))
        return text

    def is_unread(self, answer: str | None) -> bool:
        """Tell the same as `LmEvalTask.is_unread`."""
        return bool(_call(self.process, "is_unread", place=self.place, answer=answer))


def load_apart(code: Code, name: str, options: LmEvalOptions) -> TaskApart:
    """Load the task of lm-eval with this name in a process of its own.

    That process has only the files of `code`.

    Raises
    ------
    KeyFaults, BadInput, CannotEvaluate
        As `lm_eval_task`; BadInput where its code opens another file of the repository.
    """
    process = _process(code) if code.files else _shared(replace(code, name="a task of lm-eval", table="its options"))
    about = _call(process, "load", name=name, options=asdict(options))
    samples = tuple(
        LmEvalSample(**each | {"requests": tuple(LmEvalRequest(**_tuples(one)) for one in each["requests"])})
        for each in about.pop("samples")
    )
    return TaskApart(**about, samples=samples, tasks={}, process=process)


def _process(code: Code) -> CodeProcess:
    os.makedirs(hub_cache(), exist_ok=True)  # noqa: PTH103 (a text)
    try:
        return CodeProcess(code, f"{__name__}:start", {"folder": code.folder})
    except (CodeFailed, ImportError) as error:
        raise CannotEvaluate(f"{code.name} cannot be loaded: {error}") from error


_shared = lru_cache(maxsize=2)(_process)  # of tasks without files of their own, with lm-eval's slow index


def _tuples(values: Any) -> Any:
    """Turn the arrays of JSON in a list or a table into tuples."""
    pairs = values.items() if isinstance(values, dict) else enumerate(values)
    plain = {key: tuple(value) if isinstance(value, list) else value for key, value in pairs}
    return plain if isinstance(values, dict) else list(plain.values())


def _call(process: CodeProcess, function: str, **arguments: Any) -> Any:
    try:
        return process.call(function, **arguments)
    except (CodeFailed, ImportError) as error:
        raise CannotEvaluate(f"lm-eval failed: {error}") from error


def start(folder: str) -> Mapping[str, Callable[..., Any]]:
    """Return the functions that the process of a task serves."""
    tasks: list[LmEvalTask] = []
    columns = [each.name for each in fields(LmEvalSample) if each.name not in ("requests", "instances")]

    def load(name: str, options: Mapping[str, Any]) -> dict[str, Any]:
        task = lm_eval_task(name, options=LmEvalOptions(**options), folder=Path(folder))
        tasks.append(task)
        plain = [
            {each: getattr(sample, each) for each in columns} | {"requests": [asdict(one) for one in sample.requests]}
            for sample in task.samples
        ]
        return {each: getattr(task, each) for each in PLAIN} | {"place": len(tasks) - 1, "samples": plain}

    return {
        "load": load,
        "score": lambda place, id_, responses: tasks[place].score(tasks[place].documents[id_], _tuples(responses)),
        "answer": lambda place, id_, responses: tasks[place].answer(tasks[place].documents[id_], _tuples(responses)),
        "is_unread": lambda place, answer: tasks[place].is_unread(answer),
    }
