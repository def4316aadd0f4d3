"""Whose rules decide on a pull request, which rules it changes, and whether that holds."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
