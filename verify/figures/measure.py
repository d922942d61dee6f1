"""Trials of a panel: options are chosen on draws of their own, then every method is measured.

A *piece* is one place of one group of methods that share their draws. What it finds depends on the
panel, the profile and the seed alone, so it is the same in whichever process it is run, and is kept
by that key.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zlib import crc32

import numpy as np
from rich.console import Console
from threadpoolctl import threadpool_limits

from verify.console import track
from verify.data_sets import load
from verify.figures.catalogue import panel_of
from verify.figures.curves import Curve
from verify.figures.panel import Fit, Method, Options, Panel, Point, Profile
from verify.rates.backends import Backend
from verify.rates.results import Results
from verify.seeds import cell_seed, stream


@dataclass(frozen=True)
class Piece:
    """What is run at once."""

    panel: str
    group: int
    place: int
    profile: Profile
    seed: int
    data: Path | None = None

    @property
    def key(self) -> dict[str, object]:
        """By which its result is found again."""
        return {
            "panel": self.panel,
            "group": self.group,
            "place": self.place,
            "profile": self.profile,
            "seed": self.seed,
        }


@dataclass(frozen=True)
class Measured:
    """What one method showed at one place."""

    losses: list[float]
    epsilon: float | None
    options: dict[str, Any]
    edges: list[str]
    notes: dict[str, list[float]]


def pieces_of(
    panels: Sequence[Panel], profile: Profile, seed: int, data: Path | None
) -> list[Piece]:
    """All that is to be run, the largest places first."""
    return [
        Piece(panel.id, group, place, profile, seed, data if panel.data else None)
        for panel in panels
        for group in range(len(panel.groups))
        for place in reversed(range(len(panel.plan(profile).xs)))
    ]


def run_piece(piece: Piece) -> list[dict[str, Any]]:
    """What every method of the group showed, as JSON can say it."""
    panel = panel_of(piece.panel)
    plan = panel.plan(piece.profile)
    methods = panel.groups[piece.group]
    point = {**panel.point(plan.xs[piece.place]), **methods[0].at}
    tables = [load(key, piece.data) for key in panel.data if piece.data is not None]
    runner = _Runner(panel, point, _draws(panel, methods[0], point), piece.seed, tables)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of budgets and plans: a study has many fits
        chosen = runner.chosen(methods, plan.tuning)
        found = runner.tried(methods, chosen, plan.trials)
    return [vars(each) for each in found]


def _draws(panel: Panel, method: Method, point: Point) -> str:
    return f"{panel.id}|{sorted(method.at.items())}|{point[panel.x]:g}"


@dataclass(frozen=True)
class _Runner:
    panel: Panel
    point: Point
    label: str
    seed: int
    tables: Sequence[Any]

    def sample(self, part: str, trial: int) -> Any:
        rng = stream(cell_seed(self.seed, f"{self.label}|{part}"), trial)
        return self.panel.draw(self.point, rng, *self.tables)

    def fit(
        self, method: Method, sample: Any, options: Options, part: str, trial: int, *run: int
    ) -> Fit:
        place = crc32(f"{method.name}|{sorted(options.items())}".encode())
        rng = stream(cell_seed(self.seed, f"{self.label}|{part}|noise"), trial, place, *run)
        return method.fit(sample, self.point, rng, **options)

    def chosen(self, methods: Sequence[Method], trials: int) -> list[Options]:
        """The options of each method that have the least mean error on the draws for it."""
        totals = [np.zeros(len(method.grid.options)) for method in methods]
        tuned = [k for k, method in enumerate(methods) if len(method.grid.options) > 1]
        for trial in range(trials if tuned else 0):
            sample = self.sample("tuning", trial)
            for k in tuned:
                for place, options in enumerate(methods[k].grid.options):
                    release = self.fit(methods[k], sample, options, "tuning", trial)
                    totals[k][place] += self.panel.error(release.estimate, sample)
        return [
            method.grid.options[int(np.argmin(total))]
            for method, total in zip(methods, totals, strict=True)
        ]

    def tried(
        self, methods: Sequence[Method], chosen: Sequence[Options], trials: int
    ) -> list[Measured]:
        """The losses of every method on the same fresh draws."""
        fits: list[list[tuple[float, Fit]]] = [[] for _ in methods]
        for trial in range(trials):
            sample = self.sample("trials", trial)
            for found, method, options in zip(fits, methods, chosen, strict=True):
                if trial % method.every == 0:
                    found.append(self.loss(method, sample, options, trial))
        return [
            _summary(method, options, found)
            for method, options, found in zip(methods, chosen, fits, strict=True)
        ]

    def loss(self, method: Method, sample: Any, options: Options, trial: int) -> tuple[float, Fit]:
        """The error of a release; or the lowest of several runs, chosen by the truth, which is no
        release."""
        if method.runs == 1:
            release = self.fit(method, sample, options, "trials", trial)
            return self.panel.error(release.estimate, sample), release
        runs = range(method.runs)
        fits = [self.fit(method, sample, options, "trials", trial, run) for run in runs]
        errors = [self.panel.error(each.estimate, sample) for each in fits]
        lowest = int(np.argmin(errors))
        return errors[lowest], fits[lowest]._replace(epsilon=None)


def _summary(method: Method, options: Options, found: Sequence[tuple[float, Fit]]) -> Measured:
    costs = [release.epsilon for _, release in found if release.epsilon is not None]
    names = found[0][1].notes
    return Measured(
        losses=[float(loss) for loss, _ in found],
        epsilon=float(max(costs)) if costs else None,
        options=dict(options),
        edges=list(method.grid.edges(options)),
        notes={name: [float(fit.notes[name]) for _, fit in found] for name in names},
    )


def measured(
    panels: Sequence[Panel],
    profile: Profile,
    seed: int,
    backend: Backend,
    results: Results,
    console: Console | None = None,
    data: Path | None = None,
) -> dict[str, dict[str, Curve]]:
    """The curves of every panel by their names; what was found before is not run again."""
    pieces = pieces_of(panels, profile, seed, data)
    found: dict[Piece, list[dict[str, Any]]] = {}
    for piece in pieces:
        known = results.get(piece.key, _checked)
        if known is not None:
            found[piece] = known
    missing = [piece for piece in pieces if piece not in found]
    told = track(backend.completed(run_piece, missing), console, "measuring", len(missing))
    for place, value in told:
        results.keep(missing[place].key, value)
        found[missing[place]] = value
    return {panel.id: _curves(panel, profile, found) for panel in panels}


def _checked(value: object) -> list[dict[str, Any]]:
    """What a kept result says; raises if it is not one."""
    if not isinstance(value, list):
        raise TypeError("not a list of methods")
    return [vars(Measured(**each)) for each in value]


def _curves(
    panel: Panel, profile: Profile, found: Mapping[Piece, Sequence[Mapping[str, Any]]]
) -> dict[str, Curve]:
    plan = panel.plan(profile)
    mine = {(p.group, p.place): value for p, value in found.items() if p.panel == panel.id}
    curves: dict[str, Curve] = {}
    for group, methods in enumerate(panel.groups):
        for k, method in enumerate(methods):
            rows = [mine[group, place][k] for place in range(len(plan.xs))]
            curves[method.name] = _curve(panel, method, plan.xs, rows)
    return curves


def _curve(
    panel: Panel, method: Method, xs: Sequence[float], rows: Sequence[Mapping[str, Any]]
) -> Curve:
    points = [{**panel.point(x), **method.at} for x in xs]
    return Curve(
        name=method.name,
        variant=method.variant,
        x=tuple(xs),
        losses=tuple(np.array(row["losses"]) for row in rows),
        draws=repr(sorted(method.at.items())),
        epsilon_asked=tuple(point.get("epsilon") for point in points),
        epsilon_spent=tuple(row["epsilon"] for row in rows),
        delta=tuple(point.get("delta") for point in points),
        options=tuple(row["options"] for row in rows),
        edges=tuple(tuple(row["edges"]) for row in rows),
        notes=tuple(
            {name: np.array(values) for name, values in row["notes"].items()} for row in rows
        ),
    )
