"""Statistics over samples that are no mean of scores: calibration, selection, fairness, robustness, labels."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
