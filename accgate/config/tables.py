"""The tables of accuracy.toml as frozen dataclasses; the limits of a single value are given with its field."""

from dataclasses import field
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.errors import Tier
from accgate.inputs.typed import CLOSED, Count, Flag, Number, Text, Texts, Whole
from accgate.stats import Correction, TestName
from accgate.tasks.schema import Beta, ChosenBy, Level, ReasoningUse, Share

EngineName = Literal["vllm", "openai", "llamacpp", "recorded", "ray"]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Gate:
    """`[gate]`: the error rates and rules of every check."""

    alpha: Level = 0.05
    beta: Beta = 0.2
    correction: Correction = Field(default="holm", description="correction for several (model, task) checks in one run")
    on_inconclusive: Literal["fail", "warn"] = Field(
        default="fail", description="whether a run too small to see theta fails the gate"
    )
    drift_alpha: Level = Field(default=0.05, description="type I error rate of the slow decline over all references")
    drift: Literal["report", "fail"] = Field(
        default="report", description="fail: a slow decline since the first reference fails, at a tenth of alpha"
    )
    groups: Literal["report", "fail"] = Field(
        default="report", description="fail: a group of samples that falls by itself fails, at a tenth of alpha"
    )
    max_failed: Number = Field(
        default=0.01, ge=0, lt=1, description="share of samples that may stay without a score, 0 or more and below 1"
    )
    early_stopping: Flag = Field(default=True, description="stop as soon as the evidence allows")
    references: Text = Field(
        default="references", min_length=1, description="folder of references, relative to this file"
    )
    seed: Whole = Field(default=0, description="order of the samples, and generated tasks")
    overall: Flag = Field(
        default=True,
        description="with two or more paired checks of a model, pool them in one more, at a fifth of alpha",
    )
    secrets: dict[Text, Texts] = Field(
        default_factory=dict,
        description="hosts to which models of a pull request may send an environment variable, by its name",
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Sampling:
    """`[models.NAME.sampling]`: how replies are drawn; unset values leave the task's or engine's default."""

    temperature: Number = Field(default=0.0, ge=0, description="0 is greedy")
    max_tokens: Count | None = Field(default=None, description="longest reply; the task's own where unset")
    top_p: Number | None = Field(default=None, gt=0, le=1, description="nucleus, above 0 and at most 1")
    top_k: Whole | None = Field(default=None, description="candidates per token; what 0 or -1 means is the engine's")
    seed: Whole | None = Field(default=None, description="seed of the engine's sampler")
    stop: Texts = Field(default=(), description="stop strings, besides the task's")
    extra: dict[Text, Any] = Field(
        default_factory=dict, description="further fields of the request, as the engine has them"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Model:
    """`[models.NAME]`: one engine with weights and options."""

    engine: EngineName = Field(description='engine = "vllm", "openai", "llamacpp", "recorded" or "ray"')
    model: Text = Field(min_length=1, description='model = "...", the weights, model name or file the engine loads')
    variant: dict[Text, Any] = Field(default_factory=dict, description="labels of what runs: quant, kv, gpu")
    baseline: Text | None = Field(
        default=None, description='the reference it is compared with: "model" or "model@key=value,..."'
    )
    options: dict[Text, Any] = Field(default_factory=dict, description="the engine's own options")
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class TaskSettings:
    """`[tasks.NAME]`: a task, and the drop that matters; points throughout."""

    file: Text | None = Field(default=None, description="task definition, relative to this file")
    library: Text | None = Field(default=None, description="name in the task library where it is not this table's own")
    lm_eval: Text | None = Field(default=None, description="a task of lm-evaluation-harness, with its scorer")
    options: dict[Text, Any] = Field(default_factory=dict, description="options of a generated task, or of lm_eval")
    mode: Literal["chat", "completion"] | None = Field(default=None, description="ask by chat or by raw completion")
    dataset: Text | None = Field(
        default=None, description="file that takes the place of the definition's dataset, relative to this file"
    )
    few_shot_dataset: Text | None = Field(
        default=None, description="file that takes the place of the solved examples, relative to this file"
    )
    subset: Text | Texts | None = Field(
        default=None, description="configuration of the hub dataset in place of the task's, or a list of several"
    )
    choose: ChosenBy | None = Field(
        default=None, description="multiple choice by a generated letter or by the options' likelihoods"
    )
    run_code: Flag = Field(default=False, description="allow that code which the model wrote is run, in a sandbox")
    judge: Text | None = Field(default=None, description="which of [judges] gives the marks, for metric = judge")
    sigma: Number | None = Field(default=None, ge=0, description="standard deviation of one score in points, 0 or more")
    theta: Number | None = Field(default=None, gt=0, description="drop in points that must be detectable, above 0")
    allowed_drop: Number | Text | None = Field(
        default=None, description='a loss that is accepted: points, or "1%" of the reference\'s mean'
    )
    certify: Flag = Field(
        default=False, description="a pass must prove that the drop is less than allowed_drop + theta, at 1 - alpha"
    )
    discordance: Number | None = Field(
        default=None, ge=0, le=1, description="expected share of samples that change their score, for planning, 0 to 1"
    )
    num_samples: Count | None = Field(default=None, description="samples to evaluate, 1 or more")
    limit: Count | None = Field(default=None, description="at most this many samples, 1 or more")
    alpha: Level | None = None
    beta: Beta | None = None
    test: TestName = Field(default="auto", description="auto takes the best test that the reference allows")
    max_unread: Share | None = Field(
        default=None,
        description="share of replies that may hold no answer; past it recording and running are errors (0.2)",
    )
    max_more_tokens: Text | None = Field(
        default=None, description='how many more completion tokens a sample may take than in the reference: "10%"'
    )
    max_slower: Text | None = Field(
        default=None, description='how much more time a sample may take than in the reference: "10%"'
    )
    reasoning: ReasoningUse | None = Field(
        default=None, description="leave a model's reasoning out of what is read, or keep it"
    )
    reference: Number | None = Field(
        default=None, description="the reference's mean in points, where no scores are recorded"
    )
    reference_num_samples: Count | None = Field(default=None, description="number of samples behind `reference`")
    target: Number | None = Field(default=None, description="an absolute mean in points that must hold")
    tier: Tier = Field(
        default="required",
        description="advisory: decided and shown, fails no run, and takes no alpha from the others",
    )
    models: Texts = Field(default=(), description="models this task is for; all where empty")
    repeats: Count = Field(default=1, description="answers per sample, 1 or more")
    tags: Texts = Field(default=(), description="labels to choose tasks by")

    @property
    def limits(self) -> int:
        """The number of limits on tokens and seconds."""
        return (self.max_more_tokens is not None) + (self.max_slower is not None)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Judge:
    """`[judges.NAME]`: a model that marks answers; a rule of the gate, not a model that the gate checks."""

    engine: Literal["openai", "vllm", "llamacpp"] = Field(default="openai", description="the engine that asks it")
    model: Text = Field(min_length=1, description='model = "...", the judge\'s name on its server')
    options: dict[Text, Any] = Field(default_factory=dict, description="the engine's own options")
    files: Texts = Field(default=(), description="files and folders that its command reads, relative to this file")
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Report:
    """`[report]`: the pages that people read."""

    template: Text | None = Field(
        default=None,
        min_length=1,
        description="Jinja template over blocks of the comment, relative to this file",
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class AccuracyFile:
    """accuracy.toml."""

    models: dict[Text, Model] = Field(description="a table [models.NAME] with engine and model")
    tasks: dict[Text, TaskSettings] = Field(description="a table [tasks.NAME]")
    gate: Gate = field(default_factory=Gate)
    report: Report = field(default_factory=Report)
    judges: dict[Text, Judge] = Field(default_factory=dict, description="tables [judges.NAME] with engine and model")
