"""What is told of units whose records are known to belong together, word for word."""

import numpy as np
import pytest

from aggopt.output.composition import linked, of_units, together_known

PUBLISHED = np.array([0, 0, 0, 0, 0, 1])
ALONE = np.array([7, 7, 3, 3, 5, 5])  # 5 has another value, 3 another column beside
BESIDE = np.array([0, 0, 1, 0, 0, 0])


def test_units_that_are_alone_are_counted_in_words() -> None:
    assert of_units(PUBLISHED, [BESIDE], ALONE, ALONE, 2) == [
        "Pseudonyms tell which records are of one unit: with the columns that are "
        "published as they are, 3 of 3 units are alone with what their records have "
        "together."
    ]
    (one,) = of_units(PUBLISHED[:4], [BESIDE[:4]], np.array([7, 2, 3, 4]), None, 2)
    assert "1 of 4 units is alone with what their records have together." in one
    pairs = np.array([7, 7, 3, 3])
    assert of_units(PUBLISHED[:4], [np.array([1, 2, 2, 1])], pairs, None, 3) == []


def test_without_units_nothing_is_told() -> None:
    assert of_units(PUBLISHED, [BESIDE], None, None, 2) == []
    known = of_units(PUBLISHED, [BESIDE], None, ALONE, 2)
    assert known == together_known(PUBLISHED, ALONE, 2)
    assert "1 of 3 units would be alone" in known[0]


@pytest.mark.parametrize("k", [1, 2, 3])
def test_what_units_share_is_counted_of_units(k: int) -> None:
    found = linked(("age", "pay"), PUBLISHED, ALONE, k)
    assert (found.attributes, found.what) == (("age", "pay"), "unit")
    assert (found.combinations, found.rarest, found.unique) == (2, 1, 1)
    assert (found.rare, found.total) == ([0, 1, 3][k - 1], 3)
