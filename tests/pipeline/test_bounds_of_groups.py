"""A job's budget for the bound of its groups acts everywhere, or is refused."""

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.errors import JobError
from aggopt.partition import loss_bound

RNG = np.random.default_rng(5)
N = 90
TABLE = pd.DataFrame(
    {
        "age": RNG.integers(18, 90, N),
        "income": RNG.lognormal(8, 1, N).round(),
        "region": np.repeat(["n", "s", "w"], [20, 30, 40]),
        "wage": RNG.permutation(N),
    }
)
NAMES = ["age", "income"]


def mask_with(partition, table=TABLE, **job):
    roles = {"quasi-identifier": NAMES, **job.pop("roles", {})}
    privacy = {"k": 4, **job.pop("privacy", {})}
    columns = [*NAMES, *(name for names in roles.values() for name in names)]
    job = aggopt.Job(roles=roles, privacy=privacy, partition=partition, **job)
    return aggopt.mask(table[[*dict.fromkeys(columns)]], job)


def prove_groups(bound, **job):
    partition = {"method": "mdav", "bound": bound, **job.pop("partition", {})}
    release = mask_with(partition, **job)
    return [block.certificate for block in release.blocks]


def total_bound(bound, **job):
    return sum(each.bound for each in prove_groups(bound, **job))


CASES = {
    "a table": {},
    "blocks": {
        "partition": {"attributes": [["age"], ["income"]]},
        "privacy": {"scope": "blocks"},
    },
    "strata": {"roles": {"stratum": ["region"]}},
    "a repair": {
        "roles": {"confidential": ["wage"]},
        "privacy": {"t": 0.15, "repair": "merge"},
    },
}


@pytest.mark.parametrize("case", CASES)
def test_more_of_a_budget_proves_more(case):
    bounds = [total_bound(bound, **CASES[case]) for bound in ("none", "quick", 0.5)]
    assert bounds[0] < bounds[1] <= bounds[2]


def test_a_table_has_the_bound_of_its_records():
    for bound in ("none", "quick"):
        (proof,) = prove_groups(bound)
        assert proof.bound == pytest.approx(loss_bound(TABLE[NAMES], 4, bound=bound))


def test_strata_share_the_budget_and_their_bounds_add_up():
    Z = (TABLE[NAMES] - TABLE[NAMES].mean()) / TABLE[NAMES].std(ddof=0)
    alone = [
        loss_bound(part, 4, scale="none", bound=0.3 * len(part) / N)
        for _, part in Z.groupby(TABLE["region"])
    ]
    assert total_bound(0.3, **CASES["strata"]) == pytest.approx(sum(alone))


@pytest.mark.parametrize("method", ["optimal", "individual_ranking", "generalising"])
def test_methods_with_a_proof_of_their_own_refuse_a_budget(method):
    with refused(JobError, "bound"):
        mask_with({"method": method, "bound": "none"})


def test_groups_without_a_bound_refuse_a_budget():
    with refused(JobError, "bound"):
        mask_with({"method": "mdav", "bound": 1.0}, missing={"policy": "fill"})


def test_a_method_that_is_chosen_and_proves_its_groups_needs_no_budget():
    job = aggopt.Job(
        roles={"quasi-identifier": ["age"]}, privacy={"k": 4}, partition={"bound": 1.0}
    )
    release = aggopt.mask(TABLE[["age"]], job)
    assert any("bound is not needed" in note for note in release.notes)
