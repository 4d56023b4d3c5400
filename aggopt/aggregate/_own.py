"""A user's aggregation, with its squared error compared to the least."""

from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from aggopt.aggregate.aggregation import Aggregation, by_attribute, group_means
from aggopt.aggregate.joint_aggregation import VARIANCE
from aggopt.core.compile_time import compile_time
from aggopt.core.plugins.function import UserFunction
from aggopt.core.progress import Progress
from aggopt.core.standardise import Scale
from aggopt.core.types import F64, Labels
from aggopt.core.validation import check_labellings, check_matrix
from aggopt.errors import AggoptError, JobError
from aggopt.solvers import Certificate, Claim, Status
from aggopt.solvers.certificate import closed, size_of


@dataclass(frozen=True)
class OwnAggregator(UserFunction):
    """A function f(X, labels, *, progress, **settings) of the user's.

    It gets copies of records X (n, d) and of the group of each (n,), and returns
    centroids (m, d), or an `Aggregation`.
    """

    data: ClassVar[tuple[str, ...]] = ("X", "labels")

    def __call__(
        self,
        X: npt.ArrayLike,
        labels: npt.ArrayLike,
        /,
        *,
        progress: Progress | None = None,
        **settings: Any,
    ) -> Aggregation:
        """Return its centroids; certificates are of their squared error.

        Where attributes have groups of their own, it gets each attribute by itself.

        Raises
        ------
        JobError
            It fails, or returns no finite number for each group and attribute.
        """
        records = check_matrix(X)
        label = check_labellings(labels, *records.shape)
        if label.ndim == 2:
            each = partial(self.__call__, progress=progress, **settings)
            return by_attribute(each, records, label)
        started = compile_time.now()
        found = self.run(records.copy(), label.copy(), progress=progress, **settings)
        centroids = self._checked(found, int(label.max()) + 1, records.shape[1])
        seconds = (compile_time.now() - started) / records.shape[1]
        own = self._certificates(records, label, centroids, seconds)
        return Aggregation(centroids, label, self._claimed(own, found))

    def _checked(self, found: Any, m: int, d: int) -> F64:
        """Return its centroids (m, d) as floats."""
        given = found.centroids if isinstance(found, Aggregation) else found
        array = self.origin.run(np.array, given)
        try:
            centroids = check_matrix(array, name="centroids")
            shape = centroids.shape
        except AggoptError as error:
            raise self._no_centroids(error.problem, m, d) from None
        if shape != (m, d):
            raise self._no_centroids(f"they have shape {shape}.", m, d)
        return centroids

    def _no_centroids(self, problem: str, m: int, d: int) -> JobError:
        return JobError(
            f"{self.origin.name} returns no centroids: {problem}",
            fix=f"return one number for each group and attribute, shape {(m, d)}.",
        )

    def _certificates(
        self, X: F64, labels: Labels, centroids: F64, seconds: float
    ) -> tuple[Certificate, ...]:
        """Return the squared error of each attribute, and the least, that of means."""
        scale = Scale.of(X)
        Z = scale.standardise(X)
        lost = ((Z - scale.standardise(centroids)[labels]) ** 2).sum(axis=0)
        least = ((Z - group_means(Z, labels)[labels]) ** 2).sum(axis=0)
        found = zip(lost.tolist(), np.minimum(least, lost).tolist(), strict=True)
        return tuple(self._certificate(error, bound, seconds) for error, bound in found)

    def _certificate(self, error: float, bound: float, seconds: float) -> Certificate:
        size, by = size_of(error, VARIANCE), self.origin.name
        status = Status.OPTIMAL if closed(error, bound, size) else Status.HEURISTIC
        return Certificate(status, error, bound, 0.0, by, seconds, size=size)

    def _claimed(
        self, own: tuple[Certificate, ...], found: Any
    ) -> tuple[Certificate, ...]:
        """Return certificates of ours with the bounds that it claims, if it does."""
        said = found.certificates if isinstance(found, Aggregation) else ()
        if len(said) != len(own):
            return own
        return tuple(
            certificate
            if claim.bound is None
            else certificate.claiming(Claim(claim.bound, str(self.origin)))
            for certificate, claim in zip(own, said, strict=True)
        )
