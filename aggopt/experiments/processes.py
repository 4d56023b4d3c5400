"""Number of processes that share the work."""

from aggopt.core.validation import is_whole
from aggopt.errors import JobError
from aggopt.solvers.solver_log import is_logged


def require_jobs(jobs: object) -> None:
    """Refuse an invalid number of processes.

    Raises
    ------
    JobError
        It is 0, or not a whole number; or it is several although the output of solvers
        is kept, which requires one process.
    """
    if not is_whole(jobs) or jobs == 0:
        raise JobError(f"jobs = {jobs}.", fix="name a number of processes, or -1.")
    if jobs != 1 and is_logged():
        raise JobError(
            f"jobs = {jobs}, and a log of solvers is kept, which is of one process.",
            fix="set jobs = 1, or keep no log.",
        )
