"""Repairs of jobs with weights, strata, blocks and missing values, on small tables.

Groups are the rows in fours, so that each merge can be told by hand: the first group
breaks a requirement, and its nearest is merged with it."""

import re
from html import escape
from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from surveys import sample, survey
from tables import job as plain_job
from tables import people

import aggopt
from aggopt.errors import InfeasibleInputError, JobError
from aggopt.partition import loss_bound, mdav, optimal
from aggopt.pipeline.finish.evaluate import audit_before_writing
from aggopt.pipeline.partition.partition_table import partition_table
from aggopt.release.report.release_report import collect_facts, render_report

BROKEN = [0.0] * 4
UNEVEN = [2.0, 2.0, 2.0, 10.0]  # mean 4, and by weight above 9
OTHER = [-5.0] * 4
HEAVY = [1.0] * 7 + [90.0]  # the last of UNEVEN
ILL = [*"pppp", *"pqpq", *"pqpq"]
BOTH = (False, True)
POLICIES = (None, "patterns", "fill")


def fours(X, k):
    return [i // 4 for i in range(len(X))]


def table(policy, strata):
    """Return three groups, and more of another stratum or pattern near the first.

    Those of the other stratum are more than a repair looks at.
    """
    a = [*BROKEN, *UNEVEN, *OTHER]
    frame = pd.DataFrame({"a": a, "b": a, "ill": ILL, "w": [*HEAVY, *[1.0] * 4]})
    frame["region"] = "north"
    if strata:
        south = pd.DataFrame({"a": 0.5, "b": 0.5, "ill": [*"pq"] * 18, "w": 1.0})
        frame = pd.concat([frame, south.assign(region="south")], ignore_index=True)
    if policy == "patterns":
        more = pd.DataFrame({"b": [0.5, 0.4] * 2, "ill": [*"pqpq"], "w": 1.0})
        frame = pd.concat([frame, more.assign(region="north")], ignore_index=True)
    if policy == "fill":
        frame.loc[11, "a"] = None
    return frame.sort_values("region", kind="stable", ignore_index=True)


def job(policy=None, *, weighted=False, strata=False, **sections):
    roles = {"quasi-identifier": ["a", "b"], "confidential": ["ill"]}
    unused = [("w", "weight", weighted), ("region", "stratum", strata)]
    roles["identifier"] = [name for name, _, used in unused if not used]
    roles |= {role: [name] for name, role, used in unused if used}
    plain = {
        "roles": roles,
        "privacy": {"k": 3},
        "partition": {"method": fours},
        "output": {"digits": "full", "shuffle": False},
    }
    if policy:
        plain["missing"] = {"policy": policy}
    if weighted:
        plain["weights"] = {"published": "drop", "dominance": 1.0}
    return aggopt.Job(**{**plain, **sections})


L2 = {"privacy": {"k": 3, "l": 2, "repair": "merge"}}


@pytest.mark.parametrize(
    ("weighted", "strata", "policy"), [*product(BOTH, BOTH, POLICIES)]
)
def test_the_nearest_by_weight_in_the_stratum_and_pattern_is_merged(
    weighted, strata, policy
) -> None:
    frame = table(policy, strata)
    asked = job(policy, weighted=weighted, strata=strata, **L2)
    release = aggopt.mask(frame, asked)
    groups = release.labels[[0, 4, 8]]
    assert groups[0] == groups[2 if weighted else 1]
    assert groups[0] != groups[1 if weighted else 2]
    assert len(set(release.labels.tolist())) == len(frame) // 4 - 1
    assert release.table["a"].notna().sum() == len(frame) - 4 * (policy == "patterns")


@pytest.mark.parametrize(("weighted", "strata"), [*product(BOTH, BOTH)])
def test_groups_without_k_values_are_merged_with_the_nearest_by_weight(
    weighted, strata
) -> None:
    frame = table("fill", strata)
    frame.loc[[0, 1], "a"] = None
    release = aggopt.mask(frame, job("fill", weighted=weighted, strata=strata))
    groups = release.labels[[0, 4, 8]]
    assert groups[0] == groups[2 if weighted else 1]
    assert len(set(release.labels.tolist())) == len(frame) // 4 - 1


def test_each_block_is_merged_by_its_own_attributes_and_weights() -> None:
    a, b = [0.0, 1.0, 1.5], [0.0, 9.0, 1.0]
    frame = table(None, False).assign(a=np.repeat(a, 4), b=np.repeat(b, 4))
    frame["w"] = [9.0, *[1.0] * 11]
    asked = job(
        weighted=True,
        weights={"dominance": 0.6, "published": "drop"},
        privacy={"k": 3, "scope": "blocks"},
        partition={"method": fours, "attributes": "one by one"},
    )
    labels = aggopt.mask(frame, asked).labels
    for column, near, far in zip(labels[[0, 4, 8]].T, (1, 2), (2, 1), strict=True):
        assert column[0] == column[near]
        assert column[0] != column[far]


@pytest.mark.parametrize("weighted", BOTH)
def test_a_table_with_columns_that_are_to_be_dropped_fails_the_audit(weighted) -> None:
    given = partition_table(table(None, False), job(weighted=weighted), None)
    audit = audit_before_writing(given, given.table)
    assert sorted(audit.identifiers) == ["region", "w"]
    assert not audit.holds


def test_merged_groups_keep_the_bound_that_was_proven_of_any_groups() -> None:
    frame = people(24)
    asked = plain_job(
        partition={"method": "optimal"}, privacy={"k": 3, "l": 3, "repair": "merge"}
    )
    best = optimal(frame[["age", "income"]], 3).certificate
    proof = aggopt.mask(frame, asked).blocks[0].certificate
    assert proof.bound >= best.bound * (1 - 1e-9)
    assert proof.bound > loss_bound(frame[["age", "income"]], 3)


@pytest.mark.parametrize("t", [0.05, 0.4])
def test_a_note_states_what_a_requirement_costs_at_least_and_here(t) -> None:
    frame = people(60)
    frame["illness"] = frame["age"] * 100.0
    asked = plain_job(
        partition={"method": "mdav"}, privacy={"k": 3, "t": t, "repair": "merge"}
    )
    release = aggopt.mask(frame, asked)
    proof = release.blocks[0].certificate
    free = mdav(frame[["age", "income"]], 3).loss
    (note,) = [note for note in release.notes if "before the repair" in note]
    figures = [float(figure) for figure in re.findall(r"([\d.]+) %", note)]
    costs = [100 * (value / free - 1) for value in (proof.bound, proof.objective)]
    assert figures == pytest.approx([cost for cost in costs if cost > 0], abs=0.1)
    assert f"t (ordered) <= {t}" in note
    assert escape(note) in render_report(collect_facts(release, "public"))


def test_what_no_groups_of_k_keep_is_refused_before_they_are_made() -> None:
    frame = people(12).assign(pay=[5.0] * 9 + [100.0, 200.0, 300.0])
    asked = plain_job(
        roles={
            "identifier": ["name"],
            "quasi-identifier": ["age", "income"],
            "confidential": ["pay"],
            "other": ["note", "illness"],
        },
        privacy={
            "k": 3,
            "dissimilarity": {"epsilon": 1, "delta": 0.5},
            "repair": "merge",
        },
    )
    with refused(InfeasibleInputError, "'pay'", "12", "k = 3"):
        aggopt.mask(frame, asked)


def test_deviations_of_a_partitioned_table_are_by_weight() -> None:
    frame = sample()
    given = partition_table(frame, survey(), None)
    for name, spread in zip(given.names, given.scale.spread, strict=True):
        mean = np.average(frame[name], weights=frame["w"])
        squares = np.average((frame[name] - mean) ** 2, weights=frame["w"])
        assert spread == pytest.approx(squares**0.5)


# --- each value of a release is that of its group, computed again from records alone


N, K = 48, 3
QUASI = ["a", "b", "s"]
TOGETHER, APART = "together", "one by one"
SECRET = "3" * 32


def records(holes: bool, seed: int = 0) -> pd.DataFrame:
    """Return two numbers and a category, with strata and weights, some missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "a": rng.normal(50, 9, N).round(1),
            "b": rng.gamma(2.0, 900, N).round(1),
            "s": rng.choice([*"xyz"], N),
            "region": rng.choice([*"NS"], N),
            "w": rng.uniform(1, 3, N),
            "ill": rng.choice([*"pqr"], N),
        }
    )
    if holes:
        frame.loc[rng.random(N) < 0.2, "a"] = None
        frame.loc[rng.random(N) < 0.2, "s"] = None
    return frame


def sections(blocks, weighted, strata, policy, **more):
    """Return the sections of a job that combines these features."""
    roles = {"quasi-identifier": QUASI, "confidential": ["ill"]}
    dropped = []
    for role, name, used in (("weight", "w", weighted), ("stratum", "region", strata)):
        if used:
            roles[role] = [name]
        else:
            dropped.append(name)
    scope = {} if blocks == TOGETHER else {"scope": "blocks"}
    return {
        "roles": {**roles, "identifier": dropped},
        "privacy": {"k": K, **scope, **more.pop("privacy", {})},
        "partition": {"method": "mdav", "attributes": blocks},
        "aggregation": {"method": "mean", "categories": {"method": "plurality"}},
        "output": {"digits": "full", "shuffle": False},
        **({"missing": {"policy": policy}} if policy else {}),
        **more,
    }


L3 = {"l": 3, "repair": "merge"}
CASES = [  # l is promised of the whole combination alone
    *product((TOGETHER,), (0, 1), (0, 1), POLICIES, ({}, L3)),
    *product((APART,), (0, 1), (0, 1), POLICIES, ({},)),
]


@pytest.mark.parametrize(("blocks", "weighted", "strata", "policy", "privacy"), CASES)
def test_each_value_is_that_of_its_group(blocks, weighted, strata, policy, privacy):
    job = sections(blocks, weighted, strata, policy, privacy=privacy)
    if weighted and blocks == APART:
        job["weights"] = {"published": "drop"}
    frame = records(policy is not None)
    if weighted and policy and blocks == APART:
        with refused(JobError, "'w'"):
            aggopt.mask(frame, aggopt.Job(**job))
        return
    release = aggopt.mask(frame, aggopt.Job(**job), secret=SECRET)
    assert release.audit.holds
    w = frame["w"].to_numpy() if weighted else np.ones(N)
    labels = np.broadcast_to(release.labels.T, (3, N)) if blocks == TOGETHER else None
    labels = release.labels.T if labels is None else labels
    for name, groups in zip(QUASI, labels, strict=True):
        published = release.table[name]
        for group in set(groups.tolist()):
            rows = groups == group
            assert not strata or frame["region"][rows].nunique() == 1
            assert not privacy or frame["ill"][rows].nunique() == 3
            is_published = published[rows].notna()
            assert is_published.nunique() == 1
            if not is_published.all():
                assert policy == "patterns"
                continue
            assert rows.sum() >= K
            there = rows & frame[name].notna()
            assert there.sum() >= K
            assert policy == "fill" or there.sum() == rows.sum()
            assert published[rows].nunique() == 1
            (value,) = set(published[rows])
            if name == "s":
                weights = pd.Series(w[there]).groupby(frame[name][there].array).sum()
                assert weights[value] == pytest.approx(weights.max())
            else:
                expected = np.average(frame[name][there], weights=w[there])
                assert value == pytest.approx(expected)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("privacy", [{}, L3], ids=["k", "l"])
@pytest.mark.parametrize(("weighted", "strata"), [(0, 0), (0, 1), (1, 0), (1, 1)])
def test_the_certificate_of_groups_is_their_loss(weighted, strata, policy, privacy):
    """On z-scores of all records, by weight; each value counts where it is there."""
    job = sections(TOGETHER, weighted, strata, policy, privacy=privacy)
    job["roles"]["quasi-identifier"] = ["a", "b"]
    job["roles"]["identifier"] = [*job["roles"]["identifier"], "s"]
    job["aggregation"] = {"method": "mean"}
    frame = records(policy is not None)
    release = aggopt.mask(frame, aggopt.Job(**job), secret=SECRET)
    w = frame["w"].to_numpy() if weighted else np.ones(N)
    w = w / w.mean()
    lost = 0.0
    for name in ("a", "b"):
        there = frame[name].notna().to_numpy()
        x = frame[name].to_numpy()
        mean = np.average(x[there], weights=w[there])
        z = (x - mean) / np.sqrt(np.average((x[there] - mean) ** 2, weights=w[there]))
        there = there & release.table[name].notna().to_numpy()
        for group in set(release.labels[there].tolist()):
            rows = there & (release.labels == group)
            lost += w[rows] @ (z[rows] - np.average(z[rows], weights=w[rows])) ** 2
    assert release.blocks[0].certificate.objective == pytest.approx(lost)


@pytest.mark.parametrize("frame", ["pandas", "csv"])
def test_what_the_key_of_the_owner_says_is_what_was_released(frame, tmp_path):
    table = records(True)
    job = aggopt.Job(**{**sections(TOGETHER, 1, 1, "patterns"), "output": {}})
    source = table
    if frame == "csv":
        source = tmp_path / "people.csv"
        table.to_csv(source, index=False)
    release = aggopt.mask(source, job, secret=SECRET)
    files = release.write(tmp_path / "masked.csv")
    key = pd.read_csv(files.private)
    released = pd.read_csv(files.table).iloc[key["released_record"]]
    groups = key["group"].to_numpy()
    same = released.groupby(groups)[["a", "b", "s"]]
    assert (same.nunique() <= 1).all().all()
    assert released["region"].tolist() == table["region"].tolist()
    assert released["ill"].tolist() == table["ill"].tolist()
    assert "w" in released
