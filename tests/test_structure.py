"""The house rules that a machine can check."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from minimax.core.privacy import Approximate, Gaussian, Pure, ZeroConcentrated
from minimax.papers import cite

ROOT = Path(__file__).resolve().parents[1]
ORDER = ["minimax", "estimators", "attacks", "verify"]
MODULES = [path for package in ORDER for path in sorted((ROOT / package).rglob("*.py"))]
LONGEST_FILE = 520


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


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_module_keeps_the_house_rules(path: Path) -> None:
    source = path.read_text(encoding="utf-8")
    tree = ast.parse(source)
    assert not against_direction(path.relative_to(ROOT).parts[0], tree)
    assert source.count("\n") <= LONGEST_FILE
    assert ast.get_docstring(tree), "a module says what it is for"
    for node in tree.body:
        public = isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node.name[0] != "_"
        assert not public or ast.get_docstring(node), f"{node.name} has no docstring"


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


@pytest.mark.parametrize(
    "path", sorted((ROOT / "tests").rglob("*.py")), ids=lambda p: str(p.relative_to(ROOT))
)
def test_no_generator_is_shared_between_tests(path: Path) -> None:
    assert not shared_generators(ast.parse(path.read_text(encoding="utf-8")))


def test_the_search_for_shared_generators_can_find_one() -> None:
    assert shared_generators(ast.parse("rng = np.random.default_rng(5)"))
    assert not shared_generators(ast.parse("X = np.random.default_rng(5).normal(size=3)"))


def test_every_source_names_a_known_paper() -> None:
    from minimax.calculator import PROBLEMS

    for model in (Pure, Approximate, ZeroConcentrated, Gaussian):
        for problem in PROBLEMS.values():
            for bound in problem.lower(model):
                assert cite(bound.source)
    with pytest.raises(ValueError, match="XYZ99"):
        cite("XYZ99: Theorem 1")
