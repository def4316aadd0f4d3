"""Charts of the HTML report: pure functions from figures to SVG, each with its text and a table of its figures."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
