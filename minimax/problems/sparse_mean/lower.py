r"""Lower and upper bounds for estimating a sparse mean (CWZ19 §3.3, §3.4).

The class: sub-Gaussian(sigma) laws on R^d whose mean has at most s non-zero coordinates, each at
most `radius` in size. Three certified lower bounds; the maximum of them is what is known here.
The (s log d)^2 privacy term of CWZ19: Theorem 3.3 is refuted (`refuted_theorem_3_3`).
"""

from __future__ import annotations

import math

from minimax.core.bound import Assumption, LowerBound, Optimum, Point, Terms, at_least
from minimax.core.claimed import claimed_bound
from minimax.core.loss import Loss
from minimax.core.once import made_once
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    Privacy,
    Pure,
    ZeroConcentrated,
    at_point,
    parameter_names,
)
from minimax.core.symbolic import LETTERS, Expression, Number, library, lift
from minimax.methods.blocks import information_formula, information_search
from minimax.methods.couplings import BlockPacking, Data
from minimax.methods.known_support import known_support_bound
from minimax.methods.packing import (
    closed_form_size,
    packing_expression,
    packing_formula,
    packing_search,
)
from minimax.methods.priors import BlockPrior, CosinePrior, GaussianBlockPrior
from minimax.papers import THIS_WORK
from minimax.problems.mean.lower import (
    antipodal_gaussian,
    resampled_gaussian,
    tracing_gaussian,
)

NAMES = ("n", "d", "s", "sigma", "radius")


SPARSE = Assumption("d >= 2 s (blocks of at least two coordinates)", lambda p: p["d"] >= 2 * p["s"])


def _block_size(p: Point) -> int:
    return int(p["d"]) // int(p["s"])


def statistical(*, name: str = "Fano: Gaussian data, blocks") -> LowerBound:
    r"""**Statement.** R >= sup_b s sigma^2 (b - h_m(b))^2/(2 n b), m = floor(d/s); about
    s sigma^2 log(2m)/(2n).

    **Proof.** `minimax.methods.blocks.information_formula`: Fano's argument with the loss in place
    of an error event. **Constants.** Closed form s sigma^2 log(d/s)/(4n), as b_m >= log(2m)/2 and
    2 floor(x) >= x. **Source.** the statistical term of CWZ19: Theorem 3.3.
    """

    return LowerBound(
        name=name,
        source="CWZ19: Theorem 3.3 (first term)",
        parameters=NAMES,
        optimise=lambda p: information_search(
            p["n"], _block_size(p), int(p["s"]), p["sigma"], p["radius"]
        ),
        formula=lambda p, found: Terms(block_information(p, p["radius"], found), None),
        expression=block_expression,
        assumptions=(
            SPARSE,
            Assumption(
                "sigma^2 log(2 d/s) <= n radius^2",
                lambda p: (
                    p["sigma"] ** 2 * math.log(2 * p["d"] / p["s"]) <= p["n"] * p["radius"] ** 2
                ),
            ),
        ),
        prior_at=lambda p, parts: GaussianBlockPrior(
            int(p["d"]), int(p["s"]), parts.optimum["tau"], p["sigma"]
        ),
        slack=6.0,
        slack_regime=SPARSE,
    )


def block_information(p: Point, largest: Number, found: Optimum) -> Number:
    """`information_formula` with tau at most `largest`, as the class asks."""
    tau = library(p["n"]).least(lift(found["tau"], p["n"]), largest)
    witness = {"tau": tau, "b": found["b"]}
    return information_formula(p["n"], _block_size(p), int(p["s"]), p["sigma"], witness)


def block_expression() -> Expression:
    """s sigma^2 log(d/s)/(4n)."""
    n, d, s, sigma = (LETTERS[name] for name in ("n", "d", "s", "sigma"))
    return s * sigma**2 * library(d).log(d / s) / (4 * n)


def known_support(model: type[Privacy], *, shifted: bool = False) -> LowerBound:
    """`tracing_gaussian` on s coordinates whose places are known: see `on_known_support`."""
    return on_known_support(tracing_gaussian(model, shifted=shifted))


def on_known_support(dense: LowerBound) -> LowerBound:
    r"""A bound by tracing on s coordinates whose places are known: the rest must be zero.

    **Statement.** That of `minimax.problems.mean.lower`, with d replaced by s. **Proof.**
    Knowing the support can only help. **Source.** CWZ19: Theorem 3.3, without the log d.
    """
    return known_support_bound(
        dense,
        name=dense.name.replace("Gaussian data", "known support"),
        source=dense.source.replace("3.1", "3.3"),
        prior_at=lambda p, parts: CosinePrior(
            int(p["d"]), p["radius"], p["sigma"], support=int(p["s"])
        ),
    )


def packing(model: type[Privacy], data: Data = "sub-Gaussian") -> LowerBound:
    r"""Packing by s blocks of m = floor(d/s) coordinates, by `packing_formula`.

    Grows like s min{log(d/s), log(eps/delta)}: the log d is certified for pure and tiny-delta
    privacy. **Constants.** Closed form with log(d/s) in place of log(2m).
    """

    def blocks(p: Point) -> BlockPacking:
        return BlockPacking(p["n"], _block_size(p), int(p["s"]), p["sigma"], p["radius"], data)

    def expression() -> Expression:
        d, s = LETTERS["d"], LETTERS["s"]
        return packing_expression(model, library(d).log(d / s), s, data)

    return LowerBound(
        name=f"packing: {data} data, blocks",
        source=f"{THIS_WORK}: packing_bound (for CWZ19: Theorem 3.3)",
        parameters=(*NAMES, *parameter_names(model)),
        optimise=lambda p: packing_search(blocks(p), at_point(model, p)),
        formula=lambda p, found: Terms(None, packing_formula(blocks(p), at_point(model, p), found)),
        expression=expression,
        assumptions=(SPARSE, at_least("n", 4)),
        prior_at=lambda p, parts: BlockPrior(
            int(p["d"]), int(p["s"]), parts.optimum["alpha"], parts.optimum["height"]
        ),
        slack=300.0,
        slack_regime=Assumption(
            "s log(d/s) >= 12, radius <= 10 sigma and 1 <= N_0 <= n/10",
            lambda p: (
                p["s"] * math.log(p["d"] / p["s"]) >= 12
                and p["radius"] <= 10 * p["sigma"]
                and 1
                <= closed_form_size(_block_size(p), int(p["s"]), at_point(model, p))
                <= p["n"] / 10
            ),
        ),
    )


def refuted_theorem_3_3() -> LowerBound:
    r"""CWZ19: Theorem 3.3 as printed: sigma^2 (s log d/n + (s log d)^2/(n eps)^2).

    **Refuted.** For s = 1 the estimator `StableSparseMean` has worst-case risk of order
    sigma^2 [log d/n + log n log^2(1/delta)/(n eps)^2]. With eps = n^{-1/2}, delta = n^{-2} and
    log d = log^2 n all hypotheses of the theorem hold, it claims log^4 n/n, and the estimator has
    log^3 n/n. The proof breaks at Lemma 3.2(2): see `refuted_lemma_3_2`.
    """

    def rate(p: Point) -> Terms:
        logs, variance = p["s"] * library(p["d"]).log(p["d"]), p["sigma"] ** 2
        privacy = variance * (logs / (p["n"] * p["epsilon"])) ** 2
        return Terms(variance * logs / p["n"], privacy)

    return claimed_bound(
        LowerBound,
        "tracing: claimed rate of Theorem 3.3",
        "CWZ19: Theorem 3.3",
        ("n", "d", "s", "sigma", "epsilon"),
        rate,
        kind="refuted",
        assumptions=(Assumption("epsilon < 1", lambda p: p["epsilon"] < 1),),
        remark="refuted: StableSparseMean has smaller worst-case risk for large log d",
    )


def refuted_lemma_3_2() -> LowerBound:
    r"""CWZ19: Lemma 3.2(2) as printed: some prior makes sum_i E A_i at least sigma^2 s log d.

    **Refuted.** The proof applies Stein's lemma to E[M_j | nu] 1(j in S(nu)), S the top-s set of
    nu, and drops the jump where nu_j enters S: under the prior of that proof the hard-thresholded
    sample mean, which is not private, has sum_i E A_i about sigma^2 s for every d
    (`attacks.lemma_3_2_counterexample`). The lemma itself, which is about private M, falls with the
    clipped mean and independent noise: whatever the prior, any coordinate-wise 1-Lipschitz function
    of the sample mean has sum_i E A_i <= sigma^2 s, by Stein's lemma in the data.
    """
    return claimed_bound(
        LowerBound,
        "tracing: claimed completeness of Lemma 3.2(2)",
        "CWZ19: Lemma 3.2",
        ("d", "s", "sigma"),
        lambda p: Terms(None, p["sigma"] ** 2 * p["s"] * library(p["d"]).log(p["d"])),
        kind="refuted",
        loss=Loss("sum over records of the expected attack score (3.2)"),
        remark="refuted: Stein's lemma applied to a discontinuous function",
    )


@made_once
def lower_bounds(model: type[Privacy]) -> list[LowerBound]:
    """Every lower bound for the class `sparse-mean` under one privacy definition."""
    return [
        statistical(),
        known_support(model),
        *([known_support(model, shifted=True)] if model in (Pure, Approximate) else []),
        *(
            [on_known_support(antipodal_gaussian(model))]
            if model in (ZeroConcentrated, Gaussian)
            else []
        ),
        *([on_known_support(resampled_gaussian(model))] if model is not Pure else []),
        packing(model),
        *([refuted_theorem_3_3()] if model in (Pure, Approximate) else []),
    ]
