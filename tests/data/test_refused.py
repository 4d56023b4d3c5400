"""A refused quasi-identifier is never advised to be published as it is."""

import re
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import ROLES, job, people

import aggopt
from aggopt.data.parsing.parse_text import NOT_AS_THEY_ARE, UNDONE
from aggopt.errors import AggoptError

TEXT = people().assign(age=np.tile(["low", "middle", "high", "low"], 10))
DIGITS = people().assign(age=2**60 + np.arange(40))


def refusal(data):
    with pytest.raises(AggoptError) as error:
        aggopt.mask(data, job())
    return str(error.value)


def test_objects_and_words_among_numbers_are_to_be_recoded_or_dropped(tmp_path):
    exact = pd.Series([Decimal(i) for i in range(40)], dtype=object)
    said = refusal(people().assign(age=exact))
    assert "Columns that must be numeric and are not: 'age' (" in said
    assert said.endswith(f"{NOT_AS_THEY_ARE} Convert their type if they are numbers.")
    some = people()["age"].astype(str).where(people().index > 2, "unknown")
    people().assign(age=some).to_csv(tmp_path / "people.csv", index=False)
    said = refusal(tmp_path / "people.csv")
    assert "entries that are not ('age': 3)" in said
    assert f"{NOT_AS_THEY_ARE} For numbers with a decimal comma" in said


def test_digits_that_floats_lose_are_to_be_shortened_or_dropped():
    said = refusal(DIGITS)
    assert "more digits than a float can tell apart: 'age'" in said
    assert said.endswith(f"or drop them, as identifier. {UNDONE}")


def test_an_l_that_cannot_be_reached_does_not_advise_to_drop_the_promise():
    with refused(AggoptError):
        aggopt.mask(people(), job(privacy={"k": 3, "l": 4, "repair": "merge"}))


def test_what_is_advised_works():
    order = {"low": 0, "middle": 1, "high": 2}
    assert aggopt.mask(TEXT.assign(age=TEXT["age"].map(order)), job()).audit.holds
    columns = pd.get_dummies(TEXT["age"], dtype=int)
    roles = {**ROLES, "quasi-identifier": ["income", *columns]}
    coded = pd.concat([TEXT.drop(columns="age"), columns], axis=1)
    assert aggopt.mask(coded, job(roles=roles)).audit.holds
    roles = {**ROLES, "identifier": ["name", "age"], "quasi-identifier": ["income"]}
    assert aggopt.mask(TEXT, job(roles=roles)).audit.holds
    assert aggopt.mask(DIGITS, job(roles=roles)).audit.holds


def test_no_advice_of_the_package_is_another_role():
    for path in Path(aggopt.__file__).parent.rglob("*.py"):
        assert not re.search(r"another\W+role", path.read_text("utf-8")), path.name


def test_of_text_that_tells_most_apart_it_is_said_how_dates_are_read():
    days = people().assign(age=pd.date_range("2020", periods=40).astype(str))
    assert refusal(days).endswith(
        'To fix: list the column as drop; or, in a job, write rare = "avoid", which '
        "publishes its frequent values alone, or a tree or an order of its values; of "
        'text that spells dates, as 2020-12-31, write kind = "date".'
    )
    asked = job(attributes={"age": {"kind": "date"}})
    assert aggopt.mask(days, asked).audit.holds
