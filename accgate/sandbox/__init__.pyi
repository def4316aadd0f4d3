from .limits import Limits
from .process import WorkerEnded
from .runner import Sandbox

__all__ = ["Limits", "Sandbox", "WorkerEnded"]
