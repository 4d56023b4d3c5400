"""Singling out: predicates from a release that only one person satisfies."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from aggopt.core.types import F64, Labels
from aggopt.errors import JobError, require_known
from aggopt.measure._pair import TOLERANCE
from aggopt.measure.criteria._attack import LEVEL, AttackResult, check_level
from aggopt.measure.criteria._tables import (
    ATTACKS,
    AttackTables,
    Side,
    find_rows,
    limit_attacks,
)

TRIED = 3  # predicates that are drawn for each attack
EQUALITY = "by equality"
ORDER = "by order"


@dataclass(frozen=True)
class Predicate:
    """Conditions on attributes of a person.

    Attributes
    ----------
    columns
        Places of the attributes.
    signs
        0: the value is equal; 1: at least; -1: at most.
    record
        The distinct released record whose values are compared.
    """

    columns: tuple[int, ...]
    signs: tuple[int, ...]
    record: int

    def find(self, rows: Side, side: Side, steps: F64) -> Labels:
        """Return the records of a table that satisfy the predicate.

        A number equals one that it would be rounded to, on a grid of these `steps`.
        """
        records = np.arange(side.n)
        for j, sign in zip(self.columns, self.signs, strict=True):
            value = rows.numbers[self.record, j]
            if sign:
                is_true = sign * side.numbers[records, j] >= sign * value
            elif steps[j] > 0 and not np.isnan(value):
                away = np.abs(side.numbers[records, j] - value)
                is_true = away <= steps[j] / 2 * (1 + TOLERANCE)
            else:
                is_true = side.codes[records, j] == rows.codes[self.record, j]
            records = records[is_true]
            if not len(records):
                break
        return records


def singling_out(
    original: Any,
    released: Any,
    control: Any,
    *,
    by: str = EQUALITY,
    attacks: int = ATTACKS,
    level: float = LEVEL,
    seed: int = 0,
) -> AttackResult:
    """Return how often predicates from the release single out one original record.

    A predicate takes the values of a released record in some attributes.  By equality
    all values are equal, or round to it on the grid of the release; by order numbers
    are at least as large if the value is above the released median, otherwise at most.
    The intruder chooses predicates that the fewest released records satisfy, those of
    few attributes first.  One succeeds if exactly one original record satisfies it.

    Control: no original record satisfies it, and a person outside does, scaled to as
    many persons as the original has.  Chance: the largest share of successes of
    predicates that do not depend on the records, (1 - 1/n)^(n-1), about 37 %; no
    control exceeds it.

    If one released record alone satisfies the predicates, the original record must also
    be its own.  Chance and control are then divided by n: so seldom it is the right one
    by accident.

    Parameters
    ----------
    original, released
        Attributes that an intruder may know, with records in one order.
    control
        Records of persons that are not in the release, from the same population.
    by
        "by equality", or "by order" for a table with a number.
    attacks
        Number of predicates, at most; fewer for large tables.
    level
        Confidence level of the intervals.
    seed
        Of the predicates.

    Raises
    ------
    TableError, JobError
        A table cannot be used, columns or numbers of records differ, an argument is
        outside its range, or no column has numbers.
    UnknownNameError
        There is no such kind of predicate.

    Source: Article 29 Working Party, opinion 05/2014; Giomi, Boenisch, Wehmeyer and
    Tasnadi (2023); Cohen and Nissim (2020) for the chance.

    Examples
    --------
    >>> x = np.arange(60.0)[:, None]
    >>> found = singling_out(x[:50], x[:50], x[50:])
    >>> found.rate, found.control, found.helps
    (1.0, 0.0, True)
    """
    check_level(level)
    require_known("kind of predicate", by, (EQUALITY, ORDER))
    tables = AttackTables.of(original, released, control)
    if by not in list_conditions(tables):
        raise JobError(
            "No attribute has numbers in all three tables, so that none has an order.",
            fix=f'pass by="{EQUALITY}".',
        )
    return attack_singling_out(tables, by, attacks, level, seed)


def list_conditions(tables: AttackTables) -> tuple[str, ...]:
    """Return the kinds of predicates that these tables allow."""
    return (EQUALITY, ORDER) if tables.numeric.any() else (EQUALITY,)


def attack_singling_out(
    tables: AttackTables, by: str, attacks: int, level: float, seed: int
) -> AttackResult:
    """Return `singling_out` of tables in common codes."""
    before = tables.original
    tables.require_pairs()
    steps = tables.steps
    rows, row = find_rows(tables.released)
    count = limit_attacks(attacks, TRIED * (before.n + rows.n) * len(tables.names) // 2)
    sizes = np.bincount(row)
    predicates = _draw_predicates(tables, rows, sizes, by, TRIED * count, seed)
    matches = np.array([sizes[p.find(rows, rows, steps)].sum() for p in predicates])
    fewest = int(matches.min())
    rarest = [predicates[i] for i in np.flatnonzero(matches == fewest)][:count]
    selections = [p.find(rows, before, steps) for p in rarest]
    is_single = np.array([len(records) == 1 for records in selections])
    outside = sum(
        len(p.find(rows, tables.control, steps))
        for p, records in zip(rarest, selections, strict=True)
        if not len(records)
    )
    limit = (1 - 1 / before.n) ** (before.n - 1)
    trials = len(rarest) * tables.control.n / before.n
    control = min(outside / trials, limit)
    if fewest == 1:
        limit, control = limit / before.n, control / before.n
        selected = [row[records[0]] if len(records) else -1 for records in selections]
        is_single &= np.array([p.record for p in rarest]) == selected
    return AttackResult(
        criterion="singling out",
        by=by,
        attacks=len(rarest),
        control_attacks=trials,
        rate=float(is_single.mean()),
        chance=limit,
        control=control,
        level=level,
        control_limit=limit,
    )


def _draw_predicates(
    tables: AttackTables, rows: Side, sizes: Labels, by: str, count: int, seed: int
) -> list[Predicate]:
    """Return distinct predicates that describe the rarest released records."""
    random = np.random.default_rng([seed, 0])
    rarest = np.flatnonzero(sizes == sizes.min())
    middle = np.nanmedian(_fill(tables.released.numbers), axis=0)
    d = len(tables.names)
    single = [(record, [j]) for record in rarest.tolist() for j in range(d)]
    first = random.permutation(len(single))[: count // 2]
    tried = [single[i] for i in first.tolist()]
    for record in random.choice(rarest, count - len(tried)).tolist():
        size = int(random.integers(1, d + 1))
        tried.append((record, sorted(random.choice(d, size, replace=False).tolist())))
    is_above = rows.numbers >= middle
    sides = np.where(np.isnan(rows.numbers), 0, np.where(is_above, 1, -1))
    if by == EQUALITY:
        sides[:] = 0
    signs = sides.tolist()
    numeric = tables.numeric.tolist()
    drawn: dict[Predicate, None] = {}
    for record, columns in sorted(tried, key=lambda candidate: len(candidate[1])):
        if by == EQUALITY or any(numeric[j] for j in columns):
            conditions = tuple(signs[record][j] for j in columns)
            drawn[Predicate(tuple(columns), conditions, record)] = None
    return list(drawn)


def _fill(numbers: F64) -> F64:
    """Return numbers (n, d) with 0 in columns without any number."""
    return np.where(np.isnan(numbers).all(axis=0), 0.0, numbers)
