r"""Newton steps whose second moment was released with noise: gains, and what is left of errors."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from estimators.core.error_laws import SATURATED
from estimators.core.intervals import Array, ErrorLaw, MixedVariance, NoiseLaw
from estimators.core.second_moment import SecondMoment, moment_floor
from minimax.methods.residual_clip import clipped_normal

OFFSETS = np.linspace(-4.0, 4.0, 17)
"""How far off an eigenvalue is looked at by intervals, in deviations of its noise."""
WEIGHTS = np.exp(-(OFFSETS**2) / 2) / np.exp(-(OFFSETS**2) / 2).sum()


class Step(NamedTuple):
    """A phase on clipped residuals."""

    clip: float
    slope: float
    noise: float
    """Deviation of the noise on a coordinate of the average."""


class ErrorsOnAxes:
    r"""What steps that are preconditioned with a noisy second moment leave, followed axis by axis.

    **Statement.** Steps are b' = b + K A^{-1}/slope [average + noise]. A is S + N, N symmetric
    noise of deviation nu on the diagonal, with eigenvalues l_i raised to a_i = max(l_i, floor); K
    has the gains k_i on the same axes. Let s_i = S_ii = l_i - N_ii there, g = P(|r| <= c)/slope,
    and b - beta be e + f, f being what sampling has left. To leading order

        E e_i^2 becomes (1 - k_i g s_i/a_i)^2 e_i^2 + (k_i g nu/a_i)^2 sum_{j != i} e_j^2/2
            + (k_i noise/(slope a_i))^2,
        (E f_i^2)^(1/2) at most |1 - k_i g s_i/a_i| of it + k_i (s_i E psi_c^2/n)^(1/2)/(slope a_i).

    The gain in [0, 1] minimises the first for s_i with mean min(max(l_i, 0), a_i) and deviation nu:
    an axis along which rows are not seen to vary is not moved, where it would only gather the noise
    of all steps. Residuals are taken to be normal, with the variance sigma^2 + stretch^2 times the
    risk, where S may be that of shortened rows and rows that count most are longer (`row_stretch`).
    Before the first step |e|^2 is taken to be `reach`^2, the most it can be: evenly spread over the
    axes for the gains, all of it on each axis for intervals.

    **Why.** The mean of a step is e - g K A^{-1} S e, and S is diag(l) - N on these axes, with
    variances nu^2 and, off the diagonal, nu^2/2; all steps see the same records, so what they add
    to f adds up with its sign. Not a proof: N is the same in all steps too, and chose the axes. An
    interval takes s_i for l_i + nu z, z normal and the same for all axes, but not below 0: most is
    left where it is far from l_i.

    **Privacy.** Only releases and public numbers are read.
    """

    def __init__(self, moment: SecondMoment, n: int, reach: float, stretch: float) -> None:
        values, self.axes = np.linalg.eigh(moment.matrix)
        self.raised = np.maximum(values, moment_floor(len(values), moment.noise))
        self.noise, self.n, self.stretch = moment.noise, n, stretch
        self.seen = np.clip(values / self.raised, 0.0, 1.0)
        self.possible = np.maximum(values + OFFSETS[:, None] * moment.noise, 0.0)
        self.usual = np.full(len(values), reach**2 / len(values))
        self.unsure = np.full(self.possible.shape, reach**2)
        self.sampling = np.zeros(self.possible.shape)
        self.total = reach**2
        self.risk = stretch * float(self.raised.max()) * reach**2

    def residual_deviation(self, sigma: float) -> float:
        """That of residuals now, for responses with noise of deviation sigma."""
        return math.hypot(sigma, self.stretch * math.sqrt(self.risk))

    def step(self, step: Step, deviation: float) -> Array:
        """The gains of a step on residuals of this deviation; what it leaves is then known."""
        clipped = clipped_normal(step.clip, deviation)
        square = step.clip**2 if deviation > SATURATED * step.clip else float(clipped.square)
        pull = float(clipped.slope) / step.slope
        blur = (pull * self.noise / self.raised) ** 2
        noise = (step.noise / (step.slope * self.raised)) ** 2
        gain = self._gain(pull * self.seen, blur, noise)
        kept = 1 - gain * pull * self.possible / self.raised
        drawn = gain / (step.slope * self.raised) * np.sqrt(self.possible * square / self.n)
        self.sampling = np.abs(kept) * self.sampling + drawn
        self.left = kept**2 * self.unsure + gain**2 * blur * self.total / 2
        self.unsure = self.left + gain**2 * noise
        self.total = float((WEIGHTS @ self.unsure).sum())
        usual = self.usual + WEIGHTS @ self.sampling**2
        self.risk = self.stretch * float(self.raised @ usual)
        return gain

    def _gain(self, pull: Array, blur: Array, noise: Array) -> Array:
        """That of the least E e_i^2, which then stands in `usual`."""
        added = blur * (self.usual.sum() - self.usual) / 2 + noise
        weight = (pull**2 + blur) * self.usual + added
        gain = np.minimum(pull * self.usual / np.maximum(weight, np.finfo(float).tiny), 1.0)
        self.usual = ((1 - gain * pull) ** 2 + gain**2 * blur) * self.usual + gain**2 * added
        return gain

    def mapped(self, gain: Array) -> Array:
        """K A^{-1}."""
        return np.asarray((self.axes * (gain / self.raised)) @ self.axes.T)

    def error_law(self, noise: NoiseLaw, covariance: Array) -> ErrorLaw:
        """As `last_phase_error`, with what is left as a variance. Where rows hardly vary along an
        axis, the interval is as wide as what was known before any record was read."""
        variance = (self.left + self.sampling**2) @ (self.axes**2).T
        factors = np.sqrt(np.diag(covariance)) / noise.deviation
        return ErrorLaw(MixedVariance(variance, WEIGHTS), noise, factors)
