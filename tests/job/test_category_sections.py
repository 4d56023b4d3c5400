"""[aggregation.categories] in a job: what is taken, and how the rest is refused."""

import re
from typing import Any

import pytest
from refusals import refused

import aggopt
from aggopt.errors import AggoptError, JobError, UnknownNameError

BASE: dict[str, Any] = {"roles": {"quasi-identifier": ["a"]}, "privacy": {"k": 3}}


def asked(how: Any, **beside: Any) -> aggopt.Job:
    return aggopt.Job(**BASE, aggregation={**beside, "categories": how})


@pytest.mark.parametrize(
    "how",
    [
        {"method": "plurality", "time_limit": 5.0},
        {"method": "frequencies", "slack": 3},
        {"method": "frequencies", "slack": "exact", "solver": "highs"},
        {"method": "frequencies", "price": 0.5},
        {"method": "frequencies", "cross": (("a", "b"),)},
        {"method": "plurality", "occurring": True},
        {"method": "wish", "budget": 1.5, "slack": "exact", "solver": "pyomo:highs"},
    ],
)
def test_a_section_survives_being_written(how: dict[str, Any], tmp_path: Any) -> None:
    job = asked(how)
    (tmp_path / "job.toml").write_text(job.to_toml())
    again = aggopt.Job.read(tmp_path / "job.toml")
    assert again == job
    found = again.aggregation.categories
    assert {key: getattr(found, key) for key in how} == how
    assert set(how) - {"method", "cross", "occurring"} <= set(found.settings)
    assert not {"cross", "occurring"} & set(found.settings)


@pytest.mark.smoke
def test_with_is_the_key_of_a_file(tmp_path: Any) -> None:
    job = asked({"method": "frequencies", "with": ["pay"]})
    assert 'with = ["pay"]' in job.to_toml()
    (tmp_path / "job.toml").write_text(job.to_toml())
    assert aggopt.Job.read(tmp_path / "job.toml").aggregation.categories.with_ == (
        "pay",
    )


def test_a_section_without_a_key_asks_for_the_default() -> None:
    assert asked({}).aggregation.categories.method == "plurality"
    assert asked({}).aggregation.method == "mean"


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"method": "mean"}, JobError),
        ({"method": "p3m"}, JobError),
        ({"method": "frequencis"}, UnknownNameError),
        ({"slack": 3}, JobError),
        ({"method": "frequencies", "slck": 3}, UnknownNameError),
        ({"method": "plurality", "slack": 3}, JobError),
        ({"method": "frequencies", "slack": "exct"}, JobError),
        ({"method": "frequencies", "slack": 1.5}, JobError),
        ({"method": "frequencies", "slack": -1}, JobError),
        ({"method": "frequencies", "price": 0}, JobError),
        ({"method": "frequencies", "price": 1.0, "slack": 3}, JobError),
        ({"method": "frequencies", "solver": "slot"}, UnknownNameError),
        ({"method": "frequencies", "cross": [["a"]]}, JobError),
        ({"method": "frequencies", "cross": [["a", "b"], ["c", "a"]]}, JobError),
        ({"method": "frequencies", "cross": ["a"]}, JobError),
        ({"method": "frequencies", "with": "pay"}, JobError),
        ({"method": "plurality", "with": ["pay"]}, JobError),
        ({"method": "plurality", "occurring": True, "time_limit": 2.0}, JobError),
        ({"method": "frequencies", "occurring": True}, JobError),
        ({"method": "wish", "budget": 0.5}, JobError),
        ({"method": "wish", "delta": "far"}, JobError),
        ({"method": "wish", "solver": "slots"}, JobError),
        ("plurality", JobError),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(how: Any, error: Any) -> None:
    with refused(error) as error:
        asked(how)
    assert isinstance(error.value, AggoptError)


def test_a_method_of_categories_is_none_of_numbers() -> None:
    words = re.escape("[aggregation] method = 'frequencies' is of categories.")
    with pytest.raises(JobError, match=words) as error:
        aggopt.Job(**BASE, aggregation={"method": "frequencies"})
    assert "write it under [aggregation.categories]; here" in error.value.fix
