"""Groups within strata: how they are made, proven, repaired, and what is refused."""

from copy import deepcopy

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from stratified import KEYS, ROLES, residents, within
from tables import smallest

import aggopt
from aggopt.aggregate import mean, p3m
from aggopt.core.standardise import Scale
from aggopt.data.context.strata import RecordStrata
from aggopt.errors import AggoptError, InfeasibleInputError
from aggopt.partition import loss_bound, mdav
from aggopt.partition.shared.neighbour_bound import read_budget
from aggopt.pipeline.partition.subsets import (
    SingleStratumPerGroup,
    add_stratum_requirement,
)
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.repair.merge_until_satisfied import merge_until_satisfied
from aggopt.solvers import Status
from aggopt.solvers.certificate import Claim

QUASI = ["age", "income"]
MERGE = {"small": "merge"}
DROP = {"small": "drop"}


@pytest.fixture(scope="module")
def release():
    return aggopt.mask(residents(), within())


def sse(labels, Z):
    groups = pd.DataFrame(Z).groupby(labels)
    return float(((Z - groups.transform("mean").to_numpy()) ** 2).sum())


def test_groups_lie_within_strata_and_are_those_of_each_by_itself(release):
    frame = residents()
    Z = Scale.of(frame[QUASI].to_numpy(float)).standardise(frame[QUASI].to_numpy(float))
    own = frame.groupby(KEYS).ngroup().to_numpy()
    bounds = []
    for stratum in range(4):
        rows = np.flatnonzero(own == stratum)
        alone = mdav(Z[rows], 3, scale="none")
        pairs = set(zip(alone.tolist(), release.labels[rows].tolist(), strict=True))
        assert len(pairs) == len(alone.sizes) == len(set(release.labels[rows]))
        budget = read_budget("quick", len(rows), 3, len(rows) / len(frame))
        bounds.append(loss_bound(Z[rows], 3, scale="none", bound=budget))
    proof = release.blocks[0].certificate
    assert proof.bound == pytest.approx(sum(bounds))
    assert proof.bound > 0
    assert proof.objective == pytest.approx(sse(release.labels, Z))


def test_the_combination_with_the_strata_stands_in_k_records(release, tmp_path):
    pd.testing.assert_frame_equal(release.table[KEYS], residents()[KEYS])
    assert smallest(release.table, (*QUASI, *KEYS)) == release.audit.smallest >= 3
    written = pd.read_csv(release.write(tmp_path / "masked.csv").table)
    assert smallest(written, (*QUASI, *KEYS)) == release.audit.smallest
    assert release.audit.strata == ("region", "sex")
    assert release.manifest()["strata"]["strata"] == 4
    roles = {**ROLES, "stratum": [], "other": KEYS}
    ignored = aggopt.mask(residents(), within(roles=roles))
    assert smallest(ignored.table, (*QUASI, *KEYS)) < 3  # what strata are for
    assert ignored.manifest()["strata"] is None


def test_a_copy_of_a_release_with_strata_is_the_same(release):
    assert deepcopy(release) == release


def test_the_means_of_strata_are_kept_to_the_last_digits(release):
    before, after = (
        f.groupby(KEYS)[QUASI].mean() for f in (residents(), release.table)
    )
    np.testing.assert_allclose(after, before, rtol=1e-13)


def test_risks_count_within_strata(release, tmp_path):
    key = pd.read_csv(release.write(tmp_path / "masked.csv").private)
    counts = release.table.groupby([*QUASI, *KEYS])["age"].transform("size")
    np.testing.assert_allclose(key["risk"], 1 / counts)


@examples(12)
@given(st.integers(0, 9), st.sampled_from(["merge", "drop"]), st.integers(2, 4))
def test_k_holds_in_every_published_stratum(seed, small, k):
    frame = residents(seed, a_f=1, b_m=2, c_m=5)
    made = aggopt.mask(frame, within(k, strata={"small": small})).table
    assert smallest(made, (*QUASI, *KEYS)) >= k


BLOCKS = {
    "partition": {"method": "mdav", "attributes": "one by one"},
    "privacy": {"k": 3, "scope": "blocks"},
}


def test_each_block_of_attributes_is_grouped_within_strata():
    release = aggopt.mask(residents(), within(**BLOCKS))
    for name in QUASI:
        assert smallest(release.table, (name, *KEYS)) >= 3
    first = release.audit.blocks[0]
    assert first.attributes == ("age", "region", "sex")
    assert release.audit.whole.attributes == ("age", "income", "region", "sex")
    assert "within strata of 'region', 'sex', in each of 2 blocks" in str(release.audit)


def test_names_are_grouped_within_strata_too():
    frame = residents().assign(work=lambda f: np.where(f["age"] > 50, "old", "new"))
    roles = {**ROLES, "quasi-identifier": [*QUASI, "work"]}
    release = aggopt.mask(frame, within(roles=roles))
    assert smallest(release.table, (*QUASI, "work", *KEYS)) >= 3


def test_what_is_dropped_has_nothing_in_the_key_and_is_assessed_without(tmp_path):
    from aggopt.pipeline.review.review_release import assess_release

    frame, job = residents(m_f=2), within(strata=DROP, output={"shuffle": True})
    frame.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", job)
    files = release.write(tmp_path / "masked.csv")
    key, gone = pd.read_csv(files.private), frame["region"] == "m"
    assert key.isna().all(axis=1).tolist() == gone.tolist()
    assert sorted(key["released_record"].dropna()) == list(range(40))
    masked = pd.read_csv(files.table)
    place = key["released_record"].dropna().astype(int)
    assert (masked["ill"].to_numpy()[place] == frame.loc[~gone, "ill"]).all()
    again = assess_release(tmp_path / "people.csv", files.table, job)
    assert again.audit == release.audit
    assert again.measures.il == release.measures.il
    assert release.manifest()["strata"]["dropped"] == 2
    aggopt.repeat(files.manifest, tmp_path / "people.csv", tmp_path / "again.csv")
    assert (tmp_path / "again.csv").read_bytes() == files.table.read_bytes()


def test_what_was_merged_is_said():
    release = aggopt.mask(residents(m_f=2), within(strata=MERGE))
    assert any("2 records are published with values" in n for n in release.notes)
    assert release.manifest()["strata"]["changed"] == 2


# --- what an aggregation keeps


def keeping(what, keep="stratum", **sections):
    how = {"method": "mean", "keep": what}
    return within(aggregation=how, strata={"keep": keep}, **sections)


def test_variances_are_kept_in_each_stratum_or_overall():
    frame = residents()
    apart = aggopt.mask(frame, keeping("variance"))
    before = frame.groupby(KEYS)[QUASI].var()
    np.testing.assert_allclose(apart.table.groupby(KEYS)[QUASI].var(), before)
    together = aggopt.mask(frame, keeping("variance", "overall"))
    np.testing.assert_allclose(together.table[QUASI].var(), frame[QUASI].var())
    off = together.table.groupby(KEYS)[QUASI].var() / before - 1
    assert off.abs().to_numpy().max() > 0.01


def test_each_stratum_is_a_table_of_its_own_whose_certificates_are_added():
    frame = residents()
    release = aggopt.mask(frame, keeping("variance"))
    errors = np.zeros(2)
    for _, rows in frame.groupby(KEYS).indices.items():
        X, labels = frame[QUASI].to_numpy(float)[rows], release.labels[rows]
        own = mean(X, np.unique(labels, return_inverse=True)[1], keep="variance")
        np.testing.assert_allclose(release.table[QUASI].to_numpy()[rows], own.values)
        errors += [proof.objective for proof in own.certificates]
    found = [release.certificates[name].objective for name in QUASI]
    np.testing.assert_allclose(found, errors)
    assert (
        "Numbers are aggregated in each of 4 strata by themselves, so that what is "
        "kept is kept in each; a certificate is the sum of theirs, each on z-scores of "
        "its own stratum."
    ) in release.notes
    assert not any("by themselves" in n for n in aggopt.mask(frame, within()).notes)


def test_covariances_are_kept_in_each_stratum():
    frame = residents()
    release = aggopt.mask(frame, keeping("covariance", k=2))
    for key, own in frame.groupby(KEYS):
        made = release.table.groupby(KEYS)[QUASI].get_group(key)
        np.testing.assert_allclose(made.cov(), own[QUASI].cov())
    assert list(release.certificates) == ["age, income"]
    assert release.certificates["age, income"].bound > 0


def test_an_attribute_with_one_value_in_a_stratum_is_kept_there():
    frame = residents()
    frame.loc[frame["region"] == "n", "age"] = 40
    release = aggopt.mask(frame, keeping("covariance", k=2))
    assert (release.table.loc[frame["region"] == "n", "age"] == 40).all()
    assert list(release.certificates) == ["age, income"]
    south = frame["region"] == "s"
    for _, rows in frame[south].groupby("sex").indices.items():
        own, made = (f[south].iloc[rows][QUASI].cov() for f in (frame, release.table))
        np.testing.assert_allclose(made, own)


def test_distances_that_are_asked_are_those_of_the_whole_table():
    frame = residents()
    how = {"method": "p3m", "delta": 0.3, "alpha": 0.9, "margin": 0}
    release = aggopt.mask(frame, within(aggregation=how))
    X = frame[QUASI].to_numpy(float)
    spread, total = X.std(axis=0), np.zeros(2)
    for _, rows in frame.groupby(KEYS).indices.items():
        labels = np.unique(release.labels[rows], return_inverse=True)[1]
        asked = 0.3 * spread / X[rows].std(axis=0)
        own = p3m(X[rows], labels, delta=asked, alpha=0.9)
        made = release.table[QUASI].to_numpy()[rows]
        np.testing.assert_allclose(made, own.values, rtol=1e-5)
        total += [proof.objective for proof in own.certificates]
    found = [release.certificates[name] for name in QUASI]
    np.testing.assert_allclose([proof.objective for proof in found], total, rtol=1e-5)
    assert max(proof.gap for proof in found) <= 1e-6


@pytest.mark.parametrize("method", ["mean", "median"])
def test_values_of_a_group_alone_are_solved_once(method):
    # so that the objective is the sum of squares that the partition's is
    release = aggopt.mask(residents(), within(aggregation={"method": method}))
    frame, scale = residents()[QUASI].to_numpy(float), None
    scale = Scale.of(frame)
    away = scale.standardise(frame) - scale.standardise(release.table[QUASI].to_numpy())
    power = {"mean": 2, "median": 1}[method]
    found = [release.certificates[name].objective for name in QUASI]
    np.testing.assert_allclose(found, (np.abs(away) ** power).sum(axis=0))


def test_blocks_are_aggregated_in_each_stratum():
    frame = residents()
    release = aggopt.mask(frame, keeping("variance", **BLOCKS))
    before, after = (f.groupby(KEYS)[QUASI].var() for f in (frame, release.table))
    np.testing.assert_allclose(after, before)


# --- repairs


@pytest.mark.parametrize("repair", ["merge", "search"])
def test_a_repair_stays_within_strata(repair):
    privacy = {"k": 3, "l": 2, "repair": repair}
    frame = residents().sort_values("ill", ignore_index=True)
    release = aggopt.mask(frame, within(privacy=privacy))
    (check,) = release.audit.promises
    assert check.holds
    assert check.found >= 2
    assert frame.groupby(release.labels)[KEYS].nunique().to_numpy().max() == 1
    proof = release.blocks[0].certificate
    assert 0 < proof.bound <= proof.objective
    Z = Scale.of(frame[QUASI].to_numpy(float)).standardise(frame[QUASI].to_numpy(float))
    assert proof.objective == pytest.approx(sse(release.labels, Z))


def test_what_no_groups_within_strata_keep_is_refused():
    frame = residents()
    frame["ill"] = np.where(frame["sex"] == "f", "flu", frame["ill"])
    privacy = {"k": 3, "l": 2, "repair": "merge"}
    with refused(InfeasibleInputError, "'ill'"):
        aggopt.mask(frame, within(privacy=privacy))


LESS = (
    "promise less of confidential values, choose fewer columns as stratum, or small = "
    '"merge" under [strata] with a larger k.'
)


def test_merging_within_a_stratum_goes_before_one_step_across() -> None:
    # one stratum keeps l as a whole alone, the other has all values everywhere
    frame = pd.DataFrame(
        {
            "age": [*range(12), *range(6, 12)],
            "income": 0.0,
            "ill": ["flu"] * 11 + ["none"] + ["flu", "none", "asthma"] * 2,
            "region": ["n"] * 12 + ["s"] * 6,
            "sex": "f",
        }
    )
    for repair in ("merge", "search"):
        privacy = {"k": 3, "l": 2, "repair": repair}
        release = aggopt.mask(frame, within(privacy=privacy))
        assert len(set(release.labels[:12])) == 1
        assert frame.groupby(release.labels)["region"].nunique().max() == 1
        assert release.audit.holds


def test_what_merging_does_not_find_within_strata_is_refused() -> None:
    strata, one = RecordStrata(np.array([0, 0, 1])), np.zeros(3, int)
    with (
        pytest.raises(InfeasibleInputError) as error,
        add_stratum_requirement(strata) as more,
    ):
        merge_until_satisfied(np.zeros((3, 1)), one, more)
    assert error.value.problem == (
        "Within strata no groups were found that keep what is promised."
    )
    assert error.value.fix == LESS
    with add_stratum_requirement(None) as more:
        assert more == ()


def test_a_group_whose_stratum_is_taken_waits_and_is_not_merged_with_another() -> None:
    groups = np.repeat([0, 1, 2, 3], 2)
    ill = np.array([0, 0, 0, 0, 0, 1, 0, 1])
    X = np.repeat([[0.0], [1.0], [2.0], [100.0]], 2, axis=0)
    strata = RecordStrata(np.array([0, 0, 0, 0, 0, 0, 1, 1]))
    with add_stratum_requirement(strata) as more:
        made = merge_until_satisfied(X, groups, (Diversity("ill", ill, 2), *more))
    assert made.tolist() == strata.labels.tolist()


def test_a_group_of_several_strata_falls_shorter_than_anything_else_does() -> None:
    inside = SingleStratumPerGroup(np.array([0, 0, 1, 1, 2]))
    records, starts = np.array([0, 1, 2, 3, 1, 4, 2]), np.array([0, 2, 4, 7])
    found = inside.measure_groups(records, starts)
    assert (found.tolist(), found.dtype) == ([1, 1, 3], np.float64)
    assert inside.describe_kept(1.0) == ""
    assert inside.find_broken(records, starts).tolist() == [False, False, True]
    assert inside.measure_shortfall(records, starts).tolist() == [0, 0, 1e9]
    assert inside.n == 5
    assert not inside.check(np.zeros(5, int)).holds
    assert inside.check(np.array([0, 0, 1, 1, 2])).holds
    assert inside.explain_infeasible(2) is None


# --- refused


def expect_refusal(frame=None, **sections):
    with refused(AggoptError) as error:
        aggopt.mask(residents() if frame is None else frame, within(**sections))
    return error.value.problem, error.value.fix


def test_a_partition_that_looks_at_all_records_is_refused():
    how = {"partition": {"method": "diverse_vmdav"}, "privacy": {"k": 3, "l": 2}}
    expect_refusal(**how)


def test_a_repair_that_exchanges_records_anywhere_is_refused():
    privacy = {"k": 3, "t": 0.5, "repair": "swap", "distance": "ordered"}
    frame = residents().assign(ill=np.arange(40) % 7)
    expect_refusal(frame, privacy=privacy)


def test_centroids_of_whole_numbers_are_refused():
    how = {"method": "univariate", "attributes": "one by one", "centroids": "integer"}
    whole = {"round_integers": True}
    privacy = {"k": 3, "scope": "blocks"}
    frame = residents().round({"income": 0}).astype({"income": int, "age": int})
    expect_refusal(frame, partition=how, privacy=privacy, output=whole)


@pytest.mark.parametrize("sizes", [{"m_f": 5}, {"m_f": 5, "m_m": 3}])
def test_strata_of_one_group_keep_no_variance(sizes):
    how = {"method": "mean", "keep": "variance"}
    expect_refusal(residents(**sizes), aggregation=how)


@pytest.mark.parametrize(
    ("size", "how"),
    [
        (6, {"aggregation": {"method": "mean", "keep": "variance"}}),
        (5, {}),
        (
            5,
            {
                "aggregation": {"method": "mean", "keep": "variance"},
                "strata": {"keep": "overall"},
            },
        ),
    ],
)
def test_other_strata_of_few_records_are_masked(size, how):
    assert aggopt.mask(residents(m_f=size), within(**how)).audit.holds


def test_the_rank_of_a_covariance_is_that_of_each_stratum():
    how = {"method": "mean", "keep": "covariance"}
    expect_refusal(aggregation=how)
    overall = within(aggregation=how, strata={"keep": "overall"})
    assert aggopt.mask(residents(), overall).audit.holds


def test_a_program_is_declared_of_all_records_only():
    from aggopt.pipeline.programs.declare import declare

    how = {"method": "p3m"}
    with refused(AggoptError, "[strata]"):
        declare(residents(), within(aggregation=how), "age")
    overall = within(aggregation=how, strata={"keep": "overall"})
    assert declare(residents(), overall, "age") is not None


def test_solvers_of_partitions_are_compared_without_strata():
    from aggopt.experiments.compare_solvers import compare

    alone = {"quasi-identifier": ["income"], "stratum": KEYS, "other": ["age", "ill"]}
    asked = within(roles=alone, partition={"method": "univariate"})
    with refused(AggoptError, "repairs without strata"):
        list(compare(residents(), asked))


def renormalised(model, data):
    return data.renormalised, -1.0


def test_what_a_solver_of_ones_own_claims_of_each_stratum_is_added() -> None:
    how = {"method": "p3m", "solver": renormalised}
    made = aggopt.mask(residents(), within(aggregation=how))
    found = made.certificates["age"]
    assert found.bound is None
    assert found.claimed == Claim(-4.0, "object renormalised")
    said = "'age': the bound -4 claimed by object renormalised, and is not proven."
    assert said in made.notes


def test_a_search_that_won_in_some_strata_does_not_say_that_it_kept_its_input():
    frame = residents(m_f=6, m_m=6, o_f=6, o_m=40)
    blocks = {
        method: aggopt.mask(frame, within(k=3, partition={"method": method})).blocks
        for method in ("mdav", "local_search")
    }
    (plain,), (searched,) = blocks["mdav"], blocks["local_search"]
    assert searched.certificate.objective < 0.99 * plain.certificate.objective
    parts = {part.status for part in searched.partition.certificates}
    assert Status.KEPT in parts
    assert searched.certificate.status is Status.LOCAL


def test_fewer_records_than_one_group_are_not_merged_without_end():
    with refused(InfeasibleInputError, "k = 3"):
        aggopt.mask(residents()[:2], within(strata=MERGE))
