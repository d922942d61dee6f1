"""WG19 §1 and §3: definitions, and what is quoted about concentrated differential privacy."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import integrate, optimize, special

from estimators.core.losses import LogisticLoss
from minimax.core.privacy import Gaussian
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
Rng = np.random.Generator
CHAPTER = Chapter("WG19")


# --- Definitions ---------------------------------------------------------------------------------


@CHAPTER.states(
    "Definition 1.1",
    r"$M$ is $(\epsilon,\delta)$-private if $P(M(S)\in O)\le e^\epsilon P(M(S')\in O)"
    r"+\delta$ for all $S,S'\in\mathcal S^n$ differing by one example and all $O$.",
    kind="definition",
    found="Gaussian noise as large as the sensitivity: δ = .127 at ε = 1, more at ε = 1/2.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("ε = 1, Gaussian noise", epsilon=1.0),
    mutant=Case("ε = 1/2, the same δ", epsilon=0.5),
    code=("minimax.core.privacy.Approximate",),
)
def private(*, epsilon: float) -> Result:
    """Definition 1.1 for a Gaussian release that a record moves by one deviation, 2^12 events.

    delta is `Gaussian.delta` at epsilon = 1. The events are unions of twelve intervals, which meet
    where the density ratio is e or 1/e, so that delta is needed in full at epsilon = 1.
    """
    delta = Gaussian(1.0).delta(1.0)
    edges = np.concatenate([[-np.inf], np.linspace(-2, 3, 11), [np.inf]])
    laws = np.diff(special.ndtr(np.stack([edges, edges - 1])), axis=1)
    events = np.array(list(itertools.product((0.0, 1.0), repeat=12)))
    chances = events @ laws.T
    gaps = chances - math.exp(epsilon) * chances[:, ::-1]
    needed = float(gaps.max())
    return result(
        needed <= delta * (1 + 1e-9) and (epsilon < 1 or needed >= delta * (1 - 1e-9)),
        delta_needed=needed,
        delta=delta,
    )


@CHAPTER.states(
    "Definition 3.1",
    r"$f$ is $G$-Lipschitz if $|f(\theta_1)-f(\theta_2)|\le G\|\theta_1-\theta_2\|_2$;"
    r" then $\|\nabla f\|_2\le G$.",
    kind="definition",
    found="The logistic loss is |x|-Lipschitz with gradients that short, and no better.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("G = |x|", constant=1.0),
    mutant=Case("G = |x|/2", constant=0.5),
    code=("estimators.core.losses.LogisticLoss",),
)
def lipschitz(*, constant: float) -> Result:
    """Definition 3.1: is the logistic loss constant |x|-Lipschitz, and its gradient that short?

    Difference quotients in units of |x| over all pairs of 81 predictions, and both labels.
    """
    loss, p = LogisticLoss(), np.linspace(-40, 40, 81)
    largest, steepest = 0.0, 0.0
    for y in (np.zeros(81), np.ones(81)):
        values = loss.value(p, y)
        rise = np.abs(values[:, None] - values)
        run = np.abs(p[:, None] - p)
        largest = max(largest, float(np.max(rise[run > 0] / run[run > 0])))
        steepest = max(steepest, float(np.abs(loss.slope(p, y)).max()))
    return result(
        max(largest, steepest) <= constant * (1 + 1e-12),
        largest_quotient_over_length_of_x=largest,
        largest_gradient_over_length_of_x=steepest,
    )


def sparse_eigenvalues(H: Array, s: int) -> tuple[float, float]:
    """The extreme eigenvalues over all s x s principal submatrices."""
    found = [
        np.linalg.eigvalsh(H[np.ix_(I, I)])[[0, -1]]
        for I in itertools.combinations(range(len(H)), s)
    ]
    return float(min(f[0] for f in found)), float(max(f[1] for f in found))


@CHAPTER.states(
    "Definition 3.2",
    r"$\mu=\inf v^\top\nabla^2f(\theta)v$, $\beta=\sup v^\top\nabla^2f(\theta)v$ over unit"
    r" $v$ with at most $s$ entries, for all $\theta$.",
    kind="definition",
    found="For squared loss μ and β are the extreme eigenvalues of the s × s submatrices.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("v with s entries", sparsity=2),
    mutant=Case("v with s + 1 entries", sparsity=3),
)
def sparse_directions(rng: Rng, *, sparsity: int) -> Result:
    """Definition 3.2 for squared loss, s = 2, d = 6: do v'Hv stay in [mu, beta], v of `sparsity`?

    The Hessian X'X/n is the same at every theta. Directions are the extreme eigenvectors and
    random ones.
    """
    X = rng.normal(size=(9, 6))
    H = X.T @ X / 9
    low, high = sparse_eigenvalues(H, 2)
    reached = sparse_eigenvalues(H, sparsity)
    values = []
    for _ in range(200):
        v = np.zeros(6)
        v[rng.permutation(6)[:sparsity]] = rng.normal(size=sparsity)
        values.append(float(v @ H @ v / (v @ v)))
    inside = min(values) >= low and max(values) <= high
    return result(
        inside and abs(reached[0] - low) + abs(reached[1] - high) < 1e-12,
        mu=low,
        beta=high,
        least_found=reached[0],
        largest_found=reached[1],
    )


@CHAPTER.states(
    "Definition 3.2, logistic loss",
    r"The condition of Definition 3.2, with $\mu>0$ for all $\theta$ in the domain, holds"
    r" for logistic regression (Corollary 5.8 speaks of its $\kappa=\beta/\mu$).",
    kind="definition",
    found="No μ > 0 serves all θ of ℝ^d for logistic loss; a ball of θ is needed.",
    by="brute force",
    uses=("Definition 3.2",),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("θ up to length 1000", radius=1000.0),
    corrected=Case("θ up to length 3", radius=3.0),
    mutant=Case("θ up to length 20", radius=20.0),
    wrong=(
        "The curvature of log(1 + e^p) falls like e^{−|p|}, so its infimum over ℝ^d is 0. On a"
        " ball, which dom f may mean, μ > 0; but Algorithm 1 does not keep θ there. With"
        " `radius` our estimator does."
    ),
    code=("minimax.problems.sparse_regression.upper.noisy_thresholding_upper",),
)
def logistic_curvature(rng: Rng, *, radius: float) -> Result:
    """Definition 3.2 for logistic loss: is mu at least 1 % of that at 0 for |theta| <= radius?

    The least curvature at level s = 2 over 20 directions of theta and those of the rows; d = 6,
    nine rows of length 1. (It is at least 1/cosh(radius/2)^2 of that at 0, as |<x, theta>| <=
    radius.)
    """
    X = rng.normal(size=(9, 6))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    found = math.inf
    for u in (*rng.normal(size=(20, 6)), *X):
        p = X @ (radius * u / np.linalg.norm(u))
        weighted = X * np.sqrt(4 * special.expit(p) * special.expit(-p))[:, None]
        found = min(found, sparse_eigenvalues(weighted.T @ weighted, 2)[0])
    relative = max(found, 0.0) / sparse_eigenvalues(X.T @ X, 2)[0]
    return result(relative >= 0.01, radius=radius, least_curvature_relative_to_that_at_0=relative)


@CHAPTER.states(
    "Definition 3.2, level",
    r"$\mu$ and $\beta$ of Definition 3.2, at level $s$, serve between $\theta^t$ and"
    r" $\theta^*$, which are up to $s+s^*$ entries apart.",
    kind="definition",
    found="Read with the s of Algorithm 1 it needs a higher level; only constants change.",
    by="brute force",
    uses=("Definition 3.2",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("the same μ and β", widened=False),
    corrected=Case("μ(√s − √(κs*))²/(s + s*) and 2β", widened=True),
    mutant=Case("μs/(s + s*) and 2β", widened=True, price=0.0),
    wrong=(
        "μ at level s + s* is smaller. (The level may be meant loosely: the proof is in a"
        " supplement not seen here.) Splitting off the s* smallest entries gives"
        " √μ' ≥ (√(μs) − √(βs*))/√(s + s*), which is of order √μ as s ≥ C₂κ²s*, so only"
        " constants change."
    ),
)
def larger_level(rng: Rng, *, widened: bool, price: float = 1.0) -> Result:
    """Do the constants of level s serve theta_t - theta*, which has s + s* entries?

    widened: mu is replaced by mu (sqrt s - price sqrt(kappa s*))^2/(s + s*), beta by 2 beta. H = I
    less multiples of projections on flat and on random vectors; d = 8, s = 6, s* = 1.
    """
    s, s_star, excess = 6, 1, -math.inf
    vectors = [np.ones(8) / math.sqrt(8), *(rng.normal(size=8) for _ in range(12))]
    for v, share in itertools.product(vectors, (0.3, 0.6, 0.8)):
        H = np.eye(8) - share * np.outer(v, v) / (v @ v)
        mu, beta = sparse_eigenvalues(H, s)
        low, high = sparse_eigenvalues(H, s + s_star)
        if widened:
            root = max(math.sqrt(s) - price * math.sqrt(beta / mu * s_star), 0.0)
            mu, beta = mu * root**2 / (s + s_star), 2 * beta
        excess = max(excess, mu - low, high - beta)
    return result(excess <= 1e-9, largest_excess=excess)


ORDERS = np.concatenate([1 + np.logspace(-3, 0, 13), np.logspace(0.5, 2.5, 15)])
"""Renyi orders at which a definition or lemma for all of them is checked."""


def renyi(p: Array, q: Array) -> Array:
    """The Renyi divergences of finite laws at ORDERS."""
    order = ORDERS[:, None]
    powers = order * np.log(p) + (1 - order) * np.log(q)
    return np.asarray(special.logsumexp(powers, axis=1) / (ORDERS - 1))


@CHAPTER.states(
    "Definition 3.3",
    r"$M$ is $\rho$-zCDP if $D_\alpha(M(S)\|M(S'))\le\rho\alpha$ for all $\alpha>1$.",
    kind="definition",
    found="Randomised response is ε²/2-zCDP; half of that is too little.",
    by="exact",
    uses=("(3.1)",),
    expected=Status.HOLDS,
    printed=Case("ρ = ε²/2", factor=1.0),
    mutant=Case("ρ = ε²/4", factor=0.5),
    code=("minimax.core.privacy.ZeroConcentrated", "minimax.core.privacy.Pure.to_zcdp"),
)
def concentrated(*, factor: float) -> Result:
    """Definition 3.3: is randomised response (factor eps^2/2)-zCDP at every order tried?"""
    ratios = []
    for epsilon in (0.01, 0.5, 1.0, 3.0):
        p = np.array([special.expit(epsilon), special.expit(-epsilon)])
        rho = factor * epsilon**2 / 2
        ratios.append(float(np.max(renyi(p, p[::-1]) / (ORDERS * rho))))
    return result(max(ratios) <= 1 + 1e-9, largest_divergence_over_allowed=max(ratios))


@CHAPTER.states(
    "(3.1)",
    r"$D_\alpha(M(S)\|M(S'))\le\rho\alpha$ for any two $S,S'$ that differ by one example,"
    r" so for $S',S$ as well, and all $\alpha\in(1,\infty)$.",
    kind="equation",
    found="Must be asked of S, S' in both orders, as it is: one may show nine times less.",
    by="exact",
    expected=Status.HOLDS,
    printed=Case("both orders", ordered=False),
    mutant=Case("one order", ordered=True),
    code=("minimax.core.privacy.ZeroConcentrated",),
)
def both_ways(*, ordered: bool) -> Result:
    """(3.1): does the least rho bound D(M(S')|M(S)) too, when it is asked of both or one order?

    Publishing a bit with chances .1 and .3, .01 and .02, .5 and .9.
    """
    worst = 0.0
    for first, second in ((0.1, 0.3), (0.01, 0.02), (0.5, 0.9)):
        laws = [np.array([chance, 1 - chance]) for chance in (first, second)]
        there, back = (float(np.max(renyi(*pair) / ORDERS)) for pair in (laws, laws[::-1]))
        rho = there if ordered else max(there, back)
        worst = max(worst, there / rho, back / rho)
    return result(worst <= 1 + 1e-12, largest_divergence_over_rho_times_order=worst)


# --- Lemmas 3.4, 3.6 and 3.7, and sensitivity ----------------------------------------------------


@CHAPTER.states(
    "Lemma 3.4",
    r"$\rho$-zCDP implies $(\rho+2\sqrt{\rho\log(1/\delta)},\delta)$-privacy for every"
    r" $\delta>0$ (that is, $\delta<1$).",
    kind="lemma",
    found="Holds; with √2 in place of 2 the Gaussian mechanism breaks it.",
    by="optimisation",
    uses=("Definition 3.3", "Definition 1.1"),
    expected=Status.HOLDS,
    printed=Case("factor 2", factor=2.0),
    mutant=Case("factor √2", factor=math.sqrt(2)),
    code=("minimax.core.privacy.ZeroConcentrated.to_approximate",),
)
def conversion(*, factor: float) -> Result:
    """Lemma 3.4: is delta enough at epsilon = rho + factor sqrt(rho log 1/delta)?

    For every rho-zCDP mechanism P(loss > eps) <= exp(inf over orders of (a-1)(a rho - eps)); the
    Gaussian mechanism of that rho shows what some mechanism needs.
    """
    general, witness = [], []
    for rho, delta in itertools.product((1e-4, 0.01, 0.1, 1.0, 10.0), (0.1, 1e-3, 1e-6, 1e-12)):
        epsilon = rho + factor * math.sqrt(rho * math.log(1 / delta))
        best = optimize.minimize_scalar(
            lambda log_gap, rho=rho, epsilon=epsilon: (
                math.exp(log_gap) * ((1 + math.exp(log_gap)) * rho - epsilon)
            ),
            bounds=(-12, 12),
            method="bounded",
            options={"xatol": 1e-9},
        )
        general.append(float(best.fun) - math.log(delta))
        witness.append(Gaussian(math.sqrt(2 * rho)).delta(epsilon) / delta)
    return result(
        max(general) <= 1e-6,
        largest_log_of_delta_over_stated=max(general),
        gaussian_delta_over_stated=max(witness),
    )


@CHAPTER.states(
    "Definition 3.5",
    r"$\Delta_2(q)=\sup\|q(S)-q(S')\|_2$ over $S,S'\in\mathcal S^n$ differing by one"
    r" example: $2G/n$ for an average of vectors of length at most $G$.",
    kind="definition",
    found="Both data sets have n examples, so the mean of vectors of length G moves by 2G/n.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("2G/n", factor=1.0),
    mutant=Case("√2 G/n, which Theorem 5.2's noise amounts to", factor=math.sqrt(0.5)),
    code=("estimators.sparse_erm.clipped_gradient",),
)
def sensitivity(rng: Rng, *, factor: float) -> Result:
    """Definition 3.5 for the mean of n vectors of length at most G: factor 2G/n?

    Largest over 2000 random neighbours and the pair v, -v. n = 5, G = 1, d = 3.
    """
    points = rng.normal(size=(2000, 2, 3))
    points /= np.linalg.norm(points, axis=2, keepdims=True)
    points[0, 1] = -points[0, 0]
    found = float(np.linalg.norm(points[:, 0] - points[:, 1], axis=1).max()) / 5
    return result(found <= factor * 2 / 5 + 1e-12, found=found, G_over_n=0.2)


@CHAPTER.states(
    "Lemma 3.6",
    r"$q(S)+N(0,\sigma^2I)$ is $\Delta_2(q)^2/(2\sigma^2)$-zCDP.",
    kind="lemma",
    found="Holds with equality at every order.",
    by="quadrature",
    uses=("Definition 3.3", "Definition 3.5"),
    expected=Status.HOLDS,
    printed=Case("Δ²/2σ²", factor=1.0),
    mutant=Case("Δ²/4σ²", factor=0.5),
    code=("estimators.core.mechanisms.gaussian", "minimax.core.privacy.Gaussian.to_zcdp"),
)
def gaussian_mechanism(*, factor: float) -> Result:
    """Lemma 3.6: is the Renyi divergence of N(Delta, sigma^2) from N(0, sigma^2) at most
    factor a Delta^2/(2 sigma^2)? By quadrature; in d dimensions only the direction of Delta counts.
    """
    ratios = []
    for shift, order in itertools.product((0.1, 1.0, 2.5), (1.01, 1.5, 2.0, 5.0, 12.0)):
        peak = order * shift

        def density(x: float, shift: float = shift, order: float = order) -> float:
            power = -order * (x - shift) ** 2 / 2 - (1 - order) * x**2 / 2
            return math.exp(power - order * (order - 1) * shift**2 / 2)

        mass, _ = integrate.quad(density, peak - 12, peak + 12, epsabs=0, epsrel=1e-12)
        log_mass = math.log(mass / math.sqrt(2 * math.pi)) + order * (order - 1) * shift**2 / 2
        ratios.append(log_mass / (order - 1) / (factor * order * shift**2 / 2))
    return result(
        max(ratios) <= 1 + 1e-6, largest_over_stated=max(ratios), least_over_stated=min(ratios)
    )


@CHAPTER.states(
    "Lemma 3.7",
    r"If $M_1$ is $\rho_1$-zCDP and $M_2(\cdot,y)$ is $\rho_2$-zCDP for every $y$, then"
    r" $M_2(S,M_1(S))$ is $(\rho_1+\rho_2)$-zCDP.",
    kind="lemma",
    found="Holds, also when the second depends on the first output; the sum is sharp.",
    by="exact",
    uses=("Definition 3.3",),
    expected=Status.HOLDS,
    printed=Case("ρ₁ + ρ₂", largest_only=False),
    mutant=Case("max(ρ₁, ρ₂)", largest_only=True),
    code=("estimators.core.accounting.compose",),
)
def composition(rng: Rng, *, largest_only: bool) -> Result:
    """Lemma 3.7 for finite mechanisms, the second chosen by the output of the first.

    rho of each is the exact largest divergence over order; the second also gets every output of
    the first as its worst case. First two randomised responses at eps = .1, then random laws.
    """

    def spent(laws: Array) -> float:
        return float(np.max(renyi(laws[0], laws[1]) / ORDERS))

    near = np.array([special.expit(0.1), special.expit(-0.1)])
    response = np.array([near, near[::-1]])
    cases = [(response, [response] * 2)]
    for _ in range(20):
        first = rng.dirichlet(np.ones(3), size=2)
        cases.append((first, [rng.dirichlet(np.ones(3), size=2) for _ in range(3)]))
    ratios = []
    for first, seconds in cases:
        rho = spent(first), max(map(spent, seconds))
        joint = np.array(
            [
                np.concatenate([first[i, y] * laws[i] for y, laws in enumerate(seconds)])
                for i in (0, 1)
            ]
        )
        ratios.append(spent(joint) / (max(rho) if largest_only else sum(rho)))
    return result(
        max(ratios) <= 1 + 1e-9, largest_spent_over_stated=max(ratios), near_equality=ratios[0]
    )
