"""The record of each group that is nearest to its others, with all its categories."""

from math import fsum
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.categories._candidates import Candidates, attributes_in
from aggopt.aggregate.categories.published import PublishedTogether
from aggopt.core.deadline import Deadline
from aggopt.core.randomness import draw_uniforms, secret_from_seed
from aggopt.core.record_weights import check_weights, scale_to_mean_one
from aggopt.core.validation import check_groups as numbered_groups
from aggopt.core.validation import require_seed
from aggopt.solvers import Certificate, Status


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
    of = attributes_in(attributes)
    label = numbered_groups(groups, len(of[0].codes))
    known = scale_to_mean_one(check_weights(weights, len(label)))
    candidates = Candidates.observed(of, label, known)
    away = np.zeros(len(label))
    for each in of:
        m = each.domain.m
        steps = each.domain.steps[:m, :m] * (candidates.unit / each.domain.unit)
        away += (each.counts(label, known) @ steps)[label, each.codes]
    chance = draw_uniforms(secret_from_seed(seed), "equally near records", len(label))
    order = np.lexsort((chance, away, label))
    nearest = order[np.append(0, np.bincount(label).cumsum()[:-1])]
    total = fsum(away[nearest]) / candidates.unit
    proof = Certificate(Status.OPTIMAL, total, total, 0.0, "closed form", clock.spent)
    return PublishedTogether(
        candidates.published(candidates.own[nearest], label, proof)
    )
