"""What every solve returns: how it ended and how good the answer provably is."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from enum import StrEnum
from typing import Any

from aggopt.core.html import table, titled
from aggopt.core.validation import Floats

PROVEN = 1e-6  # of max(1, |objective|): the gap up to which a point is called optimal


class Status(StrEnum):
    """How a solve ended, in this package's words."""

    OPTIMAL = "optimal"
    GAP = "stopped at the gap asked for, best point kept"
    LOCAL = "locally optimal"
    HEURISTIC = "heuristic, nothing else tried"
    LIMIT = "stopped at a limit, best point kept"
    INTERRUPTED = "interrupted, best point kept"
    FALLBACK = "stopped at a limit, renormalised means kept"
    KEPT = "nothing better found, input kept"
    INFEASIBLE = "infeasible"
    FAILED = "failed"

    @property
    def usable(self) -> bool:
        """Whether the point that came with it may be released."""
        return self not in (Status.INFEASIBLE, Status.FAILED)


@dataclass(frozen=True)
class Claim:
    """A bound that code of the user's states: nothing here proves it.

    Attributes
    ----------
    bound
        What it says that no point does better than.
    by
        What answers for it: "mine.py, sha256 0123...".
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
        How it ended.
    objective
        The model's own objective at the point that is returned, in the model's
        units (standardised).
    bound
        No point does better than this; None where nothing is proven.
    violation
        Largest violation of a constraint at that point, same judge.
    solver
        Which solver ran.
    seconds
        Wall time of the solve; the compilation of kernels, on a first call, is left
        out, as limits of time do.
    claimed
        What code of the user's says is a bound, which is never taken for one.
    judge
        Which code of the user's says objective and violation, and what the program is
        that a bound is of; None of this package's models.
    iterations
        How many the solver says that it took, of its own kind: pivots, steps of an
        interior-point method, evaluations of a dual function.  None where it does not
        say, or took none.
    multipliers
        Those that the solver found, by the constraint's name; None where it has none.
        That of an inequality is by how much the objective falls, at first, for each
        unit by which it is loosened, 0 or more; that of an equality, for each unit by
        which its left side may exceed the right.  They tell which records a centroid
        depends on: no file of a release has them.
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

    @property
    def gap(self) -> float | None:
        """(objective - bound) / max(1, |objective|); None without a bound."""
        if self.bound is None:
            return None
        return (self.objective - self.bound) / max(1.0, abs(self.objective))

    def claiming(self, claim: Claim) -> "Certificate":
        """Return the same, and what code of the user's claims beside it."""
        return replace(self, claimed=claim)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON, but for multipliers.

        What only some solves have is there where it is.
        """
        values = {**asdict(replace(self, multipliers=None)), "gap": self.gap}
        values["status"] = self.status.value
        return {n: v for n, v in values.items() if n not in SOME or v is not None}

    def __repr__(self) -> str:
        """Return what it says, the gap beside the bound."""
        every = {f.name: getattr(self, f.name) for f in fields(self) if f.repr}
        known = {n: v for n, v in every.items() if n not in SOME or v is not None}
        status, objective, bound, *others = (f"{n}={v!r}" for n, v in known.items())
        said = ", ".join((status, objective, bound, f"gap={self.gap!r}", *others))
        return f"Certificate({said})"

    def _repr_html_(self) -> str:
        """Return a table for a notebook."""
        return titled("Certificate", table(("", "value"), self.to_dict().items()))


# of a certificate, only where they are: code of the user's ran, or a solver told
SOME = ("claimed", "judge", "iterations", "multipliers")
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
    """Return the bound, and what is claimed beside it."""
    bound, claim = certificate.bound, certificate.claimed
    if claim is None:
        return bound
    proven = "nothing" if bound is None else f"{bound:.6g}"
    return f"{proven} proven, {claim}"


def closed(objective: float, bound: float) -> bool:
    """Return whether a bound shows an objective to be optimal, above or below it.

    An objective that is beyond its bound by more is that of a point that is none.

    >>> closed(3.0, 3.0 - 1e-6), closed(3.0, 2.9)
    (True, False)
    """
    return abs(objective - bound) <= PROVEN * max(1.0, abs(objective))


def total_bound(certificates: Sequence[Certificate]) -> float | None:
    """Return the sum of the bounds; None unless every certificate has one."""
    bounds = [c.bound for c in certificates if c.bound is not None]
    return sum(bounds) if len(bounds) == len(certificates) else None


def largest_gap(certificates: Sequence[Certificate]) -> float | None:
    """Return the largest gap; None unless every certificate has one."""
    gaps = [c.gap for c in certificates if c.gap is not None]
    return max(gaps) if len(gaps) == len(certificates) else None


def summed(certificates: Sequence[Certificate]) -> Certificate:
    """Return one certificate of parts that were solved each by itself.

    Objectives, bounds and times are added; the bound is None unless every part has
    one, and the status is that of the part that ended worst.  What is claimed of parts
    is added, too, where each has a claim or else a bound.
    """
    if len(certificates) == 1:
        return certificates[0]
    order = list(Status)
    return Certificate(
        max((c.status for c in certificates), key=order.index),
        sum(c.objective for c in certificates),
        total_bound(certificates),
        max(c.violation for c in certificates),
        _each(c.solver for c in certificates),
        sum(c.seconds for c in certificates),
        _claimed(certificates),
        _each(c.judge for c in certificates) or None,
    )


def _claimed(certificates: Sequence[Certificate]) -> Claim | None:
    """Return what code of the user's claims of all parts together, if it does."""
    claims = [c.claimed for c in certificates if c.claimed]
    known = [c.claimed.bound if c.claimed else c.bound for c in certificates]
    bounds = [bound for bound in known if bound is not None]
    if not claims or len(bounds) < len(known):
        return None
    return Claim(sum(bounds), _each(claim.by for claim in claims))


def _each(names: Iterable[str | None]) -> str:
    """Return the names that there are, each once."""
    return ", ".join(dict.fromkeys(filter(None, names)))


def endings(certificates: Sequence[Certificate]) -> str:
    """Return how they ended, each way named once."""
    return ", ".join(sorted({c.status.value for c in certificates}))
