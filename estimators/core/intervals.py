r"""Confidence intervals from releases and public numbers: sampling and privacy noise together.

**Statement.** An estimate's coordinate is off by N(0, v) + f Z + b: the sampling error, to leading
order in n, independent noise Z of known law, and a bias |b| <= `bias`. The interval of a level has
the half-width t with P(|N(0, v) + f Z + bias| <= t) = level. To leading order it holds what it is
about with at least that chance, and with no more if |b| = bias and v is the variance.

**Proof.** Z is a mixture of centred normal or uniform laws, so N(0, v) + f Z is symmetric and
unimodal, and P(|. + b| <= t) falls in |b|. With W(x) = P(|.| <= x), odd in x, it is
[W(t - b) + W(t + b)]/2. (Intervals that know a bound on their bias: Armstrong and Kolesar, 2018.)

**Privacy.** Nothing here reads a record. v is a function of public numbers (sigma, a bound on the
records, the second moment of the rows) or of releases; so no budget is spent.

**What is not covered.** Intervals are for each coordinate alone. Where the variance or the bias is
not public, as where the clip was found from the data, `NoLaw` says so. There are none after a
selection of coordinates: given that a coordinate was chosen, its sampling error is not centred.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import lru_cache
from numbers import Real
from typing import ClassVar, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import special
from sklearn.utils.validation import check_is_fitted

from estimators.core.accounting import LedgerEntry
from estimators.core.sampling_laws import BoundedRecords as BoundedRecords
from estimators.core.sampling_laws import KnownVariance as KnownVariance
from estimators.core.sampling_laws import MixedVariance as MixedVariance
from estimators.core.sampling_laws import Sampling as Sampling
from minimax.core.privacy import Pure

Array = NDArray[np.float64]
HALVINGS = 40
"""Bisections of a bracket: its upper end is right to 1e-12 of the bracket, and not too short."""

NEGLIGIBLE = 1e-12
"""Noise of so small a part of the sampling error is counted as this part of it."""


def _normal_rule(nodes: int) -> tuple[Array, Array]:
    """Equally spaced normal deviates and their weights: very accurate for smooth integrands."""
    deviates = np.linspace(-8.0, 8.0, nodes)
    weights = np.exp(-(deviates**2) / 2)
    return deviates, weights / weights.sum()


DEVIATES, WEIGHTS = _normal_rule(65)
FINE_DEVIATES, FINE_WEIGHTS = _normal_rule(257)
"""For integrands with few derivatives."""


class ConfidenceInterval(NamedTuple):
    """Ends of intervals, one for each coordinate, with the names that SciPy gives them."""

    low: Array
    high: Array


# --- Laws of noise --------------------------------------------------------------------------------


class NoiseLaw(Protocol):
    """The law of the noise on a coordinate, symmetric about 0."""

    def __hash__(self) -> int:
        """Laws are compared by their numbers, so that quantiles are found once."""

    @property
    def deviation(self) -> float:
        """Its standard deviation, whose square may be beyond all floats."""

    @property
    def variance(self) -> float:
        """The square of that, or infinity."""

    def within(self, reach: Array, spread: Array) -> Array:
        """P(|noise + N(0, spread)| <= reach), elementwise, and odd in the reach."""


@dataclass(frozen=True)
class NormalNoise:
    """N(0, deviation^2)."""

    deviation: float

    @property
    def variance(self) -> float:
        """deviation^2."""
        return self.deviation * self.deviation

    def within(self, reach: Array, spread: Array) -> Array:
        """erf of the reach over sqrt(2) deviations."""
        total = np.maximum(spread + self.variance, np.finfo(float).tiny)
        return np.asarray(special.erf(reach / np.sqrt(2 * total)))


@dataclass(frozen=True)
class BallNoise:
    r"""A coordinate of independent vectors of R^d with densities ~ e^{-|z|/scale}, summed.

    **Statement.** For one it is sqrt(W) g, g standard normal and W = 2 scale^2 Gamma((d + 1)/2).

    **Proof.** E e^{i<t, sqrt(W) g>} = E e^{-|t|^2 W/2} = (1 + scale^2 |t|^2)^{-(d+1)/2}, and that
    is the Fourier transform of e^{-|z|/scale}, normalised (Poisson's kernel, turned around).
    **Constants.** d = 1 is Laplace noise; the variance is (d + 1) scale^2.
    """

    scales: tuple[float, ...]
    d: int

    @property
    def deviation(self) -> float:
        """sqrt(d + 1) times the root of the sum of the scales' squares."""
        return math.sqrt(self.d + 1) * math.hypot(*self.scales)

    @property
    def variance(self) -> float:
        """deviation^2."""
        return self.deviation * self.deviation

    def within(self, reach: Array, spread: Array) -> Array:
        """The normal's, averaged over W."""
        variances, weights = _mixture(self)
        shape = (*np.shape(reach), 1)
        total = np.reshape(spread, shape) + variances
        return np.asarray(special.erf(np.reshape(reach, shape) / np.sqrt(2 * total)) @ weights)


@dataclass(frozen=True)
class CubeNoise:
    r"""A coordinate of a vector of R^d, d > 1, with density ~ e^{-max|z_j|/scale}.

    **Statement.** In units of the scale, P(|Z| <= q) = P(d + 1, q) + (q/d) Q(d, q), with the
    regularised incomplete gamma functions. With N(0, s^2): its odd extension averaged over q + s g;
    or the average over a ~ Gamma(d + 1) of [H(q + a) - H(q - a)]/a - 1,
    H(x) = x Phi(x/s) + s phi(x/s).

    **Proof.** Level sets are cubes: Z is uniform in [-a, a], and E min(1, q/a) splits at a = q. H
    is an integral of Phi(x/s). **Constants.** The first integrand is smooth where s is small, the
    second where it is large; they change places at s = sqrt(d + 1) scales.
    """

    scale: float
    d: int

    @property
    def deviation(self) -> float:
        """sqrt((d + 1)(d + 2)/3) scale."""
        return math.sqrt((self.d + 1) * (self.d + 2) / 3) * self.scale

    @property
    def variance(self) -> float:
        """deviation^2."""
        return self.deviation * self.deviation

    def within(self, reach: Array, spread: Array) -> Array:
        """By the integrand that is smooth."""
        reach, deviation = np.broadcast_arrays(reach / self.scale, np.sqrt(spread) / self.scale)
        wide = deviation > math.sqrt(self.d + 1)
        out = np.empty(reach.shape)
        for where, average in ((wide, self._over_lengths), (~wide, self._over_normals)):
            out[where] = average(reach[where][:, None], deviation[where][:, None])
        return out

    def _over_normals(self, reach: Array, deviation: Array) -> Array:
        x = reach + deviation * FINE_DEVIATES
        q = np.abs(x)
        alone = special.gammainc(self.d + 1, q) + q / self.d * special.gammaincc(self.d, q)
        return np.asarray((np.sign(x) * alone) @ FINE_WEIGHTS)

    def _over_lengths(self, reach: Array, deviation: Array) -> Array:
        a = _gamma_values(self.d + 1.0)

        def integral(x: Array) -> Array:
            z = x / deviation
            density = np.exp(-z * z / 2) / math.sqrt(2 * math.pi)
            return np.asarray(x * special.ndtr(z) + deviation * density)

        return np.asarray(((integral(reach + a) - integral(reach - a)) / a - 1) @ WEIGHTS)


@lru_cache(maxsize=256)
def _gamma_values(shape: float) -> Array:
    """Gamma(shape) at the chances of the normal deviates, from the nearer end."""
    lower = special.gammaincinv(shape, special.ndtr(np.minimum(DEVIATES, 0)))
    upper = special.gammainccinv(shape, special.ndtr(-np.maximum(DEVIATES, 0)))
    return np.asarray(np.where(DEVIATES < 0, lower, upper))


def chi_square_rule(d: int) -> tuple[Array, Array]:
    """Values of a chi^2_d over its mean d, and their weights."""
    return 2 / d * _gamma_values(d / 2), WEIGHTS


@lru_cache(maxsize=256)
def _mixture(noise: BallNoise) -> tuple[Array, Array]:
    """Variances and their weights: the law of W, or of a sum of several."""
    one = 2 * _gamma_values((noise.d + 1) / 2)
    variances, weights = np.zeros(1), np.ones(1)
    for scale in noise.scales:
        variances = np.add.outer(variances, scale * scale * one).ravel()
        weights = np.multiply.outer(weights, WEIGHTS).ravel()
    return variances, weights


def noise_law(entry: LedgerEntry, d: int) -> NoiseLaw:
    """The law of a coordinate of the noise that the ledger tells of."""
    if entry.guarantee(Pure) is None:
        return NormalNoise(entry.scale)
    if entry.norm == "l1":
        return BallNoise((entry.scale,), 1)  # coordinates are independent
    cube = entry.norm == "linf" and d > 1
    return CubeNoise(entry.scale, d) if cube else BallNoise((entry.scale,), d)


# --- The interval ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class ErrorLaw:
    """What an estimate is off by, coordinate by coordinate: see the module."""

    sampling: Sampling
    noise: NoiseLaw
    factors: Array = field(default_factory=lambda: np.ones(()))
    """What the noise is multiplied by on each coordinate."""
    bias: float = 0.0
    shrinkage: float = 1.0
    """What the estimate has kept of its way from the origin: it is first divided by this."""
    origin: Array = field(default_factory=lambda: np.zeros(()))

    def coordinate(self, j: int) -> ErrorLaw:
        """The law of one coordinate."""
        factors, origin = (
            np.asarray(part if part.ndim == 0 else part[j]) for part in (self.factors, self.origin)
        )
        return replace(self, sampling=self.sampling.coordinate(j), factors=factors, origin=origin)

    def centre(self, estimate: Array) -> Array:
        """The estimate without its shrinkage."""
        return np.asarray(self.origin + (estimate - self.origin) / self.shrinkage, dtype=float)

    def stderr(self, estimate: Array) -> Array:
        """The deviation of sampling error and noise together; it does not hold the bias."""
        centre = self.centre(estimate)
        sampling = np.sqrt(self.sampling.variance(centre))
        return np.asarray(np.hypot(sampling, self.factors * self.noise.deviation))

    def interval(self, estimate: Array, level: float) -> ConfidenceInterval:
        """The two ends on every coordinate."""
        centre = self.centre(estimate)
        if isinstance(self.sampling, KnownVariance):
            below = above = self._known_half_width(self.sampling.values, level)
        elif isinstance(self.sampling, MixedVariance):
            below = above = self._mixed_half_width(self.sampling, level)
        else:
            below, above = self._half_widths(centre, level)
        return ConfidenceInterval(centre - below, centre + above)

    def _known_half_width(self, values: Array, level: float) -> Array:
        """A quantile for each coordinate; equal ones are found once."""
        seen = np.maximum(self.factors, NEGLIGIBLE * np.sqrt(values))  # its square is not 0
        variances, factors = np.broadcast_arrays(values, seen)
        pairs = zip(variances.ravel().tolist(), factors.ravel().tolist(), strict=True)
        found = [f * _quantile(self.noise, v / f**2, self.bias / f, level) for v, f in pairs]
        return np.reshape(found, variances.shape)

    def _mixed_half_width(self, sampling: MixedVariance, level: float) -> Array:
        """By bisection; see `MixedVariance`."""
        largest = sampling.largest()
        factors = np.maximum(self.factors, NEGLIGIBLE * np.sqrt(largest))
        spreads, bias = sampling.values / factors**2, self.bias / factors

        def enough(reach: Array) -> NDArray[np.bool_]:
            each = np.broadcast_to(reach, spreads.shape)
            return sampling.weights @ _chance(self.noise, each, spreads, bias) >= level

        return factors * _bisected(enough, _far(self.noise, largest / factors**2, bias, level))

    def _half_widths(self, centre: Array, level: float) -> Array:
        """By bisection, below and above at once; the variance is that of the end itself."""
        sides = np.reshape([-1.0, 1.0], (2, *(1 for _ in centre.shape)))
        factors = np.broadcast_to(self.factors, centre.shape)
        largest = np.broadcast_to(self.sampling.largest(), centre.shape) / factors**2

        def enough(reach: Array) -> NDArray[np.bool_]:
            spread = self.sampling.variance(centre + sides * reach * factors) / factors**2
            return _chance(self.noise, reach, spread, self.bias / factors) >= level

        top = _far(self.noise, largest, self.bias / factors, level)
        return factors * _bisected(enough, np.broadcast_to(top, (2, *centre.shape)))


def _chance(noise: NoiseLaw, reach: Array, spread: Array, bias: Array) -> Array:
    """P(|noise + N(0, spread) + bias| <= reach)."""
    if not np.any(bias):
        return noise.within(reach, spread)
    return (noise.within(reach - bias, spread) + noise.within(reach + bias, spread)) / 2


def _far(noise: NoiseLaw, spread: Array, bias: Array, level: float) -> Array:
    """A reach that is enough, by Chebyshev's inequality."""
    return np.asarray(np.hypot(np.sqrt(spread), noise.deviation) / math.sqrt(1 - level) + bias)


class Enough(Protocol):
    """Whether a reach holds enough of the error."""

    def __call__(self, reach: Array) -> NDArray[np.bool_]:
        """Elementwise."""


def _bisected(enough: Enough, top: Array) -> Array:
    """The least reach that is enough, from above; the top is."""
    low, high = np.zeros_like(top), np.array(top)
    for _ in range(HALVINGS):
        middle = (low + high) / 2
        found = enough(middle)
        low, high = np.where(found, low, middle), np.where(found, middle, high)
    return high


@lru_cache(maxsize=4096)
def _quantile(noise: NoiseLaw, spread: float, bias: float, level: float) -> float:
    """t with P(|noise + N(0, spread) + bias| <= t) = level."""
    if isinstance(noise, NormalNoise) and bias == 0:
        return math.hypot(math.sqrt(spread), noise.deviation) * float(
            special.ndtri((1 + level) / 2)
        )
    at, shift = np.array([spread]), np.array([bias])
    top = _far(noise, at, shift, level)
    return float(_bisected(lambda reach: _chance(noise, reach, at, shift) >= level, top)[0])


@dataclass(frozen=True)
class NoLaw:
    """Why there is no interval."""

    reason: str

    def coordinate(self, j: int) -> NoLaw:
        """The same for each."""
        return self

    def stderr(self, estimate: Array) -> Array:
        """Raises."""
        raise ValueError(f"no standard error: {self.reason}")

    def interval(self, estimate: Array, level: float) -> ConfidenceInterval:
        """Raises."""
        raise ValueError(f"no confidence interval: {self.reason}")


class WithIntervals:
    """What estimators share whose error has a known law: `error_law_`, made by `fit`."""

    error_law_: ErrorLaw | NoLaw
    estimated: ClassVar[str] = "coef_"
    """The attribute that intervals are about."""

    @property
    def stderr_(self) -> Array:
        """Standard error on each coordinate: sampling error and privacy noise together.

        Made of releases and public numbers: it costs no budget.
        """
        return self._law.stderr(getattr(self, self.estimated))

    def confidence_interval(self, level: float = 0.95) -> ConfidenceInterval:
        """(low, high): intervals of this level, one for each coordinate alone.

        Made of releases and public numbers: it costs no budget. What they rest on stands in the
        class's own description.
        """
        if isinstance(level, bool) or not isinstance(level, Real):
            raise TypeError(f"level must be a number, got {level!r}")
        if not 0 < level < 1:
            raise ValueError(f"level must lie in (0, 1), got {level!r}")
        return self._law.interval(getattr(self, self.estimated), float(level))

    @property
    def _law(self) -> ErrorLaw | NoLaw:
        check_is_fitted(self, "error_law_")
        return self.error_law_
