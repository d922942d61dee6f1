"""CWZ19, §5 and §6: the data, the sentences and the settings that several panels share."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from verify.figures.panel import Fit, Point

Array = NDArray[np.float64]
Rng = np.random.Generator
Named = dict[str, str]

LOW_DIMENSION = 20
SPARSITY = 20
SPARSITIES = (10, 15, 20, 25, 30, 35, 40)
L = 3.0
"""d times an eigenvalue of E x x' is 1/3 for entries uniform on (-1/sqrt d, 1/sqrt d)."""

# --- sentences, as the paper prints them ----------------------------------------------------------

TRUNCATION = (
    "the data-driven method incurs comparable errors to the no truncation case and the theoretical"
    " choice of R"
)
SELECTION = (
    "selecting s by cross validation leads to errors comparable with their counterparts when the"
    " algorithms are supplied with the true sparsity"
)
LARGE_GAPS = (
    "There are significant gaps in performance between our algorithms and those in [41, 45]."
)
RIDGE = (
    "the ridge regression subroutine of the algorithm is frequently activated even when n is very"
    " large"
)
OUTSIDE = "the solution is often non-sparse with large values outside the true support of β"
CONVERGES = (
    "our algorithm guarantees a sparse solution by construction and converges to the non-private"
    " solution as n grows"
)
ACCURATE = (
    "achieve accuracy comparable to or better than that of existing differentially private"
    " algorithms"
)
SHRINKING = (
    "The numerical results corroborate the cost of privacy delineated in the theorems by exhibiting"
    " shrinking but non-vanishing gaps of accuracy between the private algorithms and their"
    " non-private counterparts."
)

OURS = "Ours, not the paper's: what else these curves show."
"""In place of a sentence, over comparisons that the paper does not make."""

# --- facts ----------------------------------------------------------------------------------------

BUDGET: Named = {"budget": "(0.5, 10/n^1.1)"}
DELTA = "n δ = 3.98 at n = 10⁴: such a δ lets records be published."
NOT_PRIVATE = "The noise printed for Algorithm 3.1 does not give the budget that is asked for."
BEYOND = (
    "No truncation: noise for the largest entry in the data, which no finite noise makes private."
)
LOW: Named = {"d": "20", "n": "from 5000 to 100000", **BUDGET}
HIGH: Named = {"d": "d = n", "n": "from 100 to 2000", "s": "s = s* = 20", **BUDGET}
WIDE: Named = {"d": "d = 2n", "n": "from 2000 to 4000", "s": "s = s* = 20", **BUDGET}
GAUSSIAN: Named = {"records": "N(μ, I), a new μ in each repetition"}
CUBE: Named = {"μ": "coordinates uniform on (-10, 10)"}
SPARSE_CUBE: Named = {"μ": "the first s* coordinates uniform on (-10, 10), others 0"}
LINEAR: Named = {
    "design": "entries uniform on (-1/√d, 1/√d)",
    "noise": "N(0, 1)",
    "β": "uniform on the unit sphere (sparse: of the first s* coordinates)",
}
PLACES: Named = {"places": "the values of n on the axis"}
SEEN_PLACES: Named = {"places": "n from 2000 to 32000, beyond the paper's, for β to be seen"}
TAILS = (0.025, 0.975)
"""The percentiles of §5.1."""
CELLS = 512
PERCENTILES: Named = {
    "percentiles": "§5.1 does not say whether of all entries or of each coordinate: both",
    "pooled": "private 2.5 and 97.5 per cent points of all entries; a tenth of ε",
    "per coordinate": (
        f"exponential mechanism on {CELLS} cells of |x| ≤ 10 + 4√log n, a tenth of the zCDP budget"
        " for all; or the data's own, not charged"
    ),
}
CENTRAL = {"R": "quantile", "quantile": 0.95}
"""What is cut of symmetric data at their outer 2.5 per cent points, by one search."""
SYMMETRIC: Named = {
    "data-driven R": "private 95 per cent point of magnitudes, as data are symmetric; a tenth of ε",
}
POOLED: Named = {
    "percentiles": "§5.1 does not say whether of all entries or of each coordinate",
    "pooled R": "private 95 per cent point of the magnitudes of all entries; a tenth of ε",
}
EACH_FREE: Named = {
    "R per coordinate": "the data's own 2.5 and 97.5 per cent points, not charged: not private",
}
INFERRED: Named = {"R": "data-driven: §5.2 says so of “this section”, §5.3 says nothing"}
GIVEN_R: Named = {"R": "data-driven"}
CHOICE: Named = {
    "s": "5-fold, a uniform grid from s*/2 to 2s*; exponential mechanism on truncated errors",
}
CV_SETTINGS: Named = {
    "grid": "10, 15, …, 40",
    "cost": "the choice has half of what is left of the budget; the share is not said",
}
SPLIT = "The paper chooses s privately; how the budget is divided it does not say."
RESCALED: Named = {
    "design": "entries uniform on (-1/√s, 1/√s), so that β can be seen; the paper has 1/√d",
    "d": "100: with d = n nothing private beats 0 up to n = 4000",
}
DENSE_NS = (5_000.0, 10_000.0, 20_000.0, 40_000.0, 70_000.0, 100_000.0)
DENSE_QUICK = (5_000.0, 20_000.0, 100_000.0)
HIGH_NS = (100.0, 200.0, 500.0, 1_000.0, 1_500.0, 2_000.0)
HIGH_QUICK = (100.0, 500.0, 2_000.0)
WIDE_NS = (2_000.0, 2_500.0, 3_000.0, 3_500.0, 4_000.0)
WIDE_QUICK = (2_000.0, 3_000.0)
SEEN_NS = (2_000.0, 4_000.0, 8_000.0, 16_000.0, 32_000.0)
SEEN_QUICK = (2_000.0, 32_000.0)


# --- points ---------------------------------------------------------------------------------------


def delta(n: float) -> float:
    """10/n^1.1."""
    return 10 / n**1.1


def dense_point(n: float) -> Point:
    """d = 20."""
    return {"n": n, "d": LOW_DIMENSION, "epsilon": 0.5, "delta": delta(n)}


def sparse_point(width: Callable[[float], float]) -> Callable[[float], Point]:
    """s = s* = 20 among `width(n)` coordinates; entries of a design within 1/sqrt(d)."""

    def point(n: float) -> Point:
        d = width(n)
        found = {"n": n, "d": d, "s": SPARSITY, "epsilon": 0.5, "delta": delta(n)}
        return {**found, "entry": 1 / math.sqrt(d)}

    return point


def seen_point(n: float) -> Point:
    """The rescaled design, in which beta can be seen: 100 columns within 1/sqrt(s)."""
    return {**sparse_point(lambda n: 100.0)(n), "entry": 1 / math.sqrt(SPARSITY)}


def theory_range(point: Point) -> float:
    """R = 4 sigma sqrt(log n), as printed: without what |mu_j| <= 10 needs."""
    return 4 * math.sqrt(math.log(point["n"]))


def size(point: Point) -> int:
    """How long an estimate is."""
    return int(point["d"])


# --- draws ----------------------------------------------------------------------------------------


class Means(NamedTuple):
    """Records N(mu, I) and their mean."""

    records: Array
    truth: Array


class Regression(NamedTuple):
    """Covariates, responses and their coefficients."""

    X: Array
    y: Array
    truth: Array


def means(point: Point, rng: Rng) -> Means:
    """mu_j uniform on (-10, 10), for the first s* coordinates if there is an s."""
    d = int(point["d"])
    mu = np.zeros(d)
    seen = int(point.get("s", d))
    mu[:seen] = rng.uniform(-10, 10, seen)
    records = rng.standard_normal((int(point["n"]), d))
    records += mu
    return Means(records, mu)


def regression(point: Point, rng: Rng) -> Regression:
    """Entries uniform on (-b, b), b = 1/sqrt d or the point's; beta uniform on the unit sphere, of
    the first s* coordinates if there is an s; noise N(0, 1)."""
    n, d = int(point["n"]), int(point["d"])
    entry = point.get("entry", 1 / math.sqrt(d))
    seen = int(point.get("s", d))
    beta = np.zeros(d)
    beta[:seen] = rng.standard_normal(seen)
    beta /= np.linalg.norm(beta)
    X = rng.uniform(-entry, entry, (n, d))
    return Regression(X, X @ beta + rng.standard_normal(n), beta)


def distance(estimate: Array, sample: Means | Regression) -> float:
    """The l2 error."""
    return float(np.linalg.norm(estimate - sample.truth))


def without_guarantee(release: Fit) -> Fit:
    """A release whose noise is for a bound that was read off the data: nothing is guaranteed."""
    return release._replace(epsilon=math.inf)


def supports(estimate: Array, sample: Means | Regression) -> dict[str, float]:
    """How many coordinates of an estimate are not 0, how many of them where the truth is 0, and how
    much of the squared length lies there."""
    wrong = np.where(sample.truth == 0, estimate, 0.0)
    square = float(np.sum(estimate**2))
    return {
        "non-zero": float(np.count_nonzero(estimate)),
        "outside": float(np.count_nonzero(wrong)),
        "length outside": float(np.sum(wrong**2)) / square if square else 0.0,
    }
