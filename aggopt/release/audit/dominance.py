"""Requirement on the share of sampling weights of one record in a group."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.types import Bool, Floats
from aggopt.job import Job
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Check
from aggopt.release.audit.originals import Grouped


def select_value_weights(weights: Floats, is_present: Bool) -> Floats:
    """Return the weights (n,) of records, or (n, d) if some values are missing.

    `is_present` (n, d) marks the values that decide on an attribute's published values;
    other values have no weight in it.
    """
    if is_present.all():
        return weights
    return np.asarray(np.where(is_present, weights[:, None], 0.0))


def make_dominance_requirements(
    job: Job, weights: Floats | None
) -> tuple[Dominance, ...]:
    """Return the job's requirement on these weights, (n,) or (n, d) of `of_values`.

    One requirement of all attributes, or one of each; none without weights, or if
    any share is allowed.
    """
    if weights is None or job.weights.dominance == 1:
        return ()
    (name,) = job.roles.weight
    columns = [weights] if weights.ndim == 1 else weights.T
    return tuple(Dominance(column, job.weights.dominance, name) for column in columns)


def find_most_dominated(
    requirements: Sequence[Dominance], groups: Sequence[Grouped]
) -> list[Check]:
    """Return the result for the group that one record dominates most; else nothing.

    `groups` are the groups of each block of attributes, with the positions of these.
    """
    shares = [
        requirement.check(labels)
        for columns, labels in groups
        for requirement in (
            requirements
            if len(requirements) < 2
            else [requirements[j] for j in columns]
        )
    ]
    return [max(shares, key=lambda check: check.found)] if shares else []
