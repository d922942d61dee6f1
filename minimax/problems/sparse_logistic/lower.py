r"""Lower bounds for sparse logistic regression.

The class: rows x with |x_j| <= 1/sqrt(s) and E x x' = Sigma, whose eigenvalues on any 3s
coordinates lie in [1/(L s), L/s]; y in {0, 1} with P(y = 1 | x) = 1/(1 + exp(-<x, beta>)), at most
s non-zero beta_j, |beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. All are proved with uniform
signs x in {-1/sqrt s, 1/sqrt s}^d, for which L = 1 and the loss is |estimate - beta|^2/s.
"""

from __future__ import annotations

import math

from minimax.core.bound import Assumption, LowerBound, Optimum, Point, Terms, at_least
from minimax.core.once import made_once
from minimax.core.privacy import (
    Gaussian,
    Privacy,
    ZeroConcentrated,
    at_point,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, library, symbol
from minimax.methods.couplings import LogisticPacking
from minimax.methods.known_support import known_support_bound
from minimax.methods.packing import (
    closed_form_size,
    packing_formula,
    packing_search,
    sign_design_expression,
)
from minimax.methods.priors import LogisticBlockPrior, LogisticPrior
from minimax.papers import THIS_WORK
from minimax.problems.logistic import lower as logistic
from minimax.problems.regression.problem import LOSS
from minimax.problems.sparse_regression import lower as sparse_regression
from minimax.problems.sparse_regression.lower import BLOCKS

NAMES = ("n", "d", "s", "radius")
AS_NOISE = 2.0
"""The sigma of the linear model that tells no less than a label does."""


def statistical() -> LowerBound:
    r"""**Statement.** That of `sparse_regression.statistical` at sigma = 2: about 2 s log(2m)/n,
    m = floor(d/s).

    **Proof.** There the labels enter through I(v; X, y) <= n E<x, beta>^2/(2 sigma^2) alone. Here
    the divergence of a label of log-odds u from a fair one is int_0^u t A''(t) dt <= u^2/8, with
    A(t) = log(1 + e^t) and A'' <= 1/4, and E KL(P_v, P_0) bounds the information.
    **Constants.** Closed form s log(d/s)/n.
    """
    linear = sparse_regression.statistical()

    def noisy(p: Point) -> Point:
        return {**p, "sigma": 0 * p["n"] + AS_NOISE}

    return LowerBound(
        name=linear.name,
        source=f"{THIS_WORK}: sparse_logistic.statistical",
        parameters=NAMES,
        optimise=lambda p: linear.optimise(noisy(p)),
        formula=lambda p, found: linear.formula(noisy(p), found),
        expression=lambda: linear.expr.subs(symbol("sigma"), int(AS_NOISE)),
        assumptions=(
            BLOCKS,
            Assumption(
                "4 s^2 log(2 d/s) <= n radius^2",
                lambda p: (
                    4 * p["s"] ** 2 * math.log(2 * p["d"] / p["s"]) <= p["n"] * p["radius"] ** 2
                ),
            ),
        ),
        prior_at=lambda p, parts: LogisticBlockPrior(
            int(p["d"]), int(p["s"]), parts.optimum["height"]
        ),
        slack=linear.slack,
        slack_regime=BLOCKS,
        loss=LOSS,
    )


def on_known_support(dense: LowerBound) -> LowerBound:
    r"""A bound by tracing on s coefficients whose places are known.

    **Statement.** That of `minimax.problems.logistic.lower`, with d replaced by s. **Proof.** With
    signs of size 1/sqrt(s) the rows restricted to the support are those of that proof, the other
    columns are independent of everything, and knowing the support can only help.
    """
    return known_support_bound(
        dense,
        name=dense.name.replace("sign design", "known support"),
        source=dense.source,
        prior_at=lambda p, parts: LogisticPrior(int(p["d"]), p["radius"], support=int(p["s"])),
    )


def packing(model: type[Privacy]) -> LowerBound:
    r"""Packing by s blocks of m = floor(d/s) coefficients, labels coupled with fair ones.

    **Statement.** `minimax.methods.packing.packing_formula` with `LogisticPacking`: beta = g v.
    **Constants.** Closed form min(16 (N_0/(2n))^2, radius^2/s)/8, half of it for (eps, delta).
    """

    def coupled(p: Point) -> LogisticPacking:
        return LogisticPacking(p["n"], int(p["d"]) // int(p["s"]), int(p["s"]), p["radius"])

    def expression() -> Expression:
        d, s = LETTERS["d"], LETTERS["s"]
        return sign_design_expression(model, library(d).log(d / s), s, 16)

    def formula(p: Point, found: Optimum) -> Terms:
        return Terms(None, packing_formula(coupled(p), at_point(model, p), found))

    def in_between(p: Point) -> bool:
        packed = coupled(p)
        size = closed_form_size(packed.m, packed.s, at_point(model, p))
        return bool(p["s"] * math.log(p["d"] / p["s"]) >= 12 and 1 <= size <= p["n"] / 10)

    return LowerBound(
        name="packing: sign design, blocks",
        source=f"{THIS_WORK}: sparse_logistic.packing",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=lambda p: packing_search(coupled(p), at_point(model, p)),
        formula=formula,
        expression=expression,
        assumptions=(BLOCKS, at_least("n", 4)),
        prior_at=lambda p, parts: LogisticBlockPrior(
            int(p["d"]), int(p["s"]), parts.optimum["height"]
        ),
        slack=1000.0,
        slack_regime=Assumption("s log(d/s) >= 12 and 1 <= N_0 <= n/10", in_between),
        loss=LOSS,
    )


@made_once
def lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `sparse-logistic` under one privacy definition."""
    pairs = [logistic.antipodal_pairs(model)] if model in (ZeroConcentrated, Gaussian) else []
    supported = [on_known_support(dense) for dense in (logistic.tracing(model), *pairs)]
    return [statistical(), *supported, packing(model)]
