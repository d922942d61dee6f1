"""What is slow to import is imported where it is used, and the lazy package hides nothing."""

import ast
import pickle
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import estimators

ROOT = Path(__file__).parents[2]
SLOW = ("sympy", "matplotlib", "dp_accounting", "sklearn.linear_model")
CALCULATOR = "from minimax.__main__ import main; main('{} --n 1000 --d 20 --rho .1{}'.split())"
FITTED = """
import numpy as np, estimators
X = np.random.default_rng(0).choice([-1.0, 1.0], size=(50, 3))
"""


WITHOUT_WHAT_IS_SLOW = (
    "import estimators",
    "import verify.rates, verify.console",
    "from estimators import NoisyMean",
    FITTED + "estimators.NoisyMean(R=1.0).fit(X)",
    CALCULATOR.format("mean", ""),
    CALCULATOR.format("mean", " --upper"),
    CALCULATOR.format("regression", ""),
    "import verify.statements; verify.statements.entries()",
    "import verify.proofs.figures",
)
USES = {
    "sympy": CALCULATOR.format("regression", " --json"),
    "matplotlib": "from attacks.roc import blank_figure; blank_figure(1, 1)",
    "dp_accounting": FITTED + "estimators.NoisyMean(R=1.0).fit(X).ledger_[0].event",
    "sklearn.linear_model": FITTED + "estimators.LabelLasso(penalty=1e-3).fit(X, X[:, 0])",
}
HELP = "from verify.proofs.command import main\ntry: main(['{}'])\nexcept SystemExit: pass"


@cache
def loaded_after_each(*codes: str) -> tuple[set[str], ...]:
    """The modules that a fresh interpreter has loaded after each of the codes, run in turn."""
    report = "\nimport sys; print('\\nloaded:', *sys.modules)\n"
    done = subprocess.run(
        [sys.executable, "-c", "".join(code + report for code in codes)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    lines = [line for line in done.stdout.splitlines() if line.startswith("loaded:")]
    assert len(lines) == len(codes)
    return tuple(set(line.split()[1:]) for line in lines)


def slow_after(code: str) -> set[str]:
    """What is slow of what is loaded after this code and all that do without."""
    codes = (*WITHOUT_WHAT_IS_SLOW, *USES.values())
    return loaded_after_each(*codes)[codes.index(code)] & set(SLOW)


@pytest.mark.parametrize("code", WITHOUT_WHAT_IS_SLOW)
def test_nothing_slow_is_imported_before_it_is_used(code):
    assert not slow_after(code)


def test_the_packages_alone_load_no_scientific_library():
    """Nor what ``python -m verify.rates`` loads before it heeds Ctrl-C."""
    alone, begun, used, *_ = loaded_after_each(*WITHOUT_WHAT_IS_SLOW, *USES.values())
    assert not {"numpy", "scipy", "sklearn"} & (alone | begun)
    assert "verify.console" in begun
    assert "sklearn.base" in used


def test_help_does_without_the_ledger_and_the_distributions_of_scipy():
    absent = {"scipy.stats", "joblib", "verify.statements.cwz19"}
    helped, listed = loaded_after_each(HELP.format("--help"), HELP.format("--list"))
    assert not helped & absent
    assert "verify.statements.cwz19" in listed


def test_the_calculator_does_without_the_distributions_of_scipy():
    calculated, imported = loaded_after_each(CALCULATOR.format("mean", ""), "import scipy.stats")
    assert "scipy.stats" not in calculated
    assert "scipy.stats" in imported


@pytest.mark.parametrize("module", SLOW)
def test_what_is_slow_is_imported_when_it_is_used(module):
    """In the order of `USES`: not by what was used before, then by its own use."""
    before, after = (slow_after(code) for code in two_in_turn(module))
    assert module not in before
    assert module in after


def two_in_turn(module: str) -> tuple[str, str]:
    """The code before the use of a module, and its use."""
    codes = (*WITHOUT_WHAT_IS_SLOW, *USES.values())
    place = codes.index(USES[module])
    return codes[place - 1], codes[place]


def test_the_three_lists_of_exported_names_agree():
    """For the reader and star imports, for type checkers, and for the first use of a name."""
    tree = ast.parse(Path(estimators.__file__).read_text(encoding="utf-8"))
    seen_by_checkers = {
        alias.name: node.module.removeprefix("estimators.")
        for block in tree.body
        if isinstance(block, ast.If)
        for node in block.body
        for alias in node.names
    }
    assert seen_by_checkers == estimators._HOMES
    assert sorted(seen_by_checkers) == sorted(estimators.__all__)


def test_every_exported_name_is_there_and_is_that_of_its_module():
    star: dict[str, object] = {}
    exec("from estimators import *", star)
    for name in estimators.__all__:
        assert name in dir(estimators)
        found = getattr(estimators, name)
        assert star[name] is found is getattr(sys.modules[found.__module__], name)
        assert pickle.loads(pickle.dumps(found)) is found


def test_a_name_that_is_not_exported_is_refused():
    with pytest.raises(AttributeError, match="NoisyMedian"):
        estimators.NoisyMedian  # noqa: B018
    with pytest.raises(ImportError, match="NoisyMedian"):
        exec("from estimators import NoisyMedian")
