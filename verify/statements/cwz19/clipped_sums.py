r"""The sum of attack scores of a private clipped estimator, against CWZ19 B.2 and B.6.

An estimator that clips, averages and adds independent noise has sum_i E A_i = s E clip(u + xi) xi,
xi ~ N(0, 1), u a mean or a regression function: by Stein's lemma s P(|u + xi| < R), at most s.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from scipy import integrate

from verify.proofs.entry import Result, result
from verify.statements.cwz19.top_entries import TopEntries


class Sums(NamedTuple):
    """sum_i E A_i of an estimator, at its least and largest over all parameters."""

    least: float
    largest: float
    risk: float
    """A bound on its risk."""


Estimator = Callable[[int, int, int], Sums]
"""From n, d and s."""


@cache
def score_of_clipped(mean: float, R: float) -> float:
    """E clip(x, -R, R)(x - mean), x ~ N(mean, 1): by quadrature, without Stein's lemma.

    M is an average of clipped terms with independent noise: as the records are independent, this is
    what a coordinate of the support, or a record, adds to sum_i E A_i.
    """

    def integrand(z: float) -> float:
        return max(-R, min(mean + z, R)) * z * math.exp(-(z**2) / 2)

    return float(integrate.quad(integrand, -12, 12, limit=200)[0]) / math.sqrt(2 * math.pi)


def sums(s: int, R: float, risk: float) -> Sums:
    """s times the score of what is clipped at R, over means in [-1, 1]."""
    shares = [score_of_clipped(mean, R) for mean in (-1.0, -0.4, 0.0, 0.7, 1.0)]
    return Sums(s * min(shares), s * max(shares), risk)


def reaches(estimator: Estimator, power: int) -> Result:
    """Is the largest sum, so that over all priors, of order s (log d)^power?

    n = d^2 and s = sqrt(d): the risk tends to zero. The ratio must not.
    """
    ratios, risks = [], []
    for exponent in (2, 4, 8, 12):
        d, s = 10**exponent, 10 ** (exponent // 2)
        found = estimator(d**2, d, s)
        ratios.append(found.largest / (s * math.log(d) ** power))
        risks.append(found.risk)
    return result(
        ratios[-1] >= ratios[0] / 2,
        largest_sum_over_stated_at_d_1e2=ratios[0],
        largest_sum_over_stated_at_d_1e12=ratios[-1],
        risk_at_d_1e2=risks[0],
        risk_at_d_1e4=risks[1],
        risk_at_d_1e12=risks[-1],
    )


def displayed(top: TopEntries, risk: float, *, selected: bool) -> float:
    """The right side of (B.1), E sum_S nu_j^2 less what the risk of M for nu takes, over gamma^2.

    A bound in the place of the risk makes it smaller. `selected` off: S fixed beforehand.
    """
    signal = top.signal(selected=selected)
    return (signal - math.sqrt(risk * signal)) / top.gamma**2
