"""The disclosure risk of a table before it is masked, by sets of its columns."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from math import comb
from typing import Any, Self

import numpy as np

from aggopt.core.types import AnyInt, Floats, Labels
from aggopt.data.context.units import read_units
from aggopt.data.parsing.recoding import select_recoded
from aggopt.data.table import Table
from aggopt.job import Job
from aggopt.measure import risk
from aggopt.pipeline.prepare.inputs import read_table
from aggopt.release.audit.counts import Count, combine_codes, encode_entries
from aggopt.release.audit.risks import count_for_dis, read_weight_column, require_risk

MOST_SETS = (
    500  # sets of quasi-identifiers that are counted: seconds of 100 000 records
)


@dataclass(frozen=True)
class KeyTable:
    """The combinations of a table of keys in a table that is not masked.

    Attributes
    ----------
    count
        The records by their combination.
    unsafe
        The number of combinations that fewer than k records share.
    """

    count: Count
    unsafe: int

    @classmethod
    def of(cls, names: Sequence[str], codes: Mapping[str, AnyInt], k: int) -> Self:
        """Return the counts of a table of keys, whose columns have these codes (n,)."""
        labels = combine_codes(codes[name] for name in names)
        unsafe = int((np.bincount(labels) < k).sum())
        return cls(Count.of(names, labels, k), unsafe)


@dataclass(frozen=True)
class OriginalRisk:
    """The probability that records of an unmasked table are identified.

    An intruder is assumed to know the quasi-identifiers and strata exactly.

    Attributes
    ----------
    k
        The k of the job; smaller groups are counted.
    population
        The sum of the weights; the number of records without weights.
    whole
        The combinations of all quasi-identifiers and strata.
    totals
        By name: `individual`, and if requested `household`, `suda`, `dis` and
        `dis_counts`.
    sets
        The combinations of fewer attributes, first the ones with most records in groups
        smaller than k.
    keys
        The tables of keys of the job.
    recoded
        The attributes that were recoded before they were counted.
    """

    k: int
    population: float
    whole: Count
    totals: Mapping[str, Any]
    sets: tuple[Count, ...]
    keys: tuple[KeyTable, ...] = ()
    recoded: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the risks as plain values, ready for JSON."""
        values = asdict(self)
        sets = (self.whole, *self.sets)
        counts = [asdict(keys) | {"total": keys.total} for keys in sets]
        return values | {"whole": counts[0], "sets": counts[1:]}


def measure_original_risk(original: Any, job: Job) -> OriginalRisk:
    """Return the risk of a table before masking, by the [risk] section of a job.

    `original` is the table, or the path of its file.

    Raises
    ------
    TableError, JobError
        The table cannot be used; or weights are not positive numbers.
    InfeasibleInputError
        Too many combinations of attributes exist for SUDA.
    """
    table, _ = read_table(original, job)
    require_risk(table, job)
    section = job.risk.by(job.roles)
    names = job.roles.combination
    k = job.privacy.k
    codes = {name: encode_entries(table.frame[name]) for name in names}
    groups = combine_codes(codes.values())
    units = read_units(table)
    weights = read_weight_column(table, section.weight, job)
    risks = risk.individual_risk(groups, weights)
    totals: dict[str, Any] = {"individual": _describe_risks(risks)}
    if section.unit:
        totals["household"] = _measure_units(risks, table, section.unit)
    if section.suda is not None:
        keys = table.frame.select(*names).to_native()
        suda = risk.suda(keys, size=section.suda)
        totals["suda"] = {
            "attributes": section.suda,
            "records": suda.special,
            "largest": suda.largest,
            "total": suda.total,
        }
    population = float(len(risks) if weights is None else weights.sum())
    if weights is not None:
        totals["dis"] = risk.dis(groups, min(1.0, len(risks) / population))
        totals["dis_counts"] = count_for_dis(groups)
    return OriginalRisk(
        k,
        population,
        Count.of(names, groups, k, units),
        totals,
        _count_sets(codes, k, units),
        tuple(
            KeyTable.of((*names, *job.roles.stratum), codes, k)
            for names in job.privacy.keys or ()
        ),
        tuple(select_recoded(names, job.attributes)),
    )


def _describe_risks(risks: Floats) -> dict[str, float]:
    """Return the largest, mean and summed risk of records or units, by name."""
    return {
        "largest": float(risks.max()),
        "average": float(risks.mean()),
        "expected": float(risks.sum()),
    }


def _measure_units(risks: Floats, table: Table, names: Sequence[str]) -> dict[str, Any]:
    """Return the number of units and their identification risks, by name."""
    unit = combine_codes(encode_entries(table.frame[name]) for name in names)
    first = np.unique(unit, return_index=True)[1]
    return {
        "units": len(first),
        **_describe_risks(risk.household_risk(risks, unit)[first]),
    }


def _count_sets(
    codes: Mapping[str, AnyInt], k: int, units: Labels | None
) -> tuple[Count, ...]:
    """Return the counts of combinations for subsets of attributes, riskiest first."""
    counts = [
        Count.of(names, combine_codes(codes[name] for name in names), k, units)
        for names in _iterate_name_sets([*codes])
    ]
    return tuple(sorted(counts, key=lambda c: (-c.rare, -c.unique, len(c.attributes))))


def _iterate_name_sets(names: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Yield the proper subsets of names, by size, up to about `MOST_SETS`."""
    d = len(names)
    sets = 0
    for size in range(1, d):
        sets += comb(d, size)
        if sets > MOST_SETS and size > 1:
            return
        yield from combinations(names, size)
