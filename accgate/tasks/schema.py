"""A task definition file, as its tables and keys."""

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
HARNESS = "lm_eval:"  # before the name of a metric that lm-eval computes
MAX_UNREAD = 0.2  # where neither accuracy.toml nor the definition says
Share = Annotated[Number, Field(ge=0, le=1)]
ENDINGS = (".jsonl", ".json", ".csv", ".tsv", ".txt", ".parquet")  # of files with rows


def _key(description: str, default: Any = None, **limits: Any) -> Any:
    """Declare a key that may be left out.

    Messages and the JSON schema show its description.
    """
    return Field(default=default, description=description, **limits)


def _table(description: str) -> Any:
    """Declare a table with keys of any name, empty where it is left out."""
    return Field(default_factory=dict, description=description)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class RowsSource:
    """A source of rows.

    It is a file, or a split of a dataset of the hub.
    """

    file: Text | None = _key("JSONL, CSV or Parquet, relative to the definition")
    hub: Text | None = _key("a dataset of Hugging Face `datasets`")
    name: Text | None = _key("configuration of the hub dataset")
    split: Text = _key("split of the hub dataset", "test")
    revision: Text | None = _key("commit of the hub dataset; pin it")
    options: dict[Text, Any] = _table("options of generator or hub loader")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Join(RowsSource):
    """The table `[dataset.join]`, columns of a second source.

    It serves benchmarks whose answers are in a file of their own.
    """

    on: Text = Field(min_length=1, description="rows with the same value in this column belong together")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Dataset(RowsSource):
    """The table `[dataset]`.

    Exactly one of `file`, `hub`, `generator` and `parts` is set.
    """

    subsets: Texts = _key("several configurations of the hub dataset; each row names its own in column `subset`", ())
    generator: Text | None = _key("a generated task")
    path: Text | None = _key("the key of a .json file that has the rows")
    where: Text | None = _key("a Jinja template over a row; a row that gives nothing, False or 0 is left out")
    parameters: dict[Text, Any] = _table("values that `where` sees, which `options` in accuracy.toml may change")
    join: Join | None = _key("rows of a second file or dataset, added by a column of both")
    parts: dict[Text, Text] = _table("in place of a source: tasks of the library that are joined, by their groups")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class FewShot:
    """The table `[few_shot]`, solved examples that the prompt sees as `examples`."""

    count: Whole | None = _key("how many examples; all given ones where unset", ge=0)
    examples: Rows = _key("rows written here", ())
    file: Text | None = _key("JSONL, CSV or Parquet, relative to the definition")
    split: Text | None = _key("split of the hub dataset, as train")
    seed: Whole | None = _key("draw `count` new examples for each sample, as lm-evaluation-harness does")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Extract:
    """The table `[extract]`, how the answer is found in the reply.

    Where nothing is set the answer is the whole reply.
    """

    form: Form | None = _key("a number in any notation, what the last \\boxed{} holds, or Python code")
    regex: Text | None = _key("the answer is group 1, or the whole match without groups")
    which: Literal["first", "last"] = _key("the match, number or block that counts", "last")
    json_path: Text | None = _key("JSONPath (RFC 9535) into the JSON in the reply")
    language: Text | None = _key('how numbers are written: a code as "de", or "group" where a sample\'s group is one')
    with_prefix: Flag = _key("look in the assistant's prefix and the reply as one text", False)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Columns:
    """The table `[columns]`, dataset columns that go into the record."""

    cluster: Text | None = _key("samples of one cluster are not independent")
    group: Text | None = None
    label: Text | None = None
    id: Text | None = _key("your own id of each sample, shown in reports; id, question_id and the like where unset")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Choices:
    """The table `[choices]` of multiple choice.

    A model answers by a letter that it generates, or by the likelihood of each option.
    """

    options: Text = Field(min_length=1, description="a Jinja template that gives a JSON list of the options' texts")
    labels: Text | None = _key("a Jinja template that gives a JSON list of labels; A, B, C ... where unset")
    by: ChosenBy = _key("generate a letter, or take the likeliest option", "letter")
    continuation: Literal["text", "label"] = _key("what follows the prompt where likelihoods are compared", "text")
    delimiter: Text = _key("between prompt and continuation", " ")
    normalise: Literal["none", "characters", "bytes", "tokens"] = _key(
        "what an option's log-likelihood is divided by", "none"
    )


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Confidence:
    """The table `[confidence]`, how sure the model is of its answer.

    A confidence is from 0 to 1.
    """

    by: Literal["tokens", "reply"] = Field(
        description="the geometric mean of the reply's token probabilities, or what the reply says"
    )
    regex: Text | None = _key("group 1 is a share of 1, or a percentage; unset, what follows the word is read")


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class JudgeTable:
    """The table `[judge]`, by which a second model scores the answer.

    accuracy.toml names that model.
    """

    rubric: Text = Field(min_length=1, description="a Jinja template over a row, prompt, target and reply")
    lowest: Number = _key("the judge's lowest mark", 1.0)
    highest: Number = _key("the judge's highest mark", 5.0)
    regex: Text = Field(
        default=r"(?<![\d.,/])(?<!/ )(?<!\bof )(-?\d+(?:\.\d+)?)(?!\d|[.,]\d)",  # not the 5 of 4/5
        description="group 1 of the last match is the mark",
    )
    marks: dict[Text, Number] = _table("marks by what regex finds, as { A = 1, B = 0 }; where unset that is the mark")
    max_tokens: Count = _key("longest reply of the judge, tokens", 512)


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class DefinitionFile:
    """A task definition file."""

    dataset: Dataset = Field(description="a table [dataset] with file, hub or generator")
    prompt: Text | None = _key('prompt = "{{ question }}", a Jinja template over a row')
    messages: Any = _key("instead of prompt: messages with role and content, or a template that gives a JSON list")
    tools: Any = _key("functions the model may call, or a template that gives a JSON list")
    tool_choice: Any = _key("auto, none, required, or one function")
    target: Text | None = _key('target = "{{ answer }}", a Jinja template over a row', min_length=1)
    targets: Text | None = _key("a Jinja template that gives a JSON list of reference texts", min_length=1)
    metric: Text = Field(
        description='metric = "exact_match", or another of docs/metrics.md, or a function of your own: file.py:function'
    )
    metric_options: dict[Text, Any] = _table("the metric's own options")
    aggregate: Text | None = _key("statistic that is decided on instead of the mean, see docs/metrics.md")
    aggregate_options: dict[Text, Any] = _table("the statistic's own options")
    description: Text = ""
    source: Text = _key("where task and settings come from", "")
    same_as: Text = _key("the task of another tool that asks and scores alike", "")
    mode: Mode = _key("ask by chat or by raw completion", "chat")
    system: Text = _key("system message, a Jinja template", "")
    stop: Texts = _key("stop strings", ())
    max_tokens: Count = _key("longest reply, tokens", 256)
    num_samples: Count | None = _key("how many samples are evaluated by default")
    sigma: Number | None = _key("standard deviation of one score in points", ge=0)
    chance: Number | None = _key("mean of a guesser in points")
    alpha: Level | None = _key("type I error rate where accuracy.toml sets none")
    beta: Beta | None = _key("type II error rate where accuracy.toml sets none")
    theta: Number | None = _key("drop in points, where accuracy.toml sets none", gt=0)
    max_unread: Share | None = _key("share of replies that may hold no answer, where accuracy.toml sets none; 0.2")
    reasoning: ReasoningUse = _key("leave a model's reasoning out of what is read, or keep it", "strip")
    files: Texts = _key("files and folders that the metric's own code reads, relative to the definition", ())
    images: Texts = _key("columns with images, which come before the prompt in a chat", ())
    few_shot: FewShot = field(default_factory=FewShot)
    extract: Extract = field(default_factory=Extract)
    columns: Columns = field(default_factory=Columns)
    choices: Choices | None = None
    confidence: Confidence | None = None
    judge: JudgeTable | None = None
    attack: tuple[Attack, ...] = ()

    @property
    def by_harness(self) -> bool:
        """Whether lm-eval has the prompts and the scorer."""
        return self.metric.startswith(HARNESS)

    @property
    def by_likelihood(self) -> bool:
        """Whether the engine scores the options of a multiple choice."""
        return self.choices is not None and self.choices.by == "likelihood"

    @property
    def by_letter(self) -> bool:
        """Whether a reply names the letter of an option of a multiple choice."""
        return self.choices is not None and self.choices.by == "letter"
