"""Property tests try new examples at each local run; CI repeats the same, so that a red run is about the change."""

import os

from hypothesis import settings

settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    settings.load_profile("ci")
