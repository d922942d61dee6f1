"""WX19 §3 and §4.1: local privacy, and the lower bounds for private records.

What differs from WX21: the class (1) does not ask that the noise have mean zero given x; Theorem 1
has an upper bound; Corollary 1 speaks of every fully interactive protocol; Remark 2 has no
log(1/delta); the relaxed definitions of privacy are in an appendix.
"""

from __future__ import annotations

import math
from fractions import Fraction

from minimax.core.privacy import Pure
from minimax.methods.divergences import tv_contraction
from minimax.methods.le_cam import squared_risk
from minimax.problems.local_regression.lower import (
    claimed_theorem,
    report_energy,
    reverse_ratio,
    wx21_theorem_1,
)
from minimax.problems.local_regression.problem import LocalRegressionProblem
from minimax.problems.local_regression.upper import one_shot_upper
from verify.proofs.entry import Case, Result, Status, result
from verify.statements.repeats import EarlierVersion
from verify.statements.wx21.interaction import blow_up, central_rate
from verify.statements.wx21.local_bounds import NOISE
from verify.statements.wx21.local_privacy import (
    bounded_noise_cases,
    closest_laws,
    identified,
    linear,
)

PRELIMINARIES = EarlierVersion("WX19")
LOWER_BOUNDS = EarlierVersion("WX19")

PRELIMINARIES.repeats(
    "Definition 1",
    found="Pure ε only; WX21 adds δ. Privacy given each past bounds the transcript's leak.",
    statement=(
        r"$Z_i$ is an $\epsilon$ sequentially locally private view of $X_i$ if for all"
        r" $z_{1:i-1}$, $x$, $x'$ and events $S$:"
        r" $Q_i(S\mid x,z_{1:i-1})\le e^\epsilon Q_i(S\mid x',z_{1:i-1})$; non-interactively"
        r" if $Q_i$ does not depend on $z_{1:i-1}$. (No $\delta$, though Theorems 1 and 5"
        r" speak of $(\epsilon,\delta)$.)"
    ),
)

PRELIMINARIES.repeats("Definition 2")

BOUNDED_NOISE = (
    "With σ = −⟨x, θ⟩, which the text allows (“could depend on x”) and which is at most C for"
    " |θ|₁ ≤ C, the data of θ are those of 0. WX21 adds E[σ|x] = 0."
)

LOWER_BOUNDS.states(
    "(1)",
    r"$\mathcal P_{s,p,C}$: $x$ uniform on $\{\pm1\}^p$, $y=\langle\theta,x\rangle+\sigma$,"
    r" $|\sigma|\le C$, $\|\theta\|_2\le1$, $\|\theta\|_0\le s$; $\sigma$ may depend on"
    r" $x$. $\theta$ is to be estimated.",
    kind="equation",
    found="The class lacks E[σ|x] = 0 (WX21 has it): θ and 0 may have the same data.",
    by="optimisation",
    expected=Status.CORRECTED,
    severity="breaks a claim",
    **bounded_noise_cases(linear, 1.0),
    wrong=(
        BOUNDED_NOISE
        + " The lower bounds stay true, for a trivial reason: no estimator, private or not, has a"
        " risk below 1/4 for any n. The upper bounds of Theorems 1 and 4 are false on this class."
    ),
    code=("minimax.problems.local_regression.lower", "minimax.methods.priors.TwoLabelPrior"),
)(identified)

ROUTE = {
    "the paper's own route": "the route of WX21",
    "by Lemmas 7 and 10": "by the proof in WX21",
    "by Lemma 9": "by the proof in WX21",
}

LOWER_BOUNDS.repeats(
    "(2)",
    found="Constant 1/5 by the route of the proof, for noise of mean zero, a smaller class.",
    numbers=ROUTE,
)

EPSILON = 0.5


# --- The upper bound of Theorem 1 -----------------------------------------------------------------


@LOWER_BOUNDS.states(
    "Theorem 1",
    r"For $\epsilon\in(0,\frac12]$ the non-interactive risk over $\mathcal P_{1,p,2}$ is"
    r" $\ge\Omega(\min\{1,\frac{p\log p}{n\epsilon^2}\})$, and some $(\epsilon,\delta)$"
    r" non-interactive algorithm has squared error $O(\min\{1,\frac{p\log p}"
    r"{n\epsilon^2}\})$ (lower bound: see (2); probability: see the next entry).",
    kind="theorem",
    found="The upper bound, dropped in WX21, needs E[σ|x] = 0; then pure ε is enough.",
    by="exact",
    uses=("Definition 2", "(1)", "(2)"),
    expected=Status.CORRECTED,
    severity="breaks a claim",
    slow=True,
    printed=Case("over the class (1)", centred=False, constant=1000.0),
    corrected=Case("with E[σ|x] = 0", centred=True, constant=1000.0),
    mutant=Case("corrected, constant 1/10", centred=True, constant=0.1),
    wrong=(
        BOUNDED_NOISE
        + " So the upper bound, whose proof was left to an appendix and which WX21 does not repeat,"
        " is false over (1) for every n. With noise of mean zero it is true, and better than"
        " claimed: one bit from each user is ε-LDP, so that the rate is Θ without a δ, which the"
        " lower bound does not cover."
    ),
    code=(
        "minimax.problems.local_regression.upper.one_shot_upper",
        "estimators.local_regression.OneShotThreshold",
        "minimax.problems.local_regression.lower.wx21_theorem_1",
    ),
)
def upper_rate(*, centred: bool, constant: float) -> Result:
    """Is the risk over P_{1,p,2} at most constant * min{1, p log p/(n eps^2)}?

    From above, for noise of mean zero, the proven risk of `OneShotThreshold`, or 1 for releasing 0.
    From below, `wx21_theorem_1`, and two points theta = 0 and e_1 whose label laws have total
    variation t at least: the affinity of n records, private or not, is at least (1 - t)^n.
    """
    t = max(closest_laws(linear, 1.0, NOISE, bias=0.0 if centred else 1.0), 0.0)
    above = forced = certified = 0.0
    for p in (2, 1000):
        for n in (p, 10**3 * p, 10**7 * p, 10**11 * p):
            for epsilon in (0.05, EPSILON):
                at = {"n": float(n), "p": float(p), "C": NOISE}
                claim = constant * claimed_theorem(1).value(**at, epsilon=epsilon)
                forced = max(forced, squared_risk(1.0, max(n * math.log1p(-t), -300.0)) / claim)
                certified = max(certified, wx21_theorem_1().value(**at, epsilon=epsilon) / claim)
                budget = Pure(epsilon, scope="local")
                risk = one_shot_upper(LocalRegressionProblem(n, p, NOISE), budget).value(**at)
                above = max(above, min(risk, 1.0) / claim)
    return result(
        max(forced, certified) <= 1 and (above <= 1 or not centred),
        largest_two_point_risk_over_claim=forced,
        largest_certified_risk_over_claim=certified,
        total_variation_of_labels=t,
        largest_risk_of_an_estimator_over_claim=above if centred else "unknown",
        constant=constant,
    )


@LOWER_BOUNDS.states(
    "Theorem 1, probability",
    r"The algorithm's squared error is $O(\min\{1,\frac{p\log p}{n\epsilon^2}\})$ with"
    r" probability at least $1-\exp(-\Omega(p))$.",
    kind="theorem",
    found="1 − exp(−Ω(p)) is impossible as δ → 0: a coordinate is missed w.p. p^(−O(1)).",
    by="exact",
    uses=("Theorem 1",),
    expected=Status.CORRECTED,
    severity="constants",
    printed=Case("but for chance exp(−p/1000)", exponential=True, constant=1000.0),
    corrected=Case("but for chance 1/p", exponential=False, constant=1000.0),
    mutant=Case("corrected, constant 1", exponential=False, constant=1.0),
    wrong=(
        "n reports tell about some coordinate at most 1/p of what they tell in all, so ±d e_j"
        " with d² = K p log p/(nε²) are confused with chance at least p^(−cK)/4, c about .07."
        " exp(−Ω(p)) is the tail of a dense mean. This is for ε-LDP, and so for δ → 0, which"
        " the bound allows as it has no δ (an (ε, δ) channel on the finite set {±1}^(p+1) is"
        " then as good as an ε-LDP one). For a fixed δ > 0 hidden in the O it says nothing: a"
        " share δ of all records may then be sent as they are."
    ),
    code=(
        "minimax.problems.local_regression.lower.interactive",
        "minimax.problems.local_regression.upper.one_shot_upper",
    ),
)
def upper_tail(*, exponential: bool, constant: float) -> Result:
    r"""Is |error|^2 <= h^2 = constant p log p/(n eps^2) but for chance e^{-p/1000}, or else 1/p?

    From below: theta = +-d e_j, d = 1.01 h, for the j about which the reports tell least. As in
    `minimax.problems.local_regression.lower.interactive`, the squared affinity is at least e^-S,
    S = n A k(tau) d^2/(p (C - d)^2), and no estimate is within h of both, so the chance is at least
    (1 - sqrt(1 - e^-S))/2 >= e^-S/4. From above: `OneShotThreshold` has errors e_j with proxy
    v = (3 coth(eps/2))^2/floor(n/p) and squared error at most 5 max e_j^2.
    """
    slack_below = slack_above = math.inf
    for p in (10, 10**3, 10**6, 10**9, 10**12):
        n = 100 * constant * p * math.log(p) / EPSILON**2  # h = 1/10
        h = math.sqrt(constant * p * math.log(p) / (n * EPSILON**2))
        tilt = 1.01 * h / (NOISE - 1.01 * h)
        ratio = float(reverse_ratio(tilt * tv_contraction(EPSILON)))
        A = report_energy(Pure, {"p": p, "epsilon": EPSILON}, sharp=True)
        least = -n / p * A * ratio * tilt**2 - math.log(4)
        proxy = (3 / math.tanh(EPSILON / 2)) ** 2 / math.floor(n / p)
        most = min(math.log(2 * p) - h**2 / (10 * proxy), 0.0)
        stated = -p / 1000 if exponential else -math.log(p)
        slack_below = min(slack_below, stated - least)
        slack_above = min(slack_above, stated - most)
    return result(
        min(slack_below, slack_above) >= 0,
        least_log_of_claim_over_every_protocol=slack_below,
        least_log_of_claim_over_the_estimator=slack_above,
        constant=constant,
    )


LOWER_BOUNDS.repeats("(3)", numbers=ROUTE)
LOWER_BOUNDS.repeats("Theorem 2")
LOWER_BOUNDS.repeats("Remark 1")

LOWER_BOUNDS.states(
    "Corollary 1",
    r"A $k$-compositional fully interactive protocol becomes sequentially interactive with"
    r" $O(k)$ times the samples, so by Theorem 2 the polynomial dependence on $p$ cannot be"
    r" avoided in the fully interactive model (WX21: for $O(p)$-compositional protocols).",
    kind="corollary",
    found="Claimed for every fully interactive protocol; an O(k) blow-up shows it for k ≪ p.",
    by="symbolic",
    expected=Status.UNPROVED,
    severity="breaks a claim",
    step=Case("any k, such as k = p²", exponent=Fraction(2)),
    relaxed=Case("k = p^(1/2) leaves a power of p", exponent=Fraction(1, 2)),
    wrong=(
        "Theorem 2 for the sequential protocol gives n ≥ p/(kε²), and k is not bounded in the"
        " fully interactive model. WX21 restricts k to O(p), where nothing is left either. (The"
        " claim may be true; it does not follow.)"
    ),
    code=("minimax.problems.local_regression.lower.wx21_theorem_2",),
    uses=("Theorem 2",),
    same_as="WX21:Corollary 1",
)(blow_up)

LOWER_BOUNDS.states(
    "Remark 2",
    r"In the central model [CWZ19] the $\ell_2$ risk is at least of order"
    r" $\sqrt{s\log p/n}+s\log p/(n\epsilon)$, and for dense parameters"
    r" $\sqrt{p/n}+p/(n\epsilon)$, all optimal; so local and central privacy differ.",
    kind="remark",
    found="The cited lower bounds are quoted rightly, without the log(1/δ) that WX21 adds.",
    by="exact",
    uses=("Theorem 1", "CWZ19:Theorem 4.1", "CWZ19:Theorem 4.3"),
    despite=("It quotes the cited bounds, and quotes them rightly."),
    expected=Status.HOLDS,
    printed=Case("without log(1/δ)", power=0.0),
    mutant=Case("with it, as in WX21", power=1.0),
    code=(
        "minimax.problems.regression.lower.claimed_theorem_4_1",
        "minimax.problems.sparse_regression.lower.claimed_theorem_4_3",
    ),
)(central_rate)

LOWER_BOUNDS.repeats("Theorem 3")
LOWER_BOUNDS.repeats("(4)", numbers=ROUTE)
