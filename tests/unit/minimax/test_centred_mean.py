"""Centre privately, clip to a ball: each step of the two proofs, and the whole by simulation."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from estimators.mean import NoisyMean
from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.ball_clip import shortened_gaussian
from minimax.problems.mean import centred
from minimax.problems.mean.centred import best_course, centred_mean_upper
from minimax.problems.mean.problem import MeanProblem
from tests.effort import part
from tests.simulation import above, ball, below

Array = np.ndarray
Sampler = Callable[[np.random.Generator, int, Array], Array]


def gaussian(rng: np.random.Generator, n: int, mu: Array) -> Array:
    return mu + rng.standard_normal((n, len(mu)))


def signs(rng: np.random.Generator, n: int, mu: Array) -> Array:
    return mu + rng.choice([-1.0, 1.0], (n, len(mu)))


def mixture(rng: np.random.Generator, n: int, mu: Array) -> Array:
    """Two Gaussians, |w|^2 + s^2 <= 1 in each direction: sub-Gaussian vectors of scale 1."""
    shift = 0.9 * np.ones(len(mu)) / math.sqrt(len(mu))
    spread = math.sqrt(1 - 0.81)
    side = rng.choice([-1.0, 1.0], (n, 1))
    return mu + side * shift + spread * rng.standard_normal((n, len(mu)))


def place(n: int, d: int, radius: float) -> dict[str, float]:
    return {"n": float(n), "d": float(d), "sigma": 1.0, "radius": radius}


def losses(
    sampler: Sampler, mu: Array, n: int, trials: int, privacy: Privacy, radius: float, **options
) -> list[float]:
    rng = np.random.default_rng(1)
    estimator = NoisyMean(privacy, sigma=1.0, radius=radius, random_state=rng, **options)
    return [
        float(np.sum((estimator.fit(sampler(rng, n, mu)).mean_ - mu) ** 2)) for _ in range(trials)
    ]


CASES = [
    (400, 1, 3.0, ZeroConcentrated(0.05)),
    (400, 1, 3.0, Pure(0.3)),
    (1000, 5, 2.0, Approximate(0.5, 1e-6)),
    (1000, 5, 2.0, Pure(1.0)),
    (2000, 200, 1.0, ZeroConcentrated(0.02)),
    (2000, 200, 1.0, Gaussian(0.2)),
    (4000, 200, 1.0, Pure(2.0)),
]
NAMES = [f"n={n} d={d} {privacy}" for n, d, _, privacy in CASES]


def worst(d: int, radius: float) -> list[Array]:
    """A corner of the class, its middle, and a mean on one coordinate."""
    return [np.full(d, radius), np.zeros(d), radius * np.eye(d)[0]]


@pytest.mark.parametrize(("n", "d", "radius", "privacy"), CASES, ids=NAMES)
def test_the_risk_is_below_what_is_proved(n: int, d: int, radius: float, privacy: Privacy) -> None:
    trials = part(20, of=40) if d > 5 else 400
    problem = MeanProblem(n, d, 1.0, radius)
    for tails, laws in (("vectors", (gaussian, signs, mixture)), ("Gaussian", (gaussian,))):
        proved = centred_mean_upper(problem.point, privacy, tails).value()
        for sampler in laws:
            for mu in worst(d, radius)[: 3 if sampler is gaussian else 1]:
                seen = losses(sampler, mu, n, trials, privacy, radius, tails=tails)
                # nearly an equality: no interval would clear it
                assert not above(seen, proved), (tails, sampler.__name__)
                assert above(seen, proved / 8), (tails, sampler.__name__)


@pytest.mark.parametrize("tails", ["vectors", "Gaussian"])
def test_the_bound_has_teeth(tails: str) -> None:
    """With half the noise's deviation in the formula the same simulation breaks it."""
    n, d, radius, privacy = 20_000, 100, 1.0, ZeroConcentrated(1e-4)
    seen = losses(gaussian, np.full(d, radius), n, 30, privacy, radius, tails=tails)
    proved = centred_mean_upper(MeanProblem(n, d, 1.0, radius).point, privacy, tails).value()
    halved = centred_mean_upper(
        MeanProblem(n, d, 1.0, radius).point, ZeroConcentrated(4e-4), tails
    ).value()
    assert not above(seen, proved)
    assert below(seen, 1.3 * proved)
    assert above(seen, halved)


def test_rescaling_needs_gaussian_records() -> None:
    """Directions alone tell the mean of a Gaussian, not that of records on a ray."""
    y = gaussian(np.random.default_rng(0), 200_000, np.array([0.2, 0.0, 0.0]))
    slope = shortened_gaussian(1.0, 3.0, 0.01).slope
    assert ball(y, 0.01).mean(0)[0] / slope == pytest.approx(0.2, abs=0.02)
    skewed = np.random.default_rng(0).exponential(size=(200_000, 1)) - 1.0
    one = shortened_gaussian(1.0, 1.0, 0.01).slope
    assert abs(ball(skewed, 0.01).mean() / one) > 0.2


@pytest.mark.parametrize(("d", "t"), [(1, 0.5), (3, 0.3), (20, 1.0)])
def test_the_hermite_argument(d: int, t: float) -> None:
    """E|E[short(y) | zeta]|^2 by inner simulation: at least a^2 d t, and the rest small."""
    rng = np.random.default_rng(0)
    spread = math.sqrt(1 + t)
    for factor in (0.3, 1.0):
        R = factor * spread * math.sqrt(d)
        slope, square = shortened_gaussian(spread, float(d), R)
        zeta = math.sqrt(t) * rng.standard_normal((1500, d))
        # two independent inner averages, so that their product has no bias
        halves = [
            ball(rng.standard_normal((1500, 200, d)) - zeta[:, None], R).mean(1) for _ in range(2)
        ]
        whole = np.sum(halves[0] * halves[1], axis=1)
        rest = np.sum((halves[0] + slope * zeta) * (halves[1] + slope * zeta), axis=1)
        linear = slope**2 * d * t
        cap = (t / spread**2) ** 3 * (square - slope**2 * spread**2 * d)
        error = 5 * whole.std() / math.sqrt(len(whole))
        assert whole.mean() >= linear - error
        assert rest.mean() <= cap + 5 * rest.std() / math.sqrt(len(rest))
        assert linear + cap <= square


@pytest.mark.parametrize(("n", "d", "t", "factor"), [(400, 100, 0.3, 1.2), (2000, 20, 0.1, 1.6)])
def test_the_response_is_below_its_bound(n: int, d: int, t: float, factor: float) -> None:
    rng = np.random.default_rng(0)
    spread = math.sqrt(1 + t)
    R = factor * spread * math.sqrt(d)
    slope = shortened_gaussian(spread, float(d), R).slope
    claimed = centred._response(place(n, d, 1.0), t, R, slope)
    found = []
    for _ in range(5):
        x = rng.standard_normal((n, d))
        y = x - x.mean(0) * rng.random() - math.sqrt(t) * rng.standard_normal(d)
        length = np.linalg.norm(y, axis=1)
        outside = length > R
        kept = np.where(outside, R / length, 1.0)
        unit = y / length[:, None]
        average = np.eye(d) * kept.mean() - (unit[outside].T * kept[outside]) @ unit[outside] / n
        eigenvalues = np.linalg.eigvalsh(np.eye(d) - average / slope)
        found.append(float(np.abs(eigenvalues).max()))
    assert max(found) <= claimed
    assert max(found) <= max(1.0, 1 / slope - 1)


def test_phases_share_the_budget_and_their_estimates() -> None:
    for privacy in (Pure(0.5), ZeroConcentrated(0.01), Approximate(0.5, 1e-6)):
        found = best_course(place(5000, 200, 3.0), privacy, "vectors")
        assert sum(phase.share for phase in found.phases) == pytest.approx(1, rel=1e-12)
        precision = sum(1 / phase.variance for phase in found.phases)
        assert found.noise == pytest.approx(1 / precision, rel=1e-12)
        assert len(found.phases) <= centred.MOST_PHASES[isinstance(privacy, Pure)]


def test_the_search_is_near_the_best_of_many() -> None:
    """Against shares and radii drawn at random about those found."""
    rng = np.random.default_rng(0)
    at = place(20_000, 400, 5.0)
    for privacy in (ZeroConcentrated(5e-4), Pure(0.5)):
        pure = isinstance(privacy, Pure)
        found = centred._settings({**at, **privacy.parameters}, type(privacy), "vectors")
        least = centred.course(at, pure, found).root_risk
        free = centred._free_names(pure, found)
        for _ in range(200):
            moved = {name: found[name] * math.exp(0.3 * rng.standard_normal()) for name in free}
            shares = sum(moved[name] for name in free if name.startswith("share"))
            if shares < 1:
                tried = centred.course(at, pure, {**found, **moved}).root_risk
                assert tried >= 0.995 * least


def test_to_leading_order_it_is_what_the_lower_bounds_ask() -> None:
    n, d, rho = 10**7, 10**5, 1e-5
    value = centred_mean_upper(
        MeanProblem(n, d, 1.0, 1.0).point, ZeroConcentrated(rho), "Gaussian"
    ).value()
    assert value == pytest.approx(d / n + 2 * d**2 / (rho * n**2), rel=0.1)
