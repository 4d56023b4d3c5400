"""What a folder publishes of groups is what memory publishes of the same groups."""

import numpy as np
import pytest
from folders import digest, job, linked, masked, of_same_groups, persons, put

NUMBERS = ["age", "height", "income"]
NAMES = ["ill", "town"]
TYPED = {
    "identifier": ["name"],
    "quasi-identifier": ["age", *NAMES],
    "other": ["height", "income", "note"],
    "weight": ["w"],
}
FREQUENT = {"method": "mean", "categories": {"method": "frequencies"}}
CASES = {
    "categories, weights": ("refuse", TYPED, {}),
    "frequencies, weights": ("refuse", TYPED, {"aggregation": FREQUENT}),
}


def surveyed(n, seed=0):
    """Persons with weights and towns."""
    rng = np.random.default_rng(seed + 7)
    table = persons(n, seed).assign(w=1 + rng.gamma(2.0, 10.0, n).round(3))
    return table.assign(town=rng.choice(list("abcd"), n))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two files."""
    to = tmp_path_factory.mktemp("surveyed") / "in"
    return put(to, surveyed(110), surveyed(70, 1))


@pytest.mark.parametrize("case", CASES)
def test_values_and_certificates_are_those_of_memory(folder, tmp_path, case):
    policy, roles, sections = CASES[case]
    asked = job(
        roles=roles,
        missing={"policy": policy},
        output={"digits": "full"},
        engine={"block": 60},
        **sections,
    )
    found = masked(folder, asked, tmp_path / "out")
    before, after = linked(folder, found)
    whole = of_same_groups(found, before, asked)
    expected = whole.masked.frame.to_pandas()
    assert found.manifest["blocks"] > 1
    for name in roles["quasi-identifier"]:
        ours, theirs = found.certificates[name], whole.certificates[name]
        assert ours.objective == pytest.approx(theirs.objective, rel=1e-8)
        assert ours.bound == pytest.approx(theirs.bound, rel=1e-5)
        assert ours.status == theirs.status
        assert ours.violation < 1e-9
        if name not in NAMES:
            own = expected[name].to_numpy(float)
            assert after[name].to_numpy() == pytest.approx(own, rel=1e-6, nan_ok=True)
    assert after["w"].to_numpy() == pytest.approx(expected["w"].to_numpy())
    il = whole.measures.il
    assert found.measures["information loss"] == pytest.approx(100 * il, rel=1e-9)


def test_ties_are_said_in_weighted_counts(tmp_path):
    table = surveyed(120)
    folder = put(tmp_path / "in", table.assign(w=1.0 + (table["note"] == "a")))
    roles = {**TYPED, "quasi-identifier": [*NUMBERS, "town"], "other": ["ill", "note"]}
    light = {"town": {"weight": 0.01}}
    found = masked(folder, job(roles=roles, attributes=light), tmp_path / "out")
    before, after = linked(folder, found)
    (said,) = (note for note in found.notes if note.startswith("'town': in "))
    w = before["w"] / before["w"].mean()
    sums = [w.groupby(table["town"].to_numpy()).sum() for table in (before, after)]
    differ = sums[0].sub(sums[1], fill_value=0).abs().sum()
    assert f"weighted counts of categories differ by {differ:g} records" in said


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_two_processes_give_the_same_bytes(folder, tmp_path, case):
    policy, roles, sections = CASES[case]
    given = {"roles": roles, "missing": {"policy": policy}, **sections}
    one, two = (
        masked(
            folder,
            job(engine={"block": 60, "jobs": jobs}, **given),
            tmp_path / str(jobs),
        )
        for jobs in (1, 2)
    )
    assert digest(one.path) == digest(two.path)
