"""Statistics over samples that are no means of scores: calibration, fairness, robustness, labels, repeats."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
