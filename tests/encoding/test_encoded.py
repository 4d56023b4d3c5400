"""What is encoded is taken where records are, and has its scale already."""

import datetime as dt
from typing import Any

import numpy as np
import pandas as pd
import pytest
from encoding.mixed import TYPES, all_distances, table
from refusals import refused

import aggopt
from aggopt.encoding import Encoded
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.partition import (
    blocked,
    cbfs,
    closeness_first,
    correlated_blocks,
    diverse_vmdav,
    in_blocks,
    individual_ranking,
    local_search,
    loss_bound,
    mdav,
    mhm,
    optimal,
    projection,
    univariate,
    vmdav,
)
from aggopt.repair import closeness

FRAME = table(40, seed=3)
E = aggopt.encode(FRAME, TYPES)
WAGE = np.arange(40) % 7


@pytest.mark.parametrize("method", [mdav, cbfs, vmdav, mhm, projection, local_search])
@pytest.mark.parametrize("scale", ["z", "none"])
def test_groups_are_those_of_the_coordinates_as_they_are(
    method: Any, scale: str
) -> None:
    found = method(E, 3, scale=scale)
    expected = method(E.coordinates, 3, scale="none")
    assert (found == expected).all()
    assert found.certificate.objective == expected.certificate.objective
    assert found.certificate.bound == expected.certificate.bound


def test_the_default_is_as_encoded() -> None:
    assert (mdav(E, 3) == mdav(E.coordinates, 3, scale="none")).all()
    assert loss_bound(E, 3) == loss_bound(E.coordinates, 3, scale="none")
    few = aggopt.encode(FRAME.iloc[:10], TYPES)
    expected = optimal(few.coordinates, 3, scale="none")
    assert (optimal(few, 3) == expected).all()
    assert (blocked(E, 3) == blocked(E.coordinates, 3, scale="none")).all()


@pytest.mark.parametrize(
    ("method", "asked"), [(closeness_first, {"t": 0.4}), (diverse_vmdav, {"l": 2})]
)
def test_methods_that_keep_requirements_take_it(method: Any, asked: Any) -> None:
    found = method(E, confidential=WAGE, k=3, **asked)
    expected = method(E.coordinates, confidential=WAGE, k=3, scale="none", **asked)
    assert (found == expected).all()


def test_repairs_take_it() -> None:
    groups = mdav(E, 3)
    found = closeness(E, WAGE, groups, k=3, t=0.3, method="swap")
    assert found.certificate.violation == 0
    Z = E.coordinates
    means = np.stack([Z[found.labels == g].mean(axis=0) for g in found.labels])
    assert found.loss == pytest.approx(((Z - means) ** 2).sum())


def test_the_loss_is_that_of_pairs_within_groups() -> None:
    """Sum of squares = sum over groups of distances of pairs / size (Huygens)."""
    groups = mdav(E, 4)
    apart = sum(a.weight * all_distances(FRAME, a.name) for a in E.attributes)
    expected = sum(
        apart[np.ix_(groups == g, groups == g)].sum() / (2 * size)
        for g, size in enumerate(groups.sizes)
    )
    assert groups.loss == pytest.approx(expected, rel=1e-12)


def test_blocks_are_of_attributes() -> None:
    found = in_blocks(E, 3, [[0, 2], [1, 3, 4]])
    assert found.shape == (40, 5)
    one, other = E.only([0, 2]), E.only([1, 3, 4])
    assert (found.labels[:, 2] == mdav(one, 3).labels).all()
    assert (found.labels[:, 4] == mdav(other, 3).labels).all()
    with refused(JobError):
        in_blocks(E, 3, [[0, 2], [1]])


def test_a_function_of_ones_own_gets_what_is_encoded() -> None:
    def halves(X: Any, k: int) -> Any:
        assert isinstance(X, Encoded)
        return (np.arange(len(X)) >= len(X) // 2).astype(int)

    found = in_blocks(E, 3, [[0, 1], [2, 3, 4]], method=halves)
    total = ((E.coordinates - E.coordinates.mean(axis=0)) ** 2).sum()
    assert 0 < found.loss < total


def test_numbers_are_ranked_one_by_one_and_names_are_not() -> None:
    numbers = FRAME[["age"]].assign(one=1, size=np.arange(40) ** 2 % 17)
    X = numbers.to_numpy(float)
    ranked = individual_ranking(aggopt.encode(numbers), 3)
    assert (ranked == individual_ranking(X, 3)).all()
    blocks = in_blocks(aggopt.encode(numbers), 3, [[0], [1], [2]], method="univariate")
    assert (blocks == ranked.labels).all()
    assert correlated_blocks(aggopt.encode(numbers), 0.9) == correlated_blocks(X, 0.9)
    for work in (
        lambda: individual_ranking(E, 3),
        lambda: correlated_blocks(E, 0.5),
        lambda: in_blocks(E, 3, [[j] for j in range(5)], method="univariate"),
    ):
        with refused(JobError, "no plain number"):
            work()


def test_one_attribute_is_no_column_of_numbers() -> None:
    with refused(aggopt.AggoptError, "2 dimension"):
        univariate(aggopt.encode(FRAME[["age"]]), 3)


def test_it_is_an_array_that_cannot_be_written_to() -> None:
    assert np.asarray(E) is E.coordinates
    assert np.asarray(E, np.float32).dtype == np.float32
    assert (len(E), E.shape, E.size) == (40, E.coordinates.shape, E.coordinates.size)
    with pytest.raises(ValueError, match="read-only"):
        E.coordinates[0, 0] = 1
    np.array(E)[0, 0] = 1


def test_attributes_have_names_levels_and_codes() -> None:
    school = E.attribute("school")
    assert school.levels == school.nodes == ("none", "some", "much", "all")
    assert [school.levels[c] for c in school.codes] == FRAME["school"].tolist()
    assert E.attribute("illness").nodes[-1] == "*"
    with refused(JobError, "'age'"):
        _ = E.attribute("age").levels
    with refused(UnknownNameError, "'agee'"):
        E.attribute("agee")


def test_no_value_is_shown() -> None:
    frame = pd.DataFrame({"x": ["QQ", "b", "QQ"], "n": [12345, 1, 2]})
    said = repr(aggopt.encode(frame)) + repr(aggopt.encode(frame).attributes)
    assert "QQ" not in said
    assert "12345" not in said
    assert repr(E) == (
        "Encoded: 40 records, 5 attributes (1 numeric, 1 nominal, 1 ordinal, "
        f"1 hierarchical, 1 distances) in {E.shape[1]} coordinates"
    )


# --- what is encoded, and what must be: refused with the way to do it


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
