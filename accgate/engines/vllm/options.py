"""The options of the `vllm` engine.

A few are accgate's own; the others are vLLM's engine arguments, checked against vLLM's classes.
"""

import contextlib
import dataclasses
import enum
import json
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, get_args

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass
from pydantic_core import ErrorDetails

from accgate.engines.base import ModelTable, Operational, operational_of
from accgate.engines.vllm.process import one_line
from accgate.errors import Key, KeyFaults, KeyNotReady, refuse_faults
from accgate.inputs.checkout import fault_of, refuse_conflict
from accgate.inputs.paths import has_file, no_file, path_in, read_plain
from accgate.inputs.typed import CLOSED, Count, Flag, Number, Text, parse_table, setting
from accgate.text import nearest

# What accgate itself decides: the weights stand under `model`, and replies come whole.
RESERVED = {
    "model": 'belongs one table up: [models.NAME] has model = "..."',
    "enable_lora": "is set by lora; write lora, the adapter's folder or hub id",
}
# Fields of a request that are no sampling parameters, but go to the chat template or the processor of images.
RENDERED = ("chat_template_kwargs", "mm_processor_kwargs")
TEMPLATE_BYTES = 10_000_000  # a chat template has some thousand; a larger file is something else
AUTO = "auto"
# Engine arguments that vLLM had from 0.8 on, and what has taken their place (its arg_utils.py of each version).
REPLACED = {
    "calculate_kv_scales": "scales are those of the checkpoint",
    "cuda_graph_sizes": "write cudagraph_capture_sizes",
    "device": "the build that is installed decides it",
    "disable_log_requests": "leave it out: requests are logged only with enable_log_requests",
    "disable_mm_preprocessor_cache": "write mm_processor_cache_gb = 0",
    "enable_multimodal_encoder_data_parallel": 'write mm_encoder_tp_mode = "data"',
    "guided_decoding_backend": 'write structured_outputs_config = { backend = "xgrammar" }, or another backend',
    "max_seq_len_to_capture": "write max_cudagraph_capture_size, which counts requests",
    "num_redundant_experts": "write eplb_config = { num_redundant_experts = 2 }, with your number",
    "override_pooler_config": "write pooler_config",
    "rope_scaling": "write it in hf_overrides",
    "rope_theta": "write it in hf_overrides",
    "swap_space": "write kv_offloading_size, GiB, where the cache does not fit the GPU",
    "task": "write runner or convert",
    "worker_use_ray": 'write distributed_executor_backend = "ray"',
}
# Arguments of each preset, which a model's own replace. `gate` compiles nothing and captures no CUDA graph; where a
# model sets a higher level, it captures few. Level and sizes as vLLM has them from 0.31 on (its config/vllm.py).
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "gate": {"optimization_level": 0, "cudagraph_capture_sizes": [1, 2, 4, 8, 16, 32, 64, 128, 256]},
}
SIZES = ("compilation_config", "max_cudagraph_capture_size", "performance_mode")  # they choose sizes of graphs too
LARGEST_BIAS = 100.0  # vLLM's server cuts larger ones; its engine does not
UNSAMPLED = {
    "n": "is always 1 in accgate; for several answers a sample set the task's repeats",
    "output_kind": "is set by accgate, which reads whole replies",
    "detokenize": "is set by accgate, which reads answers from text",
    "skip_clone": "is vLLM's own",
    "output_text_buffer_length": "is vLLM's own",
}


@dataclass(frozen=True, kw_only=True, config=CLOSED)
class Own:
    """The options that are accgate's, not vLLM's."""

    concurrency: Operational[Count | None] = setting(None, "most requests in flight, 1 or more")
    preset: Literal["gate"] | None = setting(None, "arguments for a start in seconds: gate")
    batch_invariant: Flag = setting(False, "VLLM_BATCH_INVARIANT: replies do not depend on the batch")
    lora: Text | None = setting(None, "folder or hub id of a LoRA adapter", min_length=1)
    chat_template: Text | None = setting(None, "file of a Jinja chat template", min_length=1)
    log: Operational[Text | None] = setting(None, "file that keeps what vLLM says", min_length=1)
    max_silence: Operational[Number] = setting(
        1800.0, "seconds without any reply before the first, and later at most, above 0", gt=0
    )
    start_timeout: Operational[Number] = setting(3600.0, "seconds that loading may take, above 0", gt=0)


# How replies tell how much of a draft was accepted, and the arguments that make drafts; vLLM refuses one alone.
DRAFT_METRICS, DRAFTERS = "per_request_spec_decode_metrics", ("speculative_config", "spec_method", "spec_model")
OPERATIONAL = operational_of(Own) | {"download_dir", "disable_log_stats", DRAFT_METRICS}


def own_options(table: ModelTable) -> tuple[Own, dict[str, Any]]:
    """Split the options of a model's table into accgate's own and vLLM's.

    accgate's own are checked and their paths made absolute; vLLM's are not checked yet. It imports nothing of vLLM.

    Raises
    ------
    KeyFaults
        With every fault of accgate's own options, and for a file that is not there.
    """
    names = [field.name for field in dataclasses.fields(Own)]
    own = parse_table({name: value for name, value in table.options.items() if name in names}, Own, ("options",))
    faults: list[tuple[Key, str]] = [
        (("options", name), fault) for name, fault in RESERVED.items() if name in table.options
    ]
    if own.chat_template is not None and not has_file(table.folder, own.chat_template):
        faults.append((("options", "chat_template"), no_file(table.folder, own.chat_template)))
    refuse_faults(faults)
    template, log = (name and str(path_in(table.folder, name).absolute()) for name in (own.chat_template, own.log))
    if template is not None:
        refuse_conflict(Path(template), read_plain(Path(template), TEMPLATE_BYTES))
    lora = None if own.lora is None else weights(own.lora, table.folder, ("options", "lora"))
    own = dataclasses.replace(own, chat_template=template, log=log, lora=lora)
    return own, {name: value for name, value in table.options.items() if name not in names}


def weights(name: str, folder: Path, key: Key) -> str:
    """Make the path to a model's weights absolute, and keep a hub id.

    The path may name a folder or a file.

    Raises
    ------
    KeyNotReady
        When what can only be a path is not there.
    """
    path = path_in(folder, name)
    if path.exists():
        for each in sorted(path.iterdir()) if path.is_dir() else [path]:
            if fault := fault_of(each):
                raise KeyFaults((key, f"has {each.name}, which {fault}"))
        return os.path.abspath(path)  # noqa: PTH100 (Path's own follows links, which hub caches are made of)
    if name.startswith((".", "/", "~")) or (name.count("/") > 1 and "://" not in name):
        fault = f"there is no folder {name!r} in {folder}; name a folder with config.json, or a hub id"
        raise KeyNotReady(key, fault)
    return name


def engine_arguments(own: Own, options: Mapping[str, Any], arguments_class: type) -> dict[str, Any]:
    """Check vLLM's engine arguments against its class, and return them as it takes them.

    A preset's arguments give way to `options`. Tables become the configuration objects that `arguments_class`
    (AsyncEngineArgs) declares. vLLM's default turns on prefix caching for every model that allows it.

    Raises
    ------
    KeyFaults
        For unknown arguments, with the nearest one, and values of a wrong type: all of them.
    """
    declared = _declared(arguments_class)
    names = [*declared, *(field.name for field in dataclasses.fields(Own))]
    faults: list[tuple[Key, str]] = []
    arguments: dict[str, Any] = {}
    preset = {} if own.preset is None else dict(PRESETS[own.preset])
    if not options.keys().isdisjoint(SIZES):
        preset.pop("cudagraph_capture_sizes", None)
    for name, value in (preset | dict(options)).items():
        if name not in declared:
            fault = f"vLLM has no such engine argument; {nearest(name, names)}"
            if name in REPLACED:
                fault = f"vLLM has it no longer; {REPLACED[name]}"
            faults.append((("options", name), fault))
            continue
        try:
            arguments[name] = _typed(declared[name], value)
        except ValidationError as error:
            faults.extend((("options", name, *where), fault) for where, fault in _type_faults(error, value))
        except Exception as error:  # a configuration class of vLLM refuses its values as it likes
            faults.append((("options", name), f"is {value!r}, which vLLM does not take: {one_line(error)}"))
    refuse_faults(faults)
    arguments.setdefault("disable_log_stats", True)  # as LLM has it: statistics cost time
    if DRAFT_METRICS in declared and any(map(arguments.get, DRAFTERS)):
        arguments.setdefault(DRAFT_METRICS, "summary")
    if own.lora is not None:
        arguments["enable_lora"] = True
        arguments.setdefault("max_lora_rank", _rank(Path(own.lora)))
    return arguments


def _declared(arguments_class: Any) -> dict[str, Any]:
    """Return the type of each public field.

    It stays text where vLLM annotates with a name that it does not import.
    """
    fields = dataclasses.fields(arguments_class)
    declared = {field.name: field.type for field in fields if not field.name.startswith("_")}
    for name, kind in declared.items():
        if isinstance(kind, str):
            with contextlib.suppress(Exception):
                declared[name] = eval(kind, vars(sys.modules[arguments_class.__module__]))
    return declared


def _typed(kind: Any, value: Any) -> Any:
    """Return the value as the declared type.

    TOML has types, so only tables, arrays and names are converted.
    """
    if isinstance(kind, str):
        return value
    if isinstance(value, str):
        for option in _options_of(kind):
            if value.upper() == option.name or value == option.value:
                return option
        if value.lower() == AUTO and type(None) in get_args(kind) and [*_options_of(kind)]:
            return None  # vLLM chooses
    try:
        adapter = TypeAdapter[Any](kind)
    except Exception:  # not a type that pydantic knows
        return value
    return adapter.validate_python(value, strict=not isinstance(value, (dict, list)) and not [*_options_of(kind)])


def _options_of(kind: Any) -> Iterator[enum.Enum]:
    """Yield the members of an enumeration, or of those in a union."""
    if isinstance(kind, type) and issubclass(kind, enum.Enum):
        yield from kind.__members__.values()
    for part in get_args(kind):
        yield from _options_of(part)


def _type_faults(error: ValidationError, value: Any) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield the place in the value and the fault for each of pydantic's errors.

    Places leave out the union members that pydantic puts in between.
    """
    places: dict[tuple[str | int, ...], tuple[Any, list[ErrorDetails]]] = {}
    for fault in error.errors(include_url=False):
        where, inner = _present(fault["loc"], value)
        places.setdefault(where, (inner, []))[1].append(fault)
    for where, (inner, faults) in places.items():
        messages = dict.fromkeys(fault["msg"].removeprefix("Value error, ") for fault in faults)
        is_unknown = faults[0]["type"] == "unexpected_keyword_argument"
        yield where, "vLLM knows no such key here" if is_unknown else f"is {inner!r}: {'; or: '.join(messages)}"


def _present(loc: Iterable[str | int], value: Any) -> tuple[tuple[str | int, ...], Any]:
    """Return the part of a fault's path that exists, with its value.

    The user wrote only that part.
    """
    where: tuple[str | int, ...] = ()
    for part in loc:
        in_list = isinstance(value, list) and isinstance(part, int) and part < len(value)
        if in_list or (isinstance(value, dict) and part in value):
            where, value = (*where, part), value[part]
    return where, value


def _rank(adapter: Path) -> int:
    """Return the rank that vLLM must reserve for an adapter.

    It is the adapter's own, rounded up to one that vLLM takes, and 16 if unknown.
    """
    try:
        rank = int(json.loads((adapter / "adapter_config.json").read_text(encoding="utf-8"))["r"])
    except (OSError, ValueError, LookupError, TypeError):
        return 16
    return next((taken for taken in (16, 32, 64, 128, 256, 320) if rank <= taken), 512)


def checked_sampling(extra: Mapping[str, Any], sampling_class: type) -> dict[str, Any]:
    """Check the fields of `sampling.extra`, and return them as vLLM's class holds them.

    Raises
    ------
    KeyFaults
        For unknown parameters, with the nearest one, and values that vLLM refuses.
    """
    fields = [name for name in sampling_class.__struct_fields__ if not name.startswith("_")]  # type: ignore[attr-defined]
    names = [*(name for name in fields if name not in UNSAMPLED), *RENDERED]
    faults: list[tuple[Key, str]] = []
    values: dict[str, Any] = {}
    for name, value in extra.items():
        where: Key = ("sampling", "extra", name)
        if name in UNSAMPLED:
            faults.append((where, UNSAMPLED[name]))
        elif name not in names:
            faults.append((where, f"vLLM has no such sampling parameter; {nearest(name, names)}"))
        elif name in RENDERED:
            if not isinstance(value, Mapping):
                faults.append((where, f"is {value!r}; write a table"))
            values[name] = value
        else:
            try:
                values[name] = getattr(TypeAdapter(sampling_class).validate_python({name: value}), name)
                faults.extend(_lost_values((*where,), value, values[name]))
            except ValidationError as error:
                message = next((f["msg"] for f in error.errors() if f["type"] != "is_instance_of"), one_line(error))
                faults.append((where, f"is {value!r}: {message}"))
            except Exception as error:  # vLLM's own checks
                faults.append((where, f"is {value!r}: {one_line(error)}"))
    refuse_faults(faults)
    return values


def _lost_values(where: Key, value: Any, taken: Any) -> Iterator[tuple[Key, str]]:
    """Yield keys and biases that vLLM would ignore.

    Its object drops unknown keys of a table, and its server cuts large biases.
    """
    if dataclasses.is_dataclass(taken) and isinstance(value, Mapping):
        names = [field.name for field in dataclasses.fields(taken) if not field.name.startswith("_")]
        for name in value.keys() - {*names}:
            yield (*where, name), f"vLLM knows no such key here; {nearest(str(name), names)}"
    if where[-1] == "logit_bias":
        for token, bias in taken.items():
            if abs(bias) > LARGEST_BIAS:
                yield (*where, str(token)), f"is {bias:g}; write a number from -100 to 100, as a server takes it"
