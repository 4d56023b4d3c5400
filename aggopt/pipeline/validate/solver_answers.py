"""Refusals of programs without a usable answer."""

from collections.abc import Collection, Mapping

from aggopt.errors import SolverError
from aggopt.solvers import Certificate, Status

WISHES = (
    "name another solver in the job, allow it more time, or state other wishes "
    "(delta, alpha, margin)"
)


def _suggest_remedy(failed: Collection[Certificate]) -> str:
    """Return the text of a remedy for programs without a usable solution.

    For a user's model the remedy is general: only its author knows its constraints, and
    the settings that loosen them.
    """
    if all(certificate.status is Status.EXHAUSTED for certificate in failed):
        return (
            "end other programs, name another solver in the job, or mask fewer records"
        )
    if not all(certificate.judge for certificate in failed):
        return WISHES
    settings = "give your model other settings, or correct it"
    if all(certificate.status is Status.INFEASIBLE for certificate in failed):
        return f"no values satisfy all its constraints: {settings}"
    return f"name another solver in the job, allow it more time, or {settings}"


def require_solved(certificates: Mapping[str, Certificate]) -> None:
    """Refuse certificates of programs without a usable solution."""
    failed = {n: c for n, c in certificates.items() if not c.status.usable}
    if failed:
        statuses = ", ".join(
            f"{n!r}: {c.status} ({c.solver})" for n, c in failed.items()
        )
        raise SolverError(
            f"No usable answer was found for {statuses}.",
            fix=f"{_suggest_remedy(failed.values())}; nothing was released.",
        )
