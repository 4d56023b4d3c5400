"""What any partitioner f(X, k) -> labels must obey: plain functions that assert."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

from aggopt.core.validation import Floats, Labels
from aggopt.errors import InfeasibleInputError, JobError, TableError

Partitioner = Callable[[Any, int], Labels]


def is_a_partition(f: Partitioner, X: Floats, k: int) -> None:
    """One group per record, numbered without gap, none with fewer than k records."""
    labels = np.asarray(f(X, k))
    assert labels.shape == (len(X),)
    assert labels.dtype == np.intp
    assert labels.min() == 0
    assert np.bincount(labels).min() >= k


def no_group_could_be_split(f: Partitioner, X: Floats, k: int) -> None:
    """A group of 2k or more records could be two groups, with less loss."""
    assert np.bincount(f(X, k)).max() < 2 * k


def repeats_itself(f: Partitioner, X: Floats, k: int) -> None:
    """Same records, same labels; and the records are left as they were."""
    frozen = X.copy()
    frozen.flags.writeable = False
    assert (f(frozen, k) == f(X, k)).all()
    assert (frozen == X).all()


def container_does_not_matter(f: Partitioner, X: Floats, k: int) -> None:
    """Lists, data frames and any memory layout give the labels that X gives."""
    wide = np.repeat(X, 2, axis=1)
    forms = X.tolist(), pd.DataFrame(X), np.asfortranarray(X), wide[:, ::2]
    for form in forms:
        assert (f(form, k) == f(X, k)).all()


def order_of_attributes_does_not_matter(f: Partitioner, X: Floats, k: int) -> None:
    """Holds unless distances are equal up to rounding."""
    assert (f(X[:, ::-1], k) == f(X, k)).all()


def order_of_records_does_not_matter(f: Partitioner, X: Floats, k: int) -> None:
    """Holds unless distances are equal up to rounding."""
    order = np.random.default_rng(0).permutation(len(X))
    assert (f(X[order], k) == f(X, k)[order]).all()


def units_do_not_matter(f: Partitioner, X: Floats, k: int) -> None:
    """Holds for partitioners that standardise, without near-ties."""
    attributes = np.arange(X.shape[1])
    factor, shift = 1000.0 ** (attributes - 1), 10.0**attributes
    assert (f(factor * X + shift, k) == f(X, k)).all()
    assert (f(-X, k) == f(X, k)).all()


def doubled_and_negated_units_do_not_matter(f: Partitioner, X: Floats, k: int) -> None:
    """Holds for all that standardise, searches too: every z-score is the same float."""
    factor = np.resize([-2.0, 0.25, -1.0, 8.0], X.shape[1])
    assert (f(factor * X, k) == f(abs(factor) * X, k)).all()
    assert (f(abs(factor) * X, k) == f(X, k)).all()


def constant_attribute_does_not_matter(f: Partitioner, X: Floats, k: int) -> None:
    """Holds for partitioners that standardise."""
    assert (f(np.insert(X, 1, 7e5, axis=1), k) == f(X, k)).all()


def copies_stay_together(f: Partitioner, X: Floats, k: int) -> None:
    """Where each record comes k times, no group loses anything."""
    order = np.random.default_rng(0).permutation(k * len(X))
    copies = np.repeat(X, k, axis=0)[order]
    labels = f(copies, k)
    for group in range(labels.max() + 1):
        assert (np.ptp(copies[labels == group], axis=0) == 0).all()


def impossible_k_says_what_to_do(f: Partitioner, X: Floats, k: int) -> None:
    """Too many, too few, or not a number of records; k itself is not used."""
    n = len(X)
    with pytest.raises(InfeasibleInputError, match=rf"To fix: choose k from 1 to {n}"):
        f(X, n + 1)
    with pytest.raises(JobError, match="To fix: pass k of at least 1"):
        f(X, 0)
    for wrong in (2.0, True, "3", None):
        with pytest.raises(JobError, match="k must be a whole number"):
            f(X, wrong)  # type: ignore[arg-type]


def unusable_records_say_what_to_do(f: Partitioner, X: Floats, k: int) -> None:
    """Each kind of record that has no distances; the values are not quoted."""
    holed = X.copy()
    holed[1, 0] = np.nan
    wrong: list[tuple[Any, str]] = [
        (holed, r"column 0: 1\)\.\nTo fix: remove those records or fill"),
        (X[:, 0], r"1 dimension\(s\)\.\nTo fix: pass records in rows"),
        (X[:0], "To fix: pass at least one record"),
        (X[:, :0], "To fix: pass at least one record and one attribute"),
        (X.astype(str), "To fix: recode the attributes as real numbers"),
        (X + 1j, "To fix: recode the attributes as real numbers"),
    ]
    for records, message in wrong:
        with pytest.raises(TableError, match=message):
            f(records, k)


ON_ANY_RECORDS = (is_a_partition, no_group_could_be_split, repeats_itself)
WITHOUT_NEAR_TIES = (
    container_does_not_matter,
    order_of_attributes_does_not_matter,
    order_of_records_does_not_matter,
    copies_stay_together,
    impossible_k_says_what_to_do,
    unusable_records_say_what_to_do,
)
OF_A_SEARCH = (
    container_does_not_matter,
    copies_stay_together,
    impossible_k_says_what_to_do,
    unusable_records_say_what_to_do,
)
IF_IT_STANDARDISES = (units_do_not_matter, constant_attribute_does_not_matter)
IF_A_SEARCH_STANDARDISES = (doubled_and_negated_units_do_not_matter,)
