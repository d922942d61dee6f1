"""WX21 (5) and (12): the optimisation problems that the algorithms are to solve."""

from __future__ import annotations

import itertools

import numpy as np
from numpy.typing import NDArray

from estimators.core.design import Design
from estimators.core.links import IDENTITY, Link, best_step
from estimators.regression import projected
from estimators.sparse_erm import hard_threshold
from estimators.thresholding import thresholded_descent
from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.rates.claims.local import PAPER_LINK

Array = NDArray[np.float64]
LINEAR = Chapter("WX21")
MONOTONE = Chapter("WX21")


@LINEAR.states(
    "(5)",
    r"$\min\frac1{2n}\sum_i(\langle x_i,\theta\rangle-y_i)^2$ subject to $\|\theta\|_2\le1$,"
    r" $\|\theta\|_0\le s$, solved by gradient steps, each followed by truncation to $s$ entries"
    r" and projection on the unit ball.",
    kind="equation",
    found="Trunc and then the ball is the exact projection on the set; the other order not.",
    by="brute force",
    uses=("(1)",),
    expected=Status.HOLDS,
    printed=Case("Trunc first", truncate_first=True),
    mutant=Case("ball first", truncate_first=False),
    code=(
        "estimators.local_regression.LocalHardThresholding",
        "estimators.thresholding.thresholded_descent",
    ),
)
def sparse_projection(rng: np.random.Generator, *, truncate_first: bool) -> Result:
    """Is Trunc, then the projection on the ball, the projection on the set of (5)?

    That set is a union over supports of discs; the nearest point is found over all of them.
    """
    p, s, worst = 6, 2, 0.0
    for scale in (0.2, 1.0, 5.0):
        for z in scale * rng.standard_normal((40, p)):
            discs = []
            for support in itertools.combinations(range(p), s):
                point = np.zeros(p)
                point[list(support)] = z[list(support)]
                discs.append(float(np.linalg.norm(projected(point, 1.0) - z)))
            if truncate_first:
                made = projected(hard_threshold(z, s), 1.0)
            else:
                made = hard_threshold(projected(z, 1.0), s)
            worst = max(worst, float(np.linalg.norm(made - z)) - min(discs))
    return result(worst <= 1e-12, largest_distance_minus_least=worst, points=120, supports=15)


@MONOTONE.states(
    "(12)",
    r"Algorithm 4, whose users send $x_if'(\langle\theta,x_i\rangle)(f(\langle\theta,x_i\rangle)"
    r"-y_i)$, is to solve $\min L(\theta;D)=\frac1n\sum_i(f(\langle x_i,\theta\rangle)-y_i)^2$"
    r" subject to $\|\theta\|_2\le1$, $\|\theta\|_0\le s$.",
    kind="equation",
    found="What users send is half of its gradient, and leads to its minimiser without noise.",
    by="execution",
    uses=("(11)",),
    expected=Status.HOLDS,
    printed=Case("f = 8x + cos x in the loss", PAPER_LINK),
    mutant=Case("without f, as printed before Theorem 11", IDENTITY),
    code=("estimators.local_regression.LocalHardThresholding", "estimators.core.links.Link"),
)
def gradient_and_minimiser(rng: np.random.Generator, link: Link) -> Result:
    """Is the mean of what users send half the gradient of L with this link, and L least at the end?

    Labels without noise from 8x + cos x, s = 2, p = 8 and 200 rows. The gradient by central
    differences at 20 points; then 60 steps of the algorithm on all users, without privacy, and L at
    the end against L at 200 other points of the set.
    """
    n, p, s = 200, 8, 2
    X = rng.choice([-1.0, 1.0], size=(n, p))
    target = np.zeros(p)
    target[:s] = 0.7, -0.5
    y = np.asarray(PAPER_LINK.f(X @ target))

    def risk(theta: Array) -> float:
        return float(np.mean((link.f(X @ theta) - y) ** 2))

    def sent(u: Array) -> Array:
        return np.asarray(PAPER_LINK.derivative(u) * (PAPER_LINK.f(u) - y))

    apart = 0.0
    for theta in rng.uniform(-0.5, 0.5, (20, p)):
        steps = 1e-5 * np.eye(p)
        gradient = np.array([(risk(theta + h) - risk(theta - h)) / 2e-5 for h in steps])
        mean = sent(X @ theta) @ X / n
        apart = max(apart, float(np.linalg.norm(gradient - 2 * mean) / np.linalg.norm(gradient)))
    end, _ = thresholded_descent(
        Design(X), sent, s=s, radius=1.0, steps=60, step_size=best_step(PAPER_LINK)
    )
    others = [projected(hard_threshold(v, s), 1.0) for v in rng.standard_normal((200, p))]
    lower = risk(end) - min(map(risk, others))
    return result(
        apart <= 1e-6 and lower <= 0,
        largest_relative_difference_of_gradients=apart,
        risk_at_the_end=risk(end),
        least_risk_of_other_points=min(map(risk, others)),
    )
