"""Statistics that an aggregation of numbers keeps, and methods that support them."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from pydantic import model_validator

from aggopt.aggregate.aggregation import Aggregation
from aggopt.aggregate.registry import Aggregating
from aggopt.core.section import Section
from aggopt.core.standardise import Scale
from aggopt.core.types import Floats, Labels
from aggopt.core.validation import check_vector, is_whole_number
from aggopt.errors import JobError, UnknownNameError, naming, require_known
from aggopt.solvers import Certificate

Statistic = Literal["nothing", "mean", "variance", "covariance"]
STATISTICS = ("nothing", "mean", "variance", "covariance")  # cumulative
ABLE = ("variance", "covariance", "regression")  # what programs of wishes can keep
TABLE = '{ covariance = ["NAME", ...], variance = ["NAME", ...] }'
FORMULA = '{ regression = "y ~ a + b" }'


def require_statistic(method: str, able: Sequence[str], keep: object) -> None:
    """Refuse a `keep` that is no statistic, or that the method cannot keep.

    Raises
    ------
    UnknownNameError
        `keep` is not a statistic.
    JobError
        The method has no program for it; the message has the reason and an alternative.
    """
    if keep not in STATISTICS:
        names = list_plain_statistics(able)
        raise UnknownNameError(f"statistic that {method} keeps", str(keep), names)
    require_able(method, able, str(keep))


def list_plain_statistics(able: Sequence[str]) -> list[str]:
    """Return the statistics among `able` that one word names, such as "mean"."""
    return [statistic for statistic in able if statistic in STATISTICS]


def require_able(method: str, able: Sequence[str], statistic: str) -> None:
    """Refuse a statistic that is not among the `able` ones of a method."""
    if statistic in able:
        return
    listed = " or ".join(f'"{name}"' for name in list_plain_statistics(able))
    why, instead = _explain_refusal(method, statistic)
    raise JobError(
        f'{method} with keep = "{statistic}": {why}.',
        fix=f"set keep = {listed}{instead}.",
    )


def _explain_refusal(method: str, keep: str) -> tuple[str, str]:
    """Return why a method cannot keep less, and an alternative, as two texts."""
    if method == "mean":
        return "the means of groups keep the mean, asked or not", ""
    return (
        "its program keeps mean and variance, and what is proven of it needs both",
        '; or method = "mean", which can keep less',
    )


class KeptApart(Section):
    """Statistics to keep, by attribute; every number is named once.

    Attributes
    ----------
    covariance
        Names of attributes that keep their covariance; or several lists of names, each
        with a separate covariance.
    variance, mean
        Names of attributes that keep this statistic.
    regression
        "y ~ a + b": a and b keep their covariance, and their covariances with y.
    """

    covariance: tuple[str, ...] | tuple[tuple[str, ...], ...] = ()
    variance: tuple[str, ...] = ()
    mean: tuple[str, ...] = ()
    regression: str | None = None

    @model_validator(mode="after")
    def _require_unique_names(self) -> Self:
        """Refuse an empty table, and attributes under several statistics."""
        counts = Counter(name for _, names in self.parts for name in names)
        if not counts or any(not names for _, names in self.parts):
            raise JobError("keep is a table that names nothing.", fix=f"write {TABLE}.")
        twice = [repr(name) for name, count in counts.items() if count > 1]
        if twice:
            raise JobError(
                f"keep names {', '.join(twice)} more than once.",
                fix="name each quasi-identifier under one statistic.",
            )
        return self

    @property
    def formula(self) -> tuple[str, tuple[str, ...]] | None:
        """The response and the attributes of the regression; None without one."""
        if self.regression is None:
            return None
        response, *right = (side.strip() for side in self.regression.split("~"))
        names = tuple(name.strip() for side in right for name in side.split("+"))
        if len(right) != 1 or not response or not all(names) or response in names:
            raise JobError(
                "keep.regression is no formula.", fix=f"write keep = {FORMULA}."
            )
        return response, names

    @property
    def parts(self) -> tuple[tuple[str, tuple[str, ...]], ...]:
        """Pairs of a statistic and the attributes that keep it."""
        nested = any(isinstance(entry, tuple) for entry in self.covariance)
        blocks = self.covariance if nested else filter(None, [self.covariance])
        parts = [("covariance", entry) for entry in blocks]
        if self.formula:
            parts.append(("regression", self.formula[1]))
        apart = ("variance", self.variance), ("mean", self.mean)
        return (*parts, *(part for part in apart if part[1]))  # type: ignore[arg-type]

    def __str__(self) -> str:
        """Return the kept statistics, in one line."""
        return "; ".join(
            f"{statistic} of {', '.join(names)}" for statistic, names in self.parts
        )


class Keeping(Aggregating):
    """Settings of an aggregation with a choice of kept statistics.

    Attributes
    ----------
    able
        The statistics that it can keep.
    """

    able: ClassVar[tuple[str, ...]] = ABLE
    keep: Statistic | KeptApart = "variance"

    @model_validator(mode="after")
    def _require_supported(self) -> Self:
        """Refuse a kept statistic that the method does not support."""
        for statistic in self.kinds:
            require_able(self.method, self.able, statistic)
        return self

    @property
    def kinds(self) -> tuple[str, ...]:
        """The distinct statistics that `keep` names."""
        if isinstance(self.keep, KeptApart):
            return tuple(dict.fromkeys(statistic for statistic, _ in self.keep.parts))
        return (self.keep,)

    @property
    def programs(self) -> "tuple[Aggregating, ...]":
        """Copies of the settings, one for each statistic in `keep`."""
        return tuple(self.model_copy(update={"keep": kind}) for kind in self.kinds)

    @property
    def keeps(self) -> frozenset[str]:
        """The statistics in `keep` and all weaker ones, of at least some attributes."""
        kinds = {"covariance" if kind == "regression" else kind for kind in self.kinds}
        strongest = max(map(STATISTICS.index, kinds))
        return frozenset(STATISTICS[1 : strongest + 1])


Keep = str | Mapping[str, Sequence[Any]]
KEYS = (*STATISTICS[1:], "regression")


class Part(NamedTuple):
    """Attributes (columns) that are solved together, or alike, and their statistic."""

    statistic: str
    columns: tuple[int, ...]


def split_by_statistic(
    method: str, able: Sequence[str], keep: Mapping[str, Sequence[Any]], d: int
) -> tuple[Part, ...]:
    """Return the attributes (columns) that keep each statistic in `keep`.

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
        nested = statistic == "covariance" and not all(map(is_whole_number, columns))
        for block in columns if nested else [columns]:
            parts.append(Part(statistic, tuple(block)))
    _require_each_once([j for part in parts for j in part.columns], d)
    return tuple(parts)


def _require_each_once(columns: Sequence[Any], d: int) -> None:
    """Refuse column numbers that are not each of 0..d-1 exactly once."""
    if not all(is_whole_number(j) and 0 <= j < d for j in columns):
        raise JobError(
            f"keep names columns that are none of the {d}.",
            fix=f"name columns by their numbers, from 0 to {d - 1}.",
        )
    counts = np.bincount(np.array(columns, np.intp), minlength=d)
    for wrong, times in ((counts > 1, "more than once"), (counts == 0, "not at all")):
        if wrong.any():
            raise JobError(
                f"keep names column(s) {np.flatnonzero(wrong).tolist()} {times}.",
                fix="name each column under one statistic.",
            )


def standardise_response(
    parts: Sequence[Part],
    response: npt.ArrayLike | None,
    n: int,
    weights: Floats | None = None,
) -> Floats | None:
    """Return the response (n,) of the regression in `parts` as z-scores, if any.

    By weights (n,), if records have some.

    Raises
    ------
    TableError
        The response has holes.
    JobError
        There is one without a regression, or a regression without it; or it is not of
        n records, or of one value.
    """
    has_regression = any(part.statistic == "regression" for part in parts)
    if response is None:
        if has_regression:
            raise JobError(
                "keep names a regression, and no response is given.",
                fix="pass response, the values (n,) that the regression is of.",
            )
        return None
    if not has_regression:
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
    """Return the start for the program of some columns: centroids, or a name.

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


def combine_parts(
    X: Floats,
    labels: Labels,
    parts: Sequence[Part],
    combine: Callable[[Part, Floats, Labels], Aggregation],
    progress: Callable[[float], None] | None = None,
) -> Aggregation:
    """Return one aggregation of X (n, d) from a call of `combine` for each part."""
    centroids = np.full((int(labels.max()) + 1, X.shape[1]), np.nan)
    solved: dict[tuple[int, ...], Certificate] = {}
    for done, part in enumerate(parts, start=1):
        columns = list(part.columns)
        part_labels = labels if labels.ndim == 1 else labels[:, columns]
        with naming(f"Column(s) {columns}"):
            aggregation = combine(part, X[:, columns], part_labels)
        centroids[: len(aggregation.centroids), columns] = aggregation.centroids
        blocks = aggregation.together or tuple((j,) for j in range(len(columns)))
        for few, proof in zip(blocks, aggregation.certificates, strict=True):
            solved[tuple(columns[j] for j in few)] = proof
        if progress:
            progress(done / len(parts))
    return Aggregation(centroids, labels, tuple(solved.values()), tuple(solved))
