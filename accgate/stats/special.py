"""`scipy.special`, loaded by the first call: it takes longer to load than numpy, and many runs end without it."""

from __future__ import annotations

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

    def __getattr__(name: str) -> Any:
        import scipy.special

        function = globals()[name] = getattr(scipy.special, name)
        return function
