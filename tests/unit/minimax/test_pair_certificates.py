"""Certificates of antipodal pairs: each is proved in balls, weakened ones are refused."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from minimax.core.balls import Ball, precision
from minimax.core.privacy import ZeroConcentrated
from minimax.methods import antipodal_gain
from minimax.methods import pair_positivity as positivity
from minimax.methods.pair_certificates import AVERAGE, POINTWISE, TRANSPORT, Certificate
from minimax.methods.pair_positivity import (
    ENERGY,
    INFORMATION,
    Cell,
    Goal,
    NotProved,
    Slack,
    is_proved,
)

pytest.importorskip("flint")
TABLES = {
    "average": (AVERAGE, ENERGY),
    "transport": (TRANSPORT, INFORMATION),
    "pointwise": (POINTWISE, ENERGY),
}
EVERY = [
    pytest.param(found, goal, id=f"{name}-{index}")
    for name, (table, goal) in TABLES.items()
    for index, found in enumerate(table)
]
CERTIFICATES = {ENERGY: (*AVERAGE, *POINTWISE), INFORMATION: TRANSPORT}


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


def slack_and_box(found: Certificate, goal: Goal) -> tuple[Slack, tuple[float, float, float]]:
    """D in balls, and the box outside of which its tails are proved."""
    slack = Slack(Certificate._make(map(Ball, found)), goal)
    box = positivity._box(slack)
    assert box is not None
    return slack, box


@pytest.mark.parametrize(("found", "goal"), EVERY)
def test_certificate_is_proved(found: Certificate, goal: Goal) -> None:
    assert is_proved(found, goal)


@pytest.mark.parametrize(("found", "goal"), EVERY[3::4])
def test_weakened_certificate_is_refused(found: Certificate, goal: Goal) -> None:
    weights = {"kl": found.kl, "joint": found.joint, "pair": found.pair * (found.sigma**2 - 1) / 2}
    heaviest = max(weights, key=weights.__getitem__)
    for name, share in ((heaviest, 0.99), ("constant", 0.8), ("up", 0.0)):
        assert not is_proved(found._replace(**{name: share * getattr(found, name)}), goal), name


def test_signs_are_checked() -> None:
    found = TRANSPORT[5]
    assert is_proved(found, INFORMATION)
    assert not is_proved(found._replace(kl=-1e-12), INFORMATION)
    assert not is_proved(found._replace(constant=float("nan")), INFORMATION)
    assert not is_proved(AVERAGE[20]._replace(sigma=1.0), ENERGY)


def test_a_certificate_is_for_its_own_goal() -> None:
    assert not is_proved(AVERAGE[20], INFORMATION)


def test_pointwise_certificates_do_not_average_over_pairs() -> None:
    assert all(found.joint == 0 for found in POINTWISE)


@pytest.mark.parametrize(("found", "goal"), EVERY[::7])
def test_slack_and_curvatures_against_50_digits(found: Certificate, goal: Goal) -> None:
    with precision(positivity.BITS), mpmath.workdps(50):
        slack, (far, low, high) = slack_and_box(found, goal)
        rng = np.random.default_rng(5)
        for _ in range(12):
            side_u, side_r = far / 40, (high - low) / 40
            u0, r0 = rng.uniform(0, far / 2), rng.uniform(low, high / 2)
            cell = Cell(u0, u0 + side_u, r0, r0 + side_r)
            u, r = rng.uniform(u0, u0 + side_u), rng.uniform(r0, r0 + side_r)
            value, exact = Ball(slack.at(u, r)), slack_by_definition(found, goal, u, r)
            assert exact >= 0
            assert value.low <= exact <= value.high
            assert value.relative_radius < 1e-12
            bends = (
                mpmath.diff(lambda x, r=r: slack_by_definition(found, goal, x, r), u, 2),
                mpmath.diff(lambda x, u=u: slack_by_definition(found, goal, u, x), r, 2),
            )
            assert Ball(slack.bend_u(cell)).high >= bends[0]
            assert Ball(slack.bend_r(cell)).high >= bends[1]


@pytest.mark.parametrize(("found", "goal"), EVERY[::5])
def test_tails_beyond_the_box(found: Certificate, goal: Goal) -> None:
    with precision(positivity.BITS), mpmath.workdps(50):
        _, (far, low, high) = slack_and_box(found, goal)
        for stretch in (1.0, 1.5, 4.0):
            for u in (0.0, far / 3, far, 3 * far):
                assert slack_by_definition(found, goal, u, stretch * low) >= 0
                assert slack_by_definition(found, goal, u, stretch * high) >= 0
            assert slack_by_definition(found, goal, stretch * far, 0.0) >= 0


@pytest.mark.parametrize("goal", [ENERGY, INFORMATION])
def test_the_gap_is_the_distance_to_the_supremum(goal: Goal) -> None:
    found = Certificate(0.0, 0.0, 0.0, 0.0, 0.0, 2.0, 0.0, 1.0)  # D is minus the goal
    with precision(positivity.BITS):
        slack = Slack(Certificate._make(map(Ball, found)), goal)
        for u, r in ((0.1, -1.0), (1.0, 0.5), (4.0, 2.0)):
            distance = Ball(slack.at(u, r) - slack.at(60.0, r))
            assert distance.middle == pytest.approx(Ball(slack.gap(u, r)).middle)


def test_a_bound_in_balls_encloses_what_the_multipliers_say() -> None:
    """Products of two multipliers are rounded in floats: they must not be formed there."""
    with precision(200), mpmath.workdps(80):
        for found in (*AVERAGE, *TRANSPORT, *POINTWISE):
            rho, c = mpmath.mpf("0.25"), Certificate._make(map(mpmath.mpf, found))
            exact = c.constant + (c.kl / 2 + c.joint) * rho
            exact += c.pair * mpmath.expm1(rho * (c.sigma**2 - 1) / 4)
            exact += c.up * mpmath.expm1(rho * c.s * (c.s + 1))
            ball = found.bound(Ball(0.25))
            assert ball.relative_radius < 1e-50
            assert abs(mpmath.mpf(ball.arb.mid().str(70, radius=False)) - exact) <= exact * 1e-45


def test_gains_in_balls_rest_on_proved_certificates(monkeypatch: pytest.MonkeyPatch) -> None:
    """Control: a certificate that promises a little more than it can is not used."""
    seen = []
    monkeypatch.setattr(
        antipodal_gain, "require", lambda found, goal: seen.append((found, goal)) or None
    )
    with precision(200):
        for rho, goal in ((0.01, ENERGY), (2.0, INFORMATION)):
            antipodal_gain.average_pair_gain(ZeroConcentrated, {"rho": Ball(rho)})
            assert seen[-1][1] is goal
        antipodal_gain.pointwise_pair_gain(ZeroConcentrated, {"rho": Ball(0.01)})
        assert seen[-1][0] in POINTWISE
        assert all(found in CERTIFICATES[goal] for found, goal in seen)
        count = len(seen)
        antipodal_gain.average_pair_gain(ZeroConcentrated, {"rho": Ball(1e-30)})
        assert len(seen) == count  # the closed form is the least there
    monkeypatch.undo()
    better = [found._replace(joint=0.99 * found.joint) for found in AVERAGE]
    monkeypatch.setattr(antipodal_gain, "AVERAGE", better)
    with precision(200), pytest.raises(NotProved, match="energy"):
        antipodal_gain.average_pair_gain(ZeroConcentrated, {"rho": Ball(0.01)})
