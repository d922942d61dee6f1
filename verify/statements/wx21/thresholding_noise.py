"""WX21 §VII-A: the proof of Theorem 8 from (24) to (26), where the noise comes in."""

from __future__ import annotations

import math

from minimax.problems.erm.upper import theorem_8
from verify.proofs.entry import Case, Chapter, Result, Status, result

CHAPTER = Chapter("WX21")


@CHAPTER.states(
    "(24), step",
    r"At $\eta=\frac1{2\ell_s}$, $k\ge(1+64\kappa_s^2)k^*$ the factor"
    r" $\frac{2k^*}{k+k^*}(1+\frac{2(1-\eta\rho_s)}{\eta\rho_s})$ of (23) is at least"
    r" $\frac{\rho_s}{8\ell_s}$, and the term in $\|g\|^2$ may be dropped.",
    kind="equation",
    found="(23) gives (4κ−1)/(1+32κ²) < 1/(8κ): 0.091, not 0.125, at κ = 1; → 0 as k grows.",
    by="symbolic",
    uses=("(23)",),
    expected=Status.UNPROVED,
    severity="constants",
    step=Case("|g|² dropped", keep_gradient=False),
    relaxed=Case("|g|² bounded by (22)", keep_gradient=True),
    wrong=(
        "The factor is below ρ/(8ℓ) for every κ, already at the smallest k, and like k*/k for"
        " larger k: k ≥ … should make things better, not worse. Using (22) once more for"
        " −|g|² gives 1/(8κ) + t(2 − 1/(4κ)), t = k*/(k+k*): the stated rate is true."
    ),
    code=("minimax.problems.erm.upper.theorem_8",),
)
def contraction(*, keep_gradient: bool) -> Result:
    """Is the factor of L(x*) - L(x) at least rho/(8l) at eta = 1/(2l), k >= (1 + 64 kappa^2) k*?

    (23) without its term in |g|^2, or with that term bounded by (22) once more. sympy proves the
    sign for all kappa = 1 + over >= 1 and k/k* = 1 + 64 kappa^2 + more.
    """
    import sympy as sp

    kappa = sp.Symbol("kappa", positive=True)
    over, more = sp.symbols("over more", nonnegative=True)
    t = 1 / (2 + 64 * kappa**2 + more)
    inverse = 1 / (2 * kappa)  # eta rho
    factor = 2 * t * (1 + 2 * (1 - inverse) / inverse)
    if keep_gradient:
        curb = sp.Rational(1, 2) - (inverse**2 + 8 * (1 - inverse)) * t / inverse**2  # over eta
        factor += curb * inverse / 2  # -|g|^2 <= (rho/2)(L(x*) - L(x)) + |z|^2
    excess = sp.together((factor - 1 / (8 * kappa)).subs(kappa, 1 + over))
    top, bottom = sp.fraction(sp.cancel(excess))
    signs = [sp.Poly(part, over, more).coeffs() for part in (top, bottom)]
    least = factor.subs(more, 0)
    return result(
        all(c > 0 for part in signs for c in part),
        factor_at_kappa_1=float(least.subs(kappa, 1)),
        stated_at_kappa_1=0.125,
        factor_at_kappa_10=float(least.subs(kappa, 10)),
        stated_at_kappa_10=0.0125,
        factor_at_kappa_1_for_k_of_1000=float(factor.subs({kappa: 1, more: 935})),
    )


# --- (25) and (26) -------------------------------------------------------------------------------


@CHAPTER.states(
    "(25)",
    r"$E L(x_{t+1})\le L(x_t)+\frac{\rho_s}{8\ell_s}(L(x^*)-L(x_t))"
    r"+O\bigl(\frac{\kappa_sk^*G^2\log(1/\delta)\log p\,T}{\rho_sn^2\epsilon^2}\bigr)$.",
    kind="equation",
    found="True up to a constant (45 κk* log p σ²/ρ is proved), but not because of (24).",
    by="exact",
    uses=("Algorithm 3",),
    proof_uses=("(24)", "(25), step", "Lemma 13"),
    despite=(
        "Two slips cancel: 37ℓ/ρ² is κ² times too large and |I| is κ²k*, not k*; the "
        "proven noise term has κ."
    ),
    expected=Status.RATE,
    rate=True,
    printed=Case("the proven noise term grows like κ", largest=45.0),
    mutant=Case("κ⁰", largest=45.0, power=0.0),
    code=("minimax.problems.erm.upper.theorem_8",),
)
@CHAPTER.states(
    "(25), step",
    r"$\frac{37\ell_s}{\rho_s^2}E\|z_{t,I}\|^2\le\frac{37\ell_s}{\rho_s^2}|I|"
    r"E\|z_t\|_\infty^2$ is of order $\frac{\kappa_sk^*}{\rho_s}\sigma^2\log p$.",
    kind="equation",
    found="(24) gives κ³, not κ: |I| ≤ 2k+k* is of order κ²k*. The proven noise term has κ.",
    by="exact",
    uses=("(24)",),
    proof_uses=("Lemma 13",),
    expected=Status.UNPROVED,
    severity="constants",
    step=Case("37ℓ/ρ² |I| E|z|²_∞ grows like κ", largest=2.1e4, by_24=True),
    relaxed=Case("the proven noise term does", largest=2.1e4),
    wrong=(
        "k ≥ (1 + 64κ²)k* puts κ²k* for k* into |I|. That 37ℓ/ρ² is itself κ² times too large"
        " (order 1/ℓ is true) makes up for it: the two slips cancel."
    ),
    code=("minimax.problems.erm.upper.theorem_8",),
)
def noise_term(largest: float, *, power: float = 1.0, by_24: bool = False) -> Result:
    """Is the noise of one step at most `largest` kappa^power k* log(p) sigma^2/rho, for all kappa?

    And does it grow like that, so that the ratio of the two stays within a factor of two?
    The noise that is proved (`theorem_8` with one step), or that of (24): 37 l/rho^2 times
    |I| E|z|_inf^2 with |I| = 2k + k*.
    """
    ratios = []
    for kappa in (1, 2, 4, 8, 16, 32):
        k = 1 + 64 * kappa**2
        d = 1000 * k
        bound = theorem_8(
            d=d,
            s=k,
            s_star=1,
            curvature=1.0,
            smoothness=float(kappa),
            gap=1e-300,
            noise=1.0,
            steps=1,
        )
        noise = bound.value(**bound.defaults)
        if by_24:
            noise = 37 * kappa * (2 * k + 1) * 2 * math.log(2 * d)
        ratios.append(noise / (kappa**power * math.log(d)))
    return result(
        max(ratios) <= min(largest, 2 * min(ratios)),
        ratio_at_kappa_1=ratios[0],
        ratio_at_kappa_32=ratios[-1],
        largest_allowed=largest,
    )


@CHAPTER.states(
    "(26)",
    r"$E[L(x_{t+1})-L(x^*)]\le(1-\frac{\rho_s}{8\ell_s})E[L(x_t)-L(x^*)]"
    r"+O\bigl(\frac{\kappa_sk^*G^2\log p\log(1/\delta)T}{\rho_sn^2\epsilon^2}\bigr)$.",
    kind="equation",
    found="A rearrangement of (25).",
    by="symbolic",
    uses=("(25)",),
    expected=Status.HOLDS,
    printed=Case("1 − ρ/(8ℓ)", part=1),
    mutant=Case("1 − ρ/(4ℓ)", part=2),
    code=("minimax.problems.erm.upper.theorem_8",),
)
def rearranged(part: int) -> Result:
    """(26) from (25): is L + r (L* - L) + W - L* = (1 - part r)(L - L*) + W, r = rho/(8l)?"""
    import sympy as sp

    L, best, W, rho, smooth = sp.symbols("L L_star W rho l", positive=True)
    rate = rho / (8 * smooth)
    left = L + rate * (best - L) + W - best
    difference = sp.simplify(left - (1 - part * rate) * (L - best) - W)
    return result(difference == 0, difference=str(difference))
