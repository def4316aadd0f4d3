"""accgate tells a pull request whether a language model's accuracy regressed.

>>> import accgate
>>> accgate.plan(2.0, sigma=50.0).n
7729
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
