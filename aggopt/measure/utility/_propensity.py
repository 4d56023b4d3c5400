"""Propensity: how well a classifier separates released from original records."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import combinations_with_replacement, islice, product
from typing import TYPE_CHECKING, Any

import numpy as np

from aggopt.core.memory import require_memory
from aggopt.core.types import I64, Bool, Labels
from aggopt.core.validation import Floats, is_whole_number, require_seed
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.measure.utility._frames import (
    is_complete,
    is_numeric,
    list_names,
    read_frames,
)

if TYPE_CHECKING:
    import pandas as pd

AT_ONCE = 2**20  # products of some records that are in memory together
MOST = 5000  # products: a decomposition of more takes an hour
STACKED = 4  # times the columns of all records: sorted, copied and classified
LARGE = 1_000_000  # numbers of which a decomposition takes seconds
FEWER = "pass fewer attributes, or use pmse_tree."
EVENTS = 10  # records of each table per coefficient, as Peduzzi et al. (1996) advise


@dataclass(frozen=True)
class Propensity:
    """The propensity mean squared error of a release.

    Attributes
    ----------
    pmse
        Mean of (p - c)^2.  p is the chance, by a record's values, that it is released,
        and c the share of released records.  From 0 to c(1 - c), which is 0.25 for
        tables of equal size.
    ratio
        pmse over its expectation for an independent table of the same distribution.
    terms
        Number of estimated coefficients, without the intercept.
    """

    pmse: float
    ratio: float
    terms: int


def pmse(original: Any, released: Any, *, order: int = 2) -> Propensity:
    """Return the propensity mean squared error by logistic regression; lower is better.

    Terms are all products of up to `order` attributes: unchanged numbers, and a truth
    value for each category.  With an order of 1 it would be 0 for every release that
    keeps the means, whatever else it loses, so an order of 1 is refused.  Its
    expectation, if the release were an independent table of the same distribution, is
    terms (1 - c)^2 c / N.  Masked records are not independent of the original ones, so
    ratios below 1 occur.

    Parameters
    ----------
    original, released
        Tables (n, d) and (m, d) with equal columns, in any order of records.  Records
        that miss a number are left out.
    order
        Attributes in a product, 2 or more.

    Raises
    ------
    TableError
        Not tables with equal columns, or no record is complete.
    JobError
        order is not a whole number of at least 2.
    InfeasibleInputError
        A table has fewer than 10 records per term, or there are more than 5000 terms.

    Source: Woo, Reiter, Oganian and Karr (2009); Snoke, Raab, Nowok, Dibben and
    Slavkovic (2018).

    Examples
    --------
    >>> pair = [[float(x % 7), float(x % 5)] for x in range(70)]
    >>> pmse(np.array(pair), np.array(pair)).ratio < 1e-6
    True
    """
    if not (is_whole_number(order) and order >= 2):
        raise JobError(
            "order is not a whole number of at least 2.",
            fix="leave it out, or pass order=2: of order 1 it is 0 of every release "
            "that keeps the means.",
        )
    Z, attributes, after = _stack_records(original, released)
    if not len(attributes):  # categories of one level
        return Propensity(0.0, 0.0, 0)
    smaller = int(min(after.sum(), (~after).sum()))
    products = _Products.of(Z, attributes, int(order))
    few = _bound_rank(products, smaller // EVENTS)
    if smaller < EVENTS * few:
        raise _explain_too_many(f"At least {few}", order, smaller)
    base = products.find_base()
    N = len(Z)
    c = float(after.mean())
    terms = base.shape[1]
    if smaller < EVENTS * terms:
        raise _explain_too_many(str(terms), order, smaller)
    if not terms:
        return Propensity(0.0, 0.0, 0)
    p = fit_chances(lambda: (block @ base for block in products.blocks()), after)
    mean_square = float(np.mean((p - c) ** 2))
    return Propensity(mean_square, mean_square / (terms * (1 - c) ** 2 * c / N), terms)


def pmse_tree(original: Any, released: Any, *, leaf: int = 20, seed: int = 0) -> float:
    """Return the propensity mean squared error by a decision tree; lower is better.

    As `pmse`, with the chance of the record's leaf: from 0 to 0.25 for tables of equal
    size, 0.25 if the tree separates all records.

    Parameters
    ----------
    original, released
        As in `pmse`.
    leaf
        Least number of records in a leaf.
    seed
        Seed of the order of trying attributes.

    Raises
    ------
    TableError
        As `pmse`.
    JobError
        leaf is not a whole number of at least 1, or seed is not a seed.

    Source: Woo et al. (2009); Bowen and Snoke (2021), with trees.

    Examples
    --------
    >>> pmse_tree(np.zeros((40, 1)), np.ones((40, 1)))
    0.25
    """
    require_seed(seed)
    if not (is_whole_number(leaf) and leaf >= 1):
        raise JobError("leaf is not a whole number of at least 1.", fix="pass leaf=20.")
    Z, _, after = _stack_records(original, released)
    order = np.lexsort((after, *Z.T))  # or sums would round otherwise in another one
    Z = Z[order]
    after = after[order]
    from sklearn.tree import DecisionTreeClassifier

    tree = DecisionTreeClassifier(min_samples_leaf=int(leaf), random_state=seed)
    p = tree.fit(Z, after).predict_proba(Z)[:, 1]
    return float(np.mean((p - after.mean()) ** 2))


def _stack_records(original: Any, released: Any) -> tuple[Floats, Labels, Bool]:
    """Return the records of both, (N, q), and whether each is a released one.

    Between them is the number of the attribute that each column (q,) is of.

    Raises
    ------
    MemoryLimitError
        Categories have too many levels: the columns do not fit memory.
    """
    frames = [frame[is_complete(frame)] for frame in read_frames(original, released)]
    if not all(map(len, frames)):
        raise TableError(
            "Every record of a table misses a number.",
            fix="leave out the columns with missing values.",
        )
    import pandas as pd

    rows = pd.concat(frames)
    after = np.repeat([False, True], [len(frame) for frame in frames])
    names = list_names(rows)
    widths = [
        1 if is_numeric(rows, name) else rows[name].nunique(dropna=False) - 1
        for name in names
    ]
    require_memory(
        STACKED * 8 * len(rows) * sum(widths),
        f"A comparison of {len(rows)} records in {sum(widths)} columns",
        "leave out the categories of most levels; or use a machine with more.",
    )
    attributes = np.arange(len(names)).repeat(widths)
    return (
        np.column_stack([_encode_attribute(rows, name) for name in names]),
        attributes,
        after,
    )


def _encode_attribute(rows: "pd.DataFrame", name: str) -> Floats:
    """Return an attribute as columns: a number, or all levels but the first."""
    if is_numeric(rows, name):
        return rows[[name]].to_numpy(np.float64)
    import pandas as pd

    codes, levels = pd.factorize(rows[name], use_na_sentinel=False)
    return np.asarray(codes[:, None] == np.arange(1, len(levels)), np.float64)


def _explain_too_many(terms: str, order: int, records: int) -> InfeasibleInputError:
    return InfeasibleInputError(
        f"{terms} terms of order {order} for {records} records: {EVENTS} records per "
        "term are needed.",
        fix=FEWER,
    )


@dataclass(frozen=True, eq=False)
class _Products:
    """All products of columns (N, q), each of mean 0 and variance 1 if it varies.

    They are computed for some records at a time, whenever they are needed: those of all
    records take far more memory than the tables.

    Attributes
    ----------
    columns : (N, q)
        The columns, each of mean 0 and variance 1 if it varies.
    factors : (t, order)
        Which columns each product has; the one behind the last has ones.
    scaler
        Subtracts the mean of each product, and divides by its standard deviation.
    """

    columns: Floats
    factors: Labels
    scaler: Any

    @classmethod
    def of(cls, Z: Floats, attributes: Labels, order: int) -> "_Products":
        """Return the products of up to `order` columns, of `attributes` (q,).

        Two levels of one category have no product: it is 0 for every record.

        Raises
        ------
        InfeasibleInputError
            They are more than `MOST`.
        """
        from sklearn.preprocessing import StandardScaler

        listed = islice(_list_factors(attributes, order), MOST + 1)
        factors = np.array(list(listed), np.intp)
        if len(factors) > MOST:
            raise InfeasibleInputError(
                f"More than {MOST} terms of order {order}, which would take hours.",
                fix=FEWER,
            )
        columns = StandardScaler().fit_transform(Z)
        products_of_columns = cls(
            columns, factors.reshape(-1, order), StandardScaler(copy=False)
        )
        for rows in products_of_columns._compute_spans():
            products_of_columns.scaler.partial_fit(products_of_columns._multiply(rows))
        return products_of_columns

    @property
    def shape(self) -> tuple[int, int]:
        """Numbers of records and of products."""
        return len(self.columns), len(self.factors)

    def of_records(self, rows: slice | I64) -> Floats:
        """Return the products of some records (b, t)."""
        return np.asarray(self.scaler.transform(self._multiply(rows)))

    def _multiply(self, rows: slice | I64) -> Floats:
        """Return the products of some records, not scaled."""
        some = self.columns[rows]
        some = np.column_stack([some, np.ones(len(some))])
        result = some[:, self.factors[:, 0]]
        for column in self.factors.T[1:]:
            result *= some[:, column]
        return result

    def blocks(self) -> Iterator[Floats]:
        """Yield the products of all records, of some at a time."""
        return map(self.of_records, self._compute_spans())

    def find_base(self) -> Floats:
        """Return the matrix (t, r) that makes them independent columns of variance 1.

        It has the singular values and right singular vectors of all products (N, t).
        """
        N, t = self.shape
        upper: Floats = np.zeros((0, t))
        for block in self.blocks():
            upper = np.asarray(np.linalg.qr(np.vstack([upper, block]), mode="r"))
        _, size, right = np.linalg.svd(upper, full_matrices=False)
        is_independent = size > size[:1] * max(N, t) * np.finfo(float).eps
        return np.asarray(np.sqrt(N) * (right[is_independent].T / size[is_independent]))

    def _compute_spans(self) -> Iterator[slice]:
        N, t = self.shape
        records = max(t, AT_ONCE // t)
        return (slice(start, start + records) for start in range(0, N, records))


def _list_factors(attributes: Labels, order: int) -> Iterator[tuple[int, ...]]:
    """Yield the columns of each product; the one behind the last has ones."""
    ones = len(attributes)
    columns = [
        np.flatnonzero(attributes == attribute) for attribute in np.unique(attributes)
    ]
    for size in range(1, order + 1):
        for chosen in combinations_with_replacement(range(len(columns)), size):
            several = [attribute for attribute in chosen if len(columns[attribute]) > 1]
            if len(several) == len(set(several)):  # else 0, or the level itself
                for factors in product(
                    *(columns[attribute].tolist() for attribute in chosen)
                ):
                    yield (*factors, *(ones,) * (order - size))


def _bound_rank(products: _Products, limit: int) -> int:
    """Return a lower bound on the rank of many products (N, t): that of some records.

    It costs a fraction of the rank; 0 where it would save little or show no more than
    `upper`.
    """
    N, t = products.shape
    rows = 2 * (limit + 1)
    if t <= limit or rows >= N or N * t < LARGE:
        return 0
    some = products.of_records(np.linspace(0, N - 1, rows).astype(np.int64))
    size = np.linalg.svd(some, compute_uv=False)
    largest = np.sqrt(N * t)  # no singular value of all products exceeds it
    return int(np.sum(size > largest * max(N, t) * np.finfo(float).eps))


PENALTY = 1e-6  # keeps coefficients finite where the two can be distinguished
STEPS = 100  # of Newton's method
DECREMENT = 1e-13  # half the decrease that the next step would bring, for each record


@dataclass(frozen=True, eq=False)
class _Fit:
    """The loss with some coefficients, its derivatives, and the chances (N,)."""

    loss: float
    gradient: Floats = field(repr=False)
    curvature: Floats = field(repr=False)
    chances: Floats = field(repr=False)


def fit_chances(blocks: Callable[[], Iterable[Floats]], is_released: Bool) -> Floats:
    """Return each record's chance (N,) to be a released one.

    `blocks` returns the columns (N, r) of all records, of some at a time, whenever it
    is called.  Newton's method, with steps that are halved until the loss decreases,
    minimises the negative log-likelihood and a penalty on all coefficients but the
    intercept.

    Source: McCullagh and Nelder, Generalized Linear Models (1989), section 4.
    """
    share = is_released.mean()
    width = next(iter(blocks())).shape[1]
    beta = np.zeros(width + 1)
    beta[0] = np.log(share / (1 - share))
    fit = _evaluate(blocks(), is_released, beta)
    for _ in range(STEPS):
        step = np.linalg.solve(fit.curvature, fit.gradient)
        if fit.gradient @ step <= DECREMENT * len(is_released):
            break
        tried = _evaluate(blocks(), is_released, beta - step)
        while tried.loss > fit.loss:
            step /= 2
            tried = _evaluate(blocks(), is_released, beta - step)
        beta = beta - step
        fit = tried
    return fit.chances


def _evaluate(blocks: Iterable[Floats], is_released: Bool, beta: Floats) -> _Fit:
    """Return the loss with coefficients `beta`, the intercept first."""
    from scipy.special import expit

    weights = np.append(0.0, np.full(len(beta) - 1, PENALTY))
    loss = float(weights @ beta**2) / 2
    gradient = weights * beta
    curvature = np.diag(weights)
    chances = np.empty(len(is_released))
    start = 0
    for block in blocks:
        rows = slice(start, start + len(block))
        F = np.column_stack([np.ones(len(block)), block])
        y = is_released[rows]
        score = F @ beta
        p = chances[rows] = expit(score)
        loss += float(np.logaddexp(0, np.where(y, -score, score)).sum())
        gradient += F.T @ (p - y)
        curvature += F.T @ (F * (p * (1 - p))[:, None])
        start += len(block)
    return _Fit(loss, gradient, curvature, chances)
