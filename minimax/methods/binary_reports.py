"""What a private report tells about a binary part of its input: a label, or a sign.

`minimax.problems.label_regression.lower` and `minimax.problems.local_regression.lower` rest on
this one number.
"""

from __future__ import annotations

from minimax.core.bound import Point
from minimax.core.privacy import (
    Approximate,
    Gaussian,
    OffsetConcentrated,
    Privacy,
    Pure,
    Renyi,
    ZeroConcentrated,
)
from minimax.core.symbolic import Number, is_symbolic, library
from minimax.methods.divergences import strong_contraction, strong_contraction_pure
from minimax.methods.resampled_sign import concentrated_contraction, gaussian_contraction


def label_contraction(model: type[Privacy], at: Point) -> Number:
    r"""T^2: a private report of a binary label keeps at most this share of its information.

    **Statement.** Let a label take two values, with chances (1 +- u)/2 under P_u, and let omega be
    (m_+ - m_-)/(m_+ + m_-) for the reports' densities at the two. Then E_0 omega^2 <= T^2 with
    pure: T^2 = tanh(eps/2)^2;
    (eps, delta): T^2 = (1 - delta) tanh(eps/2)^2 + delta;
    mu-GDP: T^2 = E tanh(mu (mu/2 + N)/2)^2, N standard normal under the mixture;
    rho-zCDP, (kappa, rho)-zCDP, (alpha, eps)-RDP: `symmetric_share` of `largest_kl`, which is rho,
    kappa + rho, eps. Under the first three KL(M_u|M_0) <= T^2 c(t u) u^2 as well, c of
    `minimax.problems.local_regression.lower.entropy_ratio` and t = tanh(eps/2) if pure, else 1;
    for the others see `minimax.problems.local_regression.reports.label_information`.

    The first inequality holds too where m_+ and m_- are mixtures over many inputs each, as where
    the label is a part of the record.

    **Proof.** With two inputs every (eps, delta) channel is a post-processing of one that reveals
    the label with chance delta and else applies randomised response (Kairouz, Oh and Viswanath),
    and a mu-GDP channel one of N(+-mu/2, 1) (Blackwell). For these, omega is symmetric under M_0,
    so KL(M_u|M_0) = E c(u |omega|) u^2 omega^2, and E_0 omega^2 = T^2. The others:
    `symmetric_share`, for mixtures because KL is jointly convex. Finally
    E_0 omega^2 = (1/2) int (m_+ - m_-)^2/(m_+ + m_-) is an f-divergence: it shrinks by
    post-processing, and it is jointly convex, so that mixtures have at most its largest value
    between two inputs.

    For mu-GDP T^2 <= 1 - e^{-mu^2/4} (`strong_contraction`), at most 1.16 times it, is used in the
    closed form.
    """
    if model is Pure:
        return strong_contraction_pure(at["epsilon"])
    if model is Approximate:
        return (1 - at["delta"]) * strong_contraction_pure(at["epsilon"]) + at["delta"]
    if model is Gaussian:
        mu = at["mu"]
        return strong_contraction(mu**2 / 4) if is_symbolic(mu) else gaussian_contraction(mu)
    return symmetric_share(largest_kl(model, at))


def largest_kl(model: type[Privacy], at: Point) -> Number:
    """The largest KL between the reports of two inputs under zCDP and RDP: D_1 <= D_alpha."""
    if model is Renyi:
        return at["epsilon"]
    if model not in (ZeroConcentrated, OffsetConcentrated):
        raise ValueError(f"no bound is proved for private labels under {model.name!r} privacy")
    return at["rho"] + (at["kappa"] if model is OffsetConcentrated else 0)


def symmetric_share(kl: Number) -> Number:
    r"""T^2 = tanh(v)^2 with v tanh v = kl/2: the share under a bound on KL in both directions.

    **Statement.** KL(m_+|m_-), KL(m_-|m_+) <= kl: E_0 omega^2 <= tanh(v)^2. As a symbol
    min{kl/2, 1 - e^-kl}, which is larger by at most 1.32.

    **Proof.** With omega = tanh u, u = log(m_+/m_-)/2 and m_+- = m_0 (1 +- omega), the two
    divergences add up to E_0 2 omega 2u, so E_0 u tanh u <= kl/2. tanh^2 u is a concave function of
    u tanh u: its derivative is 2/(cosh^2 u + u coth u), which falls. Jensen. The symbols: tanh v <=
    v, and cosh(v)^-2 = e^{-2 log cosh v} with log cosh v <= v tanh v.

    **Constants.** Reached by randomised response, for zCDP too: at every rho the largest share is
    tanh(e/2)^2, e of `minimax.core.randomised_response.randomised_response_epsilon`.
    """
    lib = library(kl)
    if lib.is_symbolic:
        return lib.least(kl / 2, -lib.expm1(-kl))
    return concentrated_contraction(kl)
