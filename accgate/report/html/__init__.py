"""The report of a run as one HTML page: its verdicts explained, charts, and the samples that got worse side by side.

The page loads nothing from elsewhere and shows names, prompts and replies as text.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
