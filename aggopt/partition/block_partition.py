"""Attributes partitioned in blocks, each block independently."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress, require_progress
from aggopt.core.validation import (
    Floats,
    check_group_size,
    check_groups,
    is_whole_number,
)
from aggopt.encoding.encoded_table import Encoded
from aggopt.errors import JobError, PrivacyError, naming, require_known
from aggopt.partition.registry import (
    PARTITIONERS,
    AttributeUse,
    Partitioner,
    PartitionFunction,
    list_block_methods,
)
from aggopt.partition.shared.evidence import QUICK, certify_squares
from aggopt.partition.shared.result import (
    Block,
    Partition,
    budget_bound,
    combine_blocks,
)
from aggopt.partition.shared.scaling import read_columns, read_records, scale_records
from aggopt.solvers import Status


def in_blocks(
    X: npt.ArrayLike,
    k: int,
    blocks: Iterable[Iterable[int]],
    *,
    method: str | PartitionFunction = "mdav",
    progress: Progress | None = None,
    **settings: Any,
) -> Partition:
    """Return groups for each block of attributes, partitioned independently.

    The labels are (n, d); attributes of one block share a labelling.

    Warning: k then holds within each block only.  The more blocks, the smaller the loss
    and the higher the disclosure risk: the combination of all attributes is NOT
    k-anonymous, and most records can be unique.  An attacker with attributes of several
    blocks intersects their groups.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers in their own units: numbers, none missing.
    k : int
        Records per group of each block, at least; 1 <= k <= n.
    blocks
        Lists of column positions, from 0, that name each column exactly once; one
        attribute at a time is [[0], [1], ...].  See `correlated_blocks`.  For an
        encoded table, positions of its attributes.
    method
        Method that partitions a block: a name ("mdav", "local_search", ..., or
        "univariate" for blocks of one attribute), or a function f(X, k, **settings)
        that returns a `Partition`, or labels (n,), which are certified on z-scores.
    progress
        Progress callback: called with the completed share, from 0.0 to 1.0.
    settings
        Arguments of the method, for every block.

    Returns
    -------
    Partition
        Group of each record for each attribute, 0..m-1; every aggregation accepts it.
        `certificates` has one for each block, in order; `certificate` is their sum.

    Raises
    ------
    JobError
        A column is in no block, in two, or does not exist; an unknown method; a block
        of several attributes for "univariate"; and the errors of the method.
    SolverError
        The solver of "univariate" returned no partition.
    PrivacyError
        Your function made a group that is too small.

    Source: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002, and Domingo-Ferrer,
    Microaggregation, Encyclopedia of Database Systems, 2009 (blocks, and one attribute
    at a time, which is individual ranking); Nin, Herranz and Torra, How to group
    attributes in multivariate microaggregation, IJUFKS 16(1), 2008: correlated
    attributes in one block lose less, spread over blocks they are at less risk.

    Examples
    --------
    >>> X = [[0.0, 9.0], [12.0, 1.0], [2.0, 2.0], [11.0, 8.0]]
    >>> in_blocks(X, 2, [[0], [1]]).labels
    array([[0, 0],
           [1, 1],
           [0, 1],
           [1, 0]])
    """
    require_progress(progress)
    records = read_records(X)
    columns = _require_positions(blocks, _count_attributes(records))
    k = check_group_size(k, len(records))
    partitioned = partition_blocks(records, k, columns, method, settings, progress)
    _require_sizes(partitioned, k)
    return combine_blocks([block.partition for block in partitioned], columns)


def partition_blocks(
    X: Floats | Encoded,
    k: int,
    columns: Sequence[tuple[int, ...]],
    method: str | PartitionFunction,
    settings: Mapping[str, Any],
    progress: Progress | None = None,
    names: Sequence[object] | None = None,
    bound: str | float = QUICK,
) -> tuple[Block, ...]:
    """Return the partition of each block of attributes of X (n, d).

    An error names the block by the `names` (d,) of its attributes, or else by
    positions.  The blocks share the budget of the `bound`, see `loss_bound`.
    """
    divide = _resolve_function(method)
    on_progress = progress or (lambda share: None)
    labels = names or range(_count_attributes(X))
    partitioned = []
    for done, block in enumerate(columns):
        part = partial(_report_share, on_progress, done, len(columns))
        part(0.0)
        with naming(f"Attributes {_join_names(labels[j] for j in block)}"):
            partition = _partition_block(
                divide, select_block(X, block), k, {**settings, "progress": part}
            )
        partition = budget_bound(partition, bound, 1 / len(columns))
        partitioned.append(Block(block, partition))
    on_progress(1.0)
    return tuple(partitioned)


def require_cover(
    blocks: Sequence[Sequence[Any]], members: Sequence[Any], kind: str
) -> None:
    """Raise a JobError unless each of `members` is in exactly one block.

    Raises
    ------
    JobError
        A member is missing, repeated or unknown, or a block is empty; the message names
        it.
    """
    counts = Counter(member for block in blocks for member in block)
    wrong = {
        "leave out": [m for m in members if m not in counts],
        "name more than once": [m for m, times in counts.items() if times > 1],
        f"name an unknown {kind}": [m for m in counts if m not in members],
    }
    problems = [
        f"{problem} {_join_names(positions)}"
        for problem, positions in wrong.items()
        if positions
    ]
    if not all(map(len, blocks)):
        problems.append("include an empty one")
    if problems:
        raise JobError(
            f"The blocks {'; they '.join(problems)}.",
            fix=f"name each {kind} in exactly one block: {_join_names(members)}.",
        )


def _require_positions(blocks: Any, d: int) -> list[tuple[int, ...]]:
    """Return blocks as tuples of columns; raise unless each of d is in one block."""
    try:
        columns = [tuple(block) for block in blocks]
    except TypeError:
        columns = None
    if columns is None or not all(
        is_whole_number(c) for block in columns for c in block
    ):
        raise JobError(
            "blocks are not lists of column positions.",
            fix="pass for example [[0, 1], [2]].",
        )
    positions = [tuple(map(int, block)) for block in columns]
    require_cover(positions, range(d), "column")
    return positions


def _resolve_function(method: str | PartitionFunction) -> PartitionFunction:
    """Return the partition function by name, adapted to blocks of attributes."""
    if callable(method):
        matches = [m for m in PARTITIONERS.values() if m.function is method]
        return _adapt_function(matches[0]) if matches else method
    require_known("partition method", method, list_block_methods())
    return _adapt_function(PARTITIONERS[method])


def _adapt_function(method: Partitioner) -> PartitionFunction:
    """Return a method's function, so that it accepts blocks (n, d) of attributes."""
    if method.takes is not AttributeUse.ONE:
        return method.function
    return partial(_partition_attribute, method)


def _count_attributes(X: Floats | Encoded) -> int:
    """Return the number of attributes of a table."""
    return len(X.attributes) if isinstance(X, Encoded) else X.shape[1]


def select_block(X: Floats | Encoded, block: tuple[int, ...]) -> Floats | Encoded:
    """Return the columns of one block of attributes."""
    return X.only(block) if isinstance(X, Encoded) else X[:, block]


def _partition_block(
    divide: PartitionFunction, X: Floats | Encoded, k: int, settings: dict[str, Any]
) -> Partition:
    """Return the partition of one block, certified on z-scores if not yet certified.

    A method that does not accept weights makes groups without them; its certificate is
    of the weighted loss.
    """
    clock = Deadline(None)
    weights = settings.get("weights")
    uses_weights = weights is not None and "weights" in signature(divide).parameters
    if not uses_weights:
        beside = ("weights", "dominance")
        settings = {k: v for k, v in settings.items() if k not in beside}
    result = call_with_progress(divide, X, k, **settings)
    labels = check_groups(result, len(X))
    if isinstance(result, Partition) and (uses_weights or weights is None):
        return result
    Z = scale_records(X, "z", weights)
    by = getattr(divide, "__name__", "your method")
    status = _infer_status(result)
    spent = clock.spent
    return Partition(
        labels,
        certify_squares(
            Z, labels, k, by=by, seconds=spent, status=status, weights=weights
        ),
    )


def _infer_status(result: object) -> Status:
    """Return the certificate's status for a result that minimised another loss."""
    stopped = isinstance(result, Partition) and result.interrupted
    return Status.INTERRUPTED if stopped else Status.HEURISTIC


def _partition_attribute(
    method: Partitioner, X: Floats | Encoded, k: int, /, **settings: Any
) -> Partition:
    """Return the partition of a block of a single attribute, (n, 1)."""
    d = _count_attributes(X)
    if d > 1:
        raise JobError(
            f"{method.name} takes one attribute, and a block has {d}.",
            fix="name blocks of one, or take a method that groups several attributes "
            "together: mdav, cbfs, mhm, projection, vmdav.",
        )
    x = read_columns(X)[:, 0]
    partition: Partition = call_with_progress(method.function, x, k, **settings)
    return partition


def _require_sizes(blocks: Sequence[Block], k: int) -> None:
    """Raise a PrivacyError if a group of any block has fewer than k records."""
    smallest = min(int(np.bincount(block.labels).min()) for block in blocks)
    if smallest < k:
        raise PrivacyError(
            f"The method made a group of {smallest}, but k = {k} is required.",
            fix="correct it, or name one of this package.",
        )


def call_with_progress(step: Callable[..., Any], /, *data: Any, **settings: Any) -> Any:
    """Call a function, with the setting `progress` only if it accepts one."""
    if "progress" not in signature(step).parameters:
        settings.pop("progress", None)
    return step(*data, **settings)


def _report_share(on_progress: Progress, done: int, count: int, share: float) -> None:
    """Report progress: `done` of `count` blocks, and a share of the next one."""
    on_progress((done + share) / count)


def _join_names(members: Iterable[Any]) -> str:
    """Return the representations of names as text, joined by commas."""
    return ", ".join(map(repr, members))
