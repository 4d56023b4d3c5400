"""What is encoded, and what must be: refused with the way to do it."""

import datetime as dt

import numpy as np
import pandas as pd
import pytest

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
    with pytest.raises(JobError, match="X is encoded, and its coordinates") as refused:
        aggregate(aggopt.encode(PEOPLE), LABELS, **asked)
    assert 'people[["age", "income"]]' in refused.value.fix
    assert 'X.attribute("sex")' in refused.value.fix


@pytest.mark.parametrize("name", ["mdav", "local_search", "cbfs", "mhm", "projection"])
@pytest.mark.parametrize("what", ["names", "dates"])
def test_partitioners_name_the_encoding_of_names_and_dates(name, what):
    frame = PEOPLE
    if what == "dates":
        frame = pd.DataFrame({"born": [dt.date(2020, 1, 1 + i) for i in range(12)]})
    with pytest.raises(TableError) as refused:
        getattr(aggopt.partition, name)(frame, k=3)
    assert refused.value.fix.endswith("aggopt.encode(X), which takes names and dates.")


def test_of_numbers_they_do_not():
    holed = [[1.0], [np.nan], [3.0], [4.0]]
    for X in (holed, pd.DataFrame(holed), [[1.0], [2.0, 3.0]], [[None]] * 4):
        with pytest.raises(TableError) as refused:
            aggopt.partition.mdav(X, k=2)
        assert "encode" not in refused.value.fix


def test_what_is_chosen_together_are_categories():
    E = aggopt.encode(PEOPLE)
    with pytest.raises(JobError, match="'age': numbers, and categories alone") as why:
        aggopt.aggregate.medoids(E, LABELS)
    assert 'aggopt.encode(people[["sex", "occupation"]])' in why.value.fix
    assert len(aggopt.aggregate.medoids(E.only([1, 2]), LABELS).values) == 12


def test_encode_says_what_to_do_with_what_is_missing():
    for name in ("age", "sex"):
        holed = PEOPLE.assign(**{name: PEOPLE[name].where(LABELS == 1)})
        with pytest.raises(TableError, match="6 values are missing") as refused:
            aggopt.encode(holed)
        assert 'policy = "patterns" or "fill" under [missing]' in refused.value.fix
    assert "Missing values are refused" in aggopt.encode.__doc__


def test_the_largest_weight_is_one_whose_sums_are_floats():
    assert np.isfinite(aggopt.encode(PEOPLE, {"sex": {"weight": 1e100}})).all()
    for weight in (1.1e100, 1e308):
        with pytest.raises(JobError, match="beyond what a float can hold"):
            aggopt.encode(PEOPLE, {"sex": {"weight": weight}})
