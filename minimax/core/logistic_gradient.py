"""How far one record can move a gradient of the logistic loss."""

from __future__ import annotations

from functools import lru_cache

from scipy import optimize, special

from minimax.core.calibration import gradient_sensitivity
from minimax.core.symbolic import Number, approximately, library, lift


def logistic_half_width(reach: Number) -> Number:
    r"""Half of how far apart two logistic gradients can be: max_s sqrt(1 - s^2) sigma(s reach).

    **Statement.** Let |b| = reach and sigma(t) = 1/(1 + e^-t). Over |x|_2 <= 1 and 0 <= y <= 1 two
    gradients (sigma(<x, b>) - y) x differ by at most twice this in l2: by 1 at b = 0, always by
    less than 2. Attained if d >= 2.

    **Proof.** Along a unit vector v, and as (x, y) and (-x, 1 - y) have one gradient, the largest
    difference is the largest p sigma(z) + p' sigma(z'), where z = -<x, b>, z' = <x', b> and
    p = <v, x>, p' = <v, x'> may be taken >= 0. sigma(z) = 1/2 + f(z), f odd and concave above 0,
    so that p f(z) + p' f(z') <= (p + p') f(m) for the mean m = (p z + p' z')/(p + p') if m >= 0:
    by Jensen if z, z' >= 0; if z' < 0 < z and |z'| <= z, by f(z') <= z' f(z)/z and
    f(z)/z <= f(m)/m as m <= z. Otherwise the sum is at most 1, which is twice the value at s = 0:
    by p sigma + p' (1 - sigma) <= max(p, p') with sigma = sigma(z) if z' < -z < 0, and by
    (p + p')/2 if z, z' <= 0 or m < 0 with |z'| <= z (f(z') <= z' f(z)/z again). With q, q' the
    parts of x, x' orthogonal to v in the plane of v and b,
    p z + p' z' <= reach |(p'^2 - p^2, q' p' - q p)|; with p = cos t, p' = cos u and |q| <= sin t,
    |q'| <= sin u the length is at most sin(t + u). Let h = (t + u)/2 and
    k = cos((t - u)/2) <= 1, so p + p' = 2 k cos h: the sum is at most
    2 k cos h sigma(reach sin(h)/k), which grows in k. At k = 1 it is 2 cos h sigma(reach sin h).
    Attained by x, x' = +-v cos h - b sin(h)/reach, v orthogonal to b, and y, y' = 1.

    **Constants.** The logarithm is concave in s, with slope D at any s_0: the maximum is at most
    e^|D| times the value at s_0, which is taken next to D = 0. As a symbol: sigma(t) <= 1/2 + t/4,
    as in `gradient_sensitivity`, and sigma(t) < 1.
    """
    lib = library(reach)
    if lib.is_symbolic:
        one = lib.exp(0 * reach)
        return lib.least(gradient_sensitivity(2 * one, one / 2, 1, reach / 4), one)
    s = lift(_widest_place(approximately(reach)), reach)
    decay = lib.exp(-reach * s)
    slope = reach * decay / (1 + decay) - s / (1 - s * s)
    return lib.sqrt(1 - s * s) / (1 + decay) * lib.exp(abs(slope))


@lru_cache(maxsize=4096)
def _widest_place(reach: float) -> float:
    """s with reach (1 - sigma(s reach)) next to s/(1 - s^2); it is at most 1/2."""

    def slope(s: float) -> float:
        return reach * float(special.expit(-s * reach)) - s / (1 - s * s)

    return float(optimize.brentq(slope, 0.0, 0.7, xtol=1e-300, maxiter=2000)) if reach > 0 else 0.0
