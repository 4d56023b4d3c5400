"""Computation of the figures of published tables by the methods of this package."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import product

import numpy as np

from aggopt.aggregate import mean, p3m
from aggopt.core.types import F64, Labels
from aggopt.errors import require_known
from aggopt.experiments.published import PublishedCell
from aggopt.measure import il, si, sl
from aggopt.partition import PARTITIONERS, mdav, mhm

GRID = (0.2, 0.4, 0.6, 0.8)  # of alpha and of Delta: the 16 pairs of the study of P3M

Figure = float | str


@dataclass(frozen=True, eq=False)
class StudyRecords:
    """StudyRecords X (n, d), and by name confidential values (n,) of them."""

    name: str
    X: F64 = field(repr=False)
    held: dict[str, F64] = field(default_factory=dict, repr=False)
    _groups: dict[int, Labels] = field(default_factory=dict, repr=False)

    def groups(self, k: int) -> Labels:
        """Return the groups of MDAV (n,), made once for each k."""
        if k not in self._groups:
            self._groups[k] = np.asarray(mdav(self.X, k))
        return self._groups[k]


def figure_of(method: str, records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return our figure in the place of a published one: a number, or two sizes.

    Loss, satisfaction and scores are in %; sizes are smallest/average group.
    """
    require_known("method in print", method, METHODS)
    return METHODS[method](records, cell)


def _loss(records: StudyRecords, cell: PublishedCell) -> Figure:
    X, order = records.X, cell.figure.removesuffix("-MHM").lower()
    by_order = cell.figure.endswith("-MHM")
    labels = mhm(X, cell.k, order=order) if by_order else records.groups(cell.k)
    return 100 * il(X, mean(X, labels).values)


def _satisfaction(records: StudyRecords, cell: PublishedCell) -> Figure:
    X, groups = records.X, records.groups(cell.k)
    if cell.figure == "means":
        return 100 * sl(X, mean(X, groups, keep="variance").values)
    return 100 * sl(X, p3m(X, groups).values)


def _satisfaction_at_random(records: StudyRecords, cell: PublishedCell) -> Figure:
    X, groups = records.X, records.groups(cell.k)
    weights = matlab_random(X.shape)
    if cell.figure == "means":
        return 100 * sl(X, mean(X, groups, keep="variance").values, importance=weights)
    return 100 * sl(X, p3m(X, groups, importance=weights).values, importance=weights)


def _score(records: StudyRecords, cell: PublishedCell) -> Figure:
    """Return SI in %; of P3M at the cell's alpha and delta, or the best of the grid."""
    X, groups = records.X, records.groups(cell.k)
    if cell.figure == "means":
        return 100 * si(X, mean(X, groups, keep="variance").values)
    alphas = GRID if cell.alpha is None else (cell.alpha,)
    deltas = GRID if cell.delta is None else (cell.delta,)
    pairs = product(alphas, deltas)
    found = (p3m(X, groups, alpha=a, delta=delta) for a, delta in pairs)
    return 100 * min(si(X, masked.values) for masked in found)


def _sizes(partition: str, records: StudyRecords, cell: PublishedCell) -> Figure:
    y, algorithm = records.held[cell.figure], PARTITIONERS[partition].function
    sizes = np.bincount(algorithm(records.X, y, cell.k, cell.t, bins="rank"))
    return f"{sizes.min()}/{len(y) // len(sizes)}"


def matlab_random(shape: tuple[int, ...]) -> F64:
    """Return the numbers of MATLAB's rand, seeded by 1: column by column."""
    drawn = np.random.RandomState(1).random_sample(int(np.prod(shape)))
    return drawn.reshape(shape, order="F")


CLOSE = ("merge_until_close", "anonymity_first", "closeness_first")
METHODS: dict[str, Callable[[StudyRecords, PublishedCell], Figure]] = {
    "information loss": _loss,
    "satisfaction": _satisfaction,
    "satisfaction, random importance": _satisfaction_at_random,
    "scoring index": _score,
    **{name: partial(_sizes, name) for name in CLOSE},
}
