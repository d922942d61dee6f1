r"""Upper bounds for sparse regression by private hard thresholding (CWZ19 §4.4).

The class is that of `minimax.problems.sparse_regression.lower`, with s* for its sparsity and s >=
s* for that of the estimator. All constants are explicit.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

import numpy as np

from minimax.core.best import Best
from minimax.core.bound import Assumption, Point, Rule, Setting, UpperBound, rule_at
from minimax.core.calibration import (
    VALUES_ONLY,
    Allowance,
    Scales,
    budget_of,
    gradient_bound,
    sparse_scales,
    step_scales,
)
from minimax.core.privacy import Privacy
from minimax.core.symbolic import LETTERS, Letters, Number, library
from minimax.methods.matched_selection import Average
from minimax.methods.missed_selection import missed_rms
from minimax.methods.noisy_descent import one_step, truncation_levels
from minimax.methods.recursion import (
    Array,
    Interval,
    Recursion,
    contraction,
    functions,
    hypot,
    least_risk,
    rounded,
    selection_error,
    step_grid,
    thresholding_factor,
)
from minimax.problems.mean.upper import clip_bias
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from minimax.problems.sparse_regression.thresholded import (
    Choice,
    StepTerms,
    Thresholded,
    thresholded_upper,
)


class PrivatelyThresholded(Thresholded):
    """Descent on least squares whose coordinates are chosen privately: see
    `private_thresholding_upper`."""

    @property
    def population(self) -> Interval:
        """Eigenvalues of E x x' on few coordinates."""
        return Interval(1 / (self.L * self.point["s"]), self.unit)

    def first(self, step_size: Number, terms: StepTerms, nu: Number) -> Number:
        """m_1, by either bound on what is chosen."""
        error, largest = self._outset(step_size, terms)
        root, reach = self._stretch(nu)
        stretched = root * (error + terms.selection)
        chosen = functions(stretched).least(stretched, error + reach * (largest + terms.missed))
        m = hypot(chosen, terms.noise)
        return functions(m, self.cap).least(m, self.cap)

    def _outset(self, step_size: Number, terms: StepTerms) -> tuple[Number, Number]:
        """e_1 and o_1."""
        n, d, s, a = (self.point[name] for name in ("n", "d", "s", "radius"))
        lib, apart = library(n), (self.population.high - self.population.low) / 2
        square = (self.unit * a**2 + self.point["sigma"] ** 2) / s
        average = Average(n, square, terms.level / lib.sqrt(s))
        free, one = (self._top(average, few, d - s) for few in (lib.least(self.s, d - s), 1))
        roots = functions(n, free)
        error = contraction(step_size, self.population) * a + step_size * (
            terms.clipped * lib.sqrt(self.unit) + roots.sqrt(s * square / n + free)
        )
        return error, step_size * (apart * a + terms.clipped / lib.sqrt(s) + roots.sqrt(one))

    def _top(self, average: Average, few: Number, others: Number) -> Number:
        lib = library(others, average.n)
        return lib.choose(others > 0, lambda: average.top(few, others), lambda: 0 * others)

    def _stretch(self, nu: Number) -> tuple[Number, Number]:
        """sqrt(nu) and sqrt(r s), as sqrt(r) = sqrt(nu) - 1/sqrt(nu)."""
        lib = library(nu, self.s)
        root = lib.sqrt(nu)
        return root, lib.sqrt(self.s) * (root - 1 / root)

    def proved(
        self, shrinking: Number, gradient: Number, terms: StepTerms, nu: Number
    ) -> tuple[Recursion, ...]:
        """By either bound on what is chosen."""
        _, reach = self._stretch(nu)
        drift = (1 + reach) * gradient + reach * terms.missed
        other = Recursion((1 + reach) * shrinking, drift, terms.noise)
        return (*super().proved(shrinking, gradient, terms, nu), other)


def private_thresholding_upper(
    problem: SparseRegressionProblem,
    *,
    s: Rule,
    entry_bound: Rule,
    radius: Rule,
    R: Rule,
    step_size: Rule,
    steps: Rule,
    method: str,
    scales: Scales | Callable[[Point], Scales],
    privacy: Privacy | None = None,
    options: Mapping[str, Setting] | None = None,
) -> UpperBound:
    r"""Risk of PrivateHardThresholding, for every design and coefficient of the class.

    **Statement.** T steps from b = 0 of: gradient step of size eta on least squares with y clipped
    to R, s coordinates chosen privately, their values released with noise of variance v each,
    projection on the ball of radius c0. For any p in (0, 1)

        E|b_T - beta|^2_Sigma <= (L/s*) [m_T^2 + 1{T > 1} p (c0 + a)^2],
        m_t^2 = min{sqrt(nu) (e_t + w), e_t + k (o_t + w')}^2 + s v,
        e_1 = q_1 a + eta sqrt(L/s*) B + eta sqrt(V/n + top(s)),   V = L a^2/s* + sigma^2,
        o_1 = eta ((L - 1/L) a/(2 s*) + B/sqrt(s*) + sqrt(top(1))),
        e_{t+1} = o_{t+1} = q m_t + eta (g + sqrt(h) B),

    where nu = `thresholding_factor`, w = `selection_error`, w' = scale times `missed_rms`,
    k^2 = s r, r = `thresholding_ratio`, B = `clip_bias`, q_1 = max |1 - eta lambda| over
    [1/(L s*), L/s*], top(j) = `Average.top` for j of d - s* averages of mean square V/s* and size
    R/sqrt(s*); [l, h] is `restricted_interval` for 2s + s* coordinates at p, q that over it,
    g^2 = (sigma^2/(s* n)) [s* + `subgaussian_top`(2s, d - s*)]. The best p is taken, and
    (L/s*) (c0 + a)^2 is never exceeded; if T > 1, m_1 may also follow from m_0 = a as m_2 does from
    m_1. It shrinks if sqrt(nu) q < 1; for s = s* sqrt(nu) = 1.618.

    **Assumptions.** s >= s*; L = 1 (then all sets have eigenvalues 1/s*) or s = s*; data and
    coefficients of the class are not clipped: entry_bound >= 1/sqrt(s*), c0 >= a.

    **Proof.** First step, from 0, unconditionally: z = eta X' clip_R(y)/n, e = z - beta. The mean
    of e is (eta Sigma - I) beta + eta E x bias(x), |bias| <= B: on any set of s + s* coordinates
    that holds the support of beta at most q_1 a + eta sqrt(L/s*) B long, and in a coordinate off
    it at most eta ((L - 1/L)/(2 s*)) a + eta B/sqrt(s*) (such a block of a matrix with eigenvalues
    in [l, h] is at most (h - l)/2, as is that of the matrix less I (l + h)/2). Less its mean, e is
    eta times averages of x_j clip_R(y), of mean square at most E y^2/s* <= V/s* and at most
    R/sqrt(s*): s* of them do not depend on the data, any s others are at most `Average.top`. So
    e_1 is rms|e on S and S*| and o_1 that of the largest |e_j| off S*, and `selection_error` and
    `minimax.methods.missed_selection` bound z_S - beta; the noise on the values is independent of
    the rest, and the projection shortens. Afterwards, `Recursion` (privately thresholded descent)
    with M = H = X'X/n, on the event of `restricted_interval`, which depends on X alone.
    r = X' clip_R(y)/n - H beta: given X its coordinates are (1/sqrt(s* n))-Lipschitz in the
    Gaussian noise/sigma up to a factor sigma, hence sub-Gaussian about their means; the support of
    beta does not depend on the data, the other 2s places may. The means are X' bias/n with
    |bias_i| <= B, so |.|_I <= sqrt(h) B. b_T - beta has s + s* entries, so its Sigma-norm squared
    is at most L/s* times its square.

    **Constants.** For L = 1, eta = s*, T = 1 and large n, k^2 w'^2 + s v, k^2 = s* if d >= s + s*:
    s* times the largest beta_j^2 P(j is missed), which s* equal coefficients nearly have.

    **Source.** CWZ19: Theorem 4.4. Its proof follows the empirical risk (Lemma 8.3, constants
    unstated); the recursion in the error itself is shorter and keeps them.

    s, c0, R, eta, T, the entry bound and the scales are given, or functions of the point, which
    then holds `privacy`'s numbers and, for the scales, steps and step_size. `options` are further
    keyword arguments.
    """

    def scales_at(point: Point, chosen: Choice) -> dict[str, Number]:
        noise = rule_at(scales, Letters({**point, **chosen}))
        return {"selection": noise.selection, "value_variance": noise.value_variance}

    def choose(point: Point) -> Choice:
        chosen = {"step_size": rule_at(step_size, point), "steps": rule_at(steps, point)}
        return {"R": rule_at(R, point), **chosen, **scales_at(point, chosen)}

    def closed_terms(point: Point, found: Choice) -> StepTerms:
        taken = {k: found[k] for k in ("step_size", "steps")}
        closed = {"R": rule_at(R, point), **scales_at(point, taken)}
        return _private_terms(point, rule_at(s, point), method, closed)

    return thresholded_upper(
        problem,
        privacy,
        s=s,
        radius=radius,
        descent_at=lambda point: _descent(
            point, problem.L, rule_at(s, point), rule_at(radius, point)
        ),
        choose=choose,
        terms_at=lambda point, chosen: _private_terms(point, rule_at(s, point), method, chosen),
        closed_terms_at=closed_terms,
        name="gradient step, select, noise",
        source="CWZ19: Theorem 4.4",
        kept=(
            Assumption(
                "entry_bound >= 1/sqrt(s*) (entries are not clipped)",
                lambda p: rule_at(entry_bound, p) >= (1 - 1e-12) / math.sqrt(p["s"]),
            ),
        ),
        estimator="PrivateHardThresholding",
        keywords=lambda point, found: {
            "s": rule_at(s, point),
            "entry_bound": rule_at(entry_bound, point),
            "R": found["R"],
            "radius": rule_at(radius, point),
            "step_size": found["step_size"],
            "steps": int(found["steps"]),
            **(options or {}),
        },
    )


def _descent(point: Point, L: float, s: Number, radius: Number) -> PrivatelyThresholded:
    return PrivatelyThresholded(point, L, s, radius, point["sigma"] ** 2 / point["s"])


def _private_terms(point: Point, s: Number, method: str, chosen: Choice) -> StepTerms:
    spent = s * chosen["value_variance"]
    return StepTerms(
        clipped=clip_bias(chosen["R"], point["sigma"], point["radius"]),
        selection=selection_error(s, point["s"], point["d"], method, chosen["selection"]),
        noise=library(point["n"], spent).sqrt(spent),
        missed=_missed(point, method) * chosen["selection"],
        level=chosen["R"],
    )


def _missed(point: Point, method: str) -> Number:
    others = point["d"] - point["s"]
    return missed_rms(library(others).largest(others, 1 + 0 * others), method)


def best_descent(problem: SparseRegressionProblem, privacy: Privacy) -> Best:
    """The least risk proven for PrivateHardThresholding, Gumbel selection.

    Over R, step_size, steps, and for L = 1 a few s from s* to d.
    """
    d, s_star = problem.d, problem.s
    tried = {s_star}
    if problem.L == 1:
        tried |= {d, *(min(math.ceil(s_star * f), d) for f in (1.5, 2, 3, 5))}
    found = [Best.of(_best_bound(problem, privacy, s)) for s in sorted(tried)]
    return min(found, key=lambda best: best.risk)


def _best_bound(problem: SparseRegressionProblem, privacy: Privacy, s: int) -> UpperBound:
    """The bound at the R, step_size and steps of the least risk proven for a given s."""
    a, b, model = problem.radius, 1 / math.sqrt(problem.s), type(privacy)
    share = 0.5 if s < problem.d else VALUES_ONLY
    levels = truncation_levels(a, problem.sigma)
    clipped = np.array([clip_bias(R, problem.sigma, a) for R in levels])
    descent = _descent(problem.point, problem.L, s, a)
    grid = step_grid(descent.curvature, descent.population)
    # Noise is proportional to the step and to the largest gradient: found for one and scaled.
    unit = grid.step_size * np.array([gradient_bound(s, b, a, R) for R in levels])

    def risk(steps: int) -> Array:
        budget = budget_of(privacy).share(steps)
        scales = sparse_scales(problem.n, s, 1.0, budget, selection_share=share)
        chosen = selection_error(s, problem.s, problem.d, "gumbel", scales.selection)
        missed = _missed(problem.point, "gumbel") * scales.selection
        after = math.sqrt(s * scales.value_variance)
        terms = StepTerms(clipped, chosen * unit, after * unit, missed * unit, np.array(levels))
        return np.asarray(descent.risk(*grid, steps, terms))

    steps, row, column = least_risk(risk)
    step_size, R = rounded(grid.step_size[row, 0], 5), levels[column]

    def scales_at(at: Point) -> Scales:
        budget = Allowance(model, at).share(steps)
        return step_scales(at["n"], s, b, a, R, step_size, budget, selection_share=share)

    return private_thresholding_upper(
        problem,
        s=s,
        entry_bound=b,
        radius=a,
        R=R,
        step_size=step_size,
        steps=steps,
        method="gumbel",
        scales=scales_at,
        privacy=privacy,
        options={"selection_share": share},
    )


def one_step_upper(problem: SparseRegressionProblem, privacy: Privacy) -> UpperBound:
    """`private_thresholding_upper` for one step, at settings that are formulas of the point.

    s = s*, the step s* that leaves nothing of the start, and R = a + sigma sqrt(2 log n); L = 1.
    """
    model = type(privacy)

    def level(at: Point) -> Number:
        lib = library(at["n"])
        return at["radius"] + at["sigma"] * lib.sqrt(2 * lib.log(at["n"]))

    def entry_bound(at: Point) -> Number:
        return 1 / library(at["s"]).sqrt(at["s"])

    def scales(at: Point) -> Scales:
        size = (at["n"], at["s"], entry_bound(at), at["radius"], level(at), at["s"])
        return step_scales(*size, Allowance(model, at))

    bound = private_thresholding_upper(
        problem,
        s=lambda at: at["s"],
        entry_bound=entry_bound,
        radius=lambda at: at["radius"],
        R=level,
        step_size=lambda at: at["s"],
        steps=1,
        method="gumbel",
        scales=scales,
        privacy=privacy,
    )
    s, d = LETTERS["s"], LETTERS["d"]
    return one_step(bound, lambda at: at["s"], nu=thresholding_factor(s, s, d))
