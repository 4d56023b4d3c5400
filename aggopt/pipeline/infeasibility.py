"""What is possible where a promise is not: said in the refusals of jobs."""

from collections.abc import Sequence
from typing import NamedTuple

from aggopt.errors import InfeasibleInputError
from aggopt.input.confidential import Confidential
from aggopt.job import Privacy
from aggopt.privacy._ordered import Ordered
from aggopt.privacy._promise import Kept


def measured(privacy: Privacy) -> str:
    """Say how to learn which t would do without a repair."""
    if privacy.t is None:
        return ""
    return (
        " Or promise a larger t: aggopt.repair.held_t(release.labels, values) of a "
        "release without t names the smallest that its groups keep, and the group that "
        "blocks a smaller one."
    )


def too_diverse(most: Kept, privacy: Privacy, distinct: int) -> InfeasibleInputError:
    """Return the refusal of an l that one group of all records does not keep."""
    possible = int(most.found)
    ways = [
        f"promise l of at most {possible}{'' if possible > 1 else ', that is none'}"
    ]
    if distinct > possible and privacy.diversity != "distinct":
        ways.append(f'diversity = "distinct", of which l = {distinct} is the largest')
    if privacy.diversity == "recursive":
        ways.append("a larger c")
    if privacy.treatment(most.attribute).levels is not None:
        ways.append(
            "other levels: equal values share one, and you may name where they end, "
            "levels = [...]; or none, so that l counts distinct values"
        )
    ways.append("drop the attribute, as identifier")
    return InfeasibleInputError(
        f"l = {privacy.l} ({most.promise}) cannot be kept of {most.attribute!r}: all "
        f"{most.worst} records together have {most.found:.6g}, and not every group can "
        "have more.",
        fix=f"{', or '.join(ways)}.",
    )


class Forced(NamedTuple):
    """Why all records are in one group, and what else to do."""

    problem: str
    fix: str


def forced(held: Sequence[Confidential], privacy: Privacy) -> Forced | None:
    """Return what to say where a job put all records into one group to keep its t.

    None if it promises none, or of attributes with one value only.
    """
    varying = [e for e in held if e.distance is not None and e.distance.unit]
    if privacy.t is None or not varying:
        return None
    stated = f"t = {privacy.t:g}" + (f" and l = {privacy.l}" if privacy.l else "")
    said, ways = "", "promise a larger t under [privacy]"
    reached = _two_groups(varying, privacy.k)
    if reached is not None:
        name, t, proven = reached
        at_least = "At the least, two groups" if proven else "Two groups"
        said = (
            f" {at_least} of {privacy.k} records or more are at t = {t:g} for {name!r} "
            "(aggopt.repair.smallest_t)."
        )
        if t > privacy.t:
            ways += f", above {t:g}"
        elif len(varying) == 1:
            ways = f'try repair = "sweep" under [privacy], or {ways}'
    return Forced(f"To keep {stated}, all records form one group.{said}", f"{ways}.")


def _two_groups(
    varying: Sequence[Confidential], k: int
) -> tuple[str, float, bool] | None:
    """Return whose t two groups reach worst, that t, and whether none is smaller."""
    from aggopt.repair._possible import reachable

    found = [
        (each.name, reach.t, reach.bound > 0)
        for each in varying
        if isinstance(each.distance, Ordered)
        for reach in [reachable(each.distance, k, 2)]
    ]
    return max(found, key=lambda one: one[1], default=None)
