"""Property tests repeat their examples; HYPOTHESIS_PROFILE=explore draws new ones. No clock decides any of them."""

import os
import signal

from hypothesis import HealthCheck, settings

unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("repeat", unhurried, derandomize=True)
settings.register_profile("explore", unhurried)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeat"))

# A shell starts what runs in its background deaf to Ctrl-C, which commands under test would inherit.
signal.signal(signal.SIGINT, signal.default_int_handler)
