"""A part of the samples each: its run, all folders together, and the run that they join to."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
