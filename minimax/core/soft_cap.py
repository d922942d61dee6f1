r"""The soft cap: the law of a rho-zCDP report of a vector, PrivUnit's counterpart.

**The law.** For a unit vector u the report z has the density e^{k <z, u>^+}/Z relative to N(0, I),
Z = 1/2 + e^{k^2/2} Phi(k): along u it has the density phi(x) e^{k x^+}/Z, across u it is N(0, 1).
E z = mu u with mu = k (Z - 1/2)/Z, as the mean of x is the derivative of log of
int phi(x) e^{s x + k x^+} at s = 0, where phi(0) cancels. A vector of norm at most r is put on the
sphere of radius r by private coins: u = +-x/|x| with chances 1/2 +- |x|/2r. It is reported as
(r/mu) z, which is unbiased.

**Statement.** z is rho-zCDP with rho = k mu, and with no smaller rho.

**Proof.** (i) *Opposite inputs are worst.* Let h(x) = e^{k x^+} and alpha > 1. For u, u' with
<u, u'> = t the moment int q_u^alpha q_u'^{1 - alpha} is E h(a)^alpha h(b)^{1 - alpha}/Z over
standard normal a, b of correlation t, with derivative E (h^alpha)'(a) (h^{1 - alpha})'(b)/Z in t
(Price's theorem): h increases, so this is not positive, and t = -1 is worst.
(ii) *Its Renyi curve.* With c = k/2 and sigma = 2 alpha - 1 the moment at t = -1 is
N(sigma)/N(1), N(sigma) = int phi(x) e^{c|x|} cosh(sigma c x) dx. It is to be at most
e^{rho (sigma^2 - 1)/4} for sigma >= 1. They agree at sigma = 1, so it is enough that
(rho/2) sigma N(sigma) - N'(sigma) >= 0. With M_n = int phi(x) e^{c|x|} |x|^n dx this is the power
series sum_j a_j b_j sigma^{2j+1}, where a_j = c^{2j} M_{2j}/(2j)! > 0 and, integrating by parts,

    b_j = rho/2 - c^2 M_{2j+2}/((2j+1) M_{2j}) = rho/2 - c^2 - c^3 M_{2j+1}/((2j+1) M_{2j}).

phi(x) e^{cx} is log-concave on x > 0, so M_n/n! is a log-concave sequence (Borell, 1973; Barlow,
Marshall and Proschan, 1963), its quotients fall and the b_j increase. So the coefficients change
sign at most once, from minus to plus, and the series has at most one positive root, above which it
is positive (Descartes). At sigma = 1 it is N(1) (rho/2 - (log N)'(1)) = 0: the divergence of order
1 at t = -1 is E_u[k x] = k mu = rho, and it is 2 (log N)'(1) too.
(iii) Coins are mixtures, which have no larger divergence.

**Error.** E|z|^2 = p - 1 + E x^2 for every input, E x^2 of `second_moment`. For large p and inputs
on the sphere of radius r the error is p r^2/mu^2, where Gaussian noise has 2 p r^2/rho: less by
2 mu/k = 2 `share`, which is 1.18 at rho = .1, 1.54 at 1, 1.82 at 3 and tends to 2.

Formulas are for any kind of number, with e^{k^2/2} divided out: nothing overflows.
"""

from __future__ import annotations

import math

from scipy import optimize

from minimax.core.symbolic import Number, library


def relative_norm(k: Number) -> Number:
    """Z e^{-k^2/2} = Phi(k) + e^{-k^2/2}/2."""
    lib = library(k)
    return lib.ndtr(k) + lib.exp(-(k**2) / 2) / 2


def log_norm(k: float) -> float:
    """log Z."""
    return k * k / 2 + math.log(relative_norm(k))


def share(k: Number) -> Number:
    """(Z - 1/2)/Z: the chance that the report points along its input; it is mu/k, at least 1/2."""
    return library(k).ndtr(k) / relative_norm(k)


def mean_along(k: Number) -> Number:
    """mu: the mean of the report along its input."""
    return k * share(k)


def second_moment(k: Number) -> Number:
    """E x^2 along the input: [(1 + k^2)(Z - 1/2) + k phi(0) + 1/2]/Z."""
    lib = library(k)
    rest = (k / lib.sqrt(2 * lib.pi) + 0.5) * lib.exp(-(k**2) / 2)
    return ((1 + k**2) * lib.ndtr(k) + rest) / relative_norm(k)


def steepness(rho: float) -> float:
    """k with k mu = rho, from below. It is sqrt(rho) times a number between 1 and sqrt 2.

    That number is sought, so that the tolerance is relative; share is exact to some ulps.
    """
    root = math.sqrt(rho)

    def excess(x: float) -> float:
        return x * x * share(root * x) - 1

    found = optimize.brentq(excess, 1 - 1e-9, math.sqrt(2) * (1 + 1e-9), xtol=1e-14)
    return root * float(found) * (1 - 1e-12)


def proxy_along(k: Number) -> Number:
    r"""V: the report along its input, its sign by any coin, is sub-Gaussian with this proxy.

    **Statement.** Let w = +-1 be independent of x. Then log E e^{s (w x - E w x)} <= V s^2/2 for
    all s, sqrt V = k/2 + sqrt(1 + k^2/4).

    **Proof.** w x has a density phi e^l with |l'| <= k, l the logarithm of a mixture of
    e^{k x^+}/Z and e^{k x^-}/Z. Tilt it by e^{s x}. Integrating by parts, the tilted mean is
    s + E_s l', so the tilted variance, its derivative, is v = 1 + Cov_s(x, l') <= 1 + k sqrt v:
    at most V. It is the second derivative of log E e^{s w x}.

    **Constants.** V is 1 + k + ... for small k, and about k^2 + 2 for large k, where w x of a fair
    coin has the variance 1 + k^2.
    """
    lib = library(k)
    return (k / 2 + lib.sqrt(1 + k**2 / 4)) ** 2


def coordinate_proxy(k: Number, p: Number) -> Number:
    r"""The proxy of a coordinate of z in p dimensions, for inputs along corners of a cube.

    **Statement.** u = w/sqrt p with random signs w, of any law. Then z_j - E z_j is sub-Gaussian
    with proxy 1 + (V - 1)/p, V of `proxy_along`.

    **Proof.** z_j = x w_j/sqrt p + <g, e_j - u_j u>, g standard normal and independent of x and w.
    Given w the last is N(0, 1 - 1/p), whatever w is, so that it is independent of x w_j: the
    proxies 1 - 1/p and V/p add up.
    """
    return 1 + (proxy_along(k) - 1) / p
