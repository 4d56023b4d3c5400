"""What is required of confidential values beside those of all other records.

How far a group lies from the table, and where levels end, depends on all records: how
often each value occurs is counted before there are blocks, and again in what was
written.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa
from scipy import sparse

from aggopt.core.types import I64
from aggopt.engine.config import Config, InLeaves
from aggopt.engine.strata import buckets_of
from aggopt.engine.workspace import (
    hand_out,
    handed_out,
    load,
    load_table,
    save,
    save_table,
)
from aggopt.errors import InfeasibleInputError
from aggopt.input.confidential import Confidential, confidential_of
from aggopt.input.values_of_parts import WholeAttribute, occurring, occurring_in_all
from aggopt.job import Job

WIDEST = 16  # blocks that may go together: tasks read one at a time


def asks_all(job: Job) -> bool:
    """Whether it depends on all records what a group of some must have."""
    privacy = job.privacy
    treated = (privacy.treatment(name) for name in job.roles.confidential)
    levels = any(treatment.levels is not None for treatment in treated)
    return "t" in privacy.asked or ("l" in privacy.asked and levels)


def count_values(rows: pa.Table, step: str, number: int, config: Config) -> None:
    """Write how often each confidential value occurs in some records, if asked for."""
    if not asks_all(config.job):
        return
    for j, name in enumerate(config.job.roles.confidential):
        save_table(config.at(f"{step}-{j}", number), occurring(rows.column(name)))


def whole_of(step: str, count: int, config: Config) -> Path | None:
    """Return where tasks find what is asked of all records; None if nothing is.

    Raises
    ------
    TableError, JobError, InfeasibleInputError
        Confidential values do not fit what the job says of them.
    """
    job = config.job
    if not asks_all(job):
        return None
    found = []
    for j, name in enumerate(job.roles.confidential):
        parts = map(load_table, config.all(f"{step}-{j}", count))
        together = occurring_in_all(parts, name)
        found.append(WholeAttribute.of(name, together, job.privacy, job.input.decimal))
    to = config.work / f"whole-{step}"
    hand_out(to, tuple(found))
    return to


def held_of(frame: nw.DataFrame[pa.Table], config: Config) -> tuple[Confidential, ...]:
    """Return the confidential attributes of some records, and what is asked of them."""
    job = config.job
    if config.whole is None:
        return confidential_of(frame, job.roles, job.privacy, job.input.decimal)
    return tuple(
        each.among(frame[each.held.name], job.input.decimal)
        for each in _wholes(config.whole)
    )


def count_leaves(rows: pa.Table, leaf: I64, number: int, config: InLeaves) -> None:
    """Write how often each confidential value occurs in each leaf, if asked for."""
    if config.whole is None:
        return
    found, frame = {}, nw.from_native(rows, eager_only=True)
    for j, each in enumerate(_wholes(config.whole)):
        which = each.which(frame[each.held.name], config.job.input.decimal)
        pairs = leaf * len(each.held.codes) + which
        found[f"{j} pairs"], found[f"{j} counts"] = np.unique(pairs, return_counts=True)
    save(config.at("leaves", number), **found)


def keeping(config: InLeaves) -> Callable[[Sequence[int]], bool]:
    """Return what says whether all records of some leaves may be one group.

    A block that is one may be made so by merging, whatever its groups are.
    """
    if config.whole is None:
        return lambda leaves: True
    wholes = _wholes(config.whole)
    counts = [_in_leaves(j, each, config) for j, each in enumerate(wholes)]

    def keep(leaves: Sequence[int]) -> bool:
        own = [np.asarray(table[list(leaves)].sum(axis=0)).ravel() for table in counts]
        _require_small(int(own[0].sum()), len(leaves), config)
        return all(map(_kept, wholes, own))

    return keep


def _wholes(path: Path) -> tuple[WholeAttribute, ...]:
    found: tuple[WholeAttribute, ...] = handed_out(path)
    return found


def _in_leaves(j: int, whole: WholeAttribute, config: InLeaves) -> sparse.csr_array:
    """Return how often each value occurs in each leaf, (leaves, values)."""
    shape = buckets_of(config), len(whole.held.codes)
    found = sparse.csr_array(shape, dtype=np.int64)
    for path in config.all("leaves", len(config.pieces)):
        held = load(path, f"{j} pairs", f"{j} counts")
        at = np.divmod(held[f"{j} pairs"], shape[1])
        found += sparse.csr_array((held[f"{j} counts"], at), shape)
    return found


def _kept(whole: WholeAttribute, counts: I64) -> bool:
    """Whether a group with so many records of each value keeps all that is asked."""
    there = np.flatnonzero(counts)
    records = np.repeat(there, counts[there])
    group = np.array([0, len(records)])
    return not any(each.broken(records, group)[0] for each in whole.requirements)


def _require_small(records: int, leaves: int, config: InLeaves) -> None:
    block = config.job.engine.block
    if leaves > 1 and records > WIDEST * block:
        raise InfeasibleInputError(
            f"Not even {records} records that lie together keep what is promised of "
            f"confidential values, and [engine] block = {block} allows no more.",
            fix="promise less of them, or choose a larger block.",
        )
