"""Who answers.

There is one asynchronous protocol and several engines, each imported where it is used.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
