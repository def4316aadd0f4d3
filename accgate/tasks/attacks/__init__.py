"""Seeded changes of a text that should not change the right answer, for the metrics of robustness."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
