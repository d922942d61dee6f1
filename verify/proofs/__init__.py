"""Running the statements of the papers: what an entry is, what running it shows, and the report."""

from __future__ import annotations


def main(argv: list[str] | None = None) -> int:
    """``python -m verify.proofs``; returns the exit code."""
    # Imported here, since every statement imports `verify.proofs.entry`, and the command them all.
    from verify.proofs.command import main as run_command

    return run_command(argv)
