"""Risks that a job requests in addition to those of every release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.equality import EqualByField
from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import Labels
from aggopt.core.validation import Floats
from aggopt.data.parsing.entries import Moment, Values, make_entry_reader
from aggopt.data.table import Table
from aggopt.errors import TableError, naming
from aggopt.job import Job
from aggopt.measure import risk
from aggopt.measure.risk._suda import check_size
from aggopt.release.audit.counts import combine_codes, encode_entries

Totals = dict[str, Any]
BEFORE, AFTER = "original", "released"


@dataclass(frozen=True, eq=False)
class RiskMeasures(EqualByField):
    """Measured risks of a release.

    Attributes
    ----------
    totals
        By name, of the original and of the released table if both exist; for the
        owner of the release.
    records
        Figures of each record (n,), by name.  Private.
    """

    totals: Totals
    records: Mapping[str, npt.NDArray[Any]] = field(repr=False)


@dataclass(frozen=True, eq=False)
class _Both:
    """A table and its release, in equal order, and the groups (n,) of both."""

    job: Job
    original: Table
    released: Table
    groups: Mapping[str, Labels]

    @classmethod
    def of(cls, original: Table, released: Table, job: Job) -> "_Both":
        both = {BEFORE: original, AFTER: released}
        names = {BEFORE: job.roles.combination, AFTER: job.combination}
        found = {side: _groups(table, names[side]) for side, table in both.items()}
        return cls(job, original, released, found)

    @property
    def n(self) -> int:
        return len(self.groups[AFTER])

    def keys(self, side: str) -> Any:
        table = self.original if side == BEFORE else self.released
        return table.frame.select(*self.job.roles.combination).to_native()


def measure_risks(original: Table, released: Table, job: Job) -> RiskMeasures | None:
    """Return the risks that [risk] requests; None if it requests nothing.

    Both tables have equal records in equal order.

    Raises
    ------
    TableError
        Weights are not positive numbers.
    InfeasibleInputError
        The number of combinations of attributes is too large.
    """
    asked = job.risk.by(job.roles)
    if asked.idle:
        return None
    tables = _Both.of(original, released, job)
    weights = read_weight_column(original, asked.weight, job)
    own = {s: risk.individual_risk(g, weights) for s, g in tables.groups.items()}
    totals: Totals = {"population": float(_total(weights, tables.n))}
    totals["individual"] = {side: _summed(found) for side, found in own.items()}
    records: dict[str, npt.NDArray[Any]] = {"individual_risk": own[AFTER]}
    if asked.unit:
        of_units, records["household_risk"] = _of_units(tables, own)
        totals["household"] = of_units
    if asked.suda is not None:
        totals["suda"], records["suda"] = _special(tables, asked.suda)
    if weights is not None:
        totals["dis"] = _by_chance(tables, totals["population"])
        totals["dis_counts"] = {
            side: count_for_dis(groups) for side, groups in tables.groups.items()
        }
        totals["dominance"], records["weight_share"] = _dominance(tables, weights)
    if asked.target:
        totals["attribution"] = {name: _guessed(tables, name) for name in asked.target}
    return RiskMeasures(totals, records)


def require_risk(table: Table, job: Job) -> None:
    """Refuse now what `measure_risks` would refuse of a table once it is masked."""
    read_weight_column(table, job.risk.by(job.roles).weight, job)
    if job.risk.suda is not None:
        check_size(job.risk.suda, len(job.roles.combination))


def _groups(table: Table, names: Sequence[str]) -> Labels:
    """Return the combination of these columns of each record, (n,)."""
    return combine_codes(encode_entries(table.frame[name]) for name in names)


def read_weight_column(table: Table, name: str | None, job: Job) -> Floats | None:
    """Return the weights in a column (n,), or refuse them; None without a name."""
    if name is None:
        return None
    found = read_plain_column(table, name, job)
    with naming(f"Column {name!r}"):
        if found.dtype == object:
            raise TableError(
                f"{sum(not _is_number(v) for v in found)} of {len(found)} weights are "
                "no numbers.",
                fix="name another column as weight, or remove those records.",
            )
        return weight_of_each(found, len(found))


def read_plain_column(table: Table, name: str, job: Job) -> npt.NDArray[Any]:
    """Return a column that is not masked: numbers (n,) if it has no other value."""
    with naming(f"Column {name!r}"):
        found = Values.of(table.frame[name], make_entry_reader(job.input.decimal)).all
    return found.astype(np.float64) if all(map(_is_number, found)) else found


def _is_number(value: Any) -> bool:
    """Whether it is a number, or missing: no truth value, and no date."""
    plain = isinstance(value, int | float) and not isinstance(value, bool | Moment)
    return plain or value is None


def _total(weights: Floats | None, n: int) -> float:
    return n if weights is None else float(weights.sum())


def _summed(found: Floats) -> Totals:
    return {"largest": float(found.max()), "expected": float(found.sum())}


def _of_units(tables: _Both, own: Mapping[str, Floats]) -> tuple[Totals, Floats]:
    """Return expected values of units, and the released risk of each record's unit."""
    unit = _groups(tables.original, tables.job.risk.by(tables.job.roles).unit)
    first = np.unique(unit, return_index=True)[1]
    found = {side: risk.household_risk(each, unit) for side, each in own.items()}
    totals = {side: _summed(each[first]) for side, each in found.items()}
    return {"units": len(first), **totals}, found[AFTER]


def _special(tables: _Both, size: int) -> tuple[Totals, npt.NDArray[Any]]:
    """Return the SUDA scores in sums, and those of the original records."""
    found = {side: risk.suda(tables.keys(side), size=size) for side in tables.groups}
    totals = {
        side: {"records": each.special, "largest": each.largest, "total": each.total}
        for side, each in found.items()
    }
    return {"attributes": size, **totals}, found[BEFORE].scores


def _by_chance(tables: _Both, population: float) -> Totals:
    share = min(1.0, tables.n / population)
    return {side: risk.dis(each, share) for side, each in tables.groups.items()}


def count_for_dis(groups: Labels) -> dict[str, int]:
    """Return the counts by which `dis` is estimated, by name, of groups (n,)."""
    unique, paired = risk.count_unique_and_paired(groups)
    return {"unique": unique, "paired": paired}


def _dominance(tables: _Both, weights: Floats) -> tuple[Totals, Floats]:
    """Return in how many groups one record holds most, and the share of each."""
    groups, share = tables.groups[AFTER], tables.job.privacy.dominance
    largest = risk.dominance(groups, weights)
    totals = {
        "above": share,
        "groups": int((largest > share).sum()),
        "largest": float(largest.max()),
    }
    return totals, np.asarray(weights / np.bincount(groups, weights)[groups])


def _guessed(tables: _Both, name: str) -> Totals:
    target = read_plain_column(tables.original, name, tables.job)
    names = tables.job.within
    known = _groups(tables.released, names) if names else None
    found = risk.attribution(tables.groups[AFTER], target, known=known)
    return {
        "share": found.share,
        "chance": found.chance,
        "undefined": found.undefined,
    }
