"""accuracy.toml: its meaning, its selection, and that any file is a config or messages."""

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accgate.config.config import Config, config_schema, load_config, select
from accgate.config.tables import Gate, Sampling, TaskSettings
from accgate.errors import BadInput
from tests.config.test_faults import document

# DESIGN.md's example with a task that the library has, and every optional key set somewhere.
EXAMPLE = """\
[gate]
alpha = 0.05
beta = 0.2
correction = "holm"            # none | bonferroni | holm | bh, over all (model, task) pairs of the run
on_inconclusive = "fail"       # fail | warn; a neutral check would satisfy a required one, so the default fails
max_failed = 0.01              # share of samples without a score; past it the check is an error
early_stopping = true
references = "references"      # folder, relative to this file
seed = 0

[models.smollm2]
engine = "vllm"                # vllm | openai | llamacpp | recorded
model = "HuggingFaceTB/SmolLM2-135M-Instruct"
variant = { quant = "fp8", gpu = "H200" }
baseline = "smollm2@quant=bf16,gpu=H200"
options = { tensor_parallel_size = 1 }     # the engine's own
sampling = { temperature = 0.0, max_tokens = 256 }

[models."other model"]
engine = "openai"
model = "x"
[models."other model".sampling]
temperature = 0.7
top_p = 0.9
top_k = -1
seed = 3
stop = ["\\n", "Q:"]
extra = { min_p = 0.1 }

[tasks.arithmetic]             # a name of the task library, or `file = "my_task.toml"`
sigma = 50.0
theta = 2.0                    # the target; the plan finds n
num_samples = 400
alpha = 0.01
beta = 0.1
test = "two-sample"
reference = 61.5
reference_num_samples = 1319
models = ["smollm2"]
repeats = 4
tags = ["fast", "math"]
limit = 500
options = { high = 20 }
mode = "chat"
discordance = 0.05

[tasks.easy]
library = "json_extraction"
target = 80
tags = ["fast"]

[tasks.own]
file = "my_task.toml"
"""


@pytest.fixture
def config(tmp_path: Path) -> Config:
    (tmp_path / "my_task.toml").touch()
    (tmp_path / "accuracy.toml").write_text(EXAMPLE)
    return load_config(tmp_path / "accuracy.toml")


def test_every_key_of_the_design_is_read(config: Config) -> None:
    assert config.gate == Gate()
    smollm2, other = config.models.values()
    assert (smollm2.engine, smollm2.model) == ("vllm", "HuggingFaceTB/SmolLM2-135M-Instruct")
    assert smollm2.variant == {"quant": "fp8", "gpu": "H200"}
    assert smollm2.baseline == "smollm2@quant=bf16,gpu=H200"
    assert smollm2.options == {"tensor_parallel_size": 1}
    assert smollm2.sampling == Sampling(temperature=0.0, max_tokens=256)
    assert other.sampling == Sampling(
        temperature=0.7, top_p=0.9, top_k=-1, seed=3, stop=("\n", "Q:"), extra={"min_p": 0.1}
    )
    assert config.tasks["arithmetic"] == TaskSettings(
        sigma=50.0, theta=2.0, num_samples=400, alpha=0.01, beta=0.1, test="two-sample", reference=61.5,
        reference_num_samples=1319, models=("smollm2",), repeats=4, tags=("fast", "math"), limit=500,
        options={"high": 20}, mode="chat", discordance=0.05,
    )  # fmt: skip
    assert config.tasks["easy"] == TaskSettings(library="json_extraction", target=80.0, tags=("fast",))
    assert config.tasks["own"] == TaskSettings(file="my_task.toml")


def test_what_is_not_written_has_the_documented_default(tmp_path: Path) -> None:
    (tmp_path / "a.toml").write_text('[models.m]\nengine = "recorded"\nmodel = "x"\n[tasks.arithmetic]\n')
    config = load_config(str(tmp_path / "a.toml"))
    gate = config.gate
    assert (gate.alpha, gate.beta, gate.correction, gate.on_inconclusive) == (0.05, 0.2, "holm", "fail")
    assert (gate.max_failed, gate.early_stopping, gate.references, gate.seed) == (0.01, True, "references", 0)
    assert config.tasks["arithmetic"] == TaskSettings(test="auto", repeats=1)
    assert config.models["m"].sampling.temperature == 0.0
    assert config.references == tmp_path / "references"


def test_paths_start_from_the_folder_of_the_file(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/someone")
    assert config.path("my_task.toml") == config.folder / "my_task.toml"
    assert config.path("/elsewhere/x") == Path("/elsewhere/x")
    assert config.path("~/x") == Path("/home/someone/x")


def test_pairs_are_models_by_tasks_in_the_order_of_the_file(config: Config) -> None:
    both = ("smollm2", "other model")
    assert config.pairs() == [
        *((both[0], task) for task in ("arithmetic", "easy", "own")),
        *((both[1], task) for task in ("easy", "own")),
    ]


@pytest.mark.parametrize(
    ("models", "tasks", "kept_models", "kept_tasks"),
    [
        ((), (), ["smollm2", "other model"], ["arithmetic", "easy", "own"]),
        (("other model",), (), ["other model"], ["arithmetic", "easy", "own"]),
        ((), ("own",), ["smollm2", "other model"], ["own"]),
        ((), ("fast",), ["smollm2", "other model"], ["arithmetic", "easy"]),
        (("smollm2", "smollm2"), ("math", "own"), ["smollm2"], ["arithmetic", "own"]),
    ],
)
def test_models_tasks_and_tags_can_be_chosen(
    config: Config, models: tuple[str, ...], tasks: tuple[str, ...], kept_models: list[str], kept_tasks: list[str]
) -> None:
    kept = select(config, models, tasks)
    assert (list(kept.models), list(kept.tasks)) == (kept_models, kept_tasks)
    assert (kept.gate, kept.source) == (config.gate, config.source)


def test_unknown_models_and_tasks_are_all_named_with_a_hint(config: Config) -> None:
    with pytest.raises(BadInput) as caught:
        select(config, ("smolm2", "smollm2"), ("arithmetics", "mth", "zzz"))
    hints = ("'smolm2'; did you mean 'smollm2'", "'arithmetics'; did you mean 'arithmetic'",
             "'mth'; did you mean 'math'", "'zzz'; known are arithmetic, easy, fast, math, own")  # fmt: skip
    for message, hint in zip(caught.value.messages, hints, strict=True):
        assert message.startswith(f"{config.source.path}: no ")
        assert hint in message


def test_references_are_recorded_of_models_without_a_baseline(config: Config, tmp_path: Path) -> None:
    kept = config.without_baselines()
    assert list(kept.models) == ["other model"]
    assert (kept.gate, kept.tasks, kept.source) == (config.gate, config.tasks, config.source)
    path = tmp_path / "candidates.toml"
    path.write_text(document(model='baseline = "m@bf16"'), encoding="utf-8")
    with pytest.raises(BadInput, match="name the one to record with --models"):
        load_config(path).without_baselines()


def test_the_schema_takes_the_example_and_refuses_what_the_reader_refuses(config: Config) -> None:
    validator = pytest.importorskip("jsonschema").Draft202012Validator(config_schema())
    validator.check_schema(config_schema())
    example = dict(config.source.data)
    assert list(validator.iter_errors(example)) == []
    for gate in ({"alpha": 0.5}, {"alhpa": 0.05}, {"seed": 0.5}, {"correction": "hol"}, {"early_stopping": 1}):
        assert len(list(validator.iter_errors({**example, "gate": gate}))) == 1
    assert len(list(validator.iter_errors({}))) == 2


LINES = EXAMPLE.splitlines(keepends=True)
PIECES = st.sampled_from(
    ["nan", "-1", "0", "true", "''", "[", "]", "{", "}", '"""', "\0", "\n", "=", ".", "[[models]]", "1979-05-27", "{}",
     "'a'", "1e999", "0xff", "'\u2028'", "a.b = 1", "[models]", "[tasks.x]", "9" * 30, "[gate]", "#", "\\", "\ud7ff"]
)  # fmt: skip


@st.composite
def mutated(draw: st.DrawFn) -> bytes:
    """The example with lines dropped, doubled and moved, values swapped, text put in, and bytes flipped."""
    lines = list(LINES)
    for _ in range(draw(st.integers(0, 3))):
        i, j = draw(st.integers(0, len(lines) - 1)), draw(st.integers(0, len(lines) - 1))
        change = draw(st.sampled_from(["drop", "double", "move", "swap", "replace", "insert"]))
        key, equals, value = lines[i].partition("=")
        if change == "drop":
            del lines[i]
        elif change == "double":
            lines.insert(j, lines[i])
        elif change == "move":
            lines[i], lines[j] = lines[j], lines[i]
        elif change == "swap":
            lines[i], lines[j] = key + "=" + lines[j].partition("=")[2], lines[j].partition("=")[0] + equals + value
        elif change == "replace":
            lines[i] = f"{key}= {draw(PIECES)}\n"
        else:
            at = draw(st.integers(0, len(lines[i])))
            lines[i] = lines[i][:at] + draw(PIECES) + lines[i][at:]
    raw = bytearray("".join(lines).encode())
    for at in draw(st.lists(st.integers(0, max(0, len(raw) - 1)), max_size=3)):
        raw[at] = draw(st.integers(0, 255))
    return bytes(raw)


@pytest.fixture(scope="module")
def fuzzed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fuzzed")
    (folder / "my_task.toml").touch()
    return folder / "accuracy.toml"


@settings(max_examples=200, deadline=None)  # tests/fuzz looks longer
@given(raw=mutated() | st.binary(max_size=60))
def test_any_file_is_a_config_or_messages_that_start_with_its_path(fuzzed: Path, raw: bytes) -> None:
    fuzzed.write_bytes(raw)
    try:
        outcome: Config | BadInput = load_config(fuzzed)
    except BadInput as error:
        outcome = error
    if isinstance(outcome, BadInput):
        assert outcome.messages
        assert all(re.match(rf"{re.escape(str(fuzzed))}:(\d+:)? \S", message) for message in outcome.messages)
    else:
        assert 0 < outcome.gate.alpha < 0.5
        assert outcome.pairs()
