"""Attributes masked one by one or in blocks, and what k then means."""

import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from drawn import examples
from hypothesis import given
from hypothesis import strategies as st
from refusals import refused
from tables import (
    ONE_BY_ONE,
    PAIRS,
    WAYS,
    WIDE,
    job,
    people,
    put_partitioner,
    smallest,
    wide,
    wide_job,
)

import aggopt
from aggopt import partition
from aggopt.errors import JobError, PrivacyError, SolverError
from aggopt.experiments.compare_solvers import compare
from aggopt.experiments.sweep import sweep
from aggopt.job import Privacy
from aggopt.pipeline.prepare.job_settings import find_blocks
from aggopt.pipeline.review.review_release import assess_release
from aggopt.release.audit.audit import audit_release
from aggopt.solvers import Certificate, Status

AGGREGATIONS = [
    {"method": "mean"},
    {"method": "mean", "keep": "variance"},
    {"method": "median"},
    {"method": "p3m"},
]


def unique(table, names=WIDE):
    """Records alone with their combination, counted by a plain dictionary."""
    counts = {}
    for row in zip(*(list(table[name]) for name in names), strict=True):
        counts[row] = counts.get(row, 0) + 1
    return sum(count == 1 for count in counts.values())


@pytest.mark.parametrize("aggregation", AGGREGATIONS)
@pytest.mark.parametrize(("how", "blocks"), WAYS)
def test_the_promise_holds_in_each_block_and_all_is_counted(how, blocks, aggregation):
    release = aggopt.mask(wide(), wide_job(4, partition=how, aggregation=aggregation))
    counts = [smallest(release.table, block) for block in blocks]
    assert min(counts) >= 4
    found = release.audit
    assert found.smallest == min(counts)
    assert found.combination == smallest(release.table, WIDE)
    assert found.unique == unique(release.table)
    assert {c.attributes for c in found.blocks} == set(map(tuple, blocks))
    assert (len(blocks) == 1) == (found.warning is None)


table_and_blocks = st.tuples(
    st.integers(0, 10_000),
    st.integers(4, 40),
    st.lists(st.integers(0, 3), min_size=5, max_size=5),
    st.integers(2, 4),
    st.sampled_from(["mdav", "cbfs"]),
)


@given(table_and_blocks)
@examples(25)
def test_for_any_table_and_any_blocks(case):
    seed, n, drawn, k, method = case
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(rng.integers(0, 6, (n, 5)) / 8, columns=list(WIDE))
    frame = frame.assign(age=np.arange(n), illness="none")
    blocks = [
        [name for name, one in zip(WIDE, drawn, strict=True) if one == block]
        for block in dict.fromkeys(drawn)
    ]
    how = {"method": method, "attributes": blocks}
    release = aggopt.mask(frame, wide_job(k, partition=how))
    assert all(smallest(release.table, block) >= k for block in blocks)
    assert release.audit.smallest == min(smallest(release.table, b) for b in blocks)


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_the_written_file_keeps_the_promise_and_the_key_undoes_the_shuffle(
    tmp_path, ending
):
    release = aggopt.mask(wide(), wide_job(5, partition=WAYS[0][0]))
    files = release.write(tmp_path / f"masked.{ending}")
    written = (pd.read_csv if ending == "csv" else pd.read_parquet)(files.table)
    assert all(smallest(written, block) >= 5 for block in PAIRS)
    stated = json.loads(files.manifest.read_text())
    counted = {**stated["audit"], "unchanged": None}  # no originals beside the file
    assert stated["output"]["recounted"] == counted
    assert stated["audit"]["unique"] == unique(written)
    key = pd.read_csv(files.private)
    groups = ["group_1", "group_2", "group_3"]
    assert list(key.columns) == [*groups, "released_record", "risk"]
    back = written.iloc[key["released_record"]].reset_index(drop=True)
    attributes = [name for block in PAIRS for name in block]
    sizes = back.groupby(attributes)[attributes[0]].transform("size")
    assert key["risk"].tolist() == (1 / sizes).tolist()  # of the whole combination
    assert key["risk"].max() == release.measures.highest_risk
    assert key["risk"].mean() == pytest.approx(release.measures.average_risk)
    for number, block in enumerate(PAIRS, start=1):
        assert back.groupby(key[f"group_{number}"])[block].nunique().max().max() == 1


def test_one_block_has_one_column_of_groups_in_the_key(tmp_path):
    release = aggopt.mask(people(), job())
    assert release.labels.shape == (40,)
    files = release.write(tmp_path / "m.csv")
    key = pd.read_csv(files.private)
    assert list(key.columns) == ["group", "released_record", "risk"]
    sizes = key.groupby("group")["group"].transform("size")
    assert key["risk"].tolist() == (1 / sizes).tolist()


def test_the_manifest_says_what_was_grouped_and_what_is_proven():
    release = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    assert release.labels.shape == (60, 5)
    stated = json.loads(json.dumps(release.manifest()))["partition"]
    assert [part["attributes"] for part in stated] == ONE_BY_ONE
    for part, certificate in zip(stated, release.certificates.values(), strict=True):
        assert part["certificate"]["status"] == "optimal"
        assert part["certificate"]["gap"] == 0
        # the groups that lose least, and the values that lose least for them
        assert part["certificate"]["bound"] == pytest.approx(certificate.objective)
    pairs = aggopt.mask(wide(), wide_job(partition=WAYS[0][0])).manifest()["partition"]
    assert [part["attributes"] for part in pairs] == PAIRS
    proofs = [part["certificate"] for part in pairs]
    assert all(0 <= proof["bound"] <= proof["objective"] for proof in proofs)
    assert all(part["groups"] > 1 for part in pairs)


def test_the_python_functions_give_what_the_job_gives():
    frame = wide()
    X = frame[list(WIDE)].to_numpy(float)
    release = aggopt.mask(frame, wide_job(partition=WAYS[0][0]))
    labels = partition.in_blocks(X, 3, [[1, 2], [3, 4], [0]])
    assert (release.labels == labels).all()
    full = {"digits": "full"}
    how = {"method": "individual_ranking"}
    ranked = aggopt.mask(frame, wide_job(partition=how, output=full))
    assert (ranked.labels == partition.individual_ranking(X, 3)).all()
    values = aggopt.aggregate.mean(X, ranked.labels).values
    assert (ranked.table[list(WIDE)].to_numpy() == values).all()


def test_options_of_the_univariate_partition_act():
    how = {"method": "individual_ranking", "cost": "maxdist"}
    release = aggopt.mask(wide(), wide_job(partition=how))
    x = wide()["height"].to_numpy()
    labels = partition.univariate(x, 3, cost="maxdist")
    assert (release.labels[:, 1] == labels).all()
    assert (labels != partition.univariate(x, 3)).any()


ONE = {"quasi-identifier": ["age"], "confidential": [c for c in wide() if c != "age"]}


@pytest.mark.parametrize("method", ["individual_ranking", "univariate"])
def test_of_one_quasi_identifier_the_combination_is_promised(method):
    asked = aggopt.Job(roles=ONE, privacy={"k": 3}, partition={"method": method})
    release = aggopt.mask(wide(), asked)
    assert release.audit.scope == "combination"
    assert smallest(release.table, ("age",)) >= 3
    assert release.labels.shape == (60,)
    assert release.manifest()["partition"][0]["certificate"]["status"] == "optimal"


def test_a_correlation_that_gives_one_block_keeps_the_combination():
    how = {"method": "mdav", "attributes": {"correlation": 0.0}}
    release = aggopt.mask(wide(), wide_job(partition=how, scope="combination"))
    together = aggopt.mask(wide(), wide_job(scope="combination"))
    assert (release.labels == together.labels).all()
    assert release.audit.combination >= 3


def test_a_partition_without_an_answer_is_refused(monkeypatch):
    failed = Certificate(Status.FAILED, 1.0, None, 0.0, "dynamic", 0.0)

    def failing(x, k, **_):
        return partition.Partition(np.arange(len(x)) // k, failed)

    put_partitioner(monkeypatch, "univariate", failing)
    with refused(SolverError, "'age'", "'height'"):
        aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))


def test_a_partition_that_stopped_early_is_noted(monkeypatch):
    stopped = Certificate(Status.LIMIT, 1.0, None, 0.0, "cvxpy:highs", 0.0)
    real = partition.univariate

    def stopping(x, k, **settings):
        return partition.Partition(real(x, k, **settings), stopped)

    put_partitioner(monkeypatch, "univariate", stopping)
    release = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    assert f"'groups of age': cvxpy:highs {Status.LIMIT}." in release.notes


# --- edges


def test_a_constant_attribute_in_a_block_of_its_own_is_kept():
    for how in ({"method": "mdav", "attributes": "one by one"}, WAYS[3][0], WAYS[4][0]):
        release = aggopt.mask(wide().assign(age=44), wide_job(partition=how))
        assert (release.table["age"] == 44).all()
        assert "'age' has one value only: kept as it is, weight zero." in release.notes
        assert not any("one group" in note for note in release.notes)


@pytest.mark.parametrize("n", [5, 9])
def test_fewer_than_2k_records_are_one_group_in_every_block(n):
    release = aggopt.mask(wide(n), wide_job(5, partition=WAYS[3][0]))
    assert f"All {n} records form one group: there are fewer than 2k." in release.notes
    assert (release.labels == 0).all()
    assert release.audit.combination == n
    assert release.audit.warning is None


def test_progress_goes_on_from_block_to_block():
    told = []
    aggopt.mask(
        wide(),
        wide_job(partition=WAYS[0][0]),
        progress=lambda step, share: told.append((step, share)),
    )
    shares = [share for step, share in told if step == "group"]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)


def test_printing_and_pickling_show_no_record():
    frame = wide().assign(age=np.random.default_rng(5).uniform(20, 80, 60))
    release = aggopt.mask(frame, wide_job(partition=WAYS[3][0]))
    assert "array" not in repr(release)
    pickled = pickle.dumps(release)
    assert not any(np.float64(v).tobytes() in pickled for v in frame["age"])


# --- the audit


ROLES = wide_job().roles
BLOCKWISE = Privacy(k=3, scope="blocks")


def test_the_audit_counts_blocks_and_the_combination():
    table = wide(6).assign(age=[1, 1, 1, 2, 2, 2], height=[3, 4, 3, 4, 3, 4])
    table = table.assign(weight=0, income=0, debt=0)
    blocks = [["age"], ["height", "weight"], ["income", "debt"]]
    found = audit_release(table, ROLES, BLOCKWISE, blocks)
    assert (found.smallest, found.combination, found.unique) == (3, 1, 2)
    assert [c.rarest for c in found.blocks] == [3, 3, 6]
    assert found.holds
    assert found.warning in found.notes
    assert found.warning.startswith(
        "NOT 3-anonymous on the combination of all 5 quasi-identifiers: 2 of 6 records"
    )
    assert "all 6 are in groups smaller than 3" in found.warning
    assert str(found).startswith(
        "k = 3 holds on the masked attributes, in each of 3 blocks of attributes, but "
        "2 of 6 records are unique with all 5 masked columns: 6 rec"
    )
    strict = audit_release(table, ROLES, Privacy(k=3), blocks)
    assert (strict.smallest, strict.holds, strict.warning) == (1, False, None)
    assert "k = 3 DOES NOT HOLD on the masked attributes: 6 records" in str(strict)


def test_a_block_that_breaks_the_promise_is_named():
    table = wide(6).assign(**{name: 0 for name in WIDE})
    table = table.assign(height=[3, 3, 3, 3, 3, 4])
    found = audit_release(table, ROLES, BLOCKWISE, PAIRS)
    assert (found.smallest, found.holds) == (1, False)
    with refused(PrivacyError, "'height'", "'weight'"):
        found.require()


def test_the_audit_leaves_out_no_quasi_identifier():
    with refused(JobError, "'age'"):
        audit_release(
            wide(), ROLES, BLOCKWISE, [["height", "weight"], ["income", "debt"]]
        )


def test_a_partitioner_that_breaks_a_block_is_caught_on_the_values(monkeypatch):
    def lonely(X, k, **_):
        return np.arange(len(X)) // k

    put_partitioner(monkeypatch, "mdav", lonely)
    with refused(PrivacyError):
        aggopt.mask(wide(61), wide_job(partition=WAYS[0][0]))


def test_a_file_that_breaks_the_promise_of_a_block_is_never_there(tmp_path):
    release = aggopt.mask(wide(), wide_job(partition=WAYS[0][0]))
    values = release.masked.matrix()
    values[5, 2] += 1e-9
    tampered = replace(release, masked=release.masked.with_values(values))
    with refused(PrivacyError, "'height'", "'weight'"):
        tampered.write(tmp_path / "masked.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("how", "blocks"), WAYS)
def test_a_second_look_finds_what_the_first_found(tmp_path, how, blocks):
    wide().to_csv(tmp_path / "wide.csv", index=False)
    asked = wide_job(partition=how)
    release = aggopt.mask(tmp_path / "wide.csv", asked)
    release.write(tmp_path / "masked.csv")
    again = assess_release(tmp_path / "wide.csv", tmp_path / "masked.csv", asked)
    assert again.audit == release.audit
    assert again.measures.dld == release.measures.dld


def test_blocks_are_those_of_the_job_in_its_order():
    X = wide()[list(WIDE)].to_numpy(float)
    asked = wide_job(partition={"method": "mdav", "attributes": PAIRS})
    assert find_blocks(asked, X) == ((1, 2), (3, 4), (0,))
    asked = wide_job(partition={"method": "mdav", "attributes": {"correlation": 0.8}})
    assert find_blocks(asked, X) == ((0,), (1, 2), (3, 4))


# --- the other readers of a partition


P3M = {"method": "p3m", "solver": "uno", "margin": 0}  # to compare two runs


def test_solvers_are_compared_on_blocks():
    asked = wide_job(partition=WAYS[3][0], aggregation=P3M)
    (row,) = compare(wide(), asked, ["uno"])
    release = aggopt.mask(wide(), asked)
    total = sum(c.objective for c in release.certificates.values())
    assert row.objective == pytest.approx(total)
    assert row.sl == release.measures.sl


@pytest.mark.parametrize("deltas", [[0.1], [0.1, 0.3]])
def test_a_sweep_runs_on_blocks(deltas):
    asked = wide_job(partition=WAYS[0][0], aggregation=P3M)
    grid = {"alpha": [0.3, 0.7], "delta": deltas}
    points = list(sweep(wide(), asked, **grid, jobs=1))
    assert len(points) == 2 * len(deltas)
    assert all(point.usable for point in points)
    one = aggopt.mask(
        wide(),
        wide_job(partition=WAYS[0][0], aggregation={**P3M, "alpha": 0.3, "delta": 0.1}),
    )
    point = next(p for p in points if (p.alpha, p.delta) == (0.3, 0.1))
    assert point.dr == pytest.approx(one.measures.dr)
