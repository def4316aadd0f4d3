"""Which options of a model can change no answer: where it runs, how long is waited, how much at once."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def parted(engine: str, options: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Options that can change an answer, and those that cannot; each engine names the latter, beside its options.

    >>> parted("openai", {"serve": ["vllm", "serve", "m"], "timeout": 60})
    ({'serve': ['vllm', 'serve', 'm']}, {'timeout': 60})
    >>> parted("ray", {"engine": "vllm", "replicas": 4, "options": {"dtype": "half", "log": "vllm.log"}})
    ({'engine': 'vllm', 'options': {'dtype': 'half'}}, {'replicas': 4, 'options': {'log': 'vllm.log'}})
    """
    names = _operational(engine)
    answering = {name: value for name, value in options.items() if name not in names}
    operational = {name: value for name, value in options.items() if name in names}
    inner, kind = options.get("options"), options.get("engine")
    if engine == "ray" and isinstance(inner, Mapping) and isinstance(kind, str):
        answering["options"], of_inner = parted(kind, inner)
        operational |= {"options": of_inner} if of_inner else {}
    return answering, operational


def _operational(engine: str) -> frozenset[str]:
    if engine == "openai":
        from accgate.engines.openai import OPERATIONAL
    elif engine == "vllm":
        from accgate.engines.vllm import OPERATIONAL
    elif engine == "llamacpp":
        from accgate.engines.llamacpp import OPERATIONAL
    elif engine == "ray":
        from accgate.engines.ray import OPERATIONAL
    else:
        return frozenset()  # what is not known to change nothing may change something
    return OPERATIONAL
