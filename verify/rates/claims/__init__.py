"""Every claim of `verify.rates`, and where each is checked."""

from __future__ import annotations

from verify.rates.claim import Claim, Sweep
from verify.rates.claims import local, mean, regression


def all_claims() -> list[Claim]:
    """Every claim."""
    return mean.claims() + regression.claims() + local.claims()


SWEEPS: tuple[Sweep, ...] = mean.SWEEPS + regression.SWEEPS + local.SWEEPS
