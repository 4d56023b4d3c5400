"""What is possible where a promise is not: said in the refusals of jobs."""

from aggopt.errors import InfeasibleInputError
from aggopt.job import Privacy
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
    ways.append("give the attribute another role")
    return InfeasibleInputError(
        f"l = {privacy.l} ({most.promise}) cannot be kept of {most.attribute!r}: all "
        f"{most.worst} records together have {most.found:.6g}, and not every group can "
        "have more.",
        fix=f"{', or '.join(ways)}.",
    )
