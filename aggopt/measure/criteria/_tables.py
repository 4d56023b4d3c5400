"""The tables of an attack in common codes and coordinates."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from aggopt.core.frame import require_nonempty, to_frame
from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import is_whole_number
from aggopt.errors import JobError, TableError, require_known
from aggopt.measure.utility._frames import is_numeric, list_names

ATTACKS = 1000
"""Attacks on each side, by default."""

FEWEST = 100  # attacks on large tables
WORK = 400_000_000  # comparisons of two values: seconds
CHUNK = 4_000_000  # distances in memory at once
TIE = 1e-9  # squared distances, relative to the least
STEPS = [10.0**p for p in range(6, -9, -1)]  # of grids to which numbers are rounded
GRID = 1e-14  # of the largest number: what a float cannot tell from the grid


@dataclass(frozen=True, eq=False)
class Side:
    """Records of one table.

    Attributes
    ----------
    codes : (n, d)
        Code of each value, equal for equal values of all tables; -1 if missing.
    numbers : (n, d)
        Numbers in standard deviations of the original; nan for other values.
    """

    codes: I64 = field(repr=False)
    numbers: F64 = field(repr=False)

    @property
    def n(self) -> int:
        """Number of records."""
        return len(self.codes)

    def select(self, records: Labels, columns: Sequence[int]) -> "Side":
        """Return these records and columns."""
        at = np.ix_(records, np.asarray(columns, np.intp))
        return Side(self.codes[at], self.numbers[at])


@dataclass(frozen=True, eq=False)
class AttackTables:
    """The original, its release, and a control, with equal columns.

    Attributes
    ----------
    names
        Names of the columns.
    numeric : (d,)
        Whether each column has numbers in all three tables.
    steps : (d,)
        Distance of the grid of released numbers, in standard deviations; 0 without.
    """

    names: tuple[str, ...]
    numeric: Bool
    steps: F64
    original: Side
    released: Side
    control: Side

    @classmethod
    def of(cls, original: Any, released: Any, control: Any) -> "AttackTables":
        """Return the three tables in common codes; refuse different columns.

        Raises
        ------
        TableError
            One is not a table, has no records, or has other columns.
        """
        frames = [to_frame(table) for table in (original, released, control)]
        for frame in frames:
            require_nonempty(frame)
        if any(set(frame.columns) != set(frames[0].columns) for frame in frames):
            present: list[set[object]] = [set(frame.columns) for frame in frames]
            differing = set.union(*present) - set.intersection(*present)
            raise TableError(
                "Columns that some of the original, the release and the control do "
                f"not have: {', '.join(sorted(map(repr, differing)))}.",
                fix="pass the same columns of all three.",
            )
        tables = [frame.select(frames[0].columns).to_pandas() for frame in frames]
        names = list_names(tables[0])
        ends = np.cumsum([0, *map(len, tables)])
        numeric = np.array(
            [all(is_numeric(table, name) for table in tables) for name in names]
        )
        codes = np.empty((ends[-1], len(names)), np.int64)
        numbers = np.full(codes.shape, np.nan)
        steps = np.zeros(len(names))
        for j, name in enumerate(names):
            columns = [table[name] for table in tables]
            if numeric[j]:
                codes[:, j], numbers[:, j], steps[j] = _read_numbers(columns)
            else:
                codes[:, j] = _read_codes(columns)
        sides = [Side(codes[a:b], numbers[a:b]) for a, b in pairwise(ends.tolist())]
        return cls(tuple(names), numeric, steps, *sides)

    def require_pairs(self) -> None:
        """Refuse a release of another number of records than the original.

        Raises
        ------
        TableError
            The numbers differ.
        """
        if self.original.n != self.released.n:
            raise TableError(
                f"The original has {self.original.n} records, and the release "
                f"{self.released.n}.",
                fix="pass the same records in the same order.",
            )

    def select(self, columns: Sequence[int]) -> "AttackTables":
        """Return the tables with these columns."""
        names = tuple(self.names[j] for j in columns)
        sides = [
            side.select(np.arange(side.n), columns)
            for side in (self.original, self.released, self.control)
        ]
        places = list(columns)
        return AttackTables(names, self.numeric[places], self.steps[places], *sides)

    def find(self, names: Sequence[str]) -> list[int]:
        """Return the positions of these columns; refuse an unknown name."""
        for name in names:
            require_known("column", name, self.names)
        return [self.names.index(name) for name in names]


def _read_codes(columns: list[Any]) -> I64:
    """Return codes (n,) of the texts of all tables; -1 if missing."""
    import pandas as pd

    texts = [column.astype(object).map(str, na_action="ignore") for column in columns]
    codes = pd.factorize(pd.concat(texts, ignore_index=True))[0]
    return np.asarray(codes, np.int64)


def _read_numbers(columns: list[Any]) -> tuple[I64, F64, float]:
    """Return codes and standardised numbers (n,) of all tables, and the step."""
    import pandas as pd

    original, released, control = (column.to_numpy(np.float64) for column in columns)
    values = np.concatenate([original, released, control])
    values[np.isinf(values)] = np.nan
    codes = pd.factorize(values)[0]
    present = original[np.isfinite(original)]
    spread = float(present.std()) if len(present) else 0.0
    if spread == 0:
        spread = 1.0
    step = _find_step(released[np.isfinite(released)])
    return np.asarray(codes, np.int64), values / spread, step / spread


def _find_step(values: F64) -> float:
    """Return the largest power of ten that divides all values; 0 without one."""
    if not values.any():
        return 0.0
    largest = float(np.abs(values).max())
    for step in STEPS:
        multiples = values / step
        away = np.abs(multiples - np.rint(multiples)) * step
        if step <= largest and (away <= GRID * largest).all():
            return step
    return 0.0


def check_attacks(attacks: object) -> int:
    """Return the number of attacks, or refuse it."""
    if is_whole_number(attacks) and attacks >= 1:
        return int(attacks)
    raise JobError(
        "attacks is not a whole number of at least 1.",
        fix=f"pass a number of attacks, such as attacks={ATTACKS}.",
    )


def limit_attacks(attacks: object, comparisons: int) -> int:
    """Return the number of attacks, lowered if their comparisons exceed the budget."""
    wanted = check_attacks(attacks)
    return min(wanted, max(FEWEST, WORK // max(comparisons, 1)))


def sample_records(n: int, count: int, seed: int, purpose: int) -> Labels:
    """Return `count` of n records in ascending order, or all of them."""
    if n <= count:
        return np.arange(n)
    random = np.random.default_rng([seed, purpose])
    return np.sort(random.choice(n, count, replace=False))


def find_rows(side: Side) -> tuple[Side, Labels]:
    """Return distinct records, and the distinct record of each record (n,)."""
    _, first, row = np.unique(
        side.codes, axis=0, return_index=True, return_inverse=True
    )
    return Side(side.codes[first], side.numbers[first]), row.ravel()


def mark_nearest_rows(targets: Side, rows: Side, numeric: Bool) -> Any:
    """Return which rows (m,) are nearest to each target, a sparse (t, m) of 1.

    Squared distances: of numbers in standard deviations, and 1 for other values that
    differ.  A missing number is as far from each number as another category.
    """
    from scipy.sparse import csr_matrix, vstack

    step = max(1, CHUNK // rows.n)
    parts = [
        csr_matrix(_mark_nearest_part(targets, rows, numeric, start, start + step))
        for start in range(0, targets.n, step)
    ]
    return vstack(parts, format="csr")


def _mark_nearest_part(
    targets: Side, rows: Side, numeric: Bool, start: int, end: int
) -> F64:
    """Return 1. for the nearest rows of targets start to end, else 0., (t, m)."""
    codes = targets.codes[start:end]
    numbers = targets.numbers[start:end]
    distances = np.zeros((len(codes), rows.n))
    for j in range(codes.shape[1]):
        if numeric[j]:
            away = numbers[:, j, None] - rows.numbers[None, :, j]
            differ = (codes[:, j, None] != rows.codes[None, :, j]).astype(float)
            distances += np.where(np.isnan(away), differ, away**2)
        else:
            distances += codes[:, j, None] != rows.codes[None, :, j]
    nearest = distances.min(axis=1, keepdims=True)
    return np.asarray(distances <= nearest + TIE * (1 + nearest), np.float64)
