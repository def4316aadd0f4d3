from .engine import OPERATIONAL, RayEngine

__all__ = ["OPERATIONAL", "RayEngine"]
