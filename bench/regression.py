"""Regression: what a step costs, and ours beside other libraries, in time and in error.

Ratios of one run, never absolute goals: ours and the others take turns, each line is the best of
several repetitions after a warm-up, all on the same data and number of threads. Errors are
|estimate - beta|^2, the median over data sets [smallest, largest]. Peers that scikit-learn does not
bring are installed by pip in environments of their own under --peers-dir, on first use; without
network the bench says so and goes on. A goal that is missed is printed as NOT MET, with how much
it lacks; the exit code is 0 all the same, since a busy machine misses goals too.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from contest import Contest, Outcome, Verdict, beaten, ours, take_turns
from peer_process import Options, Peer, Unavailable, environment, timed_fit
from rich.console import Console
from rich.table import Table
from threadpoolctl import threadpool_limits

from estimators import regression, sparse_erm
from estimators.baselines.regression import AdaptiveSufficientStatistics
from estimators.controls.regression import IterativeHardThresholding, LeastSquares
from estimators.core.design import Design
from estimators.core.losses import SquaredLoss
from estimators.core.mechanisms import gaussian
from minimax.core.privacy import Approximate

EXAMPLES = """examples:
  python bench/regression.py                       everything: about 2 GB of memory, two minutes
  python bench/regression.py --no-peers            only what needs no other environment
  python bench/regression.py --quick --no-peers    small sizes: does it run?
  python bench/regression.py --json out.json --peers-dir ~/.cache/tracebound-peers
"""
DIFFPRIVLIB = ("diffprivlib", "scikit-learn<1.9")
SPARSE_PEERS = ("skglm", "abess", "scikit-learn")
BUDGET = Approximate(0.5, 3.2e-5)
NOISE = math.sqrt(0.1)
"""Standard deviation of the responses' noise, in both comparisons."""
STEP_GOAL = 1.3


class Sizes(NamedTuple):
    """The sizes of a run."""

    step: tuple[int, int] = (20_000, 2_000)
    gram: tuple[tuple[int, int], ...] = ((100_000, 20), (20_000, 200))
    steps: int = 50
    private: tuple[int, int] = (100_000, 20)
    sparse: tuple[int, int, int] = (5_000, 5_000, 30)
    private_sets: int = 9
    sparse_sets: int = 3
    repetitions: int = 7


QUICK = Sizes((400, 100), ((2_000, 20),), 50, (20_000, 5), (300, 400, 5), 5, 2, 2)


def gradient_steps(sizes: Sizes) -> Outcome:
    """One step of the gradient methods against the two matrix-vector products in it."""
    n, d = sizes.step
    rng = np.random.default_rng(0)
    X, y, w = rng.standard_normal((n, d)), rng.standard_normal(n), rng.standard_normal(n)
    dense = rng.standard_normal(d) / math.sqrt(d)
    sparse = np.where(np.arange(d) < 30, dense, 0.0)
    bound = 1.1 * math.sqrt(d)
    gradient = regression.clipped_gradient(X, y, 2.0, bound, gram=False)
    design = Design(X)
    caps, loss = sparse_erm.slope_caps(design, bound), SquaredLoss()

    def thresholding_step(coef: np.ndarray) -> np.ndarray:
        raw = sparse_erm.clipped_gradient(design, y, coef, loss, caps)
        noisy = gaussian(raw, l2_sensitivity=2 * bound / n, scale=0.01, rng=rng, about="").value
        return sparse_erm.hard_threshold(coef - 0.5 * noisy, np.count_nonzero(coef))

    lines = take_turns(
        "step",
        sizes.repetitions,
        **{
            "the two products X b and X'w": lambda: (X @ dense, X.T @ w),
            "NoisyGradientRegression: clipped gradient": lambda: gradient(dense),
            "NoisyHardThresholding: step, dense iterate": lambda: thresholding_step(dense),
            "NoisyHardThresholding: step, 30 non-zeros": lambda: thresholding_step(sparse),
        },
    )
    verdicts = [
        Verdict(
            f"{line.name} within {STEP_GOAL} of its two products",
            line.ratio <= STEP_GOAL,
            f"{line.ratio:.2f}",
        )
        for line in lines[1:]
    ]
    return Outcome(f"one gradient step, n = {n:,}, d = {d:,}", lines, verdicts)


def gram_once(sizes: Sizes) -> Iterator[Outcome]:
    """Many steps with the Gram matrix formed once, and with two products in every step."""
    for n, d in sizes.gram:
        rng = np.random.default_rng(0)
        X, y = rng.standard_normal((n, d)), rng.standard_normal(n)

        def descend(gram: bool, steps: int = sizes.steps, X: Any = X, y: Any = y) -> None:
            bound = math.sqrt(X.shape[1])
            gradient = regression.clipped_gradient(X, y, 2.0, bound, gram=gram)
            coef = np.zeros(X.shape[1])
            for _ in range(steps):
                coef = coef - 0.5 * gradient(coef)

        lines = take_turns(
            "gram",
            sizes.repetitions,
            **{
                f"T = {sizes.steps}, Gram matrix formed once": lambda: descend(True),
                f"T = {sizes.steps}, two products a step": lambda: descend(False),
                "T = 0, Gram matrix formed": lambda: descend(True, 0),
                "T = 0, nothing formed": lambda: descend(False, 0),
            },
        )
        once, without, formed, started = (line.seconds for line in lines)
        equal = sizes.steps * (formed - started) / max(without - started, 1e-9)
        verdict = Verdict(
            f"d = {d}: {sizes.steps} steps are faster with the Gram matrix",
            once < without,
            f"{without / once:.1f} times; forming it costs as much as {equal:.1f} steps",
        )
        yield Outcome(f"the Gram matrix once, n = {n:,}, d = {d}", lines, [verdict])


@contextmanager
def peer(
    args: argparse.Namespace, name: str, packages: tuple[str, ...]
) -> Iterator[tuple[Peer | None, str]]:
    """A peer's process, or None and why there is none."""
    if args.no_peers:
        yield None, "left out by --no-peers"
        return
    try:
        running = Peer(environment(args.peers_dir.expanduser(), name, packages), args.threads)
    except Unavailable as reason:
        yield None, str(reason)
        return
    try:
        yield running, ""
    finally:
        running.close()


def private_regression(sizes: Sizes, args: argparse.Namespace, folder: Path) -> Outcome:
    """Our two private regressions against diffprivlib's, and least squares as the floor."""
    n, d = sizes.private
    R, sure, typical = 2.0, math.sqrt(d), 1.1 * math.sqrt(d / 3)
    noisy, ada = "NoisyGradientRegression", "AdaSSP"
    contest = Contest("private", 2)
    with peer(args, "diffprivlib", DIFFPRIVLIB) as (other, reason):
        for seed in range(sizes.private_sets):
            rng = np.random.default_rng(seed)
            beta = rng.standard_normal(d)
            beta /= np.linalg.norm(beta)
            X = rng.uniform(-1, 1, (n, d))
            y = X @ beta + NOISE * rng.standard_normal(n)
            models: dict[str, Callable[[], Any]] = {}
            for rows, bound, L in (("rows <= sqrt(d)", sure, 3.0), ("typical rows", typical, 1.5)):
                models[f"{noisy}, {rows}"] = lambda b=bound, L=L, seed=seed: (
                    regression.NoisyGradientRegression(
                        BUDGET, R=R, row_bound=b, L=L, random_state=seed
                    )
                )
                models[f"{ada}, {rows}"] = lambda b=bound, seed=seed: AdaptiveSufficientStatistics(
                    BUDGET, row_bound=b, R=R, random_state=seed
                )
            models[f"{ada} in three releases"] = lambda seed=seed: AdaptiveSufficientStatistics(
                BUDGET, row_bound=sure, R=R, release="three", random_state=seed
            )
            models["least squares, not private"] = LeastSquares
            fits = {
                name: lambda make=make, X=X, y=y: ours(make, X, y) for name, make in models.items()
            }
            if other is not None:
                data = folder / f"private-{seed}.npz"
                np.savez(data, X=X, y=y)
                options: Options = {
                    "epsilon": BUDGET.epsilon, "bounds_X": (-1, 1), "bounds_y": (-R, R),
                    "seed": seed,
                }  # fmt: skip
                fits["diffprivlib"] = lambda data=data, other=other, options=options: other.fit(
                    "diffprivlib", data, options
                )
            contest.run(beta, fits)
    lines = contest.finished()
    named = {line.name: line for line in lines}
    mine = [named[f"{kind}, rows <= sqrt(d)"] for kind in (noisy, ada)]
    verdicts = [beaten(mine[0], mine[1]), beaten(mine[1], named[f"{ada} in three releases"])]
    for line in mine:
        if "diffprivlib" in named:
            verdicts.append(beaten(line, named["diffprivlib"]))
        else:
            why = contest.failed.get("diffprivlib", reason)
            verdicts.append(Verdict(f"{line.name} against diffprivlib", None, why))
    title = (
        f"private regression, n = {n:,}, d = {d}, |beta| = 1, noise variance 0.1, "
        f"x ~ U(-1, 1)^d, epsilon = {BUDGET.epsilon}, ours with delta = {BUDGET.delta:g}, "
        f"diffprivlib pure; |y| <= {R:g} for all; typical rows: shortened to 1.1 sqrt(d/3)"
    )
    return Outcome(title, lines, verdicts)


def sparse_regression(
    sizes: Sizes, other: Peer | None, reason: str, folder: Path, order: str
) -> Outcome:
    """Iterative hard thresholding against other libraries' non-private sparse regression."""
    n, d, s = sizes.sparse
    alpha = 2 * NOISE * math.sqrt(2 * math.log(d) / n)
    options: Options = {"s": s, "alpha": alpha}
    contest = Contest(f"sparse, {order} order", 2)
    names = {"skglm": "skglm MCPRegression", "abess": "abess LinearRegression"}
    for seed in range(sizes.sparse_sets):
        rng = np.random.default_rng(seed)
        beta = np.zeros(d)
        beta[rng.choice(d, s, replace=False)] = rng.choice([-1.0, 1.0], s)
        X = rng.standard_normal((n, d))
        y = X @ beta + NOISE * rng.standard_normal(n)
        X = np.asarray(X, order=order)
        fits: dict[str, Callable[[], tuple[float, np.ndarray]]] = {
            "IterativeHardThresholding": lambda X=X, y=y: ours(
                lambda: IterativeHardThresholding(s), X, y
            ),
            "scikit-learn Lasso + refit": lambda X=X, y=y: timed_fit("lasso", X, y, options),
            "scikit-learn OMP": lambda X=X, y=y: timed_fit("pursuit", X, y, options),
        }
        if other is not None:
            data = folder / f"sparse-{order}-{seed}.npz"
            np.savez(data, X=X, y=y)
            for method, name in names.items():
                fits[name] = lambda m=method, data=data, other=other: other.fit(
                    m, data, options, order
                )
        contest.run(beta, fits)
        if other is not None:
            data.unlink()
    mine, *others = lines = contest.finished()
    verdicts = [beaten(mine, line) for line in others]
    for name in names.values():
        if name not in contest.lines:
            why = contest.failed.get(name, reason)
            verdicts.append(Verdict(f"{mine.name} against {name}", None, why))
    layout = {"C": "rows contiguous", "F": "columns contiguous"}[order]
    title = (
        f"sparse regression, not private, n = {n:,}, d = {d:,}, s = {s}, x ~ N(0, I), "
        f"beta_j = +-1, noise variance 0.1, X with {layout}; "
        f"alpha = 2 sigma sqrt(2 log(d)/n) = {alpha:.3g} for Lasso and MCP, s known to the others"
    )
    return Outcome(title, lines, [v._replace(goal=f"{layout}: {v.goal}") for v in verdicts])


def run(sizes: Sizes, args: argparse.Namespace) -> Iterator[Outcome]:
    """All sections, as they are finished."""
    yield gradient_steps(sizes)
    yield from gram_once(sizes)
    with tempfile.TemporaryDirectory() as name:
        yield private_regression(sizes, args, Path(name))
        with peer(args, "sparse", SPARSE_PEERS) as (other, reason):
            for order in ("C", "F"):
                yield sparse_regression(sizes, other, reason, Path(name), order)


def load() -> float | None:
    """Processes that want to run, averaged over a minute, where the system tells."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def main() -> None:
    """Print the tables and, last, one line per goal."""
    parser = argparse.ArgumentParser(
        description=__doc__, epilog=EXAMPLES, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes, for a smoke test")
    parser.add_argument(
        "--no-peers", action="store_true", help="leave out what needs an environment of its own"
    )
    parser.add_argument(
        "--peers-dir",
        type=Path,
        default=Path(tempfile.gettempdir()) / "tracebound-peers",
        help="where the peers' environments are made and kept (default: %(default)s)",
    )
    parser.add_argument(
        "--threads",
        type=int,
        default=1,
        help="threads for BLAS and the like, ours and the peers' alike (default: %(default)s)",
    )
    parser.add_argument("--json", type=Path, metavar="PATH", help="also write the figures here")
    args = parser.parse_args()

    console = Console(width=140)
    before = load()
    outcomes = []
    with threadpool_limits(limits=args.threads):
        for outcome in run(QUICK if args.quick else Sizes(), args):
            table = Table("", "best, ms", "time", title=outcome.title, title_justify="left")
            if outcome.lines[0].errors:
                table.add_column("squared error: median and range")
            for line in outcome.lines:
                table.add_row(*line.shown())
            console.print(table)
            outcomes.append(outcome)
    machine = {
        "threads": args.threads, "cores": os.cpu_count(), "load": [before, load()],
        "quick": args.quick,
    }  # fmt: skip
    shown = " and ".join("unknown" if x is None else f"{x:.1f}" for x in machine["load"])
    console.print(
        f"'time' is relative to the first line of its table. Threads: {args.threads}, "
        f"cores: {machine['cores']}, load before and after: {shown}."
    )
    if args.quick:
        console.print("These sizes are small; the goals are meant for the full ones.")
    verdicts = [verdict for outcome in outcomes for verdict in outcome.verdicts]
    for verdict in verdicts:
        console.print(str(verdict), highlight=False, soft_wrap=True)
    if args.json:
        figures = {
            "machine": machine,
            "lines": [asdict(line) for outcome in outcomes for line in outcome.lines],
            "verdicts": [verdict._asdict() for verdict in verdicts],
        }
        args.json.write_text(json.dumps(figures, indent=1))


if __name__ == "__main__":
    main()
