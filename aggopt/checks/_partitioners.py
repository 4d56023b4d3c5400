"""Laws of a partitioner: f(X, k) to the group of each record."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from inspect import Parameter, signature
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from aggopt.checks._records import (
    Case,
    K,
    iter_partitions,
    list_cases,
    list_edges,
    make_normal_records,
)
from aggopt.checks.law import list_laws, not_tried, require, require_refusal
from aggopt.core.deadline import compile_time
from aggopt.core.record_weights import compute_sse
from aggopt.core.types import F64, Labels
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.partition import Partition, Partitioner
from aggopt.partition.registry import AttributeUse, Objective
from aggopt.partition.shared.scaling import scale_records
from aggopt.privacy import distinct_l, t_closeness

L = 2  # required of methods that use a confidential attribute
T = 0.5


@dataclass(frozen=True, eq=False)
class TriedPartitioner:
    """A partitioner with its settings, in the form that laws call.

    Attributes
    ----------
    function, settings
        The function, and the settings of each call.
    takes
        Which attributes it groups; if it takes one, it receives the first.
    guarantees
        The requirements of k, l and t that its groups must satisfy.
    public
        Whether anyone may call it; only a job calls a user's own function, after it
        has made arrays and refused tables without numbers, or without k.
    records, group_sizes
        Ordinary records without near-ties, and the k of their groups.
    cases
        The tables whose groups are counted.
    objective
        The loss that its certificate states.
    """

    name: str
    function: Callable[..., Any]
    settings: Mapping[str, Any]
    excused: Mapping[str, str]
    takes: AttributeUse = AttributeUse.SEVERAL
    guarantees: frozenset[str] = frozenset("k")
    public: bool = False
    records: F64 = field(default_factory=make_normal_records, repr=False)
    group_sizes: Sequence[int] = (2, 3, K)
    cases: Sequence[Case] = field(default_factory=list_cases, repr=False)
    objective: Objective = Objective.SQUARES
    _known: dict[str, npt.NDArray[Any]] = field(default_factory=dict, repr=False)

    @classmethod
    def of(
        cls, method: Partitioner, settings: Mapping[str, Any], name: str
    ) -> "TriedPartitioner":
        """Return a method as its laws see it."""
        fields_of_method = method.function, settings, method.excused
        return cls(
            name,
            *fields_of_method,
            method.takes,
            method.guarantees,
            method.origin is None,
            objective=method.objective,
        )

    @cached_property
    def arguments(self) -> Mapping[str, Parameter]:
        """The arguments of its function."""
        return signature(self.function).parameters

    @cached_property
    def asks(self) -> frozenset[str]:
        """The arguments that it needs in addition to X, k and its settings."""
        needs = {n for n, p in self.arguments.items() if p.default is Parameter.empty}
        return frozenset(needs & {"confidential", "l", "t"} - set(self.settings))

    @property
    def standardises(self) -> bool:
        """Whether it measures distances on z-scores."""
        return self.settings.get("scale") != "none"

    def __call__(
        self, X: Any, k: Any, order: Labels | None = None, **settings: Any
    ) -> Any:
        """Return its result for records, whose places are `order`."""
        available = {"l": L, "t": T, "confidential": self._confidential(X, order)}
        extra = {name: available[name] for name in self.asks}
        return self.function(
            self.attributes(X), k=k, **extra, **self.settings, **settings
        )

    def attributes(self, X: Any) -> Any:
        """Return its part of records: all, the first attribute, or a column of it."""
        if self.takes is AttributeUse.SEVERAL or np.ndim(X) < 2:
            return X
        if isinstance(X, list):
            return [row[0] if self.takes is AttributeUse.ONE else row[:1] for row in X]
        first: Any = 0 if self.takes is AttributeUse.ONE else [0]
        return X.iloc[:, first] if isinstance(X, pd.DataFrame) else X[:, first]

    def labels(self, X: Any, k: Any, order: Labels | None = None) -> npt.NDArray[Any]:
        """Return the group of each record from its result, (n,)."""
        if isinstance(X, np.ndarray) and not X.flags.writeable:
            X = X.copy(order="K")  # kernels are compiled again for read-only arrays
        labels = np.asarray(self(X, k, order))
        one = (
            self.takes is AttributeUse.EACH
            and labels.ndim == 2
            and labels.shape[1] == 1
        )
        return labels[:, 0] if one else labels

    def at(self, case: Case) -> npt.NDArray[Any]:
        """Return the labels of a case, found once."""
        if case.name not in self._known:
            self._known[case.name] = self.labels(case.X.copy(), case.k)
        return self._known[case.name]

    def ordinary(self, k: int) -> npt.NDArray[Any]:
        """Return the labels of the ordinary records, found once."""
        return self.at(Case(f"k = {k}", self.records, k))

    def keeps(self, groups: Sequence[Sequence[int]], n: int) -> bool:
        """Whether groups of n records satisfy the method's guarantees of t and l."""
        labels = np.empty(n, np.intp)
        for number, members in enumerate(groups):
            labels[list(members)] = number
        values = self._confidential(labels, None)
        needs = self.guarantees & self.asks
        is_close = "t" not in needs or t_closeness(labels, values) <= T
        return is_close and ("l" not in needs or distinct_l(labels, values) >= L)

    @property
    def k(self) -> int:
        """The group size where one is enough."""
        return self.group_sizes[-1]

    def _confidential(self, X: Any, order: Labels | None) -> Any:
        """Return values that alternate, so that any two records side by side differ."""
        values = np.arange(np.shape(X)[0] if np.ndim(X) else 0) % L
        return values if order is None else values[order]


def are_equal_groups(one: npt.NDArray[Any], other: npt.NDArray[Any]) -> bool:
    """Whether labels (n,) define equal groups, for any numbering.

    >>> are_equal_groups(np.array([0, 0, 1]), np.array([1, 1, 0]))
    True
    """
    pairs = len(np.unique(np.stack([one, other]), axis=1).T)
    return pairs == len(np.unique(one)) == len(np.unique(other))


def groups_lose_less_than_chance(f: TriedPartitioner) -> None:
    """Groups lose less than random groups of equal sizes."""
    X = scale_records(
        np.asarray(f.records[:, : 1 if f.takes is not AttributeUse.SEVERAL else None])
    )
    labels = f.labels(f.records, f.k)
    rng = np.random.default_rng(0)
    loss = compute_sse(X, labels)
    chance = min(compute_sse(X, rng.permutation(labels)) for _ in range(5))
    require(loss < chance, f"they lose {loss:.4g}, groups at random {chance:.4g}")


def certificate_is_true(f: TriedPartitioner) -> None:
    """The objective is the loss of the groups; no groups like them lose less.

    Groups like them have k records and satisfy what the method guarantees.
    """
    X = make_normal_records()[:7]
    partition = f(X, 2)
    if not isinstance(partition, Partition):
        not_tried("it returns labels without a certificate")
    if f.takes is not AttributeUse.SEVERAL:
        X = X[:, :1]
    Z = scale_records(X) if f.standardises else np.asarray(X)
    loss = _compute_labelled_loss(f, Z, f.labels(make_normal_records()[:7], 2))
    certificate = partition.certificate
    stated = certificate.objective
    near = abs(stated - loss) <= 1e-9 * max(1.0, loss)
    require(near, f"the objective is {stated:.9g}, and the groups lose {loss:.9g}")
    best = min(
        _sum_group_losses(f, Z, groups)
        for groups in iter_partitions(len(Z), 2)
        if f.keeps(groups, len(Z))
    )
    bound = certificate.bound
    if bound is not None:
        is_bound = bound <= best + 1e-9 * max(1.0, best)
        require(is_bound, f"it proves {bound:.9g}, and {best:.9g} is reached")


def _compute_labelled_loss(
    f: TriedPartitioner, Z: F64, labels: npt.NDArray[Any]
) -> float:
    """Return the loss of groups by the method's objective, the slow way."""
    groups = [np.flatnonzero(labels == g) for g in np.unique(labels)]
    return _sum_group_losses(f, Z, groups)


def _sum_group_losses(f: TriedPartitioner, Z: F64, groups: Any) -> float:
    if f.objective is Objective.GENERALISED:  # of numbers: ranges, over that of all
        width = np.ptp(Z, axis=0)
        return sum(len(g) * float((np.ptp(Z[g], axis=0) / width).sum()) for g in groups)
    return sum(float(((Z[g] - Z[g].mean(axis=0)) ** 2).sum()) for g in groups)


LOSS_LAWS = (groups_lose_less_than_chance, certificate_is_true)


POWER = 1024.0  # of two: no weight is rounded by it
TIMES = (1, 3, 1, 2, 5, 1, 2)  # as which each of seven records counts


def equal_weights_change_nothing(f: TriedPartitioner) -> None:
    """Weights that are all equal, 1 or another, give the labels that none give."""
    _require_weighing(f)
    for weight in (1.0, 7.0):
        labels = np.asarray(
            f(f.records.copy(), f.k, weights=np.full(len(f.records), weight))
        )
        same = np.array_equal(labels, f.ordinary(f.k))
        require(same, f"weights of {weight:g} give other labels")


def scale_of_weights_does_not_matter(f: TriedPartitioner) -> None:
    """Weights times a power of two give equal labels, and that multiple of the loss."""
    _require_weighing(f)
    weights = np.random.default_rng(20).uniform(1.0, 3.0, len(f.records))
    one, other = (f(f.records.copy(), f.k, weights=w * weights) for w in (1.0, POWER))
    same = np.array_equal(np.asarray(one), np.asarray(other))
    require(same, f"weights times {POWER:g} give other labels")
    if isinstance(one, Partition):
        stated = other.loss
        expected = POWER * one.loss
        near = abs(stated - expected) <= 1e-9 * expected
        require(near, f"they lose {stated:.9g}, not {POWER:g} times {one.loss:.9g}")


def whole_weights_are_replicated_records(f: TriedPartitioner) -> None:
    """Objective and bound equal the ones of repeated records, in groups of k before."""
    _require_weighing(f)
    X = make_normal_records()[:7]
    partition = f(X.copy(), 2, weights=np.array(TIMES, np.float64))
    if not isinstance(partition, Partition):
        not_tried("it returns labels without a certificate")
    Z = np.repeat(X, TIMES, axis=0)
    Z = scale_records(Z) if f.standardises else Z
    loss = _compute_weighted_loss(f, Z, partition.labels)
    certificate = partition.certificate
    stated = certificate.objective
    near = abs(stated - loss) <= 1e-9 * max(1.0, loss)
    require(near, f"the objective is {stated:.9g}, and the records lose {loss:.9g}")
    if certificate.bound is not None:
        best = min(
            _compute_weighted_loss(f, Z, _number_groups(groups))
            for groups in iter_partitions(len(X), 2)
        )
        is_bound = certificate.bound <= best + 1e-9 * max(1.0, best)
        require(
            is_bound, f"it proves {certificate.bound:.9g}, and {best:.9g} is reached"
        )


def _require_weighing(f: TriedPartitioner) -> None:
    """End the law if the partitioner takes no weights or one attribute only."""
    if "weights" not in f.arguments:
        not_tried("it takes no weights")
    if f.takes is not AttributeUse.SEVERAL:
        not_tried("it takes one attribute")


def _compute_weighted_loss(
    f: TriedPartitioner, Z: F64, labels: npt.NDArray[Any]
) -> float:
    """Return the loss of replicated records Z in the groups (7,) before replication."""
    return _compute_labelled_loss(f, Z, np.repeat(labels, TIMES))


def _number_groups(groups: list[list[int]]) -> npt.NDArray[Any]:
    """Return the group of each of seven records."""
    labels = np.empty(len(TIMES), np.intp)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels


WEIGHT_LAWS = (
    equal_weights_change_nothing,
    scale_of_weights_does_not_matter,
    whole_weights_are_replicated_records,
)


LIMIT = 0.05  # seconds allowed
SOON = 5.0  # seconds within which a method must end


def groups_have_k_records(f: TriedPartitioner) -> None:
    """Groups are numbered 0..m-1 without gap, and have k records or more."""
    for case in f.cases:
        labels = f.at(case)
        n = len(case.X)
        require(
            labels.shape == (n,), f"{case.name}: labels {labels.shape} of {n} records"
        )
        are_integers = labels.dtype.kind in "iu"
        require(
            are_integers,
            f"{case.name}: labels of type {labels.dtype}, not whole numbers",
        )
        require(labels.min() == 0, f"{case.name}: groups from {labels.min()} on, not 0")
        sizes = np.bincount(labels)
        gaps = np.flatnonzero(sizes == 0)
        require(not gaps.size, f"{case.name}: {gaps.size} numbers without a record")
        smallest = sizes.min()
        require(
            smallest >= case.k,
            f"{case.name}: a group of {smallest} records, k = {case.k}",
        )


def no_group_could_be_split(f: TriedPartitioner) -> None:
    """No group has 2k records or more: it could be two groups, with less loss."""
    if f.guarantees > {"k"}:
        not_tried("what it guarantees beside k may take larger groups")
    for case in f.cases:
        largest = int(np.bincount(f.at(case)).max())
        limit = 2 * case.k
        require(
            largest < limit, f"{case.name}: a group of {largest} records, 2k = {limit}"
        )


def repeats_itself(f: TriedPartitioner) -> None:
    """Equal records get equal labels, whatever NumPy's global state."""
    for case in f.cases:
        before = np.random.get_state()  # noqa: NPY002
        np.random.seed(len(case.X))  # noqa: NPY002
        again = f.labels(case.X.copy(), case.k)
        np.random.set_state(before)  # noqa: NPY002
        require(np.array_equal(f.at(case), again), f"{case.name}: two runs differ")


def records_are_left_alone(f: TriedPartitioner) -> None:
    """Records may be read-only, and are not changed."""
    X = f.records.copy()
    f.labels(X, f.k)
    require(np.array_equal(X, f.records), "the records are others afterwards")
    try:
        f(f.records, f.k)
    except ValueError as error:
        require("read-only" not in str(error), "it writes to the records")
        raise


def container_does_not_matter(f: TriedPartitioner) -> None:
    """Lists, data frames and any memory layout give the labels that an array gives."""
    X = f.records
    wide = np.repeat(X, 2, axis=1)
    forms: dict[str, Any] = {
        "columns side by side in memory": np.asfortranarray(X),
        "every other column of an array": wide[:, ::2],
    }
    if f.public:
        forms |= {"a list of rows": X.tolist(), "a data frame": pd.DataFrame(X)}
    for k in f.group_sizes:
        for form, records in forms.items():
            same = np.array_equal(f.labels(records, k), f.ordinary(k))
            require(same, f"k = {k}: {form} gets other labels")


def order_of_attributes_does_not_matter(f: TriedPartitioner) -> None:
    """Groups do not depend on the order of attributes, without near-ties."""
    _require_several(f)
    for k in f.group_sizes:
        same = are_equal_groups(f.labels(f.records[:, ::-1], k), f.ordinary(k))
        require(same, f"k = {k}: the groups are others")


def order_of_records_does_not_matter(f: TriedPartitioner) -> None:
    """Groups do not depend on the order of records, without near-ties."""
    order = np.random.default_rng(0).permutation(len(f.records))
    for k in f.group_sizes:
        shuffled = f.labels(f.records[order], k, order)
        same = are_equal_groups(shuffled, f.ordinary(k)[order])
        require(same, f"k = {k}: the groups are others")


def units_do_not_matter(f: TriedPartitioner) -> None:
    """Groups do not depend on units, origins and signs, without near-ties."""
    _require_standardised(f)
    X = f.records
    attributes = np.arange(X.shape[1])
    factor = 1000.0 ** (attributes - 1)
    shift = 10.0**attributes
    for k in f.group_sizes:
        for what, other in (("units", factor * X + shift), ("signs", -X)):
            same = are_equal_groups(f.labels(other, k), f.ordinary(k))
            require(same, f"k = {k}: other {what} give other groups")


def doubled_and_negated_units_do_not_matter(f: TriedPartitioner) -> None:
    """Units that are powers of two do not change labels: every z-score is equal."""
    _require_standardised(f)
    for name, X in [("normal", f.records), *list_edges().items()]:
        if name in ("normal", "one attribute", "duplicates by the hundred"):
            factor = np.resize([-2.0, 0.25, -1.0, 8.0], X.shape[1])
            other = f.labels(abs(factor) * X, f.k)
            same = are_equal_groups(f.labels(factor * X, f.k), other)
            require(same, f"{name}: other signs give other groups")
            same = np.array_equal(other, f.labels(X, f.k))
            require(same, f"{name}: units of double the size give other groups")


def constant_attribute_does_not_matter(f: TriedPartitioner) -> None:
    """An added attribute with one value does not change the groups."""
    _require_standardised(f)
    _require_several(f)
    wide = np.insert(f.records, 1, 7e5, axis=1)
    for k in f.group_sizes:
        same = are_equal_groups(f.labels(wide, k), f.ordinary(k))
        require(same, f"k = {k}: the groups are others")


def copies_stay_together(f: TriedPartitioner) -> None:
    """If each record occurs k times, no group loses anything."""
    if f.guarantees > {"k"}:
        not_tried("what it guarantees beside k may part them")
    for k in f.group_sizes:
        order = np.random.default_rng(0).permutation(k * len(f.records))
        copies = np.repeat(f.records, k, axis=0)[order]
        if f.takes is not AttributeUse.SEVERAL:
            copies = copies[:, :1]
        labels = f.labels(copies, k)
        for group in range(labels.max() + 1):
            apart = np.ptp(copies[labels == group], axis=0)
            require((apart == 0).all(), f"k = {k}: a group holds different records")


def impossible_k_is_refused(f: TriedPartitioner) -> None:
    """A k above n, below 1 or not whole is refused, with what to do."""
    _require_public(f)
    X = f.records
    n = len(f.records)
    fix = f"To fix: choose k from 1 to {n}"
    require_refusal(
        partial(f, X, n + 1), f"k = {n + 1} of {n}", InfeasibleInputError, says=fix
    )
    require_refusal(
        partial(f, X, 0), "k = 0", JobError, says="To fix: pass k of at least 1"
    )
    for wrong in (2.0, True, "3", None):
        fix = "k must be a whole number"
        require_refusal(partial(f, X, wrong), f"k = {wrong!r}", JobError, says=fix)


def unusable_records_are_refused(f: TriedPartitioner) -> None:
    """Records that have no distances are refused, with what to do."""
    _require_public(f)
    X = f.records
    holed = X.copy()
    holed[1, 0] = np.nan
    recode = "To fix: recode the attributes as real numbers"
    wrong: dict[str, tuple[Any, str]] = {
        "a missing value": (holed, "column 0: 1).\nTo fix: remove those records or"),
        "no record": (X[:0], "To fix: pass at least one record"),
        "text": (X.astype(str), recode),
        "complex numbers": (X + 1j, recode),
    }
    if f.takes is AttributeUse.SEVERAL:
        wrong["one dimension"] = (
            X[:, 0],
            "1 dimension(s).\nTo fix: pass records in rows",
        )
        none = "To fix: pass at least one record and one attribute"
        wrong["no attribute"] = X[:, :0], none
    for what, (records, says) in wrong.items():
        says = "To fix: " if f.takes is AttributeUse.ONE else says
        require_refusal(partial(f, records, f.k), what, TableError, says=says)


def a_time_limit_is_kept(f: TriedPartitioner) -> None:
    """With a limit of 0.05 seconds it is back within 5, with groups of k or more."""
    if "time_limit" not in f.arguments or "time_limit" in f.settings:
        not_tried("it takes no time_limit")
    X = np.random.default_rng(3).normal(size=(400, 3))
    started = compile_time.now()
    try:
        labels = np.asarray(f(X, K, time_limit=LIMIT)).reshape(len(X))
    except JobError as refusal:
        not_tried(f"it refuses a time_limit: {refusal.problem}")
    spent = compile_time.now() - started
    require(spent < SOON, f"it took {spent:.1f} seconds")
    smallest = int(np.bincount(labels).min())
    require(smallest >= K, f"a group of {smallest} records, k = {K}")


def it_keeps_what_it_guarantees(f: TriedPartitioner) -> None:
    """Its groups satisfy l or t, if it guarantees that."""
    further = f.guarantees & f.asks
    if not further:
        not_tried("it guarantees k alone")
    for name in ("n is 2k", "n is 3k - 1", "one attribute", "grid full of ties"):
        X = list_edges()[name]
        labels = f.labels(X, K)
        pay = np.arange(len(X)) % L
        if "l" in further:
            smallest_l = distinct_l(labels, pay)
            require(
                smallest_l >= L, f"{name}: a group with {smallest_l} values, l = {L}"
            )
        if "t" in further:
            emd = t_closeness(labels, pay)
            require(emd <= T, f"{name}: a group with EMD {emd:.4g}, t = {T}")


def _require_public(f: TriedPartitioner) -> None:
    """End the law if a job would refuse the input first."""
    if not f.public:
        not_tried("a job refuses that before it calls a function of one's own")


def _require_several(f: TriedPartitioner) -> None:
    """End the law if the partitioner takes one attribute only."""
    if f.takes is not AttributeUse.SEVERAL:
        not_tried("it takes one attribute")


def _require_standardised(f: TriedPartitioner) -> None:
    """End the law if the partitioner does not standardise."""
    if not f.standardises:
        not_tried('with scale = "none" it takes distances as they are')


LAWS = list_laws(
    groups_have_k_records,
    records_are_left_alone,
    repeats_itself,
    no_group_could_be_split,
    order_of_records_does_not_matter,
    order_of_attributes_does_not_matter,
    units_do_not_matter,
    doubled_and_negated_units_do_not_matter,
    constant_attribute_does_not_matter,
    container_does_not_matter,
    copies_stay_together,
    *LOSS_LAWS,
    *WEIGHT_LAWS,
    a_time_limit_is_kept,
    it_keeps_what_it_guarantees,
    impossible_k_is_refused,
    unusable_records_are_refused,
)
