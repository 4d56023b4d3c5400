"""Compiled certificate: the bound of multipliers over all pairs.  Imports numba.

Every number that may be rounded up is lowered by what rounding may have added: a sum of
T terms errs by T ROUNDING of their absolute sum at most.
"""

from typing import NamedTuple

import numpy as np

from aggopt.algorithms.pair_bound.box_kernels import measure
from aggopt.algorithms.pair_bound.row_kernels import (
    FIRST,
    SECOND,
    Cuts,
    find_level,
    find_sorted,
    represents,
)
from aggopt.algorithms.pair_bound.step_kernels import Matrix
from aggopt.core.compiled import unrefcounted, unrefcounted_inlined
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats

ROUNDING = 2.0**-52  # of one operation, and more
MORE = 12  # operations of a reduced cost beyond its terms and its attributes
MARGIN = 1e-9  # share of costs and multipliers, far more than rounding may add to it
TINY = 2.0**-960  # more than squares lose that are too small for a float


class Sums(NamedTuple):
    """Sums of the certificate, one number each: value, its rest, absolute values."""

    value: Floats
    rest: Floats
    size: Floats


@unrefcounted_inlined
def _add(sums: Sums, term: float) -> None:
    """Add a term without loss: Neumaier's summation."""
    value = sums.value[0]
    total = value + term
    if abs(value) >= abs(term):
        sums.rest[0] += (value - total) + term
    else:
        sums.rest[0] += (term - total) + value
    sums.value[0] = total
    sums.size[0] += abs(term)


@unrefcounted
def add_listed(
    matrix: Matrix, y: Floats, cuts: Floats, attributes: int, sums: Sums, prices: Floats
) -> None:
    """Add the bound of multipliers y (n,) and cuts (r,) without unlisted pairs.

    prices (n,) receives each record's part of it, but for the sides of cuts: half of a
    pair's.
    """
    n = len(matrix.low)
    m = len(matrix.first)
    for i in range(n):
        _add(sums, matrix.k * y[i])
        prices[i] = matrix.k * y[i]
    for r in range(len(cuts)):
        _add(sums, matrix.sides[r] * cuts[r])
    for column in range(m + n):
        record = column - m
        if record < 0:
            i = matrix.first[column]
            j = matrix.second[column]
            taken = matrix.masses[j] * y[i] + matrix.masses[i] * y[j]
            reduced = matrix.costs[column] - taken
            size = matrix.costs[column] + taken
        else:
            size = matrix.masses[record] * y[record]
            reduced = -size
        for e in range(matrix.start[column], matrix.start[column + 1]):
            part = matrix.entries[e] * cuts[matrix.rows[e]]
            reduced -= part
            size += abs(part)
        terms = matrix.start[column + 1] - matrix.start[column] + attributes + MORE
        reduced -= ROUNDING * terms * size + TINY
        if record < 0:
            if reduced < 0.0:
                _add_pair(matrix, i, j, reduced, sums, prices)
        else:
            edge = matrix.high[record] if reduced < 0.0 else matrix.low[record]
            _add(sums, reduced * edge)
            prices[record] += reduced * edge


@unrefcounted_inlined
def _add_pair(
    matrix: Matrix, i: int, j: int, reduced: float, sums: Sums, prices: Floats
) -> None:
    """Add a pair of negative reduced cost to the bound, and to both records' prices."""
    one, other = matrix.high[i], matrix.high[j]
    term = reduced * (one if one < other else other)
    _add(sums, term)
    prices[i] += 0.5 * term
    prices[j] += 0.5 * term


class Charges(NamedTuple):
    """What cuts take off pairs that are not listed.

    Attributes
    ----------
    cut_start, cut : (n + 1,), (e,)
        Cuts of common neighbours that have each record as an end.
    set_start, sets : (n + 1,), (q,)
        Sets that have each record as a member.
    common, sizes
        Multipliers of both families.
    counts : (n,)
        Multipliers of the counts, which every pair of a record has.
    row_start, rows : (n + 1,), (f,)
        Rows of promises that have each record as an apex.
    promises
        Multipliers of the rows of promises.
    most : (n,)
        What cuts take off a pair of each record, at most.
    """

    cut_start: I64
    cut: I32
    set_start: I64
    sets: I32
    common: Floats
    sizes: Floats
    counts: Floats
    row_start: I64
    rows: I32
    promises: Floats
    most: Floats


@unrefcounted
def add_unlisted(
    records: Floats,
    unit: float,
    matrix: Matrix,
    y: Floats,
    cuts: Cuts,
    charges: Charges,
    first: I32,
    second: I32,
    listed: I32,
    reduced_costs: Floats,
    sums: Sums,
    prices: Floats,
) -> None:
    """Add the pairs that are not listed, and set their reduced costs (q,)."""
    attributes = records.shape[1]
    for e in range(len(first)):
        reduced_costs[e] = 0.0
        if listed[e] >= 0:
            continue
        i = first[e]
        j = second[e]
        masses = matrix.masses
        distance = measure(records, i, j)
        cost = distance * unit * (masses[i] * masses[j])
        degrees = masses[j] * y[i] + masses[i] * y[j]
        cut_total = charges.most[i] + charges.most[j]
        spare = cost - degrees - MARGIN * (cost + degrees + cut_total)
        taken, size, terms = _charge(
            records, masses, cuts, charges, i, j, distance, cut_total, spare
        )
        if terms == 0:
            continue
        doubt = ROUNDING * (terms + attributes + MORE) * (cost + size + degrees) + TINY
        reduced = cost - taken - degrees - doubt
        if reduced < 0.0:
            reduced_costs[e] = reduced
            _add_pair(matrix, i, j, reduced, sums, prices)


@unrefcounted_inlined
def _charge(
    records: Floats,
    masses: Floats,
    cuts: Cuts,
    charges: Charges,
    i: int,
    j: int,
    distance: float,
    cut_total: float,
    spare: float,
) -> tuple[float, float, int]:
    """Return what cuts take off a pair that is no cut's own, its size, and terms.

    No terms if they take less than `spare`.  They take `cut_total` or less.
    """
    taken = charges.counts[i] + charges.counts[j]
    shared = 0.0
    terms = 4
    for which in range(2):
        end = i if which == 0 else j
        record = j if which == 0 else i
        for e in range(charges.cut_start[end], charges.cut_start[end + 1]):
            c = charges.cut[e]
            side = FIRST if cuts.ends[c, 0] == end else SECOND
            if represents(records, cuts, c, side, record, distance):
                taken += charges.common[c]
                terms += 1
            else:
                cut_total -= charges.common[c]
                if cut_total < spare:
                    return 0.0, 0.0, 0
        for e in range(charges.set_start[end], charges.set_start[end + 1]):
            u = charges.sets[e]
            at = find_sorted(
                cuts.member, cuts.set_start[u], cuts.set_start[u + 1], record
            )
            if at < 0:
                taken += masses[end] * charges.sizes[u]
                terms += 1
            else:
                cut_total -= masses[end] * charges.sizes[u]
        for e in range(charges.row_start[end], charges.row_start[end + 1]):
            f = charges.rows[e]
            part = charges.promises[f] * find_level(cuts, f, record)
            if part > 0.0:
                taken += part
            else:
                shared += part
            terms += 1
    return taken + shared, taken - shared, terms


def compute_total(sums: Sums, terms: int) -> float:
    """Return the sum, less what rounding may have added to `terms` of them."""
    value = float(sums.value[0] + sums.rest[0])
    doubt = ROUNDING * (8 + terms * ROUNDING * terms)
    return value - doubt * float(sums.size[0])


def make_sums() -> Sums:
    """Return empty sums."""
    return Sums(np.zeros(1), np.zeros(1), np.zeros(1))
