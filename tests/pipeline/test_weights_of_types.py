"""Sampling weights with categories, with missing values, with blocks."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from households import OF_UNITS, members, of
from refusals import refused
from surveys import QUASI, ROLES, heavy, largest_share, masked, sample
from tables import job, people

import aggopt
from aggopt.core.record_weights import scale_to_mean_one
from aggopt.errors import AggoptError, InfeasibleInputError, PrivacyError, SolverError
from aggopt.pipeline.review.review_release import assess_release

SEXED = {**ROLES, "quasi-identifier": [*QUASI, "sex"]}
BLOCKS = {
    "partition": {"method": "mdav", "attributes": [["age"], ["income"]]},
    "privacy": {"k": 3, "scope": "blocks"},
}
LIGHT = {"sex": {"weight": 1e-3}}  # groups then have both
DROP = {"published": "drop"}
rng = np.random.default_rng(11)
SEX = np.where(rng.random(48) < 0.4, "f", "m")
W = np.exp(0.7 * rng.normal(size=48))


def typed(**columns):
    return sample(**{"w": W, "sex": SEX, **columns})


def in_groups(labels):
    return [labels == j for j in range(labels.max() + 1)]


# --- categories


def test_the_category_of_most_weight_is_published():
    made = masked(typed(), roles=SEXED, attributes=LIGHT)
    own = scale_to_mean_one(W)
    unlike = 0.0
    for rows in in_groups(made.labels):
        (level,) = set(made.table["sex"][rows])
        by = {sex: own[rows & (sex == SEX)].sum() for sex in "fm"}
        assert by[level] == max(by.values())
        unlike += min(by.values())
    assert made.certificates["sex"].objective == pytest.approx(unlike)
    ignored = aggopt.aggregate.plurality(SEX, made.labels).values
    assert (ignored != made.table["sex"]).any()


def test_losses_of_groups_with_categories_are_by_weight():
    of_types = masked(typed(), roles=SEXED)
    own, frame = scale_to_mean_one(W), typed()
    encoded = aggopt.encode(frame[[*QUASI, "sex"]], sampling_weights=W)
    points = np.asarray(encoded)
    means = np.empty_like(points)
    for rows in in_groups(of_types.labels):
        means[rows] = np.average(points[rows], axis=0, weights=W[rows])
    lost = own @ ((points - means) ** 2).sum(axis=1)
    proof = of_types.blocks[0].certificate
    assert proof.objective == pytest.approx(lost)
    assert 0 < proof.bound < lost
    unlike = own @ (of_types.table["sex"] != SEX) * encoded.weights[2]
    numbers = own @ ((points - means)[:, :2] ** 2).sum(axis=1)
    assert of_types.measures.il == pytest.approx((numbers + unlike) / 144)


def test_sums_of_weights_of_categories_are_kept():
    kept = {"categories": {"method": "frequencies", "slack": 2}}
    made = masked(typed(), roles=SEXED, aggregation={"method": "mean", **kept})
    own = scale_to_mean_one(W)
    off = own @ (made.table["sex"] == "f") - own @ (SEX == "f")
    assert abs(off) <= 2 + 1e-6


def test_a_slack_that_leaves_no_choice_is_said_in_records_of_mean_weight():
    frame = typed(w=np.where(np.arange(48) < 6, 100.0, 1.0), sex=["a"] * 3 + ["b"] * 45)
    kept = {"categories": {"method": "frequencies", "slack": 1}}
    with pytest.raises(InfeasibleInputError) as error:
        masked(
            frame,
            roles=SEXED,
            privacy={"k": 20},
            aggregation={"method": "mean", **kept},
        )
    labels = masked(frame, roles=SEXED, privacy={"k": 20}).labels
    own = scale_to_mean_one(frame["w"].to_numpy())
    largest = int(np.ceil(max(own[rows].sum() for rows in in_groups(labels))))
    assert f"slack = {largest}, which always" in error.value.fix


def test_sums_of_weights_kept_to_the_last_digit_are_refused_before_any_work():
    kept = {"categories": {"method": "frequencies", "slack": "exact"}}
    how = {"method": "mean", **kept}
    with refused(AggoptError):
        masked(typed(), roles=SEXED, aggregation=how, partition={"method": "mhm"})
    alike = masked(
        typed(w=2.0, sex=["a"] * 24 + ["b"] * 24), roles=SEXED, aggregation=how
    )
    assert (alike.table["sex"] == "a").sum() == 24


def test_ties_of_categories_are_broken_by_weighted_counts():
    frame = typed(w=np.resize([1.0, 2.0], 48), sex=np.resize(["f", "f", "m", "m"], 48))
    made = masked(frame, roles=SEXED, privacy={"k": 4}, attributes=LIGHT)
    (said,) = [note for note in made.notes if "equally near" in note]
    assert "change the weighted counts of categories least" in said


# --- missing values


def holed(**columns):
    frame = sample(**{"w": W, **columns})
    hole = np.random.default_rng(5).random((48, 2)) < 0.15
    return frame.assign(
        age=frame["age"].mask(hole[:, 0]), income=frame["income"].mask(hole[:, 1])
    )


@pytest.mark.parametrize("policy", ["fill", "patterns"])
@pytest.mark.parametrize("method", ["mdav", "local_search"])
def test_groups_publish_weighted_means_of_values_that_are_there(policy, method):
    frame = holed()
    made = masked(frame, missing={"policy": policy}, partition={"method": method})
    lost, own = 0.0, scale_to_mean_one(W)
    for name in QUASI:
        x, y = frame[name].to_numpy(), made.table[name].to_numpy()
        there = ~np.isnan(x)
        centre = np.average(x[there], weights=W[there])
        spread = np.sqrt(np.average((x[there] - centre) ** 2, weights=W[there]))
        for rows in in_groups(made.labels):
            both = rows & there
            if np.isnan(y[rows]).all():
                continue
            assert y[rows] == pytest.approx(np.average(x[both], weights=W[both]))
            assert (W[both] / W[both].sum()).max() <= 0.6 * (1 + 1e-9)
            lost += own[both] @ ((x - y)[both] / spread) ** 2
    assert made.blocks[0].certificate.objective == pytest.approx(lost)
    (found,) = made.audit.promises
    assert found.holds


@pytest.mark.parametrize("policy", ["fill", "patterns"])
def test_weighted_variance_of_values_that_are_there_is_kept(policy):
    frame = holed()
    how = {"method": "mean", "keep": "variance"}
    free = {"weights": {"dominance": 1.0}}
    made = masked(frame, missing={"policy": policy}, aggregation=how, **free)
    for name in QUASI:
        both = (frame[name].notna() & made.table[name].notna()).to_numpy()
        one, other, w = frame[name][both], made.table[name][both], W[both]
        assert np.average(other, weights=w) == pytest.approx(np.average(one, weights=w))
        assert np.cov(other, aweights=w) == pytest.approx(np.cov(one, aweights=w))


@pytest.mark.parametrize("policy", ["fill", "patterns"])
def test_weights_that_are_alike_change_nothing_where_values_are_missing(policy):
    section = {"missing": {"policy": policy}}
    plain = {"quasi-identifier": QUASI, "other": ["note"]}
    frame = holed(w=7.0)
    alike = masked(frame, roles={**plain, "weight": "w"}, **section)
    without = masked(frame.drop(columns="w"), roles=plain, **section)
    pd.testing.assert_frame_equal(alike.table.drop(columns="w"), without.table)


def test_groups_that_one_record_dominates_are_merged_across_patterns():
    frame = holed(w=heavy()["w"])
    w = frame["w"].to_numpy()
    made = masked(
        frame, missing={"policy": "patterns"}, partition={"method": "local_search"}
    )
    assert largest_share(made.labels, w) <= 0.6
    said = "'local_search' does not look at within patterns of missing values: groups"
    assert any(said in note for note in made.notes)
    filled = masked(
        frame, missing={"policy": "fill"}, partition={"method": "local_search"}
    )
    assert not any("groups are merged until none has" in each for each in filled.notes)


def test_a_category_that_is_missing_has_the_most_weight_of_those_that_are_there():
    frame = holed(sex=pd.Series(SEX).mask(np.arange(48) % 7 == 0))
    made = masked(frame, roles=SEXED, missing={"policy": "fill"})
    for rows in in_groups(made.labels):
        by = pd.Series(W[rows]).groupby(frame["sex"][rows].to_numpy()).sum()
        (level,) = set(made.table["sex"][rows])
        assert by[level] == by.max()


# --- blocks


def test_blocks_publish_weighted_means_of_their_own_groups(tmp_path):
    frame = heavy()
    w = frame["w"].to_numpy()
    made = masked(frame, **BLOCKS, weights=DROP, output={"digits": "full"})
    assert "w" not in made.table
    for j, name in enumerate(QUASI):
        labels = made.labels[:, j]
        for rows in in_groups(labels):
            mean = np.average(frame[name][rows], weights=w[rows])
            assert made.table[name][rows].to_numpy() == pytest.approx(mean)
        assert largest_share(labels, w) <= 0.6
    worst = max(largest_share(labels, w) for labels in made.labels.T)
    (found,) = made.audit.promises
    assert (found.holds, found.found) == (True, pytest.approx(worst))
    made.write(tmp_path / "masked.csv")


def test_a_block_that_one_record_dominates_is_refused(monkeypatch):
    monkeypatch.setattr(
        "aggopt.pipeline.prepare.defaults.add_dominance_repair",
        lambda job, _, *, apart: (job, ()),
    )
    with refused(PrivacyError, "0.6", "DOES", "NOT"):
        masked(heavy(), **BLOCKS, weights=DROP)


def test_weights_as_they_are_lie_beside_blocks():
    frame = sample(w=np.resize([10.0, 20.0, 40.0], 48))
    made = masked(frame, **BLOCKS, weights={"published": "as is"})
    assert (made.table["w"] == frame["w"]).all()
    for name in QUASI:
        assert made.table.groupby([name, "w"]).size().min() >= 3


# --- what the audit counts


def test_a_recount_with_the_originals_sees_which_values_count(tmp_path):
    frame = holed()
    frame.to_csv(tmp_path / "people.csv", index=False)
    sections = {"missing": {"policy": "fill"}, "weights": {"dominance": 0.8}}
    made = masked(tmp_path / "people.csv", **sections, output={"shuffle": True})
    files = made.write(tmp_path / "masked.csv")
    found = assess_release(tmp_path / "people.csv", files.table, made.job)
    (one,), (other,) = found.audit.promises, made.audit.promises
    assert (one.found, one.groups) == (pytest.approx(other.found), other.groups)
    there = frame[QUASI].notna().to_numpy()
    shares = [largest_share(made.labels[own], W[own]) for own in there.T]
    assert found.audit.promises[0].found == pytest.approx(max(shares))
    assert max(shares) > largest_share(made.labels, W) * (1 + 1e-6)


# --- weights, units and second looks, seen in what `mask` releases and says


SECRET = "5" * 32
HEAVY = {"dominance": 0.5}


def merged(release) -> list[str]:
    return [note for note in release.notes if "groups are merged" in note]


@pytest.mark.parametrize(
    ("frame", "method", "missing", "is_merged"),
    [
        (sample(), "mdav", False, False),
        (heavy(), "mdav", False, True),
        (heavy(), "local_search", False, False),
        (heavy(), "local_search", True, True),
    ],
)
def test_groups_that_a_record_may_dominate_are_merged_unless_the_search_sees_to_it(
    frame, method, missing, is_merged
) -> None:
    more = {"missing": {"policy": "patterns"}} if missing else {}
    if missing:
        frame = frame.assign(age=frame["age"].where(frame.index % 4 > 0))
    share = HEAVY if frame["w"].max() > 3 else {"dominance": 0.7}
    made = masked(frame, partition={"method": method}, weights=share, **more)
    assert bool(merged(made)) == is_merged
    assert any("within patterns" in note for note in merged(made)) == missing
    w = frame["w"].to_numpy()
    for name in ("age", "income"):
        there = made.table[name].notna() & frame[name].notna()
        by = pd.Series(w[there]).groupby(made.labels[there])
        assert (by.max() / by.sum()).max() <= share["dominance"] + 1e-12


def test_the_weighted_mean_of_whole_numbers_is_kept() -> None:
    """Rounding to whole numbers keeps it as near as one record's weight allows."""
    frame = sample(age=np.arange(48.0) ** 1.5)
    whole = {"age": {"integer": True}}
    made = masked(frame, attributes=whole)
    exact = masked(frame)
    w = frame["w"]
    assert (made.table["age"] == made.table["age"].round()).all()
    means = [np.average(table["age"], weights=w) for table in (made.table, exact.table)]
    assert abs(means[0] - means[1]) <= 0.05


def test_each_kind_of_a_job_of_units_and_records_is_masked_as_by_its_own_job() -> None:
    frame = members()
    both = {"units": {"attributes": OF_UNITS}, "privacy": {"k": 3, "scope": "blocks"}}
    one = aggopt.mask(frame, of([*OF_UNITS, "age", "height"], **both), secret=SECRET)
    for names in (OF_UNITS, ["age", "height"]):
        apart = aggopt.mask(frame, of(names), secret=SECRET)
        for name in names:
            assert one.table[name].tolist() == apart.table[name].tolist()
    by = one.table.assign(h=frame["household"]).groupby("h")[OF_UNITS].nunique()
    assert (by == 1).all().all()


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_pseudonyms_number_units_from_one_whatever_the_table(kind) -> None:
    frame = members().assign(size="x")
    frame["size"] = frame.groupby("household")["age"].transform("size").astype(str)
    asked = {"attributes": OF_UNITS, "published": "pseudonym"}
    roles = {"quasi-identifier": OF_UNITS, "unit": ["household"], "stratum": ["size"]}
    asked = aggopt.Job(
        roles=roles,
        privacy={"k": 3},
        partition={"method": "mdav"},
        units=asked,
        output={"shuffle": False},
    )
    frame = frame[["household", *OF_UNITS, "size"]]
    numbers, again, other = (
        np.asarray(aggopt.mask(kind(frame), asked, secret=own).table["pseudonym"])
        for own in (SECRET, SECRET, "6" * 32)
    )
    pairs = pd.DataFrame({"h": frame["household"], "p": numbers})
    assert len(pairs.drop_duplicates()) == pairs["h"].nunique() == pairs["p"].nunique()
    assert sorted(set(numbers)) == [*range(1, pairs["h"].nunique() + 1)]
    assert (numbers == again).all()
    assert (numbers != other).any()


def infeasible(x, labels, sizes):
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum(cp.abs(c[labels] - x))), [c >= 1, c <= 0])


def test_what_a_model_of_the_users_does_not_solve_releases_nothing() -> None:
    with refused(SolverError, "'age'"):
        aggopt.mask(people(12), job(aggregation={"model": infeasible}))


def test_a_second_look_is_by_what_the_job_says(tmp_path) -> None:
    """Weights, units, pseudonyms, separators, decimals: as the release was audited."""
    frame = members()
    frame["size"] = frame.groupby("household")["age"].transform("size").astype(str)
    frame["w"] = 1.0 + frame["household"] % 3
    frame = frame[["household", *OF_UNITS, "size", "w"]]
    asked = aggopt.Job(
        roles={
            "quasi-identifier": OF_UNITS,
            "unit": ["household"],
            "stratum": ["size"],
        },
        privacy={"k": 3},
        partition={"method": "mdav"},
        units={"attributes": OF_UNITS, "published": "pseudonym"},
        input={"separator": ";", "decimal": ","},
    )
    frame.drop(columns="w").to_csv(
        tmp_path / "in.csv", index=False, sep=";", decimal=","
    )
    release = aggopt.mask(tmp_path / "in.csv", asked, secret=SECRET)
    files = release.write(tmp_path / "out.csv")
    found = assess_release(tmp_path / "in.csv", files.table, asked)
    assert found.audit == release.audit
    assert found.measures.il == pytest.approx(release.measures.il)
    assert release.audit.holds
