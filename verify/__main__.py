"""``python -m verify``: what there is to be run.

Prints every command of this package with what it is for; each has a --help of its own.
"""

from __future__ import annotations

import ast
import importlib.util
import pkgutil
import sys
from pathlib import Path

import verify
from verify.console import command_parser

EXAMPLES = """\
examples:
  python -m verify                  the commands
  python -m verify.rates --help     one of them
"""
RUN_LINE = 'if __name__ == "__main__":'


def commands() -> dict[str, str]:
    """What can be run with ``python -m``, found by the line that runs it, and what it is for."""
    found = {}
    for module in pkgutil.walk_packages(verify.__path__, "verify."):
        source = Path(module_file(module.name)).read_text(encoding="utf-8")
        name = module.name.removesuffix(".__main__")
        if RUN_LINE in source and name != "verify":
            if module.name != name:  # its `command` says it, its __main__ only runs it
                source = Path(module_file(f"{name}.command")).read_text(encoding="utf-8")
            found[name] = _about(ast.get_docstring(ast.parse(source)) or "")
    return found


def module_file(name: str) -> str:
    """Where a module's source is."""
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return spec.origin


def _about(docstring: str) -> str:
    """What stands behind the name of the command in the first line."""
    first = docstring.partition("\n")[0]
    return first.partition("``: ")[2].rstrip(".").replace("`", "")


def main(argv: list[str] | None = None) -> int:
    """Print the list; returns the exit code."""
    command_parser("verify", __doc__, EXAMPLES).parse_args(argv)
    found = commands()
    width = max(map(len, found))
    for name, about in found.items():
        print(f"python -m {name:{width}s}  {about}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
