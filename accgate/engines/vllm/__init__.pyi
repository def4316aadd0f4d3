from .engine import VllmEngine
from .options import OPERATIONAL

__all__ = ["OPERATIONAL", "VllmEngine"]
