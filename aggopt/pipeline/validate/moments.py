"""Conditions of jobs that keep covariances: blocks, groups and response."""

from collections.abc import Sequence

import numpy as np

from aggopt.aggregate.kept_statistics import Keeping, KeptApart
from aggopt.core.plural import plural
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats
from aggopt.data.context.strata import RecordStrata
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, require_known
from aggopt.job import Job
from aggopt.models.shared.joint import compute_root
from aggopt.pipeline.prepare.job_settings import Columns, is_aggregated_by_stratum
from aggopt.pipeline.prepare.kept_moments import list_kept_columns, read_response

TOGETHER = {  # number of groups in addition to the rank, and the description
    "covariance": (1, "covariance matrix"),
    "regression": (2, "regression on attributes"),
}


def require_covariance(
    table: Table, X: Floats, places: Columns, job: Job, strata: RecordStrata | None
) -> None:
    """Refuse numbers X (n, p) if no groups of the job can keep their moments.

    `places` are the columns of X that are grouped together, block by block.  Each of
    the `strata` is checked if strata are aggregated separately.

    Raises
    ------
    JobError
        Attributes to keep together are not grouped together; or a table of `keep` names
        an attribute that is not a number, or omits a number.
    TableError
        The response of a regression is not a number in some records.
    InfeasibleInputError
        Their rank requires more groups than k allows.
    """
    if not isinstance(job.aggregation, Keeping):
        return
    keep = job.aggregation.keep
    apart = strata is not None and is_aggregated_by_stratum(job)
    rows = list(strata.members) if strata and apart else [np.arange(len(X))]
    who = "records of one stratum" if apart else "records"
    if isinstance(keep, KeptApart):
        _require_names(keep, table.numeric)
        if keep.formula:
            read_response(table, job)
        for what, columns in list_kept_columns(keep, table.numeric):
            if what in TOGETHER:
                _require_together(what, _count_blocks(places, columns))
                for stratum_rows in rows:
                    _require_kept(what, X[stratum_rows][:, columns], job, who)
    elif keep == "covariance":
        _require_together(keep, len(places))
        for stratum_rows in rows:
            _require_kept(keep, X[stratum_rows], job, who)


def _require_names(keep: KeptApart, names: Sequence[str]) -> None:
    kept_names = [name for _, part in keep.parts for name in part]
    for name in kept_names:
        require_known("quasi-identifier that is a number", name, names)
    left = [repr(name) for name in names if name not in kept_names]
    if left:
        raise JobError(
            f"keep does not name {', '.join(left)}.",
            fix="name every quasi-identifier that is a number under one statistic.",
        )


def _count_blocks(places: Columns, columns: Sequence[int]) -> int:
    """Return in how many blocks these columns are."""
    return sum(not set(block).isdisjoint(columns) for block in places)


def _require_together(what: str, blocks: int) -> None:
    """Refuse attributes in several blocks that are to be kept together."""
    if blocks > 1:
        raise JobError(
            f'keep = "{what}" is of attributes that are grouped together, and '
            f"[partition] attributes puts the numbers into {blocks} blocks.",
            fix='leave attributes out under [partition], or set keep = "variance".',
        )


def _require_kept(what: str, X: Floats, job: Job, who: str) -> None:
    """Refuse attributes X (n, p) of too few records to be kept together."""
    if np.isnan(X).any():
        return  # which is refused by itself
    scale = Scale.of(X)
    rank = len(compute_root(scale.standardise(X)[:, ~scale.constant]))
    more, matrix_kind = TOGETHER[what]
    groups = len(X) // job.privacy.k
    if groups < rank + more:
        raise InfeasibleInputError(
            f"{len(X)} {who} with k = {job.privacy.k} make {plural(groups, 'group')} "
            "at "
            f"most, and a {matrix_kind} of rank {rank} is kept by {rank + more} or "
            "more.",
            fix='choose a smaller k, fewer quasi-identifiers, or keep = "variance".',
        )
