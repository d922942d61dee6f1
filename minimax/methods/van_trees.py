r"""The van Trees inequality, and the priors that make it exact or nearly so."""

from __future__ import annotations

from minimax.core.symbolic import Number, library


def van_trees(dimension: Number, data_information: Number, prior_information: Number) -> Number:
    r"""Lower bound d^2 / (E tr I(theta) + J(pi)) on the Bayes risk of any estimator.

    **Proof.** With U the score of the joint law of (X, theta), integration by parts gives
    E<M - theta, U> = d for a prior that vanishes at the boundary; E|U|^2 is the total information;
    Cauchy-Schwarz. Works on every kind of number.
    """
    return dimension**2 / (data_information + prior_information)


def cosine_information(dimension: Number, half_width: Number) -> Number:
    r"""Information of the prior with density cos^2(pi t / 2a)/a on [-a, a] in each coordinate.

    4 \int ((sqrt pi)')^2 = pi^2/a^2 a coordinate, the least of any prior on the interval.
    """
    return dimension * (library(half_width).pi / half_width) ** 2


def ball_exponent(dimension: Number) -> Number:
    """k = 1 + sqrt(d/2 + 1), the exponent of the ball prior: see `ball_information`."""
    return 1 + library(dimension).sqrt(dimension / 2 + 1)


def ball_information(dimension: Number, radius: Number) -> Number:
    r"""Information of the prior with density proportional to (1 - |v|^2/a^2)^k on a ball of R^d.

    **Statement.** J = 2d (1 + sqrt(d/2 + 1))^2/a^2 for k = 1 + sqrt(d/2 + 1), the best k.

    **Proof.** With pi = u^2, u = (1 - r^2)^{k/2} and a = 1, J = 4 \int|grad u|^2/\int u^2, and both
    are Beta integrals in r^2: J = 2d (k/(k-1)) (d/2 + k). With m = k - 1 that is
    2d (1 + 1/m)(d/2 + 1 + m), least at m = sqrt(d/2 + 1).

    The least information of any prior on the ball is 4 j^2, j the first zero of the Bessel function
    of order d/2 - 1 (the Dirichlet eigenfunction squared); this one is within 5.5 % of it for every
    d, and can be written down and sampled in closed form.
    """
    return 2 * dimension * ball_exponent(dimension) ** 2 / radius**2


def sign_bayes_risk(n: Number, u: Number) -> Number:
    r"""Exact Bayes risk, per coordinate, of the mean p of n signs under p ~ (1 - p^2)^{u/2 - 1}.

    It is (u/(u+1))/(n + u). This is the van Trees inequality with the weight 1 - p^2: the weighted
    score is W = sum_i (b_i - p) - u p, E[(M - p) W] = E(1 - p^2) = u/(u+1) and
    E W^2 = (n + u) u/(u+1); since the posterior mean sum b_i/(n + u) is linear in W + const p,
    Cauchy-Schwarz is an equality. At u = sqrt n it is 1/(sqrt n + 1)^2, the minimax risk.
    """
    return (u / (u + 1)) / (n + u)
