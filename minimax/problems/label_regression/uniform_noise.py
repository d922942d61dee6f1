r"""A lower bound for private labels under uniform noise, for every design, noise level and link."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from minimax.core.bound import Assumption, LowerBound, Optimum, Parts, Point, Prior, Terms
from minimax.core.symbolic import LETTERS, Expression, Number, library, symbols
from minimax.methods.blocks import exponent
from minimax.methods.divergences import kl_from_tv, tv_contraction
from minimax.methods.fano import block_exponents
from minimax.methods.priors import Rows, TwoLabelInstance, TwoLabelPrior
from minimax.methods.size_search import best_size
from minimax.papers import THIS_WORK
from minimax.problems.local_regression.problem import SQUARED

Array = NDArray[np.float64]
S_AT_MOST_P = Assumption("p >= s", lambda at: at["p"] >= at["s"])


@dataclass(frozen=True)
class UniformNoiseInstance(TwoLabelInstance):
    """x uniform on {-1, 1}^p; y = f(<x, target>) + noise uniform on [-height, height]."""

    def answers(self, X: Rows, rng: np.random.Generator) -> Array:
        return self.link(X @ self.target) + rng.uniform(-self.height, self.height, len(X))


@dataclass(frozen=True)
class UniformNoisePrior(TwoLabelPrior):
    """The targets of `TwoLabelPrior` with uniform noise in place of two labels."""

    def draw(self, rng: np.random.Generator) -> UniformNoiseInstance:
        drawn = super().draw(rng)
        return UniformNoiseInstance(drawn.target, drawn.height, drawn.link, drawn.summed)


def uniform_noise_bound(slope: float | None = None) -> LowerBound:
    r"""eps-LDP labels, for every X, C and f with |f'| <= b; reports may be interactive.

    **Statement.** With q = min{1, b^2 delta^2/(2 C^2)} and m = floor(p/s), R >= sup over delta <= 1
    and beta of

        delta^2 [1 - (h_m(beta) + n sqrt(q) tanh(eps/2) log(1 + (e^eps - 1) sqrt(q))/s)/beta].

    **Proof.** The block prior of `minimax.problems.label_regression.lower` with noise uniform on
    [-C, C]: in round i the label laws of theta, theta' are at total variation
    t <= min{1, b |<x_i, theta - theta'>|/(2C)}, and E t^2 <= q over independent theta, theta'. By
    convexity I(v; Z) <= E KL(M_v|M_v') over independent v, v', by the chain rule a sum over rounds,
    each at most `kl_from_tv` at t whatever the past. t log(1 + x t) is concave in t^2 (the
    derivative log(1 + xt)/(2t) + x/(2 + 2xt) decreases), so q may be put in for t^2. Then Donsker
    and Varadhan's inequality over s blocks. Other than with labels of two values, C sets no limit
    to delta.

    **Constants.** Closed form (1/2) min{1, C^2 s l/(2 n b^2 tanh(eps/2) (e^eps - 1))},
    l = max{log(p/s), log 2}: beta = log(2m)/2 and log(1 + x) <= x.

    **Source.** the noise is that of WX21: Theorem 10 (proof). With (e^eps - 1)^2 q/2, which is
    larger, for the divergence it is the paper's own route.

    Parameters
    ----------
    slope : float, optional
        b, if it is not given with the point.
    """

    def steepness(at: Point) -> Number:
        return at["b"] if slope is None else slope

    def optimise(at: Point) -> Optimum:
        return _search(at, steepness(at))

    def formula(at: Point, found: Optimum) -> Terms:
        delta, beta = (at["C"] * 0 + found[name] for name in ("delta", "beta"))
        if delta > 1:
            return Terms(None, 0 * delta)
        guess = exponent(beta, int(at["p"]) // int(at["s"]))
        value = delta**2 * (1 - (guess + _information(at, steepness(at), delta)) / beta)
        return Terms(None, library(value).largest(value, 0))

    def prior(at: Point, parts: Parts) -> Prior:
        b = float(steepness(at))
        link: Callable[[Array], Array] = lambda x: np.asarray(b * x)  # noqa: E731
        return UniformNoisePrior(int(at["p"]), parts.optimum["delta"], at["C"], int(at["s"]), link)

    def expression() -> Expression:
        import sympy as sp

        n, p, s, C, eps = symbols("n p s C epsilon")
        size = sp.Max(sp.log(p / s), sp.log(2))
        cost = 2 * n * steepness(LETTERS) ** 2 * sp.tanh(eps / 2) * (sp.exp(eps) - 1)
        return sp.Min(1, C**2 * s * size / cost) / 2

    return LowerBound(
        name="Donsker-Varadhan: uniform noise" + (", link f" if slope is None else ""),
        source=f"{THIS_WORK}: label_regression.uniform_noise_bound (for WX21: Theorem 10)",
        parameters=("n", "p", "s", "C", *(("b",) if slope is None else ()), "epsilon"),
        optimise=optimise,
        formula=formula,
        expression=expression,
        assumptions=(S_AT_MOST_P,),
        prior_at=prior,
        slack=5.0,
        slack_regime=Assumption(
            "epsilon <= 1 and b <= C", lambda at: at["epsilon"] <= 1 and steepness(at) <= at["C"]
        ),
        loss=SQUARED,
    )


def _information(at: Point, b: Number, delta: Number) -> Number:
    """Bound on I(v; Z) over s, for links of slope b."""
    lib = library(delta)
    distance = lib.least(b * delta / (at["C"] * lib.sqrt(delta * 0 + 2)), 1)
    return at["n"] * kl_from_tv(at["epsilon"], distance) / at["s"]


def _search(at: Point, b: Number) -> Optimum:
    """A good delta and beta, from the closed form's on."""
    beta, h = block_exponents(int(at["p"]) // int(at["s"]))
    growth = tv_contraction(at["epsilon"]) * library().expm1(at["epsilon"])
    size = max(math.log(at["p"] / at["s"]), math.log(2))
    closed = at["C"] / b * math.sqrt(at["s"] * size / (2 * at["n"])) / math.sqrt(growth)
    start = min(1.0, max(closed, 1e-150))

    def kept(delta: Array) -> Array:
        return np.asarray(1 - (h + _information(at, b, delta)[:, None]) / beta)

    # Where log(1 + x) is far below x the best delta is far above the closed form's.
    def value(delta: Array) -> Array:
        return np.asarray(delta**2 * kept(delta).max(axis=1))

    wide = np.geomspace(start, 1.0, 400)
    start = float(wide[int(np.argmax(value(wide)))])
    delta = best_size(value, start, 1.0)
    best = int(np.argmax(kept(np.array([delta]))[0]))
    return {"delta": delta, "beta": float(beta[best])}
