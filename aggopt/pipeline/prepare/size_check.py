"""Refuse a job that needs more records than the table has."""

from aggopt.core.validation import check_group_size
from aggopt.errors import InfeasibleInputError
from aggopt.job import Privacy


def require_enough_records(privacy: Privacy, n: int) -> None:
    """Refuse a k above n, and limits of risk that no groups of n records satisfy.

    Raises
    ------
    InfeasibleInputError
        One group of all records is smaller than k, or exceeds a limit.
    """
    for key in ("risk", "average_risk"):
        limit = getattr(privacy, key)
        if limit is not None and 1 / n > limit:
            raise InfeasibleInputError(
                f"{key} = {limit:g} cannot be kept: all {n} records in one group have "
                f"the risk 1/{n}.",
                fix=f"allow a larger {key} under [privacy], or bring more records.",
            )
    check_group_size(privacy.k, n)
