from . import engine
from .options import OPERATIONAL

__all__ = ["OPERATIONAL", "engine"]
