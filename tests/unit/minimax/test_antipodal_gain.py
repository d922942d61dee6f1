"""Gains of antipodal pairs: figures, kinds of numbers, and every constraint on random channels."""

from __future__ import annotations

import itertools
import math

import mpmath
import numpy as np
import pytest
from numpy.typing import NDArray

from minimax.core.privacy import Gaussian, Pure, ZeroConcentrated
from minimax.core.symbolic import LETTERS, symbol
from minimax.methods.antipodal_gain import (
    average_pair_gain,
    four_letters,
    pointwise_pair_gain,
    small_budget,
)
from minimax.methods.pair_certificates import AVERAGE, POINTWISE, TRANSPORT
from verify.pair_channels import CONCENTRATED, GAUSSIAN, Radial

Array = NDArray[np.float64]
RHOS = [float(rho) for rho in np.geomspace(1e-12, 1e4, 161)]
FIGURES = {
    1e-5: 1.0033, 1e-4: 1.0102, 1e-3: 1.0331, 0.005: 1.078, 0.01: 1.1155, 0.02: 1.173,
    0.05: 1.308, 0.1: 1.502, 0.125: 1.596, 0.25: 2.067, 0.5: 2.595, 1.0: 2.805, 3.0: 3.196,
}  # fmt: skip
"""rho -> B, the average gain squared over rho/2."""


def average(rho: float) -> float:
    return average_pair_gain(ZeroConcentrated, {"rho": rho}) ** 2 / (rho / 2)


def pointwise(rho: float) -> float:
    return pointwise_pair_gain(ZeroConcentrated, {"rho": rho}) ** 2 / (rho / 2)


@pytest.mark.parametrize(("rho", "constant"), FIGURES.items())
def test_figures(rho: float, constant: float) -> None:
    assert average(rho) == pytest.approx(constant, rel=2e-3)


def test_shape() -> None:
    """Gains increase, B >= 1 does too, averaging helps, and 4 stands for the transport bound."""
    for gain in (average_pair_gain, pointwise_pair_gain):
        values = [gain(ZeroConcentrated, {"rho": rho}) for rho in RHOS]
        assert all(a <= b for a, b in itertools.pairwise(values))
    for rho in RHOS:
        assert 1 <= average(rho) <= 4 * (1 + 1e-12)
        assert average(rho) <= 1 + 8 * math.sqrt(rho)
        assert average(rho) <= pointwise(rho) * (1 + 1e-12)
    for rho in np.geomspace(1e-8, 1e4, 121):
        assert rho > 0.125 or average(rho) <= 1 + 1.2 * math.sqrt(rho) + 2 * rho


def test_without_sub_gaussian_scores() -> None:
    """Bessel's bound alone: the same where it is the smaller one, and never above the pointwise."""
    for rho in RHOS[:150]:  # beyond, e^{2 rho} is no float
        alone = average_pair_gain(ZeroConcentrated, {"rho": rho}, sub_gaussian=False)
        assert average_pair_gain(ZeroConcentrated, {"rho": rho}) <= alone
        assert alone <= pointwise_pair_gain(ZeroConcentrated, {"rho": rho})
    assert average_pair_gain(
        ZeroConcentrated, {"rho": 0.1}, sub_gaussian=False
    ) == average_pair_gain(ZeroConcentrated, {"rho": 0.1})


def test_no_gap_between_certificates() -> None:
    """Between the places the certificates were made for, B stays near a smooth curve."""
    rhos = np.geomspace(1e-3, 0.1, 60)
    excess = np.array([(average(float(rho)) - 1) / math.sqrt(rho) for rho in rhos])
    smooth = np.polyval(np.polyfit(np.log(rhos), excess, 4), np.log(rhos))
    assert np.max(np.abs(excess - smooth)) < 0.02


@pytest.mark.parametrize("rho", [1e-10, 1e-4, 0.03, 0.7, 30.0])
def test_kinds_of_numbers(rho: float) -> None:
    for gain in (average_pair_gain, pointwise_pair_gain):
        value = gain(ZeroConcentrated, {"rho": rho})
        with mpmath.workdps(50):
            exact = gain(ZeroConcentrated, {"rho": mpmath.mpf(rho)})
        assert value == pytest.approx(float(exact), rel=1e-13)
        closed = gain(ZeroConcentrated, LETTERS).subs(symbol("rho"), rho)
        assert value <= float(closed) * (1 + 1e-12)
        mu = math.sqrt(2 * rho)
        assert gain(Gaussian, {"mu": mu}) == pytest.approx(value, rel=1e-12)


def test_arrays() -> None:
    rhos = np.array(RHOS)
    values = average_pair_gain(ZeroConcentrated, {"rho": rhos})
    assert values == pytest.approx([math.sqrt(average(rho) * rho / 2) for rho in RHOS], rel=1e-12)


def test_other_models_are_refused() -> None:
    with pytest.raises(TypeError, match="Pure"):
        average_pair_gain(Pure, {"epsilon": 1.0})


# --- Channels ------------------------------------------------------------------------------------


def concentration(channel: Array) -> float:
    """An upper bound on rho, at most 1 % above it: Renyi divergences increase in their order."""
    orders = np.append(1.0, 1 + np.geomspace(0.005, 400.0, 1200))
    log = np.log(channel)
    worst = 0.0
    for first, second in itertools.permutations(range(len(channel)), 2):
        ratio, weight = log[first] - log[second], log[second]
        powers = np.logaddexp.reduce(orders[1:, None] * ratio + weight, axis=1)
        divergences = np.append(powers / (orders[1:] - 1), ratio.max())
        worst = max(worst, float(np.max(divergences / orders)))
    return worst


def cube(d: int) -> Array:
    return np.array(list(itertools.product([-1.0, 1.0], repeat=d)))


def energies(channel: Array, records: Array) -> tuple[float, Array]:
    """F, and a quarter of int (q_w - q_{-w})^2/m for each w; records are in antipodal order."""
    m = channel.mean(axis=0)
    f = channel.T @ records / len(records) / m[:, None]
    halves = (channel - channel[::-1]) ** 2 / (4 * m)
    return float(m @ np.sum(f**2, axis=1)), halves.sum(axis=1)


def random_channel(rng: np.random.Generator, inputs: int, scale: float) -> Array:
    weights = rng.dirichlet(np.full(6, 2.0)) * np.exp(scale * rng.standard_normal((inputs, 6)))
    return weights / weights.sum(axis=1, keepdims=True)


def channels() -> list[tuple[Array, Array]]:
    rng = np.random.default_rng(11)
    found = []
    for d, scale in itertools.product((1, 2, 3), (0.01, 0.1, 0.5, 1.5)):
        records = cube(d)
        found += [(random_channel(rng, len(records), scale), records) for _ in range(4)]
        response = np.exp(scale * np.eye(len(records)))
        found.append((response / response.sum(axis=1, keepdims=True), records))
        pull = np.exp(scale * records @ records.T)
        found.append((pull / pull.sum(axis=1, keepdims=True), records))
    return found


@pytest.mark.parametrize(("channel", "records"), channels())
def test_gains_on_channels(channel: Array, records: Array) -> None:
    assert np.array_equal(records, -records[::-1])
    rho = concentration(channel)
    energy, each = energies(channel, records)
    assert energy <= average_pair_gain(ZeroConcentrated, {"rho": rho}) ** 2
    assert each.max() <= pointwise_pair_gain(ZeroConcentrated, {"rho": rho}) ** 2
    assert energy <= each.mean() * (1 + 1e-12)  # Bessel
    assert each.max() <= small_budget(rho)


@pytest.mark.parametrize(("channel", "records"), channels())
def test_constraints_on_channels(channel: Array, records: Array) -> None:
    """The mean of each function of a certificate is at most what zCDP allows."""
    rho = concentration(channel)
    m, p = channel.mean(axis=0), (channel + channel[::-1]) / 2
    u, r = np.log(channel / channel[::-1]) / 2, np.log(p / m)

    def each(values: Array) -> Array:
        """The mean over z ~ p_w, for each w."""
        return np.sum(p * values, axis=1)

    log_cosh = np.log(np.cosh(u))
    assert each(np.exp(-r)) == pytest.approx(1)
    assert np.all(each(u * np.tanh(u)) <= rho / 2)
    joint = each(u * np.tanh(u) + (1 - np.exp(-r)) * (r - log_cosh)).mean()
    pairs = [np.sum(a * np.log(a / b)) for a, b in itertools.product(channel, repeat=2)]
    assert joint == pytest.approx(np.mean(pairs))
    assert joint <= rho
    information = each(r + u * np.tanh(u) - log_cosh).mean()
    assert information == pytest.approx(np.sum(channel * np.log(channel / m)) / len(channel))
    for order in (1.5, 3.0, 8.0):
        assert np.all(each(np.cosh(order * u) / np.cosh(u)) <= np.exp(rho * (order**2 - 1) / 4))
        s = order - 1
        up = np.exp(s * r) * np.cosh(order * u) / np.cosh(u) ** order
        assert np.all(each(up) <= np.exp(rho * s * order))


@pytest.mark.parametrize("epsilon", [0.05, 0.5, 1.0, 2.0, 3.0])
def test_energy_exceeds_half_of_rho(epsilon: float) -> None:
    """F <= rho/2 is false: randomised response on {-1, 1}^2. Control: one sign, where it holds."""
    rho, energy = four_letters(epsilon)
    response = np.exp(epsilon * np.eye(4))
    channel = response / response.sum(axis=1, keepdims=True)
    assert rho <= concentration(channel) <= 1.01 * rho
    assert energies(channel, cube(2))[0] == pytest.approx(energy)
    assert 1 < energy / (rho / 2) < 1 + epsilon / 4
    assert energy <= average_pair_gain(ZeroConcentrated, {"rho": rho}) ** 2
    sign = np.exp(epsilon * np.eye(2)) / (1 + math.exp(epsilon))
    assert energies(sign, cube(1))[0] < concentration(sign) / 2


@pytest.mark.parametrize(
    ("rho", "quotient"), [(0.001, 1.0196), (0.01, 1.064), (0.1, 1.210), (1.0, 1.698), (3.0, 2.141)]
)
def test_radial_channels(rho: float, quotient: float) -> None:
    """In many dimensions the dip at the origin gains over Gaussian noise, for which F = rho/2."""
    channel = CONCENTRATED[rho]
    assert channel.rho == pytest.approx(rho, rel=5e-3)
    assert channel.energy / (channel.rho / 2) == pytest.approx(quotient, rel=1e-3)
    assert channel.energy <= average_pair_gain(ZeroConcentrated, {"rho": channel.rho}) ** 2
    gaussian = Radial(channel.c, 0.0, 1.0)
    assert gaussian.rho == pytest.approx(2 * channel.c**2, rel=1e-9)
    assert gaussian.energy == pytest.approx(channel.c**2, rel=1e-9)


@pytest.mark.parametrize(
    ("mu", "quotient"), [(0.045, 1.013), (0.14, 1.0435), (0.45, 1.163), (1.0, 1.407)]
)
def test_radial_channels_under_gdp(mu: float, quotient: float) -> None:
    channel = GAUSSIAN[mu]
    own = channel.mu
    assert own == pytest.approx(mu, rel=0.02)
    assert channel.energy / (own**2 / 4) == pytest.approx(quotient, rel=1e-3)
    assert channel.energy <= average_pair_gain(Gaussian, {"mu": own}) ** 2
    assert channel.rho <= own**2 / 2
    assert Radial(channel.c, 0.0, 1.0).mu == pytest.approx(2 * channel.c, rel=1e-3)


def test_tables_are_used_where_they_are_best() -> None:
    """Every table has a rho at which it gives the bound."""
    for table, rho, value in (
        (AVERAGE, 0.05, average(0.05)),
        (TRANSPORT, 2.0, average(2.0)),
        (POINTWISE, 0.05, pointwise(0.05)),
    ):
        assert min(found.bound(rho) for found in table) == pytest.approx(value * rho / 2)
