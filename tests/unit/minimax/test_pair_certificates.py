"""Certificates of antipodal pairs: each is proved again, weakened ones are refused."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from minimax.methods import pair_certificates as checked
from minimax.methods.pair_certificates import ENERGY, INFORMATION, Certificate, Goal, holds

TABLES = {
    "average": (checked.AVERAGE, ENERGY),
    "transport": (checked.TRANSPORT, INFORMATION),
    "pointwise": (checked.POINTWISE, ENERGY),
}
EVERY = [
    pytest.param(found, goal, id=f"{name}-{index}")
    for name, (table, goal) in TABLES.items()
    for index, found in enumerate(table)
]


def slack_by_definition(c: Certificate, goal: Goal, u: float, r: float) -> mpmath.mpf:
    """D(u, r) from the functions as the module states them, in 50 digits."""
    u, r = mpmath.mpf(u), mpmath.mpf(r)
    log_cosh = mpmath.log(mpmath.cosh(u))
    total = mpmath.mpf(c.constant) + c.mass * (mpmath.exp(-r) - 1) + c.kl * u * mpmath.tanh(u)
    total += c.joint * (u * mpmath.tanh(u) + (1 - mpmath.exp(-r)) * (r - log_cosh))
    total += c.pair * (mpmath.cosh(c.sigma * u) / mpmath.cosh(u) - 1)
    power = 1 + mpmath.mpf(c.s)
    total += c.up * (mpmath.exp(c.s * r) * mpmath.cosh(power * u) / mpmath.cosh(u) ** power - 1)
    energy = mpmath.exp(r) * mpmath.tanh(u) ** 2
    return total - (energy if goal is ENERGY else 2 * (r + u * mpmath.tanh(u) - log_cosh))


@pytest.mark.parametrize(("found", "goal"), EVERY)
def test_certificate_is_proved(found: Certificate, goal: Goal) -> None:
    assert holds(found, goal)


@pytest.mark.parametrize(("found", "goal"), EVERY)
def test_weakened_certificate_is_refused(found: Certificate, goal: Goal) -> None:
    weights = {"kl": found.kl, "joint": found.joint, "pair": found.pair * (found.sigma**2 - 1) / 2}
    heaviest = max(weights, key=weights.__getitem__)
    for name, share in ((heaviest, 0.99), ("constant", 0.5), ("up", 0.0)):
        assert not holds(found._replace(**{name: share * getattr(found, name)}), goal), name


def test_pointwise_certificates_do_not_average_over_pairs() -> None:
    assert all(found.joint == 0 for found in checked.POINTWISE)


@pytest.mark.parametrize(("found", "goal"), EVERY[::7])
def test_slack_and_curvatures_against_50_digits(found: Certificate, goal: Goal) -> None:
    box = checked._box(found, goal)
    assert box is not None
    far, low, high = box
    rng = np.random.default_rng(5)
    with mpmath.workdps(50):
        for _ in range(12):
            side_u, side_r = far / 40, (high - low) / 40
            u0, r0 = rng.uniform(0, far / 2), rng.uniform(low, high / 2)
            cell = tuple(np.array([x]) for x in (u0, u0 + side_u, r0, r0 + side_r))
            u, r = rng.uniform(u0, u0 + side_u), rng.uniform(r0, r0 + side_r)
            value, size = checked.slack(found, goal, np.array([u]), np.array([r]))
            exact = slack_by_definition(found, goal, u, r)
            assert exact >= 0
            assert abs(value[0] - exact) <= checked.ALLOWANCE * size[0]
            bends = (
                mpmath.diff(lambda x, r=r: slack_by_definition(found, goal, x, r), u, 2),
                mpmath.diff(lambda x, u=u: slack_by_definition(found, goal, u, x), r, 2),
            )
            assert checked._bend_u(found, goal, *cell)[0] >= bends[0]
            assert checked._bend_r(found, goal, *cell)[0] >= bends[1]


@pytest.mark.parametrize(("found", "goal"), EVERY[::5])
def test_tails_beyond_the_box(found: Certificate, goal: Goal) -> None:
    box = checked._box(found, goal)
    assert box is not None
    far, low, high = box
    with mpmath.workdps(50):
        for stretch in (1.0, 1.5, 4.0):
            for u in (0.0, far / 3, far, 3 * far):
                assert slack_by_definition(found, goal, u, stretch * low) >= 0
                assert slack_by_definition(found, goal, u, stretch * high) >= 0
            assert slack_by_definition(found, goal, stretch * far, 0.0) >= 0
