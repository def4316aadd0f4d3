"""The tables of accuracy.toml as frozen dataclasses.

The limits of a single value are given with its field.
"""

from dataclasses import field
from typing import Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.errors import LIMITS, Tier
from accgate.inputs.typed import CLOSED, Count, Flag, Number, Text, Texts, Whole, setting
from accgate.stats.names import Correction, TestName
from accgate.tasks.schema import Beta, ChosenBy, Level, ReasoningUse, Share

EngineName = Literal["vllm", "openai", "llamacpp", "recorded", "ray"]
Effect = Literal["report", "fail"]


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Gate:
    """The table `[gate]`, the error rates and rules of every check."""

    alpha: Level = 0.05
    beta: Beta = 0.2
    correction: Correction = setting("holm", "correction for several (model, task) checks in one run")
    on_inconclusive: Literal["fail", "warn"] = setting("fail", "whether a run too small to see theta fails the gate")
    drift_alpha: Level = setting(0.05, "type I error rate of the slow decline over all references")
    drift: Effect = setting("report", "fail: a slow decline since the first reference fails, at a tenth of alpha")
    groups: Effect = setting("report", "fail: a group of samples that falls by itself fails, at a tenth of alpha")
    reference_runs: Count = setting(1, "runs of main that `history pool` gathers in a reference, at most; 1 pools none")
    max_failed: Number = setting(0.01, "share of samples that may lack a score, 0 or more and below 1", ge=0, lt=1)
    early_stopping: Flag = setting(True, "stop as soon as the evidence allows")
    references: Text = setting("references", "folder of references, relative to this file", min_length=1)
    seed: Whole = setting(0, "order of the samples, and generated tasks")
    overall: Flag = setting(True, "pool the paired checks of a model in one more check, at a fifth of alpha")
    secrets: dict[Text, Texts] = Field(
        default_factory=dict, description="hosts that may get an environment variable, by its name"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Sampling:
    """The table `[models.NAME.sampling]`, how replies are drawn.

    Unset values leave the task's or engine's default.
    """

    temperature: Number = setting(0.0, "0 is greedy", ge=0)
    max_tokens: Count | None = setting(None, "longest reply; the task's own where unset")
    top_p: Number | None = setting(None, "nucleus, above 0 and at most 1", gt=0, le=1)
    top_k: Whole | None = setting(None, "candidates per token; what 0 or -1 means is the engine's")
    seed: Whole | None = setting(None, "seed of the engine's sampler")
    stop: Texts = setting((), "stop strings, besides the task's")
    extra: dict[Text, Any] = Field(default_factory=dict, description="further fields of the engine's request")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Model:
    """The table `[models.NAME]`, one engine with weights and options."""

    engine: EngineName = Field(description='engine = "vllm", "openai", "llamacpp", "recorded" or "ray"')
    model: Text = Field(min_length=1, description='model = "...", the weights, model name or file the engine loads')
    variant: dict[Text, Any] = Field(default_factory=dict, description="labels of what runs: quant, kv, gpu")
    baseline: Text | None = setting(None, 'the reference it is compared with: "model" or "model@key=value,..."')
    options: dict[Text, Any] = Field(default_factory=dict, description="the engine's own options")
    sampling: Sampling = field(default_factory=Sampling)
    equal_to: Text | None = setting(None, "a model of this file, asked in the same run, whose answers score alike")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class TaskSettings:
    """The table `[tasks.NAME]`, a task, and the drop that matters.

    Its figures are in points throughout.
    """

    file: Text | None = setting(None, "task definition, relative to this file")
    library: Text | None = setting(None, "name in the task library where it is not this table's own")
    lm_eval: Text | None = setting(None, "a task of lm-evaluation-harness, with its scorer")
    options: dict[Text, Any] = Field(default_factory=dict, description="options of a generated task, or of lm_eval")
    mode: Literal["chat", "completion"] | None = setting(None, "ask by chat or by raw completion")
    dataset: Text | None = setting(None, "file in place of the definition's dataset, relative to this file")
    few_shot_dataset: Text | None = setting(None, "file in place of the solved examples, relative to this file")
    subset: Text | Texts | None = setting(None, "one or several configurations of the task's hub dataset")
    choose: ChosenBy | None = setting(None, "multiple choice by a generated letter or by the options' likelihoods")
    run_code: Flag = setting(False, "allow that code which the model wrote is run, in a sandbox")
    judge: Text | None = setting(None, "which of [judges] gives the marks, for metric = judge")
    sigma: Number | None = setting(None, "standard deviation of one score in points, 0 or more", ge=0)
    theta: Number | None = setting(None, "drop in points that must be detectable, above 0", gt=0)
    allowed_drop: Number | Text | None = setting(None, 'an accepted loss: points, or "1%" of the reference\'s mean')
    certify: Flag = setting(False, "a pass must prove that the drop is less than allowed_drop + theta, at 1 - alpha")
    discordance: Number | None = setting(None, "share of samples expected to change their score, 0 to 1", ge=0, le=1)
    num_samples: Count | None = setting(None, "samples to evaluate, 1 or more")
    limit: Count | None = setting(None, "at most this many samples, 1 or more")
    alpha: Level | None = None
    beta: Beta | None = None
    test: TestName = setting("auto", "auto takes the best test that the reference allows")
    max_unread: Share | None = setting(None, "share of replies that may hold no answer; more is an error (0.2)")
    max_more_tokens: Text | None = setting(None, 'completion tokens a sample may take above the reference: "10%"')
    max_slower: Text | None = setting(None, 'how much more time a sample may take than in the reference: "10%"')
    max_less_accepted: Text | None = setting(None, 'acceptance length that may be lost to the reference: "10%"')
    reasoning: ReasoningUse | None = setting(None, "leave a model's reasoning out of what is read, or keep it")
    reference: Number | None = setting(None, "the reference's mean in points, where no scores are recorded")
    reference_num_samples: Count | None = setting(None, "number of samples behind `reference`")
    target: Number | None = setting(None, "an absolute mean in points that must hold")
    tier: Tier = setting("required", "advisory: decided and shown, fails no run, and takes no alpha from the others")
    models: Texts = setting((), "models this task is for; all where empty")
    repeats: Count = setting(1, "answers per sample, 1 or more")
    tags: Texts = setting((), "labels to choose tasks by")

    @property
    def limits(self) -> int:
        """The number of limits on costs."""
        return sum(getattr(self, key) is not None for key in LIMITS.values())


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Judge:
    """The table `[judges.NAME]`, a model that marks answers.

    It is a rule of the gate, and not a model that the gate checks.
    """

    engine: Literal["openai", "vllm", "llamacpp"] = setting("openai", "the engine that asks it")
    model: Text = Field(min_length=1, description='model = "...", the judge\'s name on its server')
    options: dict[Text, Any] = Field(default_factory=dict, description="the engine's own options")
    files: Texts = setting((), "files and folders that its command reads, relative to this file")
    sampling: Sampling = field(default_factory=Sampling)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Report:
    """The table `[report]`, the pages that people read."""

    template: Text | None = setting(None, "Jinja template of the comment, relative to this file", min_length=1)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class AccuracyFile:
    """accuracy.toml."""

    models: dict[Text, Model] = Field(description="a table [models.NAME] with engine and model")
    tasks: dict[Text, TaskSettings] = Field(description="a table [tasks.NAME]")
    gate: Gate = field(default_factory=Gate)
    report: Report = field(default_factory=Report)
    judges: dict[Text, Judge] = Field(default_factory=dict, description="tables [judges.NAME] with engine and model")
