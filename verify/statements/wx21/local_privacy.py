"""WX21 §III and §IV: local privacy, the private minimax risk, and the class of distributions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from minimax.methods.divergences import staircase_supremum, strong_contraction_pure
from minimax.methods.fano import fano
from verify.proofs.entry import Case, Cases, Chapter, Result, Status, result

Array = NDArray[np.float64]
DEFINITIONS = Chapter("WX21")
RATE = Chapter("WX21")
LABEL_CLASS = Chapter("WX21")
MONOTONE_CLASS = Chapter("WX21")

EPSILON = 0.5


# --- Definition 1 --------------------------------------------------------------------------------


def _private_pair(epsilon: float, rng: np.random.Generator) -> Array:
    """P(Z = 1 | x) for x = 0, 1: a random binary channel that is epsilon-LDP."""
    while True:
        pair = rng.uniform(0.02, 0.98, size=2)
        if (
            abs(math.log(pair[0] / pair[1]))
            <= epsilon
            >= abs(math.log((1 - pair[0]) / (1 - pair[1])))
        ):
            return np.asarray(pair)


def _log_ratio(first: Array, second: Array) -> float:
    return float(np.abs(np.log(first) - np.log(second)).max())


def _levels(first: Array, second: Array, *, given_past: bool) -> tuple[float, float]:
    """(level that the definition finds, leak of the transcript) of two binary rounds.

    first[x] = P(Z_1 = 1 | x), second[x, z_1] = P(Z_2 = 1 | x, z_1). Record 1 is a fair coin.
    """
    two = np.stack([1 - second, second], axis=-1)  # x_2, z_1, z_2
    one = np.array([1 - first.mean(), first.mean()])
    transcript = one[None, :, None] * two
    own = two if given_past else transcript.sum(axis=1)
    views = np.array([1 - first, first])
    level = max(_log_ratio(own[0], own[1]), _log_ratio(views[:, 0], views[:, 1]))
    return level, _log_ratio(transcript[0], transcript[1])


@DEFINITIONS.states(
    "Definition 1",
    r"$Z_i$ is an $(\epsilon,\delta)$ sequentially locally private view of $X_i$ if for"
    r" all $z_{1:i-1}$, $x$, $x'$ and events $S$:"
    r" $Q_i(S\mid x,z_{1:i-1})\le e^\epsilon Q_i(S\mid x',z_{1:i-1})+\delta$;"
    r" non-interactively if $Q_i$ does not depend on $z_{1:i-1}$.",
    kind="definition",
    found="Privacy given each past bounds the transcript's leak; on average it does not.",
    by="brute force",
    expected=Status.HOLDS,
    printed=Case("for all pasts: the transcript leaks no more than the level", given_past=True),
    mutant=Case("on average over the past", given_past=False),
    code=("minimax.core.privacy.Pure", "minimax.methods.le_cam"),
)
def sequential_privacy(rng: np.random.Generator, *, given_past: bool) -> Result:
    """Does the definition's level bound what the whole transcript tells of one record?

    Random private protocols, and Z_2 = X_2 + Z_1 mod 2 kept with chance .9: given the past it has
    level log 9, on average over the past level 0.
    """
    protocols = [
        (
            _private_pair(EPSILON, rng),
            np.stack([_private_pair(EPSILON, rng) for _ in range(2)], axis=1),
        )
        for _ in range(60)
    ]
    protocols.append((np.array([0.5, 0.5]), np.array([[0.1, 0.9], [0.9, 0.1]])))
    found = [_levels(*protocol, given_past=given_past) for protocol in protocols]
    worst = max(leak - level for level, leak in found)
    return result(
        worst <= 1e-9,
        largest_leak_minus_level=worst,
        level_of_the_masked_bit=found[-1][0],
        leak_of_the_masked_bit=found[-1][1],
    )


# --- Definition 2 --------------------------------------------------------------------------------


TILT = 0.8


def _discrimination(columns: Array) -> Array:
    """(m_1 - m_2)^2/(2 (m_1 + m_2)) of reports when x = +-1 has chances (1 +- TILT)/2."""
    chance = np.array([1 + TILT, 1 - TILT]) / 2
    m1, m2 = columns @ chance, columns @ chance[::-1]
    return np.asarray((m1 - m2) ** 2 / (m1 + m2) / 2)


@DEFINITIONS.states(
    "Definition 2",
    r"The private minimax risk is"
    r" $\inf_{Q\in\mathcal Q_\epsilon}\inf_{\hat\theta}\sup_p"
    r" E\,\Phi(\rho(\hat\theta(Z),\theta(p)))$, with sequential or non-interactive $Q$.",
    kind="definition",
    found="One bit: the infimum over channels is 1 − τ² tanh²(ε/2), randomised response.",
    by="optimisation",
    uses=("Definition 1",),
    expected=Status.HOLDS,
    printed=Case("the infimum is below 400 random channels of the set and is reached", stretch=1.0),
    mutant=Case("channels of level 2ε", stretch=2.0),
    code=("minimax.methods.divergences.staircase_supremum",),
)
def private_risk(rng: np.random.Generator, *, stretch: float) -> Result:
    """Is the infimum over channels below every channel of the set, and reached?

    theta = +-1 tells the law of one bit; squared loss. By symmetry the minimax risk through a
    channel is the Bayes risk 1 - sum of `_discrimination`. Compared with 400 random channels that
    are (stretch epsilon)-LDP, and with randomised response.
    """
    infimum = 1 - staircase_supremum(_discrimination, 2, EPSILON)
    risks = []
    for _ in range(400):
        base = rng.dirichlet(np.full(rng.integers(2, 6), 0.7))
        tilted = base * np.exp(stretch * EPSILON / 2 * rng.integers(0, 2, size=(2, len(base))))
        channel = tilted / tilted.sum(axis=1, keepdims=True)
        risks.append(1 - float(_discrimination(channel.T[channel.sum(axis=0) > 0]).sum()))
    response = 1 - TILT**2 * strong_contraction_pure(stretch * EPSILON)
    least = min(*risks, response)
    return result(
        least >= infimum - 1e-9 and abs(response - infimum) <= 1e-9,
        infimum=infimum,
        least_risk_of_the_channels=least,
        risk_without_privacy=1 - TILT**2,
    )


# --- The classes (1), (8), (11) ------------------------------------------------------------------


def linear(x: float) -> float:
    """The link of the linear model."""
    return x


def closest_laws(link: Callable[[float], float], theta: float, C: float, *, bias: float) -> float:
    """The least TV between label laws under 0 and theta, noise |sigma| <= C, |E sigma| <= bias C.

    One row x = 1, p = 1, labels on a grid: a linear program over the two laws of y.
    """
    centres = (link(0.0), link(theta))
    low, high = min(centres) - C, max(centres) + C
    y = np.unique(np.concatenate([np.linspace(low, high, 41), centres]))
    k = len(y)
    allowed = np.concatenate([np.abs(y - c) <= C + 1e-12 for c in centres])
    # Minimise sum t with t >= first - second: the excess is the total variation.
    total = np.kron(np.eye(2, 3), np.ones(k))
    mean = np.kron(np.eye(2, 3), y)
    above = np.vstack([np.hstack([np.eye(k), -np.eye(k), -np.eye(k)]), mean, -mean])
    ends = np.array(centres)
    limits = np.concatenate([np.zeros(k), ends + bias * C, bias * C - ends])
    bounds = [(0, 1 if ok else 0) for ok in allowed] + [(0, None)] * k
    solved = optimize.linprog(
        np.repeat([0.0, 0.0, 1.0], k), A_ub=above, b_ub=limits, A_eq=total, b_eq=[1.0, 1.0],
        bounds=bounds, method="highs",
    )  # fmt: skip
    if solved.status != 0:
        raise RuntimeError(f"the program over label laws failed: {solved.message}")
    return float(solved.fun)


def wavy(x: float) -> float:
    """8x + cos x, the link of the paper's experiments: (7, 9)-monotone."""
    return 8 * x + math.cos(x)


def bounded_noise_cases(link: Callable[[float], float], b: float) -> Cases:
    """A class whose noise is bounded, and has mean zero or nearly so."""
    return Cases(
        printed=Case("noise bounded by C", link=link, b=b, bias=1.0),
        corrected=Case("and of mean zero", link=link, b=b, bias=0.0),
        mutant=Case("and of mean at most C/8", link=link, b=b, bias=0.125),
    )


@DEFINITIONS.states(
    "(1)",
    r"$\mathcal P_{s,p,C}$: $x$ uniform on $\{\pm1\}^p$, $y=\langle\theta,x\rangle+\sigma$,"
    r" $E[\sigma\mid x]=0$, $|\sigma|\le C$, $\|\theta\|_2\le1$, $\|\theta\|_0\le s$.",
    kind="equation",
    found="E[σ|x] = 0 is what makes θ a function of the law; without it labels tell nothing.",
    by="optimisation",
    expected=Status.HOLDS,
    printed=Case("laws of 0 and θ differ", link=linear, b=1.0, bias=0.0),
    mutant=Case("without E[σ|x] = 0", link=linear, b=1.0, bias=1.0),
    code=("minimax.problems.local_regression.lower", "minimax.methods.priors.TwoLabelPrior"),
)
@LABEL_CLASS.states(
    "(8)",
    r"$\mathcal P'_{s,p,C}$: fixed rows $x_i$, $y_i=\langle\theta,x_i\rangle+\sigma_i$,"
    r" $\|\theta\|_0\le s$, $\|\theta\|_2\le1$, $|\sigma_i|\le C$; $\theta$ is to be"
    r" estimated.",
    kind="equation",
    found="The display lacks the E σ = 0 of (1), and θ and 0 may then look the same.",
    by="optimisation",
    expected=Status.CORRECTED,
    severity="harmless",
    **bounded_noise_cases(linear, 1.0),
    wrong=(
        "With σ_i = −⟨x_i, θ⟩, which is at most C for |θ|₁ ≤ C, all labels are 0 under θ and"
        " under 0: no estimator has an error below |θ|/2 at both, however large n is, so the"
        " upper bound of Theorem 6 is impossible on the class as displayed. E σ_i = 0 is surely"
        " meant: the text says that (1), which has it, is reduced to (8)."
    ),
    code=("minimax.problems.label_regression.lower", "minimax.methods.priors.TwoLabelPrior"),
)
@MONOTONE_CLASS.states(
    "(11)",
    r"$\mathcal P_{s,p,C,f,a,b}$: $y=f(\langle\theta,x\rangle)+\sigma$ with $f$"
    r" $(a,b)$-monotone, $|\sigma|\le C$, $\|\theta\|_2\le1$, $\|\theta\|_0\le s$; for"
    r" $f(x)=x$ it reduces to (1).",
    kind="equation",
    found="The display lacks the E[σ|x] = 0 of (1), to which it is to reduce for f(x) = x.",
    by="optimisation",
    uses=("(1)", "Definition 9"),
    expected=Status.CORRECTED,
    severity="harmless",
    **bounded_noise_cases(wavy, 9.0),
    wrong=(
        "σ = f(0) − f(⟨x, θ⟩) is at most b|⟨x, θ⟩| ≤ C for |θ|₁ ≤ C/b and makes the data of θ"
        " those of 0. E[σ|x] = 0 is surely meant, as (11) is to reduce to (1), which asks it;"
        " the bounds of Theorems 9 and 11 need it too."
    ),
    code=("minimax.problems.label_regression.lower.wx21_theorem_10",),
    echoes="WX21:(8)",
)
def identified(link: Callable[[float], float], b: float, *, bias: float) -> Result:
    """Do data from theta, C/(4b) <= |theta| <= C/b <= 1, never have the law of data from 0?

    The noise has |sigma| <= C = 1 and |E sigma| <= bias C, so that `bias` 1 asks nothing more.
    """
    C = 1.0
    sizes = [share * min(1.0, C / b) for share in (0.25, 0.5, 1.0)]
    found = [closest_laws(link, theta, C, bias=bias) for theta in sizes]
    return result(
        min(found) > 1e-6,
        least_total_variation=max(min(found), 0.0),
        largest_parameter=sizes[-1],
        total_variation_there=max(found[-1], 0.0),
    )


@RATE.states(
    "Section IV, rate without privacy",
    r"Without privacy, for $s\ll p$, $\mathcal M_n(\theta(\mathcal P_{s,p,C}),"
    r"\|\cdot\|_2^2)=\Theta(C^2s\log(p/s)/n)$.",
    kind="remark",
    found="log p from both sides at s = 1. (Near p = s, not meant here, read log(ep/s).)",
    by="exact",
    uses=("(1)",),
    expected=Status.RATE,
    rate=True,
    printed=Case("log p at s = 1", power=1.0),
    mutant=Case("√log p", power=0.5),
    code=("minimax.methods.fano.fano",),
)
def rate_without_privacy(power: float) -> Result:
    """Is the risk without privacy of order (log p)^power/n at s = 1, C = 2, from both sides?

    Below, Fano's inequality for theta = h v, v the signed units, with the labels +-(2 - h). Above,
    the largest entry of z = mean of x y: with M = max|z_j - theta_j| its error is at most 5 M^2,
    and E M^2 <= 18 (log 2p + 1)/n as |x_j y| <= 3. Exponents from p = 10^6 to 10^48, n = 10^9.
    """
    n, below, above = 1e9, [], []
    for p in (1e6, 1e48):
        h = np.linspace(0.01, 3, 300) * math.sqrt(math.log(2 * p) / n)
        tilt = h / (2 - h)
        information = n * ((1 + tilt) * np.log1p(tilt) + (1 - tilt) * np.log1p(-tilt)) / 2
        below.append(n * float(np.max(fano(h**2 / 2, information, 2 * p))))
        above.append(90 * (math.log(2 * p) + 1))
    slopes = [math.log(side[1] / side[0]) / math.log(8) for side in (below, above)]
    return result(
        all(abs(slope - power) < 0.1 for slope in slopes),
        power_of_log_p_below=slopes[0],
        power_of_log_p_above=slopes[1],
        n_times_bound_below_at_p_1e6=below[0],
        n_times_bound_above_at_p_1e6=above[0],
    )
