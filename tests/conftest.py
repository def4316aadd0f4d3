"""Property tests repeat their examples; HYPOTHESIS_PROFILE=explore draws new ones."""

import os
import signal

from hypothesis import settings

settings.register_profile("repeat", derandomize=True)
settings.register_profile("explore")
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# A shell starts what runs in its background deaf to Ctrl-C, which commands under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
