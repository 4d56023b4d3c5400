"""What a job with blocks of attributes is refused for, before any work."""

import numpy as np
import pytest
from tables import PAIRS, WAYS, WIDE, wide, wide_job

import aggopt
from aggopt.errors import JobError, SolverError, TableError, UnknownNameError
from aggopt.solvers import Solver

SEVERAL = [way for way in WAYS if len(way[1]) > 1]


@pytest.mark.parametrize(("how", "blocks"), SEVERAL)
def test_blocks_do_not_promise_the_combination(no_work, how, blocks):
    with pytest.raises(JobError) as refusal:
        aggopt.mask(wide(), wide_job(partition=how, scope="combination"))
    problem, fix = refusal.value.problem, refusal.value.fix
    assert (
        f"{how['method']} is to group 5 quasi-identifiers in {len(blocks)}" in problem
    )
    assert "not for the combination of all of them" in problem
    assert 'scope = "blocks"' in fix
    alone = how["method"] in ("univariate", "individual_ranking")
    assert ('method = "mdav"' if alone else 'attributes = "together"') in fix


@pytest.mark.parametrize("attributes", ["together", PAIRS, {"correlation": 0.8}])
@pytest.mark.parametrize("scope", ["combination", "blocks"])
def test_univariate_takes_one_attribute(no_work, scope, attributes):
    how = {"method": "univariate", "attributes": attributes}
    with pytest.raises(JobError, match="univariate takes one attribute") as refusal:
        aggopt.mask(wide(), wide_job(partition=how, scope=scope))
    for way in ("individual_ranking", '"one by one"', "scope", "projection", "mhm"):
        assert way in refusal.value.fix


@pytest.mark.parametrize(
    ("attributes", "message"),
    [
        ([["age"], ["height", "weight"]], "leave out 'income', 'debt'"),
        ([[*WIDE], ["age"]], "name more than once 'age'"),
        ([[*WIDE, "agee"]], "name an unknown quasi-identifier 'agee'"),
        ([[*WIDE, "illness"]], "name an unknown quasi-identifier 'illness'"),
        ([[*WIDE], []], "include an empty one"),
        ([], "leave out 'age'"),
    ],
)
def test_blocks_name_each_quasi_identifier_once(no_work, attributes, message):
    how = {"method": "mdav", "attributes": attributes}
    with pytest.raises(JobError, match=message):
        aggopt.mask(wide(), wide_job(partition=how))


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
def test_a_solver_of_the_partition_is_looked_for_first(no_work, method, monkeypatch):
    def asked(**settings):
        ways = {} if method == "individual_ranking" else {"attributes": "one by one"}
        return wide_job(partition={"method": method, **ways, **settings})

    with pytest.raises(UnknownNameError, match="No solver is called 'dinamic'"):
        aggopt.mask(wide(), asked(solver="dinamic"))
    with pytest.raises(JobError, match="uno does not take problems of class LP"):
        aggopt.mask(wide(), asked(solver="uno"))
    with pytest.raises(JobError, match="'print_level' is not allowed"):
        aggopt.mask(wide(), asked(solver="cvxpy:highs", options={"print_level": 3}))
    with pytest.raises(JobError, match="dynamic takes no options and no time limit"):
        aggopt.mask(wide(), asked(time_limit=3.0))
    monkeypatch.setattr(Solver, "lacks", "no package dynamite")
    with pytest.raises(SolverError, match="not installed: no package dynamite"):
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
    with pytest.raises(JobError, match="would not round them") as refusal:
        aggopt.mask(wide(), wide_job(partition=WHOLE, **sections))
    assert "round_integers = true" in refusal.value.fix


def test_groups_for_whole_numbers_are_for_columns_of_them(no_work):
    rounded = wide_job(partition=WHOLE, output={"round_integers": True})
    with pytest.raises(JobError, match=r"'height', 'weight', 'income', 'debt' are not"):
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
    with pytest.raises(TableError, match="Attributes 'debt': The scales of the values"):
        aggopt.mask(frame, asked)
