"""Engines, which answer requests.

One asynchronous protocol, several engines, each imported only where it is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
