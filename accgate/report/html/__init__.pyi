from .path import SequentialPath

__all__ = ["SequentialPath"]
