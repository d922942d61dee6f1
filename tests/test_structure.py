"""The house rules that a machine can check."""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path

import pytest

from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.papers import cite

ROOT = Path(__file__).resolve().parents[1]
ORDER = ["minimax", "estimators", "attacks", "verify", "tracebound"]
LONGEST_FILE = 450


def modules() -> dict[str, Path]:
    """The packages' source files by name, found where they are imported from: here or a wheel."""
    folders = [Path(folder) for package in ORDER for folder in import_module(package).__path__]
    return {
        path.relative_to(folder.parent).as_posix(): path
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }


def around() -> dict[str, Path]:
    """The tests, the bench and the examples, which are no part of the wheel."""
    folders = ROOT / "tests", ROOT / "bench", ROOT / "examples"
    return {
        path.relative_to(ROOT).as_posix(): path
        for folder in folders
        for path in sorted(folder.rglob("*.py"))
    }


MODULES, AROUND = modules(), around()


def imports(tree: ast.AST) -> set[str]:
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found.add(node.module.split(".")[0])
    return found


def against_direction(package: str, tree: ast.AST) -> set[str]:
    return imports(tree) & set(ORDER[ORDER.index(package) + 1 :])


@pytest.mark.parametrize("package", ORDER)
def test_the_modules_of_every_package_are_found(package: str) -> None:
    assert f"{package}/__init__.py" in MODULES
    least = 2 if package == "tracebound" else 11  # the version and the command alone
    assert len([name for name in MODULES if name.startswith(f"{package}/")]) >= least


@pytest.mark.parametrize("name", MODULES)
def test_module_keeps_the_house_rules(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    assert not against_direction(name.split("/")[0], tree)
    assert ast.get_docstring(tree), "a module says what it is for"
    for node in tree.body:
        public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"
        assert not public or ast.get_docstring(node), f"{node.name} has no docstring"


def too_long(source: str) -> bool:
    return len(source.splitlines()) > LONGEST_FILE


@pytest.mark.parametrize("name", MODULES | AROUND)
def test_no_file_is_too_long_to_read(name: str) -> None:
    assert not too_long((MODULES | AROUND)[name].read_text(encoding="utf-8"))


def test_the_length_check_can_fail() -> None:
    assert too_long("pass\n" * (LONGEST_FILE + 1))
    assert not too_long("pass\n" * LONGEST_FILE)


def test_the_direction_check_can_fail() -> None:
    assert against_direction("minimax", ast.parse("from estimators.mean import NoisyMean"))
    assert not against_direction("verify", ast.parse("import minimax"))


GENERATORS = {"default_rng", "RandomState", "Generator", "SeedSequence"}


def shared_generators(tree: ast.Module) -> set[str]:
    """Generators that a module names: tests that draw from one depend on their order."""
    made = [node for node in tree.body if isinstance(node, (ast.Assign, ast.AnnAssign))]
    return {
        ast.unparse(node)
        for node in made
        if isinstance(node.value, ast.Call)
        and ast.unparse(node.value.func).split(".")[-1] in GENERATORS
    }


@pytest.mark.parametrize("name", [name for name in AROUND if not name.startswith("examples/")])
def test_no_generator_is_shared_between_tests(name: str) -> None:
    assert not shared_generators(ast.parse(AROUND[name].read_text(encoding="utf-8")))


def test_the_search_for_shared_generators_can_find_one() -> None:
    assert shared_generators(ast.parse("rng = np.random.default_rng(5)"))
    assert not shared_generators(ast.parse("X = np.random.default_rng(5).normal(size=3)"))


POINT = {"n": 100, "d": 10, "p": 10, "s": 2}


def test_every_source_names_a_known_paper() -> None:
    from minimax.catalogue import PROBLEMS

    for model in (Pure, Approximate, ZeroConcentrated, Gaussian):
        for problem in PROBLEMS.values():
            for bound in problem.at(POINT).lower(model):
                assert cite(bound.source)
    with pytest.raises(ValueError, match="XYZ99"):
        cite("XYZ99: Theorem 1")
