"""The decision of a check with its figures, and how it reads in words."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
