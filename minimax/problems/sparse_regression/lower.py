r"""Lower bounds for sparse linear regression (CWZ19 §4.3).

The class: rows x with |x_j| <= 1/sqrt(s) and E x x' = Sigma, whose eigenvalues on any 3s
coordinates lie in [1/(L s), L/s]; y = <x, beta> + N(0, sigma^2), at most s non-zero beta_j,
|beta|_2 <= radius. Loss |estimate - beta|^2_Sigma. The lower bounds are proved with uniform signs
x in {-1/sqrt s, 1/sqrt s}^d, for which L = 1 and the loss is |estimate - beta|^2/s. (CWZ19 asks the
like for every |I| = o(n) at once, which no law satisfies: |I| = 1 makes E x_j^2 a constant and
large |I| makes x_j small. Here it is asked at one scale.)
"""

from __future__ import annotations

import math

from minimax.core.bound import Assumption, LowerBound, Optimum, Point, Terms
from minimax.core.claimed import claimed_bound
from minimax.core.loss import Loss
from minimax.core.once import made_once
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
)
from minimax.core.symbolic import library
from minimax.methods.blocks import information_search
from minimax.methods.known_support import known_support_bound
from minimax.methods.priors import RegressionBlockPrior, RegressionPrior
from minimax.problems.regression import lower as regression
from minimax.problems.regression.lower import PAPER_BUDGET
from minimax.problems.regression.problem import LOSS
from minimax.problems.sparse_mean.lower import block_expression, block_information

NAMES = ("n", "d", "s", "sigma", "radius")


BLOCKS = Assumption(
    "d >= 2 s (blocks of at least two coefficients)", lambda p: p["d"] >= 2 * p["s"]
)


def statistical() -> LowerBound:
    r"""**Statement.** R >= sup_b s sigma^2 (b - h_m(b))^2/(2 n b), m = floor(d/s), about
    s sigma^2 log(2m)/(2n).

    **Proof.** `minimax.methods.blocks.information_formula` with beta = g v, v the signed blocks:
    the loss is (g^2/s)|.|^2 in units of v, and I(v; X, y) <= n E<x, beta>^2/(2 sigma^2) = n g^2/(2
    sigma^2), so tau = g/sqrt(s) plays the part it has for a sparse mean; |beta| <= radius means
    tau <= radius/s.
    **Constants.** Closed form s sigma^2 log(d/s)/(4n). **Source.** the statistical term of CWZ19:
    Theorem 4.3; larger by log(d/s) than that of a known support.
    """

    def optimise(p: Point) -> Optimum:
        s = int(p["s"])
        found = information_search(p["n"], int(p["d"]) // s, s, p["sigma"], p["radius"] / p["s"])
        return {**found, "height": found["tau"] * math.sqrt(s)}

    return LowerBound(
        name="Fano: sign design, blocks",
        source="CWZ19: Theorem 4.3 (first term)",
        parameters=NAMES,
        optimise=optimise,
        formula=lambda p, found: Terms(block_information(p, p["radius"] / p["s"], found), None),
        expression=block_expression,
        assumptions=(
            BLOCKS,
            Assumption(
                "(s sigma)^2 log(2 d/s) <= n radius^2",
                lambda p: (
                    (p["s"] * p["sigma"]) ** 2 * math.log(2 * p["d"] / p["s"])
                    <= p["n"] * p["radius"] ** 2
                ),
            ),
        ),
        prior_at=lambda p, parts: RegressionBlockPrior(
            int(p["d"]), int(p["s"]), parts.optimum["height"], p["sigma"]
        ),
        slack=6.0,
        slack_regime=BLOCKS,
        loss=LOSS,
    )


def known_support(model: type[Privacy], *, shifted: bool = False) -> LowerBound:
    """`regression.tracing` on s coefficients whose places are known: see `on_known_support`."""
    return on_known_support(regression.tracing(model, shifted=shifted))


def on_known_support(dense: LowerBound) -> LowerBound:
    r"""A bound by tracing on s coefficients whose places are known.

    **Statement.** That of `minimax.problems.regression.lower`, with d replaced by s. **Proof.**
    With signs of size 1/sqrt(s) the rows of X restricted to the support are those of that proof,
    the other columns are independent of everything, and knowing the support can only help.
    **Source.** CWZ19: Theorem 4.3, without the log d.
    """
    return known_support_bound(
        dense,
        name=dense.name.replace("sign design", "known support"),
        source=dense.source.replace("4.1", "4.3"),
        prior_at=lambda p, parts: RegressionPrior(
            int(p["d"]), p["radius"], p["sigma"], support=int(p["s"])
        ),
    )


def claimed_theorem_4_3() -> LowerBound:
    r"""CWZ19: Theorem 4.3 as claimed: sigma^2 (s log d/n + (s log d)^2/(n eps)^2).

    Its proof rests on Lemma 4.3(2), which is refuted (`refuted_lemma_4_3`), so the privacy term is
    unproved. (Its twin for the mean, Theorem 3.3, is false: `sparse_mean.refuted_theorem_3_3`.)
    """

    def rate(p: Point) -> Terms:
        logs, variance = p["s"] * library(p["d"]).log(p["d"]), p["sigma"] ** 2
        privacy = variance * (logs / (p["n"] * p["epsilon"])) ** 2
        return Terms(variance * logs / p["n"], privacy)

    return claimed_bound(
        LowerBound,
        "tracing: claimed rate of Theorem 4.3",
        "CWZ19: Theorem 4.3",
        ("n", "d", "s", "sigma", "epsilon", "delta"),
        rate,
        assumptions=PAPER_BUDGET,
        remark="unproved: rests on Lemma 4.3(2), which is refuted; constant shown as 1",
        loss=LOSS,
    )


def refuted_lemma_4_3() -> LowerBound:
    r"""CWZ19: Lemma 4.3(2) as printed: some prior makes sum_i E A_i at least sigma^2 s log d.

    **Refuted.** The proof copies that of Lemma 3.2(2): Stein's lemma for a function that jumps
    where a coefficient enters the top-s set, the jump dropped. Besides, the lemma takes x = 0 off
    the support, so that the design itself reveals where beta is not zero: least squares on the
    visible columns, with any independent noise, is unbiased, so that sum_i E A_i =
    sigma^2 sum_{j in S} d E M_j/d beta_j = sigma^2 s exactly, for every prior and every d, at
    vanishing risk (`attacks.lemma_4_3_counterexample`).
    """
    return claimed_bound(
        LowerBound,
        "tracing: claimed completeness of Lemma 4.3(2)",
        "CWZ19: Lemma 4.3",
        ("d", "s", "sigma"),
        lambda p: Terms(None, p["sigma"] ** 2 * p["s"] * library(p["d"]).log(p["d"])),
        kind="refuted",
        loss=Loss("sum over records of the expected attack score (4.5)"),
        remark="refuted: stays at sigma^2 s for least squares on the revealed support",
    )


@made_once
def lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `sparse-regression` under one privacy definition."""
    bounds = [
        statistical(),
        known_support(model),
        *([known_support(model, shifted=True)] if model in (Pure, Approximate) else []),
        *(
            [on_known_support(regression.antipodal_pairs(model))]
            if model in (ZeroConcentrated, Gaussian)
            else []
        ),
        *([on_known_support(regression.resampled_sign(model))] if model is not Pure else []),
        regression.packing(model, sparse=True),
    ]
    return bounds + ([claimed_theorem_4_3()] if model is Approximate else [])
