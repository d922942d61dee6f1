"""Noisy maxima, sparse vectors and counts: the errors of Lyu, Su, Li (2017) and their repairs.

Answers are those of counting queries, which a record moves by 1 each. Sources: Ding, Wang, Wang,
Zhang, Kifer (2018), "Detecting violations of differential privacy"; Bichsel, Steffen, Bogunovic,
Vechev (2021), "DP-Sniper"; Lyu, Su, Li (2017), "Understanding the sparse vector technique".
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from estimators.core.mechanisms import exponential_mechanism, report_noisy_max
from minimax.core.privacy import Pure
from verify.privacy.cases import Catalogue
from verify.privacy.neighbours import query_answers

Array = NDArray[np.float64]
SELECTION = Catalogue()
ANSWERS = {"neighbours": query_answers(5)}
LONG = {"neighbours": query_answers(10)}
THRESHOLD, CUTOFF = 1.0, 1


@SELECTION.private(Pure(1.0), **ANSWERS)
def noisy_max(answers: Array, rng: np.random.Generator) -> int:
    """The index of the largest answer with Laplace(2/epsilon)."""
    return report_noisy_max(answers, sensitivity=1.0, epsilon=1.0, rng=rng).value


@SELECTION.broken(Pure(1.0), **ANSWERS)
def noisy_max_with_half_the_noise(answers: Array, rng: np.random.Generator) -> int:
    """Laplace(1/epsilon)."""
    return int(np.argmax(answers + rng.laplace(size=len(answers))))


@SELECTION.broken(Pure(1.0), **ANSWERS)
def noisy_max_that_tells_the_value(answers: Array, rng: np.random.Generator) -> float:
    """The largest noisy answer instead of its index."""
    return float(np.max(answers + rng.laplace(scale=2.0, size=len(answers))))


@SELECTION.private(Pure(1.0), **ANSWERS)
def noisy_max_with_one_sided_noise(answers: Array, rng: np.random.Generator) -> int:
    """Exponential(2/epsilon) noise."""
    return int(np.argmax(answers + rng.exponential(2.0, size=len(answers))))


@SELECTION.broken(Pure(1.0), **ANSWERS)
def one_sided_noise_and_the_value(answers: Array, rng: np.random.Generator) -> float:
    """The largest answer with exponential noise is never below the largest answer."""
    return float(np.max(answers + rng.exponential(2.0, size=len(answers))))


@SELECTION.private(Pure(1.0), **ANSWERS)
def exponential_choice(answers: Array, rng: np.random.Generator) -> int:
    """Chances in proportion to exp(epsilon answer/2)."""
    return exponential_mechanism(answers, sensitivity=1.0, epsilon=1.0, rng=rng).value


@SELECTION.broken(Pure(1.0), **ANSWERS)
def exponential_choice_without_the_2(answers: Array, rng: np.random.Generator) -> int:
    """Chances in proportion to exp(epsilon answer)."""
    return int(np.argmax(answers + rng.gumbel(size=len(answers))))


@SELECTION.broken(Pure(1.0), **ANSWERS)
def unpaid_selection(answers: Array, rng: np.random.Generator) -> Array:
    """The largest answer is found without noise, and only its value pays."""
    best = int(np.argmax(answers))
    return np.array([best, answers[best] + rng.laplace()])


@SELECTION.private(Pure(1.0), **ANSWERS)
def paid_selection(answers: Array, rng: np.random.Generator) -> Array:
    """Half of the budget for the index, half for the value."""
    best = report_noisy_max(answers, sensitivity=1.0, epsilon=0.5, rng=rng).value
    return np.array([best, answers[best] + rng.laplace(scale=2.0)])


# --- The sparse vector technique ------------------------------------------------------------------


def above(
    answers: Array,
    rng: np.random.Generator,
    threshold_noise: float,
    answer_noise: float,
    cutoff: int | None = CUTOFF,
) -> Iterator[tuple[bool, float]]:
    """For each answer whether it is above the noisy threshold, and the noisy answer; no more after
    `cutoff` that were above."""
    limit = THRESHOLD + (rng.laplace(scale=threshold_noise) if threshold_noise else 0.0)
    found = 0
    for answer in answers:
        noisy = answer + (rng.laplace(scale=answer_noise) if answer_noise else 0.0)
        yield bool(noisy >= limit), float(noisy)
        found += noisy >= limit
        if cutoff is not None and found >= cutoff:
            return


@SELECTION.private(Pure(1.0), **LONG)
def sparse_vector(answers: Array, rng: np.random.Generator) -> list[bool]:
    """Threshold noise Laplace(2/epsilon), answers Laplace(4 cutoff/epsilon), stop at the cutoff."""
    return [told for told, _ in above(answers, rng, 2.0, 4.0 * CUTOFF)]


@SELECTION.broken(Pure(1.0), **LONG)
def sparse_vector_without_noise_on_answers(answers: Array, rng: np.random.Generator) -> list[bool]:
    """All answers on one side of the threshold in one data set, on both in the other."""
    return [told for told, _ in above(answers, rng, 1.0, 0.0, None)]


@SELECTION.broken(Pure(1.0), **LONG)
def sparse_vector_without_a_cutoff(answers: Array, rng: np.random.Generator) -> list[bool]:
    """It never stops."""
    return [told for told, _ in above(answers, rng, 2.0, 2.0, None)]


@SELECTION.broken(Pure(1.0), **LONG)
def sparse_vector_that_tells_the_value(
    answers: Array, rng: np.random.Generator
) -> list[float | None]:
    """The noise that decided is released with the answer, and so limits the threshold's."""
    return [noisy if told else None for told, noisy in above(answers, rng, 2.0, 2.0)]


@SELECTION.private(Pure(1.0), neighbours=query_answers(2))
def sparse_vector_that_tells_the_value_of_two(
    answers: Array, rng: np.random.Generator
) -> list[float | None]:
    """The same with two answers keeps the claim. Of v after one below the density is f(v - a2)
    times the integral of p(t) F(t - a1) over t <= v, and each of f and F, of scale 2, loses 1/2."""
    return sparse_vector_that_tells_the_value(answers, rng)


@SELECTION.private(Pure(1.0), neighbours=query_answers(4))
def sparse_vector_that_tells_two_values_of_four(
    answers: Array, rng: np.random.Generator
) -> list[float | None]:
    """With room for c values, scale 2 c and n answers epsilon is n/(2 c) of what is claimed: each
    of n factors f or F, as for one value of two, loses 1/(2 c), and all do at once where every
    value told is far below the answers. So n = 2 c keeps the claim, and n = 10 spends 2.5 of it."""
    told = above(answers, rng, 2.0, 4.0, 2)
    return [noisy if here else None for here, noisy in told]


@SELECTION.broken(Pure(1.0), **LONG)
def numerical_sparse_vector_that_does_not_pay(
    answers: Array, rng: np.random.Generator
) -> list[float | None]:
    """Fresh noise for two values at epsilon each, and nothing of the budget is left for it: the
    choice loses up to epsilon, and the two values twice as much."""
    told = [here for here, _ in above(answers, rng, 2.0, 8.0, 2)]
    fresh = answers[: len(told)] + rng.laplace(size=len(told))
    return [float(value) if here else None for here, value in zip(told, fresh, strict=True)]


@SELECTION.private(Pure(1.0), **LONG)
def numerical_sparse_vector(answers: Array, rng: np.random.Generator) -> list[float | None]:
    """Fresh noise for the value, half of the budget for each."""
    told = [here for here, _ in above(answers, rng, 4.0, 8.0)]
    fresh = answers[: len(told)] + rng.laplace(scale=2.0, size=len(told))
    return [float(value) if here else None for here, value in zip(told, fresh, strict=True)]


@SELECTION.broken(Pure(1.0), **LONG)
def sparse_vector_with_a_bare_threshold(answers: Array, rng: np.random.Generator) -> list[bool]:
    """No noise on the threshold: every answer is paid for, and only one was."""
    return [told for told, _ in above(answers, rng, 0.0, 1.0)]


@SELECTION.broken(Pure(1.0), **LONG)
def sparse_vector_with_noise_for_one(answers: Array, rng: np.random.Generator) -> list[bool]:
    """Four may be above, and the answers' noise does not know (Lee and Clifton, 2014)."""
    return [told for told, _ in above(answers, rng, 4.0, 4 / 3, 4)]


@SELECTION.broken(Pure(1.0), **LONG)
def sparse_vector_that_changes_its_threshold(
    answers: Array, rng: np.random.Generator
) -> list[bool]:
    """New threshold noise for every answer, each comparison at epsilon, as if it were one."""
    return [bool(a + rng.laplace() >= THRESHOLD + rng.laplace()) for a in answers]
