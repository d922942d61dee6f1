"""``python -m verify.channels``: contraction constants against the best channel there is.

On small alphabets the epsilon-LDP channels form a polytope whose extreme points are staircase
mechanisms; a linear program finds the supremum over all of them. Each bound of
`minimax.methods.divergences` must be above it; the slack is their ratio. For zCDP and GDP there is
no such program: the gain of antipodal pairs is held against the best channels that were found
(`verify.pair_channels`). Control: nine tenths of a bound must be below the supremum somewhere, or
the constant could be smaller. Exit code 0: every bound holds and every control breaks.
1: otherwise. 2: bad usage.
"""

from __future__ import annotations

import itertools
import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from rich import box
from rich.table import Table
from scipy import special

from minimax.core.privacy import Gaussian, Privacy, Pure, ZeroConcentrated
from minimax.methods import divergences, fano
from minimax.methods.divergences import staircase_supremum
from minimax.problems.local_regression.lower import report_energy
from verify.console import Terminal, command_parser
from verify.files import write_json, write_problems
from verify.pair_channels import found_channels

Array = NDArray[np.float64]
Divergence = Callable[[Array, Array], Array]
EPSILONS = (0.1, 0.5, 1.0, 2.0, 4.0)
DISTANCES = (0.3, 1.0)
ALPHA = 3.0
"""Order of the Renyi divergence shown."""
LETTERS = 8
"""Inputs at which a report's information and variance are looked at; their bounds are limits."""
SHARP = 0.9
"""The share of a bound that the supremum must exceed somewhere."""
LETTER = {"epsilon": "ε", "rho": "ρ", "mu": "μ"}
TITLES = {
    Pure: "bounds against the supremum over all ε-LDP channels",
    ZeroConcentrated: "energy over ρ/2: bounds against the best zCDP channels found",
    Gaussian: "energy over μ²/4: bounds against the best GDP channels found",
}
EXAMPLES = """\
examples:
  python -m verify.channels                      the table, in a few seconds
  python -m verify.channels --json slack.json
"""


def kl(a: Array, b: Array) -> Array:
    """Terms of KL(a|b)."""
    return np.asarray(special.rel_entr(a, b))


def chi2(a: Array, b: Array) -> Array:
    """Terms of chi^2(a|b)."""
    return (a - b) ** 2 / b


def hellinger(a: Array, b: Array) -> Array:
    """Terms of 1 - affinity."""
    return (np.sqrt(a) - np.sqrt(b)) ** 2 / 2


def power(a: Array, b: Array) -> Array:
    """Terms of e^{(ALPHA - 1) D_ALPHA(a|b)}."""
    return np.asarray(a**ALPHA * b ** (1 - ALPHA))


FROM_TV: dict[str, tuple[Divergence, Callable[[float, float], float]]] = {
    "tv": (lambda a, b: np.abs(a - b) / 2, lambda e, t: divergences.tv_contraction(e) * t),
    "kl": (kl, divergences.kl_from_tv),
    "symmetrised kl": (lambda a, b: (a - b) * np.log(a / b), divergences.symmetrised_kl),
    "chi2": (chi2, divergences.chi2_from_tv),
    "affinity": (hellinger, divergences.deficit_from_tv),
    "renyi": (
        power,
        lambda e, t: math.exp((ALPHA - 1) * divergences.renyi_from_tv(ALPHA, e, t)),
    ),
}
"""Name -> (divergence of a report's two chances, bound on its sum in terms of epsilon and TV)."""


@dataclass(frozen=True)
class Slack:
    """A bound beside the supremum over all channels."""

    constant: str
    privacy: Privacy
    at: str
    bound: float
    supremum: float

    @property
    def ratio(self) -> float:
        """Bound over supremum: at least 1."""
        return self.bound / self.supremum

    @property
    def holds(self) -> bool:
        """Whether the bound is above the supremum, up to the program's rounding."""
        return self.ratio >= 1 - 1e-7


def supremum(divergence: Divergence, laws: Array, epsilon: float) -> float:
    """The largest divergence of the reports of two laws over all epsilon-LDP channels."""
    first, second = laws
    return staircase_supremum(lambda c: divergence(c @ first, c @ second), len(first), epsilon)


def worst_pair(t: float) -> Array:
    """Two laws at total variation t on three letters: the pair with the largest divergences."""
    return np.array([[1 - t, t, 0], [1 - t, 0, t]])


def cube(p: int) -> Array:
    """The records {-1, 1}^p, one in each row."""
    return np.array(list(itertools.product([1.0, -1.0], repeat=p)))


def energy(columns: Array, p: int) -> Array:
    """A report's share of E_0 |omega|^2 (`minimax.problems.local_regression.lower`), records being
    {-1, 1}^p."""
    W = cube(p)
    return np.asarray(((columns @ W / len(W)) ** 2).sum(axis=1) / columns.mean(axis=1))


def slacks() -> Iterator[Slack]:
    """Every bound at every budget."""
    for epsilon in EPSILONS:
        yield from _from_tv(epsilon)
        yield from _of_reports(epsilon)
    yield from _of_pairs()


def _from_tv(epsilon: float) -> Iterator[Slack]:
    for (name, (divergence, bound)), t in itertools.product(FROM_TV.items(), DISTANCES):
        found = supremum(divergence, worst_pair(t), epsilon)
        yield Slack(f"{name} from TV", Pure(epsilon), f"TV = {t:g}", bound(epsilon, t), found)
    close = np.array([[0.501, 0.499], [0.5, 0.5]])
    for name, divergence in (("chi2", chi2), ("kl", kl)):
        factor = divergences.strong_contraction_pure(epsilon)
        share = supremum(divergence, close, epsilon) / float(np.sum(divergence(*close)))
        yield Slack(f"{name} from {name}", Pure(epsilon), "two close laws", factor, share)


def _of_reports(epsilon: float) -> Iterator[Slack]:
    for p, sharp in itertools.product((1, 2, 3), (False, True)):
        best = staircase_supremum(lambda c, p=p: energy(c, p), 2**p, epsilon)  # type: ignore[misc]
        bound = report_energy(Pure, {"p": p, "epsilon": epsilon}, sharp=sharp)
        name = "report energy" + (", channel information" if sharp else "")
        yield Slack(name, Pure(epsilon), f"p = {p}", bound, best)
    for name, value, bound in (
        (
            "report information",
            lambda c: fano.mutual_information(c, np.eye(LETTERS)),
            divergences.report_information,
        ),
        (
            "report variance",
            lambda c: c.var(axis=1) / c.mean(axis=1),
            divergences.report_variance,
        ),
    ):
        best = staircase_supremum(value, LETTERS, epsilon)
        yield Slack(name, Pure(epsilon), f"{LETTERS} letters", bound(epsilon), best)


def _of_pairs() -> Iterator[Slack]:
    for found in found_channels():
        yield Slack("antipodal pairs", found.privacy, found.name, found.bound, found.quotient)


def loose(found: list[Slack]) -> list[str]:
    """Constants nine tenths of which no channel refutes."""
    reached = {row.constant for row in found if row.supremum > SHARP * row.bound}
    return sorted({row.constant for row in found} - reached)


def _table(found: list[Slack], title: str) -> Table:
    """Slacks of one privacy definition, a column for each budget."""
    table = Table(title=f"{title}: slack", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("constant", overflow="fold")
    table.add_column("at", overflow="fold")
    for budget in dict.fromkeys(map(_budget, found)):
        table.add_column(budget, justify="right", no_wrap=True)
    by_row: dict[tuple[str, str], list[str]] = {}
    for row in found:
        shown = f"{row.ratio:.4f}" if row.holds else f"[bold red]{row.ratio:.4f}[/]"
        by_row.setdefault((row.constant, row.at), []).append(shown)
    for (constant, at), cells in by_row.items():
        table.add_row(constant, at, *cells)
    return table


def _budget(row: Slack) -> str:
    """A letter and two digits."""
    ((name, value),) = row.privacy.parameters.items()
    return f"{LETTER[name]} = {value:.2g}"


def _record(row: Slack) -> dict[str, object]:
    """A row for programs: the budget's parameters by their names."""
    shown = {"constant": row.constant, **row.privacy.parameters, "at": row.at}
    return {**shown, "bound": row.bound, "supremum": row.supremum, "slack": row.ratio}


def main(argv: list[str] | None = None, prog: str | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = command_parser("verify.channels", __doc__, EXAMPLES, prog)
    parser.add_argument("--json", type=Path, metavar="PATH", help="write every number as JSON")
    args = parser.parse_args(argv)
    for problem in write_problems(args.json):
        parser.error(f"--json: {problem}")
    console = Terminal()
    found = list(slacks())
    for model, title in TITLES.items():
        console.print(_table([row for row in found if type(row.privacy) is model], title))
    broken, blunt = [row for row in found if not row.holds], loose(found)
    console.print(
        f"{len(found)} bounds, {len(broken)} below the supremum; slack"
        f" {min(row.ratio for row in found):.4f} to {max(row.ratio for row in found):.4f};"
        f" constants that could be a tenth smaller: {', '.join(blunt) or 'none'}"
    )
    if args.json:
        write_json(args.json, {"slacks": list(map(_record, found))})
    return 1 if broken or blunt else 0


if __name__ == "__main__":
    sys.exit(main())
