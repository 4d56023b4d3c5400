"""Categories of a folder are published as those of one table are."""

from dataclasses import replace

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from folders import ROLES, SECRET, digest, job, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.command.show_release import format_folder_release
from aggopt.core.randomness import derive_seed
from aggopt.core.record_weights import group_sse
from aggopt.data.parsing.categories import publish_nodes
from aggopt.encoding import Domain
from aggopt.engine.state import category_levels as levels
from aggopt.engine.validate import values
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.measure._typed_pair import TypedPair
from aggopt.measure.types import assess_types, means_by_kind

NAMES = ["age", "ill", "note", "school"]
TYPED = {"identifier": ["name"], "quasi-identifier": NAMES, "other": ["height"]}
ILL = ["flu", "asthma", "none", "gout", "ulcer", "angina"]
TREE = {"lung": ["flu", "asthma"], "well": ["none"], "other": ["gout", "ulcer"]}
SCHOOL = {"school": {"order": ["low", "middle", "high"]}}


def typed(n, seed=0):
    """Persons with text, a category of few values, and levels of an order."""
    rng = np.random.default_rng(seed + 100)
    table = persons(n, seed).drop(columns="income")
    table["ill"] = rng.choice(ILL, n)
    table["school"] = pd.Categorical(rng.choice(["low", "middle", "high"], n))
    return table


def asked(**sections):
    """Return a job for `typed`."""
    return job(**{"roles": TYPED, "attributes": SCHOOL, **sections})


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Two parts, of which the second lacks levels of the first."""
    second = typed(130, seed=1)
    second = second[second["ill"] != "none"]
    return put(tmp_path_factory.mktemp("typed") / "in", typed(200), second)


@pytest.fixture(scope="module")
def release(folder, tmp_path_factory):
    """The release of that folder, in several blocks."""
    return masked(folder, asked(), tmp_path_factory.mktemp("typed") / "out")


def linked(folder, release):
    """Return originals, what is published of them, and groups, by the key."""
    originals = pd.concat(
        pd.read_parquet(path).assign(
            input_file=path.name, input_record=range(len(pd.read_parquet(path)))
        )
        for path in sorted(folder.iterdir())
    )
    key = read(release.private).astype({"input_file": str}).reset_index()
    rows = key.merge(originals, on=["input_file", "input_record"]).sort_values("index")
    return rows.reset_index(drop=True), read(release.path), rows["group"].to_numpy()


def test_k_records_share_each_published_combination(folder, release):
    before, after, group = linked(folder, release)
    assert release.manifest["blocks"] > 1
    assert after.groupby(NAMES, observed=True).size().min() >= 4
    assert (after[NAMES].groupby(group).nunique() == 1).all(axis=None)
    assert (before["height"].to_numpy() == after["height"]).all()


def test_each_group_publishes_a_most_frequent_name(folder, release):
    before, after, group = linked(folder, release)
    for name in ("ill", "note"):
        had = pd.crosstab(group, before[name].to_numpy())
        own = after[name].groupby(group).first()
        kept = [had.at[g, value] for g, value in own.items()]
        assert kept == had.max(axis=1).tolist()
        found = release.certificates[name]
        assert found.objective == found.bound == len(before) - sum(kept)
        assert found.status == "optimal"


def test_each_group_publishes_a_median_of_an_order(folder, release):
    before, after, group = linked(folder, release)
    rank = {level: j for j, level in enumerate(SCHOOL["school"]["order"])}
    x, y = (t["school"].astype(str).map(rank).to_numpy() for t in (before, after))
    least = [min(np.abs(x[group == g] - r).sum() for r in range(3)) for g in set(group)]
    assert np.abs(x - y).sum() == sum(least)
    assert release.certificates["school"].objective == pytest.approx(sum(least) / 2)


def test_certificates_stand_in_the_order_of_the_attributes(release):
    assert list(release.certificates) == ["groups", *NAMES]
    assert any(note.startswith("'ill': in ") for note in release.notes)


def test_ties_are_said_with_the_counts_that_differ(folder, release):
    before, after, _ = linked(folder, release)
    counts = [t["ill"].value_counts() for t in (before, after)]
    differ = int(counts[0].sub(counts[1], fill_value=0).abs().sum())
    (said,) = (note for note in release.notes if note.startswith("'ill': in "))
    assert said.endswith(
        "equally near. aggopt published those that change the counts of categories "
        f"least, block by block: by {differ} records in all."
    )


WEIGHTS = SCHOOL | {"ill": {"weight": 2.0}, "age": {"weight": 0.5}}


def test_groups_and_loss_are_measured_as_of_the_whole_table(folder, tmp_path):
    given = asked(attributes=WEIGHTS, output={"digits": "full"})
    found = masked(folder, given, tmp_path / "out")
    before, after, group = linked(folder, found)
    types = {name: job_type(how) for name, how in WEIGHTS.items()}
    whole = aggopt.encode(before[NAMES], types)
    labels = np.unique(group, return_inverse=True)[1]
    lost = group_sse(whole.coordinates, labels)
    assert found.certificates["groups"].objective == pytest.approx(lost, rel=1e-9)
    alike = {name: replace(how, weight=1.0) for name, how in types.items()}
    measured = TypedPair.of(aggopt.encode(before[NAMES], alike), after[NAMES]).embedded
    il = measured.difference.ravel() @ measured.difference.ravel() / measured.total
    assert found.measures["information loss"] == pytest.approx(100 * il, rel=1e-6)


def job_type(how):
    """Return what `aggopt.encode` is told of what a job says."""
    return aggopt.encoding.AttributeType(**how)


def test_one_block_is_the_table(folder, tmp_path):
    roles = {**TYPED, "quasi-identifier": NAMES[1:], "other": ["age", "height"]}
    one = asked(roles=roles, engine={"block": 1000})
    found = masked(folder, one, tmp_path / "out")
    assert found.manifest["blocks"] == 1
    sections = {"roles": roles, "privacy": {"k": 4}, "attributes": SCHOOL}
    plain = aggopt.Job(**sections, partition={"method": "blocked"})
    whole = aggopt.mask(read(folder), plain, secret=SECRET)
    of_groups = whole.blocks[0].certificate.objective
    assert found.certificates["groups"].objective == pytest.approx(of_groups, rel=1e-12)
    for name in NAMES[1:]:
        expected = whole.certificates[name].objective
        assert found.certificates[name].objective == expected
    lost = found.measures["information loss"]
    assert lost == pytest.approx(100 * whole.measures.il, rel=1e-9)


def test_numbers_and_categories_have_losses_of_their_own(folder, release):
    before, after, _ = linked(folder, release)
    types = {name: job_type(how) for name, how in SCHOOL.items()}
    found = assess_types(before[NAMES], after[NAMES], types)
    measured = means_by_kind(found.to_dict(), "il")
    for name, loss in zip(("numbers", "categories"), measured, strict=True):
        stated = release.measures[f"information loss of {name}"]
        assert stated == pytest.approx(100 * loss, rel=1e-5)
    assert f", categories {stated:.2f} %)." in str(format_folder_release(release))


def test_frequencies_are_those_of_one_program(folder, tmp_path):
    how = {"method": "mean", "categories": {"method": "frequencies", "slack": 5}}
    found = masked(folder, asked(aggregation=how), tmp_path / "out")
    before, after, group = linked(folder, found)
    labels = np.unique(group, return_inverse=True)[1]
    for name in ("ill", "note"):
        counts = [t[name].value_counts() for t in (before, after)]
        assert (counts[0] - counts[1]).abs().max() <= 5
        whole = aggopt.aggregate.frequencies(
            before[name].to_numpy(object),
            labels,
            slack=5,
            seed=derive_seed(SECRET, f"categories of {name}"),
        )
        ours = found.certificates[name]
        assert ours.objective == whole.certificate.objective
        assert ours.bound == pytest.approx(whole.certificate.bound)


def test_categories_alone_are_masked_in_the_types_that_they_have(tmp_path):
    n = 120
    rng = np.random.default_rng(5)
    own = pa.table(
        {
            "text": pa.array(rng.choice(["a", "b"], n), pa.large_string()),
            "truth": pa.array(rng.random(n) < 0.3),
            "code": pa.array(rng.integers(0, 3, n), pa.int16()),
            "kind": pa.array(rng.choice(["x", "y"], n)).dictionary_encode(),
        }
    )
    (tmp_path / "in").mkdir()
    pq.write_table(own, tmp_path / "in" / "a.parquet", row_group_size=50)
    given = job(
        roles={"quasi-identifier": own.column_names},
        attributes={"code": {"kind": "nominal"}},
        engine={"block": 30},
    )
    found = masked(tmp_path / "in", given, tmp_path / "out")
    assert found.manifest["blocks"] > 1
    written = pq.read_table(found.path)
    kinds = [pa.large_string(), pa.bool_(), pa.int16(), pa.string()]
    assert written.schema.types == kinds
    assert written.to_pandas().groupby(own.column_names).size().min() >= 4
    assert list(found.certificates) == ["groups", *own.column_names]


def test_nodes_of_a_tree_are_published_where_a_job_asks_for_them(folder, tmp_path):
    how = {"tree": TREE | {"heart": ["angina"]}, "publish": "ancestor", "weight": 0.01}
    given = asked(attributes=SCHOOL | {"ill": how})
    found = masked(folder, given, tmp_path / "out")
    before, after, group = linked(folder, found)
    above = {leaf: node for node, leaves in how["tree"].items() for leaf in leaves}
    for g, own_node in after["ill"].groupby(group).first().items():
        own = set(before["ill"][group == g])
        if own_node in above:
            assert own == {own_node}
        elif own_node != "*":
            assert {above[value] for value in own} == {own_node}
    assert "'ill': 2 branches of the tree have one value only" in " ".join(found.notes)
    assert any("published as the root of the tree" in note for note in found.notes)


def test_groups_of_categories_lie_within_strata(folder, tmp_path):
    quasi = ["age", "ill", "school"]
    roles = {**TYPED, "quasi-identifier": quasi, "stratum": ["note"]}
    found = masked(folder, asked(roles=roles), tmp_path / "out")
    before, after, group = linked(folder, found)
    assert (before["note"].to_numpy() == after["note"]).all()
    assert (after["note"].groupby(group).nunique() == 1).all()
    assert after.groupby(["note", *quasi]).size().min() >= 4
    lost = (before["ill"].to_numpy() != after["ill"]).sum()
    assert found.certificates["ill"].objective == lost


def test_what_is_missing_is_a_level_where_a_job_says_so(tmp_path):
    tables = [typed(60), typed(60, seed=1).assign(ill=None)]
    tables[1]["ill"] = tables[1]["ill"].astype(tables[0]["ill"].dtype)
    folder = put(tmp_path / "in", *tables)
    given = asked(attributes=SCHOOL | {"ill": {"missing": "own value"}})
    found = masked(folder, given, tmp_path / "out")
    before, after, _ = linked(folder, found)
    lost = (before["ill"].fillna("") != after["ill"].fillna("")).sum()
    assert after["ill"].isna().any()
    assert found.certificates["ill"].objective == lost
    assert found.audit.missing.cells == after["ill"].isna().sum()
    assert not any(note.startswith("Information loss") for note in found.notes)


def test_levels_are_counted_over_all_files():
    column = pa.chunked_array([["a", "b", None], ["b", None, "b"]])
    with refused(TableError):
        levels.count_values(column, aggopt.encoding.AttributeType())
    how = aggopt.encoding.AttributeType(missing="own value")
    found = levels.Levels.of(levels.count_values(column, how), how)
    assert found.domain.levels == ("a", "b", None)
    assert found.counts.tolist() == [1, 3, 2]
    whole = aggopt.encode(column.to_pandas().to_frame("x"), {"x": how})
    assert found.weight == whole.attributes[0].weight


@pytest.mark.parametrize(
    ("table", "attributes"),
    [
        (typed(60, seed=1).assign(school="other"), SCHOOL),
        (typed(60, seed=1).assign(ill=None), SCHOOL),
        (typed(60, seed=1).assign(note=[f"note {i}" for i in range(60)]), SCHOOL),
    ],
    ids=["not in the order", "missing", "as of an identifier"],
)
def test_what_is_no_category_is_refused(tmp_path, table, attributes):
    first = typed(60).astype({"school": str})
    kinds = first.dtypes.to_dict()
    folder = put(tmp_path / "in", first, table.astype(kinds).where(table.notna()))
    with refused(TableError):
        masked(folder, asked(attributes=attributes), tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["in"]


def test_too_many_levels_are_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(values, "MOST", 2)
    folder = put(tmp_path / "in", typed(60))
    with refused(TableError, "'ill'"):
        masked(folder, asked(), tmp_path / "out")


def test_too_many_levels_of_all_files_are_refused(monkeypatch):
    monkeypatch.setattr(values, "MOST", 2)
    how = aggopt.encoding.AttributeType()
    parts = [
        levels.count_values(pa.chunked_array([x]), how) for x in (["a"], ["b"], ["c"])
    ]
    assert len(levels.Levels.of(pa.concat_tables(parts[:2]), how).counts) == 2
    with refused(TableError):
        levels.Levels.of(pa.concat_tables(parts), how)


def test_a_level_that_no_record_of_a_block_has_is_published_in_its_type():
    block, whole = (
        nw.from_native(pa.chunked_array([pa.array(x, pa.int16())]), series_only=True)
        for x in ([1, 1], [2, 1])
    )
    found = publish_nodes(block, Domain.nominal([1, 2]), np.array([1.0, 0.0]), whole)
    assert found.to_list() == [2, 1]
    assert found.dtype == nw.Int16


@pytest.mark.slow
@pytest.mark.parametrize("method", ["plurality", "frequencies"])
def test_two_processes_give_the_same_bytes(folder, tmp_path, method):
    how = {"method": "mean", "categories": {"method": method}}
    one, two = (
        masked(folder, asked(aggregation=how, engine={"jobs": jobs}), tmp_path / name)
        for jobs, name in ((1, "one"), (2, "two"))
    )
    assert digest(one.path) == digest(two.path)


def test_an_order_that_files_have_is_refused(tmp_path):
    order = pd.CategoricalDtype(["low", "middle", "high"], ordered=True)
    table = typed(60).astype({"school": order})
    with refused(TableError):
        masked(put(tmp_path / "in", table), asked(attributes={}), tmp_path / "out")


def test_counts_that_no_groups_keep_are_refused(folder, tmp_path):
    how = {"method": "mean", "categories": {"method": "frequencies", "slack": "exact"}}
    with refused(InfeasibleInputError, "k = 120"):
        masked(folder, asked(k=120, aggregation=how), tmp_path / "out")


def rare_towns() -> pd.DataFrame:
    """Persons of whom three of four neighbours in age share a town of their own."""
    frame = persons(200)[["name", "age"]]
    frame["age"] = np.arange(200) // 4 * 1000.0
    frame["town"] = np.random.default_rng(1).choice([*"abcd"], 200)
    for first in range(0, 40, 4):
        frame.loc[first : first + 2, "town"] = f"village {first}"
    return frame


@pytest.mark.parametrize("how", [{}, {"rare": "avoid"}])
def test_rare_categories_of_a_folder_are_counted_or_avoided(tmp_path, how):
    frame = rare_towns()
    roles = {"quasi-identifier": ["age", "town"], "drop": ["name"]}
    attributes = {"town": how} if how else {}
    made = masked(
        put(tmp_path / "in", frame),
        job(k=4, roles=roles, attributes=attributes),
        tmp_path / "out",
    )
    had = frame["town"].value_counts()
    published = read(made.path)["town"].value_counts()
    rare = [name for name in published.index if had[name] < 4]
    said = [note for note in made.notes if "of fewer than k = 4 originals" in note]
    assert bool(rare) == (not how)
    if how:
        assert said == []
        return
    (note,) = said
    categories, records = len(rare), int(published[rare].sum())
    assert note.startswith(
        f"'town': {categories} published categories of {records} records"
    )
    assert "village" not in note


def test_a_folder_of_mostly_rare_categories_is_refused(tmp_path):
    frame = rare_towns()
    frame["town"] = [f"village {i // 3}" for i in range(len(frame))]
    roles = {"quasi-identifier": ["age", "town"], "drop": ["name"]}
    with refused(TableError, "200"):
        masked(put(tmp_path / "in", frame), job(k=4, roles=roles), tmp_path / "out")


def test_a_folder_publishes_mostly_rare_categories_if_the_job_says_so(tmp_path):
    frame = rare_towns()
    frame["town"] = [f"village {i // 3}" for i in range(len(frame))]
    how = {
        "roles": {"quasi-identifier": ["age", "town"], "drop": ["name"]},
        "attributes": {"town": {"rare": "publish"}},
    }
    folder = put(tmp_path / "in", frame)
    made = masked(folder, job(k=4, **how), tmp_path / "out")
    notes = [note for note in made.notes if "of fewer than k = 4 originals" in note]
    counts = len(set(read(made.path)["town"]))
    assert [note.split(" of ")[0] for note in notes] == [
        f"'town': {counts} published categories"
    ]


def test_a_section_of_categories_wants_some(tmp_path):
    folder = put(tmp_path / "in", persons(20))
    how = {"method": "mean", "categories": {"method": "plurality"}}
    with refused(JobError):
        masked(folder, job(roles=ROLES, aggregation=how), tmp_path / "out")
