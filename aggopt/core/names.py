"""Names of columns: what is refused, and what looks like a record."""

import re
from collections import Counter
from collections.abc import Sequence

from aggopt.errors import TableError


def check_names(names: Sequence[str]) -> None:
    """Refuse column names that stand twice or are empty."""
    twice = [name for name, times in Counter(names).items() if name and times > 1]
    if twice:
        raise TableError(
            f"Column names appear more than once: {', '.join(map(repr, twice))}.",
            fix="rename them so that each name is used once.",
        )
    unnamed = list(names).count("")
    if unnamed:
        which = f"{unnamed} of {len(names)} columns have"
        raise TableError(
            f"{'A column has' if unnamed == 1 else which} no name.",
            fix="name every column; remove what is not of the table.",
        )


def check_header(names: Sequence[str], file: str) -> None:
    """Refuse as `check_names`, without repeating what may be a record: by place."""
    times = Counter(names)
    places = [str(j) for j, name in enumerate(names, 1) if name and times[name] > 1]
    if places:
        raise TableError(
            f"Columns of {file} share a name, which stands in the first line more than "
            f"once: see columns {', '.join(places)}.",
            fix="rename them so that each name is used once; if the first line is a "
            "record, put a line with names above it.",
        )
    check_names(names)


def numbers_among(names: Sequence[str]) -> int:
    """Return how many names are numbers, as in a file without a header line."""
    return sum(bool(re.fullmatch(r"[+-]?\d*[.,]?\d+([eE][+-]?\d+)?", n)) for n in names)


def require_no_numbers(names: Sequence[str], file: str) -> None:
    """Refuse names that are numbers, where nothing says that they are names."""
    count = numbers_among(names)
    if count:
        raise TableError(
            f"{count} of the {len(names)} column names of {file} are numbers: its "
            "first line may be a record.",
            fix="put a line with names above it.",
        )


def may_be_record(names: Sequence[str], known: int) -> bool:
    """Whether the names may be a record, which is not repeated.

    Some are numbers, or fewer than half of them are `known` from elsewhere.
    """
    return numbers_among(names) > 0 or 2 * known < len(names)
