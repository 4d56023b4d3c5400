"""Risk, utility and assessment of folders are those of the same tables in one file."""

import json

import numpy as np
import pandas as pd
import pytest
from folders import QUASI, ROLES, job, linked, masked, persons, put, read
from refusals import refused

import aggopt
from aggopt.core import memory
from aggopt.engine.folder_review import find_release, read_original
from aggopt.engine.report_data import read_folder_report
from aggopt.errors import InfeasibleInputError, TableError
from aggopt.job import Risk
from aggopt.pipeline.review.original_risk import measure_original_risk
from aggopt.pipeline.review.review_release import TwoFiles, assess_source
from aggopt.pipeline.review.utility import measure_utility_of

KINDS = ["numbers", "categories", "missing", "strata", "weights", "dates"]


def tables(kind):
    """Return two tables of persons, and the job that masks them."""
    both = [persons(150), persons(90, seed=1)]
    roles, asked = dict(ROLES), {}
    rng = np.random.default_rng(2)
    for table in both:
        n = len(table)
        table["area"] = rng.choice(["north", "south", "west"], n, p=[0.5, 0.49, 0.01])
        table["born"] = pd.Timestamp("1990-01-01") + pd.to_timedelta(
            rng.integers(0, 900, n), "D"
        )
        table["share"] = rng.uniform(1, 3, n)
        if kind == "missing":
            table.loc[rng.random(n) < 0.1, "height"] = np.nan
    kept = {"area": "drop", "born": "drop", "share": "drop"}
    if kind == "categories":
        kept["area"], asked["attributes"] = "quasi-identifier", {}
    if kind == "missing":
        asked["missing"] = {"policy": "patterns"}
    if kind == "strata":
        kept["area"], asked["strata"] = "stratum", {"small": "drop"}
    if kind == "weights":
        kept["share"] = "weight"
    if kind == "dates":
        kept["born"] = "quasi-identifier"
    for name, role in kept.items():
        roles[role] = [*roles.get(role, []), name]
    return both, job(4, roles=roles, **asked)


def one_file(folder, out, release, tmp_path):
    """Write original and release as one file each, with the key of the second."""
    original, released = tmp_path / "one.parquet", tmp_path / "masked.parquet"
    whole = read(folder)
    whole.to_parquet(original, index=False)
    read(out).to_parquet(released, index=False)
    before = {}
    for path in sorted(folder.glob("*.parquet")):
        before[path.name] = sum(before.values()) and 150
    place = pd.Series(pd.NA, index=range(len(whole)), dtype="Int64")
    first = 0
    for path in sorted(release.private.glob("key-*")):
        key = pd.read_parquet(path).astype({"input_file": str})
        rows = key["input_file"].map({"in-0.parquet": 0, "in-1.parquet": 150})
        place.loc[(rows + key["input_record"]).to_numpy()] = (
            key["released_record"].to_numpy() + first
        )
        first += len(key)
    pd.DataFrame({"released_record": place}).to_csv(
        tmp_path / "masked.private.csv", index=False
    )
    return TwoFiles(original, released)


@pytest.fixture(params=KINDS)
def both(request, tmp_path):
    """A folder and its release, the same as two files, and the job."""
    parts, asked = tables(request.param)
    folder = put(tmp_path / "in", *parts)
    release = masked(folder, asked, tmp_path / "out")
    files = one_file(folder, tmp_path / "out", release, tmp_path)
    folders = find_release(folder, tmp_path / "out", same_order=False, private=None)
    return folders, files, asked, release


def test_a_folder_is_assessed_as_the_same_table_in_one_file(both):
    folders, files, asked, release = both
    asked = asked.model_copy(update={"risk": Risk(target=("ill",), suda=2)})
    of_folders, of_files = assess_source(folders, asked), assess_source(files, asked)
    assert of_folders.to_dict() == of_files.to_dict()
    assert of_folders.holds
    assert of_folders.audit.records == release.audit.records
    now, then = of_folders.audit.unchanged, release.audit.unchanged
    assert (now.records, now.identical) == (then.records, then.identical)


def test_a_folder_is_as_useful_as_the_same_table_in_one_file(both):
    folders, files, asked, _ = both
    how = {"model": ["income ~ age"], "weight": next(iter(asked.roles.weight), None)}
    of_folders = measure_utility_of(folders, asked, **how)
    assert of_folders.to_dict() == measure_utility_of(files, asked, **how).to_dict()


def test_the_risk_of_a_folder_is_that_of_the_same_table_in_one_file(both):
    folders, files, asked, _ = both
    asked = asked.model_copy(update={"risk": Risk(suda=2)})
    found = measure_original_risk(read_original(folders.original, asked), asked)
    assert found.to_dict() == measure_original_risk(files.original, asked).to_dict()


def test_loss_and_uniqueness_are_those_of_a_recount_by_pandas(tmp_path):
    folder = put(tmp_path / "in", persons(150), persons(90, seed=1))
    release = masked(folder, job(), tmp_path / "out")
    source = find_release(folder, tmp_path / "out", same_order=False, private=None)
    found = assess_source(source, job())
    before, after = linked(folder, release)
    x, y = before[QUASI].to_numpy(float), after[QUASI].to_numpy(float)
    lost = ((x - y) ** 2).sum(axis=0) / ((x - x.mean(axis=0)) ** 2).sum(axis=0)
    assert found.measures.il == pytest.approx(lost.mean(), rel=1e-9)
    sizes = before.groupby(QUASI)["ill"].transform("size")
    whole = measure_original_risk(read_original(folder, job()), job()).whole
    assert whole.unique == (sizes == 1).sum()
    assert whole.rare == (sizes < 4).sum()


def test_the_command_looks_at_folders(tmp_path, aggopt, monkeypatch):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in", persons(60), persons(20, seed=1))
    text = (
        '[roles]\nidentifier = ["name"]\nconfidential = ["ill"]\nother = ["note"]\n'
        'quasi-identifier = ["age", "height", "income"]\n[privacy]\nk = 4\n'
    )
    (tmp_path / "job.toml").write_text(text)
    words = ["in", "job.toml", "--out", "out", "--engine", "local"]
    assert aggopt("mask", *words)[0] == 0
    for command in ("assess", "risk", "utility"):
        code, told, errors = aggopt(command, "in", "out", "job.toml", "--json")
        assert code == 0, errors
        assert json.loads(told)
    code, told, _ = aggopt("risk", "in/*.parquet", "job.toml", "--json")
    assert (code, json.loads(told)["population"]) == (0, 80.0)


@pytest.mark.parametrize("command", ["risk", "assess", "utility"])
def test_a_release_that_is_missing_is_named_for_a_folder_too(
    command, tmp_path, aggopt, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    put(tmp_path / "in", persons(20))
    put(tmp_path / "out", persons(20))
    read(tmp_path / "out").to_csv(tmp_path / "out.csv", index=False)
    text = (
        '[roles]\nidentifier = ["name"]\nconfidential = ["ill"]\nother = ["note"]\n'
        'quasi-identifier = ["age", "height", "income"]\n[privacy]\nk = 4\n'
    )
    (tmp_path / "job.toml").write_text(text)
    for released in ("MISSING", "MISSING.csv"):
        for original in ("in", "in/*.parquet", "out.csv"):
            code, _, errors = aggopt(command, original, released, "job.toml")
            assert (code, errors.splitlines()[0]) == (
                2,
                f"Error: There is no file {released}.",
            )
        code, _, errors = aggopt(command, released, "out", "job.toml")
        assert (code, errors.splitlines()[0]) == (
            2,
            f"Error: There is no file {released}.",
        )
    code, _, errors = aggopt(command, "in", "out.csv", "job.toml")
    links = command != "utility"
    assert code == (2 if links else 0)
    assert ("in is a folder, and out.csv one file" in errors) == links


def source_of(tmp_path, **how):
    """Return a folder and its release."""
    folder = put(tmp_path / "in", persons(60))
    masked(folder, job(), tmp_path / "out")
    how = {"same_order": False, "private": None, **how}
    return find_release(folder, tmp_path / "out", **how)


def test_folders_that_do_not_fit_are_refused_before_they_are_read(
    tmp_path, monkeypatch
):
    source = source_of(tmp_path)
    monkeypatch.setattr(memory, "find_available_memory", lambda: 250 << 20)
    with refused(InfeasibleInputError, "250", "manifest.json"):
        assess_source(source, job())
    monkeypatch.setattr(memory, "find_available_memory", lambda: 251 << 20)
    assert assess_source(source, job()).audit.holds


def test_a_release_in_the_place_of_its_original_is_refused(tmp_path):
    source_of(tmp_path)
    turned = find_release(
        tmp_path / "out", tmp_path / "in", same_order=False, private=None
    )
    with refused(
        TableError,
        str(tmp_path / "out"),
        str(tmp_path / "out.private" / "manifest.json"),
    ):
        assess_source(turned, job())


def test_a_release_without_its_private_folder_is_refused(tmp_path):
    source = source_of(tmp_path)
    (tmp_path / "out.private").rename(tmp_path / "elsewhere")
    with refused(TableError):
        assess_source(source, job())
    there = tmp_path / "elsewhere"
    found = find_release(
        tmp_path / "in", tmp_path / "out", same_order=False, private=there
    )
    assert assess_source(found, job()).holds


def test_the_order_of_a_release_is_not_that_of_its_original(tmp_path):
    with refused(TableError):
        assess_source(source_of(tmp_path, same_order=True), job())


def test_another_folder_than_that_which_was_masked_is_refused(tmp_path):
    source_of(tmp_path)
    other = put(tmp_path / "other", persons(60), persons(3, seed=4))
    found = find_release(other, tmp_path / "out", same_order=False, private=None)
    with refused(TableError):
        assess_source(found, job())


def test_the_key_of_another_run_is_refused(tmp_path):
    source = source_of(tmp_path)
    key = next((tmp_path / "out.private").glob("key-*"))
    table = pd.read_parquet(key)
    table["released_record"] = 0
    table.to_parquet(key, index=False)
    with refused(TableError):
        assess_source(source, job())
    table.drop(columns="released_record").to_parquet(key, index=False)
    with refused(TableError):
        assess_source(source_again(tmp_path), job())


def source_again(tmp_path):
    """Return the same folder and release, read anew."""
    return find_release(
        tmp_path / "in", tmp_path / "out", same_order=False, private=None
    )


def test_a_folder_beside_a_file_has_no_key(tmp_path):
    source_of(tmp_path)
    read(tmp_path / "out").to_parquet(tmp_path / "out.parquet", index=False)
    found = find_release(
        tmp_path / "in", tmp_path / "out.parquet", same_order=False, private=None
    )
    with refused(TableError):
        assess_source(found, job())


def test_two_folders_of_one_order_need_no_key(tmp_path):
    folder = put(tmp_path / "in", persons(60))
    other = persons(60).drop(columns="name")
    other = other.assign(**{name: other[name].mean() for name in QUASI})
    put(tmp_path / "out", other.iloc[:30], other.iloc[30:])
    found = find_release(folder, tmp_path / "out", same_order=True, private=None)
    assert assess_source(found, job()).audit.combination == 60


# --- what originals say of a folder's release equals a recount by the private key


NAMES = ["age", "children", "sex"]
POLICIES = ("refuse", "patterns", "fill")


def survey(n: int, seed: int) -> pd.DataFrame:
    """Whole numbers of few values, so that many groups agree in part; some missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": 10.0 * rng.integers(2, 12, n),
            "children": rng.integers(0, 3, n).astype(float),
            "sex": rng.choice(["f", "m"], n),
            "region": rng.choice(["north", "south"], n),
        }
    )
    if seed % 3:
        for name in ("age", "children"):
            frame.loc[rng.random(n) < 0.1, name] = np.nan
    return frame


def asked(seed: int) -> aggopt.Job:
    region = {"stratum": ["region"]} if seed % 2 else {"other": ["region"]}
    return aggopt.Job(
        **{
            "roles": {"quasi-identifier": NAMES, **region},
            "attributes": {"sex": {"kind": "nominal"}},
            "missing": {"policy": POLICIES[seed % 3]},
            "privacy": {"k": 3 + seed % 3},
            "engine": {"name": "local", "block": 100},
            "output": {"digits": "full"},
        }
    )


def same_values(one: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return which values are equal, up to rounding, of those that are there."""
    near = {name: np.isclose(one[name], other[name]) for name in ("age", "children")}
    return pd.DataFrame({**near, "sex": one["sex"] == other["sex"]})


@pytest.mark.parametrize("seed", range(6))
def test_values_unchanged_or_filled_in_equal_a_recount_by_the_key(seed, tmp_path):
    tables = survey(150, seed), survey(120, seed + 10 if seed % 3 else seed + 12)
    release = masked(put(tmp_path / "in", *tables), asked(seed), tmp_path / "out")
    before, after = linked(tmp_path / "in", release)
    before, after = before[NAMES], after[NAMES]
    gone, near = before.isna(), same_values(before, after)
    groups = before.groupby(read(release.private)["group"].to_numpy())
    alike = (groups.transform("nunique") == 1) & ~gone
    some = ~gone.all(axis=1)
    found = release.audit.unchanged
    assert found.records == ((near | gone).all(axis=1) & some).sum()
    assert found.identical == ((alike | gone).all(axis=1) & some).sum()
    assert found.cells == near.sum().to_dict()
    assert found.identical_cells == (alike & after.notna()).sum().to_dict()
    assert found.moved == (alike & after.notna() & ~near).sum().to_dict()
    assert found.records > 0
    in_each_column = ", ".join(f"{n!r} {c}" for n, c in near.sum().items() if c)
    assert (
        f"Values published unchanged, of {len(before)} in each column: "
        f"{in_each_column}." in release.audit.disclosures
    )
    made = (gone & after.notna()).sum()
    holes = release.audit.missing
    assert (holes.imputed_in if holes else {}) == made[made > 0].to_dict()
    assert bool(made.any()) == (POLICIES[seed % 3] == "fill")
    stated = read_folder_report(release.path)
    assert stated.unchanged == found.records
    assert stated.filled == made[made > 0].to_dict()
    said = f"{found.records} of {len(before)} records "
    assert any(risk.startswith(said) for risk in release.audit.seal.risks)


def test_the_public_page_of_a_folder_tells_what_was_filled_in(tmp_path):
    folder = put(tmp_path / "in", survey(150, 2), survey(120, 5))
    release = masked(folder, asked(2), tmp_path / "out")
    page = release.report(tmp_path / "report.html").read_text("utf-8")
    counts = release.audit.missing.imputed_in
    said = ", ".join(f"{name} {count}" for name, count in counts.items())
    assert f"values were filled in: {said}." in page
    assert any(f"'age' {counts['age']}" in note for note in release.notes)
