"""User-defined partition methods, whose groups are checked before use."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.types import F64, Labels
from aggopt.core.validation import check_group_size, check_groups
from aggopt.encoding.encoded_table import Encoded
from aggopt.errors import AggoptError, JobError, PrivacyError
from aggopt.partition.shared.evidence import Evidence, certify_squares
from aggopt.partition.shared.result import Partition
from aggopt.partition.shared.scaling import read_records, scale_records
from aggopt.solvers import Claim


@dataclass(frozen=True)
class OwnPartitioner(UserFunction):
    """A user-defined function f(X, k, *, progress, **settings).

    It receives a copy of records X (n, d), or of the coordinates that attributes of
    other types have, and returns labels (n,) or a `Partition`.
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

        Raises
        ------
        JobError
            The function fails, or does not return one group for each record.
        PrivacyError
            The function made a group that is too small.
        """
        clock = Deadline(None)
        records = read_records(X)
        k = check_group_size(k, len(records))
        result = self.run(_copy_coordinates(records), k, progress=progress, **settings)
        labels = require_labels(self.origin, result, len(records), k)
        Z = scale_records(records, scale)
        spent = clock.spent
        evidence = certify_squares(Z, labels, k, by=self.origin.name, seconds=spent)
        return Partition(labels, self._add_claim(evidence, result))

    def _add_claim(self, evidence: Evidence, result: Any) -> Evidence:
        """Return aggopt's evidence with the bound that the function claims, if any."""
        if not isinstance(result, Partition) or not result.evidence[0].settled:
            return evidence
        bound = result.certificate.bound
        if bound is None:
            return evidence
        return evidence.claiming(Claim(bound, str(self.origin)))


def _copy_coordinates(records: F64 | Encoded) -> F64:
    coordinates = records.coordinates if isinstance(records, Encoded) else records
    return coordinates.copy()


def require_labels(origin: Origin, result: Any, n: int, k: int) -> Labels:
    """Return the checked labels (n,) of a user-defined function.

    Raises
    ------
    JobError
        The function did not return one group for each record.
    PrivacyError
        A group has fewer than k records.
    """
    raw_labels = result.labels if isinstance(result, Partition) else result
    array = origin.run(np.array, raw_labels)
    try:
        labels = check_groups(array, n)
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
