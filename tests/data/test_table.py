"""Tables and roles: what comes in, what goes out, and the contract on bad input."""

import datetime as dt

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from tables import ROLES, people

from aggopt.data.table import Table
from aggopt.errors import JobError, TableError
from aggopt.job import AttributeSection
from aggopt.job.roles import Roles

roles = Roles.model_validate(ROLES)
KINDS = {
    "pandas": lambda frame: frame,
    "pandas nullable": lambda frame: frame.convert_dtypes(),
    "pandas pyarrow": lambda frame: frame.convert_dtypes(dtype_backend="pyarrow"),
    "polars": pl.from_pandas,
    "pyarrow": lambda frame: pa.Table.from_pandas(frame, preserve_index=False),
}


@pytest.fixture(params=KINDS)
def table(request):
    return KINDS[request.param](people())


def column(table, name):
    return list(table[name].to_pylist() if isinstance(table, pa.Table) else table[name])


@pytest.mark.smoke
def test_the_kind_that_comes_in_goes_out(table):
    checked = Table.of(table, roles)
    values = np.round(checked.matrix())
    native = checked.with_values(values).native
    assert type(native) is type(table)
    assert list(getattr(native, "column_names", native.columns)) == [
        "age",
        "illness",
        "income",
        "note",
    ]
    assert column(native, "age") == values[:, 0].tolist()
    assert column(native, "income") == values[:, 1].tolist()
    assert column(native, "note") == column(table, "note")


def test_matrix_holds_the_quasi_identifiers_in_the_order_of_the_roles(table):
    frame = people()
    expected = frame[["age", "income"]].to_numpy(float)
    assert Table.of(table, roles).matrix() == pytest.approx(expected)


def test_a_pandas_index_is_kept_even_with_duplicate_labels():
    frame = people(4)
    frame.index = [7, 7, 3, 1]
    checked = Table.of(frame, roles)
    native = checked.with_values(checked.matrix() + 1).native
    assert native.index.tolist() == [7, 7, 3, 1]
    assert native["age"].tolist() == (frame["age"] + 1).tolist()


@pytest.mark.smoke
def test_types_are_kept():
    frame = people(4).astype({"income": "float32"})
    native = Table.of(frame, roles).with_values(np.full((4, 2), 0.1)).native
    assert native["income"].dtype == np.float32
    assert native["income"].nunique() == 1
    assert native["age"].dtype == np.float64
    assert native["illness"].dtype == frame["illness"].dtype


def test_the_input_is_left_alone():
    frame = people()
    before = frame.copy()
    checked = Table.of(frame, roles)
    checked.with_values(checked.matrix() * 0)
    pd.testing.assert_frame_equal(frame, before)


def test_a_numpy_array_has_numbered_columns():
    array = np.array([[1.0, 5.0, 9.0], [2.0, 6.0, 8.0]])
    numbered = Roles(identifier=("0",), quasi_identifier=("2",), other=("1",))
    checked = Table.of(array, numbered)
    native = checked.with_values(np.array([[8.5], [8.5]])).native
    assert isinstance(native, np.ndarray)
    assert native.tolist() == [[5.0, 8.5], [6.0, 8.5]]


def one(values, dtype=None):
    return pd.DataFrame({"q": pd.Series(values, dtype=dtype)})


q = Roles(quasi_identifier=("q",))


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("int64", [2, 2, -2, 10**6]),
        ("int8", [2, 2, -2, 127]),
        ("uint8", [2, 2, 0, 255]),
        ("Int16", [2, 2, -2, 32767]),
    ],
)
def test_rounding_gives_the_nearest_value_the_type_can_hold(dtype, expected):
    checked = Table.of(one([1, 2, 3, 4], dtype), q)
    values = np.array([[1.7], [1.7], [-2.2], [1e6]])
    native = checked.with_values(values, round_integers=True).native
    assert native["q"].tolist() == expected
    assert str(native["q"].dtype) == dtype


@pytest.mark.parametrize(
    ("dtype", "ends"),
    [("int64", (-(2**63), 2**63 - 1024)), ("uint64", (0, 2**64 - 2048))],
)
def test_rounding_stays_inside_the_widest_types(dtype, ends):
    checked = Table.of(one([1, 2], dtype), q)
    values = np.array([[-1e300], [1e300]])
    native = checked.with_values(values, round_integers=True).native
    assert native["q"].tolist() == list(ends)


def test_booleans_as_numbers_are_shares_and_with_rounding_booleans():
    checked = Table.of(
        one([True, False, True]), q, {"q": AttributeSection(kind="numeric")}
    )
    values = np.array([[0.5], [0.4], [1.2]])
    assert checked.with_values(values).native["q"].tolist() == [0.5, 0.4, 1.2]
    rounded = checked.with_values(values, round_integers=True).native["q"]
    assert rounded.tolist() == [True, False, True]
    assert rounded.dtype == bool


def test_rounding_leaves_floats_alone():
    checked = Table.of(one([1.0, 2.0]), q)
    values = np.array([[1.25], [1.25]])
    native = checked.with_values(values, round_integers=True).native
    assert native["q"].tolist() == [1.25, 1.25]


def test_missing_entries_outside_the_quasi_identifiers_are_kept():
    frame = people(4)
    frame["note"] = [None, "a", None, "b"]
    checked = Table.of(frame, roles)
    native = checked.with_values(checked.matrix()).native
    assert native["note"].isna().tolist() == [True, False, True, False]


SECRET = 123456.789
BAD = {
    "no records": (people(0), "The table has no records"),
    "missing": (people(3).assign(age=[SECRET, np.nan, np.nan]), r"'age': 2 missing\)"),
    "None in an object column": (
        people(3).assign(age=np.array([SECRET, None, 1], dtype=object)),
        r"'age' \(Object\)",
    ),
    "nullable": (
        people(3).assign(age=pd.array([1, None, 3], dtype="Int64")),
        "'age': 1 missing",
    ),
    "infinite": (
        people(3).assign(income=[SECRET, np.inf, -np.inf]),
        "'income': 2 infinite",
    ),
    "text": (people(3).assign(age=["a", "b", "c"]), "'age': There are 3 different"),
    "dates among times": (
        people(3).assign(age=[*[dt.date(2020, 1, 1)] * 2, dt.datetime(2020, 1, 1)]),
        "'age': The values are of several",
    ),
    "a date that is missing": (
        people(3).assign(age=pd.to_datetime(["2020-01-01", None, None])),
        "'age': 2 missing",
    ),
    "holes in text": (people(3).assign(age=["a", None, "a"]), "1 value is missing"),
    "complex": (people(3).assign(age=[1j, 2j, 3j]), "'age': The values are of several"),
    "undeclared": (
        people(3).assign(phone=1, street=2),
        "No role is declared for 'phone', 'street'",
    ),
    "duplicate names": (
        pd.concat([people(3), people(3)[["age"]]], axis=1),
        "more than once: 'age'",
    ),
    "duplicate names in Arrow": (
        pa.table([[1], [2]], names=["age", "age"]),
        "more than once: 'age'",
    ),
    "names that are not text": (people(3).rename(columns={"note": 5}), "are not text"),
    "a list": ([1, 2], "builtins.list is not a table"),
    "a lazy frame": (pl.LazyFrame({"age": [1]}), "collect a lazy one first"),
    "a series": (pd.Series([1]), "is not a table"),
    "one dimension": (np.arange(3.0), r"The array has 1 dimension"),
}


@pytest.mark.parametrize("case", BAD)
def test_a_table_that_cannot_be_used_is_refused(case):
    data, message = BAD[case]
    with pytest.raises(TableError, match=message) as refusal:
        Table.of(data, roles)
    assert refusal.value.fix
    assert str(SECRET) not in str(refusal.value)


@pytest.mark.smoke
def test_missing_and_infinite_entries_are_counted_per_column():
    frame = people(5).assign(
        age=[1, np.nan, 3, 4, 5.0], income=[np.inf, np.nan, 1, 2, 3]
    )
    with refused(TableError, "'age'", "'income'"):
        Table.of(frame, roles)


def test_a_name_the_table_lacks_is_refused():
    with refused(JobError, "'note'"):
        Table.of(people(3).drop(columns="note"), roles)


def test_a_name_with_two_roles_is_refused():
    twice = Roles.model_validate({**ROLES, "confidential": ["illness", "age"]})
    with refused(JobError, "'age'"):
        Table.of(people(3), twice)


def test_printing_a_table_shows_no_record():
    assert "Person" not in repr(Table.of(people(3), roles))


def test_columns_of_mixed_types_cannot_be_filed():
    frame = people(3).assign(note=np.array([1, "SECRET", 2.5], dtype=object))
    with refused(TableError, "'note'") as refusal:
        Table.of(frame, roles).to_arrow()
    assert "SECRET" not in str(refusal.value)


class Named(list):
    """Names of a table that must not be searched one by one."""

    def __contains__(self, name: object) -> bool:
        raise AssertionError(name)


def test_the_roles_of_a_wide_table_are_looked_up_not_searched() -> None:
    roles.check(Named(people(1).columns))
