"""Bounds and whole numbers of a job: kept, counted on what is written, or refused."""

import io
import json

import cvxpy as cp
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import MDAV

import aggopt
from aggopt.data.readers.read import read_as_text
from aggopt.data.table import Table
from aggopt.errors import (
    AggoptError,
    InfeasibleInputError,
    JobError,
    PrivacyError,
    TableError,
)
from aggopt.experiments.compare_solvers import compare
from aggopt.inspection.collect_errors import find_obstacles
from aggopt.job import AttributeSection
from aggopt.pipeline.prepare.job_settings import (
    _find_kept_statistic,
    are_bounded_jointly,
)
from aggopt.pipeline.prepare.published_grid import find_decimal_ends
from aggopt.pipeline.review.review_release import assess_release
from aggopt.pipeline.validate.bounds import require_bounds
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.bounds import BoundsCheck, check_bounds
from aggopt.release.audit.counts import Count

ROLES = {"identifier": ["id"], "quasi-identifier": ["visits", "income"]}
P3M = {"method": "p3m"}


def people(n=60, seed=0):
    """Persons with visits, mostly none and a few often, and an income."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "id": [f"p{i}" for i in range(n)],
            "visits": rng.poisson(1.0, n) * rng.integers(0, 15, n),
            "income": rng.gamma(2.0, 1e4, n),
        }
    )


def job(visits=None, k=3, **sections):
    said = {} if visits is None else {"attributes": {"visits": visits}}
    plain = {"roles": ROLES, "privacy": {"k": k}, "partition": MDAV}
    return aggopt.Job(**{**plain, **said, **sections})


def masked(visits=None, frame=None, **sections):
    return aggopt.mask(people() if frame is None else frame, job(visits, **sections))


def expect_refusal(visits=None, frame=None, **sections):
    with refused(AggoptError) as error:
        masked(visits, frame, **sections)
    return error.value.problem


# --- kept


def test_published_values_stay_within_and_the_audit_says_so(tmp_path) -> None:
    free = masked(aggregation=P3M)
    assert (free.table["visits"] < 0).any()
    assert free.audit.within == ()
    release = masked({"lower": 0, "upper": 60}, aggregation=P3M)
    assert release.table["visits"].min() == 0
    found = BoundsCheck("visits", 0.0, 60.0, integer=False, beyond=0, broken=0)
    assert release.audit.within == (found,)
    assert release.audit.verdict.endswith("'visits': lower = 0, upper = 60 holds.")
    files = release.write(tmp_path / "masked.csv")
    stated = json.loads(files.manifest.read_text())
    assert stated["output"]["recounted"]["within"][0]["beyond"] == 0
    assert pd.read_csv(files.table)["visits"].min() == 0


@pytest.mark.parametrize(
    "how",
    [
        {"method": "mean"},
        {"method": "median"},
        {"method": "mean", "keep": "variance"},
        {"method": "p3m", "keep": {"variance": ["income", "visits"]}},
    ],
)
def test_every_aggregation_keeps_bounds(how) -> None:
    assert masked({"lower": 0}, aggregation=how).table["visits"].min() >= 0


def test_bounds_hold_where_values_are_missing() -> None:
    frame = people()
    frame["visits"] = frame["visits"].where(frame.index % 9 > 0)
    for policy in ("patterns", "fill"):
        release = masked(
            {"lower": 0}, frame, aggregation=P3M, missing={"policy": policy}
        )
        assert release.table["visits"].min() == 0
        assert release.audit.within[0].holds


def test_bounds_hold_in_strata_that_are_aggregated_by_themselves() -> None:
    frame = people(90).assign(sex=np.arange(90) % 2)
    roles = {**ROLES, "stratum": ["sex"]}
    release = masked({"lower": 0}, frame, roles=roles, aggregation=P3M)
    assert release.table["visits"].min() == 0
    for sex in (0, 1):
        own = (
            part.loc[part["sex"] == sex, "visits"] for part in (frame, release.table)
        )
        before, after = own
        assert after.mean() == pytest.approx(before.mean(), rel=1e-4)
        assert after.std() == pytest.approx(before.std(), rel=1e-4)


def test_rounding_stays_within_the_bounds() -> None:
    frame = people().assign(visits=lambda f: f["visits"] + 0.4)
    release = masked(
        {"lower": 0.4, "upper": 90.7}, frame, aggregation=P3M, output={"decimals": 0}
    )
    values = release.table["visits"]
    assert values.min() == 1  # 0 is the nearest, and below the bound
    assert (values % 1 == 0).all()


@pytest.mark.parametrize(
    ("ends", "place", "found"),
    [
        ((0.123, 9.99), 1, (0.2, 9.9)),
        ((0.1, 0.3), 1, (0.1, 0.3)),
        ((-1.5, -0.5), 0, (-1.0, -1.0)),
        ((150, 1999), -2, (200.0, 1900.0)),
        ((-np.inf, 2.5), 0, (-np.inf, 2.0)),
        ((2.5, np.inf), 0, (3.0, np.inf)),
        ((0.123, 9.99), None, (0.123, 9.99)),
        ((-1e300, 1e300), 15, (-1e300, 1e300)),
    ],
)
def test_decimals_within_bounds(ends, place, found) -> None:
    assert find_decimal_ends(*ends, place) == found
    assert "-0.0" not in repr(
        find_decimal_ends(-0.5, 5.0, 0)
    )  # as which a file would have it


def test_a_value_beyond_what_rounding_explains_is_not_moved() -> None:
    def low(X, labels):
        found = np.array([X[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
        found[0, 0] = -1.5
        return found

    with refused(PrivacyError, "'visits'", "lower = 0", "DOES"):
        masked({"lower": 0}, aggregation={"method": low}, output={"decimals": 0})


@pytest.mark.parametrize("kind", ["float32", "float64", "int64", "uint8"])
def test_columns_of_any_number_keep_their_bounds(kind, tmp_path) -> None:
    frame = people().astype({"visits": kind})
    scale = 0.1 if kind.startswith("f") else 1
    frame["visits"] *= np.array(scale, kind)
    top = float(str(frame["visits"].max()))  # 2.8, as 32 bits do not hold it
    ends = {"lower": 0, "upper": top}
    for output in ({"digits": "full"}, {"digits": 2}, {"round_integers": True}):
        release = masked(ends, frame, aggregation=P3M, output=output)
        files = release.write(tmp_path / f"{len(str(output))}.csv")
        assert pd.read_csv(files.table)["visits"].between(0, top + 1e-6).all()


def test_a_value_that_its_type_would_round_out_is_rounded_in() -> None:
    def low(X, labels):
        found = np.array([X[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
        found[0, 0] = -0.6  # within, and the nearest whole number is not
        return found

    how = {"aggregation": {"method": low}, "output": {"round_integers": True}}
    assert masked({"lower": -0.6}, **how).table["visits"].min() == 0


# --- whole numbers


def test_whole_numbers_keep_the_mean_as_group_sizes_allow() -> None:
    frame = people()
    release = masked({"lower": 0, "integer": True}, frame, aggregation=P3M)
    values = release.table["visits"]
    assert values.dtype == np.int64
    assert values.min() >= 0
    sizes = np.bincount(release.labels)
    drift = abs(values.sum() - frame["visits"].sum())
    assert drift <= sizes.max() / 2
    rounded = {"aggregation": P3M, "output": {"round_integers": True}}
    nearest = masked({"lower": 0}, frame, **rounded)
    assert drift <= abs(nearest.table["visits"].sum() - frame["visits"].sum())
    (said,) = (note for note in release.notes if "are rounded" in note)
    assert "'visits' to whole numbers): means moved by at most" in said
    assert release.drift["visits"].step == 1.0
    assert release.audit.verdict.endswith("'visits': lower = 0, integer = true holds.")


def test_whole_numbers_of_a_column_of_floats_stay_floats(tmp_path) -> None:
    frame = people().assign(visits=lambda f: f["visits"] * 1.25)
    release = masked({"integer": True}, frame)
    assert release.table["visits"].dtype == np.float64
    assert (release.table["visits"] % 1 == 0).all()
    assert not (release.table["income"] % 1 == 0).all()
    text = release.write(tmp_path / "m.csv").table.read_text()
    assert found_within_csv(text, {"integer": True})[0].holds


def found_within_csv(text, said):
    frame = pd.read_csv(io.StringIO(text), dtype=str, keep_default_na=False)
    section = AttributeSection(**said)
    return check_bounds(nw.from_native(frame), {"visits": section}, ".")


def test_whole_numbers_have_whole_bounds() -> None:
    frame = people().assign(visits=lambda f: f["visits"] + 0.5)
    release = masked({"lower": 0.5, "integer": True}, frame, aggregation=P3M)
    assert release.table["visits"].min() == 1


def test_a_constant_attribute_is_rounded_as_one_value() -> None:
    frame = people().assign(visits=2.5)
    assert set(masked({"integer": True}, frame).table["visits"]) == {2.0}


def test_whole_numbers_of_large_spread_keep_the_digits_asked_for() -> None:
    frame = people().assign(visits=lambda f: f["visits"] * 1_000_000)
    release = masked({"integer": True}, frame, output={"digits": 2})
    assert (release.table["visits"] % 100_000 == 0).all()


# --- counted


def counted(values, **said):
    frame = nw.from_native(pd.DataFrame({"visits": values}))
    (found,) = check_bounds(frame, {"visits": AttributeSection(**said)}, ",")
    return found.beyond, found.broken


def test_values_beyond_and_values_that_are_not_whole_are_counted() -> None:
    assert counted([0.0, -0.5, 3.0, 3.0], lower=0) == (1, 0)
    assert counted([0.0, 2.5, 3.0, 3.0], upper=2.5) == (2, 0)
    assert counted([0.0, 2.5, 3.0, -2.5], integer=True) == (0, 2)
    assert counted(["0", "-0,5", "", "7e1"], lower=0, upper=9, integer=True) == (2, 1)
    assert counted(["0", "much"], lower=0) == (1, 0)
    assert counted([1, 2, None], lower=0, integer=True) == (0, 0)
    tenth = np.array([0.1], np.float32)
    assert counted(tenth, upper=0.1) == (0, 0)
    assert counted(tenth, lower=0.1) == (0, 0)


def audit_of(**found):
    plain = {"lower": None, "upper": None, "integer": False, "beyond": 0, "broken": 0}
    one = Count(("visits",), 1, 3, 0, 0)
    within = (BoundsCheck("visits", **{**plain, **found}),)
    return Audit(3, 2, "combination", one, (one,), (), within=within)


def test_an_audit_holds_only_if_values_are_within_and_whole() -> None:
    assert audit_of(lower=0.0).holds
    assert audit_of(lower=0.0).refusal is None
    assert not audit_of(lower=0.0, beyond=1).holds
    assert not audit_of(integer=True, broken=1).holds
    said = str(audit_of(lower=-0.5, upper=1e6, integer=True, beyond=1, broken=2))
    assert said.splitlines()[1] == (
        "'visits': lower = -0.5, upper = 1e+06, integer = true DOES NOT HOLD: "
        "1 published value beyond, 2 published values not whole."
    )
    assert audit_of(upper=2.0, beyond=1).refusal.problem == (
        "'visits': upper = 2 DOES NOT HOLD: 1 published value beyond."
    )


def test_a_release_that_was_edited_is_found_out(tmp_path) -> None:
    people().to_csv(tmp_path / "people.csv", index=False)
    asked = job({"lower": 0})
    files = aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / "masked.csv")
    edited = pd.read_csv(files.table)
    edited["visits"] = edited["visits"].replace(0.0, -1.0)
    edited.to_csv(files.table, index=False)
    files.manifest.unlink()
    found = assess_release(tmp_path / "people.csv", files.table, asked).audit
    assert found.within[0].beyond > 0
    assert not found.holds


# --- refused


def test_originals_beyond_the_bounds_are_refused_by_counts() -> None:
    frame = people()
    low, high = (frame["visits"] < 1).sum(), (frame["visits"] > 20).sum()
    assert expect_refusal({"lower": 1, "upper": 20}) == (
        f"'visits': The bounds are not of these values: {low} originals below lower = "
        f"1 and {high} originals above upper = 20."
    )
    assert expect_refusal({"upper": 20}) == (
        f"'visits': The bounds are not of these values: {high} originals above upper = "
        "20."
    )


@pytest.mark.parametrize(
    "values",
    [
        pd.date_range("2020-01-01", periods=60),
        np.array(["a", "b", "c"] * 20),
        np.arange(60) % 2 == 0,
    ],
)
def test_bounds_are_of_numbers(values) -> None:
    expect_refusal({"lower": 0}, people().assign(visits=values))
    expect_refusal({"integer": True}, people().assign(visits=values))


def test_bounds_of_what_is_said_to_be_no_number_are_refused() -> None:
    for said in ({"kind": "nominal"}, {"order": [0, 1]}, {"kind": "date"}):
        for own in ({"lower": 0}, {"upper": 0}, {"integer": True}):
            expect_refusal({**said, **own})
    expect_refusal({"lower": 3, "upper": 3})
    expect_refusal({"lower": 1, "upper": 0.5})


def test_bounds_without_two_published_values_between_are_refused() -> None:
    frame = people().assign(visits=lambda f: f["visits"] / 100)
    said = {"lower": 0, "upper": 0.99}
    expect_refusal(said, frame, output={"decimals": 0})
    expect_refusal({**said, "integer": True}, frame)
    assert masked({**said, "upper": 1.5}, frame).audit.holds


def test_groups_that_cannot_reach_the_variance_are_refused_before_work(
    tmp_path,
) -> None:
    frame = people().assign(visits=[0.0] * 59 + [100.0])
    for how in (P3M, {"method": "mean", "keep": "variance"}):
        says = expect_refusal({"lower": 0}, frame, aggregation=how)
    frame.to_csv(tmp_path / "people.csv", index=False)
    asked = job({"lower": 0}, aggregation=P3M)
    text = read_as_text(tmp_path / "people.csv", asked.input)
    found = find_obstacles(tmp_path / "people.csv", text, asked)
    assert ["No 2 centroids within the bounds" in str(each) for each in found] == [True]
    few = pd.concat([frame[:5], frame[-1:]])
    assert expect_refusal({"lower": 0}, few, aggregation=P3M) == says
    expect_refusal({"lower": 0}, few[1:], aggregation=P3M)
    kept = {"method": "mean", "keep": {"variance": ["income"], "mean": ["visits"]}}
    assert masked({"lower": 0}, frame, aggregation=kept).table["visits"].min() == 0
    wide = {"method": "mean", "keep": "variance"}
    assert masked({"lower": -100}, frame, aggregation=wide).audit.holds


def test_a_solver_that_keeps_no_bounds_is_refused_before_work() -> None:
    how = {"method": "p3m", "keep": "covariance", "solver": "stiefel"}
    expect_refusal({"lower": 0}, aggregation=how)
    assert masked({"integer": True}, aggregation=how).audit.holds
    apart = {**how, "keep": {"covariance": ["income"], "variance": ["visits"]}}
    assert masked({"lower": 0}, aggregation={**apart, "solver": None}).audit.holds


def test_solvers_are_compared_that_keep_bounds() -> None:
    how = {"method": "p3m", "keep": "covariance"}
    with refused(AggoptError):
        list(compare(people(), job({"lower": 0}, aggregation=how), ["stiefel"]))
    rows = compare(people(), job({"lower": 0}, aggregation=P3M), ["lagrangian"])
    assert [row.holds for row in rows] == [True]


# --- programs of one attribute, and models of one's own


def test_a_declared_program_has_the_bounds() -> None:
    problem = aggopt.declare(people(), job({"lower": 0}, aggregation=P3M), "visits")
    labels = [row.label for row in problem.constraints]
    assert labels == ["distance", "mean", "variance", "lower"]
    free = aggopt.declare(people(), job({"lower": 0}, aggregation=P3M), "income")
    assert [row.label for row in free.constraints] == labels[:-1]


def test_a_model_of_ones_own_gets_the_bounds_if_it_asks_for_them() -> None:
    seen = []

    def stretched(x, labels, sizes, *, lower=-9.0):
        seen.append(lower)
        c = cp.Variable(len(sizes), name="c")
        means = np.bincount(labels, x) / sizes
        return cp.Problem(
            cp.Minimize(cp.sum_squares(c - 1.2 * means)), [c >= max(lower, -9.0)]
        )

    release = masked({"lower": 0}, aggregation={"model": stretched})
    frame = people()
    z = -frame["visits"].mean() / frame["visits"].std(ddof=0)
    assert -np.inf in seen  # of the income, which has no bound
    assert any(lower == pytest.approx(z) for lower in seen)
    assert release.table["visits"].min() == 0
    with refused(PrivacyError, "DOES", "NOT", "HOLD"):
        masked(
            {"lower": 0},
            aggregation={"model": lambda x, labels, sizes: stretched(x, labels, sizes)},
        )


def test_a_model_of_ones_own_gets_none_where_strata_are_standardised_apart() -> None:
    seen = []

    def plain(x, labels, sizes, *, lower=-9.0):
        seen.append(lower)
        c = cp.Variable(len(sizes), name="c")
        return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)))

    frame = people().assign(sex=np.arange(60) % 2)
    roles = {**ROLES, "stratum": ["sex"]}
    release = masked({"lower": 0}, frame, roles=roles, aggregation={"model": plain})
    assert set(seen) == {-9.0}
    assert release.audit.within[0].holds


# --- bounds that cannot be meant are refused in full, each before any work


FRAME = pd.DataFrame(
    {"a": [0.0, 0.2, 0.4, 0.6, 0.8, 9.0], "b": [1.0, 2, 3, 4, 5, 6], "s": [*"xxyyzz"]}
)
BOOLEAN = FRAME.assign(a=[True, False] * 3)
DATES = FRAME.assign(a=pd.date_range("2020-01-01", periods=6))


def look(frame, sides, k=3, keep="mean", **sections):
    job = aggopt.Job(
        roles={"quasi-identifier": ["b", "a", "s"]},
        privacy={"k": k},
        partition=MDAV,
        attributes={"a": sides},
        aggregation={"method": "mean", "keep": keep},
        **sections,
    )
    table = Table.of(frame, job.roles, job.attributes)
    require_bounds(table, table.matrix(), job)
    return job


@pytest.mark.parametrize(
    "frame",
    [BOOLEAN, DATES, FRAME.assign(a=FRAME["s"])],
    ids=["truth values", "dates", "names"],
)
def test_what_is_no_number_has_no_bounds(frame) -> None:
    with refused(JobError, "'a'", "[attributes]"):
        look(frame, {"upper": 99})


def test_truth_values_are_no_numbers_even_where_they_are_said_to_be() -> None:
    with refused(JobError):
        look(BOOLEAN, {"kind": "numeric", "upper": 99})


@pytest.mark.parametrize(
    ("sides", "said"),
    [
        ({"lower": 0, "upper": 9}, None),
        ({"lower": 0.1}, "1 original below lower = 0.1"),
        ({"upper": 0.5}, "3 originals above upper = 0.5"),
        (
            {"lower": 0.3, "upper": 8},
            "2 originals below lower = 0.3 and 1 original above upper = 8",
        ),
    ],
)
def test_originals_lie_within_their_bounds(sides, said) -> None:
    if said is None:
        look(FRAME, sides)
        return
    with refused(TableError, "'a'"):
        look(FRAME, sides)


def test_two_values_are_published_within_bounds() -> None:
    few = FRAME.assign(a=FRAME["a"] / 10)
    look(few, {"lower": 0, "upper": 0.95}, output={"decimals": 1})
    with refused(JobError, "'a'", "[output]"):
        look(few, {"lower": 0, "upper": 0.95}, output={"decimals": 0})


APART = {"variance": ["a"], "mean": ["b"]}
OTHER = {"variance": ["b"], "mean": ["a"]}


@pytest.mark.parametrize(
    ("keep", "k", "enough"),
    [
        ("mean", 2, True),
        ("variance", 2, False),
        ("covariance", 2, False),
        (APART, 2, False),
        (OTHER, 2, True),
        ("variance", 3, False),
        ("variance", 4, True),  # one group, which is refused by itself
    ],
)
def test_groups_of_k_reach_the_variance_within_bounds(keep, k, enough) -> None:
    if enough:
        look(FRAME, {"lower": 0}, k, keep)
        return
    with refused(InfeasibleInputError, "'a'"):
        look(FRAME, {"lower": 0}, k, keep)


def test_by_weight_groups_of_k_may_stand_out_farther() -> None:
    job = aggopt.Job(
        roles={"quasi-identifier": ["a", "b"], "identifier": ["s"], "weight": "w"},
        privacy={"k": 2},
        partition=MDAV,
        attributes={"a": {"lower": 0}},
        aggregation={"method": "mean", "keep": "variance"},
    )
    table = Table.of(FRAME.assign(w=[3.0, 3, 3, 3, 1, 1]), job.roles, job.attributes)
    require_bounds(table, table.matrix(), job)


def test_the_smaller_of_two_groups_stands_out_as_far_as_k_allows() -> None:
    """Of z = -1 at the bound and groups of 2 and 4 the variance is reached, just so."""
    frame = FRAME.assign(a=[0.0, 0, 0, 0, 3, 3])
    z = frame["a"].mean() / frame["a"].std(ddof=0)
    assert z**2 * (6 - 2) / 2 == pytest.approx(1)
    look(frame, {"lower": 0}, 2, "variance")
    with refused(InfeasibleInputError, "No 2 centroids"):
        look(frame.assign(a=[0.0, 0, 0, 0, 1, 4]), {"lower": 0}, 2, "variance")


@pytest.mark.parametrize(
    ("keep", "together"),
    [
        ("covariance", True),
        ("variance", False),
        ({"covariance": ["a"], "variance": ["b"]}, True),
        ({"covariance": ["b"], "variance": ["a"]}, False),
    ],
)
def test_bounded_attributes_of_a_covariance_are_solved_together(keep, together) -> None:
    for sides in ({"lower": 0}, {"integer": True}):
        job = aggopt.Job(
            roles={"quasi-identifier": ["a", "b"]},
            privacy={"k": 3},
            attributes={"a": sides},
            aggregation={"method": "p3m", "keep": keep},
        )
        assert are_bounded_jointly(job) == (together and "lower" in sides)


def test_a_solver_that_keeps_no_bounds_is_refused_before_any_work() -> None:
    job = aggopt.Job(
        roles={"quasi-identifier": ["a", "b"], "identifier": ["s"]},
        privacy={"k": 2},
        attributes={"a": {"lower": -100}},
        aggregation={"method": "p3m", "keep": "covariance", "solver": "stiefel"},
    )
    table = Table.of(FRAME, job.roles, job.attributes)
    with refused(JobError):
        require_bounds(table, table.matrix(), job)


def test_what_a_table_does_not_name_is_kept_by_nothing() -> None:
    job = look(FRAME, {"lower": 0}, 2, OTHER)
    kept = [_find_kept_statistic(job, name) for name in ("a", "b", "s")]
    assert kept == ["mean", "variance", None]
    assert (
        _find_kept_statistic(look(FRAME, {"lower": 0}, 4, "variance"), "s")
        == "variance"
    )
