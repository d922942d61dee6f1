r"""Risk of `StableSparseMean` over the whole class of sparse means, s = 1: log d, not its square.

The statement is `stable_upper`'s. Notation of the proof: z_j the average of coordinate j clipped to
[-R, R], mu = mu_1 the one mean that need not be 0, D = max_j |z_j - mu_j|, N = max_{j > 1} |z_j|,
|.|_2 the root of a second moment, e = epsilon/2, L and W the Laplace noise of the test and of the
value, of scales 1/e and 2R/(n e).

*Clipping.* E clip(x) - E x is at most b = sigma sqrt(pi/2) e^{-u^2/2}, u = (R - radius)/sigma, in
size: E(x - R)^+ and E(-R - x)^+ have opposite signs in it, and each is at most
sigma int_u^inf e^{-t^2/2} dt. Its variance is at most sigma^2, as clipping is 1-Lipschitz. It is
sub-Gaussian with proxy k sigma^2. Gaussian x: k = 1 (Lipschitz functions of Gaussian variables).
In general k = 2: with x' an independent copy, E e^{t(clip x - E clip x)} <= E e^{t(clip x - clip
x')} = E cosh(t(clip x - clip x')) <= E cosh(t(x - x')) = E e^{t(x - x')} <= e^{t^2 sigma^2}.

*Averages.* So |z_1 - mu|_2 <= A = sqrt(b^2 + sigma^2/n), and by a union bound, for which
coordinates may depend on each other in any way, P(max_j |z_j - E z_j|^2 > t) <= 2d e^{-t/2v} with
v = k sigma^2/n. Integrated: |D|_2 <= M = b + sqrt(2 v (log 2d + 1)). N <= D.

*Loss.* F: coordinate 1 is released, loss (z_1 - mu + W)^2. X: another one, mu^2 + (z_k + W)^2.
Otherwise mu^2. W is independent of all else and has mean 0, and F and X exclude each other, so

    risk <= E D^2 + E W^2 + mu^2 P(not F),      E W^2 = 8 R^2/(n e)^2.

*Missing it.* F fails only if |z_1| <= N, or (n/4R)(|z_1| - N) + L <= 1 + log(1/(2 delta))/e. Either
way |mu| <= |z_1 - mu| + N + (4R/n)(1 + log(1/(2 delta))/e + L^-), L^- = max(-L, 0). So mu^2 times
the indicator of not F is at most the square of the right-hand side, and |L^-|_2 = 1/e.
"""

from __future__ import annotations

from typing import Literal

import mpmath

from minimax.core.bound import Assumption, Optimum, Point, Terms, UpperBound
from minimax.core.symbolic import LETTERS, Number, library
from minimax.papers import THIS_WORK

Law = Literal["Gaussian", "sub-Gaussian"]
PROXY: dict[Law, int] = {"Gaussian": 1, "sub-Gaussian": 2}
"""Variance proxy of a clipped coordinate, in units of sigma^2."""
PARAMETERS = ("n", "d", "sigma", "radius", "epsilon", "delta")


def stable_formula(at: Point, log_d: Number, R: float | None, law: Law) -> Number:
    """The right-hand side of `stable_upper`; R=None is radius + 4 sigma sqrt(log n) ("theory")."""
    n, sigma, radius, epsilon = (at[name] for name in ("n", "sigma", "radius", "epsilon"))
    lib = library(n, sigma, radius)
    level = radius + 4 * sigma * lib.sqrt(lib.log(n)) if R is None else R
    bias = sigma * lib.sqrt(lib.pi / 2) * lib.exp(-(((level - radius) / sigma) ** 2) / 2)
    largest = bias + sigma * lib.sqrt(2 * PROXY[law] * (lib.log(2) + log_d + 1) / n)
    own = lib.sqrt(bias**2 + sigma**2 / n)
    test = 4 * level / n * (1 + 2 * (1 - lib.log(2 * at["delta"])) / epsilon)
    missed = lib.least(radius, own + largest + test)
    return largest**2 + missed**2 + 32 * (level / (n * epsilon)) ** 2


def stable_risk(
    log_d: float, R: float | None = None, law: Law = "sub-Gaussian", **point: float
) -> float:
    """The bound at a dimension given by its logarithm, which may be too large for a float."""
    with mpmath.workdps(30):
        at = {name: mpmath.mpf(value) for name, value in point.items()}
        return float(stable_formula(at, mpmath.mpf(log_d), R, law)) * (1 + UpperBound.rounding)


def stable_upper(R: float | None = None, law: Law = "sub-Gaussian") -> UpperBound:
    r"""Risk of `StableSparseMean` with s = 1, over all sub-Gaussian(sigma) laws of the class.

    **Statement.** With b, A, M of this module's proof (A about sigma/sqrt n, M^2 about
    2 k sigma^2 log(d)/n; k = 2, or 1 if the data are Gaussian) and
    t = (4R/n)(1 + (2/epsilon)(log(1/(2 delta)) + 1)),

        risk <= M^2 + min(radius, A + M + t)^2 + 32 R^2/(n epsilon)^2.

    **Assumptions.** R >= radius and delta < 1/2. Coordinates may be dependent.

    **Proof.** At the head of this module.

    **Constants.** Where log d is large the bound is 4 k sigma^2 log(d)/n; the worst case measured
    on Gaussian data is close to 2 sigma^2 log(d)/n. With k = 2 and sqrt(2) sigma in place of sigma
    it covers the class as CWZ19 prints it. At n = 10^10, epsilon = 10^-3, delta = n^-2, log d =
    10^6 the claim of CWZ19: Theorem 3.3 is 12 times the bound, and 6 times with sqrt(2) sigma.

    **Source.** against CWZ19: Theorem 3.3.
    """

    def formula(at: Point, found: Optimum) -> Terms:
        return Terms(None, stable_formula(at, library(at["d"]).log(at["d"]), R, law))

    return UpperBound(
        name="stable selection, s = 1" + (", Gaussian data" if law == "Gaussian" else ""),
        source=f"{THIS_WORK}: stable_upper.stable_upper",
        parameters=PARAMETERS,
        formula=formula,
        expression=lambda: formula(LETTERS, {}).total,
        assumptions=(
            Assumption("delta < 1/2", lambda p: bool(p["delta"] < 0.5)),
            Assumption("R >= radius", lambda p: R is None or bool(p["radius"] <= R)),
        ),
        estimator="StableSparseMean",
        settings=lambda at, found: {"s": 1, "R": "theory" if R is None else R},
        zero_release_risk=lambda at: float(at["radius"]) ** 2,
    )
