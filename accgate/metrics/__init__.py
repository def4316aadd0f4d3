"""How an answer is scored.

Metrics are functions of an answer and its target that give points: `get("exact_match")("4", "4")` is 100.0.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
