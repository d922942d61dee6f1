"""The mechanisms on which others tried their auditors, at the small budget at which they did.

Sources: Lyu, Su, Li (2017), "Understanding the sparse vector technique": Algorithms 1 to 6; Ding,
Wang, Wang, Zhang, Kifer (2018), "Detecting violations of differential privacy": noisy maxima,
histograms, sparse vectors; Bichsel, Steffen, Bogunovic, Vechev (2021), "DP-Sniper": all of these
at epsilon = 0.1, and reports, prefix sums and geometric noise. `selection` and `counts` have most
of them at epsilon = 1, where they are easily told apart.
"""

from __future__ import annotations

import math
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from minimax.core.privacy import Pure
from verify.privacy.cases import Catalogue
from verify.privacy.controls.selection import THRESHOLD, above
from verify.privacy.neighbours import histograms, query_answers

Array = NDArray[np.float64]
PUBLISHED = Catalogue()
EPSILON = 0.1
SMALL = Pure(EPSILON)
FIVE = {"neighbours": query_answers(5)}
TEN = {"neighbours": query_answers(10)}
ADDED = {"neighbours": histograms(5, added=True)}


# --- Noisy maxima and histograms ------------------------------------------------------------------


@PUBLISHED.private(SMALL, **FIVE)
def index_of_the_largest(answers: Array, rng: np.random.Generator) -> int:
    """Laplace(2/epsilon) on each answer, the index is told."""
    return int(np.argmax(answers + rng.laplace(scale=2 / EPSILON, size=len(answers))))


@PUBLISHED.broken(SMALL, **FIVE)
def value_of_the_largest(answers: Array, rng: np.random.Generator) -> float:
    """The same noise, and the value is told."""
    return float(np.max(answers + rng.laplace(scale=2 / EPSILON, size=len(answers))))


@PUBLISHED.broken(SMALL, **FIVE)
def value_of_the_largest_with_one_sided_noise(answers: Array, rng: np.random.Generator) -> float:
    """Exponential noise: the value is never below the largest answer."""
    return float(np.max(answers + rng.exponential(2 / EPSILON, size=len(answers))))


@PUBLISHED.private(SMALL, **ADDED)
def first_bin_of_a_histogram(counts: Array, rng: np.random.Generator) -> float:
    """Laplace(1/epsilon) on each count."""
    return float(counts[0] + rng.laplace(scale=1 / EPSILON))


@PUBLISHED.broken(SMALL, **ADDED)
def first_bin_with_scale_epsilon(counts: Array, rng: np.random.Generator) -> float:
    """Laplace(epsilon): a hundred times too little."""
    return float(counts[0] + rng.laplace(scale=EPSILON))


@PUBLISHED.broken(SMALL, **TEN)
def prefix_sums_of_moving_answers(answers: Array, rng: np.random.Generator) -> Array:
    """Laplace(1/epsilon) on each of ten answers, all of which a record may move."""
    return np.asarray(np.cumsum(answers + rng.laplace(scale=1 / EPSILON, size=len(answers))))


# --- Sparse vectors: Algorithms 1 to 6 ------------------------------------------------------------


@PUBLISHED.private(SMALL, **TEN)
def sparse_vector_1(answers: Array, rng: np.random.Generator) -> list[bool]:
    """Laplace(2/epsilon) on the threshold, Laplace(4/epsilon) on answers, one may be above."""
    return [told for told, _ in above(answers, rng, 2 / EPSILON, 4 / EPSILON)]


@PUBLISHED.private(SMALL, **TEN)
def sparse_vector_2(answers: Array, rng: np.random.Generator) -> list[bool]:
    """Fresh noise on the threshold after each of two that are above, all scales twice as large."""
    told: list[bool] = []
    while len(told) < len(answers) and sum(told) < 2:
        left = answers[len(told) :]
        told += [each for each, _ in above(left, rng, 4 / EPSILON, 8 / EPSILON)]
    return told


@PUBLISHED.broken(SMALL, **TEN)
def sparse_vector_3(answers: Array, rng: np.random.Generator) -> list[float]:
    """The noisy answer that was above is told; 0 stands for those below."""
    return [v if told else 0.0 for told, v in above(answers, rng, 2 / EPSILON, 2 / EPSILON)]


@PUBLISHED.broken(SMALL, **TEN)
def sparse_vector_4(answers: Array, rng: np.random.Generator) -> list[bool]:
    """Laplace(4/epsilon) and Laplace(4/(3 epsilon)): epsilon is 7/4 of what is claimed."""
    return [told for told, _ in above(answers, rng, 4 / EPSILON, 4 / (3 * EPSILON))]


@PUBLISHED.broken(SMALL, **TEN)
def sparse_vector_5(answers: Array, rng: np.random.Generator) -> list[bool]:
    """No noise on answers, and no end."""
    return [told for told, _ in above(answers, rng, 2 / EPSILON, 0.0, None)]


@PUBLISHED.broken(SMALL, **TEN)
def sparse_vector_6(answers: Array, rng: np.random.Generator) -> list[bool]:
    """Noise on both, and no end."""
    return [told for told, _ in above(answers, rng, 2 / EPSILON, 2 / EPSILON, None)]


@PUBLISHED.broken(SMALL, **TEN)
def sparse_vectors_3_and_4_at_once(answers: Array, rng: np.random.Generator) -> list[float]:
    """Both with room for two, the one after the other."""
    third = [v if told else 0.0 for told, v in above(answers, rng, 2 / EPSILON, 4 / EPSILON, 2)]
    return [*third, *(told for told, _ in above(answers, rng, 4 / EPSILON, 4 / (3 * EPSILON), 2))]


def unlike_halves(told: list[bool], length: int) -> int:
    """In how many places the answers are not: above in the first half, below in the second."""
    wanted = [k < length // 2 for k in range(length)]
    return sum(a != b for a, b in zip(told, wanted, strict=False)) + length - len(told)


@PUBLISHED.broken(SMALL, **TEN)
def sparse_vector_6_by_halves(answers: Array, rng: np.random.Generator) -> int:
    """One number of Algorithm 6."""
    return unlike_halves(sparse_vector_6(answers, rng), len(answers))


@PUBLISHED.broken(SMALL, **TEN)
def place_and_value_of_sparse_vector_3(
    answers: Array, rng: np.random.Generator
) -> tuple[int, float]:
    """How many were below, and the last of what Algorithm 3 tells."""
    told = sparse_vector_3(answers, rng)
    return sum(value == 0 for value in told), told[-1]


@PUBLISHED.private(SMALL, **TEN)
def numerical_sparse_vector_of_two(answers: Array, rng: np.random.Generator) -> list[float]:
    """A third of the budget for the threshold, for the choice and for fresh values of two."""
    limit = THRESHOLD + rng.laplace(scale=3 / EPSILON)
    told: list[float] = []
    for answer in answers:
        here = answer + rng.laplace(scale=12 / EPSILON) >= limit
        told.append(float(answer + rng.laplace(scale=6 / EPSILON)) if here else 0.0)
        if np.count_nonzero(told) == 2:
            break
    return told


# --- Reports --------------------------------------------------------------------------------------

FILTER, HASHES = 20, 4
USERS = {"values": list(range(10))}


def bloom_filter(value: int) -> NDArray[np.bool_]:
    """Four of twenty bits are 1, or fewer where hashes agree."""
    digests = (sha256(f"{value}:{k}".encode()).digest() for k in range(HASHES))
    places = [int.from_bytes(digest[:8]) % FILTER for digest in digests]
    return np.isin(np.arange(FILTER), places)


FILTERS = [bloom_filter(value) for value in range(10)]


def flipped(value: int, lie: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """The filter of a value, each bit another one with this chance."""
    return np.asarray(FILTERS[value] ^ (rng.random(FILTER) < lie))


ONCE = 0.475
"""The chance of a lie in RAPPOR's one-time report with f = 0.95."""
LASTING = (0.375, 0.45)
"""Those of its two steps with f = 0.75, p = 0.45, q = 0.55."""
BOTH = 0.375 + 0.25 * 0.45
"""Of a lie after both: the bit is kept with chance 1/4, and else a coin is told."""


def bits_at(lie: float, count: int) -> Pure:
    """What so many bits cost."""
    return Pure(count * math.log((1 - lie) / lie), "local")


@PUBLISHED.private(bits_at(ONCE, 2 * HASHES), **USERS)
def one_time_report(value: int, rng: np.random.Generator) -> Array:
    """Two values differ in eight bits at most, each told at epsilon = 0.1."""
    return flipped(value, ONCE, rng).astype(float)


@PUBLISHED.broken(bits_at(ONCE, HASHES), **USERS)
def one_time_report_paid_for_one_filter(value: int, rng: np.random.Generator) -> Array:
    """As if two values differed in the four bits of one of them."""
    return one_time_report(value, rng)


@PUBLISHED.private(bits_at(BOTH, 2 * HASHES), **USERS)
def lasting_report(value: int, rng: np.random.Generator) -> Array:
    """A bit is replaced by a coin three times in four, and then told with chance 0.45 or 0.55."""
    first, second = LASTING
    kept = flipped(value, first, rng)
    return np.asarray(kept ^ (rng.random(FILTER) < second), dtype=float)


@PUBLISHED.broken(bits_at(BOTH, HASHES), **USERS)
def lasting_report_paid_for_one_filter(value: int, rng: np.random.Generator) -> Array:
    """As if two values differed in the four bits of one of them."""
    return lasting_report(value, rng)


# --- Geometric noise on whole numbers -------------------------------------------------------------

MOST = 5
COUNT = {"neighbours": [(np.array([float(c)]), np.array([c + 1.0])) for c in range(MOST)]}


def truncated(count: int, halvings: int, rng: np.random.Generator) -> int:
    """Geometric noise truncated to 0, ..., 5, of the ratio 1 + 2^-halvings (Balcer, Vadhan)."""
    chance = 1 / (1 + 2**halvings)
    return int(np.clip(count + rng.geometric(chance) - rng.geometric(chance), 0, MOST))


@PUBLISHED.private(SMALL, **COUNT)
def geometric_noise_with_whole_powers(answers: Array, rng: np.random.Generator) -> int:
    """The ratio 1 + 2^-ceil(log2(1/epsilon)) is at most e^epsilon."""
    return truncated(int(answers[0]), math.ceil(math.log2(1 / EPSILON)), rng)


@PUBLISHED.broken(SMALL, **COUNT)
def geometric_noise_with_the_wrong_logarithm(answers: Array, rng: np.random.Generator) -> int:
    """log for log2: epsilon is 0.118."""
    return truncated(int(answers[0]), math.ceil(math.log(2 / EPSILON)), rng)


@PUBLISHED.private(SMALL, **COUNT)
def twenty_reports_of_a_count(answers: Array, rng: np.random.Generator) -> Array:
    """A twentieth of the budget each."""
    return np.asarray(answers[0] + rng.laplace(scale=20 / EPSILON, size=20))


@PUBLISHED.broken(SMALL, **COUNT)
def twenty_reports_at_the_price_of_ten(answers: Array, rng: np.random.Generator) -> Array:
    """A tenth of the budget each, twenty times."""
    return np.asarray(answers[0] + rng.laplace(scale=10 / EPSILON, size=20))
