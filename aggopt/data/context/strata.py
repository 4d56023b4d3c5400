"""Records by stratum; strata of fewer than k records are merged with the nearest."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.equality import EqualByField
from aggopt.core.plural import plural
from aggopt.core.record_weights import compute_plain_group_means
from aggopt.core.types import F64, I64, Bool, Labels
from aggopt.core.validation import Floats, check_group_size
from aggopt.data.context.weights import read_sampling_weights, require_shared
from aggopt.data.parsing.categories import (
    find_domains,
    find_encoding_types,
    find_missing_entries,
    find_nodes,
    publish_nodes,
)
from aggopt.data.table import Table
from aggopt.encoding import AttributeType, Domain
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.job import Job


@dataclass(frozen=True, eq=False)
class RecordStrata(EqualByField):
    """The strata of a table, each of k records or more, and the counts of small ones.

    Attributes
    ----------
    labels : (n,)
        Stratum of each record, 0..s-1.
    small, records
        The number of strata with fewer than k records, and the number of their records.
    changed
        The number of records published in a stratum other than their own.
    is_released
        Whether each record of the input table is kept; None if all are.
    """

    labels: Labels = field(repr=False)
    small: int = 0
    records: int = 0
    changed: int = 0
    is_released: Bool | None = field(default=None, repr=False)

    @property
    def sizes(self) -> I64:
        """The number of records of each, (s,)."""
        return np.bincount(self.labels)

    @property
    def members(self) -> Iterator[Labels]:
        """Yield the rows of each."""
        ends = np.cumsum(self.sizes)[:-1]
        yield from np.split(np.argsort(self.labels, kind="stable"), ends)

    def select_rows(self, rows: Labels) -> "RecordStrata":
        """Return the strata of only these records, renumbered."""
        return RecordStrata(np.unique(self.labels[rows], return_inverse=True)[1])

    @property
    def notes(self) -> Iterator[str]:
        """Yield what became of small strata, in counts."""
        if self.small:
            changed = None if self.is_released is not None else self.changed
            yield describe_small_strata(self.small, self.records, changed)

    def to_dict(self) -> dict[str, Any]:
        """Return counts, ready for JSON."""
        dropped = 0 if self.is_released is None else self.records
        return count_strata(self.sizes, self.small, self.records, self.changed, dropped)


def count_strata(
    sizes: I64, small: int, records: int, changed: int, dropped: int
) -> dict[str, int]:
    """Return the counts of strata of these sizes (s,) and of the small ones, by name.

    Of the `records` of small strata some are `changed`, or all are `dropped`.
    """
    return {
        "strata": len(sizes),
        "smallest": int(sizes.min()),
        "small": small,
        "records": records,
        "changed": changed,
        "dropped": dropped,
    }


def describe_small_strata(small: int, records: int, changed: int | None) -> str:
    """Return a note on the treatment of small strata, in counts.

    `changed` records are published with other values; None if they are left out.
    """
    were = (
        f"{plural(small, 'stratum', 'strata')} had fewer than k records, "
        f"{plural(records, 'record')} in all"
    )
    if changed is None:
        return f"{were}: they are left out of the release."
    return (
        f"{were}: merged with the nearest, so that {plural(changed, 'record')} "
        f"{'is' if changed == 1 else 'are'} published with values of another stratum, "
        "or of a node above both."
    )


def stratify(table: Table, job: Job) -> tuple[Table, RecordStrata | None]:
    """Return the table that is masked, and its strata of k records or more each.

    A stratum is its values: records are in one if they have the same in each column,
    -0.0 and 0.0 among them, which are published as 0.0.
    Weights that are published unchanged are one of these columns.  Strata are None if
    no column has the role.  Small strata are merged in the columns of the table, or
    their records taken out, as the job says.

    Raises
    ------
    InfeasibleInputError
        Strata have fewer than k records, and are to be refused; or all have; or the
        table has fewer than k.
    TableError, JobError
        A value is missing, or not in the job's order or tree.
    """
    names = job.within
    if not names:
        return table, None
    if names != table.roles.stratum and (sampling := read_sampling_weights(table)):
        require_shared(sampling, job.privacy.k)
    require_complete(table.frame, table.roles.stratum)
    table = replace(table, frame=_with_one_zero(table.frame, names))
    domains = find_stratum_domains(table.frame, job)
    codes = np.stack([find_nodes(table.frame[n], domains[n]) for n in names], axis=1)
    keys, labels = _number_strata(codes)
    sizes = np.bincount(labels)
    few = sizes < job.privacy.k
    if not few.any():
        return table, RecordStrata(labels)
    small = int(few.sum())
    records = int(sizes[few].sum())
    if job.strata.small == "refuse":
        raise make_small_strata_error(
            small,
            len(sizes),
            records,
            job.privacy.k,
            fix='set small = "merge" under [strata], which puts each with the nearest '
            'one, or "drop", which leaves their records out; or name fewer columns as '
            "stratum, or a smaller k.",
        )
    if few.all() and job.strata.small == "drop":
        raise InfeasibleInputError(
            f"All {len(sizes)} strata have fewer than k = {job.privacy.k} records: "
            "without them there are none.",
            fix='choose a smaller k, fewer columns as stratum, or small = "merge".',
        )
    if job.strata.small == "drop":
        is_kept = ~few[labels]
        left = _number_strata(codes[is_kept])[1]
        return select_records(table, is_kept, job), RecordStrata(
            left, small, records, is_released=is_kept
        )
    check_group_size(job.privacy.k, len(labels))
    merged = merge_small_strata(
        keys, sizes, _compute_centres(table, job, labels), domains, job
    )[labels]
    changed = int((merged != codes).any(axis=1).sum())
    return _with(table, domains, merged), RecordStrata(
        _number_strata(merged)[1], small, records, changed
    )


def _with_one_zero(frame: nw.DataFrame[Any], names: Sequence[str]) -> nw.DataFrame[Any]:
    """Return a table with 0.0 for -0.0 in columns of these names: they are one value.

    A file distinguishes them, and an audit counts all values that a file distinguishes.
    """
    kinds = {name: frame.schema[name] for name in names}
    return frame.with_columns(
        *(
            nw.when(nw.col(name) == 0)
            .then(nw.lit(0.0, kind))
            .otherwise(nw.col(name))
            .alias(name)
            for name, kind in kinds.items()
            if kind.is_float()
        )
    )


def find_stratum_domains(frame: nw.DataFrame[Any], job: Job) -> Mapping[str, Domain]:
    """Return the domain of each stratum column.

    Raises
    ------
    TableError, JobError
        A value is not in the order or tree that the job gives.
    """
    names = job.within
    sections = {
        name: section for name, section in job.attributes.items() if name in names
    }
    types = dict.fromkeys(names, AttributeType("nominal"))
    return find_domains(
        frame, names, types | dict(find_encoding_types(frame, sections))
    )


def require_complete(frame: nw.DataFrame[Any], names: Sequence[str]) -> None:
    """Refuse columns of strata, of these names, with missing values.

    Raises
    ------
    TableError
        The message has how many there are.
    """
    for name in names:
        missing = int(find_missing_entries(frame[name]).sum())
        if missing:
            raise TableError(
                f"{name!r} is a stratum, and {plural(missing, 'value')} "
                f"{'is' if missing == 1 else 'are'} missing.",
                fix='give them a value of their own, such as "unknown", or remove '
                "those records.",
            )


def _number_strata(codes: I64) -> tuple[I64, Labels]:
    """Return the strata (s, q) of codes (n, q), in their order, and that of each."""
    keys, labels = np.unique(codes, axis=0, return_inverse=True)
    return keys, labels.ravel().astype(np.intp)


def make_small_strata_error(
    small: int, strata: int, records: int, k: int, *, fix: str
) -> InfeasibleInputError:
    """Return the error that `small` of all strata have fewer than k records."""
    return InfeasibleInputError(
        f"{small} of {plural(strata, 'stratum', 'strata')} "
        f"{'has' if small == 1 else 'have'} fewer than k = {k} records, "
        f"{plural(records, 'record')} in all.",
        fix=fix,
    )


def _compute_centres(table: Table, job: Job, labels: Labels) -> Floats:
    """Return the mean of each stratum's records, in their encoding.

    Missing values count as the mean of all.
    """
    records = np.asarray(table.encode(job.partition.weights))
    records = np.where(np.isnan(records), np.nanmean(records, axis=0), records)
    return compute_plain_group_means(records, labels)


def _with(table: Table, domains: Mapping[str, Domain], nodes: I64) -> Table:
    """Return the table with these nodes (n, q) in its columns of strata."""
    columns = [
        publish_nodes(table.frame[name], domains[name], nodes[:, j].astype(np.float64))
        for j, name in enumerate(table.roles.stratum)
    ]
    return replace(table, frame=table.frame.with_columns(*columns))


def select_records(table: Table, is_kept: Bool, job: Job) -> Table:
    """Return the table of some records, checked again: levels may have disappeared."""
    part = table.select_rows(np.flatnonzero(is_kept))
    types = job.released_attributes  # the values are recoded already
    again = Table.of(part.native, table.roles, types, missing=job.missing)
    return replace(again, unrecoded=part.unrecoded)


def merge_small_strata(
    keys: I64, sizes: I64, centres: Floats, domains: Mapping[str, Domain], job: Job
) -> I64:
    """Return the values that each stratum is published with, (s, q) nodes.

    `keys` (s, q) are its values, `domains` the domains of the q columns, and `centres`
    (s, p) the means of its records.  The smallest stratum below k joins the nearest
    one, until none is below k.  By the order and the tree of columns, values that have
    neither being 1 apart; among strata equally near, and where no column has an order
    or a tree, by the distance of the means.  Both are then published as the nearest is,
    in a column with a tree as the lowest node above both.
    """
    state = _Merging(keys, sizes, centres, tuple(domains.values()))
    while (small := state.find_smallest(job.privacy.k)) >= 0:
        state.merge(small, state.find_nearest(small))
    return state.keys[state.into]


class _Merging:
    """Strata while they are merged: a stratum that is gone has no record."""

    def __init__(
        self, keys: I64, sizes: I64, centres: Floats, domains: tuple[Domain, ...]
    ) -> None:
        self.keys = keys.copy()
        self.sizes = sizes.copy()
        self.centres = centres.copy()
        self.domains = domains
        self.into = np.arange(len(keys))
        near = any(domain.kind != "nominal" for domain in domains)
        self.apart = [domain.distances for domain in domains] if near else []

    def find_smallest(self, k: int) -> int:
        """Return the smallest stratum of fewer than k records, or -1."""
        present = np.flatnonzero(self.sizes)
        first = int(present[self.sizes[present].argmin()])
        return first if self.sizes[first] < k else -1

    def find_nearest(self, small: int) -> int:
        """Return the stratum that is nearest to a small one."""
        others = np.flatnonzero(self.sizes)
        others = others[others != small]
        apart = ((self.centres[others] - self.centres[small]) ** 2).sum(axis=1)
        return int(
            others[np.lexsort((apart, self._compute_distances(others, small)))[0]]
        )

    def _compute_distances(self, others: I64, small: int) -> F64:
        """Return the distances of strata from a small one, by their values."""
        totals = np.zeros(len(others))
        for j, distances in enumerate(self.apart):
            totals += distances[self.keys[others, j], self.keys[small, j]]
        return totals

    def merge(self, small: int, near: int) -> None:
        """Publish two strata as one."""
        for j, domain in enumerate(self.domains):
            if domain.kind == "hierarchical":
                pair = self.keys[small, j], self.keys[near, j]
                self.keys[near, j] = _find_common_ancestor(
                    domain.parent, *map(int, pair)
                )
        sizes = self.sizes[[small, near]]
        self.centres[near] = np.average(self.centres[[small, near]], 0, weights=sizes)
        self.sizes[near] = sizes.sum()
        self.sizes[small] = 0
        self.into[self.into == small] = near


def _find_common_ancestor(parent: I64, one: int, other: int) -> int:
    """Return the lowest node that is one of two nodes, or above it, for both."""
    chain = {one}
    while (one := int(parent[one])) >= 0:
        chain.add(one)
    while other not in chain:
        other = int(parent[other])
    return other
