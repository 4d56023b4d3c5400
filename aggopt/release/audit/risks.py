"""Risks that a job requests, and risks that count equal records of the written file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from aggopt.core.equality import EqualByField
from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import Floats, Labels
from aggopt.data.parsing.entries import Moment, Values, make_entry_reader
from aggopt.data.table import Table
from aggopt.errors import TableError, naming
from aggopt.job import Job
from aggopt.measure import Assessment, risk
from aggopt.measure.risk.sample_uniques import check_size
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counts import combine_codes, encode_entries

Totals = dict[str, Any]
BEFORE = "original"
AFTER = "released"


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
        groups = {
            side: _find_groups(table, names[side]) for side, table in both.items()
        }
        return cls(job, original, released, groups)

    @property
    def n(self) -> int:
        return len(self.groups[AFTER])

    def keys(self, side: str) -> Any:
        """Return the quasi-identifiers of the original or the released table."""
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
    section = job.risk.by(job.roles)
    if section.idle:
        return None
    tables = _Both.of(original, released, job)
    weights = read_weight_column(original, section.weight, job)
    individual = {s: risk.individual_risk(g, weights) for s, g in tables.groups.items()}
    totals: Totals = {
        "population": tables.n if weights is None else float(weights.sum())
    }
    totals["individual"] = {
        side: _sum_risks(risks) for side, risks in individual.items()
    }
    records: dict[str, npt.NDArray[Any]] = {"individual_risk": individual[AFTER]}
    if section.unit:
        of_units, records["household_risk"] = _measure_units(tables, individual)
        totals["household"] = of_units
    if section.suda is not None:
        totals["suda"], records["suda"] = _measure_suda(tables, section.suda)
    if weights is not None:
        totals["dis"] = _measure_dis(tables, totals["population"])
        totals["dis_counts"] = {
            side: count_for_dis(groups) for side, groups in tables.groups.items()
        }
        totals["dominance"], records["weight_share"] = _measure_dominance(
            tables, weights
        )
    if section.target:
        totals["attribution"] = {
            name: _measure_guesses(tables, name) for name in section.target
        }
    return RiskMeasures(totals, records)


def require_risk(table: Table, job: Job) -> None:
    """Refuse now what `measure_risks` would refuse of a table once it is masked."""
    read_weight_column(table, job.risk.by(job.roles).weight, job)
    if job.risk.suda is not None:
        check_size(job.risk.suda, len(job.roles.combination))


def _find_groups(table: Table, names: Sequence[str]) -> Labels:
    """Return the combination of these columns of each record, (n,)."""
    return combine_codes(encode_entries(table.frame[name]) for name in names)


def read_weight_column(table: Table, name: str | None, job: Job) -> Floats | None:
    """Return the weights in a column (n,), or refuse them; None without a name."""
    if name is None:
        return None
    values = read_plain_column(table, name, job)
    with naming(f"Column {name!r}"):
        if values.dtype == object:
            raise TableError(
                f"{sum(not _is_number(v) for v in values)} of {len(values)} weights "
                "are no numbers.",
                fix="name another column as weight, or remove those records.",
            )
        return weight_of_each(values, len(values))


def read_plain_column(table: Table, name: str, job: Job) -> npt.NDArray[Any]:
    """Return a column that is not masked: numbers (n,) if it has no other value."""
    with naming(f"Column {name!r}"):
        values = Values.of(table.frame[name], make_entry_reader(job.input.decimal)).all
    return values.astype(np.float64) if all(map(_is_number, values)) else values


def _is_number(value: Any) -> bool:
    """Whether it is a number, or missing: no truth value, and no date."""
    plain = isinstance(value, int | float) and not isinstance(value, bool | Moment)
    return plain or value is None


def _sum_risks(risks: Floats) -> Totals:
    """Return the largest risk, and the sum: the expected number of matches."""
    return {"largest": float(risks.max()), "expected": float(risks.sum())}


def _measure_units(
    tables: _Both, individual: Mapping[str, Floats]
) -> tuple[Totals, Floats]:
    """Return expected values of units, and the released risk of each record's unit."""
    unit = _find_groups(tables.original, tables.job.risk.by(tables.job.roles).unit)
    first = np.unique(unit, return_index=True)[1]
    risks = {
        side: risk.household_risk(values, unit) for side, values in individual.items()
    }
    totals = {side: _sum_risks(values[first]) for side, values in risks.items()}
    return {"units": len(first), **totals}, risks[AFTER]


def _measure_suda(tables: _Both, size: int) -> tuple[Totals, npt.NDArray[Any]]:
    """Return the sums of the SUDA scores, and the scores of the original records."""
    scores = {side: risk.suda(tables.keys(side), size=size) for side in tables.groups}
    totals = {
        side: {"records": score.special, "largest": score.largest, "total": score.total}
        for side, score in scores.items()
    }
    return {"attributes": size, **totals}, scores[BEFORE].scores


def _measure_dis(tables: _Both, population: float) -> Totals:
    """Return the DIS score before and after masking, for a population of this size."""
    share = min(1.0, tables.n / population)
    return {side: risk.dis(groups, share) for side, groups in tables.groups.items()}


def count_for_dis(groups: Labels) -> dict[str, int]:
    """Return the counts for estimating `dis`, by name, of groups (n,)."""
    unique, paired = risk.count_unique_and_paired(groups)
    return {"unique": unique, "paired": paired}


def _measure_dominance(tables: _Both, weights: Floats) -> tuple[Totals, Floats]:
    """Return in how many groups one record holds most, and the share of each."""
    groups = tables.groups[AFTER]
    share = tables.job.privacy.dominance
    largest = risk.dominance(groups, weights)
    totals = {
        "above": share,
        "groups": int((largest > share).sum()),
        "largest": float(largest.max()),
    }
    return totals, np.asarray(weights / np.bincount(groups, weights)[groups])


def _measure_guesses(tables: _Both, name: str) -> Totals:
    """Return how often the most frequent value of a group is a record's own."""
    target = read_plain_column(tables.original, name, tables.job)
    names = tables.job.within
    public = _find_groups(tables.released, names) if names else None
    guesses = risk.attribution(tables.groups[AFTER], target, known=public)
    return {
        "share": guesses.share,
        "chance": guesses.chance,
        "undefined": guesses.undefined,
    }


def replace_counted_risks(measures: Assessment, audit: Audit) -> Assessment:
    """Return measures whose groups are the groups that the audit counted.

    Groups of floats are equal, except for values that the file distinguishes: 0 and -0,
    or 5 and 5.0, which another program wrote.
    """
    counted: dict[str, Any] = {
        "highest_risk": 1 / audit.combination,
        "average_risk": audit.whole.average_risk,
        "reidentifications": audit.groups,
    }
    types = None if measures.types is None else replace(measures.types, **counted)
    return replace(measures, **counted, types=types)


def record_risks(
    released: nw.DataFrame[Any], names: Sequence[str], units: Labels | None = None
) -> Floats:
    """Return the re-identification chance of each record, (n,), fractions in (0, 1].

    1 / records that share its combination of the attributes `names`, counted by the
    rules of the audit; or 1 / `units` (n,) that share it.
    """
    groups = combine_codes(encode_entries(released[name]) for name in names)
    counted = groups
    if units is not None:
        counted = np.unique(np.stack([groups, units]), axis=1)[0]
    return np.asarray(1 / np.bincount(counted)[groups])
