"""Every claim of `verify.rates`, and where each is checked."""

from __future__ import annotations

from verify import local_claims, mean_claims, regression_claims
from verify.claim import Claim, Sweep


def all_claims() -> list[Claim]:
    """Every claim."""
    return mean_claims.claims() + regression_claims.claims() + local_claims.claims()


SWEEPS: tuple[Sweep, ...] = mean_claims.SWEEPS + regression_claims.SWEEPS + local_claims.SWEEPS
