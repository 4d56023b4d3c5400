"""Messages for user models that are infeasible or not proven optimal."""

from collections.abc import Collection

from aggopt.core.deadline import LONGEST
from aggopt.job import Job
from aggopt.solvers import Certificate, Status

WISHES = (
    "name another solver in the job, allow it more time, or state other wishes "
    "(delta, alpha, margin)"
)


def suggest_remedy(failed: Collection[Certificate]) -> str:
    """Return a remedy for programs without a usable solution.

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


def explain_stop(certificate: Certificate, job: Job) -> str:
    """Return the reason why optimality is not proven, if the job has no limit."""
    how = job.aggregation
    stopped = certificate.judge and certificate.status.is_open
    if not stopped or getattr(how, "time_limit", None) or getattr(how, "options", None):
        return ""
    if certificate.status is Status.LIMIT:
        return (
            " The job names no limit: it is one of the solver's own, or that of "
            f"{LONGEST:g} seconds."
        )
    return (
        " The job names no limit: the solver ended by itself, and nothing shows that "
        "no values are better. Its word is taken where each variable has bounds, no "
        "number of the program is tiny or huge, and its gap is 1e-6 or less."
    )
