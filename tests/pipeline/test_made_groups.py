"""Groups of another job, and repairs for a dominating weight."""

import numpy as np
import pytest
from refusals import refused
from surveys import largest_share, masked, sample
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


# --- groups are merged for sampling weights if the partition does not keep dominance


SPREAD, ALIKE = np.r_[np.full(7, 1.0), 9.0], np.ones(8)
CASES = {  # method, weights, largest share: whether groups are merged
    "a search that keeps dominance": ("local_search", SPREAD, 0.75, False),
    "a method that does not": ("mdav", SPREAD, 0.75, True),
    "a search of equal weights": ("local_search", ALIKE, 0.3, True),
    "groups that no record can dominate": ("mdav", SPREAD, 9 / 11, False),
    "groups that one can, by a little": ("mdav", SPREAD, 0.817, True),
}


@pytest.mark.parametrize("case", CASES)
def test_groups_are_merged_only_if_a_record_could_dominate_one(case) -> None:
    method, weights, share, is_merged = CASES[case]
    release = masked(
        sample(8, w=weights), partition={"method": method}, weights={"dominance": share}
    )
    assert largest_share(release.labels, weights) <= share + 1e-12
    reasons = [note for note in release.notes if "of the weight of its group" in note]
    assert len(reasons) == is_merged
    if is_merged:
        assert f"{method!r} does not look at" in reasons[0]
        assert f"more than {share:g} of the weight" in reasons[0]


@pytest.mark.parametrize(
    ("method", "use"),
    [
        ("local_search", "groups, means and losses are by weight"),
        ("mdav", "'mdav' makes groups without weights"),
    ],
)
def test_a_note_states_the_use_of_the_weights(method, use) -> None:
    frame = sample(24)
    notes = masked(frame, partition={"method": method}).notes
    about_weights = [note for note in notes if note.startswith("'w' weighs records")]
    assert len(about_weights) == 1
    assert use in about_weights[0]
    assert "k counts records" in about_weights[0]
    equal = masked(frame.assign(w=1.0), partition={"method": method}).notes
    assert not [note for note in equal if note.startswith("'w' weighs records")]
