"""The category of each group that is nearest to its records' own."""

from collections import Counter
from collections.abc import Collection, Hashable, Sequence
from math import fsum
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictBool, model_validator

from aggopt.aggregate.categories._candidates import (
    Candidates,
    read_attributes,
    read_level_categories,
)
from aggopt.aggregate.categories.kept_combinations import choose_among_ties
from aggopt.aggregate.categories.published import PublishedCategories, PublishedTogether
from aggopt.aggregate.categories.registry import CategoryAggregator, CategorySection
from aggopt.core.deadline import Deadline
from aggopt.core.plural import plural
from aggopt.core.randomness import derive_secret, draw_permutation, draw_uniforms
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.types import F64, Bool, Labels
from aggopt.core.validation import check_groups as numbered_groups
from aggopt.core.validation import require_seed
from aggopt.encoding import Categories, Domain
from aggopt.errors import JobError, require_known
from aggopt.solvers import Certificate, Status
from aggopt.solvers.options import check_time_limit


def medoids(
    attributes: Any,
    groups: npt.ArrayLike,
    *,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
) -> PublishedTogether:
    """Return the categories of one record per group: the nearest to all others.

    Each group publishes a combination that one of its own records has, the one with the
    least total distance.  No combination without a record is published.

    Parameters
    ----------
    attributes
        The result of `aggopt.encode` for two categorical attributes or more, or a list
        of its attributes.  They count equally, regardless of their weights.
    groups : (n,)
        Group of each record, 0..m-1.
    seed : int
        Seed of the choice among equally near records.
    weights : (n,)
        As in `plurality`: distances from the others are weighted.

    Returns
    -------
    PublishedTogether
        `.values` (n, attributes), `.attributes` and one `.certificate`: objective =
        bound = the sum of the attributes' total distances, the least of all
        combinations that records of each group have.

    Raises
    ------
    JobError
        `attributes` are not two or more that are encoded, or not all categorical;
        invalid groups; a seed below 0.
    TableError
        Weights are not one number above 0 for each record.

    Examples
    --------
    >>> import aggopt, pandas as pd
    >>> people = pd.DataFrame({"sex": list("mmf"), "work": list("xyy")})
    >>> medoids(aggopt.encode(people), [0, 0, 0]).values.tolist()
    [['m', 'y'], ['m', 'y'], ['m', 'y']]
    """
    clock = Deadline(None)
    require_seed(seed)
    encoded = read_attributes(attributes)
    label = numbered_groups(groups, len(encoded[0].codes))
    mean_weights = scale_to_mean_one(check_weights(weights, len(label)))
    candidates = Candidates.observed(encoded, label, mean_weights)
    away = np.zeros(len(label))
    for categories in encoded:
        m = categories.domain.m
        steps = categories.domain.steps[:m, :m] * (
            candidates.unit / categories.domain.unit
        )
        away += (categories.counts(label, mean_weights) @ steps)[
            label, categories.codes
        ]
    chance = draw_uniforms(derive_secret(seed), "equally near records", len(label))
    order = np.lexsort((chance, away, label))
    nearest = order[np.append(0, np.bincount(label).cumsum()[:-1])]
    total = fsum(away[nearest]) / candidates.unit
    proof = Certificate(Status.OPTIMAL, total, total, 0.0, "closed form", clock.spent)
    return PublishedTogether(
        candidates.published(candidates.original[nearest], label, proof)
    )


PUBLISH = ("leaf", "node", "ancestor")
ROUNDING = 1e-12  # tolerance of equality for sums of distances that a user gave


def plurality(
    column: Any,
    groups: npt.ArrayLike,
    *,
    order: Any = None,
    tree: Any = None,
    publish: str = "leaf",
    time_limit: float | None = None,
    seed: int = 0,
    weights: npt.ArrayLike | None = None,
    avoid: Collection[Hashable] = (),
) -> PublishedCategories:
    """Return the category of each group with the least total distance from its records.

    For names without an order it is the most frequent one; for an order the median,
    which is a level; for a tree a leaf, or a node if groups may publish less detail.
    Among equally near categories, the choice keeps the number of records of each
    category as nearly as possible.

    Parameters
    ----------
    column : (n,)
        The attribute: a series or array of values; or an attribute of a result of
        `aggopt.encode`, whose order or tree is known.
    groups : (n,)
        Group of each record, 0..m-1.
    order, tree
        As in `aggopt.encoding.AttributeType`.  Without them all values are equally far
        apart, except in a categorical column with an order.
    publish : "leaf", "node" or "ancestor"
        "leaf" publishes a level that some record has; of a tree "node" any node, and
        "ancestor" the lowest node that is true of all records of the group.
    time_limit
        Seconds for the choice among categories that are equally near; 60 when omitted.
    seed : int
        Seed of the choice among equivalent groups.
    weights : (n,)
        Sampling weights, above 0, of any scale: distances and counts are weighted, by
        weights of mean 1.
    avoid
        Categories that no group publishes, as categories of few records.

    Returns
    -------
    PublishedCategories
        `.values` (n,), and a certificate: objective = bound = total distance, in which
        two levels are at most 1 apart.  `.ties` is the certificate of the choice among
        categories that are equally near: the total number of records by which the
        counts of categories differ, and its bound.

    Raises
    ------
    JobError
        Invalid groups; an order or a tree that cannot be used, or both; "node" or
        "ancestor" without a tree; a seed below 0, a time limit not above 0; all
        categories that a group may publish are to be avoided.
    TableError
        Values are missing, of several types, or not in the order or tree; weights that
        are not one number above 0 for each record.

    Notes
    -----
    In an even group with an order, all levels between the middle two are equally near.
    Published frequencies differ from the original ones, because rare categories are
    seldom chosen.  `frequencies` keeps them.

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
    check_time_limit(time_limit)
    categories = read_level_categories(column, order, tree)
    require_nodes(categories.domain, publish)
    label = numbered_groups(groups, len(categories.codes))
    mean_weights = scale_to_mean_one(check_weights(weights, len(label)))
    turn = draw_permutation(
        derive_secret(seed), "symmetric groups", int(label.max()) + 1
    )
    candidates = _list_candidates(categories, turn[label], publish, mean_weights)
    allowed = _mark_allowed(candidates, publish) & ~_mark_avoided(candidates, avoid)
    _require_candidates(allowed)
    losses = np.where(allowed, candidates.losses, np.inf)
    lowest = losses.min(axis=1)
    total = fsum(lowest) / candidates.unit
    proof = Certificate(Status.OPTIMAL, total, total, 0.0, "closed form", clock.spent)
    tied = losses <= lowest[:, None] * (1 + ROUNDING)
    picked, ties = choose_among_ties(candidates, tied, seed, time_limit)
    several = int((tied.sum(axis=1) > 1).sum())
    (published,) = candidates.published(
        picked[turn], label, proof, tied=several, ties=ties
    )
    return published


def require_nodes(domain: Domain, publish: str) -> None:
    """Refuse to publish a tree's nodes without a tree, or with duplicate names.

    Raises
    ------
    JobError
        The message does not name a node.
    """
    if publish == "leaf":
        return
    if domain.kind != "hierarchical" and len(domain.nodes) == domain.m:
        raise JobError(
            f'publish = "{publish}" needs a tree.',
            fix='give one, {"lung": ["asthma", "flu"], "heart": ["attack"]}, or leave '
            "publish out.",
        )
    shared = sum(times > 1 for times in Counter(domain.nodes).values())
    if shared:
        raise JobError(
            f"{plural(shared, 'name')} of the tree {'is' if shared == 1 else 'are'} "
            "that of several nodes: nobody could tell which of them is published.",
            fix='give each node a name of its own, or leave publish out: "leaf" '
            "publishes values alone.",
        )


def _list_candidates(
    categories: Categories, label: Labels, publish: str, weights: F64 | None
) -> Candidates:
    """Return the observed levels, or all nodes of the tree, as candidates."""
    if publish == "leaf":
        return Candidates.observed([categories], label, weights)
    return Candidates.all_nodes(categories, label, weights)


def _mark_allowed(candidates: Candidates, publish: str) -> Bool:
    """Return a mask of the candidates that groups may publish, (groups or 1, q)."""
    if publish != "ancestor":
        return np.ones((1, len(candidates.nodes)), bool)
    (categories,) = candidates.of
    counts = categories.counts(candidates.labels)
    covered = counts @ categories.domain.above.astype(np.int64)
    return np.asarray(covered == counts.sum(axis=1)[:, None])


def _mark_avoided(candidates: Candidates, avoid: Collection[Hashable]) -> Bool:
    """Return a mask (1, q) of the candidates with a name in `avoid`."""
    (categories,) = candidates.of
    names = categories.domain.nodes
    gone = frozenset(avoid)
    return np.array([[names[node] in gone for node in candidates.nodes[:, 0]]])


def _require_candidates(allowed: Bool) -> None:
    """Refuse if a group has no candidate left to publish."""
    lacking = int((~allowed.any(axis=1)).sum())
    if lacking:
        raise JobError(
            f"All categories that {plural(lacking, 'group')} may publish are to be "
            "avoided.",
            fix='avoid fewer; or of a tree set publish = "node", which may publish its '
            "root.",
        )


class Plurality(CategorySection):
    """Settings of `aggopt.aggregate.plurality`.

    With `occurring` the categories of a block are chosen together, by
    `aggopt.aggregate.medoids`.
    """

    of_job: ClassVar[frozenset[str]] = frozenset({"occurring"})
    method: Literal["plurality"] = "plurality"
    occurring: StrictBool = False
    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )

    @model_validator(mode="after")
    def _check(self) -> "Plurality":
        """Refuse a time limit with `occurring`, for which no solver runs."""
        if self.occurring and self.time_limit is not None:
            raise JobError(
                "[aggregation.categories] occurring = true takes no time_limit: no "
                "solver has a part in it.",
                fix="leave one of them out.",
            )
        return self

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments for the aggregation function; none if `occurring`."""
        settings = super().settings
        return {} if self.occurring else settings

    def together(self, blocks: Sequence[Sequence[str]]) -> list[tuple[str, ...]]:
        """Return the sets of attributes that are chosen together, from each block."""
        if not self.occurring:
            return super().together(blocks)
        return [tuple(block) for block in blocks if block]


AGGREGATOR = CategoryAggregator(
    name="plurality",
    when="the nearest category of each group; the default",
    rank=10,
    function=plurality,
    together=medoids,
    settings=Plurality,
    template="# occurring = true       # plurality: no combination that nobody has",
    certificate="total distance of records from what is published, the least there is",
)
