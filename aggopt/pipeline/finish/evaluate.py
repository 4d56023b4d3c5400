"""Round, audit and measure published values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa

from aggopt.core.standardise import Scale, to_unweighted_spreads
from aggopt.core.types import Bool, Floats, Labels
from aggopt.data.context.units import read_units
from aggopt.data.context.weights import read_scaled_weights
from aggopt.data.table import Table
from aggopt.encoding import Domain
from aggopt.encoding.clock import Clock
from aggopt.errors import TableError
from aggopt.job import Output
from aggopt.measure import WHOLE, Assessment, Measure, assess
from aggopt.pipeline.finish.published_values import round_release
from aggopt.pipeline.finish.rounding import choose_time_step
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.inputs import Progress, read_progress
from aggopt.pipeline.prepare.published_grid import choose_decimals
from aggopt.release.audit.audit import Audit, audit_release
from aggopt.release.audit.changes import WaveChanges
from aggopt.release.audit.counts import combine_codes, encode_entries
from aggopt.release.audit.dominance import make_dominance_requirements
from aggopt.release.audit.originals import GRID, Originals
from aggopt.release.manifest import partition_names


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Published values as they will be written, with their audit and their measures.

    Attributes
    ----------
    released
        The table that publishes the values, rounded.
    originals
        The quasi-identifiers before and after masking.
    audit
        The counts in the table, with the linkage, if the job limits it.
    measures
        None if no quasi-identifier varies among the complete records.
    complete : (n,)
        Which records miss nothing, before and after.
    """

    released: Table = field(repr=False)
    originals: Originals = field(repr=False)
    audit: Audit
    measures: Assessment | None
    complete: Bool = field(repr=False)

    def require_measures(self) -> Assessment:
        """Return the measures; refuse if none could be computed.

        Raises
        ------
        TableError
            No quasi-identifier varies among the complete records.
        """
        if self.measures is None:
            raise TableError(
                f"No quasi-identifier varies among the {int(self.complete.sum())} "
                "records of which nothing is missing: there is nothing to measure.",
                fix="pass a table with at least two complete records that differ.",
            )
        return self.measures


def ignore_audit(audit: Audit) -> None:
    """Accept any audit: a trial may violate requirements."""


def evaluate(
    partitioned: PartitionedTable,
    values: Floats,
    *,
    requests: Mapping[str, Floats] | None = None,
    linked_at_once: int = WHOLE,
    extra: Mapping[str, Measure] = MappingProxyType({}),
    check: Callable[[Audit], None] = ignore_audit,
    on_progress: Progress | None = None,
) -> Evaluation:
    """Return published values (n, d) rounded, with their audit and measures.

    `requests` take the place of the records' own.  More than `linked_at_once` records
    are linked in blocks, and `extra` are the user's measures.  `check` gets the audit
    before anything is measured, and again with the linkage: `Audit.require` refuses a
    release as early as it can.

    Raises
    ------
    TableError
        As `measure_release`, and whatever `check` raises.
    """
    report = read_progress(on_progress)
    report("audit", 0.0)
    released = round_release(partitioned, values)
    originals = compare_originals(
        partitioned.whole,
        released.matrix(),
        partitioned.job.output,
        partitioned.table,
        released,
        weights=partitioned.sampling.values if partitioned.sampling else None,
    )
    audit = audit_before_writing(partitioned, released, originals)
    check(audit)
    report("measure", 0.0)
    wanted = partitioned.asked if requests is None else dict(requests)
    measures = measure_if_varying(
        partitioned.table, released, wanted, extra, linked_at_once=linked_at_once
    )
    complete = find_complete(partitioned.whole, originals.after)
    of_all = measures is not None and complete.all()
    linkage = measures.linkage if measures is not None and of_all else None
    audit = audit.with_linkage(partitioned.job.privacy, linkage)
    check(audit)
    return Evaluation(released, originals, audit, measures, complete)


def audit_before_writing(
    partitioned: PartitionedTable, tried: Table, both: Originals | None = None
) -> Audit:
    """Return the audit of a released table that is not written yet.

    In a table of units each record is a unit.  With `both`, the values before and after
    masking, the audit also compares them.
    """
    job = partitioned.job
    units = partitioned.units
    return audit_release(
        tried.frame.to_native(),
        job.roles,
        job.privacy,
        partition_names(partitioned.blocks, job),
        decimal=job.input.decimal,
        originals=both,
        compatible=job.missing.report_compatible,
        bounds=job.attributes,
        units=units.unit_of_record if units and units.records is None else None,
        dropped=job.dropped,
        pseudonym=job.pseudonym,
        dominance=make_dominance_requirements(job, partitioned.weights_of_values),
    )


SAME_VALUES = (
    "the values of a group differ as written, so they show smaller groups: let each "
    "group publish one value per attribute, with another method under [aggregation]."
)


def count_changes_as_written(
    partitioned: PartitionedTable, released: Table
) -> WaveChanges | None:
    """Return the counts of changes between waves that the release shows, if any.

    Raises
    ------
    PrivacyError
        They show values of fewer than k, though their groups do not.
    """
    if partitioned.wave is None:
        return None
    names = partitioned.job.combination
    labels = combine_codes(encode_entries(released.frame[name]) for name in names)
    counted = partitioned.wave.counted(labels, partitioned.strata)
    counted.changes.require(SAME_VALUES)
    return counted


def compare_originals(
    before: Floats,
    after: Floats,
    output: Output,
    table: Table | None = None,
    released: Table | None = None,
    *,
    weights: Floats | None = None,
) -> Originals:
    """Return quasi-identifiers before and after (n, d), with rounding distances.

    That is half a step of the grid of published numbers, or `GRID` if larger. Without a
    table, all attributes are plain numbers.  `weights` (n,) are those of the means.
    """
    steps = np.zeros(before.shape[1])
    places = list(range(len(steps))) if table is None else table.places
    clocks = {} if table is None else _collect_clocks(table)
    if places:
        spreads = Scale.of(before[:, places]).spread.tolist()
        steps[places] = [
            compute_rounding_distance(spread, output, clocks.get(j))
            for j, spread in zip(places, spreads, strict=True)
        ]
    lengths = {j for j, clock in clocks.items() if pa.types.is_duration(clock.type)}
    dates = tuple(sorted({*clocks} - lengths))
    domains = {} if table is None else _collect_domains(table)
    spans = {} if table is None else table.spans
    if table is not None:
        places = [table.roles.quasi_identifier.index(n) for n in table.numeric]
        stated = {table.roles.quasi_identifier.index(n) for n in spans}
        places = [j for j in places if j not in stated]
    wide = None if released is None or not spans else released.find_wide()
    return Originals(
        *(before, after, steps, tuple(places), dates, tuple(lengths), domains),
        wide=wide,
        weights=weights,
    )


def _collect_domains(table: Table) -> dict[int, Domain]:
    """Return the domain of each category, by its position."""
    names = table.roles.quasi_identifier
    return {names.index(name): domain for name, domain in table.domains.items()}


def _collect_clocks(table: Table) -> dict[int, Clock]:
    """Return the unit and origin of each date attribute, by its position."""
    names = table.roles.quasi_identifier
    return {names.index(name): clock for name, clock in table.clocks.items()}


def compute_rounding_distance(
    spread: float, output: Output, clock: Clock | None
) -> float:
    """Return the largest change of a value by rounding, for this spread."""
    return max(GRID * spread, _compute_half_step(spread, output, clock))


def _compute_half_step(spread: float, output: Output, clock: Clock | None) -> float:
    """Return half the step of the grid of published values; 0 without a grid."""
    if clock is not None:
        return 0.5 * choose_time_step(clock, spread, output)
    place = choose_decimals(spread, output) if spread else None
    return 0.0 if place is None else 0.5 * float(f"1e{-place}")


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
    """Return a mask (n,) of records without missing values, before and after."""
    return np.asarray(~(np.isnan(before) | np.isnan(after)).any(axis=1))


def _select_complete_records(
    original: Table, released: Table, requests: dict[str, Floats]
) -> tuple[Table, Table, dict[str, Floats]]:
    """Return the complete records before and after masking, with requests."""
    rows = find_complete(original.matrix(), released.matrix())
    if rows.all():
        return original, released, requests
    one, other = (
        table.select_rows(np.flatnonzero(rows)) for table in (original, released)
    )
    return one, other, {name: wish[rows] for name, wish in requests.items()}


def find_attacker_knowledge(
    original: Table, released: Table
) -> dict[str, Labels | None]:
    """Return classes (n,) of records by an attacker's knowledge beyond masked values.

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

    Numbers that were recoded, and stay numbers, are compared with the numbers before;
    cells and merged labels are compared as recoded.

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
    original = original.as_read
    weights = read_scaled_weights(original)
    X = original.matrix()
    if complete_requests:
        importance = complete_requests["importance"]
        settings["importance"] = importance if importance.any() else 1.0
        numbers = X[:, original.places]
        settings["delta"] = to_unweighted_spreads(
            complete_requests["delta"], numbers, weights
        )
    if not (original.domains or original.spans):
        return assess(X, released.matrix(), weights=weights, **settings)
    names = list(original.roles.quasi_identifier)
    one, other = (table.frame.select(names) for table in (original, released))
    types = {
        name: replace(declared, weight=1.0) for name, declared in original.types.items()
    }
    return assess(
        one.to_native(), other.to_native(), types, weights=weights, **settings
    )
