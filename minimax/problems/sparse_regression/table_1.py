"""The rows of WG19: Table 1, algorithms for sparse linear regression under (epsilon, delta)."""

from __future__ import annotations

from minimax.core.bound import Point, Terms, UpperBound
from minimax.core.claimed import HIDDEN_CONSTANT, claimed_bound
from minimax.core.loss import Loss, squared_distance
from minimax.core.symbolic import library
from minimax.problems.erm.upper import EXCESS_RISK

TO_THE_SPARSE_POINT = Loss("squared l2 distance to theta*", squared_distance)
NAMES = ("n", "d", "s", "epsilon", "delta")
WITHOUT_DELTA = f"{HIDDEN_CONSTANT}; log(1/delta) left out, as printed"


def frank_wolfe_row() -> UpperBound:
    r"""Frank-Wolfe (Talwar, Thakurta, Zhang, 2015): log(n d)/(n eps)^(2/3).

    The text of WG19's section 2 prints (n eps)^(-3/2) for the same algorithm, which is wrong.
    """

    def rate(p: Point) -> Terms:
        lib = library(p["n"])
        budget = lib.log(p["n"] * p["epsilon"])
        return Terms(None, lib.log(p["n"] * p["d"]) * lib.exp(-2 * budget / 3))

    return claimed_bound(
        UpperBound,
        "Frank-Wolfe: claimed rate of Table 1",
        "WG19: Table 1",
        NAMES,
        rate,
        loss=EXCESS_RISK,
        remark=f"{WITHOUT_DELTA}; excess empirical risk, where the other rows are distances",
    )


def two_stage_row() -> UpperBound:
    r"""Select the support, then perturb the objective (Kifer, Smith, Thakurta, 2012):
    s^2 log(2/gamma)/(n eps)^2, gamma the chance that the selection *fails*."""

    def rate(p: Point) -> Terms:
        return Terms(None, (p["s"] / (p["n"] * p["epsilon"])) ** 2)

    return claimed_bound(
        UpperBound,
        "two stages: claimed rate of Table 1",
        "WG19: Table 1",
        NAMES,
        rate,
        loss=TO_THE_SPARSE_POINT,
        remark=(
            f"{WITHOUT_DELTA}; log(2/gamma) is in the constant: gamma is called the chance of"
            " success there, but must be that of failure"
        ),
    )


def thresholding_row() -> UpperBound:
    r"""DP-IGHT: s^2 log d/(n eps)^2, where K^2 >= mu d of the rows' length is left out."""

    def rate(p: Point) -> Terms:
        size = p["s"] ** 2 * library(p["d"]).log(p["d"])
        return Terms(None, size / (p["n"] * p["epsilon"]) ** 2)

    return claimed_bound(
        UpperBound,
        "noisy hard thresholding: claimed rate of Table 1",
        "WG19: Table 1",
        NAMES,
        rate,
        loss=TO_THE_SPARSE_POINT,
        remark=(
            f"{WITHOUT_DELTA}; too small by a factor of d: rows of length K have K^2 >= mu d, mu"
            " the least sparse eigenvalue, and the noise is scaled to K"
        ),
    )


def table_1() -> list[UpperBound]:
    """Its three rows."""
    return [frank_wolfe_row(), two_stage_row(), thresholding_row()]
