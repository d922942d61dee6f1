r"""Which randomiser spends a local budget: by name, or the one of least error.

**Pure reports under zCDP.** An epsilon-LDP report is rho-zCDP with rho = epsilon tanh(epsilon/2):
its laws at two inputs are a post-processing of randomised response (Kairouz, Oh and Viswanath,
2015), whose curve is that of `minimax.core.randomised_response.randomised_response_epsilon`. So
the randomisers of `estimators.randomisers.vectors` spend a budget of rho in full too. A bit is best
for one number; for vectors PrivUnit overtakes the soft cap at rho = 9, and at 5 to 7 for ten
features: the soft cap's error falls like p/rho, PrivUnit's like p/(2 rho).

**What is compared** is `length`^2 = max E|R|^2: the mean of n reports of independent records errs
by E|R|^2/n, less the square of the mean, and the records' own spread is part of that. It depends on
the budget and on p and on nothing else: the choice is public.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Literal

from estimators.core.accounting import LedgerEntry
from estimators.randomisers.base import VectorRandomiser
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import LARGEST_EPSILON, SphereRandomiser
from estimators.randomisers.zcdp_privunit import (
    LARGEST_RHO,
    GaussianRandomiser,
    SoftCapRandomiser,
)
from minimax.core.privacy import Pure, SpendablePrivacy, ZeroConcentrated
from minimax.core.randomised_response import randomised_response_epsilon

OnSphere = Literal["auto", "duchi", "privunit", "softcap", "gaussian"]
OnCube = Literal["auto", "coordinate", "hypercube", "softcap", "gaussian"]
Maker = Callable[[int, float, float], VectorRandomiser]

PURE: dict[str, Maker] = {
    "duchi": lambda p, epsilon, radius: SphereRandomiser(p, epsilon, radius, "half"),
    "privunit": lambda p, epsilon, radius: SphereRandomiser(p, epsilon, radius, "best"),
    "coordinate": lambda p, epsilon, radius: HypercubeRandomiser(1, epsilon, radius, "best"),
    "hypercube": lambda p, epsilon, radius: HypercubeRandomiser(p, epsilon, radius, "best"),
}
CONCENTRATED: dict[str, Maker] = {"softcap": SoftCapRandomiser, "gaussian": GaussianRandomiser}
ON_SPHERE = ("duchi", "privunit", *CONCENTRATED)
ON_CUBE = ("coordinate", "hypercube", *CONCENTRATED)


def report_epsilon(budget: SpendablePrivacy) -> float:
    """What a pure report may spend, checked to be within the randomisers' range."""
    if isinstance(budget, ZeroConcentrated):
        if budget.rho > LARGEST_RHO:
            raise ValueError(f"privacy.rho must be at most {LARGEST_RHO:g}, got {budget.rho!r}")
        return min(randomised_response_epsilon(budget), LARGEST_EPSILON)
    assert isinstance(budget, Pure)
    if budget.epsilon > LARGEST_EPSILON:
        raise ValueError(
            f"privacy.epsilon must be at most {LARGEST_EPSILON:g} for a local randomiser, got"
            f" {budget.epsilon!r}"
        )
    return budget.epsilon


def spent(entry: LedgerEntry, budget: SpendablePrivacy) -> LedgerEntry:
    """The entry with the zCDP budget that its pure report was calibrated to, if it was."""
    if not isinstance(budget, ZeroConcentrated) or budget in entry.guarantees:
        return entry
    return replace(entry, guarantees=(*entry.guarantees, budget))


def sphere_randomiser(
    name: OnSphere, budget: SpendablePrivacy, p: int, radius: float
) -> VectorRandomiser:
    """The randomiser of vectors in a ball, by its name.

    "auto": the paper's, "duchi", for a pure budget; for zCDP the one of least `length`.
    """
    _check("randomiser", name, ON_SPHERE, budget)
    if name != "auto":
        return _made(name, budget, p, radius)
    if isinstance(budget, Pure):
        return _made("duchi", budget, p, radius)
    found = (_made(other, budget, p, radius) for other in ON_SPHERE)
    return min(found, key=lambda randomiser: randomiser.length)


def cube_randomiser(
    name: OnCube, budget: SpendablePrivacy, p: int, radius: float
) -> tuple[VectorRandomiser, str]:
    """The randomiser of vectors in a cube of half-width `radius`, and the name of what it does.

    "auto": "coordinate" for a pure budget; for zCDP that or "softcap", whose risk is proved too,
    by their errors. With "coordinate" n/p users report on each of p coordinates, which makes the
    error p^2 times that of one report.
    """
    _check("report", name, ON_CUBE, budget)

    def made(kind: str) -> VectorRandomiser:
        wide = p**0.5 if kind in CONCENTRATED else 1.0  # the ball around the cube
        return _made(kind, budget, p, wide * radius)

    def error(kind: str) -> float:
        return made(kind).length * (p if kind == "coordinate" else 1)

    if name != "auto":
        return made(name), name
    best = "coordinate" if isinstance(budget, Pure) else min(("coordinate", "softcap"), key=error)
    return made(best), best


def _made(name: str, budget: SpendablePrivacy, p: int, radius: float) -> VectorRandomiser:
    epsilon = report_epsilon(budget)
    if name in PURE:
        return PURE[name](p, epsilon, radius)
    assert isinstance(budget, ZeroConcentrated)
    return CONCENTRATED[name](p, budget.rho, radius)


def _check(option: str, name: str, known: tuple[str, ...], budget: SpendablePrivacy) -> None:
    report_epsilon(budget)
    if name not in ("auto", *known):
        listed = ", ".join(map(repr, ("auto", *known[:-1])))
        raise ValueError(f"{option} must be {listed} or {known[-1]!r}, got {name!r}")
    if name in CONCENTRATED and not isinstance(budget, ZeroConcentrated):
        raise ValueError(f"{option}={name!r} needs a ZeroConcentrated budget, got {budget!r}")
