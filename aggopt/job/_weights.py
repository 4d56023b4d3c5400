"""The section on published sampling weights, and on their dominance."""

from typing import Literal

from pydantic import Field

from aggopt.core.section import Section, list_written_keys
from aggopt.errors import JobError
from aggopt.job._strata import Strata
from aggopt.job.roles import Roles


class Sampling(Section):
    """Published sampling weights, and the requirement on the weights in a group.

    Attributes
    ----------
    published
        The weights in a release: the "group mean"; no column, "drop"; or unchanged
        weights, "as is", which are then part of every combination that k refers to.
    dominance
        No record has more than this share of the weight of its group.  [privacy]
        dominance refers to amounts, and only causes notes.
    """

    published: Literal["group mean", "drop", "as is"] = "group mean"
    dominance: float = Field(default=0.6, gt=0, le=1, allow_inf_nan=False, strict=True)


def require_weights(weights: Sampling, roles: Roles, strata: Strata) -> None:
    """Refuse settings of weights that cannot be satisfied.

    Raises
    ------
    JobError
        No column has weights; or they are published unchanged, which makes them a
        stratum, and strata are to be merged.
    """
    if list_written_keys(weights) and not roles.weight:
        raise JobError(
            "[weights] is given, and no column has the role weight.",
            fix='name that of the sampling weights, under [roles]: weight = "NAME"; '
            "or leave the section out.",
        )
    if weights.published == "as is" and strata.small == "merge":
        raise JobError(
            '[weights] published = "as is" makes groups within equal weights, and '
            '[strata] small = "merge" would publish records with those of others.',
            fix='set published = "group mean" under [weights], or small = "refuse" or '
            '"drop" under [strata].',
        )
