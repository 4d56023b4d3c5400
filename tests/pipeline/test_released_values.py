"""Each value of a release is that of its group, computed again from records alone."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from refusals import refused

import aggopt
from aggopt.errors import JobError

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


POLICIES = (None, "patterns", "fill")
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
