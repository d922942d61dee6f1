"""diffprivlib and OpenDP on the tables, each in a process of an environment of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from peer_process import Options, Peer, Unavailable, environment
from table_peers import Fit, Task

from minimax.core.privacy import Approximate

DIFFPRIVLIB = ("diffprivlib==0.6.6", "scikit-learn<1.8")
"""Its logistic regression passes an option that scikit-learn 1.8 no longer has."""
OPENDP = ("opendp==0.16.0", "numpy")
THREADS = 1


class Libraries:
    """The processes, started when they are first asked, and the rows that they were last given."""

    def __init__(self, directory: Path | None, folder: Path) -> None:
        self.directory, self.folder = directory, folder
        self._running: dict[str, Peer] = {}
        self._missing: dict[str, Unavailable] = {}
        self._held: tuple[np.ndarray, Path] | None = None
        self._files = 0

    def _peer(self, name: str, packages: tuple[str, ...]) -> Peer:
        if self.directory is None:
            raise Unavailable(f"{name}: left out by --no-peers")
        if name in self._missing:
            raise self._missing[name]
        if name not in self._running:
            try:
                python = environment(self.directory, name, packages)
            except Unavailable as reason:
                self._missing[name] = reason
                raise
            self._running[name] = Peer(python, THREADS)
        return self._running[name]

    def _file(self, X: np.ndarray, y: np.ndarray) -> Path:
        """Rows as a file, written anew when they are others than last time."""
        if self._held is None or self._held[0] is not X:
            if self._held is not None:
                self._held[1].unlink()
            self._files += 1
            path = self.folder / f"rows-{self._files}.npz"
            np.savez(path, X=X, y=y)
            self._held = X, path
        return self._held[1]

    def linear_regression(self, task: Task, privacy: Approximate) -> np.ndarray:
        """diffprivlib's, told the range of every encoded column."""
        lows = [-1.0 if number else 0.0 for number in task.schema.number_columns]
        options: Options = {
            "epsilon": privacy.epsilon, "bounds_X": (lows, [1.0] * len(lows)),
            "bounds_y": (-1.0, 1.0), "seed": task.seed,
        }  # fmt: skip
        return self._fitted("diffprivlib_table", task, options)

    def logistic_regression(self, task: Task, privacy: Approximate) -> np.ndarray:
        """diffprivlib's, told the longest row, which it counts without intercept."""
        options: Options = {
            "epsilon": privacy.epsilon, "seed": task.seed,
            "data_norm": float(np.sqrt(task.schema.row_bound**2 - 1)),
        }  # fmt: skip
        return self._fitted("diffprivlib_logistic", task, options)

    def _fitted(self, method: str, task: Task, options: Options) -> np.ndarray:
        peer = self._peer("diffprivlib", DIFFPRIVLIB)
        return peer.fit(method, self._file(task.Z, task.y), options)[1]

    def means(
        self, library: str, X: np.ndarray, bounds: np.ndarray, privacy: Approximate, draws: int
    ) -> np.ndarray:
        """So many draws of the private means of the columns, a row each."""
        packages = {"diffprivlib": DIFFPRIVLIB, "opendp": OPENDP}[library]
        options: Options = {
            "epsilon": privacy.epsilon, "delta": privacy.delta, "bounds": bounds.tolist(),
            "draws": draws, "seed": 0,
        }  # fmt: skip
        peer = self._peer(library, packages)
        drawn = peer.fit(f"{library}_means", self._file(X, np.zeros(len(X))), options)[1]
        return drawn.reshape(draws, -1)

    def close(self) -> None:
        """End the processes."""
        for peer in self._running.values():
            peer.close()


@contextmanager
def libraries(directory: Path | None) -> Iterator[Libraries]:
    """The processes for as long as they are needed; none if no directory is given."""
    with TemporaryDirectory() as folder:
        running = Libraries(directory, Path(folder))
        try:
            yield running
        finally:
            running.close()


def library_fits(running: Libraries) -> dict[str, dict[str, Fit]]:
    """By task, those of other libraries."""
    named: dict[str, Callable[[Task, Approximate], np.ndarray]] = {
        "regression": running.linear_regression,
        "classification": running.logistic_regression,
    }
    return {task: {"diffprivlib, pure": fit} for task, fit in named.items()}
