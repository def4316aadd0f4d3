from .engine import Cache

__all__ = ["Cache"]
