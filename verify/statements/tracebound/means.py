"""Means that reach the lower bound: the ball clip, measured, and K-norm noise."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.core.mechanisms import k_norm
from estimators.mean import NoisyMean
from minimax.core.bound import Point, Prior
from minimax.core.privacy import ZeroConcentrated
from minimax.methods.priors import CosinePrior
from minimax.papers import THIS_WORK
from minimax.problems.mean.centred import Tails, centred_mean_upper
from minimax.problems.mean.lower import antipodal_gaussian
from verify.proofs.entry import ALPHA, Case, Chapter, Result, Status, result
from verify.rates.measure import Measurement, interval, losses
from verify.statements.tracebound.scores import with_privacy

CHAPTER = Chapter(THIS_WORK)
Array = NDArray[np.float64]


# --- Gaussian data: both sides -------------------------------------------------------------------

BALL = {"n": 20_000.0, "d": 400.0, "sigma": 1.0, "radius": 5.0}
RHO = 0.0005


def _measured(
    place: Point, prior: Prior, rho: float, tails: Tails, trials: int, seed: int
) -> Measurement:
    def planned(_: Point) -> NoisyMean:
        return NoisyMean(
            ZeroConcentrated(rho), sigma=place["sigma"], radius=place["radius"], tails=tails
        )

    return interval(losses(planned, prior, place, trials, seed), ALPHA, seed)


@cache
def _ball(seed: int) -> Measurement:
    """The risk of the Gaussian plan in the cell `BALL`, under the prior of the lower bound."""
    prior = CosinePrior(int(BALL["d"]), BALL["radius"], BALL["sigma"])
    return _measured(BALL, prior, RHO, "Gaussian", 40, seed)


@CHAPTER.states(
    "Gaussian mean, exact constant",
    r"For $N(\mu,\sigma^2I_d)$, $\lvert\mu_j\rvert\le a$, under $\rho$-zCDP the minimax risk is at"
    r" least $d/(\pi^2/a^2+1/q)$, $q=(1-1/n)\sigma^2/n+\sigma^2d/(nG)^2$, with the $G$ of antipodal"
    r" pairs: to leading order $\sigma^2d/n+2\sigma^2d^2/(\rho n^2)$.",
    kind="theorem",
    found="n = 20,000, d = 400, ρ = .0005: the ball clip has less than 1.2 times the bound.",
    by="simulation",
    uses=("Antipodal pairs, average",),
    proof_uses=("Tracing as van Trees", "Antipodal pairs, one pair", "Mean length"),
    expected=Status.HOLDS,
    slow=True,
    printed=Case("the bound", factor=1.0),
    mutant=Case("the privacy term doubled", factor=2.0),
    code=("minimax.problems.mean.lower.antipodal_gaussian", "estimators.mean.NoisyMean"),
)
def gaussian_mean(rng: np.random.Generator, *, factor: float) -> Result:
    """Is the bound, its privacy term times factor, below the measured risk's interval?"""
    found = antipodal_gaussian(ZeroConcentrated).parts(**BALL, rho=RHO)
    measured = _ball(int(rng.integers(2**31)))
    bound = with_privacy(found, factor)
    return result(
        bound <= measured.ci_low,
        bound=bound,
        measured=measured.risk,
        ci_low=measured.ci_low,
        ci_high=measured.ci_high,
        measured_over_bound=measured.risk / bound,
    )


SMALL_BALL, SMALL_RHO = {**BALL, "n": 4000.0}, 0.005
"""Where the plan with a slope is proved to be the better one."""


@cache
def _small_ball(seed: int) -> Measurement:
    prior = CosinePrior(int(SMALL_BALL["d"]), SMALL_BALL["radius"], SMALL_BALL["sigma"])
    return _measured(SMALL_BALL, prior, SMALL_RHO, "Gaussian", 60, seed)


@CHAPTER.states(
    "Centred mean, Gaussian records",
    r"Centre privately, shorten to a ball about the centre, average, divide by the slope that"
    r" shortening leaves: for $N(\mu,\sigma^2I)$ the root of the risk is at most that of noise and"
    r" statistics plus what the centre's own error leaves, all constants explicit; to leading order"
    r" the risk is $\sigma^2d/n+2\sigma^2d^2/(\rho n^2)$.",
    kind="theorem",
    found="n = 4,000, d = 400, ρ = .005: the measured risk is .83 of what is proved.",
    by="simulation",
    expected=Status.HOLDS,
    printed=Case("as proved", noise=1.0),
    mutant=Case("half the noise", noise=0.5),
    code=("minimax.problems.mean.centred.gaussian_course", "estimators.mean.NoisyMean"),
)
def gaussian_course(rng: np.random.Generator, *, noise: float) -> Result:
    """Is the bound, its noise's deviation times `noise`, above the measured risk's interval?"""
    measured = _small_ball(int(rng.integers(2**31)))
    return _against_upper(measured, SMALL_BALL, SMALL_RHO, "Gaussian", noise)


def _against_upper(
    measured: Measurement, place: Point, rho: float, tails: Tails, noise: float
) -> Result:
    found = centred_mean_upper(place, ZeroConcentrated(rho / noise**2), tails).parts()
    proved = found.total
    return result(
        measured.ci_high <= proved,
        proved=proved,
        measured=measured.risk,
        ci_low=measured.ci_low,
        ci_high=measured.ci_high,
        measured_over_proved=measured.risk / proved,
        divided_by_a_slope=bool(found.optimum["gaussian"]),
    )


@dataclass(frozen=True)
class CornerSigns:
    """Records mu + fair signs, mu_j = radius: sub-Gaussian vectors as far out as the class goes."""

    d: int
    radius: float

    @property
    def target(self) -> Array:
        """The mean."""
        return np.full(self.d, self.radius)

    def draw(self, rng: np.random.Generator) -> CornerSigns:
        """Always the same."""
        return self

    def sample(self, n: int, rng: np.random.Generator) -> Array:
        """n records."""
        return self.radius + rng.choice([-1.0, 1.0], (n, self.d))

    def loss(self, estimate: Array) -> float:
        """Squared distance to the mean."""
        return float(np.sum((estimate - self.target) ** 2))


CORNER = {"n": 2000.0, "d": 100.0, "sigma": 1.0, "radius": 1.0}
CORNER_RHO = 0.01


@cache
def _corner(seed: int) -> Measurement:
    prior = CornerSigns(int(CORNER["d"]), CORNER["radius"])
    return _measured(CORNER, prior, CORNER_RHO, "vectors", 400, seed)


@CHAPTER.states(
    "Centred mean, sub-Gaussian vectors",
    r"The same without division, for all laws with $E e^{\langle"
    r" a,x-\mu\rangle}\le e^{\sigma^2\lVert a\rVert^2/2}$: the root of the risk is at most"
    r" $\sqrt{\sigma^2d/n+d/P}+T$, $P$ the precision of all noise and $T$ what the balls cut off,"
    r" by the Chernoff bound of a norm.",
    kind="theorem",
    found="Signs about a corner of the class: the measured risk is .93 of what is proved.",
    by="simulation",
    uses=("Centred mean, Gaussian records",),
    expected=Status.HOLDS,
    printed=Case("as proved", noise=1.0),
    mutant=Case("half the noise", noise=0.5),
    code=("minimax.problems.mean.centred.tails_course", "minimax.methods.ball_clip.norm_excess"),
)
def tails_course(rng: np.random.Generator, *, noise: float) -> Result:
    """Is the bound, its noise's deviation times `noise`, above the measured risk's interval?"""
    measured = _corner(int(rng.integers(2**31)))
    return _against_upper(measured, CORNER, CORNER_RHO, "vectors", noise)


# --- K-norm noise --------------------------------------------------------------------------------


@CHAPTER.states(
    "K-norm noise",
    r"$\Gamma\cdot U$, $\Gamma\sim\mathrm{Gamma}(d+1)$ and $U$ uniform on $[-1,1]^d$, has the"
    r" density $e^{-\lVert z\rVert_\infty}/(2^dd!)$: times $\Delta/\epsilon$ it makes a value"
    r" private whose coordinates move by at most $\Delta$, with variance"
    r" $(d+1)(d+2)\Delta^2/(3\epsilon^2)$ a coordinate, where Laplace noise"
    r" has $2d^2\Delta^2/\epsilon^2$.",
    kind="theorem",
    found="The log density ratio is all of ε and no more; with Gamma(d) it exceeds ε.",
    by="simulation",
    expected=Status.HOLDS,
    printed=Case("Gamma(d + 1)", extra=1),
    mutant=Case("Gamma(d)", extra=0),
    code=("estimators.core.mechanisms.k_norm", "minimax.core.calibration.noise_variance"),
)
def k_norm_noise(rng: np.random.Generator, *, extra: int) -> Result:
    """The largest log density ratio of a shift of size epsilon, in units of epsilon; the variance.

    The density at |z| = x is proportional to the integral over r > x of r^{extra - 1} e^{-r}:
    Gamma(extra, x). It depends on |z| alone, which a shift moves by at most epsilon.
    """
    x = np.linspace(0.0, 40.0, 4001)[1:]
    ratios = []
    for epsilon in (0.01, 0.5, 3.0):
        near, far = (_log_density(extra, y) for y in (x, x + epsilon))
        ratios.append(float(np.max(near - far)) / epsilon)
    spread = []
    for d in (1, 3, 20):
        draws = [
            k_norm(np.zeros(d), norm="linf", sensitivity=1.0, epsilon=1.0, rng=rng).value
            for _ in range(4000)
        ]
        measured = interval(np.mean(np.square(draws), axis=1), ALPHA, 0)
        stated = (d + extra) * (d + extra + 1) / 3
        spread.append(measured.ci_low <= stated <= measured.ci_high)
    return result(
        max(ratios) <= 1 + 1e-9 and all(spread),
        largest_log_ratio_over_epsilon=max(ratios),
        variances_as_measured=sum(spread),
        laplace_variance_over_this_one=2 * 20**2 / ((20 + extra) * (21 + extra) / 3),
    )


def _log_density(extra: int, x: Array) -> Array:
    """log of the integral over r > x of r^{extra - 1} e^{-r}."""
    return np.asarray(np.log(special.expn(1 - extra, x)) + extra * np.log(x))
