"""`scipy.special`, imported when one of its functions is first used.

The import takes longer than numpy's, and many runs need none of it.
"""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scipy.special import *  # noqa: F403
else:

    def __getattr__(name: str) -> Any:
        import scipy.special

        function = globals()[name] = getattr(scipy.special, name)
        return function
