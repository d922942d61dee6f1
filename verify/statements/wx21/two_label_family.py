"""WX21, proof of Theorem 1: the family of two labels and its largest functional."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from minimax.core.privacy import Pure
from minimax.methods.divergences import tv_contraction
from minimax.methods.le_cam import point_against_mixture
from minimax.problems.local_regression.lower import report_energy, reverse_ratio
from verify.proofs.entry import Case, Chapter, Result, Status, result
from verify.statements.wx21.private_tests import largest_functional

Array = NDArray[np.float64]
CONSTRUCTION = Chapter("WX21")


@CONSTRUCTION.states(
    "(14)",
    r"$\sigma=1-\langle x,\theta_v\rangle$ with chance"
    r" $\frac{1+\langle x,\theta_v\rangle}2$, else $-1-\langle x,\theta_v\rangle$;"
    r" $\theta_v=\delta v$, $v\in\{\pm e_j\}$, $\delta<1$. Then"
    r" $P_{\theta_v,\sigma_v}\in\mathcal P_{1,p,2}$.",
    kind="equation",
    found="The noise has mean zero given x and is at most 1 + δ < 2.",
    by="symbolic",
    uses=("(1)",),
    expected=Status.HOLDS,
    printed=Case("chances as printed", sign=1),
    mutant=Case("chances swapped", sign=-1),
    code=("minimax.methods.priors.TwoLabelInstance", "minimax.problems.local_regression.lower"),
)
def two_label_noise(sign: int) -> Result:
    """Mean zero, at most 2, given t = <x, theta>, |t| <= delta < 1; `sign` -1 swaps the chances."""
    import sympy as sp

    t = sp.Symbol("t", real=True)
    values = (1 - t, -1 - t)
    chances = ((1 + sign * t) / 2, (1 - sign * t) / 2)
    mean = sp.expand(sum(value * chance for value, chance in zip(values, chances, strict=True)))
    largest = max(abs(float(value.subs(t, end))) for value in values for end in (-1, 1))
    return result(mean == 0 and largest <= 2, mean_of_the_noise=str(mean), largest_noise=largest)


@CONSTRUCTION.states(
    "(15)",
    r"$p_{\theta_v,\sigma_v}(x,y)=(1+y\langle x,\theta_v\rangle)/2^{p+1}$ on"
    r" $\{\pm1\}^{p+1}$, with mean $2^{-(p+1)}$ over $v$.",
    kind="equation",
    found="The joint law of (14), and uniform on average over v.",
    by="exact",
    uses=("(14)",),
    expected=Status.HOLDS,
    printed=Case("2^{p+1}", power=1),
    mutant=Case("2^p", power=0),
    code=("minimax.methods.priors.TwoLabelPrior",),
)
def joint_density(power: int) -> Result:
    """Is P(x, y) of (14) equal to (1 + y <x, theta>)/2^{p + power}, with uniform mean over v?

    Rationals, all of {-1, 1}^{p+1} for p <= 4, theta = delta v for all signed units v.
    """
    delta = Fraction(1, 3)
    equal, total = True, Fraction(0)
    for p in (1, 2, 3, 4):
        mean: dict[tuple[int, ...], Fraction] = {}
        for j, sign in itertools.product(range(p), (1, -1)):
            total = Fraction(0)
            for point in itertools.product((1, -1), repeat=p + 1):
                *x, y = point
                t = delta * sign * x[j]
                true = (1 + t if y == 1 else 1 - t) / 2 / 2**p
                stated = (1 + y * t) / Fraction(2) ** (p + power)
                equal &= true == stated
                total += stated
                mean[point] = mean.get(point, Fraction(0)) + stated / (2 * p)
        equal &= total == 1 and set(mean.values()) == {Fraction(1, 2 ** (p + 1))}
    return result(equal, total_mass=float(total), largest_p=4)


def _laws(p: int, delta: float) -> tuple[Array, Array]:
    """(P_0, P_v for all signed units v), on the alphabet of (x, y)."""
    points = np.array(list(itertools.product((1.0, -1.0), repeat=p + 1)))
    w = points[:, :p] * points[:, p:]
    units = np.concatenate([np.eye(p), -np.eye(p)])
    base = np.full(len(points), 1 / len(points))
    return base, base * (1 + delta * units @ w.T)


@CONSTRUCTION.states(
    "Lemma 10",
    r"$C^{Nint}_\infty(\{P_v\})\le\delta^2/p$ for the family (15).",
    kind="lemma",
    found="Correct, with equality: C = δ²/p for p ≤ 3 over all 2^16 sign functions.",
    by="brute force",
    uses=("(15)", "(16)"),
    expected=Status.HOLDS,
    printed=Case("δ²/p", factor=1.0),
    mutant=Case("less 1 %", factor=0.99),
    code=("minimax.problems.local_regression.lower.report_energy",),
)
def brute_functional(factor: float) -> Result:
    """Is C = sup over sign functions gamma on {-1, 1}^{p+1} at most factor delta^2/p? p <= 3."""
    delta, worst = 0.5, 0.0
    for p in (1, 2, 3):
        base, laws = _laws(p, delta)
        worst = max(worst, largest_functional(laws - base) / (factor * delta**2 / p))
    return result(worst <= 1 + 1e-12, largest_C_over_stated=worst, functions_at_p_3=2**16)


@CONSTRUCTION.states(
    "(16)",
    r"$C^{Nint}_\infty(\{P_v\}_{v\in V})\le\delta^2/p$.",
    kind="equation",
    found="Equality for every p: E|⟨w, u⟩| ≤ 1 for unit u, reached at a signed unit.",
    by="optimisation",
    uses=("(15)", "Lemma 7"),
    expected=Status.HOLDS,
    printed=Case("δ²/p at p = 8", power=1.0),
    mutant=Case("δ²/p²", power=2.0),
    code=("minimax.problems.local_regression.lower.wx21_theorem_1_fano",),
)
def dual_functional(rng: np.random.Generator, power: float) -> Result:
    """The same for p = 8 by duality: C = (delta^2/p) sup over unit u of (E|<w, u>|)^2."""
    p, delta = 8, 0.5
    w = np.array(list(itertools.product((1.0, -1.0), repeat=p)))
    directions = [np.eye(p)[0], np.ones(p) / math.sqrt(p), *rng.standard_normal((200, p))]
    largest = max(float(np.mean(np.abs(w @ u)) / np.linalg.norm(u)) ** 2 for u in directions)
    ratio = delta**2 / p * largest / (delta**2 / p**power)
    return result(ratio <= 1 + 1e-12, largest_C_over_stated=ratio, largest_square_mean=largest)


@CONSTRUCTION.states(
    "Lemma 9, use in Theorem 2",
    r"$D_{kl}(M_0^n\|\bar M^n)\le\frac{n\epsilon^2\delta^2(1+\delta)}{8p}$ for the family"
    r" (15) and $\epsilon\le\frac12$. (Printed as from Lemma 9 and"
    r" $\max_v\|dP_0/dP_v\|_\infty=\frac1{1-\delta}$, which give $\frac1{4(1-\delta)}$ in"
    r" place of $\frac{1+\delta}8$; that is larger, but reports tell less than Lemma 9"
    r" says.)",
    kind="equation",
    found="True and nearly sharp, but not by the step printed: 1/(1−δ) exceeds (1+δ)/2.",
    by="optimisation",
    uses=("(15)",),
    proof_uses=("Lemma 9, divergence", "Lemma 10"),
    expected=Status.HOLDS,
    printed=Case("(1+δ)/8", factor=1.0),
    mutant=Case("less 10 %", factor=0.9),
    code=("minimax.problems.local_regression.lower.null_against_mixture",),
)
def null_divergence(factor: float) -> Result:
    """Is a round's divergence of P_0 from the mixture at most factor eps^2 delta^2 (1 + delta)/8p?

    Above, the certified (1/2) k(delta tanh(eps/2)) A delta^2/p of `null_against_mixture` with the
    sharp energy A, over eps <= 1/2, delta and p. Below, the supremum over all channels at p = 2,
    eps = 1/2, which what is certified must cover. Also the factor (1/4) max|dP_0/dP_v| of Lemma 9
    over the (1 + delta)/8 put for it.
    """
    certified, reached, step = 0.0, 0.0, 0.0
    for delta in (0.01, 0.1, 0.5, 0.9, 0.99):
        for epsilon, p in itertools.product((0.01, 0.25, 0.5), (1, 2, 10**6)):
            A = report_energy(Pure, {"p": p, "epsilon": epsilon}, sharp=True)
            ratio = float(reverse_ratio(np.array([delta * tv_contraction(epsilon)]))[0])
            certified = max(certified, ratio * A / 2 / (epsilon**2 * (1 + delta) / 8))
        base, laws = _laws(2, delta)
        found = -2 * point_against_mixture(1, 0.5, base=base, laws=laws).log_affinity
        reached = max(reached, found / (0.25 * delta**2 * (1 + delta) / 16))
        step = max(step, float(np.max(base / laws)) / 4 / ((1 + delta) / 8))
    return result(
        reached <= certified * (1 + 1e-9) and certified <= factor,
        certified_over_stated=certified / factor,
        best_channel_over_stated=reached / factor,
        factor_of_Lemma_9_over_its_replacement=step,
    )
