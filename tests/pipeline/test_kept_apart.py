"""What a job keeps of numbers: a table of `keep`, and covariances."""

import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from refusals import refused
from tables import ROLES, WIDE, job, people, wide, wide_job

import aggopt
from aggopt.errors import AggoptError, InfeasibleInputError, JobError, TableError
from aggopt.experiments import compare_solvers, sweep
from aggopt.pipeline.validate.preflight_checks import _require_names

FULL = {"digits": "full"}
PAIRS = {"covariance": [["debt", "income"], ["height", "weight"]], "mean": ["age"]}
DEBT = {"regression": "illness ~ income + age"}


def means(keep: object) -> dict[str, object]:
    return {"method": "mean", "keep": keep}


def coefficients(frame: pd.DataFrame, y: str, names: list[str]) -> np.ndarray:
    A = np.column_stack([np.ones(len(frame)), frame[names]])
    return np.linalg.lstsq(A, frame[y].to_numpy(float), rcond=None)[0]


def billed(n: int = 40) -> pd.DataFrame:
    """Return people with a number in place of their illness, hardly of their age."""
    rng = np.random.default_rng(4)
    return people(n).assign(illness=rng.normal(300, 50, n).round(2))


def test_blocks_keep_their_covariances_and_have_certificates_of_their_own():
    frame, names = wide(), list(WIDE)
    asked = wide_job(aggregation=means(PAIRS), output=FULL)
    release = aggopt.mask(frame, asked)
    before, after = frame[names].corr(), release.table[names].corr()
    kept = (after - before).abs() < 1e-9
    assert kept.loc["income", "debt"]
    assert kept.loc["height", "weight"]
    assert not kept.loc["income", "height"]
    assert list(release.certificates) == ["age", "height, weight", "debt, income"]
    stds = release.table[names].std() / frame[names].std()
    assert stds.to_numpy() == pytest.approx([stds["age"], 1, 1, 1, 1])
    assert stds["age"] < 0.99


def test_one_list_is_a_block_and_p3m_takes_it_too():
    keep = {"covariance": ["debt", "income"], "variance": ["age", "height", "weight"]}
    how = {"method": "p3m", "alpha": 0, "keep": keep}
    release = aggopt.mask(wide(), wide_job(aggregation=how, output=FULL))
    solvers = {name: c.solver for name, c in release.certificates.items()}
    assert solvers["debt, income"] == "stiefel"
    assert solvers["age"] == "lagrangian"
    before, after = (t["income"].corr(t["debt"]) for t in (wide(), release.table))
    assert after == pytest.approx(before, abs=1e-9)
    assert str(release.job.aggregation.keep) == (
        "covariance of debt, income; variance of age, height, weight"
    )


def test_a_regression_of_what_is_published_as_it_is_keeps_its_coefficients(tmp_path):
    frame = billed()
    asked = job(aggregation=means(DEBT), output=FULL)
    release = aggopt.mask(frame, asked)
    names = ["income", "age"]
    own = coefficients(frame, "illness", names)
    assert coefficients(release.table, "illness", names) == pytest.approx(own, rel=1e-9)
    plain = {"method": "mean", "keep": "covariance"}
    without = aggopt.mask(frame, job(aggregation=plain, output=FULL)).table
    assert coefficients(without, "illness", names) != pytest.approx(own, rel=1e-3)
    assert list(release.certificates) == ["income, age"]
    frame.to_csv(tmp_path / "people.csv", index=False)  # numbers of a file are text
    again = aggopt.mask(tmp_path / "people.csv", asked)
    written = again.table.to_pandas().astype({"illness": float})
    assert coefficients(written, "illness", names) == pytest.approx(own, rel=1e-9)


def test_a_response_is_read_with_the_decimal_comma_of_its_file(tmp_path):
    how = {"decimal": ",", "separator": ";"}
    frame, path = billed(), tmp_path / "people.csv"
    frame.to_csv(path, index=False, decimal=",", sep=";")
    asked = job(aggregation=means(DEBT), input=how, output=FULL)
    table = aggopt.mask(path, asked).table.to_pandas()
    table["illness"] = table["illness"].str.replace(",", ".").astype(float)
    names = ["income", "age"]
    own = coefficients(frame, "illness", names)
    assert coefficients(table, "illness", names) == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("keep", [DEBT, {"covariance": [["age", "income"]]}])
def test_a_release_that_was_made_by_a_table_is_made_again(keep, tmp_path):
    billed().to_csv(tmp_path / "people.csv", index=False)
    asked = job(aggregation=means(keep))
    (tmp_path / "job.toml").write_text(asked.to_toml())
    assert aggopt.Job.read(tmp_path / "job.toml") == asked
    aggopt.mask(tmp_path / "people.csv", asked).write(tmp_path / "masked.csv")
    manifest, again = tmp_path / "masked.manifest.json", tmp_path / "again.csv"
    aggopt.repeat(manifest, tmp_path / "people.csv", again)
    assert again.read_bytes() == (tmp_path / "masked.csv").read_bytes()


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("keep", "problem", "fix"),
    [
        ({"covariance": ["age", "incom"]}, "called 'incom'", "did you mean 'income'"),
        (
            {"covariance": ["age"]},
            "keep does not name 'income'.",
            "under one statistic",
        ),
        (
            {"covariance": ["age", "income"], "variance": ["age", "income"]},
            "keep names 'age', 'income' more than once.",
            "under one statistic",
        ),
        ({"covariance": [["age"], ["age", "income"]]}, "names 'age' more", "under one"),
        ({}, "keep is a table that names nothing.", "{ covariance = ["),
        ({"covariance": [[]], "mean": ["age"]}, "names nothing", "covariance"),
        ({"covariances": ["age"]}, "keep is a table with the keys", '"covariance"'),
        ({"variance": "age"}, "keep is a table with the keys", "regression ="),
        ({"regression": "note - age"}, "is no formula.", '"y ~ a + b"'),
        ({"regression": "~ age + income"}, "is no formula.", '"y ~ a + b"'),
        ({"regression": "note ~ age + "}, "is no formula.", '"y ~ a + b"'),
        ({"regression": "note ~ age ~ income"}, "is no formula.", '"y ~ a + b"'),
        ({"regression": "age ~ age + income"}, "is no formula.", '"y ~ a + b"'),
        ({"regression": "name ~ age + income"}, "'name'", "illness, note"),
        ({"regression": "cost ~ age + income"}, "published unchanged", "illness"),
        (
            {"regression": "illness ~ age + income"},
            "'illness' is the response of a regression, and 40 of 40 values are "
            "missing or no numbers.",
            "name another response",
        ),
        ({"regression": "illness ~ age"}, "keep does not name 'income'.", "every"),
    ],
)
def test_tables_that_cannot_be_used_are_refused_before_work(keep, problem, fix):
    with pytest.raises(AggoptError) as no:
        aggopt.mask(people(), job(aggregation=means(keep)))
    assert problem in no.value.problem
    assert fix in no.value.fix


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("keep", "problem", "fix"),
    [
        (
            {"covariance": ["age"]},
            "keep does not name 'income'.",
            "name every quasi-identifier that is a number under one statistic.",
        ),
        (
            {"mean": ["age"], "variance": ["wealth", "income"]},
            "No quasi-identifier that is a number is called 'wealth'.",
            "The known names are age, income.",
        ),
        (
            {"regression": "cost ~ age + income"},
            "No column that is published unchanged is called 'cost'.",
            "The known names are illness, note.",
        ),
        (
            DEBT,
            "'illness' is the response of a regression, and 40 of 40 values are "
            "missing or no numbers.",
            'name another response in keep = { regression = "y ~ a + b" }, or remove '
            "those records.",
        ),
    ],
)
def test_what_is_wrong_with_a_table_is_said_in_full(keep, problem, fix):
    with pytest.raises(AggoptError) as no:
        aggopt.mask(people(), job(aggregation=means(keep)))
    assert (no.value.problem, no.value.fix) == (problem, fix)


@pytest.mark.usefixtures("no_work")
def test_a_response_of_one_value_is_refused_in_full():
    with pytest.raises(JobError) as no:
        aggopt.mask(people().assign(illness=3), job(aggregation=means(DEBT)))
    assert no.value.problem == (
        "'illness' is the response of a regression and has one value only."
    )
    assert no.value.fix == "name another, or leave the regression out."


@pytest.mark.usefixtures("no_work")
def test_blocks_are_counted_among_the_numbers_where_a_category_stands_between():
    frame = people().assign(town=["north", "south"] * 20)
    asked = job(
        roles={**ROLES, "quasi-identifier": ["age", "town", "income"]},
        partition={"method": "mdav", "attributes": [["age", "town"], ["income"]]},
        privacy={"k": 3, "scope": "blocks"},
        aggregation=means({"covariance": ["age", "income"]}),
    )
    with pytest.raises(JobError) as no:
        aggopt.mask(frame, asked)
    assert no.value.problem == (
        'keep = "covariance" is of attributes that are grouped together, and '
        "[partition] attributes puts the numbers into 2 blocks."
    )


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1.0] * 40, "has one value only"),
        ([1.0, None] + [2.0] * 38, "1 of 40 values is missing"),
        ([1e100] + [2.0] * 39, "1 of 40 values is missing"),
        (list(pd.date_range("2020", periods=40)), "40 of 40 values are missing or no"),
    ],
)
def test_responses_that_are_no_numbers_or_one_are_refused(values, says):
    asked = job(aggregation=means(DEBT))
    with pytest.raises((JobError, TableError), match=says):
        aggopt.mask(people().assign(illness=values), asked)


def test_a_response_of_two_values_is_one():
    values = np.random.default_rng(0).permutation([0, 1] * 20)
    asked = job(aggregation=means(DEBT), output=FULL)
    release = aggopt.mask(people().assign(illness=values), asked)
    assert release.certificates["income, age"].status.value == "optimal"


@pytest.mark.usefixtures("no_work")
def test_attributes_in_different_blocks_are_refused():
    how = {
        "method": "mdav",
        "attributes": [["age", "income"], ["height", "weight", "debt"]],
    }
    with pytest.raises(JobError, match="puts the numbers into 2 blocks"):
        aggopt.mask(wide(), wide_job(partition=how, aggregation=means(PAIRS)))


def test_blocks_within_blocks_of_the_partition_are_taken():
    how = {
        "method": "mdav",
        "attributes": [["age", "income", "debt"], ["height", "weight"]],
    }
    asked = wide_job(partition=how, aggregation=means(PAIRS), output=FULL)
    release = aggopt.mask(wide(), asked)
    for one, other in PAIRS["covariance"]:
        before, after = (t[one].corr(t[other]) for t in (wide(), release.table))
        assert after == pytest.approx(before, abs=1e-9)


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(
    ("keep", "k", "says"),
    [
        (DEBT, 13, "a regression on attributes of rank 2 is kept by 4 or more."),
        ({"covariance": ["age", "income"]}, 14, "of rank 2 is kept by 3 or more."),
    ],
)
def test_fewer_groups_than_are_needed_are_refused(keep, k, says):
    with pytest.raises(InfeasibleInputError) as no:
        aggopt.mask(billed(), job(k=k, aggregation=means(keep)))
    assert no.value.problem.startswith(f"40 records with k = {k} make ")
    assert no.value.problem.endswith(says)
    assert no.value.fix == (
        'choose a smaller k, fewer quasi-identifiers, or keep = "variance".'
    )


def test_as_many_groups_as_a_regression_needs_are_enough():
    release = aggopt.mask(billed(), job(k=10, aggregation=means(DEBT)))
    assert "income, age" in release.certificates


def test_a_response_that_groups_have_lost_is_refused_with_both_shares():
    frame = people()
    frame["illness"] = frame["age"] * 2.0
    with refused(InfeasibleInputError, "100.0"):
        aggopt.mask(frame, job(aggregation=means(DEBT)))


@pytest.mark.parametrize("method", ["p3m", "p3m_onesided", "satisfaction"])
def test_wishes_keep_a_regression_of_what_is_published_as_it_is(method):
    frame, names = billed(), ["income", "age"]
    how = {"method": method, "keep": DEBT, "delta": 0.3}
    release = aggopt.mask(frame, job(aggregation=how, output=FULL))
    own = coefficients(frame, "illness", names)
    assert coefficients(release.table, "illness", names) == pytest.approx(own, rel=1e-9)
    assert release.certificates["income, age"].solver == "stiefel"


def test_solvers_are_compared_on_the_program_of_a_regression():
    how = {"method": "p3m", "keep": DEBT, "delta": 0.3}
    (row,) = compare_solvers.compare(billed(), job(aggregation=how), ["stiefel"])
    assert row.holds


def test_missing_values_are_refused_with_a_table():
    frame = people()
    frame.loc[:4, "age"] = np.nan
    keep = {"mean": ["age"], "variance": ["income"]}
    asked = job(missing={"policy": "patterns"}, aggregation=means(keep))
    with refused(JobError, "keep = a"):
        aggopt.mask(frame, asked)


def test_the_solver_of_each_program_is_asked_before_work(no_work):
    keep = {"covariance": ["age"], "variance": ["income"]}
    for solver in ("lagrangian", "stiefel"):
        how = {"method": "p3m", "keep": keep, "solver": solver}
        with pytest.raises(JobError, match=f"{solver} does not take"):
            aggopt.mask(people(), job(aggregation=how))


def test_solvers_are_not_compared_on_two_programs_and_sweeps_take_them():
    one = {"method": "p3m", "keep": {"covariance": ["income", "age"]}}
    (row,) = compare_solvers.compare(people(), job(aggregation=one), ["stiefel"])
    assert row.holds
    keep = {"covariance": ["age"], "variance": ["income"]}
    asked = job(aggregation={"method": "p3m", "keep": keep})
    with refused(JobError):
        list(compare_solvers.compare(people(), asked))
    points = list(
        sweep.sweep(people(), asked, alpha=[0, 0.5], delta=[0.1, 0.2], jobs=1)
    )
    assert len(points) == 4
    assert all(p.usable for p in points)
    assert {p.keep for p in points} == {"covariance of age; variance of income"}


# --- jobs that keep the covariance: what is published, and what is refused before work


KEEP = {"method": "mean", "keep": "covariance"}


def test_correlations_are_published_and_one_certificate_is_of_both():
    frame = people()
    asked = job(aggregation=KEEP, output={"digits": "full"})
    release = aggopt.mask(frame, asked)
    names = list(release.job.roles.quasi_identifier)
    before, after = frame[names].corr(), release.table[names].corr()
    assert after.to_numpy() == pytest.approx(before.to_numpy(), abs=1e-12)
    assert list(release.certificates) == [", ".join(names)]
    assert not any("one value only" in note for note in release.notes)


def test_a_constant_is_named_in_a_note_and_has_a_certificate_of_its_own():
    frame = people().assign(note=1)
    roles = {**ROLES, "quasi-identifier": ["note", *ROLES["quasi-identifier"]]}
    roles["other"] = [name for name in ROLES["other"] if name != "note"]
    release = aggopt.mask(frame, job(roles=roles, aggregation=KEEP))
    assert [name for name in release.notes if "one value only" in name] == [
        "'note' has one value only: kept as it is, weight zero."
    ]
    assert list(release.certificates) == ["note", ", ".join(ROLES["quasi-identifier"])]


@pytest.mark.usefixtures("no_work")
def test_attributes_apart_are_refused_before_work():
    apart = {"method": "mdav", "attributes": "one by one"}
    privacy = {"k": 3, "scope": "blocks"}
    said = 'keep = "covariance" is of attributes that are grouped together, and '
    said += "[partition] attributes puts the numbers into 2 blocks."
    with pytest.raises(JobError, match=re.escape(said)) as no:
        aggopt.mask(people(), job(partition=apart, privacy=privacy, aggregation=KEEP))
    assert no.value.fix == (
        'leave attributes out under [partition], or set keep = "variance".'
    )


@pytest.mark.usefixtures("no_work")
@pytest.mark.parametrize(("k", "groups"), [(20, "2 groups"), (14, "2 groups")])
def test_fewer_groups_than_the_covariance_needs_are_refused_before_work(k, groups):
    said = f"40 records with k = {k} make {groups} at most, and a covariance matrix"
    with pytest.raises(
        InfeasibleInputError, match=f"{said} of rank 2 is kept by 3 or"
    ) as no:
        aggopt.mask(people(), job(k=k, aggregation=KEEP))
    assert no.value.fix == (
        'choose a smaller k, fewer quasi-identifiers, or keep = "variance".'
    )


def test_as_many_groups_as_it_needs_are_enough():
    release = aggopt.mask(people(), job(k=13, aggregation=KEEP))
    assert release.certificates["age, income"].status.value == "optimal"


def test_numbers_that_determine_each_other_count_once():
    frame = people()
    frame["income"] = 2.0 * frame["age"]
    release = aggopt.mask(frame, job(k=20, aggregation=KEEP))
    after = release.table
    assert after["income"].to_numpy() == pytest.approx(2 * after["age"], rel=1e-4)


def test_a_statistic_that_nothing_keeps_is_refused():
    with refused(JobError, "keep"):
        job(aggregation={"method": "mean", "keep": "everything"})


@pytest.mark.parametrize(
    ("asked", "named"),
    [
        (["town", "age", "income"], ["town", "age, income"]),
        (["age", "town", "income"], ["age, income", "town"]),
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_categories_beside_numbers_have_certificates_in_the_order_of_the_roles(
    asked, named, apart
):
    frame = people().assign(town=["north", "south"] * 20)
    sections = {"roles": {**ROLES, "quasi-identifier": asked}}
    if apart:  # the numbers together, the category by itself
        blocks = [["income", "age"], ["town"]]
        sections["partition"] = {"method": "mdav", "attributes": blocks}
        sections["privacy"] = {"k": 3, "scope": "blocks"}
    release = aggopt.mask(frame, job(aggregation=KEEP, **sections))
    assert list(release.certificates) == named
    after = release.table[["age", "income"]].corr().to_numpy()
    before = frame[["age", "income"]].corr().to_numpy()
    assert after == pytest.approx(before, abs=1e-5)


def test_numbers_in_two_blocks_are_refused_beside_a_category():
    frame = people().assign(town=["north", "south"] * 20)
    roles = {**ROLES, "quasi-identifier": ["age", "town", "income"]}
    blocks = [["age", "town"], ["income"]]
    how = {"method": "mdav", "attributes": blocks}
    with refused(JobError):
        aggopt.mask(
            frame,
            job(
                roles=roles,
                partition=how,
                privacy={"k": 3, "scope": "blocks"},
                aggregation=KEEP,
            ),
        )


def test_all_numbers_that_are_not_named_are_said():
    keep = SimpleNamespace(parts=[("mean", ["b"])])
    with refused(JobError, "'a'", "'c'"):
        _require_names(keep, ("a", "b", "c"))
