"""The section on strata, and on the treatment of small ones."""

from collections.abc import Mapping
from typing import Literal

from pydantic import Field, StrictInt

from aggopt.core.section import Section, list_written_keys
from aggopt.errors import JobError
from aggopt.job._attributes import AttributeSection
from aggopt.job.roles import Roles


class Strata(Section):
    """Settings of groups within strata, and of small strata.

    Attributes
    ----------
    small
        Treatment of strata of fewer than k records: "refuse"; "merge", each with the
        nearest one; or "drop", which leaves their records out of the release.
    keep
        The scope in which an aggregation of numbers keeps means and variances: each
        "stratum", or "overall".
    jobs
        The number of processes that share the strata.  It does not change the release,
        unless a time limit ends a search.
    """

    small: Literal["refuse", "merge", "drop"] = "refuse"
    keep: Literal["stratum", "overall"] = "stratum"
    jobs: StrictInt = Field(default=1, ge=1)


def require_strata(
    strata: Strata, roles: Roles, attributes: Mapping[str, AttributeSection]
) -> None:
    """Refuse settings of strata that have no effect.

    Raises
    ------
    JobError
        The table has no strata; or a stratum column has settings other than the
        distance of its values, or has these without strata to merge.
    """
    if list_written_keys(strata) and not roles.stratum:
        raise JobError(
            "[strata] is given, and no column has the role stratum.",
            fix='name those that groups lie within, under [roles]: stratum = ["NAME"]; '
            "or leave the section out.",
        )
    for name in filter(attributes.__contains__, roles.stratum):
        if strata.small != "merge" or not _is_near_only(attributes[name]):
            raise JobError(
                f"[attributes.{name}] is of a stratum, which is published as it is: "
                "only an order or a tree of its values does something, where small "
                "strata are merged.",
                fix='leave all else out, and set small = "merge" under [strata]; or '
                "leave the section out.",
            )


def _is_near_only(section: AttributeSection) -> bool:
    """Whether a section has an order or a tree, and nothing else that acts."""
    nothing = {"kind": None, "order": None, "tree": None}
    idle = section.model_copy(update=nothing) == AttributeSection()
    return idle and (section.order is not None or section.tree is not None)
