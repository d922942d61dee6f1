"""The headline findings of the ledger in one figure."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from estimators.core.design import Design
from estimators.core.mechanisms import gaussian_scale
from estimators.randomisers.labels import GaussianLabels, label_bound, paper_label_scale
from estimators.thresholding import thresholded_descent
from minimax.core.privacy import Approximate, Gaussian
from verify.plotting import fill_band, new_figure
from verify.rates.special.worst_case_log_d import SHOWN, worst_case
from verify.statements.cwz19.sparse_lower import displayed_sums
from verify.statements.wx21.interaction import interactive_rate, lone_rate

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Array = NDArray[np.float64]
Draw = Callable[["Axes", int], None]
CONFIDENCE = 0.99
FALSE, TRUE, OTHER = "tab:red", "tab:blue", "tab:green"


def findings_figure(seed: int = 0) -> Figure:
    """Six panels, each a statement of a paper against what is true."""
    figure = new_figure(15.5, 9.2)
    for axis, draw in zip(figure.subplots(2, 3).ravel(), PANELS.values(), strict=True):
        _drawn(axis, draw, seed)
    figure.suptitle("What the papers state (red) and what is true (blue)")
    return figure


def panel_figure(identifier: str, seed: int = 0) -> Figure:
    """The panel of one entry alone."""
    figure = new_figure(6.4, 4.4)
    _drawn(figure.subplots(), PANELS[identifier], seed)
    return figure


def _drawn(axis: Axes, draw: Draw, seed: int) -> None:
    draw(axis, seed)
    axis.grid(alpha=0.3)
    axis.legend(fontsize=8, frameon=False)


def _lemma_3_2(axis: Axes, seed: int) -> None:
    sizes = [10**k for k in (3, 4, 5, 6)]
    found = [displayed_sums(d) for d in sizes]
    axis.plot(sizes, [claimed for _, claimed in found], "s--", color=FALSE, label="claimed, (B.1)")
    axis.plot(sizes, [total for total, _ in found], "o-", color=TRUE, label="true, at most σ²s")
    axis.set(xscale="log", ylim=(0, None), xlabel="dimension d", ylabel="Σ E Aᵢ, s = 10")
    axis.set_title("CWZ19: Lemma 3.2\nthe tracing sum of a private clipped mean", fontsize=10)


def _theorem_3_3(axis: Axes, seed: int) -> None:
    cases = [worst_case(log_d, 2000, seed, 1 - CONFIDENCE) for log_d in SHOWN]
    x = [case.log_d for case in cases]
    axis.loglog(x, [case.claimed for case in cases], "s--", color=FALSE, label="claimed")
    measured = [case.measured for case in cases]
    fill_band(axis, x, measured, TRUE, alpha=0.25)
    axis.plot(x, [m.risk for m in measured], "o-", color=TRUE, label="StableSparseMean, measured")
    axis.plot(x, [case.lower for case in cases], "^--", color=OTHER, label="certified lower bound")
    axis.set(xlabel="log d", ylabel="worst-case risk")
    axis.set_title("CWZ19: Theorem 3.3\na private estimator below the claimed bound", fontsize=10)


def _algorithm_3_1(axis: Axes, seed: int) -> None:
    deltas = np.geomspace(1e-12, 1e-2, 60)
    for epsilon, shade in ((0.9, 1.0), (0.5, 0.7), (0.1, 0.4)):
        real = [
            Gaussian(1 / gaussian_scale(Approximate(epsilon, d), 1.0, "paper")).delta(epsilon) / d
            for d in deltas
        ]
        axis.loglog(deltas, real, color=TRUE, alpha=shade, label=f"real, ε = {epsilon}")
    axis.axhline(1.0, color=FALSE, linestyle="--", label="stated")
    axis.set(xlabel="stated δ", ylabel="real δ / stated δ")
    axis.set_title("CWZ19: Algorithm 3.1\nthe privacy of the printed noise", fontsize=10)


def _label_noise(axis: Axes, seed: int) -> None:
    sparsity, epsilon, delta = np.arange(1, 33), 1.0, 1e-3
    for C, shade in ((0.05, 1.0), (0.5, 0.7), (2.0, 0.4)):
        scale = paper_label_scale(C, epsilon, delta)
        real = [
            GaussianLabels(label_bound(int(s), C), scale).guarantee.to_approximate(delta).epsilon
            for s in sparsity
        ]
        axis.semilogy(sparsity, real, color=TRUE, alpha=shade, label=f"real, C = {C}")
    axis.axhline(epsilon, color=FALSE, linestyle="--", label="stated")
    axis.set(xlabel="sparsity s", ylabel="real ε at δ = 10⁻³")
    axis.set_title("WX21: Algorithm 2\nthe privacy of the printed label noise", fontsize=10)


def _ascent(axis: Axes, seed: int) -> None:
    rng = np.random.default_rng(seed)
    theta = np.zeros(200)
    theta[:3] = 1 / math.sqrt(3)
    X = rng.choice([-1.0, 1.0], (4000, 200))
    y = X @ theta + rng.uniform(-0.5, 0.5, 4000)
    steps = range(1, 16)
    for name, sign, colour in (("printed sign", -1.0, FALSE), ("corrected sign", 1.0, TRUE)):
        errors = [np.linalg.norm(_descended(Design(X), y, sign, count) - theta) for count in steps]
        axis.semilogy(steps, errors, "o-", color=colour, label=f"{name}: {errors[-1]:.3f}")
    axis.set(xlabel="steps", ylabel="error |θ̂ − θ|, labels not even private")
    axis.set_title("WX21: Algorithm 2\nstep 5 climbs", fontsize=10)


def _descended(design: Design, y: Array, sign: float, steps: int) -> Array:
    coef, _ = thresholded_descent(
        design,
        lambda prediction: sign * (prediction - y),
        s=3,
        radius=1.0,
        steps=steps,
        step_size=0.5,
    )
    return coef


def _halving(axis: Axes, seed: int) -> None:
    sizes = [10**k for k in (1, 2, 3, 6, 9, 12, 15, 18, 21, 24)]
    x = [math.log(p) for p in sizes]
    alone = [lone_rate(p) for p in sizes]
    slope = alone[-1] / x[-1]
    axis.plot(x, [slope * v for v in x], ":", color=FALSE, label="conjectured: grows like log p")
    axis.plot(
        x,
        [interactive_rate(p) for p in sizes],
        "o-",
        color=TRUE,
        label="SequentialHalving: proven upper bound",
    )
    axis.plot(x, alone, "^--", color=OTHER, label="without interaction: lower bound")
    axis.set(xlabel="log p", ylabel="n R / p", ylim=(0, None))
    axis.set_title("WX21: Remark 1\ninteraction does remove the log p", fontsize=10)


PANELS: dict[str, Draw] = {
    "CWZ19:Lemma 3.2": _lemma_3_2,
    "CWZ19:Theorem 3.3": _theorem_3_3,
    "CWZ19:Algorithm 3.1": _algorithm_3_1,
    "WX21:Theorem 6, privacy": _label_noise,
    "WX21:Algorithm 2": _ascent,
    "WX21:Remark 1": _halving,
}
"""The panels of the figure, by the entry that each shows."""
