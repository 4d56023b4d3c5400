"""Quasi-identifiers of all types in one job, by tables and files of every kind."""

from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from refusals import refused
from tables import job, people

import aggopt
from aggopt.aggregate import plurality
from aggopt.errors import InfeasibleInputError, JobError, UnknownNameError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep
from aggopt.pipeline.review.review_release import assess_release
from aggopt.solvers import Status

SECRET = "0" * 32
LEVELS = {
    "sex": ["f", "m"],
    "school": ["low", "middle", "high"],
    "region": [1, 2, 30],
    "work": ["doctor", "nurse", "smith"],
}
NAMES = ("age", "member", *LEVELS)
TREE = {"care": ["doctor", "nurse"], "craft": ["smith"]}
ORDERS: dict[str, Any] = {"school": {"order": LEVELS["school"]}, "work": {"tree": TREE}}
TYPES: dict[str, Any] = {
    "school": {"order": LEVELS["school"]},
    "region": {"kind": "nominal", "weight": 2.0},
    "work": {"tree": TREE},
}


def mixed(n: int = 60) -> pd.DataFrame:
    """Return persons with a number, a truth value, and categories of each kind."""
    rng = np.random.default_rng(3)
    columns = {name: rng.choice(levels, n) for name, levels in LEVELS.items()}
    drawn = {"age": rng.integers(20, 70, n), "member": rng.random(n) < 0.4}
    illness = np.array(["none", "flu", "asthma"])[np.arange(n) % 3]
    return pd.DataFrame({**drawn, **columns, "illness": illness})


def asked(names: tuple[str, ...] = NAMES, **sections: Any) -> aggopt.Job:
    rest = [name for name in NAMES if name not in names]
    roles = {"quasi-identifier": names, "confidential": ["illness"], "other": rest}
    types = {name: how for name, how in TYPES.items() if name in names}
    plain = {"roles": roles, "privacy": {"k": 4}, "attributes": types}
    return aggopt.Job(**{**plain, **sections})


@pytest.fixture(scope="module")
def release() -> aggopt.Release:
    return aggopt.mask(mixed(), asked(), secret=SECRET)


def rows(table: Any) -> list[tuple[str, ...]]:
    frame = table if isinstance(table, pd.DataFrame) else table.to_pandas()
    return list(frame[list(NAMES)].astype(str).itertuples(index=False, name=None))


def given(kind: str, folder: Path) -> Any:
    frame = mixed()
    if kind == "polars":
        return pl.from_pandas(frame)
    if kind == "arrow":
        return pa.Table.from_pandas(frame)
    path = folder / f"people.{kind}"
    (frame.to_csv if kind == "csv" else frame.to_parquet)(path, index=False)
    return path


@pytest.mark.parametrize("kind", ["polars", "arrow", "csv", "parquet"])
def test_every_kind_of_table_gives_the_same_release(kind, release, tmp_path) -> None:
    again = aggopt.mask(given(kind, tmp_path), asked(), secret=SECRET)
    assert rows(again.table) == rows(release.table)


def test_every_published_category_is_a_level_in_the_columns_own_type(release) -> None:
    for name, levels in LEVELS.items():
        assert set(release.table[name]) <= set(levels)
        assert release.table[name].dtype == mixed()[name].dtype
    assert release.table["member"].dtype == bool
    assert release.table["age"].dtype == float


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_written_file_has_k_equal_records_and_is_made_again(
    ending, release, tmp_path
) -> None:
    files = release.write(tmp_path / f"m.{ending}")
    read = pd.read_csv if ending == "csv" else pd.read_parquet
    written = read(files.table)
    counts = Counter(written[list(NAMES)].itertuples(index=False, name=None))
    assert min(counts.values()) == release.audit.smallest >= 4
    shares = [Fraction(count, 60) for count in counts.values()]
    assert sum(shares) == 1
    assert float(len(shares) * sum(shares) / 60) == release.measures.average_risk
    aggopt.repeat(files.manifest, mixed(), tmp_path / f"again.{ending}")
    assert (tmp_path / f"again.{ending}").read_bytes() == files.table.read_bytes()
    original = tmp_path / "people.csv"
    mixed().to_csv(original, index=False)
    files.manifest.unlink()
    found = assess_release(original, files.table, asked())
    assert found.audit.holds
    assert found.audit.unchanged == release.audit.unchanged
    assert found.measures == release.measures


def test_published_categories_are_the_nearest_of_their_group(release) -> None:
    frame, labels = mixed(), release.labels
    total = 0
    for group in range(labels.max() + 1):
        counts = Counter(frame["sex"][labels == group])
        (published,) = set(release.table["sex"][labels == group])
        assert counts[published] == max(counts.values())
        total += sum(counts.values()) - counts[published]
    proof = release.certificates["sex"]
    assert (proof.objective, proof.bound) == (total, total)
    assert list(release.certificates) == list(NAMES)


def in_threes(n: int, **columns: Any) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table whose groups are n records with ages of a century, and a job."""
    frame = pd.DataFrame({"age": np.arange(3 * n) // n * 100.0, **columns})
    job = {
        "roles": {"quasi-identifier": list(frame)},
        "privacy": {"k": n},
        "partition": {"method": "mdav"},
        "attributes": {"age": {"weight": 1e4}},
    }
    return frame, job


def test_nodes_of_a_tree_are_published_by_name() -> None:
    frame, job = in_threes(3, work=LEVELS["work"] * 3)
    tree = {"staff": LEVELS["work"]}  # nearer to three that differ than any of them
    job["attributes"]["work"] = {"tree": tree, "publish": "node"}
    assert set(aggopt.mask(frame, aggopt.Job(**job)).table["work"]) == {"staff"}


def test_ancestors_are_true_of_their_groups() -> None:
    how = {**TYPES, "work": {"tree": TREE, "publish": "ancestor"}}
    made = aggopt.mask(mixed(), asked(attributes=how))
    assert set(made.table["work"]) - set(LEVELS["work"])
    for own, said in zip(mixed()["work"], made.table["work"], strict=True):
        assert said in (own, "*") or own in TREE[said]


def categories(**how: Any) -> dict[str, Any]:
    return {"aggregation": {"categories": how}}


def off(name: str, made: aggopt.Release) -> int:
    """Return by how many records the counts of levels differ in all."""
    before, after = Counter(mixed()[name]), Counter(made.table[name])
    return sum(abs(after[level] - before[level]) for level in LEVELS[name])


def test_of_equally_near_categories_those_are_published_that_keep_counts(
    release,
) -> None:
    said = {
        name: note
        for name in LEVELS
        for note in release.notes
        if note.startswith(f"{name!r}: in ")
    }
    assert said
    for name, note in said.items():
        groups = release.labels.max() + 1
        tied = plurality(mixed()[name], release.labels, **ORDERS.get(name, {}))
        assert note == (
            f"{name!r}: in {tied.tied} of {groups} groups several categories are "
            "equally near. aggopt published those that change the counts of categories "
            f"least: by {off(name, release)} records in all."
        )
        assert off(name, release) == tied.ties.objective


def test_frequencies_are_kept_as_the_job_says(release) -> None:
    made = aggopt.mask(
        mixed(), asked(**categories(method="frequencies", slack=3)), secret=SECRET
    )
    assert made.job.aggregation.categories.solver is None
    for name, levels in LEVELS.items():
        before, after = Counter(mixed()[name]), Counter(made.table[name])
        assert max(abs(before[c] - after[c]) for c in levels) <= 3
        proof = made.certificates[name]
        assert proof.solver == "slots"
        assert proof.status is Status.OPTIMAL
        assert proof.objective >= release.certificates[name].bound
    named = categories(method="frequencies", slack=3, solver="cvxpy:highs")
    other = aggopt.mask(mixed(), asked(**named), secret=SECRET)
    assert other.certificates["sex"].solver == "cvxpy:highs"
    assert other.certificates["sex"].objective == made.certificates["sex"].objective


def test_counts_that_no_choice_keeps_are_refused_with_a_slack_that_one_does() -> None:
    frame, job = in_threes(5, sex=["f", "m"] * 7 + ["m"])  # 7 and 8, of 5, 10 or 15
    how = {"method": "frequencies", "slack": 1}
    with refused(
        InfeasibleInputError, "'sex'", "[aggregation.categories]", "slack = 5"
    ):
        aggopt.mask(frame, aggopt.Job(**job, **categories(**how)))
    made = aggopt.mask(
        frame, aggopt.Job(**job, **categories(method="frequencies", slack=5))
    )
    assert made.certificates["sex"].status is Status.OPTIMAL


@pytest.mark.parametrize(
    "how", [{"solver": "lagrangian"}, {"options": {"verbose": True}}]
)
def test_a_solver_that_cannot_be_meant_is_refused_before_work(how) -> None:
    begun = []
    with refused(JobError):
        aggopt.mask(
            mixed(),
            asked(**categories(method="frequencies", **how)),
            progress=lambda step, share: begun.append(step),
        )
    assert set(begun) <= {"read"}


@pytest.mark.parametrize("slack", [0, "exact"])
def test_levels_of_few_records_are_refused_where_counts_are_exact(slack) -> None:
    frame = mixed()
    frame.loc[:2, "sex"] = "x"
    exact = categories(method="frequencies", slack=slack)
    with refused(InfeasibleInputError):
        aggopt.mask(frame, asked(("sex", "age"), **exact))
    begun = []
    with pytest.raises(InfeasibleInputError):
        aggopt.mask(
            frame, asked(("sex", "age"), **exact), progress=lambda *at: begun.append(at)
        )
    assert {step for step, _ in begun} == {"read"}
    frame.loc[3, "sex"] = "x"
    near = categories(method="frequencies", slack=4)
    assert aggopt.mask(frame, asked(("sex", "age"), **near)).audit.holds


def test_frequencies_publish_levels_and_no_nodes() -> None:
    how = {**TYPES, "work": {"tree": TREE, "publish": "ancestor"}}
    with refused(JobError, "'ancestor'"):
        aggopt.mask(mixed(), asked(attributes=how, **categories(method="frequencies")))


def test_nodes_with_alike_names_are_refused_before_work_where_they_are_asked() -> None:
    tree = [["doctor", "high", "care"], ["nurse", "low", "care"], ["smith", "low", "x"]]
    how = {**TYPES, "work": {"tree": tree}}
    assert aggopt.mask(mixed(), asked(attributes=how)).audit.holds
    how["work"]["publish"] = "node"
    seen = []
    with refused(JobError, "[attributes.work]"):
        aggopt.mask(mixed(), asked(attributes=how), progress=lambda *a: seen.append(a))
    assert seen == [("read", 0.0)]


def test_nodes_of_codes_are_refused_as_they_are_no_numbers() -> None:
    tree = {"north": [1, 2], "south": [30]}
    how = {**TYPES, "region": {"tree": tree, "publish": "ancestor"}}
    with refused(JobError, "'region'"):
        aggopt.mask(mixed(), asked(attributes=how))


def test_a_table_of_categories_alone_is_made_again(tmp_path) -> None:
    made = aggopt.mask(mixed(), asked(("sex", "school")))
    assert made.audit.smallest >= 4
    files = made.write(tmp_path / "m.csv")
    assert made.manifest()["measured"] == ["sex", "school"]
    again = aggopt.repeat(files.manifest, mixed(), tmp_path / "again.csv")
    assert again.table.read_bytes() == files.table.read_bytes()


def test_numbers_beside_categories_are_aggregated_as_the_job_says() -> None:
    p3m = {"method": "p3m", "delta": 0.2}
    made = aggopt.mask(mixed(), asked(aggregation=p3m))
    ages = made.table["age"]
    assert ages.mean() == pytest.approx(mixed()["age"].mean(), abs=1e-3)
    assert ages.std() == pytest.approx(mixed()["age"].std(), rel=1e-3)
    assert made.job.aggregation.categories.method == "plurality"


def test_blocks_and_privacy_of_confidential_values_take_categories() -> None:
    blocks = {"method": "mdav", "attributes": [["age", "sex"], list(NAMES[1:2])]}
    names = ("age", "member", "sex")
    made = aggopt.mask(
        mixed(), asked(names, partition=blocks, privacy={"k": 4, "scope": "blocks"})
    )
    assert made.audit.smallest >= 4
    for repair in ("merge", "search"):
        privacy = {"k": 3, "l": 2, "t": 0.4, "distance": "equal", "repair": repair}
        assert aggopt.mask(mixed(), asked(privacy=privacy)).audit.holds


def test_weights_change_the_groups() -> None:
    groups = [
        aggopt.mask(mixed(), asked(partition={"method": "mdav", **how})).labels
        for how in ({}, {"weights": "variance"}, {"weights": "range"})
    ]
    assert (groups[0] == groups[1]).all()
    assert (groups[0] != groups[2]).any()


def test_missing_text_may_be_a_level_and_stays_missing() -> None:
    frame = mixed()
    frame["sex"] = frame["sex"].where(frame.index % 3 > 0)
    types = {**TYPES, "sex": {"missing": "own value"}}
    made = aggopt.mask(frame, asked(attributes=types))
    assert made.table["sex"].isna().any()
    assert made.audit.smallest >= 4


@pytest.mark.parametrize("ordered", [True, False])
def test_categorical_columns_stay_so_without_levels_that_are_not_published(
    ordered,
) -> None:
    dtype = pd.CategoricalDtype([*LEVELS["school"], "SECRET"], ordered=ordered)
    frame = mixed().assign(school=mixed()["school"].astype(dtype))
    types = {name: how for name, how in TYPES.items() if name != "school"}
    made = aggopt.mask(frame, asked(attributes=types), secret=SECRET)
    kind = made.table["school"].dtype
    assert kind.ordered == ordered
    assert list(kind.categories) == LEVELS["school"]
    arrow = pa.table({c: pa.Array.from_pandas(frame[c]) for c in frame})
    made_of_arrow = aggopt.mask(arrow, asked(attributes=types), secret=SECRET)
    assert made_of_arrow.table["school"].type.ordered == ordered
    assert rows(made_of_arrow.table) == rows(made.table)


def test_permuted_records_get_the_same_groups_and_categories() -> None:
    turn = np.random.default_rng(1).permutation(60)
    how = {"partition": {"method": "mdav"}}
    frame = mixed().assign(age=np.arange(60.0) ** 1.5)  # no two at equal distances
    first = aggopt.mask(frame, asked(**how), secret=SECRET)
    second = aggopt.mask(frame.iloc[turn], asked(**how), secret=SECRET)
    sizes = [np.sort(np.bincount(each.labels)).tolist() for each in (first, second)]
    assert sizes[0] == sizes[1]
    losses = [each.certificates["sex"].objective for each in (first, second)]
    assert losses[0] == losses[1]


def test_numbers_alone_are_grouped_as_before() -> None:
    frame = people()
    made = aggopt.mask(frame, job())
    X = frame[["age", "income"]].to_numpy(float)
    assert (made.labels == aggopt.partition.mdav(X, k=3).labels).all()
    assert made.job.aggregation.categories is None
    assert "attributes" not in made.job.model_dump()
    weighted = job(attributes={"age": {"weight": 9.0}})
    assert (aggopt.mask(frame, weighted).labels != made.labels).any()


def test_a_sweep_moves_numbers_and_keeps_the_same_categories_beside() -> None:
    p3m = asked(aggregation={"method": "p3m", "categories": {"method": "plurality"}})
    points = list(sweep(mixed(), p3m, alpha=[0.2, 0.8], delta=[0.1], jobs=1))
    assert {point.alpha for point in points} == {0.2, 0.8}
    assert all(point.holds and point.usable for point in points)


@pytest.mark.parametrize(
    "how",
    [
        {"method": "frequencies", "slack": 3},
        {"method": "frequencies", "price": 0.5, "cross": [["sex", "region"]]},
        {"method": "wish", "budget": 1.2, "importance": 0.5},
    ],
)
def test_solvers_are_compared_on_categories(how) -> None:
    names = ("age", "sex", "region")
    job = asked(names, **categories(**how))
    rows = {row.solver: row for row in compare(mixed(), job, ["highs", "pyomo:highs"])}
    assert set(rows) == {"cvxpy:highs", "pyomo:highs"}
    first, second = rows.values()
    assert first.objective == pytest.approx(second.objective)
    assert first.status == "optimal" or how["method"] == "wish"  # of no whole numbers
    assert first.holds
    assert second.holds
    made = aggopt.mask(mixed(), job)
    proofs = {id(c): c for c in (made.certificates[n] for n in names[1:])}.values()
    assert first.objective == pytest.approx(sum(c.objective for c in proofs))


def test_progress_says_how_many_categories_are_done_and_crossed_go_as_one() -> None:
    said = []
    near = categories(method="frequencies", slack=4, cross=[["sex", "work"]])
    aggopt.mask(mixed(), asked(**near), progress=lambda *step: said.append(step))
    shares = [share for step, share in said if step == "categories"]
    assert shares == [j / 4 for j in range(4)]
    steps = list(dict.fromkeys(step for step, _ in said))
    assert steps[steps.index("categories") - 1] == "aggregate"


def test_progress_of_a_comparison_moves_within_each_solver() -> None:
    said = []
    two = ["slots", "cvxpy:highs"]
    job = asked(("age", "sex", "work"), **categories(method="frequencies", slack=4))
    rows = compare(mixed(), job, two, progress=lambda *step: said.append(step))
    assert [row.solver for row in rows] == two
    shares = [[share for step, share in said if step == name] for name in two]
    assert shares == [[0, 0, 0.25], [0.5, 0.5, 0.75]]


def test_all_solvers_of_frequencies_are_compared_and_those_without_a_choice_say_so():
    job = asked(("age", "sex"), **categories(method="frequencies"))
    rows = {row.solver: row for row in compare(mixed(), job, time_limit=600)}
    assert {"slots", "cvxpy:highs", "pyomo:highs"} <= set(rows)
    assert len({row.objective for row in rows.values() if not row.note}) == 1
    frame, plain = in_threes(5, sex=["f", "m"] * 7 + ["m"])
    tight = aggopt.Job(**plain, **categories(method="frequencies", slack=1))
    (row,) = compare(frame, tight, ["slots"])
    assert "No choice of categories for 3 groups" in row.note
    assert row.objective is None


def test_solvers_of_partitions_and_repairs_are_compared_with_categories_too() -> None:
    p3m = asked(aggregation={"method": "p3m"})
    (row,) = compare(mixed(), p3m, ["lagrangian"])
    assert row.holds
    repair = {"method": "merge-ilp"}
    of_illness = {"illness": {"order": ["none", "flu", "asthma"]}}
    privacy = {"k": 3, "t": 0.4, "confidential": of_illness, "repair": repair}
    (row,) = compare(mixed(24), asked(privacy=privacy), ["cvxpy:highs"], 1.0)
    assert row.holds or row.note


def test_solvers_of_groups_are_compared_with_categories_and_dates() -> None:
    few = mixed(12).assign(day=pd.date_range("2020", periods=12))
    roles = {"quasi-identifier": ["age", "sex", "day"], "other": ["school", "work"]}
    roles |= {"confidential": ["illness", "member", "region"]}
    how = {"method": "optimal", "time_limit": 600}
    job = aggopt.Job(roles=roles, privacy={"k": 3}, partition=how)
    (row,) = compare(few, job, ["cvxpy:highs"])
    made = aggopt.mask(few, job)
    assert row.holds
    assert row.objective == pytest.approx(made.blocks[0].certificate.objective)
    assert row.si == pytest.approx(made.measures.si)


def test_combinations_occur_where_the_job_says_so() -> None:
    own = set(mixed()[list(LEVELS)].itertuples(index=False, name=None))
    made = aggopt.mask(
        mixed(), asked(**categories(method="plurality", occurring=True)), secret=SECRET
    )
    released = made.table[list(LEVELS)]
    assert set(released.itertuples(index=False, name=None)) <= own
    for group in range(made.labels.max() + 1):
        members = mixed()[made.labels == group][list(LEVELS)]
        (said,) = set(released[made.labels == group].itertuples(index=False, name=None))
        assert said in set(members.itertuples(index=False, name=None))
    assert len({id(made.certificates[name]) for name in LEVELS}) == 1
    tree = {**TYPES, "work": {"tree": TREE, "publish": "node"}}
    with refused(JobError, "occurring = true"):
        aggopt.mask(
            mixed(),
            asked(attributes=tree, **categories(method="plurality", occurring=True)),
        )


def wishing() -> tuple[pd.DataFrame, dict[str, Any]]:
    """Return a table with columns of wishes, and the roles of its columns."""
    rng = np.random.default_rng(5)
    frame = mixed().assign(far=rng.choice([0.5, 1.0], 60), much=rng.random(60) < 0.2)
    names = ("age", "sex", "school")
    rest = [name for name in frame if name not in (*names, "far", "much")]
    return frame, {"quasi-identifier": names, "other": rest, "wish": ["far", "much"]}


def test_records_ask_for_another_category_in_columns() -> None:
    frame, roles = wishing()
    far = {"attributes": {"sex": 1.0, "school": {"column": "far"}}}
    how = {"method": "wish", "delta": far, "importance": {"column": "much"}}
    types = {"school": TYPES["school"]}
    wide = categories(**how, slack=9, budget=2.0)
    made = aggopt.mask(frame, asked(roles=roles, attributes=types, **wide))
    assert "far" not in made.table
    apart = {"low": 0.0, "middle": 0.5, "high": 1.0}
    unmet = {"sex": 0.0, "school": 0.0}
    for i, row in frame.iterrows():
        unmet["sex"] += row["much"] * (row["sex"] == made.table["sex"][i])
        away = abs(apart[row["school"]] - apart[made.table["school"][i]])
        unmet["school"] += row["much"] * (away < row["far"])
    for name, missed in unmet.items():
        assert made.certificates[name].objective == pytest.approx(missed)
        assert made.certificates[name].status is Status.OPTIMAL


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"delta": {"column": "far"}}, "'much' has the role wish, and nothing"),
        ({"delta": {"attributes": {"sex": {"relative": 0.1}}}}, "relative to the dist"),
        ({"delta": {"attributes": {"sex": 1.0}}}, "that is a category: sex, school"),
        ({"delta": 2.0}, "'sex': delta is out of reach in 60 records of 60"),
        ({"importance": 2.0}, "importance is below 0 or above 1"),
    ],
)
def test_wishes_that_cannot_be_meant_are_refused_before_work(how, words) -> None:
    frame, roles = wishing()
    said = {"delta": {"column": "far"}, "importance": {"column": "much"}, **how}
    if words.startswith("'much'"):
        said = {"delta": said["delta"], "budget": 1.5}
    begun = []
    with refused(JobError):
        aggopt.mask(
            frame,
            asked(
                roles=roles,
                attributes={"school": TYPES["school"]},
                **categories(method="wish", **said),
            ),
            progress=lambda step, share: begun.append(step),
        )
    assert set(begun) <= {"read"}


def bare_wish(frame: pd.DataFrame, **said: Any) -> list[str]:
    """Return the steps of masking one category by wishes of the same for all."""
    begun: list[str] = []
    roles = {"quasi-identifier": ["age", "sex"], "wish": ["much", "far"]}
    types = {"age": {"weight": 1e4}}
    told = {"roles": roles, "privacy": {"k": 4}, "attributes": types}
    job = aggopt.Job(
        **told, missing={"policy": "patterns"}, **categories(method="wish", **said)
    )
    with pytest.raises(JobError, match=r"^'sex': All records ask for the same, of nam"):
        aggopt.mask(frame, job, progress=lambda step, _: begun.append(step))
    return begun


@pytest.mark.parametrize("holes", [0, 20])
def test_wishes_that_only_a_budget_tells_apart_are_refused_before_work(holes) -> None:
    """Importances count of those alone that have the category."""
    gone = np.arange(60) < holes
    frame = mixed()[["age", "sex"]].assign(
        much=np.where(gone, 0.5, 1.0), far=np.where(gone, 0.0, 1.0)
    )
    frame["sex"] = frame["sex"].where(~gone)
    how = {"importance": {"column": "much"}, "delta": {"column": "far"}}
    assert set(bare_wish(frame, **how)) == {"read"}


def test_a_job_file_names_a_tree_from_where_it_lies(tmp_path) -> None:
    (tmp_path / "work.csv").write_text("doctor;care;*\nnurse;care;*\nsmith;craft;*\n")
    types = {**TYPES, "work": {"tree": "work.csv"}}
    (tmp_path / "job.toml").write_text(asked(attributes=types).to_toml())
    made = aggopt.mask(mixed(), tmp_path / "job.toml", secret=SECRET)
    assert rows(made.table) == rows(aggopt.mask(mixed(), asked(), secret=SECRET).table)
    assert aggopt.Job.read(tmp_path / "job.toml").attributes["work"].tree == str(
        tmp_path / "work.csv"
    )


def table_of(frame: pd.DataFrame, *names: str) -> Counter[Any]:
    return Counter(frame[list(names)].itertuples(index=False, name=None))


def test_tables_of_crossed_categories_and_with_what_is_published_are_kept() -> None:
    frame = mixed()
    how = {"cross": [["sex", "school"]], "with": ["illness"], "time_limit": 600.0}
    names = ("age", "sex", "school", "region")
    types = {**TYPES, "age": {"weight": 1e4}}  # so that ages alone make the groups
    types.pop("work")
    by_age = {"attributes": types, "partition": {"method": "mdav"}}
    kept, plain = (
        aggopt.mask(mixed(), asked(names, **by_age, **told), secret=SECRET)
        for told in (categories(method="frequencies", **how), {})
    )
    for pair in (("sex", "school", "illness"), ("region", "illness")):
        before = table_of(frame, *pair)
        missed = [
            sum(abs(before[c] - n) for c, n in table_of(made.table, *pair).items())
            for made in (kept, plain)
        ]
        assert missed[0] < missed[1]
    assert set(table_of(kept.table, "sex", "school")) <= set(
        table_of(frame, "sex", "school")
    )
    assert kept.certificates["sex"] is kept.certificates["school"]
    assert kept.certificates["sex"] is not kept.certificates["region"]
    said = (
        "'sex', 'school': chosen together; the certificate of each is that of all of "
        "them."
    )
    assert said in kept.notes
    assert not [note for note in plain.notes if "chosen together" in note]


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"cross": [["sex", "age"]]}, JobError),
        ({"cross": [["sex", "illness"]]}, JobError),
        ({"with": ["school"]}, JobError),
        ({"with": ["ilness"]}, UnknownNameError),
    ],
)
def test_tables_that_cannot_be_kept_are_refused_before_work(how, error) -> None:
    begun = []
    with refused(error):
        aggopt.mask(
            mixed(),
            asked(**categories(method="frequencies", **how)),
            progress=lambda step, share: begun.append(step),
        )
    assert set(begun) <= {"read"}


def test_categories_of_two_blocks_are_not_crossed() -> None:
    blocks = {"method": "mdav", "attributes": [["age", "sex"], ["school", "region"]]}
    how = categories(method="frequencies", cross=[["sex", "school"]])
    names = ("age", "sex", "school", "region")
    with refused(JobError):
        aggopt.mask(
            mixed(),
            asked(names, partition=blocks, privacy={"k": 4, "scope": "blocks"}, **how),
        )


def test_the_bare_section_of_wishes_is_refused_before_work() -> None:
    begun: list[str] = []
    roles = {"quasi-identifier": ["age", "sex"]}
    with refused(JobError):
        aggopt.mask(
            mixed()[["age", "sex"]],
            aggopt.Job(roles=roles, privacy={"k": 4}, **categories(method="wish")),
            progress=lambda step, _: begun.append(step),
        )
    assert set(begun) == {"read"}


def test_ties_are_broken_by_the_secret_and_for_each_attribute_anew() -> None:
    pairs = pd.DataFrame({"x": np.repeat(np.arange(40.0), 2)})  # a group each
    pairs["colour"] = pairs["shape"] = ["a", "b"] * 40
    job = aggopt.Job(
        roles={"quasi-identifier": ["x", "colour", "shape"]},
        privacy={"k": 2},
        partition={"method": "mdav"},
        aggregation={"method": "mean", "categories": {"method": "plurality"}},
        attributes={
            n: {"kind": "nominal", "weight": 1e-4} for n in ("colour", "shape")
        },
    )

    def publish(secret: str) -> pd.DataFrame:
        table = aggopt.mask(pairs, job, secret=secret).table
        return table.sort_values("x").reset_index(drop=True)

    first = publish(SECRET)
    pd.testing.assert_frame_equal(first, publish(SECRET))
    assert not first["colour"].equals(publish("1" * 32)["colour"])
    assert not first["colour"].equals(first["shape"])
