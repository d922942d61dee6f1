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
import sympy as sp
from numpy.typing import NDArray

from minimax import bound as symbols
from minimax.bound import Bound, printed
from minimax.core.bound import Assumption, Parts, Point, Prior
from minimax.core.privacy import Gaussian, Model, Pure, parameter_names
from minimax.methods.binary_reports import label_contraction
from minimax.methods.fano import block_exponents
from minimax.methods.priors import TwoLabelPrior
from minimax.problems.local_regression.lower import PAPER_EPSILON, best_size, entropy_ratio
from minimax.problems.local_regression.problem import SQUARED

Array = NDArray[np.float64]
LinkFunction = Callable[[Array], Array]
S_AT_MOST_P = Assumption("p >= s", lambda at: at["p"] >= at["s"])


def wx21_theorem_10(model: Model = Pure, link: LinkFunction | None = None) -> Bound:
    r"""Private labels, (a, b)-monotone link f: log p, not p.

    **Statement.** B = C - b sqrt(s) delta, T^2 and t of `label_contraction`,
    tau = t b sqrt(s) delta/B, delta <= min(1, C/(2 b sqrt s)):

        R >= sup_{delta, beta} delta^2 [1 - h_m(beta)/beta - n c(tau) T^2 b^2 delta^2/(B^2 s beta)].

    **Proof.** I(v; Z) <= E KL(M_v|M_0) for the reports M_0 of fair labels under the same protocol;
    by the chain rule it is a sum over rounds, each at most c(tau) T^2 u_i^2 given any past, with
    u_i = (f(<x_i, theta>) - f(0))/B <= b |<x_i, theta>|/B, and E <x_i, theta>^2 = delta^2. Then
    Donsker and Varadhan's inequality over s blocks. Sequential interaction is allowed.

    **Constants.** Closed form (1/2) min{d, C^2 s l/(16 log(2) n T^2 b^2)} with
    d = min{1, C^2/(4 b^2 s)} and l = max{log(p/s), log 2}: beta = log(2m)/2, B >= C/2, c <= log 2.

    **Source.** WX21: Theorem 10 and (f the identity, b = 1) Theorem 7, for every epsilon, for
    (epsilon, delta) and the other definitions, without the isometry constant Delta.

    Parameters
    ----------
    link : callable, optional
        f, for the prior's samples; b is given with the point. By default f(x) = b x.
    """
    return _label_bound(model, link, slope=None)


def wx21_theorem_7(model: Model = Pure) -> Bound:
    """`wx21_theorem_10` for the linear model: f(x) = x, b = 1."""
    return _label_bound(model, None, slope=1.0)


def _label_bound(model: Model, link: LinkFunction | None, slope: float | None) -> Bound:
    free_b = slope is None

    def compute(at: Point) -> Parts:
        b = at["b"] if slope is None else slope
        n, s, C = at["n"], int(at["s"]), at["C"]
        m = int(at["p"]) // s
        share = label_contraction(model, at)
        t = math.tanh(at["epsilon"] / 2) if model is Pure else 1.0
        beta, h = block_exponents(m)
        steep = b * math.sqrt(s)
        top = min(1.0, C / (2 * steep))
        size = max(math.log(at["p"] / s), math.log(2))
        room = C**2 * s * size / (16 * math.log(2) * n * share * b**2)

        def values(delta: Array) -> Array:
            tilt = steep * delta / (C - steep * delta)
            information = n * entropy_ratio(np.minimum(t * tilt, 1.0)) * share * tilt**2 / s**2
            return np.asarray(delta**2 * np.max(1 - (h + information[:, None]) / beta, axis=1))

        value, delta = best_size(values, min(top, math.sqrt(room)), top)
        return Parts(None, value, value, {"delta": delta, "B": C - steep * delta})

    def prior(at: Point, parts: Parts) -> Prior:
        b = at["b"] if slope is None else slope
        return TwoLabelPrior(
            int(at["p"]),
            parts.free["delta"],
            parts.free["B"],
            int(at["s"]),
            link or (lambda x: np.asarray(b * x)),
        )

    n, p, s, C = symbols.n, symbols.p, symbols.s, symbols.C
    b = symbols.b if slope is None else sp.Integer(1)
    share = label_contraction(model, symbols.SYMBOLS)
    size = sp.Max(sp.log(p / s), sp.log(2))
    room = C**2 * s * size / (16 * sp.log(2) * n * share * b**2)
    return Bound(
        name="Donsker-Varadhan: private labels" + (", link f" if free_b else ""),
        source=f"WX21: Theorem {'10' if free_b else '7'} (its constant)",
        side="lower",
        kind="certified",
        names=("n", "p", "s", "C", *(("b",) if free_b else ()), *parameter_names(model)),
        compute=compute,
        expr=sp.Min(1, C**2 / (4 * b**2 * s), room) / 2,
        assumptions=(S_AT_MOST_P,),
        prior_at=prior,
        slack=21.0 if model is Gaussian else 18.0,
        loss=SQUARED,
    )


def claimed_theorem_7() -> Bound:
    """WX21: Theorem 7 as claimed: min{1, C^2 s log(p/s)/(n eps^2)}, the isometry constant at 0."""
    return _claimed("7", sp.Integer(1), ("n", "p", "s", "C", "epsilon"))


def claimed_theorem_10() -> Bound:
    """WX21: Theorem 10 as claimed; it prints log(2/s), its proof and Theorem 7 have log(p/s)."""
    return _claimed("10", symbols.b, ("n", "p", "s", "C", "b", "epsilon"))


def _claimed(theorem: str, b: sp.Expr, names: tuple[str, ...]) -> Bound:
    n, p, s, C, eps = symbols.n, symbols.p, symbols.s, symbols.C, symbols.epsilon
    return printed(
        f"claimed rate of Theorem {theorem}",
        f"WX21: Theorem {theorem}",
        names,
        None,
        sp.Min(1, C**2 * s * sp.log(p / s) / (n * eps**2 * b**2)),
        assumptions=(Assumption("p >= 2 s", lambda at: at["p"] >= 2 * at["s"]), PAPER_EPSILON),
        loss=SQUARED,
    )


def lower_bounds(model: Model, *, link: bool = True) -> list[Bound]:
    """Every lower bound under one privacy definition of scope ``label``.

    With `link` the point holds b; otherwise the model is linear.
    """
    bounds = [wx21_theorem_10(model) if link else wx21_theorem_7(model)]
    if model is Pure:
        bounds.append(claimed_theorem_10() if link else claimed_theorem_7())
    return bounds
