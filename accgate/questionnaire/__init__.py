"""People rate answers: a blinded page to rate them on, and the verdict that the ratings give."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
