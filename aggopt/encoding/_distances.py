"""User-defined distances of levels, represented as squared distances of points.

The points exist if and only if the table is of negative type: -J D J / 2 has no
negative eigenvalue, J = I - 1/m (Schoenberg, Annals of Mathematics 36, 1935).
Classical scaling then finds them.
"""

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import F64
from aggopt.core.validation import is_number
from aggopt.encoding._domain import Domain, in_order
from aggopt.errors import JobError

EPSILON = 2.0**-52
UP = 1 + 1e-5  # so that six digits suffice
ROUNDING = 1e-9  # of the largest eigenvalue: what rounding makes negative


@dataclass(frozen=True, eq=False)
class TableOfDistances(Domain):
    """Levels with user-defined distances `table` (m, m)."""

    table: F64 = field(repr=False)

    @classmethod
    def of(cls, given: Any) -> "TableOfDistances":
        """Return the levels of a table of distances.

        Raises
        ------
        JobError
            The argument is not a table, misses a pair, is not symmetric, has an entry
            that is not a finite number from 0 up, or is not of negative type.
        """
        table = _symmetric(_mapped(given))
        levels = in_order(table)
        D = np.array([[table[u].get(v, 0.0) for v in levels] for u in levels])
        none = np.full(len(levels), -1)
        made = cls(
            "distances", tuple(levels), len(levels), none, none * 0.0, 1.0, table=D
        )
        _require_negative_type(made.spectrum[0])
        return made

    @cached_property
    def spectrum(self) -> tuple[F64, F64]:
        """Eigenvalues, least first, and eigenvectors of -J D J / 2."""
        D = self.table
        centred = D - D.mean(axis=0) - D.mean(axis=1)[:, None] + D.mean()
        values, vectors = np.linalg.eigh(-centred / 2)
        return values, vectors

    @cached_property
    def points(self) -> F64:
        """Coordinates (m, q), whose squared distances are `distances`."""
        values, vectors = self.spectrum
        kept = values > EPSILON * len(values) * values[-1]
        return np.asarray(vectors[:, kept] * np.sqrt(values[kept]), np.float64)

    @property
    def steps(self) -> F64:
        """The distances themselves: their unit is 1."""
        return self.table


def _mapped(given: Any) -> dict[Hashable, dict[Hashable, Any]]:
    if hasattr(given, "to_dict") and hasattr(given, "columns"):
        given = given.to_dict()
    if not isinstance(given, Mapping) or not all(
        isinstance(row, Mapping) for row in given.values()
    ):
        raise _no_table(f"distances are {type(given).__name__}, and no map of maps.")
    if not given:
        raise _no_table("distances are empty.")
    return {u: dict(row) for u, row in given.items()}


def _symmetric(
    table: dict[Hashable, dict[Hashable, Any]],
) -> dict[Hashable, dict[Hashable, float]]:
    """Return the distance of each pair both ways round; of equals it is 0."""
    full: dict[Hashable, dict[Hashable, float]] = {u: {} for u in table}
    for u, row in table.items():
        for v, apart in row.items():
            if not (is_number(apart) and 0 <= apart < np.inf):
                raise _no_table("A distance is no finite number from 0 up.")
            two_ways = table.get(v, {}).get(u, apart)
            if apart != two_ways or (u == v and apart):
                raise _no_table("The distances are not symmetric, or not 0 of equals.")
            full[u][v] = float(apart)
            full.setdefault(v, {})[u] = float(apart)
    missing = sum(v not in full[u] for u in full for v in full if u != v) // 2
    if missing:
        pairs = f"{plural(missing, 'pair')} of {len(full)} levels"
        raise _no_table(f"{pairs} {'has' if missing == 1 else 'have'} no distance.")
    return full


def _require_negative_type(eigenvalues: F64) -> None:
    least, largest = float(eigenvalues[0]), float(np.abs(eigenvalues).max())
    more = -2 * least * UP  # Lingoes, Statistique et Analyse des Donnees 1, 1971
    if least < -ROUNDING * largest:
        raise JobError(
            "The distances are not of negative type, so that no points are so far "
            f"apart: the least eigenvalue is {least:.6g}, and must not be below 0.",
            fix=f"add {more:.6g} to the distance of each two different levels, "
            "or give a tree.",
        )


def _no_table(problem: str) -> JobError:
    return JobError(
        problem,
        fix='name the distance of each pair: {"a": {"b": 1.0, "c": 2.0}, "b": {"c": '
        "1.0}}.",
    )
