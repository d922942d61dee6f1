"""Means with noise: scale, sensitivity, clip, composition and sampling, right and wrong."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from estimators.core.mechanisms import gaussian_scale
from minimax.core.privacy import Approximate, Gaussian, Pure, Renyi, ZeroConcentrated
from verify.privacy.cases import Catalogue

Array = NDArray[np.float64]
MEANS = Catalogue()
NUMBERS = np.array([0.3, -0.2, 0.8, -0.6, 0.1])
ROWS = np.outer(NUMBERS, [1.0, -1.0, 0.5, 0.2])
UNIT = {"data": NUMBERS}
TABLE = {"data": ROWS}


def clipped_mean(x: Array) -> Any:
    """The mean of numbers in [-1, 1], coordinate by coordinate: a record moves it by 2/n."""
    return np.clip(x, -1, 1).mean(axis=0)


@MEANS.private(Pure(1.0), **UNIT)
def laplace_mean(x: Array, rng: np.random.Generator) -> float:
    """Laplace(2/(n epsilon))."""
    return float(clipped_mean(x) + rng.laplace(scale=2 / len(x)))


@MEANS.broken(Pure(1.0), **UNIT)
def laplace_mean_without_the_factor_2(x: Array, rng: np.random.Generator) -> float:
    """Laplace(1/(n epsilon)): to replace a record moves the mean by 2/n."""
    return float(clipped_mean(x) + rng.laplace(scale=1 / len(x)))


@MEANS.broken(Pure(1.0), **UNIT)
def laplace_mean_without_a_clip(x: Array, rng: np.random.Generator) -> float:
    """Nothing bounds a record."""
    return float(x.mean() + rng.laplace(scale=2 / len(x)))


@MEANS.broken(Pure(1.0), **UNIT)
def laplace_mean_clipped_too_late(x: Array, rng: np.random.Generator) -> float:
    """The mean is clipped and the records are not: one of them moves it by 2."""
    return float(np.clip(x.mean(), -1, 1) + rng.laplace(scale=2 / len(x)))


@MEANS.broken(Pure(1.0), data=NUMBERS, bounds=(-1, 1))
def sensitivity_read_off_the_data(x: Array, rng: np.random.Generator) -> float:
    """The range of the data sets the scale, and equal records get no noise."""
    return float(x.mean() + rng.laplace(scale=np.ptp(x) / len(x) + 1e-9))


@MEANS.broken(Pure(1.0), **UNIT)
def laplace_mean_with_less_noise(x: Array, rng: np.random.Generator) -> float:
    """0.7 of it, so that epsilon is 1.43."""
    return float(clipped_mean(x) + rng.laplace(scale=0.7 * 2 / len(x)))


@MEANS.broken(Pure(1.0), **UNIT)
def uniform_noise(x: Array, rng: np.random.Generator) -> float:
    """Bounded noise: what one side releases the other cannot."""
    return float(clipped_mean(x) + rng.uniform(-20, 20) / len(x))


@MEANS.broken(Pure(1.0), **UNIT)
def clamped_noise(x: Array, rng: np.random.Generator) -> float:
    """The noise, not the release, is clamped: its ends are atoms that tell the mean."""
    scale = 2 / len(x)
    return float(clipped_mean(x) + np.clip(rng.laplace(scale=scale), -3 * scale, 3 * scale))


@MEANS.private(Pure(1.0), **UNIT)
def clamped_release(x: Array, rng: np.random.Generator) -> float:
    """Clamped after the noise: post-processing."""
    return float(np.clip(clipped_mean(x) + rng.laplace(scale=2 / len(x)), -1, 1))


@MEANS.broken(Pure(1.0), **UNIT)
def gaussian_noise_for_a_pure_claim(x: Array, rng: np.random.Generator) -> float:
    """Gaussian noise is epsilon-DP for no epsilon."""
    return float(clipped_mean(x) + rng.normal(scale=2 / len(x)))


@MEANS.private(Gaussian(1.0), **TABLE)
def gaussian_mean(x: Array, rng: np.random.Generator) -> Array:
    """Each of four coordinates moves by 2/n, so the mean moves by 4/n in l2."""
    return np.asarray(clipped_mean(x) + rng.normal(scale=4 / len(x), size=x.shape[1]))


@MEANS.broken(Gaussian(1.0), **TABLE)
def gaussian_mean_without_the_root_of_d(x: Array, rng: np.random.Generator) -> Array:
    """The sensitivity of one coordinate, for four."""
    return np.asarray(clipped_mean(x) + rng.normal(scale=2 / len(x), size=x.shape[1]))


@MEANS.broken(Gaussian(1.0), **UNIT)
def variance_for_deviation(x: Array, rng: np.random.Generator) -> float:
    """The variance is given where a standard deviation is asked for."""
    return float(clipped_mean(x) + rng.normal(scale=(2 / len(x)) ** 2))


@MEANS.private(Approximate(1.0, 1e-5), **UNIT)
def analytic_gaussian(x: Array, rng: np.random.Generator) -> float:
    """The exact calibration of Balle and Wang (2018)."""
    scale = gaussian_scale(Approximate(1.0, 1e-5), 2 / len(x))
    return float(clipped_mean(x) + rng.normal(scale=scale))


@MEANS.broken(Approximate(1.0, 1e-3), **UNIT)
def gaussian_without_the_logarithm(x: Array, rng: np.random.Generator) -> float:
    """Scale sensitivity/epsilon, as if the noise were Laplace's: log(1/delta) is missing."""
    return float(clipped_mean(x) + rng.normal(scale=2 / len(x)))


@MEANS.private(ZeroConcentrated(0.5), **UNIT)
def concentrated_gaussian(x: Array, rng: np.random.Generator) -> float:
    """Scale sensitivity/sqrt(2 rho)."""
    return float(clipped_mean(x) + rng.normal(scale=2 / len(x)))


@MEANS.broken(ZeroConcentrated(0.5), **UNIT)
def concentrated_gaussian_by_half(x: Array, rng: np.random.Generator) -> float:
    """Half the scale, hence four times rho."""
    return float(clipped_mean(x) + rng.normal(scale=1 / len(x)))


@MEANS.private(Renyi(4.0, 2.0), **UNIT)
def renyi_gaussian(x: Array, rng: np.random.Generator) -> float:
    """alpha mu^2/2 = 2 with alpha = 4, mu = 1."""
    return float(clipped_mean(x) + rng.normal(scale=2 / len(x)))


@MEANS.broken(Renyi(4.0, 2.0), **UNIT)
def renyi_gaussian_without_the_square(x: Array, rng: np.random.Generator) -> float:
    """alpha mu/2 is taken for alpha mu^2/2 with mu = 1.8: epsilon is 6.5."""
    return float(clipped_mean(x) + rng.normal(scale=2 / len(x) / 1.8))


@MEANS.broken(Pure(1.0), **UNIT)
def two_answers_for_the_price_of_one(x: Array, rng: np.random.Generator) -> Array:
    """The mean and the share of positive records, each 1-DP."""
    answers = np.array([clipped_mean(x), np.mean(x > 0)])
    return np.asarray(answers + rng.laplace(size=2) * [2 / len(x), 1 / len(x)])


@MEANS.private(Pure(1.0), **UNIT)
def two_answers_both_paid(x: Array, rng: np.random.Generator) -> Array:
    """Half of the budget each."""
    answers = np.array([clipped_mean(x), np.mean(x > 0)])
    return np.asarray(answers + rng.laplace(size=2) * [4 / len(x), 2 / len(x)])


@MEANS.broken(ZeroConcentrated(0.1), **UNIT)
def rho_added_as_if_it_were_mu(x: Array, rng: np.random.Generator) -> Array:
    """Nine answers of rho/3 each: as if rho, like mu, added up in squares."""
    scale = 2 / len(x) / math.sqrt(2 * 0.1 / 3)
    return np.asarray(clipped_mean(x) + rng.normal(scale=scale, size=9))


@MEANS.broken(Pure(1.0), **UNIT)
def one_noise_for_two_answers(x: Array, rng: np.random.Generator) -> Array:
    """The noise cancels in the difference of the mean and the mean of squares."""
    noise = rng.laplace(scale=4 / len(x))
    return np.array([clipped_mean(x) + noise, clipped_mean(x**2) + noise])


@MEANS.broken(Pure(1.0), **UNIT)
def noise_with_a_fixed_seed(x: Array, rng: np.random.Generator) -> float:
    """A generator of its own, made anew in every call: always the same noise."""
    return float(clipped_mean(x) + np.random.default_rng(7).laplace(scale=2 / len(x)))


class _Cached:
    noise: dict[int, float] = {}  # noqa: RUF012 (the bug that is meant)


@MEANS.broken(Pure(1.0), **UNIT)
def cached_noise(x: Array, rng: np.random.Generator) -> float:
    """Drawn once for each number of records, and used ever after."""
    noise = _Cached.noise.setdefault(len(x), float(rng.laplace(scale=2 / len(x))))
    return float(clipped_mean(x) + noise)


@MEANS.private(Pure(math.log1p(0.2 * math.expm1(2.0))), data=NUMBERS)
def one_record_in_five(x: Array, rng: np.random.Generator) -> float:
    """A random record of five at epsilon = 2: amplified to log(1 + (e^2 - 1)/5) = 0.82."""
    chosen = np.clip(x[rng.integers(len(x))], -1, 1)
    return float(chosen + rng.laplace(scale=1.0)) if len(x) == 5 else 0.0


@MEANS.broken(Pure(0.4), data=NUMBERS)
def amplified_in_proportion(x: Array, rng: np.random.Generator) -> float:
    """The same, as if it were 2/5: the rate multiplies e^epsilon - 1, not epsilon."""
    return one_record_in_five(x, rng)


@MEANS.broken(Pure(0.82), data=NUMBERS)
def amplified_by_a_fixed_choice(x: Array, rng: np.random.Generator) -> float:
    """The first record, always: who is chosen is no secret."""
    return float(np.clip(x[0], -1, 1) + rng.laplace(scale=1.0))
