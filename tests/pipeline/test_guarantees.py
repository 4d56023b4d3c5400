"""Jobs that promise l or t: kept, audited on what is written, or refused."""

import json
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from tables import TREE, promising, put_partitioner, salaried, smallest

import aggopt
from aggopt import partition, privacy
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    PrivacyError,
    TableError,
    UnknownNameError,
)
from aggopt.job import Privacy
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release

QIS = ["age", "income"]


def of_salary(**ways):
    return {"salary": ways}


KEPT = [
    ("salary", {"t": 0.15}),
    ("salary", {"l": 3}),
    ("salary", {"l": 3, "confidential": of_salary(levels=5)}),
    ("salary", {"l": 2, "confidential": of_salary(levels=[10000, 20000.0])}),
    ("illness", {"l": 2, "diversity": "entropy"}),
    ("illness", {"l": 2, "diversity": "recursive", "c": 1.5}),
    ("illness", {"t": 0.2, "distance": "equal"}),
    ("illness", {"l": 3, "t": 0.2, "distance": "equal"}),
    (
        "illness",
        {"t": 0.2, "confidential": {"illness": {"order": ["none", "flu", "asthma"]}}},
    ),
    (
        "illness",
        {
            "t": 0.2,
            "distance": "hierarchical",
            "confidential": {"illness": {"tree": TREE}},
        },
    ),
]


def measured(table, name, asked):
    """What the public measures find in a released table."""
    groups, values = table[QIS], table[name]
    ways = dict(asked.get("confidential", {}).get(name, {}))
    levels = ways.pop("levels", None)
    if levels is not None and "l" in asked:
        values = np.searchsorted(levels, values, side="right") if levels != 5 else None
    found = []
    if "l" in asked and values is not None:
        of = {
            "distinct": privacy.distinct_l,
            "entropy": privacy.entropy_l,
            "recursive": lambda g, v: privacy.recursive_cl(g, v, asked["c"]),
        }[asked.get("diversity", "distinct")]
        found.append(of(groups, values) >= asked["l"])
    if "t" in asked:
        way = asked.get("distance", "ordered")
        t = privacy.t_closeness(groups, table[name], distance=way, **ways)
        found.append(t <= asked["t"])
    return all(found)


@pytest.mark.parametrize(("name", "asked"), KEPT)
@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_what_is_promised_holds_in_memory_and_in_the_file(
    tmp_path, name, asked, ending
):
    frame, job = salaried(), promising(name, **asked, repair="merge")
    release = aggopt.mask(frame, job)
    assert measured(release.table, name, asked)
    assert smallest(release.table) >= 3
    assert release.audit.groups > 1
    files = release.write(tmp_path / f"masked.{ending}")
    written = (pd.read_csv if ending == "csv" else pd.read_parquet)(files.table)
    assert measured(written, name, asked)
    stated = json.loads(files.manifest.read_text())
    recounted = stated["output"]["recounted"]
    assert recounted["promises"] == stated["audit"]["promises"]
    assert all(promise["holds"] for promise in stated["audit"]["promises"])
    assert len(stated["audit"]["promises"]) == len({"l", "t"} & set(asked))


@pytest.mark.parametrize(("name", "asked"), KEPT)
def test_a_second_look_finds_what_the_first_found(tmp_path, name, asked):
    frame, job = salaried(), promising(name, **asked, repair="merge")
    frame.to_csv(tmp_path / "people.csv", index=False)
    release = aggopt.mask(tmp_path / "people.csv", job)
    files = release.write(tmp_path / "masked.csv")
    again = assess_release(tmp_path / "people.csv", files.table, job)
    assert again.audit == release.audit


@given(
    st.integers(0, 10_000),
    st.integers(4, 40),
    st.integers(2, 4),
    st.floats(0.02, 0.6).map(lambda t: round(t, 2)),
)
@examples(20)
def test_for_any_table(seed, n, k, t):
    rng = np.random.default_rng(seed)
    frame = salaried(n, seed).assign(salary=rng.integers(0, 8, n))
    asked = {"t": t, "l": 2}
    if frame["salary"].nunique() > 1:
        release = aggopt.mask(frame, promising(k=k, **asked, repair="merge"))
        assert measured(release.table, "salary", asked)
        assert smallest(release.table) >= k


def test_a_csv_file_gives_what_the_data_frame_gives(tmp_path):
    frame = salaried()
    job = promising(t=0.15, l=3, repair="merge")
    there = aggopt.mask(frame, job)
    for decimal, separator in ((".", ","), (",", ";")):
        path = tmp_path / "people.csv"
        frame.to_csv(path, index=False, sep=separator, decimal=decimal)
        how = {"decimal": decimal, "separator": separator}
        asked = job.model_copy(update={"input": type(job.input)(**how)})
        release = aggopt.mask(path, asked)
        assert (release.labels == there.labels).all()
        release.write(tmp_path / "masked.csv", overwrite=True)
    other = aggopt.mask(pl.from_pandas(frame), job)
    assert (other.labels == there.labels).all()


def test_several_confidential_attributes_all_count():
    frame = salaried()
    roles = promising().roles.model_copy(
        update={"confidential": ("salary", "illness"), "other": ("note",)}
    )
    asked = {"t": 0.2, "l": 2, "confidential": {"illness": {"distance": "equal"}}}
    job = aggopt.Job(roles=dict(roles), privacy={"k": 3, **asked, "repair": "merge"})
    release = aggopt.mask(frame, job)
    assert len(release.audit.promises) == 4
    groups = release.table[QIS]
    assert privacy.t_closeness(groups, frame["salary"]) <= 0.2
    assert privacy.t_closeness(groups, frame["illness"], distance="equal") <= 0.2


def test_a_constant_attribute_is_close_and_that_is_said():
    release = aggopt.mask(salaried().assign(salary=7), promising(t=0.1, repair="merge"))
    assert "t (ordered) <= 0.1 holds trivially" in release.audit.verdict
    assert not any("salary" in note for note in release.notes)  # once is enough
    for repair in ("merge-ilp", "swap"):  # by the audit alone, no warning beside
        asked = {"t": 0.1, "repair": repair, "partition": {"method": "closeness_first"}}
        again = aggopt.mask(salaried().assign(salary=7), promising(**asked))
        assert "t (ordered) <= 0.1 holds trivially" in again.audit.verdict
        assert not any("salary" in note for note in again.notes)
    with refused(InfeasibleInputError):
        aggopt.mask(salaried().assign(salary=7), promising(l=2, repair="merge"))


def test_what_is_missing():
    frame = salaried().assign(illness=["flu", None, "none"] * 20)
    asked = {"t": 0.2, "distance": "equal", "repair": "merge"}
    for hole in ("NaN", "", "NA"):
        holed = frame.fillna({"illness": hole})
        with refused(TableError, "'illness'", "20"):
            aggopt.mask(holed, promising("illness", **asked))
    own = {"illness": {"missing": "own value"}}
    release = aggopt.mask(frame, promising("illness", **asked, confidential=own))
    assert release.audit.promises[0].holds
    tree = {"illness": {"missing": "own value", "tree": TREE}}
    asked = {**asked, "distance": "hierarchical", "confidential": tree}
    assert aggopt.mask(frame, promising("illness", **asked)).audit.holds


# --- methods that see what is confidential


def same_groups(release, labels):
    """Whether a release has the groups of these labels, whatever their numbers."""
    return (pd.factorize(release.labels)[0] == pd.factorize(labels)[0]).all()


@pytest.mark.parametrize("method", ["anonymity_first", "closeness_first"])
def test_methods_that_keep_t_group_by_values_and_t(method):
    frame = salaried()
    release = aggopt.mask(frame, promising(t=0.15, partition={"method": method}))
    alone = getattr(partition, method)(frame[QIS], frame["salary"], 3, 0.15)
    assert same_groups(release, alone.labels)


def test_merge_until_close_begins_with_its_start_and_keeps_t_of_every_attribute():
    frame = salaried()
    roles = {**dict(promising().roles), "confidential": ["salary", "illness"]}
    job = aggopt.Job(
        roles={**roles, "other": ["note"]},
        privacy={
            "k": 3,
            "t": 0.15,
            "confidential": {"illness": {"order": ["none", "flu", "asthma"]}},
        },
        partition={"method": "merge_until_close", "initial": "cbfs"},
    )
    order = frame["illness"].map({"none": 0, "flu": 1, "asthma": 2})
    values = np.column_stack([frame["salary"].rank(method="dense"), order])
    alone = partition.merge_until_close(frame[QIS], values, 3, 0.15, initial="cbfs")
    assert same_groups(aggopt.mask(frame, job), alone.labels)


def test_diverse_vmdav_groups_by_levels_l_and_diversity():
    how = {"method": "diverse_vmdav", "gamma": 0.5}
    asked = {"l": 3, "diversity": "entropy", "partition": how}
    job = promising(**asked, confidential=of_salary(levels=6))
    frame = salaried()
    alone = partition.diverse_vmdav(
        frame[QIS], frame["salary"], 3, k=3, levels=6, diversity="entropy", gamma=0.5
    )
    assert same_groups(aggopt.mask(frame, job), alone.labels)


def test_vmdav_needs_no_promise():
    job = promising(partition={"method": "vmdav", "gamma": 1.1})
    alone = partition.vmdav(salaried()[QIS], 3, gamma=1.1)
    assert same_groups(aggopt.mask(salaried(), job), alone.labels)
    assert not same_groups(aggopt.mask(salaried(), promising()), alone.labels)


@pytest.mark.parametrize("method", ["merge-ilp", "sweep"])
def test_a_repair_begins_with_the_groups_and_its_certificate_is_kept(method):
    frame = salaried(24)
    asked = {"method": method, "time_limit": 30.0, "solver": "cvxpy:highs"}
    release = aggopt.mask(frame, promising(t=0.2, repair=asked))
    start = aggopt.mask(frame, promising()).labels
    alone = aggopt.repair.closeness(frame[QIS], frame["salary"], start, 3, 0.2, **asked)
    assert same_groups(release, alone.labels)
    stated = release.manifest()["partition"][0]["certificate"]
    assert stated["objective"] == pytest.approx(alone.certificate.objective)
    assert stated["bound"] == pytest.approx(alone.certificate.bound)


def test_a_method_that_breaks_its_guarantee_is_caught_on_the_values(monkeypatch):
    put_partitioner(
        monkeypatch, "closeness_first", lambda X, *_, **__: np.arange(len(X)) // 6
    )
    frame = salaried().sort_values("salary", ignore_index=True)
    job = promising(t=0.15, partition={"method": "closeness_first"})
    with refused(PrivacyError, "DOES", "NOT", "HOLD") as error:
        aggopt.mask(frame, job)
    least = float(error.value.fix.split("t of at least ")[1].split(",")[0])
    assert promising(t=round(least + 1e-4, 4), repair="merge").privacy.t < 1
    assert not any(str(value) in str(error.value) for value in frame["salary"])


def test_a_file_that_breaks_the_promise_is_never_there(tmp_path):
    release = aggopt.mask(salaried(), promising(t=0.15, l=3, repair="merge"))
    frame = release.masked.frame
    column = frame["salary"].to_numpy().copy()
    column[release.labels == 0] = column.max()
    spoilt = frame.to_native().assign(salary=column)
    import narwhals.stable.v2 as nw

    tampered = replace(release.masked, frame=nw.from_native(spoilt, eager_only=True))
    with refused(PrivacyError, "DOES", "NOT", "HOLD"):
        replace(release, masked=tampered).write(tmp_path / "masked.csv")
    assert list(tmp_path.iterdir()) == []


def test_the_audit_trusts_no_labels():
    table = pd.DataFrame({"age": [1, 1, 2, 2], "income": 0, "salary": [1, 2, 3, 4]})
    roles = promising().roles.model_copy(
        update={"identifier": (), "other": (), "confidential": ("salary",)}
    )
    found = audit_release(table, roles, Privacy(k=2, t=0.3, l=2))
    l_kept, t_kept = found.promises
    assert (l_kept.holds, l_kept.found, t_kept.holds) == (True, 2, False)
    assert t_kept.found == pytest.approx(1 / 3)
    assert (t_kept.broken, t_kept.groups, t_kept.worst) == (2, 2, 2)
    assert not found.holds
    assert str(found).splitlines()[0].startswith("k = 2 holds")
    assert audit_release(table, roles, Privacy(k=2, t=0.34)).holds
    turned = table.rename(columns={"age": "income", "income": "age"})
    assert (
        audit_release(turned, roles, Privacy(k=2, t=0.3, l=2)).promises
        == found.promises
    )
    assert found.to_dict()["promises"][1]["holds"] is False


# --- refused before any work


def test_levels_are_of_numbers(no_work):
    asked = {"l": 2, "repair": "merge", "confidential": {"illness": {"levels": 5}}}
    with refused(TableError, "60"):
        aggopt.mask(salaried(), promising("illness", **asked))


GUARANTEES = [
    ({"t": 0.1}, "mdav", None),
    ({"l": 2}, "mdav", None),
    ({"l": 2}, "vmdav", None),
    ({"t": 0.1}, "diverse_vmdav", "states no l"),
    ({"l": 2}, "closeness_first", "states no t"),
    ({}, "closeness_first", "states no t"),
    ({"t": 0.1, "l": 2}, "closeness_first", "does not guarantee l"),
    ({"t": 0.1, "l": 2}, "diverse_vmdav", "does not guarantee t"),
    ({"t": 0.1, "distance": "equal"}, "closeness_first", "by the equal distance"),
    ({"t": 0.1, "distance": "equal", "repair": "sweep"}, "mdav", "repair 'sweep'"),
    ({"l": 2, "repair": "sweep"}, "mdav", "'sweep' keeps t, and [privacy] states no t"),
    ({"l": 2, "repair": "merge-ilp"}, "diverse_vmdav", "'merge-ilp' keeps t, and"),
    ({"t": 0.1, "l": 2, "repair": "swap"}, "diverse_vmdav", "does not guarantee l"),
    (
        {"l": 2, "diversity": "recursive", "c": 2.0},
        "diverse_vmdav",
        "recursive diversity",
    ),
]


@pytest.mark.parametrize(("asked", "method", "complaint"), GUARANTEES)
def test_a_promise_is_never_hoped_for(no_work, asked, method, complaint):
    how = {"method": method}
    with pytest.raises(JobError) as error:
        aggopt.mask(salaried(), promising(**asked, partition=how))
    expected = complaint or f"{method} does not guarantee {next(iter(asked))}"
    assert expected in error.value.problem


MADE_FOR = {"l": "diverse_vmdav", "t": "closeness_first"}


@pytest.mark.parametrize(
    ("asked", "advised"),
    [
        ({"l": 2}, {"l"}),
        ({"t": 0.1}, {"t"}),
        ({"t": 0.1, "l": 2}, set()),
        ({"proximity": {"epsilon": 1, "m": 2}}, set()),
    ],
)
def test_advised_is_only_what_keeps_all_that_is_asked(no_work, asked, advised):
    with refused(JobError, "does not guarantee") as error:
        aggopt.mask(salaried(), promising(**asked, partition={"method": "mdav"}))
    fix = error.value.fix
    assert {kind for kind, method in MADE_FOR.items() if method in fix} == advised


def test_merging_by_the_integer_program_keeps_l():
    how = {"method": "diverse_vmdav"}
    asked = {"t": 0.2, "l": 2, "repair": "merge-ilp", "partition": how}
    assert aggopt.mask(salaried(30), promising(**asked)).audit.holds


def test_the_solver_of_a_repair_is_looked_for_first(no_work):
    repair = {"method": "merge-ilp", "solver": "higs"}
    with refused(UnknownNameError, "'highs'"):
        aggopt.mask(salaried(), promising(t=0.1, repair=repair))
    with refused(JobError, "MILP"):
        aggopt.mask(salaried(), promising(t=0.1, repair={**repair, "solver": "uno"}))


def test_no_attribute_is_confidential(no_work):
    roles = promising().roles.model_dump(by_alias=True)
    other = [*roles["other"], *roles["confidential"]]
    roles = {**roles, "confidential": [], "other": other}
    job = aggopt.Job(roles=roles, privacy={"k": 3, "t": 0.1, "repair": "merge"})
    with refused(JobError, "t = 0.1"):
        aggopt.mask(salaried(), job)


def test_treatment_of_an_attribute_that_is_not_confidential(no_work):
    job = promising(t=0.1, repair="merge", confidential={"salry": {}})
    with refused(UnknownNameError, "'salary'"):
        aggopt.mask(salaried(), job)


@pytest.mark.parametrize(
    "asked",
    [
        {"proximity": {"epsilon": {"salary": 5, "salry": 5}, "m": 2}},
        {"dissimilarity": {"epsilon": {"salary": 5, "salry": 5}, "delta": 0.5}},
    ],
)
def test_an_epsilon_of_an_attribute_that_is_not_confidential(asked, no_work):
    job = promising(**asked, repair="merge")
    with refused(UnknownNameError, "'salary'"):
        aggopt.mask(salaried(), job)


def test_more_diverse_than_the_table(no_work):
    for asked in ({"l": 4}, {"l": 3, "diversity": "entropy"}):
        job = promising("illness", **asked, repair="merge")
        with refused(InfeasibleInputError, "'illness'"):
            aggopt.mask(salaried(), job)


def test_a_refused_l_names_the_largest_and_every_way_out(no_work):
    def fix(**asked):
        with pytest.raises(InfeasibleInputError) as error:
            aggopt.mask(salaried(), promising("illness", **asked, repair="merge"))
        return error.value.fix

    largest = salaried()["illness"].nunique()
    assert f"l of at most {largest}, or drop" in fix(l=largest + 1)
    entropy = fix(l=largest, diversity="entropy")
    shares = salaried()["illness"].value_counts(normalize=True)
    effective = int(np.exp(-(shares * np.log(shares)).sum()))
    assert f"l of at most {effective}" in entropy
    assert f"of which l = {largest} is the largest" in entropy
    assert "a larger c" in fix(l=largest, diversity="recursive", c=0.01)


def test_a_refused_t_offers_both_ways_out(no_work):
    with refused(JobError, "held_t") as error:
        aggopt.mask(salaried(), promising(t=0.1))
    with pytest.raises(JobError) as error:
        aggopt.mask(salaried(), promising(l=2))
    assert "held_t" not in error.value.fix


def test_the_t_that_held_t_names_is_kept_by_a_repair_at_no_loss():
    from aggopt.repair import held_t

    frame = salaried()
    before = aggopt.mask(frame, promising())
    t = held_t(before.labels, frame["salary"]).t
    after = aggopt.mask(frame, promising(t=t, repair="merge"))
    assert (after.labels == before.labels).all()


def test_a_t_that_leaves_one_group_is_named_with_the_smallest_that_does_not():
    from aggopt.repair import smallest_t

    frame = salaried()
    least = smallest_t(frame["salary"], 3).t
    asked = {"t": 1e-6, "repair": "merge"}
    release = aggopt.mask(frame, promising(**asked))
    assert release.audit.groups == 1
    (said,) = (note for note in release.notes if "one group" in note)
    assert f"two groups of 3 records or more are at t = {least:g} for 'salary'" in said
    assert f"promise a larger t under [privacy], above {least:g}" in said
    assert not any("limit" in note for note in release.notes)
    keeping = {"aggregation": {"method": "mean", "keep": "variance"}}
    partitioned = {"t": 1e-6, "partition": {"method": "closeness_first"}}
    for how in (asked, partitioned):
        with refused(InfeasibleInputError, "t = 1e-06"):
            aggopt.mask(frame, promising(**how, **keeping))
    loose = aggopt.mask(frame, promising(t=0.2, repair="merge"))
    assert not any("one group" in note for note in loose.notes)


def test_a_t_that_merging_misses_asks_for_another_repair():
    from aggopt.repair import smallest_t

    least = smallest_t(salaried()["salary"], 3).t
    release = aggopt.mask(salaried(), promising(t=least, repair="merge"))
    assert any('try repair = "sweep"' in note for note in release.notes)
    roles = {**dict(promising().roles), "confidential": ["salary", "illness"]}
    two = salaried().assign(illness=2 * salaried()["salary"])
    privacy = {"k": 3, "t": least, "repair": "merge"}
    job = aggopt.Job(roles={**roles, "other": ["note"]}, privacy=privacy)
    notes = aggopt.mask(two, job).notes
    assert any("all records form one group" in note for note in notes)
    assert not any("sweep" in note for note in notes)
    other = {"t": 0.001, "distance": "equal", "repair": "merge"}
    release = aggopt.mask(salaried(), promising("illness", **other))
    said = "To keep t = 0.001, all records form one group. To fix: promise a larger t"
    assert any(note.startswith(said) for note in release.notes)


def test_merged_groups_carry_a_certificate():
    release = aggopt.mask(salaried(), promising(t=0.1, repair="merge"))
    proof = release.manifest()["partition"][0]["certificate"]
    X = salaried()[QIS].to_numpy(float)
    means = aggopt.aggregate.mean(X, release.labels).certificates
    lost = sum(c.objective for c in means)
    assert proof["objective"] == pytest.approx(lost)
    assert 0 <= proof["bound"] <= proof["objective"]
    assert proof["violation"] == 0.0
    assert proof["solver"] == "merging"
    assert proof["status"] == "heuristic, nothing else tried"
    other = {"t": 0.2, "distance": "equal", "repair": "merge"}
    unproven = aggopt.mask(salaried(), promising("illness", **other))
    weaker = unproven.manifest()["partition"][0]["certificate"]
    assert 0 < weaker["bound"] <= weaker["objective"]


OTHER_COSTS = [{"cost": "sae"}, {"centroids": "integer"}]


@pytest.mark.parametrize("repair", ["merge", "swap"])
def test_a_repair_keeps_the_bound_of_the_groups_it_started_from(repair):
    asked = {"partition": {"method": "optimal"}, "repair": repair, "t": 0.2}
    frame = salaried(24)
    best = partition.optimal(frame[QIS], 3).certificate
    free = partition.loss_bound(frame[QIS], 3)
    release = aggopt.mask(frame, promising(**asked))
    proof = release.manifest()["partition"][0]["certificate"]
    assert free < best.bound <= proof["bound"] * (1 + 1e-9)
    assert proof["bound"] <= proof["objective"]


@pytest.mark.parametrize("other", OTHER_COSTS)
def test_a_bound_of_another_cost_is_not_kept(other):
    frame = salaried(24)[["age", "illness"]]
    job = aggopt.Job(
        roles={"quasi-identifier": ["age"], "confidential": ["illness"]},
        privacy={"k": 3, "l": 3, "repair": "merge"},
        partition={"method": "univariate", **other},
        output={"round_integers": True},
    )
    proof = aggopt.mask(frame, job).manifest()["partition"][0]["certificate"]
    best = partition.univariate(frame["age"], 3).certificate.objective
    diverse = partition.loss_bound(
        frame[["age"]], 3, confidential=frame["illness"], l=3
    )
    assert proof["solver"] == "merging"
    assert proof["bound"] == pytest.approx(diverse)
    assert best < proof["objective"]


@pytest.mark.parametrize(
    "treatment",
    [
        {},
        {"order": ["none", "flu"]},
        {"tree": TREE},
        {"distance": "hierarchical"},
        {"distance": "hierarchical", "tree": {"ill": ["flu"]}},
        {"distance": "equal", "order": ["flu"]},
    ],
)
def test_values_that_do_not_fit_the_distance(no_work, treatment):
    asked = {"t": 0.1, "repair": "merge", "confidential": {"illness": treatment}}
    with refused((TableError, JobError), "'illness'") as error:
        aggopt.mask(salaried(), promising("illness", **asked))
    assert not any(f"'{word}'" in str(error.value) for word in ("flu", "asthma"))


@pytest.mark.parametrize(
    "asked",
    [
        {"t": 0.0},
        {"t": 1.0},
        {"t": float("nan")},
        {"l": 1},
        {"l": 2.5},
        {"repair": "merge"},
        {"distance": "equal", "l": 2},
        {"diversity": "entropy", "t": 0.1},
        {"l": 2, "diversity": "recursive"},
        {"l": 2, "c": 2.0},
        {"t": 0.1, "scope": "blocks"},
        {"t": 0.1, "repair": "sweeep"},
        {"t": 0.1, "repair": {"method": "merge", "solver": "highs"}},
        {"t": 0.1, "repair": {"method": "merge", "time_limit": 1.0}},
        {"t": 0.1, "bins": "rank"},
        {"t": 0.1, "repair": {"method": "swap", "solvr": 1}},
        {"t": 0.1, "confidential": of_salary(levls=3)},
        {"t": 0.1, "confidential": of_salary(distance="eqal")},
        {"t": 0.1, "confidential": of_salary(order=[])},
        {"t": 0.1, "confidential": of_salary(levels=9)},
        {"l": 2, "confidential": of_salary(order=[1])},
    ],
)
def test_keys_of_the_section(asked):
    with refused(JobError):
        promising(**asked)


LARGE = 1_700_000_000_000_000_000
MERGING = {
    "leading zeros": ["1", "01", "1.0", "2"],
    "blanks": ["a", " a", "a ", "b"],
    "long decimals": ["0.10000000000000000001", "0.1", "0.2", "0.3"],
}


@pytest.mark.parametrize("kind", MERGING)
def test_entries_that_would_be_read_as_one_are_refused(kind):
    table = salaried(60).assign(illness=MERGING[kind] * 15)
    asked = promising("illness", t=0.3, distance="equal", repair="merge")
    with refused(TableError, "'illness'"):
        aggopt.mask(table, asked)


@pytest.mark.parametrize("text", [False, True])
def test_large_whole_numbers_are_told_apart(text):
    stamps = [LARGE + i % 4 for i in range(60)]
    absent = [None if i % 10 == 9 else stamp for i, stamp in enumerate(stamps)]
    values = list(map(str, stamps)) if text else pd.array(absent, dtype="Int64")
    how = {} if text else {"confidential": {"illness": {"missing": "own value"}}}
    asked = promising("illness", t=0.3, distance="equal", repair="merge", **how)
    table = aggopt.mask(salaried(60).assign(illness=values), asked).table
    told = table["illness"].astype(str)
    shares = told.value_counts(normalize=True)
    for _, group in told.groupby([table["age"], table["income"]]):
        apart = shares.sub(group.value_counts(normalize=True), fill_value=0)
        assert apart.abs().sum() / 2 <= 0.3 + 1e-12


def test_two_promises_are_promised():
    with refused(JobError):
        aggopt.mask(salaried(), promising(l=2, t=0.2))
