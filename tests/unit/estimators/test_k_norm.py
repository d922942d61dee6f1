"""Noise of density e^{-|z|}: its law, its privacy by the density, and what the ledger says."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from estimators.core.accounting import compose
from estimators.core.mechanisms import k_norm
from estimators.mean import NoisyMean
from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated

DRAWS = 20_000
ALPHA = 1e-6


def draws(d: int, norm: str, scale: float = 1.0) -> np.ndarray:
    rng = np.random.default_rng(0)
    return np.array(
        [
            k_norm(np.zeros(d), norm=norm, sensitivity=scale, epsilon=1.0, rng=rng).value
            for _ in range(DRAWS)
        ]
    )


@pytest.mark.parametrize("d", [1, 2, 7])
def test_the_length_in_its_norm_is_gamma(d: int) -> None:
    """Density e^{-r} on spheres of surface r^{d-1}: whatever the norm, |z| ~ Gamma(d)."""
    for norm, order in (("l2", 2), ("linf", math.inf)):
        length = np.linalg.norm(draws(d, norm, 0.3), ord=order, axis=1) / 0.3
        assert stats.kstest(length, "gamma", args=(d,)).pvalue > ALPHA
        assert stats.kstest(length, "gamma", args=(d + 1,)).pvalue < ALPHA  # the control


@pytest.mark.parametrize("d", [1, 2, 7])
def test_variances_of_a_coordinate(d: int) -> None:
    for norm, variance in (("l2", d + 1), ("linf", (d + 1) * (d + 2) / 3)):
        squares = draws(d, norm) ** 2
        error = 6 * squares.mean(1).std() / math.sqrt(DRAWS)
        assert abs(squares.mean() - variance) < error
        assert abs(squares.mean() - 2 * d * d) > error or d == 1  # Laplace noise


def test_in_one_dimension_it_is_laplace() -> None:
    for norm in ("l2", "linf"):
        assert stats.kstest(draws(1, norm)[:, 0], "laplace").pvalue > ALPHA


@pytest.mark.parametrize(("norm", "order"), [("l2", 2), ("linf", math.inf)])
def test_the_density_ratio_is_at_most_e_to_epsilon(norm: str, order: float) -> None:
    """By counting in a region where a shift by the sensitivity costs all of epsilon."""
    shift = np.array([1.0, 0.0]) if norm == "l2" else np.array([1.0, 1.0])
    here = draws(2, norm)
    for region in (lambda z: (z - shift).max(axis=1) > 1.0, lambda z: z[:, 0] > 2.0):
        p, q = region(here + shift).mean(), region(here).mean()
        assert p <= math.e * q + 6 * math.sqrt(p / DRAWS)
    assert np.linalg.norm(shift, ord=order) == 1
    if norm == "linf":  # both coordinates large: the ratio is all of e
        near = (here + shift).min(axis=1) > 2.0
        assert near.mean() / (here.min(axis=1) > 2.0).mean() > 2.3


def test_the_ledger_names_norm_scale_and_budget() -> None:
    release = k_norm(
        np.zeros(3), norm="linf", sensitivity=0.2, epsilon=0.5, rng=np.random.default_rng(0)
    )
    entry = release.entry
    assert (entry.norm, entry.sensitivity, entry.scale) == ("linf", 0.2, 0.4)
    assert compose((entry,), Pure) == Pure(0.5)
    for bad in ({"sensitivity": 0.0}, {"epsilon": -1.0}):
        with pytest.raises(ValueError, match=next(iter(bad))):
            k_norm(
                np.zeros(3),
                norm="l2",
                rng=np.random.default_rng(0),
                **{"sensitivity": 1.0, "epsilon": 1.0, **bad},
            )


@pytest.mark.parametrize(
    "privacy", [Pure(0.3), Approximate(0.7, 1e-6), ZeroConcentrated(0.013), Gaussian(0.21)], ids=str
)
@pytest.mark.parametrize("radius", [0.5, 40.0])
@pytest.mark.parametrize("tails", ["vectors", "Gaussian", "coordinates"])
def test_all_of_the_budget_is_spent_and_no_more(privacy, radius: float, tails: str) -> None:
    X = np.random.default_rng(0).standard_normal((3000, 30))
    fitted = NoisyMean(privacy, sigma=1.0, radius=radius, tails=tails, random_state=0).fit(X)
    for letter, spent in fitted.privacy_.parameters.items():
        asked = privacy.parameters[letter]
        rounding = 1e-9 if isinstance(privacy, Approximate) else 4 * np.finfo(float).eps
        assert asked * (1 - 1e-6) <= spent <= asked * (1 + rounding)


def test_two_phases_of_a_pure_budget_add_up() -> None:
    X = np.random.default_rng(0).standard_normal((20_000, 5))
    fitted = NoisyMean(Pure(1.0), sigma=1.0, radius=100.0, random_state=0).fit(X)
    assert len(fitted.ledger_) == 2
    assert all(entry.norm == "l2" for entry in fitted.ledger_)
    assert fitted.privacy_.epsilon == pytest.approx(1.0, rel=1e-15)
    assert np.abs(fitted.mean_).max() < 0.1
