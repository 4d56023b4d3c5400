"""Tables of keys: k records share each combination, counted on what is written."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from folders import put
from refusals import refused

import aggopt
from aggopt import Job
from aggopt.command.assessments import print_original_risk
from aggopt.errors import JobError
from aggopt.inspection.collect_errors import find_obstacles
from aggopt.pipeline.review.original_risk import measure_original_risk
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release

KEYS = [["region", "sex", "craft"], ["age", "sex"]]
NAMES = ["income", "age", "region", "sex", "craft"]
ROLES = {"quasi-identifier": NAMES, "confidential": ["ill"]}
K = 4


def people(n: int = 150, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "income": rng.gamma(2.0, 1e4, n).round(),
            "age": rng.integers(0, 99, n),
            "region": rng.choice(list("NESW"), n),
            "sex": rng.choice(["f", "m"], n),
            "craft": rng.choice(["smith", "nurse", "clerk"], n, p=[0.7, 0.2, 0.1]),
            "ill": rng.choice(["flu", "none"], n),
        }
    )


def key_job(**sections) -> Job:
    plain = {
        "roles": ROLES,
        "privacy": {"k": K, "keys": KEYS},
        "attributes": {"age": {"cuts": [18, 65, 95]}},
        "missing": {"policy": "patterns"},
    }
    return Job(**{**plain, **sections})


@pytest.fixture(scope="module")
def release() -> aggopt.Release:
    return aggopt.mask(people(), key_job(partition={"method": "mdav"}))


def count_rarest(table: pd.DataFrame, names: list[str]) -> int:
    return int(table.groupby(names, dropna=False).size().min())


def test_an_amber_seal_advises_on_sets_of_attributes(release) -> None:
    seal = release.audit.seal
    assert seal.state == "amber"
    assert "of a person: otherwise put them into one table of keys" in seal.advice
    assert "block" not in f"{seal.heading} {seal.advice} {release.audit.warning}"


def test_k_records_share_each_combination_in_the_file(release, tmp_path) -> None:
    path = tmp_path / "masked.csv"
    release.write(path)
    written = pd.read_csv(path, dtype=str)
    original = people()
    assert count_rarest(original.assign(age=0), KEYS[0]) < K
    for names in (*KEYS, ["income"]):
        assert count_rarest(written, names) >= K
    assert written["age"].isna().sum() + written["region"].isna().sum() > 0
    assert set(written["age"].dropna()) <= {
        "below 18",
        "18 to 64",
        "65 to 94",
        "95 and more",
    }
    people().to_csv(tmp_path / "people.csv", index=False)
    review = assess_release(tmp_path / "people.csv", path, release.job)
    assert review.holds
    assert [count.attributes for count in review.audit.blocks] == [
        ("income",),
        *map(tuple, KEYS),
    ]


def test_keys_are_published_unchanged_or_not_at_all(release) -> None:
    original, released = people(), release.table
    for name in ("region", "sex", "craft"):
        present = released[name].notna()
        assert (released[name][present] == original[name][present]).all()
    lost = sum(int(released[name].isna().sum()) for name in NAMES)
    proof = release.blocks[-1].certificate
    assert proof.objective == lost
    assert 0 < proof.bound <= lost
    assert release.audit.missing.suppressed == lost
    assert release.table["income"].notna().all()


def test_the_audit_counts_the_keys_of_any_table(release) -> None:
    privacy = release.job.privacy
    assert audit_release(release.table, release.job.released_roles, privacy).holds
    tampered = people().assign(age="18 to 64", income=0)
    audit = audit_release(tampered, release.job.released_roles, privacy)
    assert not audit.holds
    assert audit.smallest == count_rarest(tampered, KEYS[0])
    assert "keys 'region', 'sex', 'craft'" in str(audit.refusal)


def test_keys_alone_need_no_groups(tmp_path) -> None:
    roles = {"quasi-identifier": NAMES[2:], "other": ["income", "age", "ill"]}
    job = key_job(roles=roles, privacy={"k": K, "keys": KEYS[:1]}, attributes={})
    table = people()
    table.loc[:2, "craft"] = None
    path = tmp_path / "people.parquet"
    table.to_parquet(path)
    release = aggopt.mask(path, job)
    released = release.table.to_pandas()
    assert count_rarest(released, KEYS[0]) >= K
    assert (released["income"] == table["income"]).all()
    assert released["craft"][:3].isna().all()
    assert release.job.partition.method == "recommended"
    release.write(tmp_path / "masked.parquet")
    manifest = tmp_path / "masked.manifest.json"
    aggopt.repeat(manifest, path, tmp_path / "again.parquet")
    first, again = (tmp_path / f"{name}.parquet" for name in ("masked", "again"))
    assert first.read_bytes() == again.read_bytes()


def test_a_dear_key_loses_fewer_values() -> None:
    roles = {"quasi-identifier": NAMES[2:], "other": ["income", "age", "ill"]}
    lost = []
    for weight in (1.0, 50.0):
        job = key_job(
            roles=roles,
            privacy={"k": 9, "keys": KEYS[:1]},
            attributes={"region": {"weight": weight}},
        )
        lost.append(aggopt.mask(people(), job).table["region"].isna().sum())
    assert lost[1] < lost[0]


def test_risk_counts_the_unsafe_combinations_of_the_original(capsys) -> None:
    risk = measure_original_risk(people(), key_job())
    table = people()
    table["age"] = pd.cut(table["age"], [-1, 17, 64, 94, 200]).astype(str)
    for names, found in zip(KEYS, risk.keys, strict=True):
        sizes = table.groupby(names).size()
        assert found.unsafe == (sizes < K).sum()
        assert found.count.rare == sizes[sizes < K].sum()
        assert found.count.combinations == len(sizes)
    assert risk.recoded == ("age",)
    assert [keys["unsafe"] for keys in risk.to_dict()["keys"]] == [
        keys.unsafe for keys in risk.keys
    ]
    print_original_risk(risk)
    printed = capsys.readouterr().out
    lines = printed.partition("Tables of keys")[2].splitlines()
    line = next(line for line in lines if line.startswith("age, sex "))
    second = risk.keys[1]
    figures = second.count.combinations, second.unsafe, second.count.rare
    assert line.split()[2:5] == [str(figure) for figure in figures]
    assert "Counted after the recoding of 'age'." in printed


@pytest.mark.parametrize("seed", range(3))
def test_within_strata_each_combination_has_k_records(seed) -> None:
    table = people(200, seed).assign(town=np.arange(200) % 3)
    plain = key_job(partition={"method": "mdav"})
    job = key_job(roles={**ROLES, "stratum": ["town"]}, partition={"method": "mdav"})
    released = aggopt.mask(table, job)
    without = aggopt.mask(table.drop(columns="town"), plain)
    for names in (*KEYS, ["income"]):
        assert count_rarest(released.table, [*names, "town"]) >= K
    masked = without.table.assign(town=table["town"])
    assert count_rarest(masked, [*KEYS[0], "town"]) < K  # strata make it harder
    keys = [*dict.fromkeys(name for names in KEYS for name in names)]
    proof = released.blocks[-1].certificate
    assert proof.objective == released.table[keys].isna().sum().sum()
    assert 0 < proof.bound <= proof.objective
    risk = measure_original_risk(table, job)
    counted = table.assign(age=pd.cut(table["age"], [-1, 17, 64, 94, 200]))
    for names, keys_of_risk in zip(KEYS, risk.keys, strict=True):
        sizes = counted.groupby([*names, "town"], observed=True).size()
        assert keys_of_risk.unsafe == (sizes < K).sum()


REFUSED = [
    ({"privacy": {"k": K, "keys": [["age", "ill"]]}}, "'ill'"),
    ({"privacy": {"k": K, "keys": [["age", "age"]]}}, "names a column twice"),
    ({"privacy": {"k": K, "keys": [["age"], ["age", "sex"]]}}, "part of another"),
    ({"privacy": {"k": K, "keys": KEYS, "scope": "blocks"}}, 'scope = "blocks"'),
    ({"privacy": {"k": K, "scope": "keys"}}, "without keys"),
    ({"privacy": {"k": K, "keys": []}}, "keys is empty"),
    ({"privacy": {"k": K, "keys": KEYS, "l": 2}}, "leave out keys"),
    ({"missing": {"policy": "refuse"}}, "policy"),
    ({"roles": {**ROLES, "unit": ["home"]}}, "the role unit"),
    ({"roles": {**ROLES, "weight": ["w"]}}, "the role weight"),
    ({"partition": {"method": "mdav", "attributes": "one by one"}}, "attributes"),
    ({"aggregation": {"categories": {"method": "frequencies"}}}, "'frequencies'"),
    ({"attributes": {"craft": {"rare": "avoid"}}}, "rare or publish"),
    (
        {
            "roles": {"quasi-identifier": NAMES[2:]},
            "privacy": {"k": K, "keys": KEYS[:1]},
            "attributes": {},
            "partition": {"method": "mdav"},
        },
        "[partition]",
    ),
]


@pytest.mark.parametrize(("sections", "at_fault"), REFUSED)
def test_settings_that_contradict_keys_are_refused(sections, at_fault) -> None:
    with refused(JobError, at_fault):
        key_job(**sections)


def test_keys_that_are_numbers_are_refused() -> None:
    with refused(JobError, "'age'", "cuts"):
        aggopt.mask(people(), key_job(attributes={}))


def test_all_obstacles_of_keys_are_listed(tmp_path) -> None:
    path = tmp_path / "people.csv"
    people().to_csv(path, index=False)
    text = pa.Table.from_pandas(people().astype(str))
    found = find_obstacles(path, text, key_job(attributes={}))
    assert [obstacle.problem for obstacle in found] == [
        "[privacy] keys names 'age', which is a number or a date."
    ]


def test_folders_refuse_keys(tmp_path) -> None:
    folder = put(tmp_path / "in", people())
    job = key_job(engine={"name": "local"})
    with refused(JobError, "keys"):
        aggopt.mask(folder, job, out=tmp_path / "out")


def small_keys(table: pd.DataFrame, k: int, **sections) -> Job:
    names = [*table.columns]
    return Job(
        roles={"quasi-identifier": names},
        privacy={"k": k, "keys": [names]},
        missing={"policy": "patterns"},
        **sections,
    )


def test_one_column_with_nothing_rare_is_published_unchanged() -> None:
    table = pd.DataFrame({"sex": [*"ffffffmmmm"]})
    published = aggopt.mask(table, small_keys(table, 2)).table
    pd.testing.assert_frame_equal(published, table)


def test_a_column_without_a_value_left_is_refused() -> None:
    table = pd.DataFrame({"a": [*"aabbcc"] * 2, "b": [*"lkjihg"] * 2})
    with refused(JobError, "'b'", "keys"):
        aggopt.mask(table, small_keys(table, 4))


def test_codes_stay_whole_numbers_next_to_suppressed_ones(tmp_path) -> None:
    table = pd.DataFrame({"code": [1, 1, 1, 2, 2, 3], "sex": [*"ffffff"]})
    job = small_keys(table, 2, attributes={"code": {"kind": "nominal"}})
    path = tmp_path / "masked.csv"
    aggopt.mask(table, job).write(path)
    assert set(pd.read_csv(path, dtype=str)["code"].dropna()) <= {"1", "2", "3"}
