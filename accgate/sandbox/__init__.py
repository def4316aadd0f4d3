"""Runs programs nobody has read: each in a process of its own, without network, secrets or files of others.

The modules that the worker loads (all but `runner` and `probe`) import nothing else of accgate's.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
