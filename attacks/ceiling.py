r"""What privacy allows the members' scores to reach: every route that is proved, for the least.

**Statement.** For the score A = <V, w> of one record, w centred with covariance at most sigma^2 I
(regression: V in the norm of E xx'), V free of the record but for the release, each `Route` has

    E_P A <= own sigma sqrt(E|V|^2) + leak sqrt(E_P (A^+)^2) + second sqrt(E_P A^2).

**Proof.** *Any score*: `minimax.methods.tracing.gain_at`. *A score of symmetric law* (w ~ -w):
under zCDP and GDP `minimax.methods.antipodal_gain.average_pair_gain`, own = sqrt(rho/2) (1 + o(1))
for small budgets where the first route has sqrt(2 rho); under every definition
`minimax.methods.resampled_sign.sign_contraction` with h = 1, where second = T.

E_P A^2 has to be measured. A leave-one-out attack adds the gradient of the prior's log density to
V, whose square has no variance: there it has no valid interval, and that route is left out.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from minimax.core.privacy import Approximate, Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods.antipodal_gain import average_pair_gain
from minimax.methods.resampled_sign import sign_contraction
from minimax.methods.tracing import Tail, best_gain

TRACED = (Pure, Approximate, ZeroConcentrated, Gaussian)
"""The definitions with a tracing lemma, which gives a ceiling."""


class Route(NamedTuple):
    """The three factors of the statement."""

    own: float = 0.0
    leak: float = 0.0
    second: float = 0.0

    def allowed(self, spread: float, positive: float, square: float) -> float:
        """The bound, from sigma^2 E|V|^2, E_P (A^+)^2 and E_P A^2; 0 times infinity is 0."""
        terms = zip(self, (spread, positive, square), strict=True)
        return sum(factor * math.sqrt(max(x, 0.0)) for factor, x in terms if factor)


def routes(privacy: Privacy, tail: Tail, *, symmetric: bool, heavy: bool = False) -> list[Route]:
    """Every route that is open to a score, whose squares are `heavy` if they have no variance."""
    gain = best_gain(privacy, tail)
    found = [Route(float(gain.own), float(gain.leak))]
    if symmetric:
        model, point = type(privacy), privacy.parameters
        if not heavy:
            found.append(Route(second=math.sqrt(float(sign_contraction(model, point)))))
        if isinstance(privacy, (ZeroConcentrated, Gaussian)):
            pair = average_pair_gain(model, point, sub_gaussian=tail.transport)
            found.append(Route(float(pair)))
    return found
