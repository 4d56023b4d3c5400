"""The measures of a release: of all its quasi-identifiers, whatever their types."""

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from aggopt.core.standardise import to_unweighted_spreads
from aggopt.core.types import Bool
from aggopt.core.validation import Floats, Labels
from aggopt.data.context.units import read_units
from aggopt.data.context.weights import read_scaled_weights
from aggopt.data.table import Table
from aggopt.errors import TableError
from aggopt.measure import WHOLE, Assessment, Measure, assess
from aggopt.release.audit.counts import combine_codes, encode_entries

AT_ONCE = 1000  # records linked at once if a release is only tried: .1 s


def measure_if_varying(
    original: Table,
    released: Table,
    requests: dict[str, Floats],
    extra: Mapping[str, Measure] = MappingProxyType({}),
    *,
    linked_at_once: int = WHOLE,
) -> Assessment | None:
    """Return the measures of a release; None if no quasi-identifier varies.

    Also None if so few records are complete that a category would distinguish most of
    them.
    """
    X = original.matrix()
    rows = find_complete(X, released.matrix())
    if (X[rows][:1] == X[rows]).all():
        return None
    try:
        return measure_release(
            original, released, requests, linked_at_once=linked_at_once, extra=extra
        )
    except TableError:
        if rows.all():
            raise
        return None


def find_complete(before: Floats, after: Floats) -> Bool:
    """Return which records (n,) miss nothing, before and after."""
    return np.asarray(~(np.isnan(before) | np.isnan(after)).any(axis=1))


def _select_complete_records(
    original: Table, released: Table, requests: dict[str, Floats]
) -> tuple[Table, Table, dict[str, Floats]]:
    """Return the complete records before and after masking, and their requests."""
    rows = find_complete(original.matrix(), released.matrix())
    if rows.all():
        return original, released, requests
    one, other = (
        replace(table, frame=table.frame[np.flatnonzero(rows)])
        for table in (original, released)
    )
    return one, other, {name: wish[rows] for name, wish in requests.items()}


def find_attacker_knowledge(
    original: Table, released: Table
) -> dict[str, Labels | None]:
    """Return an attacker's knowledge of each record besides its masked attributes.

    `known` is the class (n,) of records that share the strata, and the sampling weight
    if it is published unchanged.  `added` is the class of records that share the weight
    in the release, which is the mean of a group.  `units` is the unit of each record.
    An entry is None if no such column is published.  Confidential and other columns are
    assumed unknown; the audit counts how many records are unique if they are known.
    """
    strata = [encode_entries(released.frame[name]) for name in released.roles.stratum]
    columns = released.frame.columns
    weights = [name for name in released.roles.weight if name in columns]
    marks = [encode_entries(released.frame[name]) for name in weights]
    as_is = all(
        np.array_equal(original.numbers(name), released.numbers(name))
        for name in weights
    )
    before, added = ([*strata, *marks], []) if as_is else (strata, marks)
    return {
        "known": combine_codes(before) if before else None,
        "added": combine_codes(added) if added else None,
        "units": read_units(original),
    }


def measure_release(
    original: Table,
    released: Table,
    complete_requests: dict[str, Floats],
    *,
    linked_at_once: int = WHOLE,
    extra: Mapping[str, Measure] = MappingProxyType({}),
) -> Assessment:
    """Return the measures of a release; SL uses the requests of records, if any.

    `extra` are the user's own measures.  Losses are weighted if records have weights.
    Requests are then in weighted standard deviations, and SL in unweighted ones.

    All attributes have equal weights, regardless of the job, so that releases of one
    table can be compared.  More than `linked_at_once` records are linked in blocks: see
    `aggopt.measure.linkage`.  Records that miss a quasi-identifier are left out.

    An attacker knows the strata and the weights that are published, and searches the
    records that share them. If records belong to units, a link to the right unit counts
    as right.

    Raises
    ------
    TableError
        No attribute varies; or a category is released as a value that is neither in the
        original nor in its order or tree.
    """
    original, released, complete_requests = _select_complete_records(
        original, released, complete_requests
    )
    settings: dict[str, Any] = {"whole": linked_at_once, "extra": extra}
    settings |= find_attacker_knowledge(original, released)
    weights, X = read_scaled_weights(original), original.matrix()
    if complete_requests:
        importance = complete_requests["importance"]
        settings["importance"] = importance if importance.any() else 1.0
        numbers = X[:, original.places]
        settings["delta"] = to_unweighted_spreads(
            complete_requests["delta"], numbers, weights
        )
    if not original.domains:
        return assess(X, released.matrix(), weights=weights, **settings)
    names = list(original.roles.quasi_identifier)
    one, other = (table.frame.select(names) for table in (original, released))
    types = {
        name: replace(declared, weight=1.0) for name, declared in original.types.items()
    }
    tables = one.to_native(), other.to_native()
    return assess(*tables, types, weights=weights, **settings)
