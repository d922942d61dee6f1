r"""Hard thresholding with noisy scores: what the coordinates that are missed can amount to.

`minimax.methods.recursion.selection_error` bounds the largest noises by themselves. But a
coordinate is missed only if it loses to such a noise, which is rare where it is large: what counts
is the largest square times the chance to lose it.

**Statement.** Let x in R^d have its entries on S*, |S*| = s* <= s, and let S be s coordinates
chosen by the scores |z_j| + scale noise_j, in one pass of Gumbel noise or s rounds of Laplace
noise, independent of z. With e = z - x, m = d - s*, r of `thresholding_ratio` and k of
`missed_rms`, in root mean square

    |z_S - x| <= |e on S and S*| + sqrt(r s) (max of |e_j| off S* + scale k_m).

**Proof.** Let A = S* \ S, B = S \ S*, so that |A| <= r |B|. z_S - x is e on S and S*, less z on A.
The law of S is that of s rounds, each choosing the largest score, by fresh noise, of what is left:
for Gumbel noise that is the same (Yellott, 1977). |B| is the number of rounds that choose off S*.
Let u_i be the largest |z_j| of S* that is left before round i (0 if none is, when A is empty), j_i
its place; A is always left, so

    |z_A|^2 <= |A| max over A of z_j^2 <= r sum of u_i^2 over the rounds that choose off S*.

Given z and the rounds before, round i chooses off S* only if the largest of at most m scores off
S*, where |z_j| = |e_j| <= a, is at least that of j_i, with a chance of at most p_m(v_i),
v_i = (u_i - a)^+/scale. So E sum u_i^2 1{off S*} has, as u_i <= a + scale v_i, by Minkowski's
inequality a root of at most sqrt(s) a + scale sqrt(s) k_m; over z, Minkowski's inequality again.
"""

from __future__ import annotations

from minimax.core.symbolic import Number, library

NEWTON = 5
"""Steps towards Lambert's W, each from above; none in symbols, where they would multiply."""


def missed_rms(others: Number, method: str) -> Number:
    r"""k_m, m = `others`: the root of the largest t^2 p_m(t) over t >= 0.

    p_m(t) is (a bound on) the chance that the largest of m unit noises exceeds another one by t.

    **Statement.** Gumbel: k^2 = w (w + 2), w = W(2 m/e^2). Laplace, with h = log(max(m, 2)/2):
    k^2 = (h + x)^2 (3 + 2x) e^{-x}/4, x = (3 - 2h + sqrt((2h - 5)^2 + 32))/4, if h <= 6, and
    min(h^2, ((h + 3)/3)^3) if not.

    **Proof.** Gumbel: the largest is log m plus a Gumbel, so p = m/(m + e^t), and t^2 p is largest
    where (t - 2) e^t = 2m, t = w + 2, p = 1 - 2/t. w is found by Newton's method for v e^v = y
    from log(1 + y) >= W(y); v e^v is convex, so every step stays above. Laplace:
    P(max >= u) <= min(1, e^{h - u}) for every u, and averaged over u - t, a Laplace variable, that
    is (3 + 2x) e^{-x}/4 at t = h + x, x >= 0, and 1 - e^{-y}/4 at t = h - y, y >= 0. The logarithm
    of (h + x)^2 (3 + 2x) e^{-x} is concave, its slope is 0 at the x above, and x >= 0 if and only
    if h <= 6; then (h - y)^2 (1 - e^{-y}/4) falls in y. If h > 6 the first falls in x, and the
    second is at most (h - y)^2, and at most (h - y)^2 (3 + y)/4, which is largest at
    y = (h - 6)/3.
    """
    lib = library(others)
    if method == "gumbel":
        y = 2 * others * lib.exp(-2 + 0 * others)
        w = lib.log1p(y)
        for _ in range(0 if lib.is_symbolic else NEWTON):
            w = (w * w + y * lib.exp(-w)) / (1 + w)
        return lib.sqrt(w * (w + 2))
    h = lib.log(lib.largest(others, 2 + 0 * others) / 2)
    return lib.choose(h <= 6, lambda: _few(h), lambda: _many(h))


def _few(h: Number) -> Number:
    lib = library(h)
    x = (3 - 2 * h + lib.sqrt((2 * h - 5) ** 2 + 32)) / 4
    return (h + x) * lib.sqrt((3 + 2 * x) * lib.exp(-x)) / 2


def _many(h: Number) -> Number:
    lib = library(h)
    return lib.least(h, lib.sqrt(((h + 3) / 3) ** 3))
