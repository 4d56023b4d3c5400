"""User-defined partition methods, whose groups are checked before use."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.own_code import Origin
from aggopt.core.own_function import OwnFunction
from aggopt.core.progress import Progress
from aggopt.core.types import F64, Labels
from aggopt.core.validation import group_size, groups
from aggopt.encoding._encoded import Encoded
from aggopt.errors import AggoptError, JobError, PrivacyError
from aggopt.partition._shared.evidence import Evidence, squares
from aggopt.partition._shared.result import Partition
from aggopt.partition._shared.scaling import own_units, scaled
from aggopt.solvers import Claim


@dataclass(frozen=True)
class OwnPartitioner(OwnFunction):
    """A user-defined function f(X, k, *, progress, **settings).

    It receives a copy of records X (n, d), or of the coordinates that attributes of
    other types have, and returns labels (n,) or a `Partition`.

    It gets a copy of records X (n, d), or of the coordinates that attributes of other
    types have, and returns labels (n,) or a `Partition`.
    """

    data: ClassVar[tuple[str, ...]] = ("X", "k")

    def __call__(
        self,
        /,
        X: npt.ArrayLike,
        k: int,
        *,
        scale: str = "z",
        progress: Progress | None = None,
        **settings: Any,
    ) -> Partition:
        """Return its groups with a certificate of aggopt, whatever the function claims.

        With scale="none" the objective is of X unchanged, as in searches that begin
        from its groups.

        With scale="none" the objective is of X as it is, as searches count that set
        out from its groups.

        Raises
        ------
        JobError
            The function fails, or does not return one group for each record.
        PrivacyError
            The function made a group that is too small.
        """
        clock, records = Deadline(None), own_units(X)
        k = group_size(k, len(records))
        found = self.run(_copy(records), k, progress=progress, **settings)
        labels = counted(self.origin, found, len(records), k)
        Z, spent = scaled(records, scale), clock.spent
        evidence = squares(Z, labels, k, by=self.origin.name, seconds=spent)
        return Partition(labels, self._beside(evidence, found))

    def _beside(self, evidence: Evidence, found: Any) -> Evidence:
        """Return aggopt's evidence with the bound that the function claims, if any."""
        if not isinstance(found, Partition) or not found.evidence[0].settled:
            return evidence
        bound = found.certificate.bound
        if bound is None:
            return evidence
        return evidence.claiming(Claim(bound, str(self.origin)))


def _copy(records: F64 | Encoded) -> F64:
    coordinates = records.coordinates if isinstance(records, Encoded) else records
    return coordinates.copy()


def counted(origin: Origin, found: Any, n: int, k: int) -> Labels:
    """Return the checked labels (n,) of a user-defined function.

    Raises
    ------
    JobError
        The function did not return one group for each record.
    PrivacyError
        A group has fewer than k records.
    """
    given = found.labels if isinstance(found, Partition) else found
    array = origin.run(np.array, given)
    try:
        labels = groups(array, n)
    except AggoptError as error:
        raise JobError(
            f"{origin.name} returns no partition: {error.problem}",
            fix="return one group number for each record, shape (n,): 0, 1, ...",
        ) from None
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise PrivacyError(
            f"{origin.name} made a group of {smallest}, but k = {k} is required.",
            fix="correct it, or name a method of this package.",
        )
    return labels
