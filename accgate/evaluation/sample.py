"""One sample, from its request to the record of its reply, answer and score."""

import math
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace

from accgate.engines import Engine, Reply, Request, RequestFailed, recording_of
from accgate.engines.base import likelihoods, measurement_fault, refuse_no_logarithms
from accgate.engines.reasoning import opened_by
from accgate.errors import BadInput, CannotEvaluate
from accgate.evaluation.assignment import Assignment
from accgate.evaluation.reading import Thoughts, divide, kind_of, kind_of_end, kind_without_answer, read, shorten
from accgate.evaluation.scoring import NotScored, Scoring, in_range, is_in_range, request_of, score_of
from accgate.metrics.kinds import perplexity
from accgate.records.file import Record
from accgate.tasks import HarnessTask, Sample, Task
from accgate.tasks.choices import TIE, chosen_label, continuation, likeliest_option
from accgate.tasks.conversation import Messages
from accgate.tasks.extract import stated_confidence


@dataclass(frozen=True, slots=True)
class _Answer:
    """The reply to one request, the answer read from it, and its score.

    `reading` is that of `Record.reading`.
    """

    reply: Reply
    answer: str | None
    score: float | None
    confidence: float | None = None
    reading: str | None = None

    @property
    def kind(self) -> str | None:
        """The reading of a reply to an attacked prompt.

        It tells the finish reason too, which the record does not keep.
        """
        if self.reading is None or self.reading == "read":
            return self.reading
        return kind_of_end(self.reading, self.reply.finish_reason)


@dataclass(frozen=True)
class Asker:
    """Asks an engine the samples of an assignment, and scores its replies.

    `thoughts` collects what the replies show of the model's reasoning.
    """

    engine: Engine
    assignment: Assignment
    scoring: Scoring
    clock: Callable[[], float]
    thoughts: Thoughts = field(default_factory=Thoughts)

    @property
    def _task(self) -> Task:
        return self.assignment.task

    async def record(self, sample: Sample, repeat: int) -> Record:
        """Ask one sample and return its record.

        In a joined task, the sample's own part asks and scores it. A record without a score has an error.
        """
        task = self._task.part_of(sample)
        own = self if task is self._task else replace(self, assignment=replace(self.assignment, task=task))
        return await own._record(sample, repeat)

    async def _record(self, sample: Sample, repeat: int) -> Record:
        began = self.clock()
        error: str | None = None
        attacked: float | tuple[float | None, ...] | None = None
        attacked_reading: tuple[str | None, ...] | None = None
        try:
            done = await self._answer(sample, repeat, sample.messages or sample.user)
            if recording_of(self.engine) is not None:
                attacked, attacked_reading = done.reply.attacked, done.reply.attacked_reading
                for score in attacked if isinstance(attacked, tuple) else (attacked,):
                    self._check_recorded(sample, score)
            elif sample.attacked:
                after = await self._under_attack(sample, repeat, done.score)
                scores = tuple(None if each is None else each.score for each in after)
                attacked = scores[0] if len(scores) == 1 else scores
                attacked_reading = tuple(None if each is None else each.kind for each in after)
        except (RequestFailed, NotScored) as failure:
            done, error = _Answer(Reply(None), None, None), str(failure) or "no reply"
        if done.score is None and error is None:
            error = "no answer in the reply, and the metric has no worst score"
        reply = done.reply
        return Record(
            id=sample.id,
            repeat=repeat,
            score=done.score,
            target=sample.target,
            answer=done.answer,
            reply=reply.text,
            finish_reason=reply.finish_reason,
            prompt_tokens=reply.prompt_tokens,
            completion_tokens=reply.completion_tokens,
            seconds=round(self.clock() - began, 4) if reply.seconds is None else reply.seconds,
            error=error,
            cluster=sample.cluster,
            group=sample.group,
            label=sample.label,
            confidence=done.confidence,
            attacked=attacked,
            cached=reply.cached or None,
            reading=done.reading,
            reasoning=shorten(reply.reasoning),
            reasoning_tokens=reply.reasoning_tokens,
            attacked_reading=attacked_reading if any(attacked_reading or ()) else None,
            own_id=sample.own_id,
            acceptance=reply.acceptance,
        )

    async def _answer(self, sample: Sample, repeat: int, question: str | Messages) -> _Answer:
        task, request = self._task, self._request(sample, repeat, question)
        recorded = recording_of(self.engine) is not None
        if not recorded and (other := self._other_way(sample, repeat, request)):
            return await other
        reply = await self.engine.complete(request)
        if reply.text is None:
            self._check_recorded(sample, reply.score)
            if reply.score is not None:
                return _Answer(reply, None, reply.score, reply.confidence, reply.reading)
            return _Answer(reply, None, task.metric.worst, confidence_of(task, reply, "", unread=True), reply.reading)
        opened = opened_by(request.prompt) if request.mode == "completion" else ""
        reading = read(task, reply, self.thoughts, sample, opened=opened, recorded=recorded)
        answer = reading.answer
        if task.by_likelihood and answer is not None:  # a recording of the likeliest option
            answer = chosen_label(answer)
        if (reading.text, reading.reasoning) != (reply.text, reply.reasoning):
            reply = replace(reply, text=reading.text, reasoning=reading.reasoning)
        if reply.score is not None:  # only the recording knows how the reply was read then
            self._check_recorded(sample, reply.score)
            return _Answer(reply, answer, reply.score, reply.confidence, reply.reading)
        confidence = confidence_of(task, reply, reading.text, unread=answer is None)
        score = task.metric.worst if answer is None else await self.scoring.points(task, sample, answer, repeat=repeat)
        if task.by_likelihood:
            return _Answer(reply, answer, score, confidence, _kind_of_choice(answer or None))
        kind = kind_of(reading.kind, task, sample, answer, score)
        return _Answer(reply, answer, score, confidence, kind)

    def _other_way(self, sample: Sample, repeat: int, request: Request) -> Awaitable[_Answer] | None:
        """Return the answer for a task that does not read one reply.

        The result is None for all other tasks.
        """
        if isinstance(task := self._task, HarnessTask):
            return self._by_lm_eval(task, sample, repeat)
        if task.metric.kind == "likelihood":
            return self._perplexity(sample, request)
        return self._likeliest_option(sample, request) if task.by_likelihood else None

    async def _perplexity(self, sample: Sample, request: Request) -> _Answer:
        """Return the target's perplexity after the prompt."""
        (likelihood,) = scores = await likelihoods(self.engine, request, [sample.target])
        if (fault := measurement_fault(scores)) is not None:
            raise NotScored(fault)
        per, tokens = self._task.content.metric_options.get("per", "token"), len(likelihood.tokens)
        score = perplexity(likelihood.total, tokens=tokens, text=sample.target, per=per)
        reply = Reply(None, prompt_tokens=tokens, completion_tokens=0, cached=likelihood.cached)
        return _Answer(reply, None, score)

    async def _by_lm_eval(self, task: HarnessTask, sample: Sample, repeat: int) -> _Answer:
        """Ask what lm-eval asks, and score the answers as it does, after its filter."""
        from accgate.tasks.lm_eval.requests import responses_of

        question = task.lm_eval.documents[sample.id]
        responses, replies = await responses_of(self.engine, question.requests, sample.id, repeat)
        prompts = [request for request in question.requests if request.kind == "generate"]
        parts = [
            divide(task, reply, self.thoughts, opened_by(each.prompt))
            for reply, each in zip(replies, prompts, strict=True)
        ]
        texts = (text or "" for text, _ in parts)
        responses = tuple(next(texts) if isinstance(response, str) else response for response in responses)
        score = in_range(task, task.lm_eval.points(question, responses))
        answer = task.lm_eval.answer(question, responses)
        if not replies:
            kind = None if answer is None else _kind_of_choice(answer or None)
            return _Answer(Reply(TIE if answer == "" else answer), answer or None, score, reading=kind)
        text, reasoning = parts[0]
        kind = kind_without_answer(text, replies[0]) if not text or task.lm_eval.is_unread(answer) else "read"
        reply = replace(replies[0], text=text or "", reasoning=reasoning)
        return _Answer(reply, answer, score, reading=kind_of(kind, task, sample, answer or "", score))

    async def _likeliest_option(self, sample: Sample, request: Request) -> _Answer:
        """Choose the option that the model finds likeliest after the prompt."""
        task = self._task
        assert task.content.choices is not None
        texts = [continuation(task.content.choices, option) for option in sample.options]
        scores = await likelihoods(self.engine, request, texts)
        choice = likeliest_option(task.content.choices, sample.options, scores)
        label, cached = choice.label, all(each.cached for each in scores)
        score = task.metric.worst if label is None else score_of(task, sample, label)
        reply = Reply(choice.text, completion_tokens=0, cached=cached)
        return _Answer(reply, label, score, choice.confidence, _kind_of_choice(label))

    async def _under_attack(self, sample: Sample, repeat: int, score: float | None) -> list[_Answer | None]:
        """Return the answer to each attacked prompt, None for those that are not asked."""
        task = self._task
        right = score is not None and score == task.metric.best
        return [
            await self._answer(sample, repeat, question) if right or attack.ask == "all" else None
            for attack, question in zip(task.content.attack, sample.attacked, strict=True)
        ]

    def _request(self, sample: Sample, repeat: int, question: str | Messages) -> Request:
        sampling, task = self.assignment.sampling, self._task
        prompt, messages = (question, ()) if isinstance(question, str) else ("", question)
        return replace(
            request_of(sampling, sample, repeat, prompt, task.content.max_tokens),
            system=sample.system,
            mode=task.content.mode,
            seed=None if sampling.seed is None else sampling.seed + repeat,
            stop=(*task.content.stop, *sampling.stop),
            parts=tuple({"type": "image_url", "image_url": {"url": url}} for url in sample.images),
            logprobs=task.content.confidence is not None and task.content.confidence.by == "tokens",
            messages=messages,
            tools=sample.tools,
            tool_choice=task.content.tool_choice,
        )

    def _check_recorded(self, sample: Sample, score: float | None) -> None:
        """Refuse a recorded score that lies outside the metric's range.

        Such a score could hide losses of other samples.
        """
        metric = self._task.metric
        if score is not None and not is_in_range(metric, score):
            recording = recording_of(self.engine)
            where = f"task {self._task.name}" if recording is None else f"{recording.path}"
            fault = f"which is outside {metric.lowest} to {metric.highest} points, the range of {metric.name}"
            fix = "correct it, or options.scale"
            raise BadInput(f"{where}: sample {sample.shown_id} has the score {score:g}, {fault}; {fix}")


def _kind_of_choice(label: str | None) -> str:
    """Return how a choice between options was read.

    Options that tie are no answer.
    """
    return "unread" if label is None else "read"


def confidence_of(task: Task, reply: Reply, text: str, *, unread: bool = False) -> float | None:
    """Return how sure the model is of its answer, 0 to 1.

    A reply with neither an answer nor a confidence counts as the worst one: wrong and sure. As a failed sample it would
    leave every statistic undecided, and as unsure it would make a model that says nothing well calibrated.

    Raises
    ------
    NotScored
        When a reply with an answer gives no confidence.
    """
    if task.content.confidence is None or reply.confidence is not None:
        return reply.confidence
    if task.content.confidence.by == "tokens":
        if reply.logprobs is None:
            fix = 'use vllm or a server that has logprobs, or ask the model itself: by = "reply"'
            fault = "the engine gives no log-probabilities of a reply's tokens, which [confidence] needs"
            raise CannotEvaluate(f"{fault}; {fix}")
        refuse_no_logarithms(reply.logprobs)
        return math.exp(min(sum(reply.logprobs) / len(reply.logprobs), 0.0)) if reply.logprobs else 0.0
    if (regex := task.content.confidence.regex) is None:
        share = stated_confidence(text)
    else:
        share = _share(matches[-1]) if (matches := re.findall(regex, text)) else None
    if share is None and unread:
        return 1.0
    if share is None:
        raise NotScored(f"the reply gives no confidence: {text[-80:]!r}")
    return share


def _share(text: str) -> float | None:
    """Read a share of 1 from "0.8", "80%" or "80", None from other texts.

    >>> _share("0.8"), _share("80 %"), _share("80"), _share("120%")
    (0.8, 0.8, 0.8, None)
    """
    try:
        value = float(text.strip().rstrip("%"))
    except ValueError:
        return None
    value = value / 100.0 if "%" in text or value > 1.0 else value
    return value if 0.0 <= value <= 1.0 else None
