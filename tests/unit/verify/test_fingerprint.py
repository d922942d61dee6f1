"""On what a result rests: another source, library, closure or file makes another."""

from __future__ import annotations

import importlib
import runpy
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from minimax.methods.priors import SignInstance
from tests.own_claims import folder_with_claims, kept
from verify.rates import Claim, check, main
from verify.rates.fingerprint import NoSource, fingerprint, own_modules, packages_digest
from verify.rates.grid import Profile

folder = pytest.fixture(folder_with_claims)


def test_a_claim_whose_parts_come_from_elsewhere_is_known_by_them(folder: Path) -> None:
    """The same source, another number in a closure."""
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    profile, results = Profile("base", (0,), 40, 10, 2), folder / "results"
    make = own.estimator_at

    def louder(times: float) -> Claim:
        return replace(own, estimator_at=lambda p: make({**p, "epsilon": p["epsilon"] / times}))

    risks = [
        check(louder(times), profile=profile, results=results).cells[0].measured.risk
        for times in (1.0, 3.0, 1.0)
    ]
    assert risks[0] == risks[2] < risks[1]


def test_a_prior_that_comes_from_elsewhere_is_known_by_what_it_draws(folder: Path) -> None:
    """Another number in its closure, which stands in no text of it."""
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    profile, results = Profile("base", (0,), 40, 10, 2), folder / "results"

    def with_mean(mean: float) -> Claim:
        prior = SimpleNamespace(draw=lambda rng: SignInstance(np.array([mean]), sigma=1.0))
        return replace(own, lower=replace(own.lower, prior_at=lambda p, parts: prior))

    def risk(mean: float, kept_in: Path | None) -> float:
        return check(with_mean(mean), profile=profile, results=kept_in).cells[0].measured.risk

    assert risk(0.1, results) == risk(0.1, None) != risk(0.9, None) == risk(0.9, results)
    assert risk(0.1, results) == risk(0.1, None)


def test_what_a_fit_imports_or_reads_is_known_by_what_it_gives(folder: Path) -> None:
    """A module that no claim's module imports, and a claim whose source is the same."""
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    profile, results = Profile("base", (0,), 40, 10, 2), folder / "results"
    written = folder / "factor.txt"

    def factored(p: Any) -> Any:
        return own.estimator_at({**p, "epsilon": p["epsilon"] * float(written.read_text())})

    risks = []
    for factor in ("1.0", "3.0", "1.0"):
        written.write_text(factor)
        found = check(replace(own, estimator_at=factored), profile=profile, results=results)
        risks.append(found.cells[0].measured.risk)
    assert risks[0] == risks[2] > risks[1]


def test_an_estimator_that_heeds_no_seed_is_resumed_all_the_same(folder: Path) -> None:
    """Its rehearsals differ, and say nothing of what it is made of."""
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    profile, results = Profile("base", (0,), 40, 10, 2), folder / "results"
    seeds = iter(range(1000))

    def restless(p: Any) -> Any:
        made = own.estimator_at(p)
        made.fit = lambda X: type(made).fit(made.set_params(random_state=next(seeds)), X)
        return made

    claim = replace(own, estimator_at=restless)
    once, again = (check(claim, profile=profile, results=results) for _ in range(2))
    assert once.cells[0].measured == again.cells[0].measured


def test_an_estimator_from_a_library_is_known_by_its_source(folder: Path) -> None:
    """It is no module in which a claim is made."""
    library = folder / "site-packages"
    library.mkdir()
    sys.path.append(str(library))
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    text = "from own_theorem import LaplaceMean\n\nclass Theirs(LaplaceMean):\n    pass\n"
    written = []
    for version in ("", "# another version\n"):
        (library / "their_library.py").write_text(text + version)
        sys.modules.pop("their_library", None)
        importlib.invalidate_caches()
        theirs = importlib.import_module("their_library").Theirs
        claim = replace(own, estimator_at=lambda p, make=theirs: make(p["epsilon"]))
        check(claim, profile=Profile("base", (0,), 10, 10, 2), results=folder / ".tracebound")
        written.append(len(kept(folder)))
    del sys.modules["their_library"]
    assert written[0] < written[1] < 2 * written[0]  # the twin, which is not theirs, was there


def test_own_modules_are_the_users_and_no_library(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where everything is below the working folder."""
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    assert {m.__name__ for m in own_modules([own])} == {"slow_claims", "own_theorem"}
    monkeypatch.chdir("/")
    names = {m.__name__.split(".")[0] for m in own_modules([own])}
    assert {"slow_claims", "own_theorem"} <= names
    assert not names & {"abc", "functools", "numpy", "sklearn", "verify", "minimax", "tracebound"}
    assert own_modules([]) == []


def test_a_helper_beside_a_claims_module_counts_wherever_the_run_begins(
    folder: Path, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    """The module's folder is on the path, and is not the working folder.

    Beside it the control: a module of another folder is no part of the fingerprint.
    """
    (folder / "below").mkdir()
    helpers = {"own_helper": folder / "below", "others_helper": tmp_path_factory.mktemp("others")}
    for name, place in helpers.items():
        (place / f"{name}.py").write_text("FACTOR = 1.0\n")
        sys.path.append(str(place))
        monkeypatch.setitem(sys.modules, name, importlib.import_module(name))
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    monkeypatch.chdir("/proc")
    assert {m.__name__ for m in own_modules([own])} == {"slow_claims", "own_theorem", "own_helper"}
    before = fingerprint([own])
    (helpers["others_helper"] / "others_helper.py").write_text("FACTOR = 2.0\n")
    assert fingerprint([own]) == before
    (helpers["own_helper"] / "own_helper.py").write_text("FACTOR = 2.0\n")
    assert fingerprint([own]) != before


@pytest.mark.parametrize("library", ["numpy", "scipy", "sklearn"])
def test_another_version_of_a_library_is_another_fingerprint(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = packages_digest.__wrapped__()
    assert packages_digest.__wrapped__() == before
    monkeypatch.setattr(importlib.import_module(library), "__version__", "0.0")
    assert packages_digest.__wrapped__() != before


def test_parts_of_no_module_are_measured_and_not_kept(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = runpy.run_path(str(folder / "own_theorem.py"))["CLAIM"]
    few = replace(found.sweeps[0], variables=(), weight=1)
    code = main(["--jobs", "1", "--summary"], claims=[replace(found, sweeps=(few,))])
    said = capsys.readouterr().out
    assert code == 0
    assert "results are not kept: <run_path> is no module that is imported" in said
    assert "all is well" in said


def test_a_fingerprint_needs_sources(folder: Path) -> None:
    (own, _) = importlib.import_module("slow_claims").CLAIMS
    assert fingerprint([own]) != fingerprint()
    typed: dict[str, object] = {"__name__": "typed"}
    exec("def make(p): return None", typed)
    with pytest.raises(NoSource, match="typed is no module that is imported"):
        fingerprint([replace(own, estimator_at=typed["make"])])  # type: ignore[arg-type]
    sys.modules["typed"] = type(sys)("typed")
    try:
        with pytest.raises(NoSource, match="typed has no source file"):
            fingerprint([replace(own, estimator_at=typed["make"])])  # type: ignore[arg-type]
    finally:
        del sys.modules["typed"]
