"""What is encoded, and what must be: refused with the way to do it."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.errors import JobError, TableError

PEOPLE = pd.DataFrame({"age": range(12), "sex": ["f", "m"] * 6, "work": [*"xyz"] * 4})
LABELS = np.arange(12) // 6


@pytest.mark.parametrize(
    "name", ["mean", "median", "p3m", "p3m_onesided", "satisfaction"]
)
def test_aggregations_of_numbers_do_not_take_coordinates(name):
    aggregate = getattr(aggopt.aggregate, name)
    asked = {} if name in ("mean", "median") else {"delta": 0.1}
    with refused(JobError):
        aggregate(aggopt.encode(PEOPLE), LABELS, **asked)


@pytest.mark.parametrize("name", ["mdav", "local_search", "cbfs", "mhm", "projection"])
@pytest.mark.parametrize("what", ["names", "dates"])
def test_partitioners_name_the_encoding_of_names_and_dates(name, what):
    frame = PEOPLE
    if what == "dates":
        frame = pd.DataFrame({"born": [dt.date(2020, 1, 1 + i) for i in range(12)]})
    with refused(TableError):
        getattr(aggopt.partition, name)(frame, k=3)


def test_of_numbers_they_do_not():
    holed = [[1.0], [np.nan], [3.0], [4.0]]
    for X in (holed, pd.DataFrame(holed), [[1.0], [2.0, 3.0]], [[None]] * 4):
        with pytest.raises(TableError) as error:
            aggopt.partition.mdav(X, k=2)
        assert "encode" not in error.value.fix


def test_what_is_chosen_together_are_categories():
    E = aggopt.encode(PEOPLE)
    with refused(JobError, "'age'"):
        aggopt.aggregate.medoids(E, LABELS)
    assert len(aggopt.aggregate.medoids(E.only([1, 2]), LABELS).values) == 12


def test_encode_says_what_to_do_with_what_is_missing():
    for name in ("age", "sex"):
        holed = PEOPLE.assign(**{name: PEOPLE[name].where(LABELS == 1)})
        with refused(TableError, "[missing]"):
            aggopt.encode(holed)
    assert "Missing values are refused" in aggopt.encode.__doc__


def test_the_largest_weight_is_one_whose_sums_are_floats():
    assert np.isfinite(aggopt.encode(PEOPLE, {"sex": {"weight": 1e100}})).all()
    for weight in (1.1e100, 1e308):
        with refused(JobError):
            aggopt.encode(PEOPLE, {"sex": {"weight": weight}})
