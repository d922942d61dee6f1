"""Upper bounds for regression against simulated algorithms: measured risk + 5 standard errors.

Every check has a control where the same measurement breaks the bound: more noise than the bound was
given, or a smaller constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from estimators.logistic import PlannedLogisticRegression
from minimax.core.calibration import Scales, budget_of
from minimax.core.privacy import Approximate, Gaussian, Pure, SpendablePrivacy, ZeroConcentrated
from minimax.methods import recursion as descent
from minimax.problems.erm import upper as erm_upper
from minimax.problems.logistic import upper as logistic_upper
from minimax.problems.logistic.problem import LogisticProblem
from minimax.problems.regression import upper as regression_upper
from minimax.problems.regression.problem import RegressionProblem
from minimax.problems.sparse_regression import upper as sparse_upper
from minimax.problems.sparse_regression.private_thresholding import private_thresholding_upper
from minimax.problems.sparse_regression.problem import SparseRegressionProblem
from tests.simulation import above, ball, below, hard, keep

Array = np.ndarray
REPEATS = 300
"""Runs of the algorithm on each data set; their mean is one measurement."""


# --- Ingredients ---------------------------------------------------------------------------------


def test_matrix_chernoff_holds_and_is_not_idle() -> None:
    """Rows e_J, J uniform: the covariance is I/d, the sample's is diagonal, multinomial counts."""
    rng, n, d, runs = np.random.default_rng(1), 400, 8, 4000
    counts = rng.multinomial(n, np.full(d, 1 / d), size=runs) / n
    least, most = counts.min(axis=1), counts.max(axis=1)
    low, high = descent.chernoff_interval(n, d, 1.0, descent.Interval(1 / d, 1 / d), 0.5)
    missed = np.mean((least < float(low)) | (most > float(high)))
    assert missed + 5 * math.sqrt(missed * (1 - missed) / runs) <= 0.5
    assert missed > 0.01
    shrunk = [1 / d + (end - 1 / d) * 0.55 for end in (float(low), float(high))]
    missed = np.mean((least < shrunk[0]) | (most > shrunk[1]))
    assert missed - 5 * math.sqrt(missed * (1 - missed) / runs) > 0.5


def test_coherence_holds() -> None:
    rng, n, d, k, runs = np.random.default_rng(2), 300, 6, 3, 1500
    low, high = descent.coherence_interval(n, d, k, 1.0, 0.3)
    missed = 0
    for _ in range(runs):
        X = rng.choice([-1.0, 1.0], (n, d))
        H = X.T @ X / n
        off = np.sort(np.abs(H - np.eye(d)), axis=1)[:, -(k - 1) :].sum(axis=1)  # Gershgorin, any I
        missed += bool(1 + off.max() > float(high))
    assert missed / runs + 5 * math.sqrt(0.25 / runs) <= 0.3
    assert float(low) == pytest.approx(2 - float(high))


@pytest.mark.parametrize(("k", "d"), [(1, 20), (3, 10), (5, 10)])
def test_largest_gaussians(k: int, d: int) -> None:
    squares = np.sort(np.random.default_rng(3).standard_normal((20_000, d)) ** 2, axis=1)
    sums = list(squares[:, -k:].sum(axis=1))
    assert below(sums, descent.gaussian_top(k, d))
    assert above(sums, 0.75 * descent.gaussian_top(k, d))


def chosen(z: Array, s: int, scale: float, method: str, rng: np.random.Generator) -> Array:
    """s places of each row, by noisy scores."""
    if method == "gumbel":
        scores = np.abs(z) + rng.gumbel(0, scale, z.shape)
        return np.argpartition(-scores, s - 1, axis=-1)[..., :s]
    taken, out = np.zeros(z.shape), []
    for _ in range(s):
        scores = np.abs(z) + rng.laplace(0, scale, z.shape) - taken
        out.append(np.argmax(scores, axis=-1)[..., None])
        np.put_along_axis(taken, out[-1], np.inf, -1)
    return np.concatenate(out, axis=-1)


@pytest.mark.parametrize("method", ["gumbel", "peeling"])
@pytest.mark.parametrize("height", [0.5, 3.0, 8.0])
def test_private_selection(method: str, height: float) -> None:
    """|z_S - x| <= sqrt(nu)(|z - x| + w), here with z = x; the worst signal is about the noise."""
    rng, d, s, s_star, scale = np.random.default_rng(4), 60, 4, 3, 0.5
    x = np.zeros(d)
    x[:s_star] = height * scale
    nu = descent.thresholding_factor(s, s_star, d)
    z = np.tile(x, (4000, 1))
    losses = list(np.sum((keep(z, chosen(z, s, scale, method, rng)) - x) ** 2, axis=1))
    w = descent.selection_error(s, s_star, d, method, scale)
    assert below(losses, nu * w**2)
    if height == 3.0:
        less = descent.selection_error(s, s_star, d, method, scale / 6)
        assert above(losses, nu * less**2)


# --- Dense descent -------------------------------------------------------------------------------


def dense_losses(
    problem: RegressionProblem,
    beta: Array,
    *,
    radius: float,
    R: float,
    step_size: float,
    steps: int,
    noise: float,
    runs: int,
    seed: int,
) -> list[float]:
    rng, d = np.random.default_rng(seed), problem.d
    out = []
    for _ in range(runs):
        X = rng.choice([-1.0, 1.0], (problem.n, d)) / math.sqrt(d)
        y = np.clip(X @ beta + problem.sigma * rng.standard_normal(problem.n), -R, R)
        H, g = X.T @ X / problem.n, X.T @ y / problem.n
        b = np.zeros((REPEATS, d))
        for _ in range(steps):
            b = ball(b - step_size * (b @ H - g + noise * rng.standard_normal(b.shape)), radius)
        out.append(float(np.sum((b - beta) ** 2)) / d / REPEATS)
    return out


DENSE = {
    "noise": {"radius": 100.0, "R": 8.0, "step_size": 4.0, "steps": 3, "noise": 0.05},
    "statistics": {"radius": 100.0, "R": 8.0, "step_size": 4.0, "steps": 3, "noise": 1e-6},
    "clipping": {"radius": 100.0, "R": 0.3, "step_size": 4.0, "steps": 3, "noise": 1e-6},
    "start": {"radius": 1.0, "R": 8.0, "step_size": 0.5, "steps": 2, "noise": 1e-6},
    "projection": {"radius": 1.0, "R": 4.0, "step_size": 3.0, "steps": 6, "noise": 0.2},
}


def dense_bound(problem: RegressionProblem, setting: dict[str, float]) -> float:
    return regression_upper.noisy_gradient_upper(problem, row_bound=1.0, **setting).value()  # type: ignore[arg-type]


@pytest.mark.parametrize("name", DENSE)
def test_noisy_descent_is_below_its_bound(name: str) -> None:
    problem, setting = RegressionProblem(5_000, 4), DENSE[name]
    beta = np.array([1.0, 0.0, 0.0, 0.0]) if name == "clipping" else np.full(4, 0.5)
    losses = dense_losses(problem, beta, runs=250, seed=5, **setting)  # type: ignore[arg-type]
    bound = dense_bound(problem, setting)
    assert below(losses, bound)
    if name == "noise":  # nearly tight: the bound for half the noise is broken
        assert np.mean(losses) > 0.9 * bound
        assert above(losses, dense_bound(problem, {**setting, "noise": 0.025}))
    if name == "statistics":  # and the bound for half the error of the responses
        assert above(losses, dense_bound(RegressionProblem(5_000, 4, sigma=0.5), setting))
    if name == "start":
        assert above(losses, dense_bound(RegressionProblem(5_000, 4, radius=0.8), setting))
    if name == "clipping":
        assert above(losses, dense_bound(problem, {**setting, "R": 1.5}))


def test_noisy_logistic_descent_is_below_its_bound() -> None:
    problem = LogisticProblem(4_000, 4)
    setting = {"radius": 1.0, "G": 1.0, "step_size": 17.0, "steps": 4}
    beta, rng = np.full(4, 0.3), np.random.default_rng(6)
    for noise, broken in ((1e-6, False), (0.01, True)):
        losses = []
        for _ in range(80):
            X = rng.choice([-0.5, 0.5], (problem.n, 4))
            y = rng.random(problem.n) < 1 / (1 + np.exp(-X @ beta))
            b = np.zeros((20, 4))
            for _ in range(4):
                gradient = (1 / (1 + np.exp(-b @ X.T)) - y) @ X / problem.n
                b = ball(b - 17.0 * (gradient + noise * rng.standard_normal(b.shape)), 1.0)
            losses.append(float(np.sum((b - beta) ** 2)) / 4 / 20)
        bound = logistic_upper.noisy_logistic_upper(problem, noise=noise, **setting)  # type: ignore[arg-type]
        assert below(losses, bound.value())
        if broken:
            less = logistic_upper.noisy_logistic_upper(problem, noise=noise / 4, **setting)  # type: ignore[arg-type]
            assert above(losses, less.value())


@pytest.mark.parametrize(
    "privacy",
    [Pure(0.05), Approximate(0.05, 1e-9), ZeroConcentrated(2e-4), Gaussian(0.02)],
    ids=str,
)
def test_planned_logistic_descent_is_below_its_bound(privacy: SpendablePrivacy) -> None:
    """Rows e_J with signs, all of beta on one: the class's worst curvature. Control: with a budget
    for four times the noise the bound is broken."""
    problem = LogisticProblem(20_000, 4)
    beta, rng = np.array([0.8, 0.0, 0.0, 0.0]), np.random.default_rng(7)
    weaker = (
        Pure(privacy.epsilon / 4)
        if isinstance(privacy, (Pure, Approximate))
        else Gaussian(float(budget_of(privacy).mu()) / 4)
    )
    losses: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(120):
        place, sign = rng.integers(4, size=problem.n), rng.choice([-1.0, 1.0], problem.n)
        X = np.eye(4)[place] * sign[:, None]
        y = rng.random(problem.n) < 1 / (1 + np.exp(-X @ beta))
        for less, budget in ((False, privacy), (True, weaker)):
            model = PlannedLogisticRegression(budget, 1.0, 1.0, 1.0, random_state=seed).fit(X, y)
            losses[less].append(float(np.sum((model.coef_ - beta) ** 2)) / 4)
    bound = PlannedLogisticRegression(privacy, 1.0, 1.0, 1.0).risk_bound(problem).value()
    assert below(losses[False], bound)
    assert above(losses[True], bound)


# --- Thresholded descent -------------------------------------------------------------------------


def sparse_losses(
    problem: SparseRegressionProblem,
    step: Callable[[Array, Array, np.random.Generator], Array],
    *,
    R: float,
    steps: int,
    radius: float,
    runs: int,
    seed: int,
) -> list[float]:
    """`step` of (b, gradient): what is released before the projection."""
    rng = np.random.default_rng(seed)
    beta = np.zeros(problem.d)
    beta[: problem.s] = problem.radius / math.sqrt(problem.s)
    out = []
    for _ in range(runs):
        X = rng.choice([-1.0, 1.0], (problem.n, problem.d)) / math.sqrt(problem.s)
        y = np.clip(X @ beta + problem.sigma * rng.standard_normal(problem.n), -R, R)
        H, g = X.T @ X / problem.n, X.T @ y / problem.n
        b = np.zeros((REPEATS, problem.d))
        for _ in range(steps):
            b = ball(step(b, b @ H - g, rng), radius)
        out.append(float(np.sum((b - beta) ** 2)) / problem.s / REPEATS)
    return out


@pytest.mark.parametrize("method", ["gumbel", "peeling"])
@pytest.mark.parametrize("s", [2, 5])
def test_private_thresholding_is_below_its_bound(method: str, s: int) -> None:
    problem = SparseRegressionProblem(8_000, 12, 2, sigma=0.3)

    def bound(selection: float, value: float) -> float:
        return private_thresholding_upper(
            problem,
            s=s,
            entry_bound=1.0,
            radius=5.0,
            R=4.0,
            step_size=2.0,
            steps=3,
            method=method,
            scales=Scales(1.0, selection, value, value**2),
        ).value()

    for selection, value in ((0.05, 0.01), (0.001, 0.2), (0.1, 0.1)):

        def step(
            b: Array,
            g: Array,
            rng: np.random.Generator,
            selection: float = selection,
            value: float = value,
        ) -> Array:
            z = b - 2.0 * g
            places = chosen(z, s, selection, method, rng)
            return keep(z + value * rng.standard_normal(z.shape), places)

        losses = sparse_losses(problem, step, R=4.0, steps=3, radius=5.0, runs=60, seed=7)
        assert below(losses, bound(selection, value))
        if value == 0.2:  # the released values' noise enters with its exact constant
            assert above(losses, bound(selection, value / 2))


@pytest.mark.parametrize("s", [2, 5, 12])
def test_noisy_thresholding_is_below_its_bound(s: int) -> None:
    problem = SparseRegressionProblem(8_000, 12, 2, sigma=0.3)

    def bound(noise: float) -> float:
        return sparse_upper.noisy_thresholding_upper(
            problem, s=s, radius=5.0, G=1e3, step_size=2.0, steps=3, noise=noise
        ).value()

    def step(b: Array, g: Array, rng: np.random.Generator) -> Array:
        return hard(b - 2.0 * (g + 0.05 * rng.standard_normal(g.shape)), s)

    losses = sparse_losses(problem, step, R=100.0, steps=3, radius=5.0, runs=60, seed=8)
    assert below(losses, bound(0.05))
    if s == 12:  # nothing is thresholded: tight
        assert above(losses, bound(0.025))
    else:
        assert above(losses, bound(0.05 / 8))


def test_statistics_of_an_unthresholded_descent() -> None:
    """s = d and no noise: least squares, with a constant near 1 for large n."""

    def bound(sigma: float) -> float:
        return sparse_upper.noisy_thresholding_upper(
            SparseRegressionProblem(30_000, 12, 2, sigma=sigma),
            s=12,
            radius=5.0,
            G=1e3,
            step_size=2.0,
            steps=4,
            noise=1e-9,
        ).value()

    problem = SparseRegressionProblem(30_000, 12, 2)
    losses = sparse_losses(
        problem, lambda b, g, rng: b - 2.0 * g, R=100.0, steps=4, radius=5.0, runs=100, seed=15
    )
    assert below(losses, bound(1.0))
    assert above(losses, bound(0.7))


@pytest.mark.parametrize(("steps", "level"), [(4, 3.1), (1, 0.6), (1, 1.4)])
def test_gradient_clipping_is_below_its_bound(steps: int, level: float) -> None:
    """WG19: Corollary 5.6 with each record's gradient clipped, and not too rarely."""
    problem = SparseRegressionProblem(10_000, 6, 2, sigma=0.5)
    rng, K, s = np.random.default_rng(9), math.sqrt(3), 2
    beta = np.array([0.7, 0.7, 0, 0, 0, 0])
    losses = []
    for _ in range(40):
        X = rng.choice([-1.0, 1.0], (problem.n, 6)) / math.sqrt(2)
        y = X @ beta + problem.sigma * rng.standard_normal(problem.n)
        b = np.zeros(6)
        for _ in range(steps):
            residual = np.clip(X @ b - y, -level, level)
            b = ball(hard(b - 2.0 * X.T @ residual / problem.n, s), 1.0)
        losses.append(float(np.sum((b - beta) ** 2)) / 2)

    def bound(level: float) -> float:
        return sparse_upper.noisy_thresholding_upper(
            problem, s=s, radius=1.0, G=K * level, step_size=2.0, steps=steps, noise=1e-9
        ).value()

    assert below(losses, bound(level))
    assert bound(level) < problem.zero_release_risk() or level < 1
    if level < 1:  # as if nothing were clipped
        assert above(losses, bound(1e3))


# --- Fixed data ----------------------------------------------------------------------------------


def quadratic(d: int, kappa: float, rng: np.random.Generator) -> Array:
    """A Hessian with eigenvalues from 1 to kappa."""
    Q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    return np.asarray(Q @ np.diag(np.linspace(1.0, kappa, d)) @ Q.T)


@pytest.mark.parametrize("kappa", [1.0, 1.4])
def test_any_loss_theorem_5_4(kappa: float) -> None:
    rng, d, s, s_star = np.random.default_rng(10), 30, 6, 3
    H = quadratic(d, kappa, rng)
    theta = np.zeros(d)
    theta[:s_star] = 1.0
    push = 0.02 * rng.choice([-1, 1], d)
    eta = 2 / (1 + kappa)
    b = np.zeros((4000, d))
    for _ in range(8):
        b = hard(b - eta * ((b - theta) @ H + push + 0.1 * rng.standard_normal(b.shape)), s)
    losses = list(np.sum((b - theta) ** 2, axis=1))

    def bound(noise: float) -> float:
        return erm_upper.theorem_5_4(
            d=d,
            s=s,
            s_star=s_star,
            curvature=1.0,
            smoothness=kappa,
            gradient=0.02,
            radius=math.sqrt(3),
            noise=noise,
            steps=8,
        ).value()

    assert below(losses, bound(0.1))
    assert above(losses, bound(0.1 / 16))


@pytest.mark.parametrize(("kappa", "s"), [(1.0, 33), (1.1, 50)])
def test_excess_risk_theorem_8(kappa: float, s: int) -> None:
    rng, d, s_star, tau = np.random.default_rng(11), 120, 1, 0.05
    H = quadratic(d, kappa, rng)
    center = np.zeros(d)
    center[0] = 1.0

    def risk(x: Array) -> list[float]:
        return list(np.sum(((x - center) @ H) * (x - center), axis=1) / 2)

    x = np.zeros((800, d))
    start = risk(x)[0]
    ends: dict[int, list[float]] = {}
    for t in range(1, 31):
        g = (x - center) @ H + tau * rng.standard_normal(x.shape)
        x = hard(x - g / (2 * kappa), s)
        if t in (1, 5, 30):
            ends[t] = risk(x)

    def bound(steps: int, noise: float) -> float:
        return erm_upper.theorem_8(
            d=d,
            s=s,
            s_star=s_star,
            curvature=1.0,
            smoothness=kappa,
            gap=start,
            noise=noise,
            steps=steps,
        ).value()

    assert all(below(losses, bound(steps, tau)) for steps, losses in ends.items())
    assert above(ends[30], bound(30, tau / 8))
