"""Settings of the whole suite: no outcome depends on how busy the machine is."""

import os

from hypothesis import HealthCheck, settings

os.environ["COLUMNS"] = "150"  # as in a pipe; a test of another width sets it

settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("any machine")
