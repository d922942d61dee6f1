r"""Local randomisers of labels: noise calibrated to a range, one bit, and approximate made pure.

The label range is part of the model: labels are clipped to [-bound, bound] before they are
randomised, so two labels differ by at most 2 bound whatever the data are. In the linear model of
WX21, |y| <= |<x, theta>| + C <= sqrt(s) + C (`label_bound`), and not 2C as its noise supposes.

`estimators.randomisers.label_budget` chooses one for a budget.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from estimators.core.accounting import LedgerEntry, LossLaw
from estimators.core.checks import check_positive, check_whole
from estimators.core.mechanisms import Calibration, Release, gaussian_scale
from estimators.core.noise import with_gaussian, with_laplace
from estimators.core.witness import shown, witnessed
from estimators.randomisers.base import blocks
from minimax.core.privacy import Approximate, Gaussian, Pure, Scope, ZeroConcentrated
from minimax.core.randomised_response import randomised_response_epsilon

Array = NDArray[np.float64]
LARGEST_CLIP = math.log(2)
"""Beyond it an acceptance probability e^clip/2 would exceed 1."""


SYMMETRIC_ACCEPTANCE = 0.5
"""m of `PureFromApproximate` for A(y) = y + symmetric noise and the reference A(0), at every clip.

m = E_0 a = (P_y(|l| <= clip) + P_0(|l| > clip))/2, as E_0 e^l 1(|l| <= clip) = P_y(|l| <= clip).
The reflection t -> y - t exchanges A(0) and A(y) and turns l into -l, so that |l| has one law
under both, and the two chances add up to 1."""


def label_bound(s: int, C: float, reach: float = 1.0) -> float:
    """reach sqrt(s) + C: the largest |y - f(0)| for x in {-1, 1}^p and noise of at most C.

    theta has s entries and f is a link with |f'| <= b: |<x, theta>| <= |x_S| |theta| and
    |f(t) - f(0)| <= b |t|, so reach = b |theta|, which is 1 in the linear model with |theta| <= 1.
    """
    check_whole(s=s)
    check_positive(C=C, reach=reach)
    return reach * math.sqrt(s) + C


@dataclass(frozen=True)
class SubGamma:
    """A centred law with log E e^{tZ} <= variance t^2/(2 (1 - scale |t|)) for scale |t| < 1.

    scale = 0 is sub-Gaussian. Sums sum_i x_i Z_i of independent ones have
    (variance |x|_2^2, scale |x|_inf), and P(Z >= sqrt(2 variance L) + scale L) <= e^-L (Bernstein;
    Boucheron, Lugosi and Massart, 2013, Section 2.4).
    """

    variance: float
    scale: float = 0.0

    def deviation(self, length: Array, largest: Array, log_chance: float) -> Array:
        """What sum_i x_i Z_i exceeds with chance e^-log_chance at most; |x|_2 and |x|_inf given."""
        near = length * math.sqrt(2 * self.variance * log_chance)
        return np.asarray(near + self.scale * largest * log_chance)


@witnessed
def _laplace_reports(y: Array, entry: LedgerEntry, rng: np.random.Generator) -> Release[Array]:
    """Clipped labels with the entry's noise; an auditor may look on."""
    return Release(with_laplace(y, entry.scale, rng), entry)


@witnessed
def _gaussian_reports(y: Array, entry: LedgerEntry, rng: np.random.Generator) -> Release[Array]:
    """Clipped labels with the entry's noise; an auditor may look on."""
    return Release(with_gaussian(y, entry.scale, rng), entry)


@dataclass(frozen=True)
class LaplaceLabels:
    """Labels clipped to [-bound, bound] with Laplace(2 bound/epsilon) noise: epsilon-LDP.

    Privacy: the log density ratio is at most |y - y'|/scale <= 2 bound/scale = epsilon.
    """

    bound: float
    epsilon: float

    def __post_init__(self) -> None:
        check_positive(bound=self.bound, epsilon=self.epsilon)

    @property
    def scale(self) -> float:
        """2 bound/epsilon."""
        return 2 * self.bound / self.epsilon

    @property
    def guarantee(self) -> Pure:
        """epsilon-LDP of the label."""
        return Pure(self.epsilon, scope="label")

    def error(self) -> float:
        """E(R(y) - y)^2 for |y| <= bound."""
        return 2 * self.scale**2

    def tail(self, C: float) -> SubGamma:
        """Of R(y) - E y for a label whose own noise is at most C: variance 2 scale^2 + C^2.

        log E e^{tZ} = -log(1 - u) <= u/(1 - u) with u = (scale t)^2, and 1 - u >= 1 - scale |t|;
        the label's noise is sub-Gaussian(C) (Hoeffding) and independent.
        """
        return SubGamma(2 * self.scale**2 + C**2, self.scale)

    def log_likelihood(self, reports: ArrayLike, y: float) -> Array:
        """log density of reports at a label."""
        distance = np.abs(np.asarray(reports, dtype=float) - clipped(y, self.bound))
        return np.asarray(-distance / self.scale - math.log(2 * self.scale))

    def randomise(self, y: ArrayLike, rng: np.random.Generator) -> Release[Array]:
        """One report for each label."""
        y = clipped(y, self.bound)
        entry = LedgerEntry(
            "laplace",
            2 * self.bound,
            "l1",
            self.scale,
            (self.guarantee,),
            about=_users(y),
            law=LossLaw.LAPLACE,
        )
        return _laplace_reports(y, entry, rng)


@dataclass(frozen=True)
class GaussianLabels:
    """Labels clipped to [-bound, bound] with N(0, scale^2) noise: exactly (2 bound/scale)-GDP.

    `calibrated` finds the scale for a budget. `paper_label_scale` is WX21's, which supposes labels
    within [-2C, 2C]; at s = 8, C = .05, epsilon = 1 and delta = 10^-3 it really gives epsilon 52:
    see `guarantee.to_approximate(delta)`.
    """

    bound: float
    scale: float
    scope: ClassVar[Scope] = "label"

    def __post_init__(self) -> None:
        check_positive(bound=self.bound, scale=self.scale)

    @classmethod
    def calibrated(
        cls,
        bound: float,
        privacy: Approximate | ZeroConcentrated | Gaussian,
        calibration: Calibration = "analytic",
    ) -> GaussianLabels:
        """The noise that a budget asks for; see `gaussian_scale`."""
        check_positive(bound=bound)
        if not isinstance(privacy, (Approximate, ZeroConcentrated, Gaussian)):
            raise TypeError(f"privacy must be (epsilon, delta), zCDP or GDP, got {privacy!r}")
        return cls(bound, gaussian_scale(privacy, 2 * bound, calibration))

    @property
    def guarantee(self) -> Gaussian:
        """mu-GDP of the label with mu = 2 bound/scale."""
        return Gaussian(2 * self.bound / self.scale, scope=self.scope)

    def error(self) -> float:
        """E(R(y) - y)^2 for |y| <= bound."""
        return self.scale**2

    def tail(self, C: float) -> SubGamma:
        """Of R(y) - E y for a label whose own noise is at most C, sub-Gaussian(C) by Hoeffding."""
        return SubGamma(self.scale**2 + C**2)

    def log_likelihood(self, reports: ArrayLike, y: float) -> Array:
        """log density of reports at a label."""
        z = (np.asarray(reports, dtype=float) - clipped(y, self.bound)) / self.scale
        return np.asarray(-(z**2) / 2 - math.log(self.scale) - math.log(2 * math.pi) / 2)

    def randomise(self, y: ArrayLike, rng: np.random.Generator) -> Release[Array]:
        """One report for each label."""
        y = clipped(y, self.bound)
        entry = LedgerEntry(
            "gaussian", 2 * self.bound, "l2", self.scale, (self.guarantee,), about=_users(y)
        )
        return _gaussian_reports(y, entry, rng)

    # The reference of `PureFromApproximate`: the report of label 0, in the middle of the range.

    def reference(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Reports of the label 0."""
        return self.scale * rng.standard_normal(size)

    def log_ratio(self, reports: Array, y: Array) -> Array:
        """log of the density at label y over that at label 0; y broadcasts."""
        y = clipped(y, self.bound)
        return np.asarray(y * (reports - y / 2) / self.scale**2)


@dataclass(frozen=True)
class BinaryLabels:
    r"""One bit: labels clipped to [-bound, bound], rounded at random, then randomised response.

    **Algorithm.** The report is +-bound coth(epsilon/2), + with chance
    (1 + (y/bound) tanh(epsilon/2))/2, so that its mean is y.

    **Privacy.** The chance of either report lies in [1/(1 + e^eps), e^eps/(1 + e^eps)]: the ratio
    is at most e^epsilon, attained by the labels +-bound. So at every smaller e the report is
    (e, delta)-LDP with delta = (e^epsilon - e^e)/(1 + e^epsilon): `calibrated` spends a delta too.

    **Risk.** Variance bound^2 coth(epsilon/2)^2 - y^2, about 4 bound^2/epsilon^2 for small epsilon:
    half of that of `LaplaceLabels`, and below it up to epsilon = 2.32. Never below
    bound^2 - y^2, where Laplace noise vanishes as epsilon grows.
    """

    bound: float
    epsilon: float
    approximate: Approximate | None = None
    """An (epsilon, delta) guarantee that the report has besides, for the ledger."""

    def __post_init__(self) -> None:
        check_positive(bound=self.bound, epsilon=self.epsilon)
        other = self.approximate
        if other and self.epsilon > randomised_response_epsilon(other) * (1 + 1e-12):
            raise ValueError(f"approximate: {other} does not follow from epsilon = {self.epsilon}")

    @classmethod
    def calibrated(cls, bound: float, privacy: Pure | Approximate) -> BinaryLabels:
        """The bit that spends a budget, with its delta: see `randomised_response_epsilon`."""
        approximate = None
        if isinstance(privacy, Approximate):
            approximate = Approximate(privacy.epsilon, privacy.delta, scope="label")
        return cls(bound, randomised_response_epsilon(privacy), approximate)

    @property
    def size(self) -> float:
        """bound coth(epsilon/2), the magnitude of every report."""
        return self.bound / math.tanh(self.epsilon / 2)

    @property
    def guarantee(self) -> Pure:
        """epsilon-LDP of the label."""
        return Pure(self.epsilon, scope="label")

    def error(self) -> float:
        """The largest E(R(y) - y)^2 over |y| <= bound, at y = 0."""
        return self.size**2

    def tail(self, C: float) -> SubGamma:
        """Of R(y) - E y, whatever the label's own noise: the report has two values (Hoeffding)."""
        check_positive(C=C)
        return SubGamma(self.size**2)

    def log_likelihood(self, reports: ArrayLike, y: ArrayLike) -> Array:
        """log probability of reports, by their sign, at a label or at one for each."""
        share = np.sign(np.asarray(reports, dtype=float)) * clipped(y, self.bound) / self.bound
        with np.errstate(divide="ignore"):
            kept, flipped = np.log1p(share), np.log1p(-share)
        logs = kept + special.log_expit(self.epsilon), flipped + special.log_expit(-self.epsilon)
        return np.asarray(np.logaddexp(*logs) - math.log(2))

    def randomise(self, y: ArrayLike, rng: np.random.Generator) -> Release[Array]:
        """One report for each label."""
        chance = self.chance(y)
        entry = LedgerEntry(
            "randomised response",
            2 * self.bound,
            "linf",
            self.size,
            (self.guarantee, *([self.approximate] if self.approximate else [])),
            about=_users(chance),
        )
        told = np.where(rng.random(chance.shape) < chance, self.size, -self.size)
        return shown(lambda told: clipped(y, self.bound), Release(told, entry))

    def chance(self, y: ArrayLike) -> Array:
        """That of the upper report: e^log_likelihood, linear in the label from its lower end on."""
        low, high = special.expit(-self.epsilon), special.expit(self.epsilon)
        return np.asarray(low + (high - low) * ((clipped(y, self.bound) / self.bound + 1) / 2))


def paper_label_scale(C: float, epsilon: float, delta: float) -> float:
    """sqrt(32 log(1.25/delta)) C/epsilon, the noise of WX21: Algorithm 2 as printed."""
    check_positive(C=C, epsilon=epsilon)
    if not 0 < delta < 1:
        raise ValueError(f"delta must lie in (0, 1), got {delta!r}")
    return math.sqrt(32 * math.log(1.25 / delta)) * C / epsilon


class ReferencedRandomiser(Protocol):
    """A local randomiser A as `PureFromApproximate` needs it; the reference is some A(x_0)."""

    @property
    def scope(self) -> Scope:
        """What its inputs are: whole records (local) or labels."""

    def reference(self, size: tuple[int, ...], rng: np.random.Generator) -> Array:
        """Independent reports of the reference input."""

    def log_ratio(self, reports: Array, y: Array) -> Array:
        """log dA(y)/dA(x_0) at the reports, finite or +-inf."""


@dataclass(frozen=True)
class PureFromApproximate:
    r"""GenProt (Bun, Nelson and Stemmer, 2018): any local randomiser A made purely private.

    **Algorithm.** Public: T reports y_1, ..., y_T of a reference input, for each user. The user
    accepts report t with probability a_t = exp(l_t)/2, l_t = log dA(x)/dA(x_0)(y_t), or 1/2 where
    |l_t| > clip, and sends the index g of an accepted report chosen at random (of any report, if
    none was accepted). The server reads y_g.

    **Privacy.** Pure, whatever A is; that A is (eps, delta)-LDP is needed for utility alone. With
    S the number of other acceptances,

        P(g) = a_g E[1/(1 + S)] + (1 - a_g) P(S = 0)/T,

    which increases in a_g (since 1/(1 + S) >= 1/T) and decreases in every other a_t. All a_t lie in
    [e^-clip/2, e^clip/2] = [l, h], so the largest ratio over all inputs is P(h; l)/P(l; h) with
    P(a; b) = a (1 - (1-b)^T)/(T b) + (1 - a)(1 - b)^{T-1}/T: the exact `epsilon`. As
    h/(lT) >= P(h; l) and P(l; h) >= l/(hT) it is below 4 clip for every T: 8 eps at the paper's
    clip = 2 eps, where the paper states 10 eps (for eps <= 1/4).

    **Risk.** With m = E a_t under the reference, y_g has the density
    (1 - (1-m)^T) a(y)/m + (1-m)^T (1 - a(y))/(1 - m) relative to the reference (`report_density`).
    Where nothing is clipped m = 1/2 and a/m = dA(x)/dA(x_0): y_g has the law of A(x) but for
    2^-T. For labels plus symmetric noise, as in `GaussianLabels`, m = 1/2 (`SYMMETRIC_ACCEPTANCE`)
    whatever is clipped. For (eps, delta)-LDP A and clip = 2 eps, |l| > clip has probability
    O(delta/eps).

    **Assumptions.** The public reports are drawn independently of the user's data and are not
    private; densities are exact; clip <= log 2.
    """

    base: ReferencedRandomiser
    clip: float
    samples: int

    def __post_init__(self) -> None:
        check_positive(clip=self.clip)
        if self.clip > LARGEST_CLIP:
            raise ValueError(f"clip must be at most log 2 = {LARGEST_CLIP:.4f}, got {self.clip!r}")
        check_whole(samples=self.samples)

    @cached_property
    def epsilon(self) -> float:
        """The exact epsilon of the index, in the worst case over randomisers and inputs."""
        return purified_epsilon(self.clip, self.samples)

    @property
    def guarantee(self) -> Pure:
        """Pure LDP; with one sample nothing is sent, and epsilon is the least a budget can be."""
        return Pure(max(self.epsilon, 1e-12), scope=self.base.scope)

    def acceptance(self, reports: Array, y: ArrayLike) -> Array:
        """a_t of each public report, for inputs y that broadcast against the reports."""
        ratio = self.base.log_ratio(reports, np.asarray(y, dtype=float))
        return np.asarray(np.exp(np.where(np.abs(ratio) <= self.clip, ratio, 0.0)) / 2)

    def index_law(self, reports: Array, y: float) -> Array:
        """P(g = t | public reports, input y) for t = 1, ..., T, exactly."""
        a = self.acceptance(np.asarray(reports, dtype=float), y)
        if a.shape != (self.samples,):
            raise ValueError(f"reports must be {self.samples} numbers, got shape {a.shape}")
        # E[1/(1+S)] is the integral over z in [0, 1] of E z^S, a polynomial of degree T - 1.
        nodes, weights = np.polynomial.legendre.leggauss(self.samples // 2 + 1)
        factors = 1 - a + a * (nodes[:, None] + 1) / 2
        others = np.prod(factors, axis=1)[:, None] / factors
        return np.asarray(a * (weights / 2 @ others) + np.prod(1 - a) / self.samples)

    def report_density(
        self, reports: Array, y: float, mean_acceptance: float = SYMMETRIC_ACCEPTANCE
    ) -> Array:
        """Density of the value that the server reads, relative to the reference's law."""
        a, m = self.acceptance(np.asarray(reports, dtype=float), y), mean_acceptance
        none = (1 - m) ** self.samples
        return np.asarray((1 - none) * a / m + none * (1 - a) / (1 - m))

    def randomise(self, y: ArrayLike, rng: np.random.Generator) -> Release[Array]:
        """The values that the users' indices point to, one for each input."""
        y = np.asarray(y, dtype=float)
        if y.ndim != 1 or not np.isfinite(y).all():
            raise ValueError("y must be a vector of finite numbers")
        values = np.empty(len(y))
        for users in blocks(range(len(y)), self.samples):
            values[users] = self._values(y[users], rng)
        entry = LedgerEntry(
            "GenProt", self.clip, "log ratio", self.samples, (self.guarantee,), about=_users(y)
        )
        return shown(lambda told: np.log(2 * self.acceptance(told, y)), Release(values, entry))

    def _values(self, y: Array, rng: np.random.Generator) -> Array:
        """What some users' indices point to."""
        public = self.base.reference((len(y), self.samples), rng)
        accepted = rng.random(public.shape) < self.acceptance(public, y[:, None])
        # The largest of T uniforms, of which those of accepted reports are moved above the others.
        index = np.argmax(rng.random(public.shape) + accepted, axis=1)
        return public[np.arange(len(y)), index]


def purified_epsilon(clip: float, samples: int) -> float:
    """log P(h; l)/P(l; h) of `PureFromApproximate`: 0 for one sample, up to 4 clip for many."""
    low, high = math.exp(-clip) / 2, math.exp(clip) / 2

    def chosen(a: float, b: float) -> float:
        """T P(a; b)."""
        some = -math.expm1(samples * math.log1p(-b)) if b < 1 else 1.0
        return a * some / b + (1 - a) * (1 - b) ** (samples - 1)

    return max(math.log(chosen(high, low) / chosen(low, high)), 0.0)


def purifying_clip(epsilon: float, samples: int) -> float:
    """The largest clip for which `PureFromApproximate` with these samples is epsilon-LDP."""
    check_positive(epsilon=epsilon)
    check_whole(samples=samples, least=2)
    if purified_epsilon(LARGEST_CLIP, samples) <= epsilon:
        return LARGEST_CLIP
    root = optimize.brentq(
        lambda clip: purified_epsilon(clip, samples) - epsilon, 0.0, LARGEST_CLIP, xtol=1e-300
    )
    return float(root) * (1 - 1e-12)


def clipped(y: ArrayLike, bound: float) -> Array:
    """Labels within [-bound, bound]; anything but finite numbers is refused."""
    y = np.asarray(y, dtype=float)
    if not np.isfinite(y).all():
        raise ValueError("y must be finite")
    return np.clip(y, -bound, bound)


def _users(y: Array) -> str:
    return f"one report from each of {y.size} users"
