"""A task definition file: dataset, prompt, few-shot examples, extraction and metric."""

from dataclasses import field
from typing import Annotated, Any, Literal

from pydantic import Field
from pydantic.dataclasses import dataclass

from accgate.inputs.typed import CLOSED, Count, Flag, Number, Text, Texts, Whole
from accgate.tasks.attacks.attack import Attack

Level = Annotated[Number, Field(gt=0, lt=0.5, description="type I error rate, above 0 and below 0.5")]
Beta = Annotated[Number, Field(gt=0, le=0.5, description="type II error rate, above 0 and up to 0.5")]
Rows = tuple[dict[Text, Any], ...]
Mode = Literal["chat", "completion"]
Form = Literal["number", "boxed", "python"]
ChosenBy = Literal["letter", "likelihood"]
ReasoningUse = Literal["strip", "keep"]
MAX_UNREAD = 0.2  # where neither accuracy.toml nor the definition says
Share = Annotated[Number, Field(ge=0, le=1)]
ENDINGS = (".jsonl", ".json", ".csv", ".parquet")  # of files with rows


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class RowsSource:
    """Where rows come from: a file, or a split of a dataset of the hub."""

    file: Text | None = Field(default=None, description="JSONL, CSV or Parquet, relative to the definition")
    hub: Text | None = Field(default=None, description="a dataset of Hugging Face `datasets`")
    name: Text | None = Field(default=None, description="configuration of the hub dataset")
    split: Text = Field(default="test", description="split of the hub dataset")
    revision: Text | None = Field(default=None, description="commit of the hub dataset; pin it")
    options: dict[Text, Any] = Field(default_factory=dict, description="options of generator or hub loader")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Join(RowsSource):
    """`[dataset.join]`: columns of a second source, as a benchmark has its answers in a file of their own."""

    on: Text = Field(min_length=1, description="rows with the same value in this column belong together")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Dataset(RowsSource):
    """`[dataset]`: one of `file`, `hub`, `generator` or `parts`."""

    subsets: Texts = Field(
        default=(), description="several configurations of the hub dataset; each row names its own in column `subset`"
    )
    generator: Text | None = Field(default=None, description="a generated task")
    path: Text | None = Field(default=None, description="the key of a .json file that has the rows")
    where: Text | None = Field(
        default=None, description="a Jinja template over a row; a row that gives nothing, False or 0 is left out"
    )
    parameters: dict[Text, Any] = Field(
        default_factory=dict, description="values that `where` sees, which `options` in accuracy.toml may change"
    )
    join: Join | None = Field(default=None, description="rows of a second file or dataset, added by a column of both")
    parts: dict[Text, Text] = Field(
        default_factory=dict, description="in place of a source: tasks of the library that are joined, by their groups"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class FewShot:
    """`[few_shot]`: solved examples that the prompt sees as `examples`."""

    count: Whole | None = Field(default=None, ge=0, description="how many examples; all given ones where unset")
    examples: Rows = Field(default=(), description="rows written here")
    file: Text | None = Field(default=None, description="JSONL, CSV or Parquet, relative to the definition")
    split: Text | None = Field(default=None, description="split of the hub dataset, as train")
    seed: Whole | None = Field(
        default=None, description="draw `count` new examples for each sample, as lm-evaluation-harness does"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Extract:
    """`[extract]`: how the answer is found in the reply; the whole reply where nothing is set."""

    form: Form | None = Field(
        default=None, description="a number in any notation, what the last \\boxed{} holds, or Python code"
    )
    regex: Text | None = Field(default=None, description="the answer is group 1, or the whole match without groups")
    which: Literal["first", "last"] = Field(default="last", description="the match, number or block that counts")
    json_path: Text | None = Field(default=None, description="JSONPath (RFC 9535) into the JSON in the reply")
    language: Text | None = Field(
        default=None, description='how numbers are written: a code as "de", or "group" where a sample\'s group is one'
    )
    with_prefix: Flag = Field(default=False, description="look in the assistant's prefix and the reply as one text")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Columns:
    """`[columns]`: dataset columns that go into the record."""

    cluster: Text | None = Field(default=None, description="samples of one cluster are not independent")
    group: Text | None = None
    label: Text | None = None


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Choices:
    """`[choices]`: multiple choice, answered by a generated letter or by the likelihood of each option."""

    options: Text = Field(min_length=1, description="a Jinja template that gives a JSON list of the options' texts")
    labels: Text | None = Field(
        default=None, description="a Jinja template that gives a JSON list of labels; A, B, C ... where unset"
    )
    by: ChosenBy = Field(default="letter", description="generate a letter, or take the likeliest option")
    continuation: Literal["text", "label"] = Field(
        default="text", description="what follows the prompt where likelihoods are compared"
    )
    delimiter: Text = Field(default=" ", description="between prompt and continuation")
    normalise: Literal["none", "characters", "bytes", "tokens"] = Field(
        default="none", description="what an option's log-likelihood is divided by"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Confidence:
    """`[confidence]`: how sure the model is of its answer, from 0 to 1."""

    by: Literal["tokens", "reply"] = Field(
        description="the geometric mean of the reply's token probabilities, or what the reply says"
    )
    regex: Text | None = Field(
        default=None, description="group 1 is a share of 1, or a percentage; unset, what follows the word is read"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class JudgeTable:
    """`[judge]`: a second model scores the answer; its name is in accuracy.toml."""

    rubric: Text = Field(min_length=1, description="a Jinja template over a row, prompt, target and reply")
    lowest: Number = Field(default=1.0, description="the judge's lowest mark")
    highest: Number = Field(default=5.0, description="the judge's highest mark")
    regex: Text = Field(
        default=r"(?<![\d.,/])(?<!/ )(?<!\bof )(-?\d+(?:\.\d+)?)(?!\d|[.,]\d)",  # not the 5 of 4/5
        description="group 1 of the last match is the mark",
    )
    marks: dict[Text, Number] = Field(
        default_factory=dict, description="marks by what regex finds, as { A = 1, B = 0 }; where unset that is the mark"
    )
    max_tokens: Count = Field(default=512, description="longest reply of the judge, tokens")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class DefinitionFile:
    """A task definition file."""

    dataset: Dataset = Field(description="a table [dataset] with file, hub or generator")
    prompt: Text | None = Field(default=None, description='prompt = "{{ question }}", a Jinja template over a row')
    messages: Any = Field(
        default=None,
        description="instead of prompt: messages with role and content, or a template that gives a JSON list",
    )
    tools: Any = Field(default=None, description="functions the model may call, or a template that gives a JSON list")
    tool_choice: Any = Field(default=None, description="auto, none, required, or one function")
    target: Text | None = Field(
        default=None, min_length=1, description='target = "{{ answer }}", a Jinja template over a row'
    )
    targets: Text | None = Field(
        default=None, min_length=1, description="a Jinja template that gives a JSON list of reference texts"
    )
    metric: Text = Field(
        description='metric = "exact_match", or another of docs/metrics.md, or a function of your own: file.py:function'
    )
    metric_options: dict[Text, Any] = Field(default_factory=dict, description="the metric's own options")
    aggregate: Text | None = Field(
        default=None, description="statistic that is decided on instead of the mean, see docs/metrics.md"
    )
    aggregate_options: dict[Text, Any] = Field(default_factory=dict, description="the statistic's own options")
    description: Text = ""
    source: Text = Field(default="", description="where task and settings come from")
    same_as: Text = Field(default="", description="the task of another tool that asks and scores alike")
    mode: Mode = Field(default="chat", description="ask by chat or by raw completion")
    system: Text = Field(default="", description="system message, a Jinja template")
    stop: Texts = Field(default=(), description="stop strings")
    max_tokens: Count = Field(default=256, description="longest reply, tokens")
    num_samples: Count | None = Field(default=None, description="how many samples are evaluated by default")
    sigma: Number | None = Field(default=None, ge=0, description="standard deviation of one score in points")
    chance: Number | None = Field(default=None, description="mean of a guesser in points")
    alpha: Level | None = Field(default=None, description="type I error rate where accuracy.toml sets none")
    beta: Beta | None = Field(default=None, description="type II error rate where accuracy.toml sets none")
    theta: Number | None = Field(default=None, gt=0, description="drop in points, where accuracy.toml sets none")
    max_unread: Share | None = Field(
        default=None, description="share of replies that may hold no answer, where accuracy.toml sets none; 0.2"
    )
    reasoning: ReasoningUse = Field(
        default="strip", description="leave a model's reasoning out of what is read, or keep it"
    )
    files: Texts = Field(
        default=(), description="files and folders that the metric's own code reads, relative to the definition"
    )
    images: Texts = Field(default=(), description="columns with images, which come before the prompt in a chat")
    few_shot: FewShot = field(default_factory=FewShot)
    extract: Extract = field(default_factory=Extract)
    columns: Columns = field(default_factory=Columns)
    choices: Choices | None = None
    confidence: Confidence | None = None
    judge: JudgeTable | None = None
    attack: tuple[Attack, ...] = ()
