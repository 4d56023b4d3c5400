"""Settings have one name each; the names that they had are refused with it."""

import inspect
from functools import partial

import numpy as np
import pytest

from aggopt import aggregate, partition, repair
from aggopt.core.renamed import renamed

X = np.arange(12.0)[:, None]
CALLS = [
    (lambda **old: partition.local_search(X, 3, **old), "seconds", "time_limit"),
    (
        lambda **old: partition.local_search(X, 3, **old),
        "start",
        "initial or init",
    ),
    (lambda **old: partition.blocked(X, 3, **old), "seconds", "time_limit"),
    (lambda **old: partition.optimal(X, 3, **old), "seconds", "time_limit"),
    (lambda **old: partition.optimal(X, 3, **old), "gap", "gap_tol"),
    (lambda **old: partition.recommend(9, 2, 3, **old), "seconds", "time_limit"),
    (
        lambda **old: partition.merge_until_close(X, X[:, 0], 3, 0.3, **old),
        *("start", "initial"),
    ),
    (
        lambda **old: repair.closeness(X, X[:, 0], np.zeros(12, int), 3, 0.3, **old),
        *("seconds", "time_limit"),
    ),
    *[
        (partial(combine, X, np.arange(12) // 3), "seconds", "time_limit")
        for combine in (aggregate.p3m, aggregate.p3m_onesided, aggregate.satisfaction)
    ],
    *[
        (partial(method, X[:, 0], 3), "seconds", "time_limit")
        for method in (partition.univariate, partition.individual_ranking)
    ],
]


@pytest.mark.parametrize(("call", "old", "new"), CALLS)
def test_an_old_name_is_refused_with_the_new_one(call, old, new):
    with pytest.raises(TypeError, match=f"takes {new}.*no argument '{old}' any more"):
        call(**{old: 1})


def test_the_function_keeps_its_name_and_its_arguments():
    @renamed(old="new")
    def search(x, *, new=1):
        """Return the sum."""
        return x + new

    assert (search.__name__, search.__doc__) == ("search", "Return the sum.")
    assert list(inspect.signature(search).parameters) == ["x", "new"]
    assert (search(1), search(1, new=2), search(x=3)) == (2, 3, 4)


def test_a_method_and_labels_to_begin_with_are_not_both_taken():
    from aggopt.errors import JobError

    both = {"initial": "mdav", "initial_labels": np.arange(12) // 3}
    with pytest.raises(
        JobError, match="initial = 'mdav' and initial_labels are both set"
    ):
        partition.local_search(X, 3, **both)
