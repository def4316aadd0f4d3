"""The vllm engine's options and failures, checked without vLLM: its argument classes are stood in for."""

from __future__ import annotations

import enum
import json
import logging
import os
import re
import subprocess
import sys
import textwrap
from dataclasses import dataclass, field, make_dataclass
from importlib import util
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
from pydantic.dataclasses import dataclass as pydantic_dataclass
from syrupy.assertion import SnapshotAssertion

from accgate.config.config import load_config
from accgate.engines.base import ModelTable
from accgate.engines.table import create, split_options
from accgate.engines.vllm import process as vllm_process
from accgate.engines.vllm.options import checked_sampling, engine_arguments, own_options, weights
from accgate.engines.vllm.process import Log, cause
from accgate.errors import BadInput, CannotEvaluate
from accgate.inputs.toml import TomlFile, read_toml
from accgate.inputs.typed import CLOSED
from accgate.planning.design import planned_model
from accgate.planning.validation import validate
from accgate.verdict.reasons import words_of
from tests.engines.planned import model_file
from tests.support.cases import each, refusal


class Backend(enum.Enum):
    FLASH = "flash"


@pydantic_dataclass(config=CLOSED)  # as vLLM's configuration classes are
class Compilation:
    level: int = 0


@dataclass
class Arguments:
    """Fields of the kinds that vLLM's AsyncEngineArgs has."""

    model: str = "x"
    dtype: Literal["auto", "bfloat16"] = "auto"
    max_model_len: int = 0
    gpu_memory_utilization: float = 0.9
    enforce_eager: bool = False
    backend: Backend | str | None = None
    devices: list[int | str] | None = None
    offload: set[str] = field(default_factory=set)
    compilation_config: Compilation = field(default_factory=Compilation)
    speculative_config: dict[str, Any] | None = None
    max_lora_rank: int = 16
    disable_log_stats: bool = False
    per_request_spec_decode_metrics: Literal["none", "summary", "detailed"] = "none"
    spec_method: str | None = None
    optimization_level: int = 2
    performance_mode: str = "balanced"
    cudagraph_capture_sizes: list[int] | None = None
    quantised: "NameOfAnotherModule" = None  # type: ignore[name-defined]  # noqa: F821, UP037, RUF100
    _private: int = 0


@dataclass
class Guided:
    """As vLLM's StructuredOutputsParams: a class of the standard library, which leaves out keys that it lacks."""

    choice: list[str] | None = None
    _backend: str | None = None


class Sampled:
    """Fields of vLLM's SamplingParams; the real class says what it takes of each."""

    __struct_fields__ = ("n", "min_p", "repetition_penalty", "_eos", "output_kind", "structured_outputs", "logit_bias")

    @classmethod
    def __get_pydantic_core_schema__(cls, _: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        def optional(schema: Any) -> Any:
            return core_schema.typed_dict_field(schema, required=False)

        number = optional(core_schema.float_schema(le=1))
        bias = core_schema.dict_schema(core_schema.int_schema(), core_schema.float_schema())
        fields = {
            "min_p": number, "repetition_penalty": number, "logit_bias": optional(bias),
            "structured_outputs": optional(handler.generate_schema(Guided)),
        }  # fmt: skip
        return core_schema.no_info_after_validator_function(
            lambda values: SimpleNamespace(**values), core_schema.typed_dict_schema(fields)
        )


def file(folder: Path, text: str) -> TomlFile:
    """A file whose options stand from line 5, the sampling's extra fields behind them."""
    path = folder / "accuracy.toml"
    path.write_text(f'[models.m]\nengine = "vllm"\nmodel = "org/name"\n[models.m.options]\n{textwrap.dedent(text)}')
    return read_toml(path, fix="")


def table(source: TomlFile) -> ModelTable:
    model = source.data["models"]["m"]
    return ModelTable("org/name", model["options"], source.path.parent, model.get("sampling", {}).get("extra", {}))


def arguments(folder: Path, text: str) -> dict[str, Any]:
    source = file(folder, text)
    with source.locating(("models", "m")):
        return engine_arguments(*own_options(table(source)), Arguments)


def refusals(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadInput) as caught:
        arguments(folder, text)
    prefix = f"{folder / 'accuracy.toml'}:"
    return [message.removeprefix(prefix).replace("models.m.options.", "") for message in caught.value.messages]


def test_arguments_reach_vllm_as_its_class_declares_them(tmp_path: Path) -> None:
    text = """
        dtype = "bfloat16"
        max_model_len = 2048
        gpu_memory_utilization = 1
        devices = [0, "1"]
        backend = "flash"
        quantised = "anything"
        speculative_config = { method = "ngram", num_speculative_tokens = 3 }
        disable_log_stats = false
        compilation_config = { level = 3 }
        offload = ["a", "b"]
    """
    assert arguments(tmp_path, text) == {
        "dtype": "bfloat16", "max_model_len": 2048, "gpu_memory_utilization": 1, "devices": [0, "1"],
        "backend": Backend.FLASH, "quantised": "anything", "disable_log_stats": False,
        "speculative_config": {"method": "ngram", "num_speculative_tokens": 3},
        "per_request_spec_decode_metrics": "summary", "compilation_config": Compilation(3), "offload": {"a", "b"},
    }  # fmt: skip


@each(
    ("text", "metrics"),
    [
        ('spec_method = "ngram"', "summary"),
        ('spec_method = "ngram"\nper_request_spec_decode_metrics = "detailed"', "detailed"),
        ("speculative_config = {}", None),  # vLLM takes metrics with a drafter alone
        ("", None),
    ],
)
def test_what_was_accepted_is_told_where_something_is_drafted(tmp_path: Path, text: str, metrics: str | None) -> None:
    found = arguments(tmp_path, f"concurrency = 7\n{text}")
    assert found.get("per_request_spec_decode_metrics") == metrics
    assert found["disable_log_stats"] is True
    assert "concurrency" not in found


def test_a_vllm_that_cannot_tell_what_was_accepted_is_not_asked_to(tmp_path: Path) -> None:
    table = ModelTable("org/w", {"spec_method": "ngram"}, tmp_path)
    earlier = make_dataclass("Earlier", [("spec_method", str, "")])
    assert engine_arguments(*own_options(table), earlier) == {"spec_method": "ngram", "disable_log_stats": True}


@each(
    ("written", "taken"),
    [("FLASH", Backend.FLASH), ("flash", Backend.FLASH), ("Flash", Backend.FLASH), ("auto", None), ("own", "own")],
)
def test_an_enumeration_is_named_as_on_vllms_command_line(tmp_path: Path, written: str, taken: Any) -> None:
    assert arguments(tmp_path, f'backend = "{written}"')["backend"] == taken


GRAPHS = [1, 2, 4, 8, 16, 32, 64, 128, 256]


@each(
    ("text", "taken"),
    [
        ("", {"optimization_level": 0, "cudagraph_capture_sizes": GRAPHS}),
        ("optimization_level = 1", {"optimization_level": 1, "cudagraph_capture_sizes": GRAPHS}),
        ("cudagraph_capture_sizes = [8]", {"optimization_level": 0, "cudagraph_capture_sizes": [8]}),
        ("compilation_config = { level = 1 }", {"optimization_level": 0, "compilation_config": Compilation(1)}),
    ],
)
def test_a_preset_gives_way_to_the_models_own_arguments(tmp_path: Path, text: str, taken: dict[str, Any]) -> None:
    own = f'preset = "gate"\n{text}'
    assert arguments(tmp_path, own) == taken | {"disable_log_stats": True}
    assert split_options("vllm", {"preset": "gate"}) == ({"preset": "gate"}, {})  # a setting that references keep


WRONG = (
    "enforce_eagre = true", "max_seq_len_to_capture = 8", "model_lengths = 4", "zzz = 4", 'max_model_len = "2048"',
    'dtype = "bf16"', "compilation_config = { levl = 1 }", 'compilation_config = { level = "x" }', 'model = "x"',
    "enable_lora = true", 'chat_template = "no.jinja"', 'preset = "fast"',
)  # fmt: skip


def test_a_fault_names_line_key_and_mend(tmp_path: Path, messages: SnapshotAssertion) -> None:
    faults = {text: "\n".join(refusals(tmp_path, text)) for text in WRONG}
    assert faults == messages
    assert all(fault.startswith("5: ") for fault in faults.values())


@each(("rank", "reserved"), [(8, 16), (16, 16), (17, 32), (256, 256), (400, 512)])
def test_an_adapter_is_found_beside_the_file_and_its_rank_reserved(tmp_path: Path, rank: int, reserved: int) -> None:
    (tmp_path / "adapter").mkdir()
    (tmp_path / "adapter" / "adapter_config.json").write_text(json.dumps({"r": rank}))
    source = file(tmp_path, 'lora = "adapter"')
    assert own_options(table(source))[0].lora == str(tmp_path / "adapter")
    made = arguments(tmp_path, 'lora = "adapter"')
    assert (made["enable_lora"], made["max_lora_rank"]) == (True, reserved)
    assert arguments(tmp_path, 'lora = "adapter"\nmax_lora_rank = 64')["max_lora_rank"] == 64


@each("name", ["./no", "/no/such/folder", "~/no-such-folder", "a/b/c"])
def test_a_path_without_weights_is_no_hub_id(tmp_path: Path, name: str) -> None:
    source = file(tmp_path, "")
    located = pytest.raises(CannotEvaluate, match=r"accuracy.toml:3: models.m.model: there is no folder .*config.json")
    with located, source.locating(("models", "m")):
        weights(name, tmp_path, ("model",))


WRONG_EXTRA = (
    "min_pp = 0.1", "min_p = 3.0", "output_kind = 1", "chat_template_kwargs = 3",
    "structured_outputs = { choise = ['a'] }", "logit_bias = { x = 1 }", "logit_bias = { 5 = 500 }",
)  # fmt: skip


def test_extra_fields_of_the_sampling_are_checked(tmp_path: Path, messages: SnapshotAssertion) -> None:
    def checked(extra: str) -> None:
        source = file(tmp_path, f"[models.m.sampling.extra]\n{extra}")
        with source.locating(("models", "m")):
            checked_sampling(table(source).extra, Sampled)

    assert {extra: refusal(checked, extra) for extra in WRONG_EXTRA} == messages


def test_extra_fields_are_used_as_vllm_holds_them() -> None:
    rendered = {"enable_thinking": False}
    extra = {"min_p": 1, "structured_outputs": {"choice": ["a"]}, "logit_bias": {"5": -1}}
    taken = checked_sampling(extra | {"chat_template_kwargs": rendered}, Sampled)
    assert taken == {
        "min_p": 1.0, "structured_outputs": Guided(["a"]), "logit_bias": {5: -1.0}, "chat_template_kwargs": rendered
    }  # fmt: skip


@pytest.mark.skipif(util.find_spec("vllm") is not None, reason="vLLM is installed")
def test_without_vllm_validate_says_what_it_could_not_check(tmp_path: Path) -> None:
    path = model_file(tmp_path, "vllm", "o/n", "no_such = 1", "[tasks.arithmetic]\nlimit = 9\n")
    config = load_config(path)
    (check,) = validate(config)
    note = f"{path}:2: models.m.engine: is vllm, which is not installed here, so its options were not checked; "
    assert words_of(check.notes[-1]).startswith(note)
    with pytest.raises(CannotEvaluate, match="a running `vllm serve` is reached by the engine openai"):
        planned_model(config, "m").engine()
    path.write_text(path.read_text().replace("no_such = 1", "concurrency = 0"))
    with pytest.raises(BadInput, match="concurrency: is 0"):
        validate(load_config(path))


def test_a_vllm_that_cannot_be_imported_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "vllm.py").write_text('raise ImportError("libcudart.so.13: cannot open shared object file")\n')
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "vllm", raising=False)
    with pytest.raises(CannotEvaluate, match=r"imported: libcudart\.so\.13: .*pip install 'accgate\[vllm\]'"):
        create("vllm", ModelTable("org/name", {}, tmp_path))


def test_what_vllm_sets_for_a_model_is_gone_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", sys.modules[__name__])
    monkeypatch.delenv("VLLM_WORKER_MULTIPROC_METHOD", raising=False)
    for before in (None, "0", "1"):
        monkeypatch.setattr(vllm_process, "IMPORTED_WITH", {})
        if before is None:
            monkeypatch.delenv("VLLM_BATCH_INVARIANT", raising=False)
        else:
            monkeypatch.setenv("VLLM_BATCH_INVARIANT", before)
        outside = dict(os.environ)
        during = []
        for wanted in (True, False, True):
            with vllm_process.own_environment(batch_invariant=wanted):
                values = [os.environ.get(f"VLLM_{name}") for name in ("BATCH_INVARIANT", "WORKER_MULTIPROC_METHOD")]
                during.append(values)
                os.environ["VLLM_USE_BREAKABLE_CUDAGRAPH"] = "1"  # as vLLM does for a model whose kernels need it
                os.environ.pop("PATH")
            assert dict(os.environ) == outside
        other = None if before == "1" else "spawn"  # what is forked keeps what was imported for the first
        assert during == [["1", None], [before, other], ["1", None]]


CHILD = "(EngineCore pid=7) ERROR 11-21 14:00:00 [core.py:1500] "
GENERIC = "Engine core initialization failed. See root cause above. Failed core proc(s): {}"


CAUSES = (
    "ValueError: To serve at least one request with the models's max seq len (9), 4.3 GiB KV cache is needed, which is "
    "larger than the available KV cache memory (2.0 GiB).",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB",
    "RuntimeError: Failed to infer device type, please set the environment variable `VLLM_LOGGING_LEVEL=DEBUG`",
    "ValueError: Cannot find any model weights with `/w`",
    "KeyError: 'rare'",
)


def test_the_cause_is_found_in_the_log_of_the_process_that_failed(messages: SnapshotAssertion) -> None:
    log = f"INFO loading\n{CHILD}OSError: what was tried first\n{CHILD}Traceback (most recent call last):\n"
    end = f"Exception: WorkerProc initialization failed due to an exception in a background process.\n{CHILD}"
    logs = {said: f"{log}{CHILD}  File 'x'\n{CHILD}{said}\nProcess X:\n{end}" for said in CAUSES}
    assert {said: cause(RuntimeError(GENERIC), text) for said, text in logs.items()} == messages


def test_an_error_of_this_process_goes_before_the_log() -> None:
    error = ValueError(
        "1 validation error for ModelConfig\n  Value error, Total number of attention heads (9) must be divisible by "
        "tensor parallel size (2). [type=value_error, input_value=ArgsKwargs((), {...}), input_type=ArgsKwargs]\n"
    )
    told = cause(error, f"{CHILD}ValueError: an older one")
    assert re.match(r"Total number of .* size \(2\); set options\.tensor_", told)


def test_what_a_started_process_writes_goes_to_the_log(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    log = Log(str(tmp_path / "vllm.log"))
    with log.capturing():
        subprocess.run([sys.executable, "-c", "import sys; print('out'); print('err', file=sys.stderr)"], check=True)
    os.write(2, b"after\n")
    assert capfd.readouterr() == ("", "after\n")
    assert sorted(log.text().split()) == ["err", "out"]
    log.close(failed=False)
    assert (tmp_path / "vllm.log").exists()


@pytest.mark.parametrize("failed", [True, False])
def test_a_log_that_nobody_asked_for_is_kept_only_after_a_failure(failed: bool) -> None:
    log = Log(None)
    log.close(failed=failed)
    assert log.path.exists() == failed
    log.path.unlink(missing_ok=True)


def test_vllms_loggers_write_to_the_log_until_it_is_closed(capfd: pytest.CaptureFixture[str]) -> None:
    logger = logging.getLogger("vllm")
    handler = logging.StreamHandler(sys.stderr)
    logger.addHandler(handler)
    try:
        log = Log(None)
        with log.capturing():
            pass
        logger.warning("quiet")
        assert "quiet" in log.text()
        log.close(failed=False)
        logger.warning("gone")
    finally:
        logger.removeHandler(handler)
        handler.stream.close()
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    with pytest.raises(CannotEvaluate, match=r"vllm\.log: cannot be written: .*; name another file in options\.log"):
        Log(str(tmp_path / "no" / "vllm.log"))
