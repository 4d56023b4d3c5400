"""Laws of a partitioner: f(X, k) to the group of each record."""

from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from aggopt.checks import _loss, _weighing
from aggopt.checks._partitioner import L, T, TriedPartitioner, alike
from aggopt.checks._records import K, edges
from aggopt.checks.law import laws, not_tried, refused, require
from aggopt.core.compile_time import compile_time
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.partition.registry import AttributeUse
from aggopt.privacy import distinct_l, t_closeness

LIMIT, SOON = 0.05, 5.0  # seconds allowed, and within which that is done


def groups_have_k_records(f: TriedPartitioner) -> None:
    """Groups are numbered 0..m-1 without gap, and have k records or more."""
    for case in f.cases:
        labels, n = f.at(case), len(case.X)
        require(
            labels.shape == (n,), f"{case.name}: labels {labels.shape} of {n} records"
        )
        whole = labels.dtype.kind in "iu"
        require(whole, f"{case.name}: labels of type {labels.dtype}, not whole numbers")
        require(labels.min() == 0, f"{case.name}: groups from {labels.min()} on, not 0")
        sizes = np.bincount(labels)
        gaps = np.flatnonzero(sizes == 0)
        require(not gaps.size, f"{case.name}: {gaps.size} numbers without a record")
        least = sizes.min()
        require(
            least >= case.k, f"{case.name}: a group of {least} records, k = {case.k}"
        )


def no_group_could_be_split(f: TriedPartitioner) -> None:
    """No group has 2k records or more: it could be two groups, with less loss."""
    if f.guarantees > {"k"}:
        not_tried("what it guarantees beside k may take larger groups")
    for case in f.cases:
        most = int(np.bincount(f.at(case)).max())
        limit = 2 * case.k
        require(most < limit, f"{case.name}: a group of {most} records, 2k = {limit}")


def repeats_itself(f: TriedPartitioner) -> None:
    """The same records get the same labels, whatever NumPy's global state."""
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
    """Attributes in another order give the same groups, without near-ties."""
    _require_several(f)
    for k in f.group_sizes:
        same = alike(f.labels(f.records[:, ::-1], k), f.ordinary(k))
        require(same, f"k = {k}: the groups are others")


def order_of_records_does_not_matter(f: TriedPartitioner) -> None:
    """Records in another order are in the same groups, without near-ties."""
    order = np.random.default_rng(0).permutation(len(f.records))
    for k in f.group_sizes:
        shuffled = f.labels(f.records[order], k, order)
        same = alike(shuffled, f.ordinary(k)[order])
        require(same, f"k = {k}: the groups are others")


def units_do_not_matter(f: TriedPartitioner) -> None:
    """Other units, origins and signs give the same groups, without near-ties."""
    _require_standardised(f)
    X = f.records
    attributes = np.arange(X.shape[1])
    factor, shift = 1000.0 ** (attributes - 1), 10.0**attributes
    for k in f.group_sizes:
        for what, other in (("units", factor * X + shift), ("signs", -X)):
            same = alike(f.labels(other, k), f.ordinary(k))
            require(same, f"k = {k}: other {what} give other groups")


def doubled_and_negated_units_do_not_matter(f: TriedPartitioner) -> None:
    """Units that are powers of two give the same labels: every z-score is the same."""
    _require_standardised(f)
    for name, X in [("normal", f.records), *edges().items()]:
        if name in ("normal", "one attribute", "duplicates by the hundred"):
            factor = np.resize([-2.0, 0.25, -1.0, 8.0], X.shape[1])
            other = f.labels(abs(factor) * X, f.k)
            same = alike(f.labels(factor * X, f.k), other)
            require(same, f"{name}: other signs give other groups")
            same = np.array_equal(other, f.labels(X, f.k))
            require(same, f"{name}: units of double the size give other groups")


def constant_attribute_does_not_matter(f: TriedPartitioner) -> None:
    """An attribute with one value more gives the same groups."""
    _require_standardised(f)
    _require_several(f)
    wide = np.insert(f.records, 1, 7e5, axis=1)
    for k in f.group_sizes:
        same = alike(f.labels(wide, k), f.ordinary(k))
        require(same, f"k = {k}: the groups are others")


def copies_stay_together(f: TriedPartitioner) -> None:
    """Where each record comes k times, no group loses anything."""
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
    X, n = f.records, len(f.records)
    fix = f"To fix: choose k from 1 to {n}"
    refused(partial(f, X, n + 1), f"k = {n + 1} of {n}", InfeasibleInputError, says=fix)
    refused(partial(f, X, 0), "k = 0", JobError, says="To fix: pass k of at least 1")
    for wrong in (2.0, True, "3", None):
        fix = "k must be a whole number"
        refused(partial(f, X, wrong), f"k = {wrong!r}", JobError, says=fix)


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
        refused(partial(f, records, f.k), what, TableError, says=says)


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
    least = int(np.bincount(labels).min())
    require(least >= K, f"a group of {least} records, k = {K}")


def it_keeps_what_it_guarantees(f: TriedPartitioner) -> None:
    """Its groups satisfy l or t, where it says that they do."""
    further = f.guarantees & f.asks
    if not further:
        not_tried("it guarantees k alone")
    for name in ("n is 2k", "n is 3k - 1", "one attribute", "grid full of ties"):
        X = edges()[name]
        labels, pay = f.labels(X, K), np.arange(len(X)) % L
        if "l" in further:
            found = distinct_l(labels, pay)
            require(found >= L, f"{name}: a group with {found} values, l = {L}")
        if "t" in further:
            emd = t_closeness(labels, pay)
            require(emd <= T, f"{name}: a group with EMD {emd:.4g}, t = {T}")


def _require_public(f: TriedPartitioner) -> None:
    if not f.public:
        not_tried("a job refuses that before it calls a function of one's own")


def _require_several(f: TriedPartitioner) -> None:
    if f.takes is not AttributeUse.SEVERAL:
        not_tried("it takes one attribute")


def _require_standardised(f: TriedPartitioner) -> None:
    if not f.standardises:
        not_tried('with scale = "none" it takes distances as they are')


LAWS = laws(
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
    *_loss.LAWS,
    *_weighing.LAWS,
    a_time_limit_is_kept,
    it_keeps_what_it_guarantees,
    impossible_k_is_refused,
    unusable_records_are_refused,
)
