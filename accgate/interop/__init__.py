"""Files of other evaluation tools: results in, and runs out to trackers and leaderboards."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
