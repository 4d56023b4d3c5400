"""User-defined repairs, whose groups are checked before use."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline, Progress
from aggopt.core.plugins.function import UserFunction
from aggopt.core.types import F64, Bool, Labels
from aggopt.encoding.encoded_table import Encoded
from aggopt.errors import PrivacyError
from aggopt.partition.shared.result import Partition
from aggopt.partition.user_partition import require_labels
from aggopt.privacy.requirement import Requirement, find_broken_groups


class RepairInput(NamedTuple):
    """Input of a repair in addition to the groups.

    Attributes
    ----------
    X : (n, d)
        Quasi-identifiers in their own units, or encoded.
    k, requirements
        Smallest size of groups, and their requirements.
    bound
        Lower bound of the partition on the loss of any groups of k, or None.
    progress
        Progress callback: called with the completed share.
    weights : (n,)
        Sampling weights, above 0, for the squares; None without weights.
    """

    X: F64 | Encoded
    k: int
    requirements: Sequence[Requirement]
    bound: float | None
    progress: Progress | None
    weights: F64 | None = None


@dataclass(frozen=True)
class OwnRepair(UserFunction):
    """A user-defined function f(X, labels, k, *, broken, progress, **settings).

    It receives copies of records X (n, d) and of the group of each (n,), and a function
    `broken` that returns for labels (n,) whether each group (m,) breaks a requirement
    of the job; it returns labels (n,).
    """

    data: ClassVar[tuple[str, ...]] = ("X", "labels", "k")
    offered: ClassVar[tuple[str, ...]] = ("progress", "broken")

    def __call__(
        self, repair_input: RepairInput, labels: Labels, section: Any
    ) -> Partition | None:
        """Return its groups, certified; None if they equal the given ones.

        Raises
        ------
        JobError
            The function fails, or does not return one group for each record.
        PrivacyError
            A returned group is too small, or breaks a requirement.
        """
        from aggopt.repair.merge_until_satisfied import certify_groups

        X = repair_input.X
        requirements = repair_input.requirements
        clock = Deadline(None)

        def broken(labels_to_check: Any) -> Bool:
            return find_broken_groups(
                requirements,
                require_labels(self.origin, labels_to_check, len(labels), 1),
            )

        records = np.array(X.coordinates if isinstance(X, Encoded) else X)
        settings = {**section.settings, "broken": broken}
        result = self.run(
            records,
            labels.copy(),
            repair_input.k,
            progress=repair_input.progress,
            **settings,
        )
        new_labels = require_labels(self.origin, result, len(labels), repair_input.k)
        broken_count = int(find_broken_groups(requirements, new_labels).sum())
        if broken_count:
            raise PrivacyError(
                f"{self.origin.name} leaves {broken_count} of "
                f"{new_labels.max() + 1} groups that do not satisfy the requirements.",
                fix='correct it, or set repair = "merge" under [privacy].',
            )
        if np.array_equal(new_labels, labels):
            return None
        proof = certify_groups(
            X,
            new_labels,
            requirements,
            clock.spent,
            repair_input.k,
            repair_input.bound,
            by=self.origin.name,
            weights=repair_input.weights,
        )
        return Partition(new_labels, proof)
