r"""Hard thresholding with Gumbel noise: the missed coordinates matched with the false ones.

Let b + zeta be released on T, s coordinates of large |z_j| + scale g_j, g_j standard Gumbel, and 0
elsewhere; z = beta + eps, beta = 0 off S, |S| = s. Coordinates that were in T from the outset may
be there if they are in S. M = S \ T is missed, F = T \ S is false, |M| = |F|, and with any pairing
p of M with F, i lost to p(i): |z_i| + scale g_i <= |z_p(i)| + scale g_p(i), so that

    |beta_i| <= |eps_i| + |eps_p(i)| + scale (g_p(i)^+ + g_i^-).

The error e' of what is released is (eps + zeta)_T and -beta_M, so it is at most

    |e'| <= MATCHED |eps on S and T| + sqrt(|zeta|^2 + scale^2 G^2),   G = |g_F^+| + |g_M^-|,

as u^2 + (u + v)^2 <= MATCHED^2 (u^2 + v^2), MATCHED^2 = (3 + sqrt 5)/2. If zeta has the mean 0 and
is independent of eps and T, then E|e'|^2 <= E(MATCHED |eps on S and T| + scale G)^2 + E|zeta|^2.
Here are bounds on G, in root mean square and surely, and on what eps owes to records that were used
before. All formulas take any kind of number.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from minimax.core.symbolic import Number, library

MATCHED = (1 + math.sqrt(5)) / 2 + 1e-15
LOWEST = 0.4424
"""At least the root of E (g^-)^2 = int 2 t exp(-e^t) dt over t > 0."""
SCALES, RATIO = 400, 1.03
"""Lengths of the error for which `residual_deviation` is proved at once: RATIO apart."""
FINEST = RATIO**-SCALES * (1 + 1e-12)


def gumbel_rms(s: Number, others: Number) -> Number:
    r"""A bound on the root of E G^2, F being any s of so many `others`.

    **Statement.** sqrt(s) [sqrt((1 + u)^2 + 1) + LOWEST], u = log(others/s), others >= s.

    **Proof.** P(g > t) <= e^{-t}. The s largest (g^+)^2 sum to int min(s, N(t)) 2t dt, N(t) the
    number above t, and E min(s, N) <= min(s, others e^{-t}): integrate s up to u, then the tail.
    M is among s fixed coordinates.
    """
    lib = library(s, others)
    u = lib.log(others / s)
    return lib.sqrt(s) * (lib.sqrt((1 + u) ** 2 + 1) + LOWEST)


def gumbel_sure(s: Number, others: Number, x: Number) -> Number:
    r"""A bound on G but for a chance of 2 e^{-x}, for x >= 1.

    **Statement.** sqrt(s) sqrt((2 + u)^2 + 1) + y pi/sqrt 6 + sqrt(s) log y, y = x + log s, u as in
    `gumbel_rms`.

    **Proof.** The k-th largest of N exceeds t with a chance of at most (N e^{-t})^k/k!, and
    log k! >= k log k - k, so that but for e^{-y} it is at most 1 + log(N/k) + y/k; s e^{-y} =
    e^{-x}. Over k <= s, (1 + log(N/k))^2 sums to at most its integral from 0, s [(2 + u)^2 + 1],
    and 1/k^2 to pi^2/6. P(-g > t) = exp(-e^t), which is e^{-y} at t = log y, for each of M.
    """
    lib = library(s, others, x)
    u, y = lib.log(others / s), x + lib.log(s)
    high = lib.sqrt(s) * lib.sqrt((2 + u) ** 2 + 1) + y * lib.pi / lib.sqrt(6 + 0 * s)
    return high + lib.sqrt(s) * lib.log(y)


class Average(NamedTuple):
    r"""Averages over n independent records, one for each coordinate, about their means.

    Values have a mean square of at most `square` and are at most `largest`: an average strays by
    more than t(y) = sqrt(2 square y/n) + 2 largest y/(3n) with a chance of at most 2 e^{-y}
    (Bernstein's inequality). How values depend on each other across coordinates does not matter.
    """

    n: Number
    square: Number
    largest: Number

    def rms(self, s: Number, others: Number) -> Number:
        """A bound on the root mean square length of s fixed averages and any s of `others`.

        An average's variance is at most square/n; for the others see `top`.
        """
        lib = library(self.n, s, others)
        return lib.sqrt(s * self.square / self.n + self.top(s, others))

    def top(self, s: Number, others: Number) -> Number:
        r"""A bound on the mean of the sum of the s largest squares of so many `others` >= s.

        **Statement.** min(others square/n, s E t(y + g)^2), where y = log(2 others/s) and g is
        exponential; E t(y + g)^2 <=
        [sqrt(2 square (1 + y)/n) + 2 largest sqrt((1 + y)^2 + 1)/(3n)]^2.

        **Proof.** An average's variance is at most square/n. The s largest squares sum to
        int min(s, N(v)) dv, N(v) the number above v, and E min(s, N(t(y)^2)) <=
        min(s, 2 others e^{-y}): integrate by parts. The last is Minkowski's inequality.
        """
        lib = library(self.n, s, others, self.largest)
        mean = 1 + lib.log(2 * others / s)
        tail = 2 * self.largest * lib.sqrt(mean * mean + 1) / (3 * self.n)
        high = lib.sqrt(2 * self.square * mean / self.n) + tail
        return lib.least(others * self.square / self.n, s * high * high)

    def sure(self, d: Number, x: Number) -> Number:
        """A bound on how far any of d averages strays, but for e^{-x}: t(x + log 2d)."""
        lib = library(self.n, d, x)
        y = x + lib.log(2 * d)
        return lib.sqrt(2 * self.square * y / self.n) + 2 * self.largest * y / (3 * self.n)


def residual_deviation(n: Number, d: Number, s: Number, x: Number, log_sets: Number) -> Number:
    r"""How far averages of clipped residuals stray from their means, for all sparse errors at once.

    **Statement.** Rows with x_j^2 = 1/s and uncorrelated columns, xi independent of them, psi any
    function of slope at most 1, f_j(e) = s x_j (psi(xi) - psi(xi - <x, e>)). But for e^{-x},

        |average of f_j(e) - E f_j(e)| <= D max(|e|, R FINEST)

    for all j and all e with |e| <= R whose support is in S and s other places (C(d, s) =
    e^{log_sets} sets), where y = x + log(2 d SCALES) + log_sets, m = 2 sqrt(2s/n),

        D = RATIO [m + sqrt((2 y/n) (1 + 4 sqrt(2s) m)) + 2 sqrt(2s) y/(3n)].

    **Proof.** Fix j, a sign, a set I of 2s places and a length r, and let Z be the supremum over
    |e| <= r on I. |<x, e>| <= |e|_1/sqrt s <= sqrt 2 r, so |f| <= sqrt(2s) r, and E f^2 <=
    s E<x, e>^2 <= r^2. By symmetrisation and Talagrand's contraction principle (f is a function of
    <x, e> of slope at most sqrt s, one for each record) E Z <= 2 sqrt(s) r E|average of signs
    times x_I| <= 2 sqrt(s) r sqrt(2/n) = m r. Bousquet's inequality (2002), as f - E f <=
    2 sqrt(2s) r: but for e^{-y}, Z <= E Z + sqrt(2 y (r^2 + 4 sqrt(2s) r E Z)/n) +
    2 sqrt(2s) r y/(3n). Take r = R RATIO^{-k}, k < SCALES, and for an e the least that is no
    smaller than |e|.
    """
    lib = library(n, d, s, x)
    root = lib.sqrt(2 * s)
    mean = 2 * root / lib.sqrt(n)
    y = x + lib.log(2 * d * SCALES) + log_sets
    spread = lib.sqrt(2 * y / n * (1 + 4 * root * mean))
    return RATIO * (mean + spread + 2 * root * y / (3 * n))
