"""Levels of a confidential attribute, and the diversity of groups in these levels."""

from math import exp, log

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import encode_values, iter_columns
from aggopt.core.types import F64, I64
from aggopt.core.validation import Labels, check_matrix, is_whole
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    TableError,
    require_known,
)
from aggopt.privacy.value_levels import equally_filled

WHOSE = "The confidential attribute"
KINDS = ("distinct", "entropy")
CLOSE = 1e-9  # entropies nearer than this are compared in whole numbers


def read_levels(
    confidential: npt.ArrayLike,
    n: int,
    levels: int | str,
    boundaries: npt.ArrayLike | None,
) -> I64:
    """Return the level of each record, (n,), 0..L-1, all of them present.

    Raises
    ------
    TableError
        The attribute does not have one value per record, or has non-numeric values.
    JobError
        levels or boundaries cannot be used.
    """
    attributes = [values for _, values in iter_columns(confidential, WHOSE)]
    if len(attributes) != 1 or len(attributes[0]) != n:
        shape = attributes[0].shape + (
            () if len(attributes) == 1 else (len(attributes),)
        )
        raise TableError(
            f"{WHOSE} has shape {shape}, but there are {n} records.",
            fix=f"pass one value per record, shape ({n},).",
        )
    if boundaries is None and isinstance(levels, str) and levels == "values":
        return np.asarray(encode_values(attributes[0]), np.int64)
    numbers = check_matrix(attributes[0][:, None], name=WHOSE)[:, 0]
    if boundaries is not None:
        cuts = _require_ascending(boundaries)
        return _number_levels(np.searchsorted(cuts, numbers, side="right"))
    if not is_whole(levels) or levels < 1:
        shown = levels if is_whole(levels) else type(levels).__name__
        raise JobError(
            f"levels = {shown}.",
            fix='pass the number of levels, levels=20, or "values" to make each '
            "value a level.",
        )
    return _number_levels(equally_filled(numbers, int(levels)))


def _number_levels(levels: npt.NDArray[np.generic]) -> I64:
    return np.asarray(np.unique(levels, return_inverse=True)[1], np.int64)


def _require_ascending(boundaries: npt.ArrayLike) -> F64:
    """Return boundaries as floats; refuse all but ascending finite numbers."""
    try:
        cuts = np.asarray(boundaries)
    except ValueError:  # of unequal length
        cuts = np.empty(0)
    if cuts.ndim != 1 or not cuts.size or cuts.dtype.kind not in "iuf":
        raise JobError(
            "boundaries are not a list of numbers.",
            fix="pass the boundaries between levels, ascending: [10, 20, 50].",
        )
    if not (np.isfinite(cuts).all() and (np.diff(cuts) > 0).all()):
        raise JobError(
            "boundaries are not strictly ascending finite numbers.",
            fix="sort them and name each once; a value on a boundary belongs to the "
            "level above.",
        )
    return cuts.astype(np.float64)


def require_kind(diversity: object) -> None:
    """Refuse a diversity that is not in `KINDS`."""
    require_known("diversity", diversity, KINDS)


def count_levels(labels: Labels, levels: I64) -> I64:
    """Return the number of records of each level in each group, (m, L)."""
    m = int(labels.max()) + 1
    width = int(levels.max()) + 1
    counted = np.bincount(labels * width + levels, minlength=m * width)
    return counted.reshape(m, width).astype(np.int64)


def is_diverse(counts: I64, l: int, kind: str) -> bool:  # noqa: E741
    """Whether a group with these counts (L,) has diversity l, decided exactly.

    Entropy: log s - (sum c log c) / s >= log l, equivalent to s^s >= l^s prod c^c.
    """
    present = [int(c) for c in counts if c]
    if kind == "distinct":
        return len(present) >= l
    excess = measure_diversity(counts, kind) - log(l)
    if abs(excess) > CLOSE:
        return excess > 0
    s = sum(present)
    product = 1
    for c in present:
        product *= c**c
    return bool(s**s >= l**s * product)


def measure_diversity(counts: I64, kind: str) -> float:
    """Return the diversity of a group: the number of levels, or the entropy."""
    present = counts[counts > 0]
    if kind == "distinct":
        return float(len(present))
    share = present / present.sum()
    return float(-(share * np.log(share)).sum())


def find_largest_l(counts: I64, kind: str) -> int:
    """Return the largest l that a group with these counts reaches."""
    diversity = measure_diversity(counts, kind)
    largest_l = round(exp(diversity)) if kind == "entropy" else int(diversity)
    return largest_l if is_diverse(counts, largest_l, kind) else max(largest_l - 1, 1)


def require_l(l: object) -> int:  # noqa: E741
    """Return l if it is a whole number of 1 or more; refuse others."""
    if not is_whole(l) or l < 1:
        shown = l if is_whole(l) else type(l).__name__
        raise JobError(f"l = {shown}.", fix="pass a whole number of at least 1: l=3.")
    return int(l)


def require_reachable(counts: I64, l: int, kind: str) -> None:  # noqa: E741
    """Refuse an l that exceeds the diversity of all records, counted by level."""
    if is_diverse(counts, l, kind):
        return
    largest_l = find_largest_l(counts, kind)
    present = int((counts > 0).sum())
    raise InfeasibleInputError(
        f"l = {l}, but all records together have {kind} diversity {largest_l}, in "
        f"{present} level(s).",
        fix=f"choose l of at most {largest_l}, or make more levels of the confidential "
        "attribute, of more equal size.",
    )
