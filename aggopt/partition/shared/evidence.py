"""Evidence for certificates, computed on first access."""

from collections.abc import Callable, Sequence
from functools import cache
from math import isfinite
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.record_weights import compute_sse
from aggopt.core.types import F64, Labels
from aggopt.errors import JobError
from aggopt.partition.shared.neighbour_bound import (
    BUDGETS,
    prove_promised_loss,
    read_budget,
    warn_of_limit,
)
from aggopt.partition.shared.scaling import (
    Weighing,
    rescale_squares,
    scale_to_unit,
    zero_constants,
)
from aggopt.privacy.requirement import Requirement
from aggopt.solvers import Certificate, Claim, Status

QUICK = "quick"
MET = 1e-9  # share of the objective that rounding may leave between objective and bound


class Budget(NamedTuple):
    """Budget of the bound of a certificate.

    Attributes
    ----------
    bound
        The budget of the table: "quick", "none" or seconds.
    share
        The share of it that this certificate may take, of a part of the table.
    """

    bound: str | float = QUICK
    share: float = 1.0


Proof = Callable[[float, Budget], Certificate]


class Evidence:
    """Evidence for one certificate, which is computed once, on first access.

    Parameters
    ----------
    status
        Status of the search; the proof may raise it to OPTIMAL.
    objective
        Returns the loss of the groups.
    proven
        Returns the certificate of that objective, within a budget for its bound.  Both
        functions, and the records that they refer to, are released once the certificate
        exists.
    budget
        The budget; None if the method has proven the bound, or proves it in its own
        way.
    claim
        A lower bound that user code claims.
    """

    def __init__(
        self,
        status: Status,
        objective: Callable[[], float],
        proven: Proof,
        budget: Budget | None = None,
        claim: Claim | None = None,
    ) -> None:
        self.status = status
        self._ways: tuple[Callable[[], float], Proof] | None
        self._ways = objective, proven
        self._budget = budget
        self._claim = claim
        self._loss: float | None = None
        self._found: Certificate | None = None

    @classmethod
    def from_certificate(cls, certificate: Certificate) -> "Evidence":
        """Return evidence whose certificate already exists."""
        evidence = cls(
            certificate.status,
            lambda: certificate.objective,
            lambda loss, budget: certificate,
        )
        evidence._found = certificate
        evidence._ways = None
        return evidence

    def claiming(self, claim: Claim) -> "Evidence":
        """Return the evidence with a lower bound that user code claims."""
        return self._change(self._budget, claim)

    def take_share(self, share: float) -> "Evidence":
        """Return the evidence of a part of a table, with its share of the budget."""
        if self._budget is None or self.settled:
            return self
        budget = self._budget._replace(share=share * self._budget.share)
        return self._change(budget, self._claim)

    def with_bound(self, bound: str | float) -> "Evidence":
        """Return the evidence with another budget for its bound.

        Raises
        ------
        JobError
            The certificate exists already, or has a bound of the method's own.
        """
        if self._budget is None or self.settled:
            reason = "exists already" if self.settled else "has the method's own bound"
            raise JobError(
                f"bound = {bound!r} has no effect: the certificate {reason}.",
                fix="call with_bound before the certificate is read, and leave it out "
                "if the method proves its groups itself.",
            )
        return self._change(self._budget._replace(bound=bound), self._claim)

    def _change(self, budget: Budget | None, claim: Claim | None) -> "Evidence":
        """Return the evidence with another budget or claim."""
        if self._found is not None or self._ways is None:
            certificate = self.certificate
            return Evidence.from_certificate(
                certificate.claiming(claim) if claim else certificate
            )
        return Evidence(self.status, *self._ways, budget, claim)

    @property
    def settled(self) -> bool:
        """Whether the certificate has been computed."""
        return self._found is not None

    @property
    def loss(self) -> float:
        """Loss of the groups, computed without its lower bound."""
        if self._found is not None:
            return self._found.objective
        ways = self._ways
        if self._loss is None and ways is not None:
            self._loss = ways[0]()
        return self.certificate.objective if self._loss is None else self._loss

    @property
    def certificate(self) -> Certificate:
        """The certificate of the loss, computed with its bound on first access."""
        ways = self._ways
        if self._found is None and ways is not None:
            certificate = ways[1](self.loss, self._budget or Budget())
            self._found = (
                certificate.claiming(self._claim) if self._claim else certificate
            )
        self._ways = None
        return self._found  # type: ignore[return-value]


def certify_squares(
    records: F64,
    labels: Labels,
    k: int,
    *,
    by: str,
    seconds: float,
    status: Status = Status.HEURISTIC,
    exponent: int = 0,
    jobs: int | None = None,
    weights: npt.ArrayLike | None = None,
    requirements: Sequence[Requirement] = (),
) -> Evidence:
    """Return evidence for the certificate of an SSE, with the bound of `loss_bound`.

    After Ctrl-C in the search for a bound, the status of the certificate is
    INTERRUPTED.

    Parameters
    ----------
    records : (n, d)
        Scaled for distances, and divided by 2^exponent.
    labels : (n,)
        Groups of k records or more.
    by, seconds, status
        Method that evidence the groups, its time and its status.
    jobs
        Number of threads for the search for neighbours.
    weights : (n,)
        Sampling weights; squares are on their scale.
    requirements
        Requirements that all groups satisfy; then no groups of k that satisfy them lose
        less than the bound.
    """
    weighing = Weighing.read(weights, len(records))

    def scaled_down() -> tuple[F64, int]:
        small, more = scale_to_unit(zero_constants(records))
        return small, exponent + more

    @cache
    def lost_scaled() -> float:
        return compute_sse(scaled_down()[0], labels, weighing.values)

    def objective() -> float:
        return rescale_squares(lost_scaled(), scaled_down()[1]) * weighing.unit

    def proven(value: float, budget: Budget) -> Certificate:
        unit_records, power = scaled_down()
        scaled_loss = lost_scaled()
        promised = prove_promised_loss(
            unit_records,
            k,
            requirements,
            jobs=jobs,
            weights=weighing.values,
            seconds=read_budget(budget.bound, len(records), k, budget.share),
            loss=scaled_loss,
        )
        if budget.bound not in BUDGETS:
            warn_of_limit(promised)
        bound = min(promised.bound, scaled_loss)
        met = scaled_loss - bound <= MET * scaled_loss and (
            scaled_loss > 0 or has_equal_records(records, labels)
        )
        lower_bound = rescale_squares(bound, power) * weighing.unit
        ended = Status.INTERRUPTED if promised.interrupted else status
        return make_certificate(met, ended, value, lower_bound, by, seconds)

    return Evidence(status, objective, proven, Budget())


def make_certificate(
    met: bool,
    status: Status,
    objective: float,
    bound: float,
    by: str,
    seconds: float,
) -> Certificate:
    """Return the certificate of a sum of squares; OPTIMAL if the bound is met.

    It is OPTIMAL if the bound is met, and else has the given `status`. If the objective
    overflows, nothing is proven: the bound is None.
    """
    if not isfinite(objective):
        return Certificate(status, objective, None, 0.0, by, seconds)
    ended = Status.OPTIMAL if met else status
    return Certificate(ended, objective, bound, 0.0, by, seconds)


def has_equal_records(records: F64, labels: Labels) -> bool:
    """Whether all records of each group are equal: their loss is 0 without rounding."""
    first = np.unique(labels, return_index=True)[1]
    return bool((records == records[first][labels]).all())
