r"""CWZ19 §2.1: the private minimax risk and the cost of privacy, solved as linear programs.

Records are Bernoulli(theta), theta in [0, 1], the loss is squared. Averaging a mechanism over the
order of the records keeps its privacy and does not raise its worst risk, so that it may depend on
the number k of ones alone; data sets with k and k + 1 ones are neighbours. Outputs are rounded at
random to a grid of step h, which costs at most h^2/4: the risk is linear in the probabilities
P(output | k), and so is privacy.
"""

from __future__ import annotations

import math

import numpy as np
from scipy import optimize, sparse, stats

from verify.proofs.entry import Case, Chapter, Result, Status, result

CHAPTER = Chapter("CWZ19")
GRID = np.linspace(0, 1, 81)
"""Of outputs and of theta."""
PRECISION = 0.005
"""Relative: h^2/4 = 4e-5 next to risks from .01 up, and what a grid of theta leaves out."""


def _privacy(n: int, epsilon: float, delta: float) -> tuple[sparse.csr_matrix, np.ndarray]:
    """p_k <= e^eps p_l + u, u of mass at most delta, for neighbours k and l, as A z <= b.

    z holds p_0, ..., p_n, then the u of each pair (k, k+1), (k+1, k).
    """
    m = len(GRID)
    pairs = [pair for k in range(n) for pair in ((k, k + 1), (k + 1, k))]
    columns = (n + 1 + len(pairs)) * m
    rows, right = [], []
    for i, (k, other) in enumerate(pairs):
        close = sparse.lil_matrix((m + 1, columns))
        for o in range(m):
            excess = (n + 1 + i) * m + o
            close[o, k * m + o], close[o, other * m + o] = 1.0, -math.exp(epsilon)
            close[o, excess], close[m, excess] = -1.0, 1.0
        rows.append(close)
        right += [0.0] * m + [delta]
    return sparse.csr_matrix(sparse.vstack(rows)), np.array(right)


def _risks(n: int) -> np.ndarray:
    """Row theta: the risk at theta as a function of p_0, ..., p_n."""
    chance = stats.binom.pmf(np.arange(n + 1)[None, :], n, GRID[:, None])
    loss = (GRID[None, :] - GRID[:, None]) ** 2
    return np.asarray(chance[:, :, None] * loss[:, None, :]).reshape(len(GRID), -1)


def least_worst_risk(n: int, epsilon: float = math.inf, delta: float = 0.0) -> float:
    """inf over M of sup over theta of E(M - theta)^2; without privacy for eps = infinity."""
    risks = sparse.csr_matrix(_risks(n))
    free = (n + 1) * len(GRID)
    A, b = sparse.csr_matrix((0, free)), np.zeros(0)
    if epsilon < math.inf:
        A, b = _privacy(n, epsilon, delta)
    width = A.shape[1]
    worst = sparse.hstack([_widened(risks, width), -np.ones((len(GRID), 1))])
    close = sparse.hstack([A, np.zeros((A.shape[0], 1))])
    ones = sparse.kron(sparse.eye(n + 1), np.ones((1, len(GRID))))
    solved = optimize.linprog(
        np.append(np.zeros(width), 1.0),
        A_ub=sparse.vstack([worst, close]),
        b_ub=np.concatenate([np.zeros(len(GRID)), b]),
        A_eq=_widened(sparse.csr_matrix(ones), width + 1),
        b_eq=np.ones(n + 1),
        method="highs",
    )
    return float(solved.fun)


def _widened(matrix: sparse.csr_matrix, width: int) -> sparse.csr_matrix:
    """With columns of zeros on the right."""
    rows, columns = matrix.shape
    return sparse.hstack([matrix, sparse.csr_matrix((rows, width - columns))])


def worst_least_risk(n: int) -> float:
    """sup over theta of inf over private M: a constant M is private, and right at its theta."""
    risks = _risks(n).reshape(len(GRID), n + 1, len(GRID))
    return float(max(risk.sum(axis=0).min() for risk in risks))


def one_record(epsilon: float) -> float:
    """(2.1) at n = 1 and delta = 0, in closed form.

    Every eps-private release of a bit is a post-processing of randomised response, which for
    x = theta - 1/2 is a sign of mean 2 t x, t = tanh(eps/2). Releasing 1/2 + a sign has the risk
    a^2 + (1 - 4 a t) x^2, largest at x = 1/2 or constant: the best a is t/2 for t^2 <= 1/2, then
    1/(4t).
    """
    t = math.tanh(epsilon / 2)
    return (1 - t**2) / 4 if t**2 <= 0.5 else 1 / (16 * t**2)


@CHAPTER.states(
    "(2.1)",
    r"The private minimax risk is $\inf_{M\in\mathcal M_{\epsilon,\delta}}\sup_{P\in\mathcal P}"
    r"E\,\ell(\rho(M(X),\theta(P)))$.",
    kind="definition",
    found="Solved for a Bernoulli mean: (1 − t²)/4 or 1/16t² at n = 1, and it falls with ε and δ.",
    printed=Case("the infimum outside", exchanged=False),
    mutant=Case("the supremum outside", exchanged=True),
    by="optimisation",
    code=("minimax.core.bound.Bound",),
    uses=("Definition 1",),
    expected=Status.HOLDS,
)
def private_minimax(*, exchanged: bool) -> Result:
    """Is the linear program's value `one_record` at n = 1; does it fall with eps and delta?"""
    levels = (0.2, 1.0, 2.0, 4.0)
    value = {e: worst_least_risk(1) if exchanged else least_worst_risk(1, e) for e in levels}
    error = max(abs(value[e] / one_record(e) - 1) for e in levels)
    three = [least_worst_risk(3, 0.5), least_worst_risk(3, 0.5, 0.1), least_worst_risk(3, 1.0)]
    return result(
        error <= PRECISION and three[0] > three[1] and three[0] > three[2],
        largest_relative_error=error,
        risk_at_n_1_and_epsilon_1=value[1.0],
        risk_at_n_3_and_epsilon_half=three[0],
        with_delta_a_tenth=three[1],
        with_epsilon_1=three[2],
    )


@CHAPTER.states(
    "(2.2)",
    r"The cost of privacy is (2.1) less the unconstrained minimax risk $\inf_M\sup_{P\in\mathcal P}"
    r"E\,\ell(\rho(M(X),\theta(P)))$.",
    kind="definition",
    found="For a Bernoulli mean 1/4(1 + √n)²; the cost is positive and vanishes as ε grows.",
    printed=Case("the best estimator, 1/4(1 + √n)²", best=True),
    mutant=Case("the sample mean, 1/4n", best=False),
    by="optimisation",
    code=("minimax.core.bound.Bound",),
    uses=("(2.1)",),
    expected=Status.HOLDS,
)
def cost_of_privacy(*, best: bool) -> Result:
    """Is the program without privacy the known minimax risk, and the cost as it must be?"""
    sizes = (1, 2, 4)
    free = {n: least_worst_risk(n) for n in sizes}
    known = {n: 1 / (4 * (1 + math.sqrt(n)) ** 2) if best else 1 / (4 * n) for n in sizes}
    error = max(abs(free[n] / known[n] - 1) for n in sizes)
    costs = [least_worst_risk(2, epsilon) - free[2] for epsilon in (0.5, 2.0, 12.0)]
    return result(
        error <= PRECISION and costs[0] > costs[1] > 0 and abs(costs[2]) <= PRECISION * free[2],
        largest_relative_error=error,
        cost_at_n_2_and_epsilon_half=costs[0],
        at_epsilon_2=costs[1],
        at_epsilon_12=costs[2],
    )
