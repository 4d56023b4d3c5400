"""The aggregations by name: each is declared in its own file of this folder."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import field_validator

from aggopt.aggregate.aggregation import (
    Aggregation,
    aggregate_by_attribute,
    group_means,
)
from aggopt.aggregate.categories.registry import CATEGORY_AGGREGATORS, CategorySection
from aggopt.aggregate.joint_aggregation import VARIANCE
from aggopt.core.deadline import Progress, compile_time
from aggopt.core.plugins.function import UserFunction
from aggopt.core.plugins.loading import Origin
from aggopt.core.registry import Method, Registry, require_arguments
from aggopt.core.section import MethodSection, make_section_union
from aggopt.core.standardise import Scale
from aggopt.core.types import F64, Labels
from aggopt.core.validation import check_labellings, check_matrix
from aggopt.errors import AggoptError, JobError
from aggopt.models import Model
from aggopt.solvers import Certificate, Claim, Status
from aggopt.solvers.certificate import choose_gap_size, is_gap_closed


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
            aggregate = partial(self.__call__, progress=progress, **settings)
            return aggregate_by_attribute(aggregate, records, label)
        started = compile_time.now()
        result = self.run(records.copy(), label.copy(), progress=progress, **settings)
        centroids = self._read_centroids(result, int(label.max()) + 1, records.shape[1])
        seconds = (compile_time.now() - started) / records.shape[1]
        certificates = self._certify_attributes(records, label, centroids, seconds)
        return Aggregation(centroids, label, self._add_claims(certificates, result))

    def _read_centroids(self, result: Any, m: int, d: int) -> F64:
        """Return the user function's centroids (m, d) as floats; refuse others."""
        values = result.centroids if isinstance(result, Aggregation) else result
        array = self.origin.run(np.array, values)
        try:
            centroids = check_matrix(array, name="centroids")
            shape = centroids.shape
        except AggoptError as error:
            raise self._explain_centroids(error.problem, m, d) from None
        if shape != (m, d):
            raise self._explain_centroids(f"they have shape {shape}.", m, d)
        return centroids

    def _explain_centroids(self, problem: str, m: int, d: int) -> JobError:
        """Return the error for a result that is not centroids (m, d)."""
        return JobError(
            f"{self.origin.name} returns no centroids: {problem}",
            fix=f"return one number for each group and attribute, shape {(m, d)}.",
        )

    def _certify_attributes(
        self, X: F64, labels: Labels, centroids: F64, seconds: float
    ) -> tuple[Certificate, ...]:
        """Return a certificate of squared error for each attribute."""
        scale = Scale.of(X)
        Z = scale.standardise(X)
        lost = ((Z - scale.standardise(centroids)[labels]) ** 2).sum(axis=0)
        lowest = ((Z - group_means(Z, labels)[labels]) ** 2).sum(axis=0)
        pairs = zip(lost.tolist(), np.minimum(lowest, lost).tolist(), strict=True)
        return tuple(
            self._certify_attribute(error, bound, seconds) for error, bound in pairs
        )

    def _certify_attribute(
        self, error: float, bound: float, seconds: float
    ) -> Certificate:
        """Return a certificate of this squared error and lower bound."""
        size = choose_gap_size(error, VARIANCE)
        by = self.origin.name
        status = (
            Status.OPTIMAL if is_gap_closed(error, bound, size) else Status.HEURISTIC
        )
        return Certificate(status, error, bound, 0.0, by, seconds, size=size)

    def _add_claims(
        self, certificates: tuple[Certificate, ...], result: Any
    ) -> tuple[Certificate, ...]:
        """Return the certificates with the bounds that the user's result claims."""
        claimed = result.certificates if isinstance(result, Aggregation) else ()
        if len(claimed) != len(certificates):
            return certificates
        return tuple(
            certificate
            if claim.bound is None
            else certificate.claiming(Claim(claim.bound, str(self.origin)))
            for certificate, claim in zip(certificates, claimed, strict=True)
        )


# a margin is added to distances; categories have functions of their own
BESIDE = frozenset({"method", "margin", "categories"})

if TYPE_CHECKING:
    Categories: TypeAlias = CategorySection
else:
    Categories = make_section_union(
        method.settings for method in CATEGORY_AGGREGATORS.values()
    )


class Aggregating(MethodSection):
    """Settings of an aggregation, and the statistics that it keeps.

    Attributes
    ----------
    categories
        Settings of categorical quasi-identifiers; None if the job has none, or uses the
        default.
    """

    categories: Categories | None = None

    @field_validator("categories", mode="before")
    @classmethod
    def _read_empty_section(cls, section: Any) -> Any:
        """Read an empty section of categories as the default method."""
        return (
            {"method": next(iter(CATEGORY_AGGREGATORS))} if section == {} else section
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The keyword arguments for the method's function."""
        return {k: v for k, v in super().settings.items() if k != "categories"}

    @property
    def programs(self) -> "tuple[Aggregating, ...]":
        """The settings of each program that is solved."""
        return (self,)

    @property
    def keeps(self) -> frozenset[str]:
        """The statistics among mean, variance and covariance that it keeps."""
        return frozenset()


@dataclass(frozen=True, kw_only=True)
class Aggregator(Method):
    """A method that turns a partition into published values.

    Attributes
    ----------
    function
        Takes records X (n, d), labels and the settings; returns an `Aggregation`.
    settings
        The section of a job for this method.
    certificate
        Description of objective and bound of its certificates, in standardised units.
    model
        The optimisation model that it solves; None if a formula is optimal.
    template
        Lines on its settings in a new job, each a comment, unless others' name them.
    """

    function: Callable[..., Aggregation]
    settings: type[Aggregating]
    certificate: str
    model: Model | None = None
    template: str = ""

    def __post_init__(self) -> None:
        settings = set(self.settings.model_fields) - BESIDE
        require_arguments(self.name, settings, self.function)


def _adopt_aggregator(thing: object, origin: Origin) -> Aggregator:
    """Return a user's function as an aggregation method."""
    return Aggregator(
        name=origin.name,
        when="an aggregation of your own",
        origin=origin,
        function=OwnAggregator.of(thing, origin, BESIDE),
        settings=Aggregating,
        certificate="sum of squared errors, and the least, that of the means",
    )


AGGREGATORS = Registry(
    "aggopt.aggregate",
    Aggregator,
    "aggregation",
    ["by_model"],  # of a model of the user's, which `model` names
    plugin_kind="aggregators",
    adopt=_adopt_aggregator,
)
