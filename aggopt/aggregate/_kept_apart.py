"""Different statistics to keep for different attributes, from a table of `keep`."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.kept_statistics import STATISTICS, require_able
from aggopt.core.standardise import Scale
from aggopt.core.validation import Floats, Labels, check_vector, is_whole
from aggopt.errors import JobError, naming, require_known
from aggopt.solvers import Certificate

Keep = str | Mapping[str, Sequence[Any]]
KEYS = (*STATISTICS[1:], "regression")


class Part(NamedTuple):
    """Attributes (columns) that are solved together, or alike, and their statistic."""

    statistic: str
    columns: tuple[int, ...]


def parts_of(
    method: str, able: Sequence[str], keep: Mapping[str, Sequence[Any]], d: int
) -> tuple[Part, ...]:
    """Return the parts of a table of columns, by statistic.

    Those under "covariance" may be lists of columns, each with its own covariance.

    Raises
    ------
    JobError
        An unknown statistic, or one that the method does not keep; no columns, or not
        each of the d exactly once.
    """
    parts = []
    for statistic, columns in keep.items():
        require_known("statistic in keep", statistic, KEYS)
        require_able(method, able, statistic)
        nested = statistic == "covariance" and not all(map(is_whole, columns))
        for own in columns if nested else [columns]:
            parts.append(Part(statistic, tuple(own)))
    _require_each_once([j for part in parts for j in part.columns], d)
    return tuple(parts)


def _require_each_once(columns: Sequence[Any], d: int) -> None:
    if not all(is_whole(j) and 0 <= j < d for j in columns):
        raise JobError(
            f"keep names columns that are none of the {d}.",
            fix=f"name columns by their numbers, from 0 to {d - 1}.",
        )
    counts = np.bincount(np.array(columns, np.intp), minlength=d)
    for wrong, said in ((counts > 1, "more than once"), (counts == 0, "not at all")):
        if wrong.any():
            raise JobError(
                f"keep names column(s) {np.flatnonzero(wrong).tolist()} {said}.",
                fix="name each column under one statistic.",
            )


def response_for(
    parts: Sequence[Part],
    response: npt.ArrayLike | None,
    n: int,
    weights: Floats | None = None,
) -> Floats | None:
    """Return the response (n,) of the regression in `parts`, standardised, if any.

    By weights (n,), if records have some.

    Raises
    ------
    TableError
        The response has holes.
    JobError
        There is one without a regression, or a regression without it; or it is not of
        n records, or of one value.
    """
    named = any(part.statistic == "regression" for part in parts)
    if response is None:
        if named:
            raise JobError(
                "keep names a regression, and no response is given.",
                fix="pass response, the values (n,) that the regression is of.",
            )
        return None
    if not named:
        raise JobError(
            "A response is given, and keep names no regression.",
            fix='pass keep={"regression": columns}, or leave the response out.',
        )
    y = check_vector(response, name="response")
    if len(y) != n or np.ptp(y) == 0:
        raise JobError(
            f"response has {len(y)} values for {n} records, or one value only.",
            fix="pass one value for each record, of which some differ.",
        )
    return Scale.of(y[:, None], weights).standardise(y[:, None])[:, 0]


def start_of(
    start: str | Floats | None, columns: Sequence[int], shape: tuple[int, int]
) -> str | Floats | None:
    """Return the start of the program of some columns, from centroids of this shape.

    Raises
    ------
    JobError
        Centroids have another shape.
    """
    if start is None or isinstance(start, str):
        return start
    if np.shape(start) != shape:
        raise JobError(
            f"start has shape {np.shape(start)}.",
            fix=f"pass centroids of shape {shape} in the original units.",
        )
    return np.asarray(start)[:, columns]


def put_together(
    X: Floats,
    labels: Labels,
    parts: Sequence[Part],
    combine: Callable[[Part, Floats, Labels], Aggregation],
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return what `combine` makes of the columns of each part of X (n, d)."""
    centroids = np.full((int(labels.max()) + 1, X.shape[1]), np.nan)
    solved: dict[tuple[int, ...], Certificate] = {}
    for done, part in enumerate(parts, start=1):
        columns = list(part.columns)
        own = labels if labels.ndim == 1 else labels[:, columns]
        with naming(f"Column(s) {columns}"):
            made = combine(part, X[:, columns], own)
        centroids[: len(made.centroids), columns] = made.centroids
        each = made.together or tuple((j,) for j in range(len(columns)))
        for few, proof in zip(each, made.certificates, strict=True):
            solved[tuple(columns[j] for j in few)] = proof
        if progress:
            progress(done / len(parts))
    return Aggregation(centroids, labels, tuple(solved.values()), tuple(solved))
