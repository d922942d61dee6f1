"""``python -m verify.rates``: does measured error stay between the bounds?

The flow, left to right: claims -> grid -> measure -> judge -> rows -> report and plots; `run` goes
through it, `command` is the command line. `special` holds what is run besides the claims.

A claim of one's own is checked in the same way, from the command line (``--claims
my_module:CLAIMS``) or from code:

    from verify.rates import Claim, Sweep, check
    found = check([Claim(..., sweeps=(Sweep("privacy", base),))])
    found.exit_code, found.cells[0].verdict
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from verify.rates.claim import BadClaim, Claim, Sweep
    from verify.rates.grid import Profile
    from verify.rates.rows import Run

__all__ = ["BadClaim", "Claim", "Sweep", "check", "main"]


def __getattr__(name: str) -> object:
    """What claims are made of, loaded when it is asked for: ``python -m verify.rates`` loads this
    module first, when nobody heeds Ctrl-C yet, and `claim` loads half a second of libraries."""
    if name not in ("BadClaim", "Claim", "Sweep"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from verify.rates import claim

    value = globals()[name] = getattr(claim, name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def main(argv: list[str] | None = None, claims: Sequence[Claim] | None = None) -> int:
    """Run the command, on claims of one's own if given; returns the exit code."""
    from verify.rates import command  # what needs one module of the package loads no other

    return command.main(argv, claims)


def check(
    claims: Claim | Sequence[Claim],
    *,
    profile: str | Profile = "quick",
    seed: int = 0,
    jobs: int = 1,
    results: Path | str | None = None,
    plots: Path | str | None = None,
) -> Run:
    """Measure claims of one's own and return what was found: cells, slopes, controls, verdicts.

    `profile` says how much to run ("quick", "standard", "full" or a `Profile`), `results` is a
    folder in which measurements are kept and found again, `plots` one for the figures. Raises
    `ValueError` for arguments that cannot be meant, `BadClaim` with a sentence for a claim that
    cannot be checked, `TaskFailed` for a trial that fails, and `UnlikeFits` if an estimator of the
    package treats records otherwise than what stands for them in trials.
    """
    from verify.rates.claim import BadClaim
    from verify.rates.grid import PROFILES
    from verify.rates.own import checked_claims
    from verify.rates.plots import write_plots
    from verify.rates.results import open_results
    from verify.rates.run import run

    own = checked_claims(claims)
    if not own:
        raise BadClaim("no claim is given: nothing would be checked")
    for problem in _wrong(profile, seed, jobs, plots):
        raise ValueError(problem)
    chosen = PROFILES[profile] if isinstance(profile, str) else profile
    known = None if results is None else open_results(Path(results), own)
    found = run(own, chosen, seed=seed, jobs=jobs, results=known, own=True)
    if plots is not None:
        write_plots(Path(plots), found)
    return found


def _wrong(profile: object, seed: object, jobs: object, plots: Path | str | None) -> Iterator[str]:
    """What is wrong with arguments of `check`, in sentences."""
    from verify.files import folder_problems
    from verify.rates.grid import PROFILES, Profile

    if not (isinstance(profile, Profile) or profile in PROFILES):
        yield f"profile must be {', '.join(map(repr, PROFILES))} or a Profile, got {profile!r}"
    if not isinstance(seed, int) or seed < 0:
        yield f"seed must be a whole number that is not negative, got {seed!r}"
    if not isinstance(jobs, int) or jobs == 0 or jobs < -1:
        yield f"jobs must be a positive whole number, or -1 for all cores; got {jobs!r}"
    for problem in () if plots is None else folder_problems(Path(plots)):
        yield f"plots: {problem}"
