"""Laws of an aggregator: f(X, labels) to the published values."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from inspect import signature
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.aggregate import Aggregation, Aggregator
from aggopt.aggregate.registry import OwnAggregator
from aggopt.checks.law import list_laws, not_tried, require, require_refusal
from aggopt.core.deadline import compile_time
from aggopt.core.plugins.loading import find_origin
from aggopt.core.types import F64, I64
from aggopt.errors import JobError, TableError
from aggopt.solvers import Certificate, Status

SOON = 5.0  # seconds within which a limit of 0.05 is kept
CLOSED = 1e-6  # gap of an optimal result


@dataclass(frozen=True, eq=False)
class TriedAggregator:
    """An aggregator with its settings, in the form that laws call.

    Attributes
    ----------
    function, settings
        The function, and the settings of each call.
    method
        Its declared properties; None for a function that declares none.
    """

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any]
    excused: Mapping[str, str]
    method: Aggregator | None = None

    @classmethod
    def of(cls, method: Aggregator, settings: Mapping[str, Any], name: str) -> Any:
        """Return a method as its laws see it."""
        section = method.settings(method=method.name, **settings)
        return cls(name, method.function, section.settings, method.excused, method)

    @property
    def keeps(self) -> frozenset[str]:
        """The declared subset of mean, variance and covariance that it keeps."""
        if self.method is None:
            return frozenset()
        names = set(self.method.settings.model_fields)
        known_settings = {name: v for name, v in self.settings.items() if name in names}
        return self.method.settings(method=self.method.name, **known_settings).keeps

    def __call__(self, X: Any, labels: Any, **settings: Any) -> Aggregation:
        """Return its values for records and their groups."""
        aggregation: Aggregation = self.function(
            X, labels, **{**self.settings, **settings}
        )
        if self.method is None and not isinstance(aggregation, Aggregation):
            origin = find_origin("aggregators", self.function)  # as `mask` takes it
            return OwnAggregator(lambda X, labels: aggregation, origin)(X, labels)
        what = type(aggregation).__name__
        require(
            isinstance(aggregation, Aggregation), f"it returns a {what}, no Aggregation"
        )
        return aggregation

    def values(self, X: Any, labels: Any) -> F64:
        """Return the published value of each record and attribute, (n, d)."""
        return self(X, labels).values


def one_value_for_a_group_and_attribute(f: TriedAggregator) -> None:
    """Each group has one finite value of each attribute, (m, d)."""
    X, labels = make_records()
    masked = f(X, labels)
    shape = masked.centroids.shape
    require(shape == (6, 3), f"centroids {shape} of 6 groups and 3 attributes")
    same = np.array_equal(masked.values, masked.centroids[labels])
    require(same, "what is published is not the value of the record's group")
    require(np.isfinite(masked.values).all(), "some values are not finite")


def units_do_not_matter(f: TriedAggregator) -> None:
    """Values change with the units and origins of the records, and not otherwise."""
    X, labels = make_records()
    unit = 8.0
    origin = np.array([64.0, -2.0, 0.0])
    in_other_units = f.values(X * unit + origin, labels)
    _require_near(in_other_units, f.values(X, labels) * unit + origin, "other units")


def order_of_records_does_not_matter(f: TriedAggregator) -> None:
    """Values do not depend on the order of records."""
    X, labels = make_records()
    order = np.random.default_rng(1).permutation(len(X))
    in_other_order = f.values(X[order], labels[order])
    _require_near(in_other_order, f.values(X, labels)[order], "another order")


def numbers_of_groups_do_not_matter(f: TriedAggregator) -> None:
    """Values do not depend on the numbers of the groups."""
    X, labels = make_records()
    renamed = np.array([3, 5, 0, 1, 4, 2])[labels]
    _require_near(f.values(X, renamed), f.values(X, labels), "other numbers")


def each_attribute_is_aggregated_by_itself(f: TriedAggregator) -> None:
    """The values of an attribute do not depend on the others, or on its place."""
    if "covariance" in f.keeps:
        not_tried("a covariance is kept of all attributes together")
    X, labels = make_records()
    values = f.values(X, labels)
    moved = f.values(X[:, [1, 2, 0]], labels)
    _require_near(moved, values[:, [1, 2, 0]], "another order of attributes")
    _require_near(f.values(X[:, [0]], labels), values[:, [0]], "one attribute alone")


def it_keeps_what_it_says(f: TriedAggregator) -> None:
    """Mean, variance and covariance are kept, if it declares that."""
    if not f.keeps:
        not_tried("it says that it keeps nothing")
    X, labels = make_records()
    values = f.values(X, labels)
    if "mean" in f.keeps:
        _require_near(values.mean(axis=0), X.mean(axis=0), "the mean")
    if "variance" in f.keeps:
        _require_near(values.std(axis=0), X.std(axis=0), "the standard deviation")
    if "covariance" in f.keeps:
        _require_near(np.cov(values.T), np.cov(X.T), "the covariance")


def a_constant_attribute_is_kept(f: TriedAggregator) -> None:
    """An attribute with one value is published unchanged, to the last bit."""
    X, labels = make_records()
    masked = f(X, labels)
    require((masked.values[:, 2] == X[0, 2]).all(), "it is published as another value")
    lost = _find_certificate(masked, 2).objective
    require(lost == 0, f"its objective is {lost:.6g}")


def certificates_agree_with_themselves(f: TriedAggregator) -> None:
    """No bound exceeds its objective; an optimal status has no gap."""
    X, labels = make_records()
    certificates = f(X, labels).certificates
    require(certificates, "there is no certificate")
    for j, certificate in enumerate(certificates):
        where = f"certificate {j}"
        require(
            certificate.violation <= 1e-6,
            f"{where}: violation {certificate.violation:.3g}",
        )
        if certificate.bound is not None:
            slack = CLOSED * max(1.0, abs(certificate.objective))
            below = certificate.bound <= certificate.objective + slack
            stated = (
                f"bound {certificate.bound:.9g}, objective {certificate.objective:.9g}"
            )
            require(below, f"{where}: {stated}")
        if certificate.status is Status.OPTIMAL:
            shown = certificate.gap is not None and certificate.gap <= CLOSED
            require(shown, f"{where}: optimal, with gap {certificate.gap}")


def records_are_left_alone(f: TriedAggregator) -> None:
    """Records and labels may be read-only, and are not changed."""
    X, labels = make_records()
    before = X.copy(), labels.copy()
    f(X, labels)
    same = np.array_equal(X, before[0]) and np.array_equal(labels, before[1])
    require(same, "records or labels are others afterwards")
    X.flags.writeable = labels.flags.writeable = False
    f(X, labels)


def repeats_itself(f: TriedAggregator) -> None:
    """Equal records get equal values."""
    X, labels = make_records()
    same = np.array_equal(f.values(X, labels), f.values(X, labels))
    require(same, "two runs differ")


def a_time_limit_is_kept(f: TriedAggregator) -> None:
    """With a limit of 0.05 seconds it is back within 5."""
    if "time_limit" not in signature(f.function).parameters:
        not_tried("it takes no time_limit")
    X = np.random.default_rng(3).normal(size=(120, 1))
    started = compile_time.now()
    f(X, np.arange(120) // 4, time_limit=0.05)
    spent = compile_time.now() - started
    require(spent < SOON, f"it took {spent:.1f} seconds")


def what_cannot_be_aggregated_is_refused(f: TriedAggregator) -> None:
    """Missing values, and labels that are not groups of the records, are refused."""
    if f.method is None:
        not_tried("a job refuses that before it calls a function of one's own")
    X, labels = make_records()
    holed = X.copy()
    holed[3, 1] = np.nan
    says = "missing or infinite"
    require_refusal(lambda: f(holed, labels), "a missing value", TableError, says=says)
    says = "skip a group number"
    require_refusal(
        lambda: f(X, labels * 2), "group 1 without a record", JobError, says=says
    )
    says = "labels have shape (23,)"
    require_refusal(
        lambda: f(X, labels[1:]), "23 labels of 24 records", JobError, says=says
    )


def make_records() -> tuple[F64, I64]:
    """Return 24 records of three attributes, the last of one value, in six groups."""
    rng = np.random.default_rng(13)
    X = rng.gamma(2.0, size=(24, 3)) * [1.0, 500.0, 0.01]
    X[:, 2] = 7.1
    return X, rng.permutation(np.arange(24) // 4)


def _find_certificate(masked: Aggregation, j: int) -> Certificate:
    """Return the certificate that attribute j has a part in."""
    return next(
        c for names, c in masked.name_certificates("012").items() if str(j) in names
    )


def _require_near(
    one: npt.NDArray[Any], other: npt.NDArray[Any], what: str, rel: float = 1e-6
) -> None:
    away = float(np.max(np.abs(one - other) / np.maximum(np.abs(other), 1e-12)))
    require(away <= rel, f"{what}: values differ by {away:.3g} of themselves")


LAWS = list_laws(
    one_value_for_a_group_and_attribute,
    units_do_not_matter,
    order_of_records_does_not_matter,
    numbers_of_groups_do_not_matter,
    each_attribute_is_aggregated_by_itself,
    it_keeps_what_it_says,
    a_constant_attribute_is_kept,
    certificates_agree_with_themselves,
    records_are_left_alone,
    repeats_itself,
    a_time_limit_is_kept,
    what_cannot_be_aggregated_is_refused,
)
