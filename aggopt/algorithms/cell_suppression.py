"""Local suppression: few cells that make combinations of chosen columns frequent.

A table of keys names some columns.  A combination is what a record publishes in them;
a suppressed cell is a value of its own.  Each combination that occurs in a table of
keys must be that of k records.

The search takes the subsets of a table's columns, the cheapest first, and suppresses
them in rare records if k of these then are equal.  The other rare records become equal
to records of frequent combinations, which keep k records.  Both steps are repeated,
because a cell may be in several tables.  Then cells of equal records are published
again, together, as long as all combinations stay frequent.

Bound: a record whose original combination is rare loses a cell in that table, because
only records with that combination can publish it.  A record that is rare in several
tables loses at least the cheapest cells that meet all of them.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import combinations

import numpy as np

from aggopt.core.types import I64, Bool, Floats

Tables = Sequence[Sequence[int]]
Counts = Counter[tuple[int, ...]]
MOST_COLUMNS = 12  # of a record's rare tables, whose subsets are tried for the bound


@dataclass(frozen=True, eq=False)
class SuppressedCells:
    """The published cells, and the price of the suppressed ones.

    Attributes
    ----------
    kept : (n, q)
        Which cells are published; a missing cell is not.
    cost, bound
        Sum of the weights of the suppressed cells, and a least sum of any such cells.
    """

    kept: Bool = field(repr=False)
    cost: float
    bound: float


def suppress_cells(
    codes: I64, tables: Tables, k: int, weights: Floats | None = None
) -> SuppressedCells:
    """Return cells whose suppression leaves k records in each combination.

    `codes` (n, q) are the values, -1 where missing; `tables` the columns of each table
    of keys.  A cell of column j costs `weights[j]`, by default 1.  n is at least k.

    Examples
    --------
    >>> codes = np.array([[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]])
    >>> suppress_cells(codes, [(0, 1)], k=2).kept.sum()
    np.int64(7)
    """
    price = np.ones(codes.shape[1]) if weights is None else weights
    is_kept = codes >= 0
    state = _Cells(codes, is_kept, tables, k, price)
    while state.suppress_rare():
        pass
    while state.restore():
        pass
    cost = float((price * (~is_kept & (codes >= 0))).sum())
    bound = compute_bound(codes, tables, k, price)
    return SuppressedCells(is_kept, cost, bound)


@dataclass(eq=False)
class _Cells:
    """The cells of a table, some of them suppressed: `kept` (n, q) changes in place."""

    codes: I64
    kept: Bool
    tables: Tables
    k: int
    price: Floats

    def _publish(self, table: Sequence[int]) -> I64:
        """Return a table's codes (n, t), from 1; 0 if missing or suppressed."""
        columns = list(table)
        return np.where(self.kept[:, columns], self.codes[:, columns] + 1, 0)

    def suppress_rare(self) -> bool:
        """Suppress cells of each record that is rare in a table; False if none is."""
        was_rare = False
        for table in self.tables:
            subsets = _list_subsets(table, self.price)[::-1]
            rare, _, _ = self._find_rare(table)
            was_rare |= bool(len(rare))
            for subset in subsets:
                rare = self._join_rare(rare, table, subset)
            while len(rare):
                if not self._join_lenders(rare, table, subsets):
                    self._join_frequent(table)
                rare, _, _ = self._find_rare(table)
        return was_rare

    def _find_rare(self, table: Sequence[int]) -> tuple[I64, I64, I64]:
        """Return rare records, the combination of each record (n,), and their sizes."""
        numbers, sizes = number_rows(self._publish(table))
        return np.flatnonzero(sizes[numbers] < self.k), numbers, sizes

    def _join_rare(self, rare: I64, table: Sequence[int], subset: Sequence[int]) -> I64:
        """Suppress columns of rare records of which k then agree; return the others."""
        if not len(rare):
            return rare
        rows = self._publish(table)
        rows[np.ix_(rare, _find_places(table, subset))] = 0
        is_rare = np.zeros(len(rows), bool)
        is_rare[rare] = True
        numbers, sizes = number_rows(rows)
        joined = sizes[numbers] >= self.k
        self.kept[np.ix_(np.flatnonzero(is_rare & joined), np.array(subset))] = False
        return np.flatnonzero(is_rare & ~joined)

    def _join_lenders(
        self, rare: I64, table: Sequence[int], subsets: Sequence[Sequence[int]]
    ) -> bool:
        """Suppress cells so that rare records equal some frequent ones near them.

        Those for which a rare record costs least; False if none has enough of these.
        """
        rows = self._publish(table)
        numbers, sizes = number_rows(rows)
        spare = np.where(sizes >= self.k, sizes - self.k, 0)
        is_rare = np.zeros(len(rows), bool)
        is_rare[rare] = True
        first = np.unique(numbers, return_index=True)[1]
        best: tuple[float, Sequence[int], Bool, int] | None = None
        for subset in subsets:
            price = sum(self.price[j] for j in subset)
            if best is not None and price >= best[0]:
                continue
            aim = rows.copy()
            aim[:, _find_places(table, subset)] = 0
            boxes, _ = number_rows(aim)
            alike = np.bincount(boxes, is_rare)
            lent = np.bincount(boxes[first], spare, minlength=len(alike))
            need = self.k - alike
            costs = np.full(len(alike), np.inf)
            fits = (alike > 0) & (lent >= need)
            costs[fits] = price * self.k / np.minimum(alike[fits], self.k)
            box = int(np.argmin(costs))
            if np.isfinite(costs[box]) and (best is None or costs[box] < best[0]):
                best = (float(costs[box]), subset, boxes == box, int(need[box]))
        if best is None:
            return False
        _, subset, inside, need_of_box = best
        lenders = self._choose_lenders(inside & ~is_rare, numbers, spare, need_of_box)
        chosen = np.concatenate([np.flatnonzero(inside & is_rare), lenders])
        self.kept[np.ix_(chosen, np.array(subset))] = False
        return True

    def _choose_lenders(self, inside: Bool, numbers: I64, spare: I64, need: int) -> I64:
        """Return `need` records whose combinations keep k records without them."""
        rows = np.flatnonzero(inside)
        rows = rows[np.lexsort((rows, numbers[rows], -spare[numbers[rows]]))]
        starts = np.flatnonzero(np.diff(numbers[rows], prepend=-1))
        sizes = np.diff(np.append(starts, len(rows)))
        place = np.arange(len(rows)) - np.repeat(starts, sizes)
        return rows[place < spare[numbers[rows]]][: max(need, 0)]

    def _join_frequent(self, table: Sequence[int]) -> None:
        """Suppress cells so that rare records equal a frequent combination.

        They lose the cells in which they differ from it; the cheapest combination is
        chosen.  If none is frequent, the rare records lose all cells of the table.
        """
        rare, numbers, sizes = self._find_rare(table)
        columns = np.array(table)
        frequent = np.flatnonzero(sizes >= self.k)
        if not len(frequent):
            self.kept[np.ix_(rare, columns)] = False
            return
        rows = self._publish(table)
        first = np.unique(numbers, return_index=True)[1]
        equal = np.flatnonzero(numbers == numbers[rare[0]])
        rare_codes, others = rows[rare[0]], rows[first[frequent]]
        differ = rare_codes != others
        lost = (rare_codes > 0) * len(equal) + (others > 0) * sizes[frequent][:, None]
        best = int(np.argmin((differ * lost * self.price[columns]).sum(axis=1)))
        joined = [equal, np.flatnonzero(numbers == frequent[best])]
        self.kept[np.ix_(np.concatenate(joined), columns[differ[best]])] = False

    def restore(self) -> bool:
        """Publish suppressed cells of equal records again; False if none could be."""
        used = sorted({column for table in self.tables for column in table})
        counts: list[Counts] = [
            Counter(map(tuple, self._publish(table).tolist())) for table in self.tables
        ]
        groups: dict[tuple[object, ...], list[int]] = {}
        lost = ~self.kept & (self.codes >= 0)
        for row in np.flatnonzero(lost[:, used].any(axis=1)).tolist():
            values = self.codes[row, used].tolist()
            key = (*values, *self.kept[row, used].tolist())
            groups.setdefault(key, []).append(row)
        restored = False
        for rows in groups.values():
            columns = [j for j in used if lost[rows[0], j]]
            for tried in _list_subsets(columns, self.price):
                count = self._count_restorable(rows, tried, counts)
                if count:
                    self._restore(rows[:count], tried, counts)
                    restored = True
                    break
        return restored

    def _count_restorable(
        self, rows: list[int], columns: Sequence[int], counts: Sequence[Counts]
    ) -> int:
        """Return how many of equal records can publish these columns again."""
        sizes = []
        for table, count in zip(self.tables, counts, strict=True):
            if set(columns) & set(table):
                before, after = self._find_keys(rows[0], columns, table)
                sizes.append((count[before], count[after]))
        spare = min(old - self.k for old, _ in sizes)
        for many in (len(rows), min(len(rows), spare)):
            if many > 0 and all(
                (old == many or old - many >= self.k) and new + many >= self.k
                for old, new in sizes
            ):
                return many
        return 0

    def _restore(
        self, rows: list[int], columns: Sequence[int], counts: Sequence[Counts]
    ) -> None:
        """Publish cells of some equal records again."""
        for table, count in zip(self.tables, counts, strict=True):
            before, after = self._find_keys(rows[0], columns, table)
            count[before] -= len(rows)
            count[after] += len(rows)
        self.kept[np.ix_(np.array(rows), np.array(columns))] = True

    def _find_keys(
        self, row: int, columns: Sequence[int], table: Sequence[int]
    ) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Return a record's combination in a table, before and after restoring."""
        cells = [(int(self.codes[row, j]) + 1, bool(self.kept[row, j])) for j in table]
        before = tuple(code if is_kept else 0 for code, is_kept in cells)
        after = tuple(
            code if is_kept or j in columns else 0
            for j, (code, is_kept) in zip(table, cells, strict=True)
        )
        return before, after


def _list_subsets(columns: Sequence[int], price: Floats) -> list[tuple[int, ...]]:
    """Return the subsets of some columns, the dearest first."""
    sizes = range(1, min(len(columns), MOST_COLUMNS) + 1)
    subsets = [s for size in sizes for s in combinations(columns, size)]
    return sorted(subsets, key=lambda subset: -sum(price[j] for j in subset))


def _find_places(table: Sequence[int], subset: Sequence[int]) -> I64:
    """Return the positions of some columns in a table."""
    return np.array([table.index(column) for column in subset])


def number_rows(rows: I64) -> tuple[I64, I64]:
    """Return which distinct row each row equals (n,), and how many rows equal each."""
    _, numbers, sizes = np.unique(rows, axis=0, return_inverse=True, return_counts=True)
    return numbers.ravel(), sizes


def find_rare(codes: I64, tables: Tables, k: int) -> Bool:
    """Return which records share their combination with fewer than k, (n, tables)."""
    rare = np.empty((len(codes), len(tables)), bool)
    for j, table in enumerate(tables):
        numbers, sizes = number_rows(codes[:, list(table)])
        rare[:, j] = sizes[numbers] < k
    return rare


def compute_bound(codes: I64, tables: Tables, k: int, price: Floats) -> float:
    """Return a lower bound of the cost of suppression: see the head of this file."""
    rare = find_rare(codes, tables, k)
    for j, table in enumerate(tables):  # a missing cell may equal a suppressed one
        rare[:, j] &= (codes[:, list(table)] >= 0).all(axis=1)
    patterns, counts = np.unique(rare, axis=0, return_counts=True)
    bound = 0.0
    for pattern, count in zip(patterns.tolist(), counts.tolist(), strict=True):
        broken = [
            table for table, is_rare in zip(tables, pattern, strict=True) if is_rare
        ]
        bound += count * _find_cheapest(broken, price)
    return bound


def _find_cheapest(tables: Tables, price: Floats) -> float:
    """Return the least price of a set of columns that has one of each table."""
    if not tables:
        return 0.0
    columns = sorted({column for table in tables for column in table})
    cheapest = max(float(price[list(table)].min()) for table in tables)
    if len(columns) > MOST_COLUMNS:
        return cheapest
    subsets = _list_subsets(columns, price)
    meeting = (s for s in subsets if all(set(s) & set(table) for table in tables))
    return min(float(sum(price[j] for j in subset)) for subset in meeting)
