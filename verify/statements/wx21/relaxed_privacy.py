"""WX21 §V-A and the proof of Theorem 4: zero-concentrated, Rényi and chi-square local privacy."""

from __future__ import annotations

import itertools
import math

import numpy as np
from numpy.typing import NDArray
from scipy import special

from estimators.randomisers.labels import GaussianLabels
from verify.proofs.entry import Case, Chapter, Result, Status, result

Array = NDArray[np.float64]
ZERO_CONCENTRATED = Chapter("WX21")
CHI_SQUARE = Chapter("WX21")

_EVENTS = (
    "The display puts the probabilities of one event, Q(Z ∈ S | x), into a divergence of laws. For"
    " e^ε ratios events are enough; for a divergence of finite order they are not: events see less"
    " than the laws do. A divergence of the laws is surely meant. "
)

ORDERS = (1.001, 1.1, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0)


def _response(letters: int, epsilon: float) -> tuple[Array, Array]:
    """The laws of randomised response on so many letters, for the inputs 0 and 1."""
    laws = np.ones((2, letters))
    laws[0, 0] = laws[1, 1] = math.exp(epsilon)
    laws /= laws.sum(axis=1, keepdims=True)
    return laws[0], laws[1]


def _renyi(first: Array, second: Array, order: float) -> float:
    logs = order * np.log(first) + (1 - order) * np.log(second)
    return float(special.logsumexp(logs)) / (order - 1)


def _chi_square(first: Array, second: Array) -> float:
    return float(np.sum((first - second) ** 2 / second))


def _of_events(first: Array, second: Array, order: float) -> float:
    """The largest divergence of (P(S), P(not S)) over events S: by Neyman and Pearson, and by
    convexity, at sets of the largest likelihood ratios."""
    by_ratio = np.argsort(second / first)
    p, q = np.cumsum(first[by_ratio])[:-1], np.cumsum(second[by_ratio])[:-1]
    inner = (p > 1e-12) & (q > 1e-12) & (p < 1 - 1e-12) & (q < 1 - 1e-12)
    pairs = zip(p[inner], q[inner], strict=True)
    return max(_renyi(np.array([a, 1 - a]), np.array([b, 1 - b]), order) for a, b in pairs)


@ZERO_CONCENTRATED.states(
    "Definition 3",
    r"$(\kappa,\rho)$-LzCDP: for all $\alpha>1$, pasts, $x,x'$ and all events $S$,"
    r" $D_\alpha(Q_i(Z_i\in S\mid x,z_{1:i-1})\,\|\,Q_i(Z_i\in S\mid x',z_{1:i-1}))"
    r"\le\kappa+\rho\alpha$. Used as: then $\chi^2\le e^{\kappa+2\rho}-1$.",
    kind="definition",
    found="Written with events S, so that e^{κ+2ρ} − 1 does not bound χ²; laws are meant.",
    by="quadrature",
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("divergences of events", by_events=True),
    corrected=Case("divergences of laws", by_events=False),
    mutant=Case("of laws, ρ less 1 %", by_events=False, factor=0.99),
    wrong=(
        _EVENTS + "Randomised response on 20 letters: the ρ of events is too small for the χ² that"
        " Theorem 4 needs."
    ),
    code=(
        "minimax.core.privacy.ZeroConcentrated",
        "minimax.problems.local_regression.lower.wx21_theorem_4",
    ),
)
def chi_square_of_zcdp(*, by_events: bool, factor: float = 1.0) -> Result:
    """Is chi^2 <= e^{2 factor rho} - 1 for the rho that the definition finds? kappa = 0.

    Randomised response on three and more letters.
    """
    level = _of_events if by_events else _renyi
    worst, at = 0.0, (0.0, 0.0)
    for letters, epsilon in itertools.product((3, 5, 20), (0.1, 0.5, 1.0)):
        laws = _response(letters, epsilon)
        rho = max(level(*laws, order) / order for order in ORDERS)
        true, allowed = _chi_square(*laws), math.expm1(2 * factor * rho)
        if true / allowed > worst:
            worst, at = true / allowed, (true, allowed)
    return result(
        worst <= 1 + 1e-9, largest_ratio=worst, chi_square_there=at[0], allowed_there=at[1]
    )


def _atoms(randomiser: GaussianLabels) -> tuple[Array, Array]:
    """The laws of a report of +bound and of -bound, rounded to 800 cells: again a mechanism."""
    reports = np.linspace(-12, 12, 801)
    laws = [
        np.exp(randomiser.log_likelihood(reports, sign * randomiser.bound)) for sign in (1.0, -1.0)
    ]
    return laws[0] / laws[0].sum(), laws[1] / laws[1].sum()


@ZERO_CONCENTRATED.states(
    "Definition 4",
    r"$(\alpha,\epsilon)$-LRDP: $D_\alpha(Q_i(Z_i\in S\mid x,z_{1:i-1})\,\|\,"
    r"Q_i(Z_i\in S\mid x',z_{1:i-1}))\le\epsilon$. Used as: $(2,\log(1+\epsilon^2))$"
    r" is the same as $\chi^2\le\epsilon^2$.",
    kind="definition",
    found="Written with events S: a Gaussian report of µ = 1 has D₂ = 1, its events 0.66.",
    by="quadrature",
    uses=("Definition 3",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("divergences of events", by_events=True),
    corrected=Case("divergences of laws", by_events=False),
    mutant=Case("of laws, level less 1 %", by_events=False, factor=0.99),
    wrong=_EVENTS + "χ² of Gaussian reports is up to 2.2 times what the events allow.",
    code=("minimax.core.privacy.Renyi", "minimax.problems.local_regression.lower.wx21_theorem_4"),
    echoes="WX21:Definition 3",
)
def chi_square_of_renyi(*, by_events: bool, factor: float = 1.0) -> Result:
    """Is chi^2 <= e^level - 1, level the order-2 divergence of the definition? Gaussian reports."""
    level = _of_events if by_events else _renyi
    worst = 0.0
    for mu in (0.2, 0.5, 1.0, 1.5):
        laws = _atoms(GaussianLabels(mu / 2, 1.0))
        found = level(*laws, 2.0)
        worst = max(worst, math.expm1(mu**2) / math.expm1(factor * found))
        if mu == 1.0:
            at_one = found
    return result(worst <= 1 + 1e-6, largest_chi_square_over_allowed=worst, level_at_mu_1=at_one)


@CHI_SQUARE.states(
    "Definition 11",
    r"$\epsilon^2$-$\chi^2$-divergence local privacy: with $f(x)=(x-1)^2$,"
    r" $D_f(Q_i(Z_i\in S\mid x,z_{1:i-1})\,\|\,Q_i(Z_i\in S\mid x',z_{1:i-1}))"
    r"\le\epsilon^2$; equivalent to $(2,\log(1+\epsilon^2))$-LRDP.",
    kind="definition",
    found="Written with events S: 1 + χ² = e^{D₂} is about laws; χ² of events is smaller.",
    by="brute force",
    uses=("Definition 4",),
    expected=Status.CORRECTED,
    severity="harmless",
    printed=Case("χ² of events", by_events=True),
    corrected=Case("χ² of laws", by_events=False),
    mutant=Case("of laws, D₂ less 1 %", by_events=False, factor=0.99),
    wrong=_EVENTS + "With laws the equivalence is the identity 1 + χ² = exp(D₂).",
    code=("minimax.methods.divergences.chi2_from_tv_renyi",),
    echoes="WX21:Definition 3",
)
def chi_square_of_response(*, by_events: bool, factor: float = 1.0) -> Result:
    """The same for randomised response on three and more letters, where chi^2 is a finite sum."""
    level = _of_events if by_events else _renyi
    worst = 0.0
    for letters, epsilon in itertools.product((3, 5, 20), (0.1, 0.5, 1.0)):
        first, second = _response(letters, epsilon)
        worst = max(
            worst, _chi_square(first, second) / math.expm1(factor * level(first, second, 2.0))
        )
    return result(worst <= 1 + 1e-9, largest_chi_square_over_level=worst)
