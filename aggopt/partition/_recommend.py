"""Recommendation of a partition method by table size and number of distinct records."""

from dataclasses import dataclass, field
from typing import Any

from aggopt.core.deadline import require_time_limit
from aggopt.core.html import HtmlFields
from aggopt.core.validation import check_group_size, is_whole_number
from aggopt.errors import JobError

PROVABLE = 5000  # records up to which column generation gives a useful bound
PRICED = 5  # largest k for which its pricing is exact
PATIENCE = 60.0  # seconds it needs to improve on local search
WHOLE = 20_000  # records up to which local search treats the table as a whole


@dataclass(frozen=True)
class Recommendation(HtmlFields):
    """A partition method, its settings and the reason.

    Attributes
    ----------
    method
        Name of a function of `aggopt.partition` and method of a job.
    settings
        Its arguments.
    reason
        The reason, in a sentence.
    """

    method: str
    reason: str
    settings: dict[str, Any] = field(default_factory=dict)


def recommend(
    n: int,
    d: int,
    k: int,
    time_limit: float | None = None,
    *,
    distinct: int | None = None,
    weighted: bool = False,
) -> Recommendation:
    """Return the partition method of least expected SSE for this size and time.

    Parameters
    ----------
    n, d : int
        Records and attributes that are partitioned together.
    k : int
        Records per group, at least; 1 <= k <= n.
    time_limit : float, optional
        Seconds, from 0.  Without it the method terminates on its own, with identical
        groups on every machine.
    distinct : int, optional
        Number of distinct records, 1..n: all when omitted.  If k records or more are
        equal on average, the reason explains the consequence.
    weighted : bool
        Whether records have sampling weights: then the best groups of one attribute
        need not be runs of its values, and local search is used as for several.

    Returns
    -------
    Recommendation
        "univariate" for one attribute without weights; "optimal" for up to 5000
        records, k <= 5 and a minute or more; "local_search" for up to 20 000; "blocked"
        for more.  Never "mdav", which cuts through piles of equal records.

    Raises
    ------
    InfeasibleInputError
        k exceeds n.
    JobError
        n, d, k or distinct is not a whole number from 1 up, or distinct exceeds n;
        time_limit is negative.

    Examples
    --------
    >>> recommend(1080, 13, 3, time_limit=120).method
    'optimal'
    >>> recommend(1_000_000, 10, 3).method
    'blocked'
    """
    for name, count in {"n": n, "d": d}.items():
        if not is_whole_number(count) or count < 1:
            raise JobError(
                f"{name} = {count!r} is not a count.",
                fix="pass the numbers of records and of attributes, from 1 up.",
            )
    k = check_group_size(k, n)
    require_time_limit(time_limit)
    _require_distinct(distinct, n)
    if d == 1 and not weighted:
        return Recommendation(
            "univariate", "the minimum-SSE groups of one attribute are found exactly."
        )
    settings = {} if time_limit is None else {"time_limit": float(time_limit)}
    method, reason = _choose_method(n, k, time_limit)
    return Recommendation(method, reason + _describe_copies(n, k, distinct), settings)


def _require_distinct(distinct: int | None, n: int) -> None:
    """Raise a JobError unless the number of distinct records is from 1 to n."""
    if distinct is not None and not (is_whole_number(distinct) and 1 <= distinct <= n):
        raise JobError(
            f"distinct = {distinct!r}, of {n} records.",
            fix="pass how many of the records differ, from 1 to n, or leave it out.",
        )


def _describe_copies(n: int, k: int, distinct: int | None) -> str:
    """Return a text on equal records that MDAV separates, "" if few are equal."""
    if distinct is None or distinct * k > n:
        return ""
    return (
        f" Of {n} records only {distinct} differ: mdav cuts through records that are "
        "equal, and would lose several times as much."
    )


def _choose_method(n: int, k: int, seconds: float | None) -> tuple[str, str]:
    """Return the name of the method for several attributes, and the reason."""
    patient = seconds is not None and seconds >= PATIENCE
    if n <= PROVABLE and k <= PRICED and patient:
        return "optimal", (
            f"n = {n} and k = {k} are small enough for a proven optimality gap."
        )
    if n <= WHOLE:
        return "local_search", (
            f"n = {n} is small enough for local search over the whole table, the "
            "heuristic with the least SSE here."
        )
    return "blocked", (
        f"n = {n} is too large for local search over the whole table: subdomains are "
        "searched, and then again across their borders."
    )
