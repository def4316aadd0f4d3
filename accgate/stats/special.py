"""`scipy.special`, loaded by the first call.

It takes longer to load than numpy, and many runs end without it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        import scipy.special

        function = globals()[name] = getattr(scipy.special, name)
        return function
