"""Certificate of a solve: its status and how good the answer provably is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from math import copysign, inf, isfinite
from typing import Any

from aggopt.core.html import (
    render_html_section,
    render_html_table,
    truncate_names,
)
from aggopt.core.types import Floats

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
        away = self.objective - self.bound
        size = _compute_gap_size(self.objective, self.size)
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
        shown = {n: v for n, v in every.items() if n not in SOME or v is not None}
        status, objective, bound, *others = (f"{n}={v!r}" for n, v in shown.items())
        text = ", ".join((status, objective, bound, f"gap={self.gap!r}", *others))
        return f"Certificate({text})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return render_html_section(
            "Certificate", render_html_table(("", "value"), self.to_dict().items())
        )


# optional attributes of a certificate, shown if not None: the user's code ran, the
# solver reported them, or the gap is not relative to the objective
SOME = ("claimed", "judge", "iterations", "multipliers", "size")
HEADER = ("", "status", "gap", "objective", "bound", "violation", "solver", "seconds")


def make_certificate_rows(
    certificates: Mapping[str, Certificate],
) -> list[tuple[Any, ...]]:
    """Return a row under HEADER for each certificate, its name first."""
    return [
        (
            *(
                truncate_names(name),
                c.status.value,
                c.gap,
                c.objective,
                _format_bounds(c),
                c.violation,
            ),
            *(c.solver, c.seconds),
        )
        for name, c in certificates.items()
    ]


def _format_bounds(certificate: Certificate) -> float | str | None:
    """Return the bound, with the claimed bound if there is one."""
    bound = certificate.bound
    claim = certificate.claimed
    if claim is None:
        return bound
    proven = "nothing" if bound is None else f"{bound:.6g}"
    return f"{proven} proven, {claim}"


def is_gap_closed(objective: float, bound: float, size: float | None = None) -> bool:
    """Whether a bound, above or below an objective, shows it to be optimal.

    The difference is relative to `size`, or to |objective|, as in a certificate.  An
    objective that beats its bound by more belongs to an infeasible point.

    >>> pairs = (3.0, 3.0 - 1e-6), (3.0, 2.9), (3e-9, 2.9e-9)
    >>> [is_gap_closed(objective, bound) for objective, bound in pairs]
    [True, False, False]
    """
    return abs(objective - bound) <= PROVEN * _compute_gap_size(objective, size)


def _compute_gap_size(objective: float, size: float | None) -> float:
    return abs(objective) if size is None else size


def choose_gap_size(objective: float, unit: float) -> float | None:
    """Return the unit as the divisor of a gap if it exceeds |objective|, else None.

    For an objective that may be 0 at the optimum, up to the tolerances of solvers.
    """
    return unit if abs(objective) < unit else None


def measure_gap_size(
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

    >>> measure_gap_size(1e9 + 5.0, 1e9 + 4.0, [1e9 + 100.0], 10)
    96.0
    >>> measure_gap_size(5.0, 4.0, [100.0], 10)
    9.6
    >>> measure_gap_size(20.0, 4.0, [100.0], 10) is None
    True
    """
    beside = [cost - bound for cost in references if isfinite(cost)]
    won = [reference for reference in beside if reference > 0] or [
        -reference for reference in beside if reference
    ]
    if not won:
        return None
    reach = min(reference for reference in won if reference >= PLAIN * max(won))
    size = min(max(abs(objective), reach / n), reach)
    return None if size == abs(objective) else size


def total_bound(certificates: Sequence[Certificate]) -> float | None:
    """Return the sum of the bounds; None unless every certificate has one."""
    bounds = [c.bound for c in certificates if c.bound is not None]
    return sum(bounds) if len(bounds) == len(certificates) else None


def find_largest_gap(certificates: Sequence[Certificate]) -> float | None:
    """Return the largest gap; None unless every certificate has one."""
    gaps = [c.gap for c in certificates if c.gap is not None]
    return max(gaps) if len(gaps) == len(certificates) else None


def sum_certificates(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate for parts that were solved separately.

    Objectives, bounds and times are added; the bound is None unless every part has
    one.  The status is that of the part that ended worst.  A part that kept its input
    counts as locally optimal unless all parts did.  Claims are added, too, if each part
    has a claim or else a bound.
    """
    if len(certificates) == 1:
        return certificates[0]
    return Certificate(
        _find_worst_status({c.status for c in certificates}),
        sum(c.objective for c in certificates),
        total_bound(certificates),
        max(c.violation for c in certificates),
        _list_once(c.solver for c in certificates),
        sum(c.seconds for c in certificates),
        _combine_claims(certificates),
        _list_once(c.judge for c in certificates) or None,
        size=_sum_sizes(certificates),
    )


def _find_worst_status(endings: set[Status]) -> Status:
    """Return the worst status; KEPT only if all parts kept their input."""
    if len(endings) > 1 and Status.KEPT in endings:
        endings = endings - {Status.KEPT} | {Status.LOCAL}
    return max(endings, key=list(Status).index)


def _combine_claims(certificates: Sequence[Certificate]) -> Claim | None:
    """Return the claim of the user's code for all parts together, if it has one."""
    claims = [c.claimed for c in certificates if c.claimed]
    bounds_of_parts = [c.claimed.bound if c.claimed else c.bound for c in certificates]
    bounds = [bound for bound in bounds_of_parts if bound is not None]
    if not claims or len(bounds) < len(bounds_of_parts):
        return None
    return Claim(sum(bounds), _list_once(claim.by for claim in claims))


def _sum_sizes(certificates: Sequence[Certificate]) -> float | None:
    """Return the sum of the divisors of gaps; None if all are |objective|."""
    if all(c.size is None for c in certificates):
        return None
    return sum(_compute_gap_size(c.objective, c.size) for c in certificates)


def _list_once(names: Iterable[str | None]) -> str:
    """Return the names, each once."""
    return ", ".join(dict.fromkeys(filter(None, names)))


def list_statuses(certificates: Sequence[Certificate]) -> str:
    """Return the statuses of the certificates, each named once."""
    return "; ".join(sorted({c.status.value for c in certificates}))


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
