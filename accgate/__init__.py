"""accgate: tells a pull request whether a language model's accuracy regressed."""

__version__ = "0.1.0"
