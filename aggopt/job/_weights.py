"""The section that says how sampling weights are published, and that none dominates."""

from typing import Literal

from pydantic import Field

from aggopt.core.section import Section, written_keys
from aggopt.errors import JobError
from aggopt.job._roles import Roles
from aggopt.job._strata import Strata


class Sampling(Section):
    """What becomes of the sampling weights of records, and what groups keep of them.

    Attributes
    ----------
    published
        What a release has in their column: the "group mean"; nothing, "drop"; or the
        weights "as is", which then are part of every combination that k is of.
    dominance
        No record has more than this share of the weight of its group.  [privacy]
        dominance is of amounts, and of notes.
    """

    published: Literal["group mean", "drop", "as is"] = "group mean"
    dominance: float = Field(default=0.6, gt=0, le=1, allow_inf_nan=False, strict=True)


def require_weights(weights: Sampling, roles: Roles, strata: Strata) -> None:
    """Refuse what is said of weights and cannot be done.

    Raises
    ------
    JobError
        No column has them; or they are published as they are, and strata, of which
        they are one then, are to be merged.
    """
    if written_keys(weights) and not roles.weight:
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
