"""Named tests on arrays of scores, without any I/O.

Every function works on the difference candidate minus reference, in points, with higher better; the caller
turns lower-is-better scores round once.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
