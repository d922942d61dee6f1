"""Other libraries, each in an environment of its own, timed from the bench.

Imported, it makes environments and talks to the processes that run in them. Run as a script inside
such an environment, it answers requests: one line of JSON in (method, data file, layout, options),
one line of JSON out (seconds of the fit, coefficients). So the bench can let ours and theirs take
turns, and a noisy machine hurts both alike. Nothing here needs more than numpy and the peer.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

Options = dict[str, Any]
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
PATIENCE = 900
"""Seconds that making an environment may take."""


def fit_diffprivlib(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """The functional mechanism, pure epsilon; data outside the bounds are clipped."""
    from diffprivlib.models import LinearRegression

    model = LinearRegression(
        epsilon=options["epsilon"],
        bounds_X=tuple(options["bounds_X"]),
        bounds_y=tuple(options["bounds_y"]),
        fit_intercept=False,
        random_state=options["seed"],
    )
    return model.fit(X, y).coef_


def fit_lasso(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """Lasso, then least squares on its support."""
    from sklearn.linear_model import Lasso

    coef = Lasso(options["alpha"], fit_intercept=False).fit(X, y).coef_
    support = np.flatnonzero(coef)
    refitted = np.zeros_like(coef)
    refitted[support] = np.linalg.lstsq(X[:, support], y, rcond=None)[0]
    return refitted


def fit_pursuit(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """Orthogonal matching pursuit, told the sparsity."""
    from sklearn.linear_model import OrthogonalMatchingPursuit

    model = OrthogonalMatchingPursuit(n_nonzero_coefs=options["s"], fit_intercept=False)
    return model.fit(X, y).coef_


def fit_skglm(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """The minimax concave penalty at its default gamma = 3."""
    from skglm import MCPRegression

    return MCPRegression(alpha=options["alpha"], fit_intercept=False).fit(X, y).coef_


def fit_abess(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """Best-subset selection by splicing, told the sparsity."""
    from abess import LinearRegression

    return LinearRegression(support_size=options["s"], fit_intercept=False).fit(X, y).coef_


def fit_screening(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """One private correlation pass, then averaged clipped descent on the columns it chose.

    30 % of rho on one-shot Gumbel top-s of |X' clip(y, R)| for entries in [-1, 1], each round
    epsilon^2/8-zCDP at sensitivity 2 R; the rest on `steps` steps w <- w - eta (clipped gradients'
    mean + noise), the last half of which is averaged.
    """
    rng = np.random.default_rng(options["seed"])
    n, s, R, rho = len(X), options["s"], options["R"], options["rho"]
    epsilon = np.sqrt(8 * 0.3 * rho / s)
    scores = np.abs(X.T @ np.clip(y, -R, R)) + rng.gumbel(scale=4 * R / epsilon, size=X.shape[1])
    chosen = np.argsort(-scores)[:s]
    block = np.ascontiguousarray(X[:, chosen])
    norms, steps, clip = np.linalg.norm(block, axis=1), options["steps"], options["clip"]
    noise = 2 * clip * np.sqrt(steps / (2 * 0.7 * rho)) / n
    w, kept = np.zeros(s), []
    for _ in range(steps):
        residuals = block @ w - y
        sizes = np.maximum(np.abs(residuals) * norms, 1e-300)
        gradient = block.T @ (np.minimum(1, clip / sizes) * residuals) / n
        w = w - options["step_size"] * (gradient + noise * rng.standard_normal(s))
        kept.append(w)
    coef = np.zeros(X.shape[1])
    coef[chosen] = np.mean(kept[steps // 2 :], axis=0)
    return coef


def fit_diffprivlib_table(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """The functional mechanism; X has a column of ones first, for which it has an intercept."""
    from diffprivlib.models import LinearRegression

    model = LinearRegression(
        epsilon=options["epsilon"],
        bounds_X=tuple(np.array(side) for side in options["bounds_X"]),
        bounds_y=tuple(options["bounds_y"]),
        random_state=options["seed"],
    ).fit(X[:, 1:], y)
    return np.append(model.intercept_, model.coef_)


def fit_diffprivlib_logistic(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """Objective perturbation, pure epsilon; X has a column of ones first, as above."""
    from diffprivlib.models import LogisticRegression

    model = LogisticRegression(
        epsilon=options["epsilon"],
        data_norm=options["data_norm"],
        max_iter=1000,
        random_state=options["seed"],
    ).fit(X[:, 1:], y)
    return np.append(model.intercept_, model.coef_)


def draw_diffprivlib_means(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """Means of the columns, epsilon shared equally, drawn several times."""
    from diffprivlib.tools import mean

    epsilon, rng = options["epsilon"] / X.shape[1], np.random.RandomState(options["seed"])
    return np.array(
        [
            [
                mean(column, epsilon=epsilon, bounds=tuple(bounds), random_state=rng)
                for column, bounds in zip(X.T, options["bounds"], strict=True)
            ]
            for _ in range(options["draws"])
        ]
    )


def draw_opendp_means(X: np.ndarray, y: np.ndarray, options: Options) -> np.ndarray:
    """Means of the columns by Gaussian noise, rho of zCDP shared equally, drawn several times.

    The scale for one column is searched for under OpenDP's own conversion to (epsilon, delta), with
    replacement as two steps of its symmetric distance; d columns have sqrt(d) times that.
    """
    import opendp.prelude as dp

    dp.enable_features("contrib")
    epsilon, delta = options["epsilon"], options["delta"]
    drawn = []
    for column, (low, high) in zip(X.T, options["bounds"], strict=True):
        domain = dp.vector_domain(dp.atom_domain(bounds=(low, high), nan=False), size=len(column))
        mean = dp.t.make_mean(domain, dp.symmetric_distance())

        space = mean.output_domain, mean.output_metric

        def guaranteed(scale: float, mean: Any = mean, space: Any = space) -> Any:
            noisy = mean >> dp.m.make_gaussian(*space, scale)
            return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(noisy), delta)

        alone = dp.binary_search_param(guaranteed, d_in=2, d_out=(epsilon, delta))
        noise = dp.m.make_gaussian(*space, alone * np.sqrt(X.shape[1]))
        average = mean(np.clip(column, low, high).tolist())  # once: only the noise is drawn anew
        drawn.append([noise(average) for _ in range(options["draws"])])
    return np.array(drawn).T


METHODS: dict[str, Callable[[np.ndarray, np.ndarray, Options], np.ndarray]] = {
    "diffprivlib": fit_diffprivlib,
    "lasso": fit_lasso,
    "pursuit": fit_pursuit,
    "skglm": fit_skglm,
    "abess": fit_abess,
    "screening": fit_screening,
    "diffprivlib_table": fit_diffprivlib_table,
    "diffprivlib_logistic": fit_diffprivlib_logistic,
    "diffprivlib_means": draw_diffprivlib_means,
    "opendp_means": draw_opendp_means,
}


class Unavailable(Exception):
    """A peer that cannot be had here, and why."""


def environment(directory: Path, name: str, packages: tuple[str, ...]) -> Path:
    """The interpreter of a virtual environment with these packages, made on first use."""
    home = directory / name
    python = home / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    made = home / "installed.json"
    if made.exists() and json.loads(made.read_text()) == list(packages):
        return python
    directory.mkdir(parents=True, exist_ok=True)
    for command in (
        [sys.executable, "-m", "venv", "--clear", str(home)],
        [str(python), "-m", "pip", "install", "--quiet", *packages],
    ):
        try:
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=PATIENCE)
        except (subprocess.SubprocessError, OSError) as error:
            said = str(getattr(error, "stderr", "") or error).strip().splitlines()
            raise Unavailable(f"no environment with {', '.join(packages)}: {said[-1]}") from None
    made.write_text(json.dumps(packages))
    return python


class Peer:
    """A process in a peer's environment that fits on request."""

    def __init__(self, python: Path, threads: int) -> None:
        limits = dict.fromkeys(THREAD_VARIABLES, str(threads))
        self._process = subprocess.Popen(
            [str(python), "-W", "ignore", str(Path(__file__).resolve())],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env={**os.environ, **limits, "PYTHONPATH": ""},
        )

    def fit(
        self, method: str, data: Path, options: Options, order: str = "C"
    ) -> tuple[float, np.ndarray]:
        """Seconds and coefficients of one fit on the X and y of an .npz file."""
        request = {"method": method, "data": str(data), "order": order, "options": options}
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        try:
            print(json.dumps(request), file=self._process.stdin, flush=True)
            answer = json.loads(self._process.stdout.readline())
        except (OSError, ValueError):
            raise Unavailable(f"{method}: its process ended") from None
        if "error" in answer:
            raise Unavailable(f"{method}: {answer['error']}")
        return answer["seconds"], np.array(answer["coef"])

    def close(self) -> None:
        """End the process."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


def timed_fit(
    method: str, X: np.ndarray, y: np.ndarray, options: Options
) -> tuple[float, np.ndarray]:
    """Seconds and coefficients of one fit, in this process."""
    start = time.perf_counter()
    coef = METHODS[method](X, y, options)
    return time.perf_counter() - start, np.ravel(coef)


def serve() -> None:
    """Answer requests until the input ends."""
    answers, sys.stdout = sys.stdout, sys.stderr  # libraries may print
    held: tuple[str, str] | None = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if held != (request["data"], request["order"]):
                with np.load(request["data"]) as data:
                    X, y = np.asarray(data["X"], order=request["order"]), data["y"]
                held = request["data"], request["order"]
            seconds, coef = timed_fit(request["method"], X, y, request["options"])
            answer: dict[str, Any] = {"seconds": seconds, "coef": coef.tolist()}
        except Exception as error:  # whatever it is, the bench reports it and goes on
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    serve()
