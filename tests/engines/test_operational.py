"""Options that change no answer: each is one that its engine has, and none that answers depend on."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from accgate.engines import llamacpp
from accgate.engines.openai import options as openai_options
from accgate.engines.operational import parted
from accgate.engines.ray import engine as ray
from accgate.engines.vllm import options as vllm_options


@pytest.mark.parametrize(
    ("engine", "options", "kept"),
    [
        ("openai", {"base_url": "http://h/v1", "serve": ["s"], "max_outage": 1}, {"serve": ["s"]}),
        ("vllm", {"dtype": "half", "concurrency": 2, "seed": 1, "log": "l"}, {"dtype": "half", "seed": 1}),
        ("llamacpp", {"n_ctx": 1, "n_parallel": 2, "verbosity": 3}, {"n_ctx": 1, "n_parallel": 2}),
        ("recorded", {"scale": 100.0}, {"scale": 100.0}),
        ("of-tomorrow", {"base_url": "x", "concurrency": 1}, {"base_url": "x", "concurrency": 1}),
        ("ray", {"engine": "vllm", "address": "a:1", "replicas": 2}, {"engine": "vllm"}),
        ("ray", {"engine": "openai", "options": {"timeout": 1}}, {"engine": "openai", "options": {}}),
        ("ray", {"engine": "vllm", "env": ["VLLM_X"]}, {"engine": "vllm", "env": ["VLLM_X"]}),
        ("ray", {"options": {"timeout": 1}}, {"options": {"timeout": 1}}),
    ],
)  # fmt: skip
def test_what_can_change_an_answer_is_kept_apart(engine: str, options: dict[str, Any], kept: dict[str, Any]) -> None:
    answering, operational = parted(engine, options)
    assert answering == kept
    of_inner = operational.pop("options", {})
    merged = {**answering, **operational}
    if "options" in options:
        merged["options"] = {**answering["options"], **of_inner}
    assert merged == options


@pytest.mark.parametrize(
    ("names", "known"),
    [
        (openai_options.OPERATIONAL, openai_options.Options),
        (ray.OPERATIONAL, ray.Options),
        (vllm_options.OPERATIONAL - {"download_dir", "disable_log_stats"}, vllm_options.Own),  # those two are vLLM's
    ],
)
def test_each_is_an_option_of_its_engine(names: frozenset[str], known: Any) -> None:
    assert names <= {field.name for field in dataclasses.fields(known)}


def test_those_of_llamacpp_are_its_parameters() -> None:
    xllamacpp = pytest.importorskip("xllamacpp")
    assert all(hasattr(xllamacpp.CommonParams(), name) for name in llamacpp.OPERATIONAL)
