from .progress import Follower, checks_of
from .server import Viewer

__all__ = ["Follower", "Viewer", "checks_of"]
