"""The transformer of scikit-learn: the release itself, and nothing else of the records.

scikit-learn's own checks run on it as it is, and as models are trained with it.
"""

import io
import pickle
import re
import struct
from collections import Counter
from inspect import getsource
from pathlib import Path
from typing import Any

import joblib
import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from contract_rows import rows_of
from refusals import refused
from sklearn.base import clone
from sklearn.compose import make_column_transformer
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import check_estimator

import aggopt
from aggopt.errors import (
    JobError,
    PrivacyError,
    TableError,
    UnknownNameError,
    UntrustedCodeError,
)
from aggopt.pipeline import mask as pipeline
from aggopt.sklearn import Microaggregator, expected_failed_checks, hash_table_rows

X = np.random.default_rng(0).normal(size=(40, 3))
NEW = np.random.default_rng(1).normal(size=(9, 3))
MDAV = {"partition": "mdav"}
SCHOOL = ["primary", "secondary", "bachelor", "master"]
MIXED = {"school": {"order": SCHOOL}, "illness": {"tree": {"lung": ["flu", "asthma"]}}}


def mixed(n: int = 60) -> pd.DataFrame:
    """Records of all types, each with an entry that one record alone has."""
    rng = np.random.default_rng(2)
    days = pd.Timestamp("2001-02-03") + pd.to_timedelta(rng.permutation(n), unit="D")
    frame = pd.DataFrame(
        {
            "born": days,
            "income": rng.gamma(2.0, 1e4, n),
            "illness": rng.choice(["flu", "asthma"], n),
            "place": rng.choice(["Oslo", "Rome", "Bonn"], n).astype(object),
            "school": rng.choice(SCHOOL[:3], n).astype(object),
            "smokes": rng.random(n) < 0.5,
        },
        index=[f"Person {i}" for i in range(n)],
    )
    frame.loc["Person 7", "place"] = "Ljubljana"
    return frame


def rarest(table: Any) -> int:
    rows = pd.DataFrame(table).astype(str).itertuples(index=False, name=None)
    return min(Counter(rows).values())


# scikit-learn's checks


@pytest.mark.parametrize(
    "unseen", ["refuse", pytest.param("nearest", marks=pytest.mark.slow)]
)
def test_checks_of_scikit_learn(unseen: str) -> None:
    estimator = Microaggregator(k=2, unseen=unseen)
    named = expected_failed_checks(estimator)
    found = check_estimator(
        estimator, expected_failed_checks=named, on_skip=None, on_fail=None
    )
    ended = {one["check_name"]: one["status"] for one in found}
    bad = {name: how for name, how in ended.items() if how != "passed"}
    allowed = dict.fromkeys(named, "xfail") | {"check_array_api_input": "skipped"}
    assert bad == allowed
    assert len(ended) > 40


def test_what_is_drawn_anew_is_said_to_scikit_learn() -> None:
    drawn = {
        how: Microaggregator(aggregation=how).__sklearn_tags__().non_deterministic
        for how in ("mean", "median", "p3m")
    }
    assert drawn == {"mean": False, "median": False, "p3m": True}


# the release


def test_it_is_the_release_of_the_same_job() -> None:
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    sections = {
        "partition": {"method": "cbfs", "attributes": "together"},
        "aggregation": {"method": "mean", "keep": "variance"},
        "output": {"decimals": 3},
    }
    roles = {"quasi-identifier": ["a", "b", "c"]}
    release = aggopt.mask(frame, aggopt.Job(roles=roles, privacy={"k": 4}, **sections))
    estimator = Microaggregator(
        k=4,
        partition="cbfs",
        partition_settings={"attributes": "together"},
        settings={"keep": "variance"},
        output={"decimals": 3},
    )
    found = estimator.fit_transform(frame)
    pd.testing.assert_frame_equal(found, release.table)
    assert estimator.audit_ == release.audit
    assert estimator.measures_ == release.measures
    assert estimator.notes_ == release.notes
    assert [*estimator.certificates_] == ["a", "b", "c"]
    assert estimator.audit_.holds
    assert rarest(found) >= 4


def test_solver_and_settings_reach_the_program() -> None:
    estimator = Microaggregator(
        k=4, **MDAV, aggregation="p3m", solver="uno", settings={"alpha": 0.3}
    ).fit(X)
    solvers = {c.solver for c in estimator.certificates_.values()}
    assert solvers == {"cvxpy:uno"}


def test_blocks_are_released_if_that_is_asked_for() -> None:
    ranking = Microaggregator(k=4, partition="individual_ranking")
    with refused(JobError):
        ranking.fit(X)
    found = ranking.set_params(scope="blocks").fit_transform(X)
    assert min(rarest(found[:, j]) for j in range(3)) >= 4
    assert rarest(found) == 1


def test_rows_that_were_fitted_are_recognised_one_by_one() -> None:
    estimator = Microaggregator(k=4, **MDAV)
    found = estimator.fit_transform(X)
    for i in (0, 17, 39):
        assert (estimator.transform(X[[i]]) == found[i]).all()
    order = np.random.default_rng(3).permutation(len(X))
    assert (estimator.transform(X[order]) == found[order]).all()


def test_equal_rows_take_turns() -> None:
    """So that whoever publishes `transform` of all rows publishes what was audited."""
    pile = np.repeat([[0.0], [1.0], [9.0]], [9, 5, 4], axis=0)
    estimator = Microaggregator(k=4, **MDAV)
    found = estimator.fit_transform(pile)
    assert len(np.unique(found[:9])) > 1
    order = np.random.default_rng(0).permutation(len(pile))
    again = estimator.transform(pile[order])
    assert Counter(again.ravel().tolist()) == Counter(found.ravel().tolist())


def test_numbers_are_recognised_in_any_container() -> None:
    whole = np.random.default_rng(4).integers(0, 99, (30, 2))
    estimator = Microaggregator(k=3, **MDAV)
    found = estimator.fit_transform(whole)
    names = ["a", "b"]
    frames = [
        pd.DataFrame(whole, columns=names, dtype=kind)
        for kind in ("float32", "int8", "Int64")
    ]
    frames += [pl.DataFrame(whole, schema=names)]
    for frame in (whole.tolist(), whole.astype(object)):
        assert (estimator.transform(frame) == found).all()
    for frame in frames:
        with pytest.warns(UserWarning, match="fitted without feature names"):
            assert (estimator.transform(frame) == found).all()


def by_rank(records: Any, k: int, *, column: int = 0) -> Any:
    rank = np.argsort(np.argsort(records[:, column]))
    return np.minimum(rank // k, len(records) // k - 1)


def test_a_partition_of_ones_own() -> None:
    estimator = Microaggregator(
        k=4, partition=by_rank, partition_settings={"column": 2}
    )
    found = clone(estimator).fit_transform(X)
    expected = by_rank(X, 4, column=2)
    pairs = set(zip(expected.tolist(), map(tuple, found.tolist()), strict=True))
    assert len(pairs) == len(set(expected.tolist())) == 10


def midway(x: Any, labels: Any, sizes: Any, *, cap: float = 9.0) -> Any:
    import cvxpy as cp

    c = cp.Variable(len(sizes), name="c")
    return cp.Problem(cp.Minimize(cp.sum_squares(c[labels] - x)), [cp.abs(c) <= cap])


def test_a_model_of_ones_own() -> None:
    own = {"model": midway, "cap": 0.0, "solver": "clarabel"}
    estimator = Microaggregator(k=4, **MDAV, aggregation="by_model", settings=own)
    found = clone(estimator).fit_transform(X)
    assert found == pytest.approx(np.broadcast_to(X.mean(axis=0), X.shape), abs=1e-4)


def test_a_file_of_code_must_be_trusted(tmp_path: Path) -> None:
    path = tmp_path / "mine.py"
    path.write_text(f"import numpy as np\nAny = object\n{getsource(by_rank)}")
    estimator = Microaggregator(k=4, partition=f"{path}:by_rank")
    with pytest.raises(UntrustedCodeError):
        estimator.fit(X)
    found = estimator.set_params(trust=[path]).fit_transform(X)
    assert (found == Microaggregator(k=4, partition=by_rank).fit_transform(X)).all()


# rows that were not fitted


def test_new_rows_are_refused_and_counted() -> None:
    estimator = Microaggregator(k=4, **MDAV).fit(X)
    with refused(TableError, "12"):
        estimator.transform(np.vstack([X[:3], NEW]))


def test_new_rows_get_the_nearest_published_row_if_asked() -> None:
    estimator = Microaggregator(k=4, **MDAV).fit(X).set_params(unseen="nearest")
    found = estimator.transform(np.vstack([X[:3], NEW]))
    released = estimator.transform(X)
    assert (found[:3] == released[:3]).all()
    z, new = ((rows / released.std(axis=0)) for rows in (estimator.published_, NEW))
    apart = ((new[:, None] - z) ** 2).sum(axis=2)
    assert (found[3:] == estimator.published_[apart.argmin(axis=1)]).all()


def test_a_search_that_refuses_new_rows_says_what_to_set() -> None:
    y = X.sum(axis=1)
    grid = {"microaggregator__k": [3, 9]}
    model = make_pipeline(Microaggregator(**MDAV), Ridge())
    search = GridSearchCV(model, grid, cv=2, error_score="raise")
    with refused(TableError, 'unseen="nearest"'):
        search.fit(X, y)
    search.set_params(estimator__microaggregator__unseen="nearest").fit(X, y)
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()
    assert set(grid["microaggregator__k"]) > {search.best_params_["microaggregator__k"]}


# what is left of the records


def dumped(estimator: Any) -> bytes:
    file = io.BytesIO()
    joblib.dump(estimator, file)
    shown = repr(estimator) + estimator._repr_html_()
    return pickle.dumps(estimator) + file.getvalue() + shown.encode()


def spelled(number: float) -> list[bytes]:
    """Return how a number may stand in a file."""
    kinds = ("<d", ">d", "<f", ">f")
    return [*(struct.pack(kind, number) for kind in kinds), repr(number).encode()]


def test_no_file_holds_a_record() -> None:
    estimator = Microaggregator(k=4, **MDAV).fit(X)
    found = dumped(estimator)
    published = estimator.published_.ravel().tolist()
    assert any(each in found for each in spelled(published[0]))
    kept = [v for v in X.ravel().tolist() if any(s in found for s in spelled(v))]
    assert kept == []


@pytest.mark.parametrize("to", [lambda f: f, pl.from_pandas, pa.Table.from_pandas])
def test_no_file_holds_an_entry_that_is_not_published(to: Any) -> None:
    frame = mixed()
    estimator = Microaggregator(k=10, **MDAV, attributes=MIXED)
    released = estimator.fit_transform(to(frame.reset_index(drop=True)))
    places = set(pa.table(released)["place"].to_pylist()) if to else set()
    assert "Ljubljana" not in places
    found = dumped(estimator)
    assert b"Oslo" in found
    assert b"Ljubljana" not in found
    incomes = frame["income"].tolist()
    assert not any(each in found for v in incomes for each in spelled(v))
    days = frame["born"].astype("datetime64[ns]").astype("int64").tolist()
    held = [d for d in days for unit in (1, 1000, 10**6) if packed(d // unit) in found]
    assert len(held) < len(days) / 4


def packed(count: int) -> bytes:
    return struct.pack("<q", count)


def test_no_file_holds_the_index() -> None:
    estimator = Microaggregator(k=6, **MDAV, attributes=MIXED)
    released = estimator.fit_transform(mixed())
    assert [*released.index] == [*mixed().index]
    assert b"Person" not in dumped(estimator)


def test_a_dump_transforms_as_before() -> None:
    estimator = Microaggregator(k=4, **MDAV).fit(X)
    again = pickle.loads(pickle.dumps(estimator))
    assert (again.transform(X) == estimator.transform(X)).all()
    with refused(TableError):
        again.transform(NEW[:1])


def test_each_fit_hashes_under_another_key() -> None:
    one, other = (Microaggregator(k=4, **MDAV).fit(X)._fitted for _ in range(2))
    assert set(one.hashes).isdisjoint(other.hashes)


def test_rows_of_other_entries_have_other_hashes() -> None:
    rows = [("ab", "c"), ("a", "bc"), ("", "abc"), (None, "abc"), ("2:ab", "c")]
    rows += [("a'b", "c"), ("a", "b'c")]
    frame = pd.DataFrame(rows, columns=["one", "other"], dtype=object)
    numbers = pd.DataFrame({"x": [5, 5.5, 2.0**53, -0.0, 1e300]})
    text = pd.DataFrame({"x": ["5", "5.5"]})
    for table in (frame, numbers, text):
        framed = nw.from_native(table, eager_only=True)
        assert len(set(hash_table_rows(framed, b"key"))) == len(table)
    large = pd.DataFrame({"x": [2**60, 2**60 + 1]})
    shared = [
        set(hash_table_rows(nw.from_native(table, eager_only=True), b"key"))
        for table in (numbers, text, large)
    ]
    assert len(set.union(*shared)) == 9


# types, containers, other tools of scikit-learn


def test_mixed_types_by_the_types_of_a_job() -> None:
    frame = mixed()
    estimator = Microaggregator(k=6, attributes=MIXED, **MDAV, unseen="nearest")
    released = estimator.fit_transform(frame)
    assert rarest(released) >= 6
    assert dict(released.dtypes) == dict(frame.dtypes)
    assert set(released["place"]) <= {"Oslo", "Rome", "Bonn"}
    pd.testing.assert_frame_equal(estimator.transform(frame), released)
    pd.testing.assert_frame_equal(
        estimator.transform(frame.iloc[5:9]), released.iloc[5:9]
    )
    new = frame.iloc[:4].assign(place="Ljubljana", income=1.0)
    found = estimator.transform(new)
    assert [*found.index] == [*new.index]
    rows = set(released.itertuples(index=False, name=None))
    assert set(found.itertuples(index=False, name=None)) <= rows


def test_a_frame_comes_back_as_its_kind() -> None:
    names = ["a", "b", "c"]
    pandas = pd.DataFrame(X, columns=names)
    estimator = Microaggregator(k=4, **MDAV)
    for frame in (pandas, pl.from_pandas(pandas), pa.Table.from_pandas(pandas)):
        for found in (estimator.fit_transform(frame), estimator.transform(frame)):
            assert type(found) is type(frame)
    columns = estimator.fit(pandas).get_feature_names_out()
    assert [*columns] == names
    with pytest.warns(UserWarning, match="not have valid feature names"):
        array = estimator.transform(X)
    assert type(array) is np.ndarray
    assert (array == estimator.transform(pandas)).all(axis=None)


def test_names_of_columns_that_are_no_text_are_left_out() -> None:
    found = Microaggregator(k=4, **MDAV).fit_transform(pd.DataFrame(X))
    assert type(found) is np.ndarray
    assert rarest(found) >= 4


def test_columns_are_chosen_by_a_column_transformer() -> None:
    frame = mixed().assign(id=np.arange(60))
    masked = Microaggregator(k=6, **MDAV)
    chosen = make_column_transformer(
        (masked, ["income", "place"]),
        remainder="passthrough",
        verbose_feature_names_out=False,
    )
    found = chosen.set_output(transform="pandas").fit_transform(frame)
    assert [*found.columns[:2]] == ["income", "place"]
    assert rarest(found[["income", "place"]]) >= 6
    assert (found["id"] == frame["id"]).all()
    own = chosen.named_transformers_["microaggregator"]
    assert [*own.get_feature_names_out()] == ["income", "place"]


def test_a_clone_is_not_fitted() -> None:
    fitted = Microaggregator(k=4, **MDAV, output={"decimals": 2}).fit(X)
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(X)


# what comes in, row by row of docs/input-commands.md

NAMED = pd.DataFrame(X, columns=["a", "b", "c"])
SHUFFLED = X[np.random.default_rng(5).permutation(len(X))]

# by the row of the page: parameters, what is fitted, what is transformed then
CASES: dict[str, tuple[dict[str, Any], Any, Any]] = {
    "an array": ({}, X, X),
    "a data frame of numbers, text and dates": ({}, mixed(), mixed()),
    "a data frame whose columns are not called by text": ({}, pd.DataFrame(X), X),
    "text in an array": ({}, [["1.0", "Smith"], ["2.0", "Jones"]], None),
    "NaN in an array": ({}, np.where(X > 2, np.nan, X), None),
    "one record": ({}, X[:1], None),
    "fewer records than k": ({"k": 50}, X, None),
    "a table whose audit fails": ({}, X, None),
    "a setting that is a parameter itself": ({"settings": {"method": "p3m"}}, X, None),
    "settings that are not a map": ({"settings": ["keep"]}, X, None),
    "an unknown way with records that were not fitted": ({"unseen": "nearst"}, X, None),
    "the records that were fitted, in another order": ({}, X, SHUFFLED),
    "records that were not fitted": ({}, X, NEW),
    "records that were not fitted, with the nearest rows": (
        {"unseen": "nearest"},
        X,
        NEW,
    ),
    "other columns than were fitted": ({}, X, X[:, :2]),
    "no records, later": ({}, NAMED, NAMED[:0]),
}


TABLE = rows_of("The estimator of scikit-learn")


def test_the_document_and_the_tests_list_the_same_inputs() -> None:
    assert list(TABLE) == list(CASES)


@pytest.mark.parametrize("name", CASES)
def test_contract(name: str, monkeypatch) -> None:
    outcome, says = TABLE[name]
    given, fitted, new = CASES[name]
    estimator = Microaggregator(k=4, **MDAV).fit(X[:9]).set_params(**given)
    if name == "a table whose audit fails":
        one_original(monkeypatch)
    if outcome == "refused":
        with pytest.raises(ValueError, match=re.escape(says)):
            estimator.fit(fitted)
        with pytest.raises(NotFittedError):
            estimator.transform(X)
        return
    released = estimator.fit_transform(fitted)
    if outcome == "refused later":
        with pytest.raises(ValueError, match=re.escape(says)):
            estimator.transform(new)
        return
    found = estimator.transform(new)
    kinds = {"masked": type(fitted), "masked, as an array": np.ndarray}
    assert type(found) is type(released) is kinds.get(outcome, np.ndarray)
    rows, there = (
        Counter(map(tuple, np.asarray(t).tolist())) for t in (found, released)
    )
    if outcome == "nearest published rows":
        assert set(rows) <= set(there)
    else:
        assert rows == there
        assert min(there.values()) >= 4


def one_original(monkeypatch) -> None:
    """Let the first record be published as it is."""
    aggregated = pipeline.aggregate_table

    def changed(given: Any, told: Any) -> Any:
        masked = aggregated(given, told)
        masked.values[0] = given.whole[0]
        return masked

    monkeypatch.setattr(pipeline, "aggregate_table", changed)


def test_fit_raises_what_the_audit_raises(monkeypatch) -> None:
    one_original(monkeypatch)
    with refused(PrivacyError, "rarest"):
        Microaggregator(k=4, **MDAV).fit(X)


@pytest.mark.parametrize(
    "given",
    [
        {"k": 1},
        {"partition": "mdaw"},
        {"aggregation": "p3n"},
        {"solver": "uno"},
        {"partition_settings": {"endin": "3k"}},
        {"output": {"digit": 3}},
        {"attributes": {"a": {"kind": "date"}}},
    ],
    ids=str,
)
def test_what_a_job_refuses_is_refused(given: dict[str, Any]) -> None:
    with refused(JobError):
        Microaggregator(**{**MDAV, **given}).fit(X)


def test_unseen_is_looked_at_when_it_matters() -> None:
    fitted = Microaggregator(k=4, **MDAV).fit(X).set_params(unseen="near")
    with refused(UnknownNameError, "'near'"):
        fitted.transform(X)


def test_text_in_an_array_is_not_quoted() -> None:
    rows = np.array([["1.0", "Smith"], ["2.0", "Jones"]], dtype=object)
    with pytest.raises(TableError) as error:
        Microaggregator(k=2).fit(rows)
    assert error.value.__suppress_context__


def test_columns_of_other_names_are_refused() -> None:
    fitted = Microaggregator(k=4, **MDAV).fit(NAMED)
    with pytest.raises(ValueError, match="feature names"):
        fitted.transform(NAMED.rename(columns={"c": "d"}))


def test_near_rows_of_ranges_are_refused():
    people = pd.DataFrame({"age": [20, 30, 60, 70], "income": [1.0, 2.0, 3.0, 4.0]})
    ranges = {"age": {"publish": "range"}}
    published = Microaggregator(k=2, attributes=ranges).fit_transform(people)
    assert set(published["age"]) == {"[20, 30]", "[60, 70]"}
    with refused(JobError, "'age'"):
        Microaggregator(k=2, attributes=ranges, unseen="nearest").fit(people)
