r"""zCDP channels that come near the gain of antipodal pairs (`minimax.methods.antipodal_gain`).

Each has a symmetric score w of covariance I, a rho, and an energy F = E_m |E[w|z]|^2, which the
gain bounds. F > rho/2 in both: the leading term of the gain is not the whole of it.

*Four letters*: randomised response on {-1, 1}^2, in closed form.

*Radial*: w is uniform on the sphere of radius sqrt(d), e = w/|w|, z = x e + N(0, I - ee^T), where x
has the density phi(x) L(x), L(x) = e^{c x - dip e^{-x^2/(2 width^2)}}/norm. With respect to N(0, I)
the law of z has the density L(<e, z>), and for two directions at the angle theta the two arguments
are standard normal with correlation cos theta: the Renyi divergences are integrals over the plane.
As d grows, m tends to N(0, I) and F to (E x)^2. dip = 0 is Gaussian noise, with F = c^2 = rho/2;
the dip makes reports whose direction says little rarer.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import optimize

from minimax.methods.antipodal_gain import four_letters

Array = NDArray[np.float64]
NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(60)
WEIGHTS = WEIGHTS / WEIGHTS.sum()
ANGLES = np.linspace(0.1, np.pi, 30)
ORDERS = 16


class Found(NamedTuple):
    """A channel that was found: its concentration and its energy."""

    rho: float
    energy: float

    @property
    def quotient(self) -> float:
        """F/(rho/2)."""
        return self.energy / (self.rho / 2)


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

    @property
    def rho(self) -> float:
        """The largest D_alpha/alpha over angles and orders alpha >= 1, by quadrature."""
        return max(self._at_angle(float(angle)) for angle in ANGLES)

    def _at_angle(self, angle: float) -> float:
        other = math.cos(angle) * NODES[:, None] + math.sin(angle) * NODES
        first, second = self.log_density(NODES)[:, None], self.log_density(other)
        weights = WEIGHTS[:, None] * WEIGHTS
        kl = float(np.sum(weights * np.exp(first) * (first - second)))
        orders = 1 + np.geomspace(0.05, 5 / self.c, ORDERS)
        powers = [np.sum(weights * np.exp(a * (first - second) + second)) for a in orders]
        return max(kl, float(np.max(np.log(powers) / (orders * (orders - 1)))))


RADIAL = {
    0.001: Radial(0.022142, 0.065757, 1.28534),
    0.01: Radial(0.068523, 0.219043, 1.35064),
    0.1: Radial(0.20254, 0.778336, 1.54945),
    1.0: Radial(0.51338, 2.94258, 1.91009),
    3.0: Radial(0.7027, 6.74805, 2.51824),
}
"""rho -> the radial channel near it with the largest quotient that a search found."""


def found_channels(rho: float) -> Iterator[tuple[str, Found]]:
    """The channels near rho, a key of `RADIAL`, by name."""
    radial = RADIAL[rho]
    yield "radial, large d", Found(radial.rho, radial.energy)
    epsilon = optimize.brentq(lambda epsilon: float(four_letters(epsilon)[0]) - rho, 1e-6, 5.0)
    yield "four letters", Found(*map(float, four_letters(epsilon)))
