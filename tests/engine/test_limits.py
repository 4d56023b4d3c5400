"""Published numbers of a folder are within bounds, and whole, where a job says so."""

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, job, linked, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.errors import JobError, TableError

LIMITS = {"income": {"lower": 0}, "age": {"lower": 18, "upper": 90, "integer": True}}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two parts."""
    folder = tmp_path_factory.mktemp("limits") / "in"
    return put(folder, persons(150), persons(90, seed=1))


@pytest.fixture(scope="module")
def shifted(folder, tmp_path_factory):
    """A release whose values are moved within bounds."""
    how = {"method": "p3m", "delta": 0.9, "importance": 0.5, "alpha": 0.8, "margin": 0}
    limits = LIMITS | {"age": {"lower": 18, "upper": 90}}
    asked = job(aggregation=how, attributes=limits, output={"digits": "full"})
    return masked(folder, asked, tmp_path_factory.mktemp("limits") / "out")


def test_shifts_keep_bounds_at_the_objective_of_one_process(folder, shifted):
    before, after = linked(folder, shifted)
    assert after["income"].min() >= 0
    assert after["age"].between(18, 90).all()
    group = read(shifted.private)["group"]
    labels, X = pd.factorize(group, sort=True)[0], before[QUASI].to_numpy(float)
    whole = aggopt.aggregate.p3m(
        X,
        labels,
        delta=0.9,
        importance=0.5,
        alpha=0.8,
        lower=[18, -np.inf, 0],
        upper=[90, np.inf, np.inf],
    )
    for name, expected in zip(QUASI, whole.certificates, strict=True):
        ours = shifted.certificates[name]
        assert ours.objective == pytest.approx(expected.objective, rel=1e-7)
        assert ours.violation < 1e-9
    assert (after["income"] == 0).any()  # without the bound it would be below


def test_the_audit_says_what_it_found_of_bounds(shifted):
    assert [each.attribute for each in shifted.audit.within] == ["income", "age"]
    assert "'income': lower = 0 holds." in str(shifted.audit)


def test_whole_numbers_keep_the_mean(folder, tmp_path):
    found = masked(folder, job(attributes=LIMITS), tmp_path / "out")
    before, after = linked(folder, found)
    assert (after["age"] % 1 == 0).all()
    assert after["age"].between(18, 90).all()
    blocks = found.manifest["blocks"]
    off = abs(after["age"].sum() - before["age"].sum())
    assert off <= 0.5 * blocks * before["age"].max() / 18
    assert found.audit.within[1].broken == 0


def test_originals_beyond_a_bound_are_refused_with_their_file(tmp_path):
    folder = put(tmp_path / "in", persons(60), persons(60, seed=1).assign(income=-1.0))
    with refused(TableError):
        masked(folder, job(attributes=LIMITS), tmp_path / "out")


def test_bounds_of_names_are_refused(tmp_path):
    table = persons(60).assign(age="grown up")
    with refused(JobError):
        masked(put(tmp_path / "in", table), job(attributes=LIMITS), tmp_path / "out")


def test_bounds_without_values_of_so_few_digits_are_refused(tmp_path):
    table = persons(60).assign(age=np.linspace(0.1, 0.9, 60))
    asked = job(attributes={"age": {"lower": 0, "upper": 0.95}}, output={"decimals": 0})
    with refused(JobError):
        masked(put(tmp_path / "in", table), asked, tmp_path / "out")


def test_the_largest_risk_of_a_folder_makes_groups_of_enough_records(folder, tmp_path):
    release = masked(folder, job(privacy={"k": 4, "risk": 0.09}), tmp_path / "out")
    assert read(release.path).groupby(QUASI).size().min() >= 12
    (limit,) = release.audit.limits
    assert limit.holds
    assert limit.risk <= 1 / 12
