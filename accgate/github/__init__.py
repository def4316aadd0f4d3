"""accgate on GitHub: the event, the API, the comment, the check run, and who may change the rules."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
