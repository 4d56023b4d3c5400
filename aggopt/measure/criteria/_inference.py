"""Inference: a secret attribute guessed from the nearest released records."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from aggopt.core.types import F64, I64, Labels
from aggopt.errors import JobError, TableError
from aggopt.measure._interval import check_safety
from aggopt.measure._pair import TOLERANCE
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


def inference(
    original: Any,
    released: Any,
    control: Any,
    secret: str,
    *,
    safety: float = 0.05,
    attacks: int = ATTACKS,
    level: float = LEVEL,
    seed: int = 0,
) -> AttackResult:
    """Return how often a secret attribute is guessed from the nearest released record.

    The intruder knows all other attributes of a person, and takes the secret value of
    the nearest released record.  If several are as near, each is as likely, except the
    person's own: `linkage` and `dld` measure whether that is identified.  A record that
    alone is nearest counts, also if it is the person's own.  A guess of a number is
    right within `safety` standard deviations of the original (divisor n - 1).  Control:
    the same attack on persons that are not in the release.  Chance: another released
    record, drawn at random.

    Parameters
    ----------
    original, released
        All attributes, with records in one order.
    control
        Records of persons that are not in the release, from the same population.
    secret
        The name of the attribute that is guessed.
    safety
        Half the width of the interval about a guess, in standard deviations, 0 or more.
    attacks
        Number of persons on each side, at most; fewer for large tables.
    level
        Confidence level of the intervals.
    seed
        Of the persons that are attacked.

    Raises
    ------
    TableError, JobError
        A table cannot be used, columns or numbers of records differ, or an argument is
        outside its range.
    UnknownNameError
        The secret attribute is not a column.

    Source: Article 29 Working Party, opinion 05/2014; Giomi, Boenisch, Wehmeyer and
    Tasnadi (2023); correct attribution probability of Elliot (2014).

    Examples
    --------
    >>> import pandas as pd
    >>> people = pd.DataFrame({"age": [20.0, 30, 40, 50], "ill": [*"abab"]})
    >>> inference(people[:3], people[:3], people[3:], "ill").rate
    1.0
    """
    check_level(level)
    tables = AttackTables.of(original, released, control)
    [place] = tables.find([secret])
    if len(tables.names) == 1:
        raise JobError(
            "An intruder needs another attribute to infer the secret from.",
            fix="pass a table of at least two attributes.",
        )
    width = check_safety(safety)
    others = [j for j in range(len(tables.names)) if j != place]
    return attack_inference(tables, others, [place], width, attacks, level, seed)[0]


@dataclass(frozen=True, eq=False)
class _Nearest:
    """Persons that are attacked, and the released records nearest to them.

    Attributes
    ----------
    side, records
        The table of the persons, and which of its records they are, (t,).
    own
        Whether these records are those of the release.
    near
        Which distinct released records are nearest, a sparse (t, m) of 1.
    """

    side: Side = field(repr=False)
    records: Labels = field(repr=False)
    own: bool
    near: Any = field(repr=False)


def attack_inference(
    tables: AttackTables,
    known_columns: list[int],
    secrets: list[int],
    safety: float,
    attacks: int,
    level: float,
    seed: int,
) -> list[AttackResult]:
    """Return `inference` of each secret column, from the known columns.

    Raises
    ------
    TableError
        The release has another number of records, or a secret has no value.
    """
    released = tables.released
    tables.require_pairs()
    count = limit_attacks(attacks, released.n * len(known_columns))
    rows, row = find_rows(released.select(np.arange(released.n), known_columns))
    searches = []
    for purpose, side in enumerate((tables.original, tables.control), start=3):
        records = sample_records(side.n, count, seed, purpose)
        targets = side.select(records, known_columns)
        near = mark_nearest_rows(targets, rows, tables.numeric[known_columns])
        searches.append(_Nearest(side, records, purpose == 3, near))
    return [_guess(tables, searches, row, secret, safety, level) for secret in secrets]


def _guess(
    tables: AttackTables,
    searches: list[_Nearest],
    row: Labels,
    secret: int,
    safety: float,
    level: float,
) -> AttackResult:
    """Return the attack on one secret column: how often its values are guessed."""
    name = tables.names[secret]
    one_group = np.zeros(tables.released.n, np.intp)
    rates = [_rate_guesses(tables, search, row, secret, safety) for search in searches]
    everything = _Nearest(
        searches[0].side,
        searches[0].records,
        True,
        _make_column_of_ones(len(searches[0].records)),
    )
    chances = _rate_guesses(tables, everything, one_group, secret, safety)
    if not all(map(len, (*rates, chances))):
        raise TableError(
            f"Column {name!r} has no value to guess.", fix="leave the column out."
        )
    return AttackResult(
        criterion="inference",
        by=f"of {name}",
        attacks=len(rates[0]),
        control_attacks=len(rates[1]),
        rate=float(rates[0].mean()),
        chance=float(chances.mean()),
        control=float(rates[1].mean()),
        level=level,
    )


def _make_column_of_ones(t: int) -> Any:
    """Return a sparse column (t, 1) of ones."""
    from scipy.sparse import csr_matrix

    return csr_matrix(np.ones((t, 1)))


def _rate_guesses(
    tables: AttackTables, search: _Nearest, row: Labels, secret: int, safety: float
) -> F64:
    """Return the share of right guesses about each person with a value, (t,)."""
    values = search.side.codes[search.records, secret]
    has_value = values >= 0
    near = search.near[has_value]
    records = search.records[has_value]
    sizes = near @ np.bincount(row)
    right = _count_right(tables, search.side, records, near, row, secret, safety)
    if search.own:
        is_own_near = np.asarray(near[np.arange(len(records)), row[records]]).ravel()
        others = (is_own_near > 0) & (sizes > 1)
        is_own_right = _is_right(
            tables, search.side, records, tables.released, records, secret, safety
        )
        right = right - (others & is_own_right)
        sizes = sizes - others
    return np.asarray(right / sizes)


def _is_right(
    tables: AttackTables,
    side: Side,
    records: Labels,
    other: Side,
    guesses: Labels,
    secret: int,
    safety: float,
) -> Any:
    """Whether the secrets of records `guesses` are right for `records`, (t,)."""
    if not tables.numeric[secret]:
        return side.codes[records, secret] == other.codes[guesses, secret]
    away = side.numbers[records, secret] - other.numbers[guesses, secret]
    return np.abs(away) <= _compute_width(tables.original, safety)


def _compute_width(original: Side, safety: float) -> float:
    """Return the tolerance in standard deviations with divisor n."""
    n = original.n
    return safety * (n / (n - 1)) ** 0.5 * (1 + TOLERANCE) if n > 1 else 0.0


def _count_right(
    tables: AttackTables,
    side: Side,
    records: Labels,
    near: Any,
    row: Labels,
    secret: int,
    safety: float,
) -> F64:
    """Return how many of the nearest records have the right secret, (t,)."""
    from scipy.sparse import csr_matrix

    released = tables.released
    m = near.shape[1]
    if not tables.numeric[secret]:
        codes: I64 = released.codes[:, secret] + 1
        wanted = side.codes[records, secret] + 1
        shape = (m, int(max(codes.max(), wanted.max(initial=0))) + 1)
        counts = csr_matrix((np.ones(released.n), (row, codes)), shape)
        return np.asarray((near @ counts)[np.arange(len(records)), wanted]).ravel()
    width = _compute_width(tables.original, safety)
    values = released.numbers[:, secret]
    order = np.lexsort((values, row))  # nan last
    ranked = values[order]
    ends = np.append(0, np.cumsum(np.bincount(row, minlength=m)))
    wanted = side.numbers[records, secret]
    right = np.zeros(len(records))
    for i in range(len(records)):
        for place in near.indices[near.indptr[i] : near.indptr[i + 1]]:
            part = ranked[ends[place] : ends[place + 1]]
            low = np.searchsorted(part, wanted[i] - width, "left")
            right[i] += np.searchsorted(part, wanted[i] + width, "right") - low
    return right
