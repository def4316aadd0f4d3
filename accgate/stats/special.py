"""`scipy.special`, loaded by the first call: it takes longer to load than numpy, and many runs end without it."""

from __future__ import annotations

import importlib
import sys
import threading
from types import ModuleType
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
        "bdtrc", "betainc", "betaincinv", "betaln", "chdtri", "comb", "gammaln", "ndtr", "ndtri", "stdtr", "stdtrit",
        "xlog1py", "xlogy",
    ]  # fmt: skip
else:
    # scipy.special imports all that numpy names, and uses none of these: half of the time it takes, and 11 MB.
    UNUSED = ("numpy.ctypeslib", "numpy.f2py", "numpy.ma", "numpy.polynomial", "numpy.testing")
    _places = threading.Lock()

    class _Stub(ModuleType):
        """Stands in for a module of a package while scipy.special loads; what is in that module is found in it.

        importlib's LazyLoader would do, but before Python 3.11.9 and 3.12.3 a second thread finds nothing in a module
        that is being loaded (https://github.com/python/cpython/issues/114763).
        """

        def take_place(self) -> None:
            package, _, name = self.__name__.rpartition(".")
            with _places:
                if sys.modules.setdefault(self.__name__, self) is self:
                    setattr(sys.modules[package], name, self)

        def leave_place(self) -> None:
            package, _, name = self.__name__.rpartition(".")
            with _places:
                if sys.modules.get(self.__name__) is self:
                    del sys.modules[self.__name__]
                    delattr(sys.modules[package], name)

        def __getattr__(self, name: str) -> Any:
            self.leave_place()
            return getattr(importlib.import_module(self.__name__), name)

    def __getattr__(name: str) -> Any:
        import numpy  # noqa: F401 (the stubs take places in it)

        stubs = [_Stub(module) for module in UNUSED]
        try:
            for stub in stubs:
                stub.take_place()
            import scipy.special
        finally:
            for stub in stubs:
                stub.leave_place()
        function = globals()[name] = getattr(scipy.special, name)
        return function
