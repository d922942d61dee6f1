r"""Lower bounds for linear regression (CWZ19 §4.1).

The class: rows x with |x|_2 <= 1 and E x x' = Sigma, whose eigenvalues lie in [1/(L d), L/d];
y = <x, beta> + N(0, sigma^2), |beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. The lower bounds
are proved with uniform signs x in {-1/sqrt d, 1/sqrt d}^d, for which L = 1.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import sympy as sp

from minimax import bound as symbols
from minimax.bound import Bound, printed
from minimax.core.bound import Assumption, Parts, Point, Prior
from minimax.core.privacy import Approximate, Model, Pure, at_point, parameter_names
from minimax.methods.concentration import largest_eigenvalue
from minimax.methods.packing import RegressionPacking, closed_form_size, packing_bound
from minimax.methods.priors import RegressionBlockPrior, RegressionPrior
from minimax.methods.tracing import GAUSSIAN_PRODUCT, ScoreModel, gain, gain_expression
from minimax.methods.van_trees import ball_information, van_trees
from minimax.papers import THIS_WORK
from minimax.problems.regression.problem import LOSS

NAMES = ("n", "d", "sigma", "radius")


PAPER_BUDGET = (
    Assumption("epsilon < 1", lambda p: p["epsilon"] < 1),
    Assumption("delta < 1/n", lambda p: p["delta"] < 1 / p["n"]),
)
"""What CWZ19: Theorems 4.1 and 4.3 ask of the budget (delta < n^-(1+omega) for some omega > 0)."""


WIDE_BALL = Assumption(
    "n >= sigma sqrt(J), J = 2 d (1 + sqrt(d/2 + 1))^2/radius^2 (the prior's information)",
    lambda p: p["n"] >= p["sigma"] * math.sqrt(ball_information(p["d"], p["radius"])),
)


def statistical() -> Bound:
    r"""**Statement.** R >= d/(n/sigma^2 + J), J the information of the ball prior.

    **Proof.** `van_trees`: a score is (y - <x, beta>) x/sigma^2 and |x| = 1, so n records have
    information n/sigma^2; the loss is |.|^2/d. **Source.** the statistical term of CWZ19:
    Theorem 4.1, with its constant.
    """

    def compute(p: Point) -> Parts:
        value = _statistics(p["n"], p["d"], p["sigma"], p["radius"])
        return Parts(value, None, value)

    return Bound(
        name="van Trees: sign design",
        source="CWZ19: Theorem 4.1 (first term)",
        side="lower",
        kind="certified",
        names=NAMES,
        compute=compute,
        expr=_statistics(symbols.n, symbols.d, symbols.sigma, symbols.radius),
        prior_at=_ball_prior,
        slack=1.0,
        loss=LOSS,
    )


def _statistics(n: Any, d: Any, sigma: Any, radius: Any) -> Any:
    return van_trees(d, n / sigma**2, ball_information(d, radius)) / d


def _ball_prior(p: Point, parts: Parts) -> Prior:
    return RegressionPrior(int(p["d"]), p["radius"], p["sigma"])


def tracing(model: Model, *, shifted: bool = False) -> Bound:
    r"""Tracing with the leave-one-out residual, sign design.

    **Statement.** `minimax.methods.tracing.ScoreModel` with the scores s_i = xi_i x_i/sigma^2,
    xi_i = y_i - <x_i, beta>, information 1/sigma^2, spread 1/(sigma sqrt d) and the ball prior,
    J = 2d (1 + sqrt(d/2+1))^2/radius^2. It bounds E|M - beta|^2 = d R:

        R >= d/(n/sigma^2 + J) + eta^2/d,

    with sqrt(eta^2/d) about sigma d/(n G): roughly sigma^2 d/n + sigma^2 d^2/(n G)^2.

    **Assumptions.** n >= sigma sqrt J.

    **Proof.** M may be projected on the ball. |x_i| = 1, so E|s_i|^2 = 1/sigma^2. For V independent
    of record i, E<V, s_i>^2 = |V|^2/(d sigma^2), and <V, s_i> is xi times a weighted sum of signs:
    `GAUSSIAN_PRODUCT` gives the G of (eps, delta) and pure budgets, which up to eps = .99 is that
    of a Gaussian score; it is not sub-Gaussian, so zCDP and GDP go through chi-square, which costs
    next to nothing while rho is small. For delta > 0 see `RegressionLeak`.

    **Constants.** `shifted` as in `minimax.problems.mean.lower.tracing_gaussian`. The prior's J is
    within 5.5 % of the least possible, 4 j^2 with j the first zero of the Bessel function of order
    d/2 - 1, and has a closed form.

    **Source.** CWZ19: Theorem 4.1 (privacy term), by a proof that keeps its constants; the paper's
    drops a boundary term of its truncated normal prior.
    """

    def compute(p: Point) -> Parts:
        G = gain(at_point(model, p), GAUSSIAN_PRODUCT, shifted=shifted)
        place = (p["n"], p["d"], p["sigma"], p["radius"])
        statistics, traced = _model(*place).best(
            G, delta=p.get("delta", 0.0), leak=RegressionLeak(*place)
        )
        first, second = statistics / p["d"], traced / p["d"]
        return Parts(first, second, first + second)

    place = (symbols.n, symbols.d, symbols.sigma, symbols.radius)
    G = gain_expression(model, GAUSSIAN_PRODUCT, shifted=shifted)
    leak = RegressionLeak(*place) if model is Approximate else None
    expression = _model(*place).closed_form(G, delta=symbols.delta, leak=leak)
    return Bound(
        name="tracing: sign design" + (", shifted score" if shifted else ""),
        source=f"{THIS_WORK}: regression.tracing (for CWZ19: Theorem 4.1)",
        side="lower",
        kind="certified",
        names=(*NAMES, *parameter_names(model)),
        compute=compute,
        expr=expression / symbols.d,
        assumptions=(WIDE_BALL,),
        prior_at=_ball_prior,
        slack=4.0,
        slack_regime=Assumption(
            "d >= 16 G^2, epsilon <= 4, delta n d <= 1/1000 and log(n d) <= n/(100 d)",
            lambda p: (
                math.sqrt(p["d"]) >= 4 * gain(at_point(model, p), GAUSSIAN_PRODUCT, shifted=shifted)
                and p.get("epsilon", 0.0) <= 4
                and p.get("delta", 0.0) * p["n"] * p["d"] <= 1e-3
                and math.log(p["n"] * p["d"]) <= p["n"] / (100 * p["d"])
            ),
        ),
        loss=LOSS,
    )


def _model(n: Any, d: Any, sigma: Any, radius: Any) -> ScoreModel:
    root = sp.sqrt if isinstance(n, sp.Basic) else math.sqrt
    spread = 1 / (sigma * root(d))
    return ScoreModel(n, d, 1 / sigma**2, spread, ball_information(d, radius))


@dataclass(frozen=True)
class RegressionLeak:
    r"""The delta term of `tracing`.

    A_i = <N, s_i> + kappa |s_i|^2 and |s_i|^2 = xi_i^2/sigma^4, so E|s|^4 = 3/sigma^4 and
    sum_i <N, s_i>^2 <= |N|^2 lambda_max(S), S = sum xi_i^2 x_i x_i'/sigma^4. Unless some
    xi_i^2 > b^2 sigma^2 (chance at most n e^{-b^2/2} = e^{-t}), S is a sum of matrices below
    b^2/sigma^2, of mean n I/(d sigma^2) and with sum E Y_i^2 <= 3 n I/(d sigma^4), so
    `largest_eigenvalue` at x = log d + t bounds it with a further chance e^{-t}. On the rest, of
    chance at most 2 e^{-t}, |N|^2 <= 3 (4 radius^2 + kappa^2 |sum s_i|^2 + kappa^2 |grad log pi|^2)
    (four terms with side information), |sum s_i|^2 <= n F and lambda_max(S) <= F = sum |s_i|^2;
    F is independent of beta, and Cauchy-Schwarz with E F^2 = n(n+2)/sigma^4,
    E F^4 = n(n+2)(n+4)(n+6)/sigma^8 ends it.
    """

    n: Any
    d: Any
    sigma: Any
    radius: Any

    def terms(self, kappa: Any, side: Any, t: Any) -> tuple[Any, Any, Any]:
        """(slope, tail, own) of `minimax.methods.tracing.Leak`."""
        symbolic = isinstance(self.n, sp.Basic)
        root, exp, log = (sp.sqrt, sp.exp, sp.log) if symbolic else (math.sqrt, math.exp, math.log)
        n, d, precision = self.n, self.d, 1 / self.sigma**2
        top = largest_eigenvalue(
            n * precision / d,
            3 * n * precision**2 / d,
            2 * (log(n) + t) * precision,
            log(d) + t,
        )
        F2 = n * (n + 2) * precision**2
        F4 = F2 * (n + 4) * (n + 6) * precision**2
        J = ball_information(d, self.radius)
        pieces = (4 * self.radius**2 + kappa**2 * (J + side)) * root(F2)
        pieces += kappa**2 * n * root(F4)
        tail = (3 if side == 0 else 4) * root(2) * exp(-t / 2) * pieces
        return root(top), tail, kappa * root(3 * n) * precision

    def closed_form_t(self) -> Any:
        """e^{-t/2} = (nd)^{-3} (1 + radius/sigma)^{-2}."""
        log = sp.log if isinstance(self.n, sp.Basic) else math.log
        return 6 * log(self.n * self.d + 1) + 4 * log(1 + self.radius / self.sigma)


def dense_packing(model: Model) -> Bound:
    """`packing` of {-1, 1}^d: blocks of one coefficient, s = d."""
    return packing(model, sparse=False)


def packing(model: Model, *, sparse: bool) -> Bound:
    r"""Packing by s blocks of m = floor(d/s) coefficients, records coupled with those of beta = 0.

    **Statement.** `minimax.methods.packing.packing_bound` with `RegressionPacking`: beta = g v,
    R >= sup r g^2 F, F about 1 - E T_K(q_r), K ~ Poisson(n alpha(g)).
    Dense: s = d, m = 1. **Constants.** Closed form min(2 pi sigma^2 (N_0/(2n))^2, radius^2/s)/8,
    half of it for (eps, delta).
    **Source.** for CWZ19: Theorems 4.1 and 4.3.
    """

    def shape(p: Point) -> tuple[int, int]:
        s = int(p["s"]) if sparse else int(p["d"])
        return int(p["d"]) // s, s

    def compute(p: Point) -> Parts:
        m, s = shape(p)
        coupled = RegressionPacking(int(p["n"]), m, s, p["sigma"], p["radius"])
        found = packing_bound(coupled, at_point(model, p))
        return Parts(None, found.value, found.value, {"height": found.height})

    s = symbols.s if sparse else symbols.d
    log_size = sp.log(symbols.d / symbols.s) if sparse else sp.log(2)
    fits = Assumption("d >= 2 s", lambda p: p["d"] >= 2 * p["s"])
    return Bound(
        name="packing: sign design" + (", blocks" if sparse else ""),
        source=f"{THIS_WORK}: packing_bound (for CWZ19: Theorem {'4.3' if sparse else '4.1'})",
        side="lower",
        kind="certified",
        names=(*(("n", "d", "s", "sigma", "radius") if sparse else NAMES), *parameter_names(model)),
        compute=compute,
        expr=RegressionPacking.expression(model, log_size, s),
        assumptions=((fits,) if sparse else ()) + (symbols.at_least("n", 4),),
        prior_at=lambda p, parts: RegressionBlockPrior(
            int(p["d"]), shape(p)[1], parts.free["height"], p["sigma"]
        ),
        slack=1000.0 if model is Approximate else 500.0,
        slack_regime=Assumption(
            "s log(d/s) >= 12 (dense: d >= 18) and 1 <= N_0 <= n/10",
            lambda p: (
                shape(p)[1] * math.log(p["d"] / p["s"] if sparse else 2) >= 12
                and 1 <= closed_form_size(*shape(p), at_point(model, p)) <= p["n"] / 10
            ),
        ),
        loss=LOSS,
    )


def claimed_theorem_4_1() -> Bound:
    r"""CWZ19: Theorem 4.1 as claimed: sigma^2 (d/n + d^2/(n eps)^2)."""
    n, d, sigma, eps = symbols.n, symbols.d, symbols.sigma, symbols.epsilon
    return printed(
        "tracing: claimed rate of Theorem 4.1",
        "CWZ19: Theorem 4.1",
        ("n", "d", "sigma", "epsilon", "delta"),
        sigma**2 * d / n,
        sigma**2 * (d / (n * eps)) ** 2,
        assumptions=PAPER_BUDGET,
        loss=LOSS,
    )


def lower_bounds(model: Model) -> list[Bound]:
    """Every lower bound for the class `regression` under one privacy definition."""
    bounds = [
        statistical(),
        tracing(model),
        *([tracing(model, shifted=True)] if model in (Pure, Approximate) else []),
        dense_packing(model),
    ]
    return bounds + ([claimed_theorem_4_1()] if model is Approximate else [])
