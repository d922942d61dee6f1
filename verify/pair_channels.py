r"""Channels that come near the gain of antipodal pairs (`minimax.methods.antipodal_gain`).

Each has a symmetric score w of covariance I, a rho or mu, and an energy F = E_m |E[w|z]|^2, which
the gain bounds. F > rho/2 and F > mu^2/4: the leading term of the gain is not the whole of it.

*Four letters*: randomised response on {-1, 1}^2, in closed form.

*Radial*: w is uniform on the sphere of radius sqrt(d), e = w/|w|, z = x e + N(0, I - ee^T), where x
has the density phi(x) L(x), L(x) = e^{c x - dip e^{-x^2/(2 width^2)}}/norm. With respect to N(0, I)
the law of z has the density L(<e, z>), and for two directions at the angle theta the two arguments
are standard normal with correlation cos theta: Renyi and hockey-stick divergences are integrals
over the plane. As d grows, m tends to N(0, I) and F to (E x)^2. dip = 0 is Gaussian noise, with
F = c^2 = rho/2 = mu^2/4; the dip makes reports whose direction says little rarer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from minimax.core.privacy import Gaussian, ZeroConcentrated
from minimax.methods.antipodal_gain import average_pair_gain, four_letters

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
ANGLES = np.linspace(0.1, np.pi, 30)
ORDERS = 16
STEPS = np.linspace(-7.5, 7.5, 251)
"""Where the kinks of hockey-stick divergences are integrated, and at so many levels:"""
LEVELS = 40
SMALL = 1e-6
"""A hockey-stick divergence that the rule on `STEPS` does not resolve."""


class Found(NamedTuple):
    """A channel that was found: its definition of privacy and its energy."""

    name: str
    privacy: ZeroConcentrated | Gaussian
    energy: float

    @property
    def quotient(self) -> float:
        """F/(rho/2), or F/(mu^2/4)."""
        return self.energy / (self.privacy.kl() / 2)

    @property
    def bound(self) -> float:
        """What the quotient is at most."""
        gain = average_pair_gain(type(self.privacy), self.privacy.parameters)
        return float(gain**2 / (self.privacy.kl() / 2))


@dataclass(frozen=True)
class Radial:
    """The radial channel of the module's text."""

    c: float
    dip: float
    width: float

    def log_density(self, x: Array) -> Array:
        """log L(x)."""

        def plain(x: Array) -> Array:
            return self.c * x - self.dip * np.exp(-((x / self.width) ** 2) / 2)

        return np.asarray(plain(x) - np.log(WEIGHTS @ np.exp(plain(NODES))))

    @property
    def energy(self) -> float:
        """The limit of F for large d."""
        return float(WEIGHTS @ (NODES * np.exp(self.log_density(NODES)))) ** 2

    @cached_property
    def rho(self) -> float:
        """The largest D_alpha/alpha over angles and orders alpha >= 1, by quadrature."""
        return max(self._rho_at(float(angle)) for angle in ANGLES)

    @cached_property
    def mu(self) -> float:
        """The mu whose hockey-stick divergences are the largest over angles and levels.

        Small angles, where the two laws are close, are left out.
        """
        return max(self._mu_at(float(angle)) for angle in ANGLES[5::2])

    def _pair(self, angle: float, nodes: Array) -> tuple[Array, Array]:
        """log L at the two arguments, for all pairs of nodes."""
        other = math.cos(angle) * nodes[:, None] + math.sin(angle) * nodes
        return self.log_density(nodes)[:, None], self.log_density(other)

    def _rho_at(self, angle: float) -> float:
        first, second = self._pair(angle, NODES)
        weights = WEIGHTS[:, None] * WEIGHTS
        kl = float(np.sum(weights * np.exp(first) * (first - second)))
        orders = 1 + np.geomspace(0.05, 5 / self.c, ORDERS)
        powers = [np.sum(weights * np.exp(a * (first - second) + second)) for a in orders]
        return max(kl, float(np.max(np.log(powers) / (orders * (orders - 1)))))

    def _mu_at(self, angle: float) -> float:
        first, second = map(np.exp, self._pair(angle, STEPS))
        density = np.exp(-(STEPS**2) / 2) / np.exp(-(STEPS**2) / 2).sum()
        weights = density[:, None] * density
        largest, above = 0.0, np.empty_like(second)
        for level in np.linspace(0, 8 * self.c, LEVELS):
            np.subtract(first, np.multiply(math.exp(level), second, out=above), out=above)
            stick = float(np.vdot(weights, np.maximum(above, 0, out=above)))
            if stick < SMALL:
                break
            if largest == 0 or Gaussian(largest).delta(float(level)) < stick:  # delta grows with mu
                largest = _mu_with(float(level), stick)
        return largest


def _mu_with(epsilon: float, delta: float) -> float:
    """The mu with delta(epsilon) = delta."""
    return float(optimize.brentq(lambda mu: Gaussian(mu).delta(epsilon) - delta, 1e-4, 20.0))


CONCENTRATED = {
    0.001: Radial(0.022142, 0.065757, 1.28534),
    0.01: Radial(0.068523, 0.219043, 1.35064),
    0.1: Radial(0.20254, 0.778336, 1.54945),
    1.0: Radial(0.51338, 2.94258, 1.91009),
    3.0: Radial(0.7027, 6.74805, 2.51824),
}
"""rho -> the radial channel near it with the largest quotient that a search found."""
GAUSSIAN = {
    0.045: Radial(0.0222, 0.0570068, 1.42438),
    0.14: Radial(0.0685, 0.180287, 1.33472),
    0.45: Radial(0.2025, 0.648762, 1.48022),
    1.0: Radial(0.4, 1.65849, 1.55939),
}
"""mu -> the same."""


def found_channels() -> Iterator[Found]:
    """All of them, with their own rho and mu, which are a little off the round ones."""
    for rho, channel in CONCENTRATED.items():
        yield Found("radial, large d", ZeroConcentrated(channel.rho), channel.energy)
        epsilon = optimize.brentq(lambda e, rho=rho: four_letters(e)[0] - rho, 1e-6, 5.0)
        own, energy = four_letters(epsilon)
        yield Found("four letters", ZeroConcentrated(own), energy)
    for channel in GAUSSIAN.values():
        yield Found("radial, large d", Gaussian(channel.mu), channel.energy)
