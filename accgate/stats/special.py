"""`scipy.special`, loaded by the first call: it takes longer to load than numpy, and many runs end without it."""

from __future__ import annotations

import importlib.util
import sys
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import (
        bdtrc,
        betainc,
        betaincinv,
        betaln,
        chdtri,
        comb,
        gammaln,
        ndtr,
        ndtri,
        stdtr,
        stdtrit,
        xlog1py,
        xlogy,
    )

    __all__ = [
        "bdtrc",
        "betainc",
        "betaincinv",
        "betaln",
        "chdtri",
        "comb",
        "gammaln",
        "ndtr",
        "ndtri",
        "stdtr",
        "stdtrit",
        "xlog1py",
        "xlogy",
    ]
else:
    # scipy.special imports all that numpy names, and uses none of these: half of the time it takes, and 11 MB.
    UNUSED = ("ctypeslib", "f2py", "ma", "polynomial", "testing")

    def _load_when_used(name: str) -> None:
        """Let a module of a package be loaded by the first use of what is in it."""
        package, _, attribute = name.rpartition(".")
        spec = None if name in sys.modules else importlib.util.find_spec(name)
        if spec is None or spec.loader is None:
            return
        spec.loader = importlib.util.LazyLoader(spec.loader)
        sys.modules[name] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        setattr(sys.modules[package], attribute, module)

    def __getattr__(name: str) -> Any:
        for module in UNUSED:
            _load_when_used(f"numpy.{module}")
        import scipy.special

        function = globals()[name] = getattr(scipy.special, name)
        return function
