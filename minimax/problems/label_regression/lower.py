r"""Lower bounds for sparse regression when only the labels are locally private (WX21 §VI, §VII-B).

The rows x_i in {-1, 1}^p are public and fixed; y_i = f(<x_i, theta>) + noise, f differentiable with
0 < a <= f' <= b, theta with at most s non-zero entries and |theta|_2 <= 1, the noise of mean zero
and at most C. Each label is reported through a private channel (scope ``label``), which may depend
on the row and on earlier reports.

**The family.** s blocks of m = floor(p/s) coordinates; theta = (delta/sqrt s) v with one random
signed unit in each block; y = f(0) +- B with mean f(<x, theta>). As |<x, theta>| <= sqrt(s) delta,
B = C - b sqrt(s) delta keeps the noise below C, and b sqrt(s) delta <= C/2 makes the chances lie in
[0, 1]. For every row E <x_i, theta>^2 = delta^2 exactly: no isometry of the design is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Assumption, LowerBound, Optimum, Parts, Point, Prior, Terms
from minimax.core.claimed import claimed_bound
from minimax.core.once import made_once
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, parameter_names
from minimax.core.symbolic import LETTERS, Expression, Number, library, symbols
from minimax.methods.binary_reports import label_contraction as label_contraction
from minimax.methods.binary_reports import largest_kl
from minimax.methods.blocks import exponent
from minimax.methods.fano import block_exponents
from minimax.methods.priors import TwoLabelPrior
from minimax.methods.size_search import best_size
from minimax.problems.label_regression.uniform_noise import S_AT_MOST_P as S_AT_MOST_P
from minimax.problems.label_regression.uniform_noise import uniform_noise_bound
from minimax.problems.local_regression.lower import PAPER_EPSILON
from minimax.problems.local_regression.problem import SQUARED
from minimax.problems.local_regression.reports import label_information

Array = NDArray[np.float64]
LinkFunction = Callable[[Array], Array]


def wx21_theorem_10(model: type[Privacy] = Pure, link: LinkFunction | None = None) -> LowerBound:
    r"""Private labels, (a, b)-monotone link f: log p, not p.

    **Statement.** B = C - b sqrt(s) delta, i(tau) of `label_information`, which is c(t tau) T^2 for
    pure budgets, tau = b sqrt(s) delta/B, delta <= min(1, C/(2 b sqrt s)):

        R >= sup_{delta, beta} delta^2 [1 - h_m(beta)/beta - n i(tau) b^2 delta^2/(B^2 s beta)].

    **Proof.** I(v; Z) <= E KL(M_v|M_0) for the reports M_0 of fair labels under the same protocol;
    by the chain rule it is a sum over rounds, each at most i(tau) u_i^2 given any past, with
    u_i = (f(<x_i, theta>) - f(0))/B <= b |<x_i, theta>|/B, and E <x_i, theta>^2 = delta^2. Then
    Donsker and Varadhan's inequality over s blocks. Sequential interaction is allowed.

    **Constants.** Closed form (1/2) min{d, C^2 s l/(16 n i b^2)} with d = min{1, C^2/(4 b^2 s)} and
    l = max{log(p/s), log 2}: beta = log(2m)/2, B >= C/2; i = T^2 log 2, under zCDP and RDP
    min{kl/2, (1 - e^-kl) log 2}: c <= log 2, g <= 1.

    **Source.** WX21: Theorem 10 and (f the identity, b = 1) Theorem 7, for every epsilon, for
    (epsilon, delta) and the other definitions, without the isometry constant Delta.

    Parameters
    ----------
    link : callable, optional
        f, for the prior's samples; b is given with the point. By default f(x) = b x.
    """
    return _label_bound(model, link, slope=None)


def wx21_theorem_7(model: type[Privacy] = Pure) -> LowerBound:
    """`wx21_theorem_10` for the linear model: f(x) = x, b = 1."""
    return _label_bound(model, None, slope=1.0)


def _label_bound(
    model: type[Privacy], link: LinkFunction | None, slope: float | None
) -> LowerBound:
    free_b = slope is None

    def steepness(at: Point) -> Number:
        return (at["b"] if slope is None else slope) * library(at["s"]).sqrt(at["s"])

    def information(at: Point, delta: Number) -> Number:
        """Bound on I(v; Z) over s, for b sqrt(s) delta <= C/2."""
        moved = steepness(at) * delta
        tilt = moved / (at["C"] - moved)
        return at["n"] * label_information(model, at, tilt) * tilt**2 / at["s"] ** 2

    def optimise(at: Point) -> Optimum:
        beta, h = block_exponents(int(at["p"]) // int(at["s"]))
        # A little below the largest size, so that no rounding carries it out of the family.
        top = min(1.0, at["C"] / (2 * steepness(at))) * (1 - 1e-12)
        size = max(math.log(at["p"] / at["s"]), math.log(2))
        steep = at["n"] * label_information(model, at, 1.0) * steepness(at) ** 2
        room = at["C"] ** 2 * at["s"] ** 2 * size / (16 * steep)

        def kept(delta: Array) -> Array:
            return np.asarray(1 - (h + information(at, delta)[:, None]) / beta)

        delta = best_size(lambda d: d**2 * kept(d).max(axis=1), min(top, math.sqrt(room)), top)
        best = int(np.argmax(kept(np.array([delta]))[0]))
        height = at["C"] - steepness(at) * delta
        return {"delta": delta, "B": height, "beta": float(beta[best])}

    def formula(at: Point, found: Optimum) -> Terms:
        delta, beta = (at["C"] * 0 + found[name] for name in ("delta", "beta"))
        if delta > 1 or 2 * steepness(at) * delta > at["C"]:
            return Terms(None, 0 * delta)  # outside the family nothing is proved
        guess = exponent(beta, int(at["p"]) // int(at["s"]))
        value = delta**2 * (1 - (guess + information(at, delta)) / beta)
        return Terms(None, library(value).largest(value, 0))

    def prior(at: Point, parts: Parts) -> Prior:
        b = at["b"] if slope is None else slope
        return TwoLabelPrior(
            int(at["p"]),
            parts.optimum["delta"],
            parts.optimum["B"],
            int(at["s"]),
            link or (lambda x: np.asarray(b * x)),
        )

    def expression() -> Expression:
        import sympy as sp

        n, p, s, C = symbols("n p s C")
        b = LETTERS["b"] if slope is None else sp.Integer(1)
        size = sp.Max(sp.log(p / s), sp.log(2))
        room = C**2 * s * size / (16 * n * _largest_information(model) * b**2)
        return sp.Min(1, C**2 / (4 * b**2 * s), room) / 2

    return LowerBound(
        name="Donsker-Varadhan: private labels" + (", link f" if free_b else ""),
        source=f"WX21: Theorem {'10' if free_b else '7'} (its constant)",
        parameters=("n", "p", "s", "C", *(("b",) if free_b else ()), *parameter_names(model)),
        optimise=optimise,
        formula=formula,
        expression=expression,
        assumptions=(S_AT_MOST_P,),
        prior_at=prior,
        slack=_slack(model),
        loss=SQUARED,
    )


def _slack(model: type[Privacy]) -> float:
    """18, times what the closed form's i at tilt 1 is off by beyond T^2 log 2."""
    if model in (Pure, Approximate):
        return 18.0
    return 21.0 if model is Gaussian else 35.0


def _largest_information(model: type[Privacy]) -> Expression:
    """The closed form's i: that of tilt 1."""
    import sympy as sp

    if model in (Pure, Approximate, Gaussian):
        return sp.log(2) * label_contraction(model, LETTERS)
    kl = largest_kl(model, LETTERS)
    return sp.Min(kl / 2, sp.log(2) * (1 - sp.exp(-kl)), evaluate=False)


def claimed_theorem_7() -> LowerBound:
    """WX21: Theorem 7 as claimed: min{1, C^2 s log(p/s)/(n eps^2)}, the isometry constant at 0."""
    return _claimed("7", ("n", "p", "s", "C", "epsilon"))


def claimed_theorem_10() -> LowerBound:
    """WX21: Theorem 10 as claimed; it prints log(2/s), its proof and Theorem 7 have log(p/s)."""
    return _claimed("10", ("n", "p", "s", "C", "b", "epsilon"))


def _claimed(theorem: str, parameters: tuple[str, ...]) -> LowerBound:
    def rate(at: Point) -> Terms:
        lib = library(at["p"])
        cost = at["n"] * at["epsilon"] ** 2 * (at["b"] ** 2 if "b" in parameters else 1)
        return Terms(None, lib.least(1, at["C"] ** 2 * at["s"] * lib.log(at["p"] / at["s"]) / cost))

    return claimed_bound(
        LowerBound,
        f"claimed rate of Theorem {theorem}",
        f"WX21: Theorem {theorem}",
        parameters,
        rate,
        assumptions=(Assumption("p >= 2 s", lambda at: at["p"] >= 2 * at["s"]), PAPER_EPSILON),
        loss=SQUARED,
    )


@made_once
def lower_bounds(model: type[Privacy], *, link: bool = True) -> list[LowerBound]:
    """Every lower bound under one privacy definition of scope ``label``.

    With `link` the point holds b; otherwise the model is linear.
    """
    bounds = [wx21_theorem_10(model) if link else wx21_theorem_7(model)]
    if model is Pure:
        bounds.append(uniform_noise_bound(None if link else 1.0))
        bounds.append(claimed_theorem_10() if link else claimed_theorem_7())
    return bounds
