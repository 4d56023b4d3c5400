"""Bounds that cannot be meant are refused in full, each before any work."""

import pandas as pd
import pytest
from refusals import refused
from tables import MDAV

import aggopt
from aggopt.data.table import Table
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.pipeline.prepare.job_settings import (
    _find_kept_statistic,
    are_bounded_jointly,
)
from aggopt.pipeline.validate.bounds import require_bounds

FRAME = pd.DataFrame(
    {"a": [0.0, 0.2, 0.4, 0.6, 0.8, 9.0], "b": [1.0, 2, 3, 4, 5, 6], "s": [*"xxyyzz"]}
)
BOOLEAN = FRAME.assign(a=[True, False] * 3)
DATES = FRAME.assign(a=pd.date_range("2020-01-01", periods=6))


def look(frame, sides, k=3, keep="mean", **sections):
    job = aggopt.Job(
        roles={"quasi-identifier": ["b", "a", "s"]},
        privacy={"k": k},
        partition=MDAV,
        attributes={"a": sides},
        aggregation={"method": "mean", "keep": keep},
        **sections,
    )
    table = Table.of(frame, job.roles, job.attributes)
    require_bounds(table, table.matrix(), job)
    return job


@pytest.mark.parametrize(
    "frame",
    [BOOLEAN, DATES, FRAME.assign(a=FRAME["s"])],
    ids=["truth values", "dates", "names"],
)
def test_what_is_no_number_has_no_bounds(frame) -> None:
    with refused(JobError, "'a'", "[attributes]"):
        look(frame, {"upper": 99})


def test_truth_values_are_no_numbers_even_where_they_are_said_to_be() -> None:
    with refused(JobError):
        look(BOOLEAN, {"kind": "numeric", "upper": 99})


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ({"lower": 0, "upper": 9}, None),
        ({"lower": 0.1}, "1 original below lower = 0.1"),
        ({"upper": 0.5}, "3 originals above upper = 0.5"),
        (
            {"lower": 0.3, "upper": 8},
            "2 originals below lower = 0.3 and 1 original above upper = 8",
        ),
    ],
)
def test_originals_lie_within_their_bounds(sides, said) -> None:
    if said is None:
        look(FRAME, sides)
        return
    with refused(TableError, "'a'"):
        look(FRAME, sides)


def test_two_values_are_published_within_bounds() -> None:
    few = FRAME.assign(a=FRAME["a"] / 10)
    look(few, {"lower": 0, "upper": 0.95}, output={"decimals": 1})
    with refused(JobError, "'a'", "[output]"):
        look(few, {"lower": 0, "upper": 0.95}, output={"decimals": 0})


APART = {"variance": ["a"], "mean": ["b"]}
OTHER = {"variance": ["b"], "mean": ["a"]}


@pytest.mark.parametrize(
    ("keep", "k", "enough"),
    [
        ("mean", 2, True),
        ("variance", 2, False),
        ("covariance", 2, False),
        (APART, 2, False),
        (OTHER, 2, True),
        ("variance", 3, False),
        ("variance", 4, True),  # one group, which is refused by itself
    ],
)
def test_groups_of_k_reach_the_variance_within_bounds(keep, k, enough) -> None:
    if enough:
        look(FRAME, {"lower": 0}, k, keep)
        return
    with refused(InfeasibleInputError, "'a'"):
        look(FRAME, {"lower": 0}, k, keep)


def test_by_weight_groups_of_k_may_stand_out_farther() -> None:
    job = aggopt.Job(
        roles={"quasi-identifier": ["a", "b"], "identifier": ["s"], "weight": "w"},
        privacy={"k": 2},
        partition=MDAV,
        attributes={"a": {"lower": 0}},
        aggregation={"method": "mean", "keep": "variance"},
    )
    table = Table.of(FRAME.assign(w=[3.0, 3, 3, 3, 1, 1]), job.roles, job.attributes)
    require_bounds(table, table.matrix(), job)


def test_the_smaller_of_two_groups_stands_out_as_far_as_k_allows() -> None:
    """Of z = -1 at the bound and groups of 2 and 4 the variance is reached, just so."""
    frame = FRAME.assign(a=[0.0, 0, 0, 0, 3, 3])
    z = frame["a"].mean() / frame["a"].std(ddof=0)
    assert z**2 * (6 - 2) / 2 == pytest.approx(1)
    look(frame, {"lower": 0}, 2, "variance")
    with refused(InfeasibleInputError, "No 2 centroids"):
        look(frame.assign(a=[0.0, 0, 0, 0, 1, 4]), {"lower": 0}, 2, "variance")


@pytest.mark.parametrize(
    ("keep", "together"),
    [
        ("covariance", True),
        ("variance", False),
        ({"covariance": ["a"], "variance": ["b"]}, True),
        ({"covariance": ["b"], "variance": ["a"]}, False),
    ],
)
def test_bounded_attributes_of_a_covariance_are_solved_together(keep, together) -> None:
    for sides in ({"lower": 0}, {"integer": True}):
        job = aggopt.Job(
            roles={"quasi-identifier": ["a", "b"]},
            privacy={"k": 3},
            attributes={"a": sides},
            aggregation={"method": "p3m", "keep": keep},
        )
        assert are_bounded_jointly(job) == (together and "lower" in sides)


def test_a_solver_that_keeps_no_bounds_is_refused_before_any_work() -> None:
    job = aggopt.Job(
        roles={"quasi-identifier": ["a", "b"], "identifier": ["s"]},
        privacy={"k": 2},
        attributes={"a": {"lower": -100}},
        aggregation={"method": "p3m", "keep": "covariance", "solver": "stiefel"},
    )
    table = Table.of(FRAME, job.roles, job.attributes)
    with refused(JobError):
        require_bounds(table, table.matrix(), job)


def test_what_a_table_does_not_name_is_kept_by_nothing() -> None:
    job = look(FRAME, {"lower": 0}, 2, OTHER)
    kept = [_find_kept_statistic(job, name) for name in ("a", "b", "s")]
    assert kept == ["mean", "variance", None]
    assert (
        _find_kept_statistic(look(FRAME, {"lower": 0}, 4, "variance"), "s")
        == "variance"
    )
