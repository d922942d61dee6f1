r"""What one report tells: the likelihood-ratio attack on each randomiser, with its exact curve.

An adversary who sees one report must say whether the input was x or x'. By Neyman and Pearson the
best test at every false positive rate orders reports by their likelihood ratio, and its true
positive rate is the curve here: exact, no simulation. epsilon-LDP says that for every pair of
inputs the curve stays below that of `Pure(epsilon)`, min(e^eps alpha, 1 - e^-eps (1 - alpha)).

* `SphereRandomiser`: the ratio takes finitely many values, one for each position of the report
  relative to the caps of x and of x'. The masses follow from that of the intersection of two caps,
  an integral in one dimension (a closed form for p = 2 or half-spheres).
* `HypercubeRandomiser` between corners: the same, with two independent binomial counts.
* `LaplaceLabels`, `GaussianLabels`, `BinaryLabels` (two atoms): closed forms.
* `PureFromApproximate`: the law of the index given the public reports, which everyone knows.

**Soundness.** No test has a higher true positive rate. **Completeness.** This one attains it.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import singledispatch
from pathlib import Path

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import integrate, special, stats

from attacks.roc import allowed_rate, blank_figure
from estimators.randomisers.labels import (
    BinaryLabels,
    GaussianLabels,
    LaplaceLabels,
    PureFromApproximate,
    clipped,
)
from estimators.randomisers.signs import HypercubeRandomiser
from estimators.randomisers.vectors import SphereRandomiser, cap_mass
from minimax.core.privacy import Gaussian, Pure

Array = NDArray[np.float64]
POINTS = 2001
"""Points of a curve that is not made of line segments."""


@dataclass(frozen=True)
class TradeoffCurve:
    """The best true positive rate at every false positive rate, from one report."""

    mechanism: str
    guarantee: Pure | Gaussian
    false_positive: Array
    true_positive: Array
    epsilon: float
    """Largest |log likelihood ratio| that a report has with positive probability."""

    def at(self, alpha: ArrayLike) -> Array:
        """The true positive rate at false positive rates (exact on line segments)."""
        return np.asarray(
            np.interp(np.asarray(alpha, dtype=float), self.false_positive, self.true_positive)
        )

    @property
    def advantage(self) -> float:
        """Largest true minus false positive rate: the total variation of the two laws."""
        return float(np.max(self.true_positive - self.false_positive))

    def allowed(self, alpha: ArrayLike) -> Array:
        """What the guarantee allows at false positive rates."""
        return allowed_rate(self.guarantee, alpha)

    @property
    def excess(self) -> float:
        """Largest true positive rate above what the guarantee allows: at most 0 if it holds."""
        return float(np.max(self.true_positive - self.allowed(self.false_positive)))

    def summary(self) -> str:
        """One line."""
        return (
            f"{self.mechanism}, {self.guarantee}: advantage {self.advantage:.4g} from one report, "
            f"largest log ratio {self.epsilon:.4g}"
        )

    def to_dict(self) -> dict[str, object]:
        """For JSON; an unbounded ratio is None."""
        return {
            "mechanism": self.mechanism,
            "guarantee": str(self.guarantee),
            "advantage": self.advantage,
            "epsilon": self.epsilon if math.isfinite(self.epsilon) else None,
            "false_positive": self.false_positive.tolist(),
            "true_positive": self.true_positive.tolist(),
        }

    def plot(self, path: str | Path) -> None:
        """The curve below its limit."""
        plot_curves([self], path)


def plot_curves(curves: list[TradeoffCurve], path: str | Path) -> None:
    """Curves against the limits of their guarantees (each limit is drawn once)."""
    if not curves:
        raise ValueError("curves must hold at least one curve")
    figure = blank_figure(5.6, 5.2)
    axis = figure.add_subplot()
    limits = {str(curve.guarantee): curve.guarantee for curve in curves}
    alpha = np.linspace(0, 1, POINTS)
    for i, curve in enumerate(curves):
        label = f"{curve.mechanism}, advantage {curve.advantage:.3f}"
        axis.plot(curve.false_positive, curve.true_positive, color=f"C{i}", label=label)
    for name, limit in limits.items():
        allowed = allowed_rate(limit, alpha)
        axis.plot(alpha, allowed, color="black", linestyle="--", label=f"limit: {name}")
    axis.plot([0, 1], [0, 1], color="grey", linestyle=":", label="guessing")
    axis.set(xlabel="false positive rate", ylabel="true positive rate", title="One report")
    axis.legend(loc="lower right")
    figure.savefig(path)


def curve_of_atoms(
    mechanism: str, guarantee: Pure | Gaussian, first: ArrayLike, second: ArrayLike
) -> TradeoffCurve:
    """The curve of two laws on finitely many reports; `second` is that of false positives."""
    p, q = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    seen = (p > 0) | (q > 0)
    p, q = p[seen], q[seen]
    with np.errstate(divide="ignore"):
        ratio = np.log(p) - np.log(q)
    order = np.argsort(-ratio, kind="stable")
    fpr, tpr = (np.concatenate([[0.0], np.cumsum(law[order]) / law.sum()]) for law in (q, p))
    return TradeoffCurve(mechanism, guarantee, fpr, tpr, float(np.abs(ratio).max()))


@singledispatch
def tradeoff(randomiser: object, x: ArrayLike, other: ArrayLike) -> TradeoffCurve:
    """The exact curve of telling input x (true positives) from another input (false positives)."""
    raise TypeError(f"randomiser has no known law of reports: {type(randomiser).__name__}")


@tradeoff.register
def _(randomiser: SphereRandomiser, x: ArrayLike, other: ArrayLike) -> TradeoffCurve:
    inputs = [np.asarray(v, dtype=float) for v in (x, other)]
    shortened = [randomiser.clip(v[None])[0] for v in inputs]
    share = [float(np.linalg.norm(v)) / randomiser.radius for v in shortened]
    q, gamma = randomiser.mass, randomiser.gamma
    angle = _angle(*inputs)
    same = cap_intersection(gamma, angle, randomiser.p)
    opposite = cap_intersection(gamma, math.pi - angle, randomiser.p)
    one = max(q - same - opposite, 0.0)
    none = max(1 - 2 * q - 2 * one, 0.0)
    # Rows and columns: the report lies towards, away from, or near neither of +-x; the same for x'.
    masses = np.array([[same, opposite, one], [opposite, same, one], [one, one, none]])
    low = math.exp(randomiser.log_low)
    high = low * math.expm1(randomiser.epsilon)
    chances = [np.array([0.5 + s / 2, 0.5 - s / 2, 0.0]) for s in np.minimum(share, 1.0)]
    first = masses * (low + high * chances[0])[:, None]
    second = masses * (low + high * chances[1])[None, :]
    # Masses of the order of rounding are of regions that are empty.
    real = masses > 1e-15
    return curve_of_atoms(randomiser.name, randomiser.guarantee, first[real], second[real])


@tradeoff.register
def _(randomiser: HypercubeRandomiser, x: ArrayLike, other: ArrayLike) -> TradeoffCurve:
    corners = [randomiser.clip(np.atleast_2d(v))[0] for v in (x, other)]
    for name, corner in zip(("x", "other"), corners, strict=True):
        if not np.all(np.abs(corner) == randomiser.radius):
            raise ValueError(f"{name} must be a corner of the cube: each |coordinate| >= radius")
    apart = int(np.count_nonzero(corners[0] != corners[1]))
    p, k = randomiser.p, randomiser.agreements
    common = np.arange(p - apart + 1)[:, None]
    differing = np.arange(apart + 1)[None, :]
    masses = stats.binom.pmf(common, p - apart, 0.5) * stats.binom.pmf(differing, apart, 0.5)
    low = math.exp(randomiser.log_low)
    high = low * math.exp(randomiser.epsilon)
    first = masses * np.where(common + differing >= k, high, low)
    second = masses * np.where(common + apart - differing >= k, high, low)
    return curve_of_atoms(randomiser.name, randomiser.guarantee, first.ravel(), second.ravel())


@tradeoff.register
def _(randomiser: LaplaceLabels, x: float, other: float) -> TradeoffCurve:
    gap = _gap(x, other, randomiser.bound) / randomiser.scale
    alpha = np.union1d(np.linspace(0, 1, POINTS), [0.5 * math.exp(-gap), 0.5])
    middle = 1 - math.exp(-gap) / (4 * np.maximum(alpha, 0.25 * math.exp(-gap)))
    tpr = np.where(
        alpha <= 0.5 * math.exp(-gap),
        math.exp(gap) * alpha,
        np.where(alpha <= 0.5, middle, 1 - math.exp(-gap) * (1 - alpha)),
    )
    return TradeoffCurve("laplace labels", randomiser.guarantee, alpha, tpr, gap)


@tradeoff.register
def _(randomiser: GaussianLabels, x: float, other: float) -> TradeoffCurve:
    gap = _gap(x, other, randomiser.bound) / randomiser.scale
    alpha = np.linspace(0, 1, POINTS)
    tpr = special.ndtr(special.ndtri(alpha) + gap)
    largest = math.inf if gap > 0 else 0.0
    return TradeoffCurve("gaussian labels", randomiser.guarantee, alpha, tpr, largest)


@tradeoff.register
def _(randomiser: BinaryLabels, x: float, other: float) -> TradeoffCurve:
    laws = [np.exp(randomiser.log_likelihood([-1.0, 1.0], y)) for y in (x, other)]
    return curve_of_atoms("binary labels", randomiser.guarantee, *laws)


def index_tradeoff(
    mechanism: PureFromApproximate, public: ArrayLike, x: float, other: float
) -> TradeoffCurve:
    """The exact curve of GenProt's index, given the public reports."""
    reports = np.asarray(public, dtype=float)
    laws = [mechanism.index_law(reports, value) for value in (x, other)]
    return curve_of_atoms("GenProt", mechanism.guarantee, *laws)


def cap_intersection(gamma: float, angle: float, p: int) -> float:
    """Uniform mass of {<u, v> >= gamma} and {<u', v> >= gamma}, u and u' at an angle; gamma >= 0.

    Given t = <u, v>, <u', v> = t cos(angle) + sqrt(1 - t^2) sin(angle) W with W the first
    coordinate of a uniform direction in p - 1 dimensions: an integral over t = cos(phi).
    """
    half = math.acos(gamma)
    if p == 1:
        return 0.5 if angle < math.pi / 2 else 0.0
    if angle <= 0:
        return float(cap_mass(gamma, p))
    if angle >= 2 * half:
        return 0.0
    if gamma == 0 or p == 2:
        return (2 * half - angle) / (2 * math.pi)

    def slice_mass(phi: float) -> float:
        sine = math.sin(phi) * math.sin(angle)
        need = (gamma - math.cos(phi) * math.cos(angle)) / max(sine, 1e-300)
        return float(cap_mass(min(max(need, -1.0), 1.0), p - 1))

    log_constant = special.loggamma(p / 2) - special.loggamma((p - 1) / 2) - math.log(math.pi) / 2

    def integrand(phi: float) -> float:
        if phi <= 0:
            return 0.0
        return math.exp(log_constant + (p - 2) * math.log(math.sin(phi))) * slice_mass(phi)

    # The integrand lives within some 1/sqrt(p) of the edge, and is kinked where slices are whole.
    edges = {0.0, half, abs(half - angle)}
    edges |= {max(half - c / math.sqrt(p), 0.0) for c in (0.5, 2.0, 8.0)}
    cuts = sorted(edge for edge in edges if edge <= half)
    pieces = (
        integrate.quad(integrand, a, b, epsabs=1e-14, epsrel=1e-11, limit=200)[0]
        for a, b in itertools.pairwise(cuts)
    )
    return float(sum(pieces))


def _angle(x: Array, other: Array) -> float:
    """Angle between two inputs; a zero input has the direction e_1, as in the randomiser."""
    units = []
    for v in (x, other):
        largest = float(np.abs(v).max())
        v = np.eye(1, len(v))[0] if largest == 0 else v / largest
        units.append(v / np.linalg.norm(v))
    # By half the chord: the inverse cosine loses half of the digits at 0 and pi.
    return 2 * math.atan2(
        float(np.linalg.norm(units[0] - units[1])), float(np.linalg.norm(units[0] + units[1]))
    )


def _gap(x: float, other: float, bound: float) -> float:
    return abs(float(clipped(x, bound)) - float(clipped(other, bound)))
