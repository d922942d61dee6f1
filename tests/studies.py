"""A study of `verify.rates` by itself."""

from __future__ import annotations

from verify.rates.backends import Processes
from verify.rates.results import Results
from verify.rates.sequential import Simulation, Study
from verify.rates.special import Found, gathered


def alone(study: Study, seed: int, alpha: float) -> Found:
    """What a study finds, in this process."""
    (checks,) = Simulation(seed, alpha, Results(None), Processes(1)).run([study])
    return gathered(checks)
