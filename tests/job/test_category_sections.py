"""[aggregation.categories] in a job: what is taken, and how the rest is refused."""

import re
from typing import Any

import pytest

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
    ("how", "error", "words"),
    [
        ({"method": "mean"}, JobError, "[aggregation.categories] method = 'mean' is of "
         "numbers."),
        ({"method": "p3m"}, JobError, "method = 'p3m' is of numbers."),
        ({"method": "frequencis"}, UnknownNameError, "did you mean 'frequencies'?"),
        ({"slack": 3}, JobError, "[aggregation.categories] names no method."),
        ({"method": "frequencies", "slck": 3}, UnknownNameError,
         "No key of [aggregation.categories] is called 'slck'."),
        ({"method": "plurality", "slack": 3}, JobError,
         "[aggregation.categories] method = 'plurality' takes no slack."),
        ({"method": "frequencies", "slack": "exct"}, JobError,
         "[aggregation.categories] slack is 'exct'"),
        ({"method": "frequencies", "slack": 1.5}, JobError,
         'write by how many records counts may differ, or "exact".'),
        ({"method": "frequencies", "slack": -1}, JobError, "slack = -1."),
        ({"method": "frequencies", "price": 0}, JobError,
         "[aggregation.categories] price is 0: write a number above 0"),
        ({"method": "frequencies", "price": 1.0, "slack": 3}, JobError,
         "[aggregation.categories] has both slack and price."),
        ({"method": "frequencies", "solver": "slot"}, UnknownNameError,
         "did you mean 'slots'?"),
        ({"method": "frequencies", "cross": [["a"]]}, JobError,
         "[aggregation.categories] cross has a list of less than two names."),
        ({"method": "frequencies", "cross": [["a", "b"], ["c", "a"]]}, JobError,
         "[aggregation.categories] cross has a name twice."),
        ({"method": "frequencies", "cross": ["a"]}, JobError,
         'write lists of two names or more: [["NAME", "NAME"], ...].'),
        ({"method": "frequencies", "with": "pay"}, JobError,
         'name columns that are published as they are: ["NAME", ...].'),
        ({"method": "plurality", "with": ["pay"]}, JobError,
         "method = 'plurality' takes no with."),
        ({"method": "plurality", "occurring": True, "time_limit": 2.0}, JobError,
         "[aggregation.categories] occurring = true takes no time_limit"),
        ({"method": "frequencies", "occurring": True}, JobError,
         "method = 'frequencies' takes no occurring."),
        ({"method": "wish", "budget": 0.5}, JobError,
         "[aggregation.categories] budget is 0.5: write a number of at least 1"),
        ({"method": "wish", "delta": "far"}, JobError,
         'write a number of 0 or more, { column = "NAME" }, or { attributes'),
        ({"method": "wish", "solver": "slots"}, JobError, "slots does not take"),
        ("plurality", JobError, "aggregation.categories is 'plurality': write a table"),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused(how: Any, error: Any, words: str) -> None:
    with pytest.raises(error, match=re.escape(words)) as refused:
        asked(how)
    assert isinstance(refused.value, AggoptError)


def test_a_method_of_categories_is_none_of_numbers() -> None:
    words = re.escape("[aggregation] method = 'frequencies' is of categories.")
    with pytest.raises(JobError, match=words) as refused:
        aggopt.Job(**BASE, aggregation={"method": "frequencies"})
    assert "write it under [aggregation.categories]; here" in refused.value.fix
