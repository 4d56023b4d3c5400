"""Which partition method suits a table, and why."""

from dataclasses import dataclass, field
from typing import Any

from aggopt.core.deadline import require_seconds
from aggopt.core.validation import group_size, is_whole
from aggopt.errors import JobError

PROVABLE = 5000  # records up to which column generation ends with a useful bound
PRICED = 5  # smallest group size up to which its pricing is exact
PATIENCE = 60.0  # seconds it needs to tell more than local search does
WHOLE = 20_000  # records up to which local search takes the table as a whole


@dataclass(frozen=True)
class Recommendation:
    """A partition method, its settings and the reason.

    Attributes
    ----------
    method
        Name of a function of `aggopt.partition`, and of a job's method.
    settings
        Arguments that go with it.
    reason
        Why it suits, in a sentence.
    """

    method: str
    reason: str
    settings: dict[str, Any] = field(default_factory=dict)


def recommend(n: int, d: int, k: int, seconds: float | None = None) -> Recommendation:
    """Return the method that loses least on a table of this size, in the time given.

    Parameters
    ----------
    n, d : int
        Records and attributes that are partitioned together.
    k : int
        Records per group, at least; 1 <= k <= n.
    seconds : float, optional
        Time you would give it, from 0.  Without it the method ends by itself, and gives
        the same groups on every machine.

    Returns
    -------
    Recommendation
        "univariate" for one attribute; "optimal" for up to 5000 records, k <= 5 and a
        minute or more; "local_search" for up to 20 000; "blocked" for more.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        n, d or k is not a whole number from 1 up; seconds is negative.

    Examples
    --------
    >>> recommend(1080, 13, 3, seconds=120).method
    'optimal'
    >>> recommend(1_000_000, 10, 3).method
    'blocked'
    """
    for name, count in {"n": n, "d": d}.items():
        if not is_whole(count) or count < 1:
            raise JobError(
                f"{name} = {count!r} is not a count.",
                fix="pass the numbers of records and of attributes, from 1 up.",
            )
    k = group_size(k, n)
    require_seconds(seconds)
    if d == 1:
        return Recommendation(
            "univariate", "the groups of one attribute that lose least are known."
        )
    settings = {} if seconds is None else {"seconds": float(seconds)}
    return Recommendation(*_chosen(n, k, seconds), settings)


def _chosen(n: int, k: int, seconds: float | None) -> tuple[str, str]:
    patient = seconds is not None and seconds >= PATIENCE
    if n <= PROVABLE and k <= PRICED and patient:
        return "optimal", (
            f"{n} records in groups of {k} are few enough for a proof of how near to "
            "the optimum the groups are."
        )
    if n <= WHOLE:
        return "local_search", (
            f"{n} records can be searched as a whole, which loses less than any other "
            "heuristic here."
        )
    return "blocked", (
        f"{n} records are too many to compare all with all; they are grouped in blocks "
        "and searched across their borders."
    )
