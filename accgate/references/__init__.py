"""The reference store: find, read, match and write references, and the anchors that drift is counted from."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
