r"""What the papers' theorems run: their number of steps, step, truncation and noise, to the letter.

``schedule="theorem"`` of an estimator is a name for these options, computed from its other ones and
from n and d. Constants that a theorem leaves open ("there exist constants C_i", "O(...)") are
`HIDDEN` = 1, numbers of steps are rounded upwards and are at least 1, logarithms are natural, and
log n, log d are at least log 2. Whether the noise gives the privacy that the paper says is another
matter: `privacy_` reports what it gives.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, TypeVar

from sklearn.base import BaseEstimator, clone

from estimators.core.spending import on_behalf_of
from minimax.core.privacy import Approximate, SpendablePrivacy, ZeroConcentrated

Schedule = Literal["planned", "theorem"]
Options = Mapping[str, Any]
Estimator = TypeVar("Estimator", bound=BaseEstimator)
HIDDEN = 1.0
"""Every constant that a theorem does not name."""
MOST_STEPS = 10**6
"""Theorems ask for more where the condition number is beyond reason."""


def follows_theorem(schedule: object) -> bool:
    """Whether the schedule is the theorem's; an error if it is neither of the two."""
    if not isinstance(schedule, str) or schedule not in ("planned", "theorem"):
        raise ValueError(f"schedule must be 'planned' or 'theorem', got {schedule!r}")
    return schedule == "theorem"


def check_planned(schedule: object) -> None:
    """Raise where a bound on the risk is for an estimator's own schedule."""
    if follows_theorem(schedule):
        raise ValueError("risk_bound covers schedule='planned'")


def run_with(
    estimator: Estimator, options: Options, run: Callable[[Estimator], object]
) -> Estimator:
    """Run a copy of the estimator that has these options, and take over what it finds.

    An option that was given otherwise is an error: the schedule sets it.
    """
    signature = inspect.signature(type(estimator).__init__).parameters
    for name, value in options.items():
        given, default = getattr(estimator, name), signature[name].default
        if given not in (default, value):
            raise ValueError(
                f"schedule='theorem' sets {name}: leave it at {default!r}, got {given!r}"
            )
    copy = clone(estimator).set_params(schedule="planned", **options)
    copy.random_state = estimator.random_state  # the same one: a generator would be copied
    with on_behalf_of(estimator, copy):
        run(copy)
    found = {name: value for name, value in vars(copy).items() if name.endswith("_")}
    vars(estimator).update(found)
    return estimator


def cwz19_theorem_4_2(
    n: int, d: int, *, L: float, radius: float, row_bound: float, sigma: float
) -> Options:
    """R = sigma sqrt(2 log n), eta = d/(2 L), T = 8 L^2 log(c_0^2 n), B = 4 (R + c_0 c_x) c_x.

    (D2) is for c_x = 1; eigenvalues are relative to `row_bound`^2 here, and eta to its inverse.
    """
    return {
        "R": _truncation(sigma, n),
        "step_size": d / (2 * L * row_bound**2),
        "steps": _whole(8 * L**2 * math.log(radius**2 * n)),
        "composition": "basic",
    }


def cwz19_theorem_4_4(
    n: int, *, L: float, radius: float, entry_bound: float, sigma: float
) -> Options:
    """R = sigma sqrt(2 log n), eta = s/(6 L), T = rho L^2 log(8 c_0^2 L n), rho of s = rho L^4 s*.

    Their s is 1/b^2, b the bound on an entry: (D2') has eigenvalues about 1/s.
    """
    return {
        "R": _truncation(sigma, n),
        "step_size": 1 / (6 * L * entry_bound**2),
        "steps": _whole(HIDDEN * L**2 * math.log(8 * radius**2 * L * n)),
        "method": "peeling",
        "calibration": "paper",
    }


def wg19_theorem_5_4(
    n: int,
    d: int,
    privacy: SpendablePrivacy,
    *,
    s: int,
    clip: float,
    radius: float | None,
    smoothness: float,
    condition: float,
) -> Options:
    """eta = C_1/(beta + mu), T = C_3 kappa log(rho n^2 mu^2 |theta*|^2/(kappa^2 G^2 s log d)).

    beta is the smoothness and mu = beta/kappa; |theta*| is taken for `radius`. For (epsilon, delta)
    rho = epsilon^2/log(1/delta), with which the noise T G^2/(n^2 rho) is that of Corollary 5.8.
    WX21: Theorem 8 has the same at kappa = 1, eta = 1/(2 beta), and T = O(kappa log(n^2 eps^2/s)).
    """
    if radius is None:
        raise ValueError("schedule='theorem' needs radius, a bound on |theta*|")
    if isinstance(privacy, ZeroConcentrated):
        rho = privacy.rho
    elif isinstance(privacy, Approximate):
        rho = privacy.epsilon**2 / -math.log(privacy.delta)
    else:
        raise ValueError(f"schedule='theorem' is for Approximate or zCDP budgets, not {privacy}")
    mu = smoothness / condition
    signal = math.log(rho) + 2 * math.log(n * mu * radius / (condition * clip))
    steps = HIDDEN * condition * (signal - math.log(s * math.log(max(d, 2))))
    return {
        "step_size": HIDDEN / (smoothness + mu),
        "steps": _whole(steps),
        "calibration": "paper",
    }


def wx21_theorem_9(n: int, p: int, *, C: float, b: float, scale: float, epsilon: float) -> Options:
    """T = O(log(n eps^2/(p log p))) and r = O(b C sqrt p), for Theorem 5 with b = 1.

    eta = eta(a, b) is the step in the window, which is the default.
    """
    steps = _whole(HIDDEN * math.log(n * epsilon**2 / (p * math.log(max(p, 2)))))
    return {"steps": min(n, steps), "clip": HIDDEN * b * C * math.sqrt(p) * scale}


def wx21_theorem_11(n: int, p: int, epsilon: float, *, s: int, C: float, step: float) -> Options:
    """T = O(log(sqrt(n) eps/(C sqrt(s* log p)))), s = 8 s*, eta in the window; noise as printed.

    Theorem 6 is that of the linear model, where eta = 1 is in the window for all Delta <= 2/7.
    """
    noise = C * math.sqrt(s / 8 * math.log(max(p, 2)))
    return {
        "steps": _whole(HIDDEN * math.log(math.sqrt(n) * epsilon / noise)),
        "step_size": step,
        "loss": "squared",
        "calibration": "paper",
    }


def _truncation(sigma: float, n: int) -> float:
    return sigma * math.sqrt(2 * math.log(max(n, 2)))


def _whole(steps: float) -> int:
    if steps > MOST_STEPS:
        raise ValueError(f"schedule='theorem' asks for {steps:.3g} steps, and {MOST_STEPS} is most")
    return max(1, math.ceil(steps))
