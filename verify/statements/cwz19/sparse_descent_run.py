"""CWZ19 §4.4 and §8.3: the displays of Theorem 4.4, along runs of Algorithm 4.2.

The loss is (1/2n) sum (y_i - <x_i, beta>)^2, whose gradient the algorithm uses; L_n as printed is
twice that. Rows are signs over sqrt(s), so that |I| times the covariance lies in [1, 1.1] for
s <= |I| <= s + s*: L = 1.1 will do. s* = 1 and s = 40, as `sparse_descent` has it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from minimax.core.calibration import paper_peeling_scale
from minimax.problems.sparse_mean.upper import laplace_maximum_rms
from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.statements.cwz19.regression_convergence import exponents
from verify.statements.cwz19.sparse_descent import RHO, algorithm_step

Array = NDArray[np.float64]
CHAPTER = Chapter("CWZ19")
L, S, D, N, STEPS = 1.1, RHO, 100, 4000, 25


class Iterate(NamedTuple):
    """One step of a run: H = X'X/n, where the loss is least, beta^t, beta^{t+1}, betahat, noise."""

    H: Array
    centre: Array
    before: Array
    after: Array
    best: Array
    noise: float
    """sum_i |w_i|_inf^2 + |w~|^2."""

    def loss(self, beta: Array) -> float:
        """Of beta, but for a constant."""
        return float((beta - self.centre) @ self.H @ (beta - self.centre)) / 2


def runs(rng: np.random.Generator) -> Iterator[Iterate]:
    """The steps of four runs, from no noise to noise as large as the signal."""
    for size in (0.0, 1e-4, 1e-3, 1e-2):
        X = rng.choice([-1.0, 1.0], (N, D)) / math.sqrt(S)
        beta = np.zeros(D)
        beta[7] = 0.9
        y = X @ beta + 0.3 * rng.standard_normal(N)
        H = X.T @ X / N
        centre = np.asarray(np.linalg.solve(H, X.T @ y / N), dtype=float)
        best = best_of_one_entry(H, centre)
        now = np.zeros(D)
        for _ in range(STEPS):
            w, own = size * rng.laplace(size=(S, D)), size * rng.laplace(size=S)
            after = algorithm_step(H, centre, now, 1.0, w, own)
            noise = float(np.sum(np.max(np.abs(w), axis=1) ** 2) + own @ own)
            yield Iterate(H, centre, now, after, best, noise)
            now = after


def best_of_one_entry(H: Array, centre: Array) -> Array:
    """betahat: the least loss with one entry and norm at most one."""
    gradient, curvature = H @ centre, np.diag(H)
    entries = np.clip(gradient / curvature, -1, 1)
    chosen = int(np.argmin(curvature * entries**2 / 2 - gradient * entries))
    best = np.zeros(len(centre))
    best[chosen] = entries[chosen]
    return best


@CHAPTER.states(
    "(8.1)",
    r"$\frac1{8Ls}\lVert\beta^t-\hat\beta\rVert_2^2\le\langle\nabla L_n(\beta^t)-\nabla"
    r" L_n(\hat\beta),\beta^t-\hat\beta\rangle\le\frac{4L}s\lVert\beta^t-\hat\beta\rVert_2^2$.",
    kind="equation",
    found="Holds at every step of runs of the algorithm: the quotient is 1.9/s to 2.1/s.",
    printed=Case("4L/s above", above=4.0),
    mutant=Case("1.6 L/s above", above=1.6),
    by="execution",
    code=("estimators.sparse_regression.PrivateHardThresholding",),
    expected=Status.HOLDS,
)
def along_the_run(rng: np.random.Generator, *, above: float) -> Result:
    """s times the quotient of (8.1) at each iterate, against 1/8L and `above` L, L_n as printed."""
    quotients = []
    for step in runs(rng):
        apart = step.before - step.best
        if apart @ apart > 0:
            quotients.append(2 * S * float(apart @ step.H @ apart / (apart @ apart)))
    return result(
        min(quotients) >= 1 / (8 * L) and max(quotients) <= above * L,
        iterates=len(quotients),
        least_quotient_times_s=min(quotients),
        stated_at_least=1 / (8 * L),
        largest=max(quotients),
        stated_at_most=above * L,
    )


@CHAPTER.states(
    "(8.2)",
    r"$L_n(\beta^{t+1})-L_n(\hat\beta)\le(1-\frac1{\rho L^2})(L_n(\beta^t)-L_n(\hat\beta))"
    r"+c_3(\sum_i\lVert w_i^t\rVert_\infty^2+\lVert\tilde w^t\rVert_2^2)$ for every $t$.",
    kind="equation",
    found="Holds at every step of runs of the algorithm with ρ = 40 and c₃ = 1/s; not with ρ = 2.",
    printed=Case("ρ = 40", rho=40.0),
    mutant=Case("ρ = 2", rho=2.0),
    by="execution",
    code=("estimators.sparse_regression.PrivateHardThresholding", "minimax.methods.recursion"),
    uses=("Algorithm 4.2",),
    proof_uses=("(8.1)",),
    expected=Status.HOLDS,
)
def contraction_along_the_run(rng: np.random.Generator, *, rho: float) -> Result:
    """The largest excess of the left side of (8.2) over the right, in units of the start's loss."""
    excess = -math.inf
    for step in runs(rng):
        start = step.loss(np.zeros(D))
        left = step.loss(step.after) - step.loss(step.best)
        kept = (1 - 1 / (rho * L**2)) * (step.loss(step.before) - step.loss(step.best))
        excess = max(excess, (left - kept - step.noise / S) / start)
    return result(excess <= 1e-12, largest_excess_over_the_first_loss=excess)


def noise_left(n: float, s: float, log_d: float, epsilon: float, log_term: float) -> float:
    """n^2 times the privacy term that (8.5) gives in the norm of the covariance, c_3 = L/s.

    eta = s/6L, T = rho L^2 log(8 c0^2 L n), B = 4 (R + c0 cx) cx/sqrt(s), R = sigma sqrt(2 log n);
    sigma = c0 = cx = 1. The largest of d Laplace variables is of the size `log_d`.
    """
    T = RHO * L**2 * math.log(8 * L * n)
    B = 4 * (math.sqrt(2 * math.log(n)) + 1) / math.sqrt(s)
    scale = s / (6 * L) * B * 2 * math.sqrt(3 * s * (log_term + math.log(T))) / (epsilon / T)
    noise = scale**2 * s * (log_d**2 + 2)
    return (L / s) * 16 * L * s * RHO * L**2 * (L / s) * noise


@CHAPTER.states(
    "(4.7)",
    r"$\|\beta^T-\beta\|^2_{\Sigma_x}\lesssim\sigma^2(\frac{s^*\log d}n+\frac{(s^*\log d)^2"
    r"\log(1/\delta)\log^3n}{n^2\epsilon^2})$ (for $\sigma$ of order one: see Theorem 4.4).",
    kind="equation",
    found="What (8.5) leaves of the noise, c₃ = L/s, has them: (s log d)², log(1/δ), log³ n.",
    printed=Case("log³ n", log_n=3.0),
    mutant=Case("log^2.8 n", log_n=2.8),
    by="exact",
    rate=True,
    code=("minimax.problems.sparse_regression.upper.claimed_theorem_4_4",),
    uses=("Algorithm 4.2",),
    expected=Status.RATE,
)
def displayed_rate(*, log_n: float) -> Result:
    """The exponents of `noise_left`; the largest of d Laplace variables must be as it has it."""
    stated = {"s": 2.0, "log_d": 2.0, "epsilon": -2.0, "log_term": 1.0, "n": log_n}
    start = {"n": 1e75, "s": 10.0, "log_d": 50.0, "epsilon": 0.01, "log_term": 1e4}
    assert 1 <= laplace_maximum_rms(10**20) / math.log(1e20) <= 1.1
    assert math.isclose(paper_peeling_scale(1.0, 2, 0.5, 1e-4), 4 * math.sqrt(6 * math.log(1e4)))
    return exponents(noise_left, stated, start)
