"""WG19 §5.1: the error of noisy hard thresholding for any loss."""

from __future__ import annotations

import itertools
import math

import numpy as np
from scipy import optimize

from minimax.problems.erm.upper import theorem_5_4
from verify.proofs.entry import Case, Chapter, Result, Status, result

CHAPTER = Chapter("WG19")


@CHAPTER.states(
    "Theorem 5.4",
    r"$E\|\theta^T-\theta^*\|^2\le C_4\frac{\kappa^2s^*}{\mu^2}\epsilon(n,\gamma)^2"
    r"+C_5\frac{\kappa^3G^2s^*\log d}{n^2\mu^2\rho}\log\frac{\rho n\mu\|\theta^*\|_2}"
    r"{s^*\kappa G}$, where $T=C_3\kappa\log\frac{\rho n^2\mu^2\|\theta^*\|^2}"
    r"{\kappa^2G^2s\log d}$.",
    kind="theorem",
    found="Its logarithm is 0 at ρ ≈ 1/n; with that of T it holds (C₅ = 8 where tried).",
    by="brute force",
    uses=("Algorithm 1", "Definition 3.1", "Definition 3.2", "Condition 5.1", "(5.1)"),
    proof_uses=("Theorem 5.4, assumptions", "Definition 3.2, level", "Theorem 5.4, sparsity"),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("log(ρnμ|θ*|/(s*κG))", printed=True),
    corrected=Case("the logarithm of T, C₅ = 8", printed=False),
    mutant=Case("that with C₅ = 2.9, too small for the exact error", printed=False, constant=2.9),
    wrong=(
        "The second term is the variance of T noises, so its logarithm must be that of T; ρn"
        " has come in for ρn² (√ρ for ρ would put it right too). At ρ = 1/n the printed term is"
        " 0 and the noise is not: C₅ cannot help. For ρ of constant order only constants"
        " change."
    ),
    code=("minimax.problems.erm.upper.theorem_5_4",),
)
def second_term(*, printed: bool, constant: float = 8.0) -> Result:
    """(5.1) without statistical error: is the certified error at most C_5 times the second term?

    s = 2 kappa^2 s*, T = kappa log x, x = rho n^2 mu^2 |theta*|^2/(kappa^2 G^2 s log d), with the
    paper's noise; mu = G = |theta*| = 1. The logarithm is the printed one or log x. That the
    printed one is wrong, not only unproved, shows at Hessian I, d = s = 2, s* = 1, rho = 1/n: the
    error of every T >= 1 steps is exactly 2 T/(n^2 rho), and log(rho n) = 0. There the certified
    error must be the exact one.
    """
    d, ratios, vanished = 10**6, [], 0
    shapes = ((1.2, 1), (10.0, 5))
    for (kappa, s_star), n, power in itertools.product(shapes, (1e8, 1e10), (0.0, 1.0)):
        rho, s = n**-power, math.ceil(2 * kappa**2 * s_star)
        x = rho * n**2 / (kappa**2 * s * math.log(d))
        T = math.ceil(kappa * math.log(x))
        bound = theorem_5_4(
            d=d,
            s=s,
            s_star=s_star,
            curvature=1.0,
            smoothness=kappa,
            gradient=0.0,
            radius=1.0,
            noise=math.sqrt(T / rho) / n,
            steps=T,
        )
        logarithm = math.log(rho * n / (s_star * kappa)) if printed else math.log(x)
        term = kappa**3 * s_star * math.log(d) / (n**2 * rho) * logarithm
        vanished += term <= 0
        if term > 0:
            ratios.append(float(bound.formula(bound.defaults, {}).total) / term)
    n = 1e6
    T = math.ceil(math.log(n / (2 * math.log(2))))
    exact = 2 * T / n
    simple = theorem_5_4(
        d=2,
        s=2,
        s_star=1,
        curvature=1.0,
        smoothness=1.0,
        gradient=0.0,
        radius=1.0,
        noise=math.sqrt(T / n),
        steps=T,
    )
    sharp = math.isclose(float(simple.formula(simple.defaults, {}).total), exact)
    claimed = math.log(2) / n * (0.0 if printed else math.log(n / (2 * math.log(2))))
    return result(
        sharp and not vanished and max(ratios) <= constant and exact <= constant * claimed,
        largest_certified_over_term=max(ratios),
        cells_where_the_term_is_not_positive=vanished,
        exact_error_in_the_simple_case=exact,
        term_there=claimed,
        certified_there_is_exact=sharp,
    )


@CHAPTER.states(
    "(5.1)",
    r"$E\|\theta^T-\theta^*\|_2^2\le C_4\frac{\kappa^2s^*}{\mu^2}"
    r"\epsilon(n,\gamma)^2+\dots$: the statistical error, which is left without noise.",
    kind="equation",
    found="Its first term holds with C₄ = 10; its second has a wrong logarithm: Theorem 5.4.",
    by="exact",
    uses=("Algorithm 1", "Condition 5.1"),
    expected=Status.HOLDS,
    printed=Case("κ², C₄ = 10", power=2.0),
    mutant=Case("κ^1.8, C₄ = 10", power=1.8),
    code=("minimax.problems.erm.upper.theorem_5_4",),
)
def first_term(*, power: float, constant: float = 10.0) -> Result:
    """(5.1) without noise: is the certified error at most constant kappa^power s* eps(n, gamma)^2?

    mu = |theta*| = 1, s = 2 kappa^2 s*, as many steps as it takes. eps(n, gamma) is the largest
    entry of the gradient at theta*.
    """
    ratios = []
    for kappa, s_star, level in itertools.product((1.2, 3.0, 30.0), (1, 5), (1e-3, 1e-5)):
        bound = theorem_5_4(
            d=10**6,
            s=math.ceil(2 * kappa**2 * s_star),
            s_star=s_star,
            curvature=1.0,
            smoothness=kappa,
            gradient=level,
            radius=1.0,
            noise=1e-15,
            steps=math.ceil(20 * kappa * math.log(1 / level)),
        )
        error = float(bound.formula(bound.defaults, {}).total)
        ratios.append(error / (kappa**power * s_star * level**2))
    return result(max(ratios) <= constant, largest_ratio=max(ratios), constant=constant)


@CHAPTER.states(
    "Theorem 5.4, assumptions",
    r"$L_S$ has sparse eigenvalues at least $\mu>0$ at every $\theta$ and every $\ell_i$"
    r" is $G$-Lipschitz on $\mathbb R^d$.",
    kind="theorem",
    found="No loss on ℝ^d is G-Lipschitz with curvature μ > 0; up to radius G/μ some is.",
    by="optimisation",
    uses=("Definition 3.1", "Definition 3.2"),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("radius 1000 G/μ", radius=1e3),
    corrected=Case("radius G/μ", radius=1.0),
    mutant=Case("radius 1.01 G/μ", radius=1.01),
    wrong=(
        "Along a coordinate the slope grows by at least μ per unit, so it passes G beyond a"
        " distance G/μ: on ℝ^d the theorem, though true, is about no loss. Definitions 3.1 and"
        " 3.2 speak of θ in dom f, and on a ball both can hold; but then θ must be kept there,"
        " or gradients be clipped, and the algorithm does neither (Remark 5.3 names clipping)."
    ),
    code=("minimax.problems.erm.upper.theorem_5_4", "estimators.sparse_erm.clipped_gradient"),
)
def both_assumptions(*, radius: float) -> Result:
    """Can a loss be 1-Lipschitz and have curvature at least 1 on |theta| <= radius?

    The least Lipschitz constant along a coordinate, as a linear programme in the slopes at 41
    points: they rise by at least the distance of the points.
    """
    points = np.linspace(-radius, radius, 41)
    rise = np.zeros((40, 42))
    rise[np.arange(40), np.arange(40)], rise[np.arange(40), np.arange(1, 41)] = 1.0, -1.0
    within = np.block([[np.eye(41), -np.ones((41, 1))], [-np.eye(41), -np.ones((41, 1))]])
    found = optimize.linprog(
        np.eye(42)[-1],
        A_ub=np.vstack([rise, within]),
        b_ub=np.concatenate([-np.diff(points), np.zeros(82)]),
        bounds=(None, None),
    )
    return result(found.fun <= 1 + 1e-9, radius=radius, least_lipschitz_constant=float(found.fun))


@CHAPTER.states(
    "Theorem 5.4, sparsity",
    r"There is $C_2$ such that $s\ge C_2\kappa^2s^*$ gives a linear rate.",
    kind="theorem",
    found="s of order κ²s* makes the certified recursion contract; order κs* does not.",
    by="exact",
    uses=("Algorithm 1",),
    expected=Status.RATE,
    rate=True,
    printed=Case("s = κ²s*", power=2),
    mutant=Case("s = κs*", power=1),
    code=(
        "minimax.problems.erm.upper.theorem_5_4",
        "minimax.methods.recursion.thresholding_factor",
    ),
)
def enough_entries(*, power: int) -> Result:
    """Theorem 5.4: does s = kappa^power s* make the certified recursion contract for all kappa?"""
    rates = []
    for kappa in (3.0, 30.0):
        s_star = 2
        bound = theorem_5_4(
            d=10**5,
            s=math.ceil(kappa**power * s_star),
            s_star=s_star,
            curvature=1.0,
            smoothness=kappa,
            gradient=0.0,
            radius=1.0,
            noise=1e-9,
            steps=50,
        )
        rates.append(bound.optimise(bound.defaults)["rate"])
    return result(max(rates) < 1, rate_at_kappa_3=rates[0], rate_at_kappa_30=rates[-1])


@CHAPTER.states(
    "Theorem 5.4, dimension",
    r"The second term of (5.1) is of order $\kappa^2s^*\log d\,\sigma^2/\mu^2$ with"
    r" $\sigma^2=TG^2/(n^2\rho)$.",
    kind="theorem",
    found="At a given noise the certified error grows like log d; but see Remark 5.7.",
    by="exact",
    uses=("(5.1)",),
    expected=Status.RATE,
    rate=True,
    printed=Case("log d", exponent=1.0),
    mutant=Case("log² d", exponent=2.0),
    code=("minimax.problems.erm.upper.theorem_5_4",),
)
def dimension_rate(*, exponent: float) -> Result:
    """(5.1): does the certified error at a given noise grow like (log d)^exponent?"""

    def error(d: int) -> float:
        bound = theorem_5_4(
            d=d,
            s=36,
            s_star=4,
            curvature=1.0,
            smoothness=3.0,
            gradient=0.0,
            radius=1.0,
            noise=1e-5,
            steps=300,
        )
        return float(bound.formula(bound.defaults, {}).total)

    first, last = 10**30, 10**60
    slope = math.log(error(last) / error(first)) / math.log(math.log(last) / math.log(first))
    return result(abs(slope - exponent) < 0.2, slope_in_log_d=slope)


@CHAPTER.states(
    "Remark 5.5",
    r"By Lemma 3.4 the second term becomes $\kappa^3G^2s^*\log d\log(1/\delta)/"
    r"(n^2\epsilon^2\mu^2)$ under $(\epsilon,\delta)$-privacy, up to the logarithm of (5.1)"
    r" and for $\epsilon\le\log(1/\delta)$. (Beyond, $1/\rho$ falls like $1/\epsilon$ only."
    r" That $G$ hides a power of $d$ is told at Remarks 5.7 and 5.9.)",
    kind="remark",
    found="Right for ε ≤ log(1/δ), as in Remark 5.3; §6 leaves that: ε = 10, log(1/δ) = 4.6.",
    by="exact",
    uses=("Theorem 5.4", "(5.1)"),
    proof_uses=("Lemma 3.4",),
    expected=Status.HOLDS,
    printed=Case("ε ≤ log(1/δ)", largest=1.0),
    mutant=Case("every ε", largest=math.inf),
)
def approximate_rate(*, largest: float) -> Result:
    """Remark 5.5: is 1/rho <= 6 log(1/delta)/eps^2 for eps up to `largest` log(1/delta)?

    rho = (sqrt(L + eps) - sqrt L)^2 is what Lemma 3.4 allows.
    """
    ratios = []
    for L, share in itertools.product((3.0, 10.0, 30.0), (0.01, 0.1, 1.0, 10.0, 100.0)):
        if share <= largest:
            epsilon = share * L
            rho = (math.sqrt(L + epsilon) - math.sqrt(L)) ** 2
            ratios.append(epsilon**2 / (rho * L))
    return result(max(ratios) <= 6, largest_ratio=max(ratios))
