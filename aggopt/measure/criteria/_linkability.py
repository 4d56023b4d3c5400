"""Linkability: whether a release links two sets of attributes of one person."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from aggopt.core.types import F64, Labels
from aggopt.errors import JobError
from aggopt.measure.criteria._attack import LEVEL, AttackResult, check_level
from aggopt.measure.criteria._tables import (
    ATTACKS,
    AttackTables,
    Side,
    find_rows,
    limit_attacks,
    mark_nearest_rows,
    sample_records,
)

Sets = tuple[Sequence[str], Sequence[str]]


def linkability(
    original: Any,
    released: Any,
    control: Any,
    *,
    sets: Sets | None = None,
    attacks: int = ATTACKS,
    level: float = LEVEL,
    seed: int = 0,
) -> AttackResult:
    """Return how often a release links two sets of attributes of one person.

    The intruder knows some attributes of a person from one source and others from
    another.  For each source he takes the nearest released record.  If several are as
    near, each is as likely.  The attack succeeds if both are the same record, so a
    group of k equal records links with chance 1/k.  Control: the same attack on persons
    that are not in the release.  Chance: two released records, drawn at random.

    Parameters
    ----------
    original, released
        Attributes that an intruder may know, in any order of records.
    control
        Records of persons that are not in the release, from the same population.
    sets
        The names of the attributes of each source.  Default: every second attribute.
    attacks
        Number of persons on each side, at most; fewer for large tables.
    level
        Confidence level of the intervals.
    seed
        Of the persons that are attacked.

    Raises
    ------
    TableError, JobError
        A table cannot be used, columns differ, or an argument is outside its range.
    UnknownNameError
        A set names no column.

    Source: Article 29 Working Party, opinion 05/2014; Giomi, Boenisch, Wehmeyer and
    Tasnadi (2023).

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(100, 2))
    >>> linkability(x[:80], x[:80], x[80:]).rate
    1.0
    """
    check_level(level)
    tables = AttackTables.of(original, released, control)
    d = len(tables.names)
    if sets is None:
        places = [list(range(0, d, 2)), list(range(1, d, 2))]
    else:
        places = [tables.find(list(names)) for names in sets]
    if len(places) != 2 or not all(places) or set(places[0]) & set(places[1]):
        raise JobError(
            "An intruder with two sources needs two sets of attributes without a "
            "common one.",
            fix="pass a table of at least two attributes, or two such sets.",
        )
    return attack_linkability(tables, places, attacks, level, seed)


def attack_linkability(
    tables: AttackTables,
    places: Sequence[Sequence[int]],
    attacks: int,
    level: float,
    seed: int,
) -> AttackResult:
    """Return `linkability` of two sets of columns, named by their positions."""
    columns = [*places[0], *places[1]]
    released = tables.released
    count = limit_attacks(attacks, released.n * len(columns))
    rates = []
    for purpose, side in enumerate((tables.original, tables.control), start=1):
        records = sample_records(side.n, count, seed, purpose)
        rates.append(_count_links(tables, side, records, places))
    return AttackResult(
        criterion="linkability",
        by="",
        attacks=len(rates[0]),
        control_attacks=len(rates[1]),
        rate=float(rates[0].mean()),
        chance=1 / released.n,
        control=float(rates[1].mean()),
        level=level,
    )


def _count_links(
    tables: AttackTables, side: Side, records: Labels, places: Sequence[Sequence[int]]
) -> F64:
    """Return the chance that both sources lead to one released record, (t,)."""
    from scipy.sparse import csr_matrix

    everybody = np.arange(tables.released.n)
    nearest = []
    row_of_record = []
    for columns in places:
        rows, row = find_rows(tables.released.select(everybody, columns))
        targets = side.select(records, columns)
        nearest.append(mark_nearest_rows(targets, rows, tables.numeric[list(columns)]))
        row_of_record.append(row)
    ones = np.ones(len(everybody))
    shape = tuple(int(row.max()) + 1 for row in row_of_record)
    common = csr_matrix((ones, tuple(row_of_record)), shape)  # records of two rows
    both = np.asarray((nearest[0] @ common).multiply(nearest[1]).sum(axis=1))
    sizes = [
        near @ np.bincount(row)
        for near, row in zip(nearest, row_of_record, strict=True)
    ]
    return np.asarray(both.ravel() / (sizes[0] * sizes[1]))
