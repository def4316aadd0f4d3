"""GitHub's REST API: requests that are repeated where that is safe, and the branches and files of a repository."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
