"""What models declare in Pyomo, looked at row by row."""

from typing import Any


def missed_by(row: Any) -> float:
    """Return by how much the values of its variables miss a constraint."""
    return max(-row.slack(), 0.0)
