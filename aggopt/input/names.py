"""Names of columns: what is refused, and what looks like a record."""

import re
from collections import Counter
from collections.abc import Sequence

from aggopt.errors import TableError


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that stand twice or are empty."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise TableError(
            f"Column names appear more than once: {', '.join(map(repr, twice))}.",
            fix="rename them so that each name is used once.",
        )
    if "" in names:
        raise TableError("A column has no name.", fix="name every column.")


def numbers_among(names: Sequence[str]) -> int:
    """Return how many names are numbers, as in a file without a header line."""
    return sum(bool(re.fullmatch(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?", n)) for n in names)
