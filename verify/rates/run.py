"""A run: claims -> grid -> trials until a verdict -> rows."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing, nullcontext
from dataclasses import asdict

from rich.console import Console
from threadpoolctl import threadpool_limits

from verify.rates.backends import Backend, Processes
from verify.rates.claim import Claim
from verify.rates.claim_study import ClaimStudy
from verify.rates.grid import Profile, build
from verify.rates.known_noise import as_stated
from verify.rates.own import rehearse
from verify.rates.records import from_plain, to_plain
from verify.rates.results import Results
from verify.rates.rows import ALPHA, Run
from verify.rates.sequential import LOOKS, Simulation
from verify.rates.shortcuts import check_shortcuts
from verify.rates.special import Extra, Found, Measured, Special, gathered
from verify.rates.tasks import tasks_of


def run(
    claims: Sequence[Claim],
    profile: Profile,
    *,
    seed: int = 0,
    jobs: int = 1,
    specials: Sequence[Extra] = (),
    console: Console | None = None,
    results: Results | None = None,
    backend: Backend | None = None,
    own: bool = False,
) -> Run:
    """Check the claims on the profile's grid, and the special findings.

    Raises `BadClaim` before anything is simulated if a claim would not be checked; claims of one's
    own are rehearsed. Raises `UnlikeFits` if what stands for records in trials is not treated as
    they are. What `results` has is not run again. A `backend` takes the place of `jobs` processes.
    """
    grid = build(claims, profile)
    with threadpool_limits(limits=1):  # as in trials: with more of them last digits may differ
        rehearsed = rehearse(claims, grid) if own else {}
    known = results or Results(None)
    # Claims of one's own may draw their noise by any other mechanism, of which nobody knows.
    noise_as_stated = None if own else as_stated(seed)
    noise_known = bool(noise_as_stated)
    tasks = tasks_of(grid.cells, profile, paired=noise_known, rehearsed=rehearsed)
    alone = [each for each in specials if isinstance(each, Special)]
    measured = [each for each in specials if isinstance(each, Measured)]
    intervals = len(tasks) + len(grid.cells) + 2 * len(grid.series) + 2
    intervals += sum(each.intervals for each in alone) + sum(each.intervals for each in measured)
    alpha = ALPHA / (intervals * len(LOOKS))
    used = nullcontext(backend) if backend else closing(Processes(jobs))
    with threadpool_limits(limits=1), used as workers:
        check_shortcuts(grid.cells, seed)
        simulation = Simulation(seed, alpha, known, workers, console, own, noise_known)
        studies = [
            ClaimStudy(grid.cells, grid.series, tasks, seed, alpha),
            *(each.study(profile) for each in measured),
        ]
        checks = simulation.run(studies)
        found = [gathered(part) for part in checks]
        found += [_special(each, profile, seed, alpha, known, console) for each in alone]
    return Run(
        profile,
        seed,
        alpha,
        cells=[row for part in found for row in part.cells],
        slopes=[slope for part in found for slope in part.slopes],
        controls=[control for part in found for control in part.controls],
        dropped=grid.dropped,
        coverage=[row for part in found for row in part.coverage],
        noise_as_stated=noise_as_stated,
        unseeded=[claim for claim, digest in rehearsed.items() if not digest],
    )


def _special(
    special: Special,
    profile: Profile,
    seed: int,
    alpha: float,
    known: Results,
    console: Console | None,
) -> Found:
    """A special finding, run or known from before."""
    key = {"special": special.name, "profile": asdict(profile), "seed": seed, "alpha": alpha}
    found = known.get(key, from_plain)
    if found is None:
        found = special.check(profile, seed, alpha, console)
        known.keep(key, to_plain(found))
    return found
