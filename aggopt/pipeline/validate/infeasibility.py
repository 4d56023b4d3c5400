"""Explain which t is attainable, for error messages and notes."""

from collections.abc import Sequence
from typing import NamedTuple

from aggopt.data.context.confidential import Confidential, list_requirements
from aggopt.job import Privacy
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered


def suggest_measuring(privacy: Privacy) -> str:
    """Return the text on measuring an attainable t; empty without t."""
    if privacy.t is None:
        return ""
    return (
        " Or promise a larger t: aggopt.repair.held_t(release.labels, values) of a "
        "release without t names the smallest that its groups keep, and the group that "
        "blocks a smaller one."
    )


class SingleGroupReason(NamedTuple):
    """Why all records are in one group, and what else to do."""

    problem: str
    fix: str


def explain_single_group(
    confidential: Sequence[Confidential], privacy: Privacy
) -> SingleGroupReason | None:
    """Return why t-closeness put all records into one group, with a remedy.

    None if it requires no t, or only of attributes with one value.
    """
    close = [e for e in list_requirements(confidential) if isinstance(e, Closeness)]
    varying = [requirement for requirement in close if not requirement.trivial]
    if not varying:
        return None
    stated = f"t = {privacy.t:g}" + (f" and l = {privacy.l}" if privacy.l else "")
    reach_text = ""
    ways = "promise a larger t under [privacy]"
    reached = _find_two_groups(varying, privacy.k)
    if reached is not None:
        name, t, proven = reached
        at_least = "At the least, two groups" if proven else "Two groups"
        reach_text = (
            f" {at_least} of {privacy.k} records or more are at t = {t:g} for {name!r} "
            "(aggopt.repair.smallest_t)."
        )
        if t > privacy.t:
            ways += f", above {t:g}"
        elif len(varying) == 1:
            ways = f'try repair = "sweep" under [privacy], or {ways}'
    return SingleGroupReason(
        f"To keep {stated}, all records form one group.{reach_text}", f"{ways}."
    )


def _find_two_groups(
    varying: Sequence[Closeness], k: int
) -> tuple[str, float, bool] | None:
    """Return the attribute whose two groups need the largest t, with t and proof."""
    from aggopt.repair.feasibility import find_reachable

    reachable = [
        (requirement.attribute, reach.t, reach.bound > 0)
        for requirement in varying
        if isinstance(requirement.distance, Ordered)
        for reach in [find_reachable(requirement.distance, k, 2)]
    ]
    return max(reachable, key=lambda one: one[1], default=None)
