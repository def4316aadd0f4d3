"""The version, which nothing else may import anything for."""

__version__ = "0.1.0"
