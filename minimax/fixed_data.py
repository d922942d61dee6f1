"""``python -m minimax fixed-data ...``: hard thresholding on given data, for any loss.

No problem of the catalogue: with the data fixed there is no class of laws, and no lower bound.
"""

from __future__ import annotations

import argparse
from dataclasses import fields

from minimax.calculator import bound_row
from minimax.core.privacy import from_parameters
from minimax.options import OWN_NAME, positive
from minimax.printed import print_closed_forms, print_json, print_table
from minimax.problems.erm.fixed_data import FixedData, fixed_data_bounds

NAME = "fixed-data"
LEVELS = ("epsilon", "delta", "rho", "mu")
WHOLE = ("n", "d", "s", "kept", "steps")
HELP = {
    "n": "number of records",
    "d": "number of parameters of the loss",
    "s": "parameters of the target theta* that are not zero",
    "curvature": "least curvature of the averaged loss on few coordinates",
    "smoothness": "largest curvature on few coordinates",
    "G": "length of a record's gradient at most",
    "gradient": "largest coordinate of the averaged gradient at theta*",
    "radius": "|theta*| at most (default 1)",
    "kept": "parameters that an iterate keeps (default: the best)",
    "steps": "number of noisy gradients (default: the best)",
}


def main(argv: list[str], prog: str | None = None) -> int:
    """Run the command; returns the exit code."""
    parser = _parser(f"{prog or OWN_NAME} {NAME}")
    args = parser.parse_args(argv)
    given = {name: getattr(args, name) for name in HELP if getattr(args, name) is not None}
    levels = {name: getattr(args, name) for name in LEVELS}
    try:
        data, privacy = FixedData(**given), from_parameters(**levels, prefix="--")
        if levels["epsilon"] is not None and levels["delta"] is None:
            raise ValueError("delta must be given with epsilon: the noise is Gaussian")
        bounds = fixed_data_bounds(data, privacy)
        table = [bound_row(bound, bound.defaults) for bound in bounds]
    except (TypeError, ValueError) as error:
        parser.error(f"--{str(error).removeprefix('--')}")
    except ArithmeticError:
        parser.error("these numbers are too far apart to compute with")
    if args.json:
        print_json(table, bounds, bounds[0].defaults)
    elif args.latex:
        print_closed_forms(bounds)
    else:
        numbers = ", ".join(f"{name} = {value:g}" for name, value in given.items())
        print_table(table, f"{NAME}: noisy hard thresholding, any loss; {privacy}\n{numbers}")
    return 0


def _parser(prog: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=prog,
        description="Errors that hard thresholding with noisy gradients is proved to have on given"
        "\ndata, whatever the loss: WG19: Theorem 5.4 (distance to theta*) and WX21:"
        "\nTheorem 8 (excess empirical risk), with their constants and as claimed.",
        epilog=f"example:\n  {prog} --n 100000 --d 1000 --s 5 --curvature 0.5"
        " \\\n    --smoothness 1 --G 1 --gradient 0.001 --rho 0.1",
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    required = {field.name for field in fields(FixedData)[:7]}
    for name, text in HELP.items():
        kind = positive(int if name in WHOLE else float)
        parser.add_argument(f"--{name}", type=kind, required=name in required, help=text)
    privacy = parser.add_argument_group("privacy (epsilon with delta, rho, or mu)")
    for name in LEVELS:
        privacy.add_argument(f"--{name}", type=positive(float))
    parser.add_argument("--json", action="store_true", help="machine-readable output")
    parser.add_argument("--latex", action="store_true", help="closed forms, on the safe side")
    return parser
