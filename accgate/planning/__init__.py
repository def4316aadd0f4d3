"""From accuracy.toml to checks: task, reference, design and samples of each, and what they cost."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
