r"""The worst law of a sum of privacy losses, and the delta that it gives at an epsilon.

**Statement.** Let L be the log likelihood ratio of all releases together, under the first of two
neighbouring data sets. Then delta(eps) = E (1 - e^(eps - L))_+. Losses of independent calls add,
and the worst losses are known: +-eps of randomised response for an eps-DP call, that of a shifted
density for Laplace and Gaussian noise. Everything here errs upwards.

**Three routes.** (1) *Moments*: for every order, delta <= E e^(order L) e^(-order (eps + saving));
see `minimax.core.conversions.order_saving`. (2) *Responses* that are all alike: a binomial sum, in
logs. (3) *Mixtures*: a convolution by Fourier transform of the losses on a grid.

**Proof of (3).** Grid: a loss between two grid points is spread over both so that the mean of e^-L
stays. delta is the mean of a convex function of e^-L, also given all other losses, so spreading can
only raise it. Tilting: the transform is taken of the laws with weights e^(order L), normalised. An
error of the transform is an absolute one, so an error e in the tilted chance of a value v is
e E e^(order L) e^(-order v) in its chance: relative to what (1) gives, however small delta is.
Transform: each output is a sum over inputs that pass log2 N butterflies of relative error below
8 u, so it is within eta = (8 log2 N + 40) u of the truth (the constant pays for the powers). With
m_i the computed magnitudes plus eta, the product of k_i factors of each kind is then within
eta (1 + sum_i k_i/m_i) prod_i m_i^k_i, and the inverse within the mean of this over frequencies,
which is added to every chance. Window: values beyond the N that are kept wrap around and only add
to the others; their own tilted chance is below 2 exp(-2 t^2/sum_i k_i range_i^2) (Hoeffding), which
is charged at the worst value, by (1).

**Gaussian noise** is never on the grid: given the other losses its delta is
`log_gaussian_hockey_stick`, whose mean over them is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray
from scipy import fft, optimize, special

from minimax.core.closeness import log_gaussian_hockey_stick, log_gaussian_hockey_sticks
from minimax.core.conversions import OUTWARD, order_saving, rounded_up

Array = NDArray[np.float64]
Group = tuple[float, int]
"""epsilon of a call, and how many calls there are like it."""
UNIT = 2.0**-53
LOG_OUTSIDE = -80.0
"""Log of the tilted chance that may lie outside the values kept."""
SPREAD = 2e-5
"""What the grid may add to the sum of squares of the losses, as a share of it."""
MOST_VALUES = 2**19
MOST_CALLS = 10**9
"""Of more calls the law is not computed: their moments are next to exact."""


@dataclass(frozen=True)
class Losses:
    """Independent losses: of randomised responses, of Laplace releases, of one Gaussian release."""

    responses: tuple[Group, ...] = ()
    laplaces: tuple[Group, ...] = ()
    mu: float = 0.0

    @property
    def bounded(self) -> tuple[Group, ...]:
        """All but the Gaussian one."""
        return self.responses + self.laplaces

    @property
    def calls(self) -> int:
        """How many there are, the Gaussian one apart."""
        return sum(count for _, count in self.bounded)

    @property
    def largest(self) -> float:
        """What they add up to at most."""
        return math.inf if self.mu else added(self.bounded)

    def log_moment(self, order: Array) -> Array:
        """log E exp(order L)."""
        found = gaussian_log_moment(self.mu**2 / 2, order)
        for epsilon, count in self.responses:
            found = found + count * response_log_moment(epsilon, order)
        for epsilon, count in self.laplaces:
            found = found + count * laplace_log_moment(epsilon, order)
        return np.asarray(found)


def added(terms: tuple[Group, ...]) -> float:
    """The sum of count * epsilon, rounded upwards."""
    return rounded_up(sum((count * Fraction(epsilon) for epsilon, count in terms), Fraction(0)))


def root_of_added_squares(terms: tuple[Group, ...]) -> float:
    """The root of the sum of count * mu^2, rounded upwards: the least float that is not below."""
    exact = sum((count * Fraction(mu) ** 2 for mu, count in terms), Fraction(0))
    size = max(mu for mu, _ in terms)  # squares of small numbers are no floats, their quotients are
    root = size * math.sqrt(rounded_up(exact / Fraction(size) ** 2))
    if math.isinf(root):
        return root
    while Fraction(root) ** 2 < exact:
        root = math.nextafter(root, math.inf)
    while Fraction(smaller := math.nextafter(root, 0.0)) ** 2 >= exact:
        root = smaller
    return root


# --- Moments --------------------------------------------------------------------------------------


def gaussian_log_moment(rho: float, order: Array) -> Array:
    """That of rho-zCDP at its worst, for instance of Gaussian noise with rho = mu^2/2."""
    return rho * order * (1 + order)


def response_log_moment(epsilon: float, order: Array) -> Array:
    r"""log(p e^(g eps) + (1 - p) e^(-g eps)), p = e^eps/(1 + e^eps), g the order.

    The mean less 1 is 2 sinh((1 + g) eps/2) sinh(g eps/2)/cosh(eps/2), which does not cancel.
    """
    far, g, e = _divided_by_size(epsilon, order)
    excess = 2 * np.sinh((1 + g) * e / 2) * np.sinh(g * e / 2) / math.cosh(e / 2)
    rest = np.log1p(np.exp(-(1 + 2 * order) * epsilon))
    large = order * epsilon - math.log1p(math.exp(-epsilon)) + rest
    return np.where(far, large, np.log1p(excess))


def laplace_log_moment(epsilon: float, order: Array) -> Array:
    r"""log(((1 + g) e^(g eps) + g e^(-(1 + g) eps))/(1 + 2 g)), g the order.

    The mean less 1 is that of r(g eps) and r(-(1 + g) eps), r(x) = e^x - 1 - x, with these weights.
    """
    far, g, e = _divided_by_size(epsilon, order)
    excess = ((1 + g) * _exp_remainder(g * e) + g * _exp_remainder(-(1 + g) * e)) / (1 + 2 * g)
    rest = np.log1p(np.exp(-(1 + 2 * order) * epsilon) * (order / (1 + order)))
    large = order * epsilon + np.log1p(-order / (1 + 2 * order)) + rest
    return np.where(far, large, np.log1p(excess))


def _divided_by_size(epsilon: float, order: Array) -> tuple[NDArray[np.bool_], Array, float]:
    """Where exponentials may be too large to take, and the arguments where they are not."""
    far = (1 + order) * epsilon > 30
    return far, np.where(far, 0.0, order), min(epsilon, 30.0)


def _exp_remainder(x: Array) -> Array:
    """e^x - 1 - x, by its series where it would cancel."""
    small = np.where(np.abs(x) < 0.5, x, 0.0)
    series = np.zeros_like(small)
    for n in range(16, 1, -1):
        series = (series * small + 1) / n if n > 2 else (series * small + 1) * small**2 / 2
    return np.where(np.abs(x) < 0.5, series, np.expm1(x) - x)


def moment_epsilon(log_moment: Callable[[Array], Array], delta: float) -> tuple[float, float]:
    """The least epsilon that the moments give at delta, rounded upwards, and its order."""
    L = -math.log(delta)

    def epsilon(order: Array) -> Array:
        most, saving = (log_moment(order) + L) / order, order_saving(order)
        return (most - saving) * OUTWARD + 1e-14 * (most + saving)

    found, order = _least(epsilon)
    return max(found, 0.0), order


def moment_log_delta(log_moment: Callable[[Array], Array], epsilon: float) -> tuple[float, float]:
    """The least log delta that the moments give at epsilon, rounded upwards, and its order."""

    def log_delta(order: Array) -> Array:
        most, less = log_moment(order), order * (epsilon + order_saving(order))
        return most - less + 1e-14 * (most + less + 1)

    found, order = _least(log_delta)
    return min(found, 0.0), order


def _least(objective: Callable[[Array], Array]) -> tuple[float, float]:
    """The least value found over orders, and the order: any order is sound, so none is missed."""
    centre, reach = 0.0, 40.0
    for _ in range(6):
        orders = np.exp(centre + reach * np.linspace(-1, 1, 81))
        values = objective(orders)
        best = int(np.argmin(values))
        centre, reach = math.log(orders[best]), reach / 20
    return float(values[best]), float(orders[best])


# --- Laws -----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Law:
    """Chances of the values of a sum of bounded losses, beside which there is a Gaussian one.

    With `side` = 1 they are too large if anything, and so is delta; with -1 too small.
    """

    values: Array
    log_chances: Array
    largest: float
    """Bound on the magnitude of the sum, to which its rounding errors are in proportion."""
    order: float
    log_moment: float
    log_outside: float = -math.inf
    """Log of the tilted chance of the values not listed; the tilt is by `order`."""
    mu: float = 0.0
    side: int = 1

    def log_delta(self, epsilon: float) -> float:
        """log E (1 - e^(epsilon - L))_+."""
        gaps = epsilon - self.side * 16 * UNIT * (epsilon + self.largest) - self.values
        if self.mu:
            logs = self.log_chances + log_gaussian_hockey_sticks(self.mu, gaps)
        else:
            above = gaps < 0
            logs = self.log_chances[above] + np.log(-np.expm1(gaps[above]))
        listed = _log_sum(logs)
        unlisted = (
            self.log_outside
            + self.log_moment
            + float(gaussian_log_moment(self.mu**2 / 2, np.asarray(self.order)))
            - self.order * (epsilon + float(order_saving(self.order)))
        )
        return min(float(np.logaddexp(listed, unlisted)) + self.side * 1e-11, 0.0)

    def epsilon(self, delta: float, high: float) -> float:
        """Where log_delta is log(delta), on the safe side; `high` if it is not below.

        log_delta falls by about `order` per unit there, so that a step of its excess at `high` over
        the order, doubled until the excess is positive, brackets the root closely.
        """
        level = math.log(delta)

        def excess(epsilon: float) -> float:
            return max(self.log_delta(epsilon) - level, -1e4)

        surplus = excess(high)
        if surplus >= 0:
            return high
        back = -surplus / self.order
        low = max(high - back, 0.0)
        while excess(low) <= 0:
            if low == 0:
                return 0.0
            high, back = low, 2 * back
            low = max(low - back, 0.0)
        found = float(optimize.brentq(excess, low, high, xtol=1e-300, rtol=1e-12))
        step = 1e-12
        while self.side * excess(found * (1 + self.side * step)) > 0:
            step *= 4
        return found * (1 + self.side * step)


def _log_sum(logs: Array) -> float:
    """log sum e^logs, of no terms or of terms that are all 0 as well."""
    largest = float(logs.max(initial=-math.inf))
    if largest == -math.inf:
        return largest
    return largest + math.log(float(np.exp(logs - largest).sum()))


def log_delta(losses: Losses, epsilon: float) -> float:
    """log delta at epsilon by the law of the losses."""
    if not losses.bounded:
        return log_gaussian_hockey_stick(losses.mu, epsilon) + 1e-11
    found, order = moment_log_delta(losses.log_moment, epsilon)
    return found if losses.calls > MOST_CALLS else law(losses, order).log_delta(epsilon)


def epsilon(losses: Losses, delta: float) -> float:
    """epsilon at delta by the law of the losses, of which some are not Gaussian."""
    high, order = moment_epsilon(losses.log_moment, delta)
    return high if losses.calls > MOST_CALLS else law(losses, order).epsilon(delta, high)


def law(losses: Losses, order: float) -> Law:
    """The law of the bounded losses, with the digits where this order needs them."""
    if len(losses.bounded) == len(losses.responses) == 1:
        return response_law(*losses.responses[0], order, mu=losses.mu)
    return mixed_law(losses, order)


def response_law(epsilon: float, count: int, order: float, mu: float = 0.0, side: int = 1) -> Law:
    """The binomial law of `count` randomised responses, each epsilon-DP."""
    share = float(special.expit((1 + 2 * order) * epsilon))
    reach = math.sqrt(count * (math.log(2) - LOG_OUTSIDE) / 2)
    first, last = math.floor(count * share - reach), math.ceil(count * share + reach)
    up = np.arange(max(first, 0), min(last, count) + 1, dtype=float)
    log_up = -math.log1p(math.exp(-epsilon))
    coefficients = special.gammaln(count + 1) - special.gammaln(up + 1)
    coefficients -= special.gammaln(count - up + 1)
    rounding = 16 * UNIT * (special.gammaln(count + 1) + count * (epsilon + 1))
    return Law(
        values=(2 * up - count) * epsilon,
        log_chances=coefficients + count * log_up - (count - up) * epsilon + side * rounding,
        largest=count * epsilon,
        order=order,
        log_moment=count * float(response_log_moment(epsilon, np.asarray(order))) + rounding,
        log_outside=LOG_OUTSIDE if side > 0 and len(up) <= count else -math.inf,
        mu=mu,
        side=side,
    )


def mixed_law(losses: Losses, order: float) -> Law:
    """The law of the sum of all bounded losses, on a grid: see the top of this file."""
    size, step = _grid(losses.bounded)
    parts = [(_on_grid(_response_cells(e), step), k) for e, k in losses.responses]
    parts += [(_on_grid(_laplace_cells(e, step), step), k) for e, k in losses.laplaces]
    transform, bound = np.ones(size // 2 + 1, dtype=complex), np.ones(size // 2 + 1)
    steepness, eta = np.ones(size // 2 + 1), (8 * math.log2(size) + 40) * UNIT
    log_moment = centre = squares = low = high = 0.0
    for (indices, log_chances), count in parts:
        tilted = log_chances + order * step * indices
        one = _log_sum(tilted)
        chances = np.exp(tilted - one)
        wrapped = np.bincount(indices % size, chances, size)
        factor = fft.rfft(wrapped)
        transform *= factor**count
        magnitude = np.abs(factor) + eta
        bound *= magnitude**count
        steepness += count / magnitude
        log_moment += count * one
        centre += count * float(chances @ indices)
        squares += count * float(np.ptp(indices)) ** 2
        low, high = low + count * int(indices.min()), high + count * int(indices.max())
    error = eta * 2 * float(np.sum(steepness * bound)) / size
    whole = high - low < size
    start = int(low) if whole else math.floor(centre) - size // 2
    window = start + np.arange(size)
    chances = np.maximum(fft.irfft(transform, size), 0.0)[window % size] + error
    largest = added(losses.bounded) + losses.calls * step
    rounding = 16 * UNIT * (4 * losses.calls + order * largest + abs(log_moment) + 16)
    return Law(
        values=np.asarray(step * window, dtype=np.float64),
        log_chances=np.log(chances) + log_moment - order * step * window + rounding,
        largest=largest,
        order=order,
        log_moment=log_moment + rounding,
        log_outside=-math.inf if whole else math.log(2) - 2 * (size / 2 - 2) ** 2 / squares,
        mu=losses.mu,
    )


def _grid(groups: tuple[Group, ...]) -> tuple[int, float]:
    """How many points, and how far apart: all values, or those that Hoeffding cannot exclude.

    Spreading adds at most step^2/4 to the variance of a loss, and `SPREAD` of the sum of their
    squares in all.
    """
    calls = sum(count for _, count in groups)
    squares = sum(count * epsilon**2 for epsilon, count in groups)
    reach = math.sqrt(2 * squares * (math.log(2) - LOG_OUTSIDE))
    most = added(groups)
    spare = 2 * calls + 3 if most < reach else 8
    wanted = min(most, reach) / math.sqrt(SPREAD * squares / calls) + spare
    size = int(min(2 ** math.ceil(math.log2(max(wanted, 1024))), MOST_VALUES))
    return size, 2 * min(most, reach) / max(size - spare, size // 2)


def _response_cells(epsilon: float) -> tuple[Array, Array]:
    """Losses of randomised response and their log chances."""
    losses = np.array([-epsilon, epsilon])
    return losses, -np.logaddexp(0.0, -losses)


def _laplace_cells(epsilon: float, step: float) -> tuple[Array, Array]:
    """Losses of a Laplace release and their log chances, cell by cell.

    The loss is +-epsilon outside the two modes, with the chances 1/2 and e^-epsilon/2; between them
    its density is e^((l - epsilon)/2)/4, so that e^-l has the mean e^-(c + d)/2 in a cell [c, d].
    A release of several numbers, with shifts that add up to the sensitivity, is not worse than one
    with all of it: with T = epsilon - l, P(T > t) e^(t/2) is 1/2 for one number and for two crosses
    1/2 once, from above, so by equal means E e^T the one has the larger mean of convex functions.
    """
    inner = step * np.arange(math.ceil(-epsilon / step), math.floor(epsilon / step) + 1)
    inner = inner[np.abs(inner) < epsilon]
    edges = np.concatenate([[-epsilon], inner, [epsilon]])
    c, d = edges[:-1], edges[1:]
    inside = (d - epsilon) / 2 + np.log(-np.expm1((c - d) / 2))
    losses = np.concatenate([[-epsilon], (c + d) / 2, [epsilon]])
    return losses, np.concatenate([[-epsilon], inside, [0.0]]) - math.log(2)


def _on_grid(cells: tuple[Array, Array], step: float) -> tuple[NDArray[np.int64], Array]:
    """Each loss spread over the grid points beside it, the mean of e^-loss kept."""
    losses, log_chances = cells
    below = np.floor(losses / step)
    over = np.clip(losses - below * step, 0.0, step)
    with np.errstate(divide="ignore"):
        scale = math.log(-math.expm1(-step))
        upper = np.log(-np.expm1(-over)) - scale
        lower = np.log(-np.expm1(over - step)) - over - scale
    indices = np.concatenate([below, below + 1]).astype(np.int64)
    spread = np.concatenate([log_chances + lower, log_chances + upper])
    used = spread > -np.inf
    return indices[used], spread[used]
