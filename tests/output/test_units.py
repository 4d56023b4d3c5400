"""Units in the place of records: counts, risks, and what is told of whole units."""

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest

from aggopt.output.composition import together_known
from aggopt.output.counts import Count
from aggopt.output.refusal import too_rare
from aggopt.output.risk import risk_of

LABELS = np.array([0, 0, 0, 1, 1, 2])
UNITS = np.array([0, 0, 1, 1, 2, 0])


def test_each_unit_counts_once_in_each_of_its_combinations():
    found = Count.of(["age"], LABELS, 2, UNITS)
    assert (found.combinations, found.rarest, found.rare, found.unique) == (3, 1, 1, 1)
    assert (found.total, found.what) == (5, "unit")
    plain = Count.of(["age"], LABELS, 2)
    assert (plain.rarest, plain.total, plain.what) == (1, 6, "record")


def test_what_is_too_rare_is_said_in_units():
    assert (
        "stands in 1 unit, and k = 2"
        in too_rare(Count.of(["age"], LABELS, 2, UNITS), 2, "combination").problem
    )


@pytest.mark.parametrize(
    ("units", "risk"),
    [(None, [1 / 3] * 3 + [1 / 2] * 2 + [1]), (UNITS, [1 / 2] * 5 + [1])],
)
def test_the_risk_of_a_record_is_by_units(units, risk):
    frame = nw.from_native(pd.DataFrame({"age": LABELS}))
    assert risk_of(frame, ["age"], units).tolist() == risk


def test_units_are_compared_by_all_of_their_records():
    published = np.array([0, 1, 1, 0, 0, 1])  # units 0 and 1 have {0, 1}, 2 {0}, 3 {1}
    units = np.array([0, 0, 1, 1, 2, 3])
    assert together_known(published, units, 1) == []
    assert together_known(published, units, 2) == [
        "Units are not published. If somebody knew which records belong to one unit, "
        "the combinations of its records would make 2 of 4 units unique, and put 2 "
        "into groups smaller than 2. If a published column tells how large a unit is, "
        "make it a stratum."
    ]
    assert "2 of 4 units" in together_known(published, units, 3)[0]
    assert "and put 4 into" in together_known(published, units, 3)[0]
    assert together_known(published[:4], units[:4], 2) == []
    sizes = np.array([0, 0, 0, 0])
    assert "1 of 2 units" not in together_known(sizes, np.array([0, 0, 1, 1]), 3)[0]
    assert "2 of 2 units" in together_known(sizes, np.array([0, 0, 0, 1]), 2)[0]
