"""Certificate of a solve: its status and how good the answer provably is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from math import copysign, inf, isfinite
from typing import Any

from aggopt.core.html import html_section, html_table
from aggopt.core.validation import Floats

PROVEN = 1e-6  # largest gap of a point that is called optimal
PLAIN = 1e-3  # a choice with less of the largest distance to the bound is nearly best


class Status(StrEnum):
    """Status of a solve, in this package's words."""

    OPTIMAL = "optimal"
    GAP = "stopped at the gap asked for, best point kept"
    LOCAL = "locally optimal"
    HEURISTIC = "heuristic, nothing else tried"
    UNPROVEN = "ended without a proof, best point kept"
    LIMIT = "stopped at a limit, best point kept"
    INTERRUPTED = "interrupted, best point kept"
    FALLBACK = "ended without a better point, renormalised means kept"
    UNANSWERED = "stopped at a limit: the solver did not answer"
    KEPT = "nothing better found, input kept"
    INFEASIBLE = "infeasible"
    FAILED = "failed"
    EXHAUSTED = "failed: out of memory; end other programs or name another solver"

    @property
    def is_open(self) -> bool:
        """Whether a point came with it, and a better one may be left."""
        return self in (Status.UNPROVEN, Status.LIMIT)

    @property
    def usable(self) -> bool:
        """Whether the point that came with it may be released."""
        return self not in (Status.INFEASIBLE, Status.FAILED, Status.EXHAUSTED)


@dataclass(frozen=True)
class Claim:
    """A bound that the user's code claims; aggopt does not prove it.

    Attributes
    ----------
    bound
        The claimed bound: no point does better.
    by
        The code that claims it: "mine.py, sha256 0123...".
    """

    bound: float
    by: str

    def __str__(self) -> str:
        return f"{self.bound:.6g} claimed by {self.by}"


@dataclass(frozen=True)
class Certificate:
    """One solve, judged by the model and not by the solver.

    Attributes
    ----------
    status
        How the solve ended.
    objective
        The model's own objective at the point that is returned, in the model's
        units (standardised).
    bound
        Proven bound: no point does better.  None if nothing is proven.
    violation
        Largest violation of a constraint at that point, computed by the model.
    solver
        Name of the solver that ran.
    seconds
        Wall time of the solve.  It leaves out the compilation of kernels on a first
        call, as time limits do.
    claimed
        A bound that the user's code claims.  aggopt never uses it as a proven bound.
    judge
        The user's code that defines the objective, the violations and the program of
        the bound; None for this package's models.
    iterations
        Number of iterations that the solver reports, of its own kind: pivots, steps of
        an interior-point method, evaluations of a dual function.  None if the solver
        reports no number or took no iteration.
    multipliers
        The solver's multipliers, by the constraint's name; None if it has none.
        The multiplier of an inequality is the rate at which the objective falls, at
        first, per unit of loosening; it is 0 or more.  For an equality, the unit is by
        how much its left side may exceed the right.  Multipliers reveal which records
        a centroid depends on: no file of a release contains them.
    size
        Divisor of the gap; None if the divisor is |objective|.
    """

    status: Status
    objective: float
    bound: float | None
    violation: float
    solver: str
    seconds: float
    claimed: Claim | None = None
    judge: str | None = None
    iterations: int | None = None
    multipliers: Mapping[str, Floats] | None = field(
        default=None, repr=False, compare=False
    )
    size: float | None = None

    @property
    def gap(self) -> float | None:
        """(objective - bound) / |objective|, or / `size`; None without a bound.

        It is 0 if objective and bound are 0, and infinite if only the objective is 0.
        """
        if self.bound is None:
            return None
        away, size = self.objective - self.bound, _size(self.objective, self.size)
        if away == 0:
            return 0.0
        return away / size if size else copysign(inf, away)

    def claiming(self, claim: Claim) -> "Certificate":
        """Return a copy that also contains a claim of the user's code."""
        return replace(self, claimed=claim)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, without multipliers.

        Optional attributes that are None are left out.
        """
        values = {**asdict(replace(self, multipliers=None)), "gap": self.gap}
        values["status"] = self.status.value
        return {n: v for n, v in values.items() if n not in SOME or v is not None}

    def __repr__(self) -> str:
        """Return the attributes in one line, the gap after the bound."""
        every = {f.name: getattr(self, f.name) for f in fields(self) if f.repr}
        known = {n: v for n, v in every.items() if n not in SOME or v is not None}
        status, objective, bound, *others = (f"{n}={v!r}" for n, v in known.items())
        said = ", ".join((status, objective, bound, f"gap={self.gap!r}", *others))
        return f"Certificate({said})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return html_section(
            "Certificate", html_table(("", "value"), self.to_dict().items())
        )


# optional attributes of a certificate, shown if not None: the user's code ran, the
# solver reported them, or the gap is not relative to the objective
SOME = ("claimed", "judge", "iterations", "multipliers", "size")
HEADER = ("", "status", "gap", "objective", "bound", "violation", "solver", "seconds")


def rows(certificates: Mapping[str, Certificate]) -> list[tuple[Any, ...]]:
    """Return a row under HEADER for each certificate, its name first."""
    return [
        (
            *(name, c.status.value, c.gap, c.objective, _bounds(c), c.violation),
            *(c.solver, c.seconds),
        )
        for name, c in certificates.items()
    ]


def _bounds(certificate: Certificate) -> float | str | None:
    """Return the bound, with the claimed bound if there is one."""
    bound, claim = certificate.bound, certificate.claimed
    if claim is None:
        return bound
    proven = "nothing" if bound is None else f"{bound:.6g}"
    return f"{proven} proven, {claim}"


def closed(objective: float, bound: float, size: float | None = None) -> bool:
    """Whether a bound, above or below an objective, shows it to be optimal.

    The difference is relative to `size`, or to |objective|, as in a certificate.  An
    objective that beats its bound by more belongs to an infeasible point.

    >>> closed(3.0, 3.0 - 1e-6), closed(3.0, 2.9), closed(3e-9, 2.9e-9)
    (True, False, False)
    """
    return abs(objective - bound) <= PROVEN * _size(objective, size)


def _size(objective: float, size: float | None) -> float:
    return abs(objective) if size is None else size


def size_of(objective: float, unit: float) -> float | None:
    """Return the unit as the divisor of a gap if it exceeds |objective|, else None.

    For an objective that may be 0 at the optimum, up to the tolerances of solvers.
    """
    return unit if abs(objective) < unit else None


def size_in_reach(
    objective: float, bound: float, references: Iterable[float], n: int
) -> float | None:
    """Return the divisor of a gap if the objective may contain a large constant.

    The divisor is at most the reach: the cost of a plain choice less the bound, or the
    bound less that cost if the choice breaks a constraint.  Neither a constant nor a
    unit then changes the gap.  Below the reach, the divisor is the larger of
    |objective| and the n-th part of the reach.  None means |objective|.

    Parameters
    ----------
    references
        The costs of plain choices, such as the means.
    n
        Number of records.

    >>> size_in_reach(1e9 + 5.0, 1e9 + 4.0, [1e9 + 100.0], 10)
    96.0
    >>> size_in_reach(5.0, 4.0, [100.0], 10)
    9.6
    >>> size_in_reach(20.0, 4.0, [100.0], 10) is None
    True
    """
    beside = [cost - bound for cost in references if isfinite(cost)]
    won = [each for each in beside if each > 0] or [-each for each in beside if each]
    if not won:
        return None
    reach = min(each for each in won if each >= PLAIN * max(won))
    size = min(max(abs(objective), reach / n), reach)
    return None if size == abs(objective) else size


def total_bound(certificates: Sequence[Certificate]) -> float | None:
    """Return the sum of the bounds; None unless every certificate has one."""
    bounds = [c.bound for c in certificates if c.bound is not None]
    return sum(bounds) if len(bounds) == len(certificates) else None


def largest_gap(certificates: Sequence[Certificate]) -> float | None:
    """Return the largest gap; None unless every certificate has one."""
    gaps = [c.gap for c in certificates if c.gap is not None]
    return max(gaps) if len(gaps) == len(certificates) else None


def summed(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate for parts that were solved separately.

    Objectives, bounds and times are added; the bound is None unless every part has
    one.  The status is that of the part that ended worst.  A part that kept its input
    counts as locally optimal unless all parts did.  Claims are added, too, if each part
    has a claim or else a bound.
    """
    if len(certificates) == 1:
        return certificates[0]
    return Certificate(
        _worst({c.status for c in certificates}),
        sum(c.objective for c in certificates),
        total_bound(certificates),
        max(c.violation for c in certificates),
        _each(c.solver for c in certificates),
        sum(c.seconds for c in certificates),
        _claimed(certificates),
        _each(c.judge for c in certificates) or None,
        size=_summed_size(certificates),
    )


def _worst(endings: set[Status]) -> Status:
    """Return the worst status; KEPT only if all parts kept their input."""
    if len(endings) > 1 and Status.KEPT in endings:
        endings = endings - {Status.KEPT} | {Status.LOCAL}
    return max(endings, key=list(Status).index)


def _claimed(certificates: Sequence[Certificate]) -> Claim | None:
    """Return the claim of the user's code for all parts together, if it has one."""
    claims = [c.claimed for c in certificates if c.claimed]
    known = [c.claimed.bound if c.claimed else c.bound for c in certificates]
    bounds = [bound for bound in known if bound is not None]
    if not claims or len(bounds) < len(known):
        return None
    return Claim(sum(bounds), _each(claim.by for claim in claims))


def _summed_size(certificates: Sequence[Certificate]) -> float | None:
    """Return the sum of the divisors of gaps; None if all are |objective|."""
    if all(c.size is None for c in certificates):
        return None
    return sum(_size(c.objective, c.size) for c in certificates)


def _each(names: Iterable[str | None]) -> str:
    """Return the names, each once."""
    return ", ".join(dict.fromkeys(filter(None, names)))


def endings(certificates: Sequence[Certificate]) -> str:
    """Return the statuses of the certificates, each named once."""
    return ", ".join(sorted({c.status.value for c in certificates}))


@dataclass(frozen=True)
class Answer:
    """Answer of a solver, as read by the model, with its proven bound.

    `reading` is centroids (m,), or labels (n,); None if the solver found no point.
    `claimed` is a bound that the user's code claims.  `iterations` and `multipliers`
    are as in a `Certificate`; the multipliers are in the model's units.
    """

    reading: Any = field(repr=False)
    status: Status
    bound: float | None
    solver: str
    seconds: float
    claimed: Claim | None = None
    iterations: int | None = None
    multipliers: Mapping[str, Floats] | None = field(
        default=None, repr=False, compare=False
    )
