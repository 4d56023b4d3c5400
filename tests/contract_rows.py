"""Rows of the tables of the input contract, docs/input-*.md."""

import re
from pathlib import Path

DOCS = Path(__file__).parents[1] / "docs"
OF_MASK = ("columns", "settings", "requirements")
OTHERS = ("commands", "folders")


def read_pages(names: tuple[str, ...]) -> str:
    """Return the text of pages of the contract, one after another."""
    return "\n".join((DOCS / f"input-{name}.md").read_text("utf-8") for name in names)


def read_rows(text: str) -> dict[str, tuple[str, str]]:
    """Return what tables say of each input: outcome, and words."""
    rows = re.findall(r"^\| (?!Input )(?!--).*", text, re.MULTILINE)
    cells = [[cell.strip() for cell in row.strip("|").split("|")] for row in rows]
    return {name: (outcome, says) for name, outcome, says in cells}


def rows_of(heading: str) -> dict[str, tuple[str, str]]:
    """Return the rows of the table under a heading."""
    part = read_pages(OTHERS).split(f"## {heading}\n")[1].split("\n## ")[0]
    return read_rows(part)
