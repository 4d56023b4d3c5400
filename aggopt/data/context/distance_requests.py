"""Wishes as a job states them: for all, by attribute, relative, or in a column."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from aggopt.aggregate.distance_requests import ByAttribute, Column, Relative, Wish
from aggopt.core.types import Floats
from aggopt.data.table import Table
from aggopt.errors import JobError

MOST = {"delta": np.inf, "importance": 1.0}


def resolve_request(
    wish: Wish, table: Table, Z: Floats, name: str, names: Sequence[str] = ()
) -> Floats:
    """Return a request of the records of `table` as one number each (n, d).

    `Z` (n, d) are the z-scores of its quasi-identifiers, `names` their names: all
    numeric ones when omitted.

    Raises
    ------
    JobError
        A quasi-identifier is left out or unknown, or a column has not the role `wish`.
    """
    kind = "a category" if names else "a number"
    names = names or table.numeric
    if isinstance(wish, ByAttribute):
        by_name = wish.attributes
        if set(by_name) != set(names):
            raise JobError(
                f"{name}.attributes names {sorted(by_name)}.",
                fix=f"give one wish for each quasi-identifier that is {kind}: "
                f"{', '.join(names)}.",
            )
    else:
        by_name = dict.fromkeys(names, wish)
    columns = [
        _read_column(by_name[a], table, Z[:, j], name) for j, a in enumerate(names)
    ]
    values = np.stack(columns, axis=1)
    low = values < 0
    high = values > MOST[name]
    bounds = "below 0" if np.isinf(MOST[name]) else f"below 0 or above {MOST[name]:g}"
    count = int((low | high).any(axis=1).sum())
    if count:
        raise JobError(
            f"{name} is {bounds} in {count} of {len(values)} records.",
            fix=f"ask for numbers that are not {bounds}.",
        )
    return values


def resolve_category_request(wish: Any, table: Table, name: str) -> dict[str, Floats]:
    """Return a wish about each category of `table`, one number for each record (n,).

    Raises
    ------
    JobError
        As `resolve_request`; or it is relative to a mean, which categories have not.
    """
    names = tuple(table.domains)
    inner = wish.attributes.values() if isinstance(wish, ByAttribute) else [wish]
    if any(isinstance(item, Relative) for item in inner):
        raise JobError(
            f"{name} is relative to the distance from the mean, and categories have "
            "none.",
            fix='give numbers, or a column: { column = "NAME" }.',
        )
    n = len(table.frame)
    values = resolve_request(wish, table, np.zeros((n, len(names))), name, names)
    return dict(zip(names, values.T, strict=True))


def require_read(columns: Sequence[str], *wishes: Wish | None) -> None:
    """Refuse columns with the role wish that none of these wishes reads.

    Raises
    ------
    JobError
        Somebody's wishes would be dropped unheard.
    """
    unread = [name for name in columns if name not in set(_iter_columns(wishes))]
    if not unread:
        return
    one = len(unread) == 1
    raise JobError(
        f"{', '.join(map(repr, unread))} {'has' if one else 'have'} the role wish, and "
        f"nothing in [aggregation] reads {'it' if one else 'them'}.",
        fix="name it, for all quasi-identifiers or one by one: delta = { column = "
        f'"{unread[0]}" }}, or delta = {{ attributes = {{ age = {{ column = '
        f'"{unread[0]}" }}, income = 0.1 }} }}; importance likewise. To drop a column '
        "unread, list it as drop.",
    )


def _iter_columns(wishes: Iterable[Wish | None]) -> Iterator[str]:
    for wish in wishes:
        if isinstance(wish, ByAttribute):
            yield from _iter_columns(wish.attributes.values())
        elif isinstance(wish, Column):
            yield wish.column


def require_reach(
    delta: Floats,
    Z: Floats,
    k: int,
    names: Sequence[str],
    weights: Floats | None = None,
) -> None:
    """Refuse distances (n, d) that no release of z-scores Z (n, d) can keep.

    Centroids c_j of groups of n_j >= k records keep mean 0 and variance 1: from
    sum n_j c_j = 0 and sum n_j c_j**2 = n follows |c_j| <= sqrt((n - k) / k), and no
    value is farther from its published one than that and the largest |z| together.
    With weights (n,) of mean 1 the sum of the k smallest replaces k.

    Raises
    ------
    JobError
        Some record requests more.
    """
    n = len(Z)
    smallest_group = k if weights is None else float(np.sort(weights)[:k].sum())
    reach = np.abs(Z).max(axis=0) + np.sqrt(max(n - smallest_group, 0) / smallest_group)
    far = delta > reach
    count = int(far.any(axis=1).sum())
    if count:
        j = int(np.where(far.any(axis=0), reach, np.inf).argmin())
        raise JobError(
            f"delta is out of reach in {count} of {len(delta)} wishes: with {n} "
            f"records in groups of {k} no value of {names[j]!r} is published "
            f"{reach[j]:.3g} or more standard deviations away.",
            fix="ask for less: a secret margin is asked for beyond each distance, and "
            "0.1 to 1 standard deviations are usual.",
        )


def _read_column(wish: Any, table: Table, z: Floats, name: str) -> Floats:
    if isinstance(wish, Relative):
        return wish.relative * np.abs(z)
    if isinstance(wish, Column):
        if wish.column not in table.roles.wish:
            raise JobError(
                f"{name} is to be read from {wish.column!r}, which has not the role "
                "wish.",
                fix=f'add it to the roles: wish = ["{wish.column}"].',
            )
        return table.numbers(wish.column)
    return np.full(len(z), float(wish))
