"""Attributes partitioned in blocks, each block independently."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.progress import Progress, require_progress
from aggopt.core.validation import Floats, group_size, groups, is_whole
from aggopt.encoding._encoded import Encoded
from aggopt.errors import JobError, PrivacyError, naming, require_known
from aggopt.partition._registry import (
    PARTITIONERS,
    Divide,
    Partitioner,
    Takes,
    block_methods,
)
from aggopt.partition._shared.evidence import squares
from aggopt.partition._shared.result import Block, Partition, together
from aggopt.partition._shared.scaling import lines_of, own_units, scaled
from aggopt.solvers import Status


def in_blocks(
    X: npt.ArrayLike,
    k: int,
    blocks: Iterable[Iterable[int]],
    *,
    method: str | Divide = "mdav",
    progress: Progress | None = None,
    **settings: Any,
) -> Partition:
    """Return groups of attributes, each block of attributes partitioned independently.

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
    records = own_units(X)
    columns = _positions(blocks, _width(records))
    k = group_size(k, len(records))
    made = divided(records, k, columns, method, settings, progress)
    _require_sizes(made, k)
    return together([block.partition for block in made], columns)


def divided(
    X: Floats | Encoded,
    k: int,
    columns: Sequence[tuple[int, ...]],
    method: str | Divide,
    settings: Mapping[str, Any],
    progress: Progress | None = None,
    names: Sequence[object] | None = None,
) -> tuple[Block, ...]:
    """Return each block of columns of X (n, d), partitioned; raises as `in_blocks`.

    An error names the block by the `names` (d,) of its attributes, or else by
    positions.

    An error names the block, by the `names` (d,) of attributes or else by positions.
    """
    divide, on_progress = _partitioner(method), progress or (lambda share: None)
    called_so = names or range(_width(X))
    made = []
    for done, block in enumerate(columns):
        part = partial(_told, on_progress, done, len(columns))
        part(0.0)
        with naming(f"Attributes {_listed(called_so[j] for j in block)}"):
            found = _of_block(
                divide, part_of(X, block), k, {**settings, "progress": part}
            )
        made.append(Block(block, found))
    on_progress(1.0)
    return tuple(made)


def require_cover(
    blocks: Sequence[Sequence[Any]], members: Sequence[Any], kind: str
) -> None:
    """Refuse blocks unless each of `members` is in exactly one of them.

    Raises
    ------
    JobError
        A member is missing, repeated or unknown, or a block is empty; the message names
        it.
    """
    named = Counter(member for block in blocks for member in block)
    wrong = {
        "leave out": [m for m in members if m not in named],
        "name more than once": [m for m, times in named.items() if times > 1],
        f"name what is not a {kind}": [m for m in named if m not in members],
    }
    seen = [f"{what} {_listed(those)}" for what, those in wrong.items() if those]
    if not all(map(len, blocks)):
        seen.append("include an empty one")
    if seen:
        raise JobError(
            f"The blocks {'; they '.join(seen)}.",
            fix=f"name each {kind} in exactly one block: {_listed(members)}.",
        )


def _positions(blocks: Any, d: int) -> list[tuple[int, ...]]:
    try:
        columns = [tuple(block) for block in blocks]
    except TypeError:
        columns = None
    if columns is None or not all(is_whole(c) for block in columns for c in block):
        raise JobError(
            "blocks are not lists of column positions.",
            fix="pass for example [[0, 1], [2]].",
        )
    positions = [tuple(map(int, block)) for block in columns]
    require_cover(positions, range(d), "column")
    return positions


def _partitioner(method: str | Divide) -> Divide:
    if callable(method):
        known = [m for m in PARTITIONERS.values() if m.function is method]
        return _taking(known[0]) if known else method
    require_known("partition method", method, block_methods())
    return _taking(PARTITIONERS[method])


def _taking(method: Partitioner) -> Divide:
    """Return the function of a method for blocks (n, d), d = 1 if it groups one."""
    if method.takes is not Takes.ONE:
        return method.function
    return partial(_of_one, method)


def _width(X: Floats | Encoded) -> int:
    return len(X.attributes) if isinstance(X, Encoded) else X.shape[1]


def part_of(X: Floats | Encoded, block: tuple[int, ...]) -> Floats | Encoded:
    """Return one block of attributes."""
    return X.only(block) if isinstance(X, Encoded) else X[:, block]


def _of_block(
    divide: Divide, X: Floats | Encoded, k: int, settings: dict[str, Any]
) -> Partition:
    """Return the groups of one block, certified on z-scores unless already certified.

    A method that does not accept weights makes groups without them; its certificate is
    of the weighted loss.

    A method that takes no weights makes groups without them; their evidence is of the
    weighted loss.
    """
    clock = Deadline(None)
    weights = settings.get("weights")
    weighs = weights is not None and "weights" in signature(divide).parameters
    if not weighs:
        beside = ("weights", "dominance")
        settings = {k: v for k, v in settings.items() if k not in beside}
    found = called(divide, X, k, **settings)
    labels = groups(found, len(X))
    if isinstance(found, Partition) and (weighs or weights is None):
        return found
    Z, by = scaled(X, "z", weights), getattr(divide, "__name__", "your method")
    status = _ended(found)
    spent = clock.spent
    return Partition(
        labels,
        squares(Z, labels, k, by=by, seconds=spent, status=status, weights=weights),
    )


def _ended(found: object) -> Status:
    """Return the status of a search that minimised another loss than is certified."""
    stopped = isinstance(found, Partition) and found.interrupted
    return Status.INTERRUPTED if stopped else Status.HEURISTIC


def _of_one(
    method: Partitioner, X: Floats | Encoded, k: int, /, **settings: Any
) -> Partition:
    """Return the groups of the single attribute of a block (n, 1)."""
    if _width(X) > 1:
        raise JobError(
            f"{method.name} takes one attribute, and a block has {_width(X)}.",
            fix="name blocks of one, or take a method that groups several attributes "
            "together: mdav, cbfs, mhm, projection, vmdav.",
        )
    x = lines_of(X)[:, 0]
    found: Partition = called(method.function, x, k, **settings)
    return found


def _require_sizes(blocks: Sequence[Block], k: int) -> None:
    """Refuse groups that a method, possibly the user's, made smaller than k."""
    smallest = min(int(np.bincount(block.labels).min()) for block in blocks)
    if smallest < k:
        raise PrivacyError(
            f"The method made a group of {smallest}, but k = {k} is required.",
            fix="correct it, or name one of this package.",
        )


def called(step: Callable[..., Any], /, *data: Any, **settings: Any) -> Any:
    """Call a step, with `progress` among its settings only if it accepts one."""
    if "progress" not in signature(step).parameters:
        settings.pop("progress", None)
    return step(*data, **settings)


def _told(on_progress: Progress, done: int, of: int, share: float) -> None:
    on_progress((done + share) / of)


def _listed(members: Iterable[Any]) -> str:
    return ", ".join(map(repr, members))
