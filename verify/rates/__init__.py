"""``python -m verify.rates``: does measured error stay between the bounds?

The flow, left to right: claims -> grid -> measure -> judge -> report.
"""

from verify.rates.command import main

__all__ = ["main"]
