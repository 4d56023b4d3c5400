"""User-defined repairs, whose groups are checked before use."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.own_function import OwnFunction
from aggopt.core.types import Bool, Labels
from aggopt.encoding._encoded import Encoded
from aggopt.errors import PrivacyError
from aggopt.partition._own import require_labels
from aggopt.partition._shared.result import Partition
from aggopt.privacy._requirement import broken_by
from aggopt.repair._given import Given


@dataclass(frozen=True)
class OwnRepair(OwnFunction):
    """A user-defined function f(X, labels, k, *, broken, progress, **settings).

    It receives copies of records X (n, d) and of the group of each (n,), and a function
    `broken` that returns for labels (n,) whether each group (m,) breaks a requirement
    of the job; it returns labels (n,).
    """

    data: ClassVar[tuple[str, ...]] = ("X", "labels", "k")
    given: ClassVar[tuple[str, ...]] = ("progress", "broken")

    def __call__(self, given: Given, labels: Labels, how: Any) -> Partition | None:
        """Return its groups, certified; None if they equal the given ones.

        Raises
        ------
        JobError
            The function fails, or does not return one group for each record.
        PrivacyError
            A returned group is too small, or breaks a requirement.
        """
        from aggopt.repair._merge_until_satisfied import certified

        X, asked, clock = given.X, given.requirements, Deadline(None)

        def broken(found: Any) -> Bool:
            return broken_by(asked, require_labels(self.origin, found, len(labels), 1))

        records = np.array(X.coordinates if isinstance(X, Encoded) else X)
        settings = {**how.settings, "broken": broken}
        found = self.run(
            records, labels.copy(), given.k, progress=given.progress, **settings
        )
        made = require_labels(self.origin, found, len(labels), given.k)
        left = int(broken_by(asked, made).sum())
        if left:
            raise PrivacyError(
                f"{self.origin.name} leaves {left} of {made.max() + 1} groups that do "
                "not satisfy the requirements.",
                fix='correct it, or set repair = "merge" under [privacy].',
            )
        if np.array_equal(made, labels):
            return None
        known = clock.spent, given.k, given.bound
        by, weights = self.origin.name, given.weights
        proof = certified(X, made, asked, *known, by=by, weights=weights)
        return Partition(made, proof)
