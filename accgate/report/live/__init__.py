"""A run in a browser of this machine: what is done while it goes on, and its report once it is decided."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
