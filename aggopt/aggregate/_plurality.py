"""The category of each group that is nearest to its records' own."""

from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate._published_categories import PublishedCategories
from aggopt.core.deadline import Deadline
from aggopt.core.frame import one_column
from aggopt.core.randomness import seeded, uniforms
from aggopt.core.types import Bool
from aggopt.core.validation import groups as numbered_groups
from aggopt.core.validation import require_seed
from aggopt.encoding import AttributeType, Categories, EncodedAttribute
from aggopt.encoding._levels import categories_of
from aggopt.encoding._typed_column import RANKED, TypedColumn
from aggopt.errors import JobError, require_known
from aggopt.solvers import Certificate, Status

PUBLISH = ("leaf", "node", "ancestor")
ROUNDING = 1e-12  # by which sums of distances that a user gave may differ and be equal


def plurality(
    column: Any,
    groups: npt.ArrayLike,
    *,
    order: Any = None,
    tree: Any = None,
    publish: str = "leaf",
    seed: int = 0,
) -> PublishedCategories:
    """Return the category of each group with the least total distance from its records.

    Of names without an order it is the most frequent one; of an order the median, which
    is a level; of a tree a leaf, or a node where groups may publish less detail.

    Parameters
    ----------
    column : (n,)
        The attribute: a series or array of values; or an attribute of what
        `aggopt.encode` returns, whose order or tree is known.
    groups : (n,)
        Group of each record, 0..m-1.
    order, tree
        As in `aggopt.encoding.AttributeType`.  Without them values are all equally far
        apart, but for a categorical column with an order.
    publish : "leaf", "node" or "ancestor"
        "leaf" publishes a level that some record has; of a tree "node" any node, and
        "ancestor" the lowest node that is true of all records of the group.
    seed : int
        Of the choice among categories whose distances are equally small: one of them at
        random, not the first, which would be published too often.

    Returns
    -------
    PublishedCategories
        `.values` (n,), and a certificate: objective = bound = total distance, in which
        two levels are at most 1 apart.

    Raises
    ------
    JobError
        Groups that are none; an order or a tree that cannot be used, or both; "node" or
        "ancestor" without a tree; a seed below 0.
    TableError
        Values are missing, of several types, or not in the order or tree.

    Notes
    -----
    Of an even group of an order all levels between the middle two are equally near.
    How often each category is published differs from how often it is had: rare ones
    seldom win.  `frequencies` keeps that.

    Source: Domingo-Ferrer and Torra, Ordinal, continuous and heterogeneous k-anonymity
    through microaggregation, Data Mining and Knowledge Discovery 11(2), 2005, for
    plurality and median.

    Examples
    --------
    >>> groups = [0, 0, 0, 1, 1, 1]
    >>> plurality(["a", "a", "b", "c", "b", "c"], groups).values.tolist()
    ['a', 'a', 'a', 'c', 'c', 'c']
    >>> school = ["low", "high", "middle", "low", "low", "high"]
    >>> plurality(school, groups, order=["low", "middle", "high"]).centroids.tolist()
    ['middle', 'low']
    """
    clock = Deadline(None)
    require_known("way to publish a category", publish, PUBLISH)
    require_seed(seed)
    categories = categories_in(column, order, tree)
    _require_tree(categories, publish)
    label = numbered_groups(groups, len(categories.codes))
    costs = np.where(
        _allowed(categories, label, publish),
        categories.costs(label, nodes=publish != "leaf"),
        np.inf,
    )
    least = costs.min(axis=1)
    tied = costs <= least[:, None] * (1 + ROUNDING)
    choice = at_random(tied, seed)
    total = fsum(costs[np.arange(len(costs)), choice])
    proof = Certificate(Status.OPTIMAL, total, total, 0.0, "closed form", clock.spent)
    several = int((tied.sum(axis=1) > 1).sum())
    return PublishedCategories(categories.domain.nodes, choice, label, proof, several)


def categories_in(column: Any, order: Any, tree: Any) -> Categories:
    """Return the level of each record, inferred where nothing is said of it."""
    if isinstance(column, EncodedAttribute):
        if order is not None or tree is not None:
            raise JobError(
                "An encoded attribute has its order or tree already.",
                fix="leave order and tree out.",
            )
        return Categories(column.domain, column.codes)
    how = AttributeType(order=order, tree=tree)
    found = TypedColumn.of(one_column(column))
    inferred = "ordinal" if found.what == RANKED else "nominal"
    return categories_of(found, how.kind or inferred, how)


def _require_tree(categories: Categories, publish: str) -> None:
    if publish != "leaf" and categories.domain.kind != "hierarchical":
        raise JobError(
            f'publish = "{publish}" needs a tree.',
            fix='give one, {"lung": ["asthma", "flu"], "heart": ["attack"]}, or leave '
            "publish out.",
        )


def _allowed(categories: Categories, label: Any, publish: str) -> Bool:
    """Return what may be published: (levels,), (nodes,) or (groups, nodes)."""
    domain = categories.domain
    if publish == "leaf":
        return categories.observed
    if publish == "node":
        return np.ones(len(domain.nodes), bool)
    counts = categories.counts(label)
    covered = counts @ domain.above.astype(np.int64)
    return np.asarray(covered == counts.sum(axis=1)[:, None])


def at_random(tied: Bool, seed: int) -> Any:
    """Return one of the tied categories of each group, (groups,)."""
    drawn = np.full(tied.shape, -1.0)
    drawn[tied] = uniforms(seeded(seed), "tied categories", int(tied.sum()))
    return drawn.argmax(axis=1)
