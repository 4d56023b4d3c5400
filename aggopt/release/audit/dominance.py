"""Requirement on the share of sampling weights of one record in a group."""

from collections.abc import Sequence

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.job import Job
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.requirement import Check
from aggopt.release.audit.unchanged import Grouped


def weights_of_values(weights: Floats, there: Bool) -> Floats:
    """Return the weights (n,) of records, or (n, d) if some values are missing.

    `there` (n, d) marks the values that decide on an attribute's published values;
    other values have no weight in it.
    """
    if there.all():
        return weights
    return np.asarray(np.where(there, weights[:, None], 0.0))


def dominance_requirement(job: Job, weights: Floats | None) -> tuple[Dominance, ...]:
    """Return the job's requirement on these weights, (n,) or (n, d) of `of_values`.

    One requirement of all attributes, or one of each; none without weights, or if
    any share is allowed.
    """
    if weights is None or job.weights.dominance == 1:
        return ()
    (name,) = job.roles.weight
    each = [weights] if weights.ndim == 1 else weights.T
    return tuple(Dominance(own, job.weights.dominance, name) for own in each)


def find_most_dominated(
    asked: Sequence[Dominance], groups: Sequence[Grouped]
) -> list[Check]:
    """Return the result for the group that one record dominates most; else nothing.

    `groups` are the groups of each block of attributes, with the positions of these.
    """
    found = [
        each.check(labels)
        for columns, labels in groups
        for each in (asked if len(asked) < 2 else [asked[j] for j in columns])
    ]
    return [max(found, key=lambda check: check.found)] if found else []
