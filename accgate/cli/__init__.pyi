from . import main

__all__ = ["main"]
