"""Groups that another job made of the same table are taken as they are."""

import numpy as np
import pytest
from refusals import refused
from tables import job, people, put_partitioner

from aggopt import mask
from aggopt.errors import SolverError
from aggopt.pipeline.mask import publish_partitioned
from aggopt.pipeline.partition.partition_table import partition_table

FRAME = people(20)
SECRET = "0" * 32


def heard(step, share):
    """Do nothing."""


def refuse(X, k, *, ending):
    raise AssertionError("nothing is to be partitioned")


@pytest.mark.parametrize("policy", ["refuse", "fill"])
def test_groups_are_taken_and_their_release_is_that_of_the_whole_job(
    monkeypatch, policy
):
    frame = FRAME.astype({"age": float})
    if policy == "fill":
        frame.loc[3, "age"] = np.nan
    asked = {"missing": {"policy": policy}}
    first = partition_table(frame, job(**asked), heard, secret=SECRET)
    other = job(aggregation={"method": "median"}, **asked)
    whole = mask(frame, other, secret=SECRET)
    put_partitioner(monkeypatch, "mdav", refuse)
    given = partition_table(frame, other, heard, secret=SECRET, groups=first.groups)
    assert given.blocks is first.blocks
    assert given.kept is first.kept
    assert (given.kept is None) == (policy == "refuse")
    assert given.job.aggregation.method == "median"
    release = publish_partitioned(given, heard)
    assert release.masked == whole.masked
    assert release.audit == whole.audit
    assert release.notes == whole.notes


def test_groups_that_were_repaired_are_not_repaired_again(monkeypatch):
    asked = {"privacy": {"k": 3, "l": 2, "repair": "merge"}}
    first = partition_table(FRAME, job(**asked), heard)
    monkeypatch.setattr(
        "aggopt.pipeline.partition.partition_table.repair_block", refuse
    )
    assert (
        partition_table(FRAME, job(**asked), heard, groups=first.groups).blocks
        is first.blocks
    )


def test_all_else_is_checked(monkeypatch):
    first = partition_table(FRAME, job(), heard)
    absent = job(aggregation={"method": "p3m", "solver": "gams"})
    with refused(SolverError, "not installed"):
        partition_table(FRAME, absent, heard, groups=first.groups)
