"""What is told of units whose records are known to belong together, word for word."""

import numpy as np
import pytest

from aggopt.release.audit.unprotected_columns import (
    count_linked_units,
    describe_linked_units,
    find_compositions,
)

PUBLISHED = np.array([0, 0, 0, 0, 0, 1])
ALONE = np.array([7, 7, 3, 3, 5, 5])  # 5 has another value


def test_units_that_would_be_alone_are_counted_in_words() -> None:
    (said,) = describe_linked_units(find_compositions(PUBLISHED, ALONE), 2)
    assert "make 1 of 3 units unique" in said
    pairs = find_compositions(PUBLISHED[:4], np.array([7, 7, 3, 3]))
    assert describe_linked_units(pairs, 2) == []


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_units_share_is_counted_of_units(k: int) -> None:
    found = count_linked_units(("age", "pay"), PUBLISHED, ALONE, k)
    assert (found.attributes, found.what) == (("age", "pay"), "unit")
    assert (found.combinations, found.rarest, found.unique) == (2, 1, 1)
    assert (found.rare, found.total) == ([0, 1, 3][k - 1], 3)
