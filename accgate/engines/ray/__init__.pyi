from . import engine
from .engine import OPERATIONAL

__all__ = ["OPERATIONAL", "engine"]
