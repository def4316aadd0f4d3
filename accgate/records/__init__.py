"""One line a sample: the run-record file, its scores as arrays, their clusters, and the fixed order of samples."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
