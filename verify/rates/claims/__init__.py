"""Every claim of `verify.rates`, one module for each problem.

A module of this package takes part by exporting `claims()`. Their lower bounds are as good as their
proofs make them, so that the priors of these may decide whether releasing 0 does better.
"""

from __future__ import annotations

import importlib
import pkgutil
from dataclasses import replace

from verify.rates.claim import Claim


def all_claims() -> list[Claim]:
    """Every claim that a module of this package exports."""
    modules = [f"{__name__}.{found.name}" for found in pkgutil.iter_modules(__path__)]
    found = [claim for name in modules for claim in importlib.import_module(name).claims()]
    return [replace(claim, prior_decides=True) for claim in found]
