"""What a job with blocks of attributes is refused for, before any work."""

import numpy as np
import pytest
from refusals import refused
from tables import PAIRS, WAYS, WIDE, wide, wide_job

import aggopt
from aggopt.errors import JobError, SolverError, TableError, UnknownNameError
from aggopt.solvers import Solver

SEVERAL = [way for way in WAYS if len(way[1]) > 1]


@pytest.mark.parametrize(("how", "blocks"), SEVERAL)
def test_blocks_do_not_promise_the_combination(no_work, how, blocks):
    with refused(JobError) as refusal:
        aggopt.mask(wide(), wide_job(partition=how, scope="combination"))
    problem, fix = refusal.value.problem, refusal.value.fix
    assert (
        f"{how['method']} is to group 5 quasi-identifiers in {len(blocks)}" in problem
    )
    alone = how["method"] in ("univariate", "individual_ranking")
    assert ('method = "mdav"' if alone else 'attributes = "together"') in fix


@pytest.mark.parametrize("attributes", ["together", PAIRS, {"correlation": 0.8}])
@pytest.mark.parametrize("scope", ["combination", "blocks"])
def test_univariate_takes_one_attribute(no_work, scope, attributes):
    how = {"method": "univariate", "attributes": attributes}
    with refused(JobError, "individual_ranking"):
        aggopt.mask(wide(), wide_job(partition=how, scope=scope))


@pytest.mark.parametrize(
    "attributes",
    [
        [["age"], ["height", "weight"]],
        [[*WIDE], ["age"]],
        [[*WIDE, "agee"]],
        [[*WIDE, "illness"]],
        [[*WIDE], []],
        [],
    ],
)
def test_blocks_name_each_quasi_identifier_once(no_work, attributes):
    how = {"method": "mdav", "attributes": attributes}
    with refused(JobError):
        aggopt.mask(wide(), wide_job(partition=how))


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
def test_a_solver_of_the_partition_is_looked_for_first(no_work, method, monkeypatch):
    def asked(**settings):
        ways = {} if method == "individual_ranking" else {"attributes": "one by one"}
        return wide_job(partition={"method": method, **ways, **settings})

    with refused(UnknownNameError, "'dinamic'"):
        aggopt.mask(wide(), asked(solver="dinamic"))
    with refused(JobError, "LP"):
        aggopt.mask(wide(), asked(solver="uno"))
    with refused(JobError, "'print_level'"):
        aggopt.mask(wide(), asked(solver="cvxpy:highs", options={"print_level": 3}))
    with refused(JobError):
        aggopt.mask(wide(), asked(time_limit=3.0))
    monkeypatch.setattr(Solver, "lacks", "no package dynamite")
    with refused(SolverError):
        aggopt.mask(wide(), asked(solver="dynamic"))


WHOLE = {"method": "individual_ranking", "centroids": "integer"}


@pytest.mark.parametrize(
    "sections",
    [
        {},
        {"output": {"round_integers": True}, "aggregation": {"method": "median"}},
        {
            "output": {"round_integers": True},
            "aggregation": {"method": "mean", "keep": "variance"},
        },
    ],
)
def test_groups_for_whole_numbers_need_whole_numbers_published(no_work, sections):
    with refused(JobError, "round_integers = true"):
        aggopt.mask(wide(), wide_job(partition=WHOLE, **sections))


def test_groups_for_whole_numbers_are_for_columns_of_them(no_work):
    rounded = wide_job(partition=WHOLE, output={"round_integers": True})
    with refused(JobError, "'height'", "'weight'", "'income'"):
        aggopt.mask(wide(), rounded)


def test_groups_for_whole_numbers_publish_them():
    frame = wide().round().astype(dict.fromkeys(WIDE, int))
    asked = wide_job(partition=WHOLE, output={"round_integers": True})
    kinds = aggopt.mask(frame, asked).table[list(WIDE)].dtypes
    assert set(map(str, kinds)) == {"int64"}


def test_an_attribute_that_a_partition_refuses_is_named():
    frame = wide()
    frame["debt"] = np.append(-(10.0 ** np.arange(59)), 0)
    asked = wide_job(partition={"method": "individual_ranking", "solver": "highs"})
    with refused(TableError, "'debt'"):
        aggopt.mask(frame, asked)
