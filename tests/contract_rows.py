"""Rows of the tables in docs/input-contract.md."""

from pathlib import Path

PAGE = Path(__file__).parents[1] / "docs" / "input-contract.md"


def rows_of(heading: str) -> dict[str, tuple[str, str]]:
    """Return what the table under a heading says of each input: outcome, and words."""
    part = PAGE.read_text("utf-8").split(f"## {heading}\n")[1].split("\n## ")[0]
    rows = [line for line in part.splitlines() if line.startswith("|")]
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]
    return {name: (outcome, says) for name, outcome, says in cells}
