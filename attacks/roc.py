r"""The ROC curve of the game: how it is measured, what privacy allows, how it is drawn.

**What is measured.** In one trial with n outsiders, accept what beats the (k+1)-th best of them.
Members are accepted at the rate measured; a further outsider, in a position drawn at random, with
chance at most (k+1)/n, whatever the laws of the scores in the n positions. *Proof.* Let z_i be the
outsider's score in position i, T the threshold and a_i the (k+1)-th best of the others. Then
T >= a_i, and z_i >= T if and only if z_i >= a_i. As a further score w_i in position i has the law
of z_i and is independent of a_i, P(w_i > T) <= P(w_i >= a_i) = P(z_i >= a_i) = P(z_i >= T), and the
last sum to k + 1. (Ties are broken at random, as if a small one were added to each score. Where all
positions have one law the chance is (k+1)/(n+1).) So the rate given is never too low.

**What privacy allows.** For each position the rates (q, p) of a test satisfy p <= T(q), T the
trade-off of the guarantee. T is concave, so the averages over positions and trials satisfy it too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from attacks.estimate import Estimate
from minimax.core.privacy import Privacy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
CURVE_POINTS = 200
"""Points of a measured curve, about; of a limit, twice as many."""


def allowed_rate(privacy: Privacy, false_positive: ArrayLike) -> Array:
    """The largest true positive rate that `privacy` allows at false positive rates."""
    with np.errstate(divide="ignore"):
        return privacy.tradeoff_log(np.log(np.asarray(false_positive, dtype=float)))


@dataclass(frozen=True, eq=False)
class RocCurve:
    """A measured curve from (0, 0) to (1, 1) and the privacy that limits it, if any."""

    fpr: Array
    tpr: Array
    privacy: Privacy | None

    def limit(self) -> tuple[Array, Array]:
        """The limit of the true positive rate, as a curve over false positive rates."""
        if self.privacy is None:
            raise ValueError("privacy must be given: nothing limits the curve")
        rates = np.union1d(np.linspace(0, 1, 2 * CURVE_POINTS + 1), self.fpr)
        return rates, allowed_rate(self.privacy, rates)

    def draw(self, axis: Axes, measured: str) -> None:
        """The curve, called `measured`, its limit, and guessing."""
        axis.plot(self.fpr, self.tpr, color="C3", label=measured)
        if self.privacy is not None:
            axis.plot(*self.limit(), color="C0", linestyle="--", label=f"limit: {self.privacy}")
        axis.plot([0, 1], [0, 1], color="grey", linestyle=":", label="guessing")
        axis.set(xlabel="outsiders accepted (FPR)", ylabel="members accepted (TPR)", title="ROC")
        axis.legend(loc="lower right")


def draw_scores(axis: Axes, members: Array, outsiders: Array) -> None:
    """Both histograms on common bins."""
    edges = np.histogram_bin_edges(np.concatenate([members, outsiders]), bins=60).tolist()
    for scores, label, colour in ((outsiders, "outsiders", "C0"), (members, "members", "C3")):
        axis.hist(scores, bins=edges, density=True, alpha=0.5, color=colour, label=label)
    axis.axvline(0.0, color="grey", linestyle=":", label="mean of an outsider (theory)")
    axis.set(xlabel="score A", ylabel="density", title="Scores")
    axis.legend()
    axis.set_ylim(top=1.3 * axis.get_ylim()[1])  # room for the legend


def blank_figure(width: float, height: float) -> Figure:
    """A figure in inches. Nothing else here, or in the attacks, needs matplotlib."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def area(inside: Array, outside: Array) -> float:
    """The Mann-Whitney statistic: P(member > outsider) + P(tie)/2."""
    n = len(inside)
    ranks = stats.rankdata(np.concatenate([inside, outside]))
    return float((ranks[:n].sum() - n * (n + 1) / 2) / n**2)


def levels(n: int) -> NDArray[np.int64]:
    """The ranks k at which the curve is kept: all of them, or a dense choice."""
    if n <= CURVE_POINTS:
        return np.arange(n)
    both = [np.linspace(0, n - 1, CURVE_POINTS), np.geomspace(1, n - 1, CURVE_POINTS // 2)]
    return np.unique(np.concatenate(both).astype(np.int64))


def accepted(inside: Array, outside: Array) -> Array:
    """The share of members above the (k+1)-th best outsider, for k in `levels`.

    Ties are broken by chance, and what that gives on average is taken: if a outsiders are better
    than a score and m have it, one more who has it is above the (k+1)-th best of all with the
    chance (k + 1 - a)/(m + 1), that of a uniform number above the (k + 1 - a)-th best of m.
    """
    members, outsiders = np.sort(inside), np.sort(outside)
    k = levels(len(outside))
    threshold = outsiders[::-1][k]
    better, tied = _above(members, threshold)
    above, level = _above(outsiders, threshold)
    return np.asarray((better + tied * (k + 1 - above) / (level + 1)) / len(members))


def _above(ordered: Array, threshold: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How many numbers are above each threshold, and how many are equal to it."""
    first = np.searchsorted(ordered, threshold, side="left")
    last = np.searchsorted(ordered, threshold, side="right")
    return len(ordered) - last, last - first


class Averaged(NamedTuple):
    """The trials' curves, averaged, and what one level of acceptance shows."""

    fpr: Array
    tpr: Array
    level: float
    """The rate of accepted outsiders at which the next two are measured."""
    accepted: Estimate
    """Members accepted there: valid for every law of the scores."""
    advantage: Estimate
    """That less the level, with Student's interval."""


def averaged(shares: Sequence[Array], n: int, confidence: float) -> Averaged:
    """The average of the trials' `accepted`.

    The level is chosen on one half of the trials and measured on the other (a single trial does
    both, and gets no interval).
    """
    rates, trials = (levels(n) + 1) / n, np.array(shares)
    fpr = np.concatenate([[0.0], rates])
    tpr = np.concatenate([[0.0], trials.mean(axis=0)[:-1], [1.0]])  # at rate 1 all are accepted
    half = len(trials) // 2
    chosen = int(np.argmax(trials[: max(half, 1)].mean(axis=0) - rates))
    seen, level = trials[half:, chosen], float(rates[chosen])
    return Averaged(
        fpr,
        tpr,
        level,
        Estimate.of_rates(seen, confidence),
        Estimate.over(seen - level, confidence),
    )
