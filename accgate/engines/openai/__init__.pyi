from .engine import OpenAIEngine
from .options import OPERATIONAL

__all__ = ["OPERATIONAL", "OpenAIEngine"]
