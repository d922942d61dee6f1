r"""Antipodal pairs: what a symmetric score reaches under zCDP and Gaussian DP.

Fix everything but one record. Then w -> q_w, the law of the release given the record's score w, is
itself a private channel. Let w have a symmetric law, m = E_w q_w, and for the pair of w and -w

    p_w = (q_w + q_{-w})/2,   u = (1/2) log(q_w/q_{-w}),   r = log(p_w/m),

so that q_{+-w} = p_w e^{+-u}/cosh u = m e^r (1 +- tanh u). E is over w and z ~ p_w.

**The two gains.** V depends on the release (and the other records) only; f(z) = E[w|z], which is
E_w[w e^r tanh u] because w ~ -w.

*Average* (`average_pair_gain`): E_P <V, w> = E_m <V, f> <= sqrt(E|V|^2) sqrt(F), F = E_m|f|^2. If w
has covariance at most I, Bessel's inequality at each z gives F <= E_m E_w (e^r tanh u)^2 =
E[e^r tanh^2 u]. If E e^{<v, w>} <= e^{|v|^2/2}, then |f(z)|^2 <= 2 KL(law of w given z|law of w) by
Donsker-Varadhan, so F <= 2 I(w; z) = 2 E log(q_w/m) under q_w = 2 E[r + u tanh u - log cosh u].

*Pointwise* (`pointwise_pair_gain`): int (q_w - q_{-w})^2/m = 4 E_{p_w}[e^r tanh^2 u] for each w by
itself.

**What rho-zCDP says of (u, r).** All but the last hold for each w by itself; replacing w by -w
turns u into -u, and the mean of the two is written.

- `kl`: KL(q_w|q_{-w}) = 2 E_{q_w} u <= rho, so E u tanh u <= rho/2.
- `pair`: int q_w^a q_{-w}^{1-a} <= e^{rho a (a - 1)} for a > 1; with sigma = 2a - 1 it is
  E[cosh(sigma u)/cosh u] <= e^{rho (sigma^2 - 1)/4}.
- `mass`: E e^{-r} = int m = 1.
- `up`: b -> b^{1-a} is convex and m a mixture of all q_v: int q_w^a m^{1-a} <= e^{rho a (a - 1)};
  with a = 1 + s it is E[e^{s r} cosh((1 + s) u)/cosh^{1+s} u] <= e^{rho s (s + 1)}.
- `joint`: the mean of KL(q_w|q_v) over independent w and v is at most rho. It is
  E_w E_{q_w} log(q_w/m) - E_m E_v log(q_v/m), and as log(q_{+-w}/m) = r +- u - log cosh u,

      E[r + u tanh u - log cosh u] - E[e^{-r}(r - log cosh u)]
          = E[u tanh u + (1 - e^{-r})(r - log cosh u)] <= rho.

Every bound below follows from these; those without `joint` are pointwise.

mu-GDP implies them with rho = mu^2/2. It bounds every f-divergence of a pair. Neither E tanh^2 u
nor Renyi orders below 1 make the linear programmes smaller; hockey-stick divergences, of q_w and
q_{-w} and of q_w and m, do: on a grid by 1 % at mu^2/2 = .01, 6 % at .1, 11 % at .3, 6 % at 1. They
have kinks, for which the proof of `minimax.methods.pair_positivity` is not made: they are not used.

**Constants.** F <= B rho/2 with B = 1 + sqrt(rho) + O(rho) (1.10 at rho = .008, 1.50 at .1, 4 at
infinity), where sqrt(2 rho) of `minimax.methods.tracing` is B = 4. B = 1 is false: randomised
response on {-1, 1}^2 (`four_letters`). Hoelder's inequality with a moment of q_w/q_{-w} - 1 gives
larger pointwise constants, even with the moment of a Gaussian pair: 1.018 in place of 1.014 at
rho = 1e-4, 3.1 in place of 1.7 at .125, 1442 in place of 6.4 at 1.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

from minimax.core.balls import Ball, surely
from minimax.core.bound import Point
from minimax.core.privacy import Gaussian, Privacy, ZeroConcentrated
from minimax.core.symbolic import Number, library
from minimax.methods.pair_certificates import AVERAGE, POINTWISE, TRANSPORT, Certificate
from minimax.methods.pair_positivity import ENERGY, INFORMATION, Goal, require

Tables = Mapping[Goal, Sequence[Certificate]]
"""What is bounded, and the certificates for it."""


def average_pair_gain(model: type[Privacy], point: Point, *, sub_gaussian: bool = True) -> Number:
    r"""G with E_P <V, w> <= G sqrt(E|V|^2).

    **Assumptions.** w is symmetric, has covariance at most I and, with `sub_gaussian`, satisfies
    E e^{<v, w>} <= e^{|v|^2/2}.
    """
    rho = _concentration(model, point)
    if isinstance(rho, float):
        return _known_gain(rho, sub_gaussian)
    return _average_gain(rho, sub_gaussian)


@lru_cache(maxsize=4096)
def _known_gain(rho: float, sub_gaussian: bool) -> float:
    """Searches ask for the same rho again and again."""
    return float(_average_gain(rho, sub_gaussian))


def _average_gain(rho: Number, sub_gaussian: bool) -> Number:
    certificates: Tables = {ENERGY: (*AVERAGE, *POINTWISE)}
    if sub_gaussian:
        certificates = {**certificates, INFORMATION: TRANSPORT}
    closed = (2 * rho,) if sub_gaussian else _large_budget(rho)
    return _least_root(rho, closed, certificates)


def pointwise_pair_gain(model: type[Privacy], point: Point) -> Number:
    r"""G with int (q_w - q_{-w})^2/m <= 4 G^2 for every w."""
    rho = _concentration(model, point)
    return _least_root(rho, _large_budget(rho), {ENERGY: POINTWISE})


def _concentration(model: type[Privacy], point: Point) -> Number:
    """The rho of the definition."""
    if model is ZeroConcentrated:
        return point["rho"]
    if model is Gaussian:
        return point["mu"] ** 2 / 2
    raise TypeError(f"privacy: no gain of antipodal pairs for {model.__name__}")


def _least_root(rho: Number, closed: Sequence[Number], tables: Tables) -> Number:
    """The root of the least bound; an expression is made of the closed forms alone."""
    use = library(rho)
    closed = (small_budget(rho), *closed)
    if use.is_symbolic:
        return use.sqrt(use.least(*closed))
    if isinstance(rho, Ball):
        return use.sqrt(_least_proved(rho, closed, tables))
    checked = (found.bound(rho) for table in tables.values() for found in table)
    return use.sqrt(use.least(*closed, *checked))


def _least_proved(rho: Ball, closed: Sequence[Ball], tables: Tables) -> Ball:
    """The least bound in balls, of which the certificate is proved in balls too.

    Which certificate is the best is read off floats: any of them proves a bound.
    """
    use = library(rho)
    least: Ball = use.least(*closed)
    every = ((found, goal) for goal, table in tables.items() for found in table)
    certificate, goal = min(every, key=lambda each: each[0].bound(rho.middle))
    bound = certificate.bound(rho)
    if surely(least <= bound):
        return least
    require(certificate, goal)
    found: Ball = use.least(least, bound)
    return found


def small_budget(rho: Number) -> Number:
    r"""E[e^r tanh^2 u] <= rho/2 + rho sqrt((2/3)(e^{6 rho} - 1)(e^{3/2 + sqrt(3 rho/2)} - 1)).

    **Proof.** tanh^2 u <= u tanh u, so the left side is at most rho/2 + E[(e^r - 1) tanh^2 u], and
    by Cauchy-Schwarz the last term is at most sqrt(E (e^r - 1)^2 E u^4). As cosh 3u >= cosh^3 u,
    s = 2 gives E e^{2r} <= e^{6 rho}; as E e^{-r} = 1, Jensen gives E e^r >= 1: so
    E (e^r - 1)^2 <= e^{6 rho} - 1. As cosh((k + 1) u) >= cosh(k u) cosh u, sigma = k + 1 gives
    E k^4 u^4/24 <= E cosh(k u) - 1 <= e^{rho k (k + 2)/4} - 1; take k = sqrt(6/rho).

    **Constants.** (rho/2)(1 + 7.46 sqrt(rho) + ...): the leading term is exact.
    """
    use = library(rho)
    fourth = 2 * use.expm1(use.sqrt(3 * rho / 2) + 1.5) / 3
    return rho / 2 + rho * use.sqrt(use.expm1(6 * rho) * fourth)


def _large_budget(rho: Number) -> tuple[Number, Number]:
    r"""E[e^r tanh^2 u] <= e^{2 rho} - 1 and <= e^{2 rho}/2.

    **Proof.** s = 1: E[e^r (1 + tanh^2 u)] <= e^{2 rho}; and E e^r >= 1, or e^r >= e^r tanh^2 u.
    """
    use = library(rho)
    return use.expm1(2 * rho), use.exp(2 * rho) / 2


def four_letters(epsilon: Number) -> tuple[Number, Number]:
    r"""rho and F of randomised response on {-1, 1}^2: F > rho/2.

    **Statement.** Let k = e^eps. q_y(z) = k/(k + 3) if z = y, 1/(k + 3) otherwise, is rho-zCDP with
    rho = eps (k - 1)/(k + 3), the KL divergence of two inputs, while 3 (k + 1)/(k + 3) >=
    (eps/2) coth(eps/2), for instance for eps <= 5. For y uniform F = 2 ((k - 1)/(k + 3))^2, so
    F/(rho/2) = 1 + eps/4 + ...: 1.20 at rho = .30, and above 1 for eps < 3.59.

    **Proof.** m = 1/4 and f(z) = z (k - 1)/(k + 3). Let v = eps/2, pi = (k + 1)/(k + 3),
    sigma = 2 alpha - 1: int q_y^alpha q_y'^{1-alpha} = 1 - pi + pi cosh(sigma v)/cosh v =: l(sigma)
    is to be at most exp(pi v tanh(v) (sigma^2 - 1)/2) for sigma >= 1. They agree at sigma = 1, so
    it is enough that pi v tanh(v) sigma l >= l', i.e. that
    sigma sinh(v) ((1 - pi) cosh v + pi cosh(sigma v)) - cosh(v) sinh(sigma v) >= 0. In this odd
    power series in sigma the coefficient of sigma^{2k+1} is, for k >= 1, (v^{2k}/(2k+1)!)
    ((2k+1) pi sinh v - v cosh v) >= 0, and the sum vanishes at sigma = 1: it is
    sum_{k>=1} c_k (sigma^{2k+1} - sigma) >= 0.
    """
    use = library(epsilon)
    share = use.expm1(epsilon) / (use.expm1(epsilon) + 4)
    return epsilon * share, 2 * share**2
