"""What partitions that look at a confidential attribute promise, keep and refuse."""

from functools import partial

import numpy as np
import pandas as pd
import polars as pl
import pytest
from partition import reference_closeness as slow
from partition.test_published import FOLDER
from refusals import refused

from aggopt import datasets
from aggopt.errors import InfeasibleInputError, JobError, TableError, UnknownNameError
from aggopt.partition import (
    anonymity_first,
    closeness_first,
    diverse_vmdav,
    mdav,
    merge_until_close,
    vmdav,
)
from aggopt.partition.constraints import count_levels_by_group, is_diverse, read_levels

CLOSE = merge_until_close, anonymity_first, closeness_first
RNG = np.random.default_rng(5)
X = RNG.normal(size=(61, 2))
Y = RNG.normal(size=61)
EDGES = {
    "n below 2k": (X[:7], Y[:7]),
    "n is k": (X[:4], Y[:4]),
    "constant confidential": (X, np.ones(61)),
    "all distinct": (X, Y),
    "two values": (X, (Y > 1).astype(float)),
    "identical records": (np.ones((61, 2)), Y),
    "sorted alike": (Y[:, None], Y),
}


@pytest.mark.filterwarnings("ignore:.*one value only:UserWarning")
@pytest.mark.parametrize("t", [1e-9, 0.05, 0.3, 1 - 1e-9])
@pytest.mark.parametrize("edge", EDGES)
@pytest.mark.parametrize("f", CLOSE)
def test_k_and_t_always_hold(f, edge, t) -> None:
    records, y = EDGES[edge]
    labels = f(records, y, 4, t)
    places = slow.bins_of(y.tolist(), "distinct")
    groups = [np.flatnonzero(labels == g) for g in range(labels.max() + 1)]
    assert min(map(len, groups)) >= 4
    assert max(slow.emd(places, g) for g in groups) <= slow.Fraction(repr(t))


@pytest.mark.parametrize("n", range(2, 80))
def test_strata_use_up_every_record(n) -> None:
    for t in (0.1, 0.25, 0.6):  # n odd and k' = 2 among them
        for k in (1, 2):
            labels = closeness_first(np.arange(n)[:, None], np.arange(n), k, t)
            assert np.bincount(labels).min() >= k


@pytest.mark.parametrize("f", CLOSE)
@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"t": 0}, JobError),
        ({"t": 1}, JobError),
        ({"k": 62}, InfeasibleInputError),
        ({"confidential": Y[:60]}, TableError),
        ({"confidential": Y[:0]}, TableError),
        ({"confidential": np.where(Y > 1, np.nan, Y)}, TableError),
        ({"confidential": ["secret"] * 61}, TableError),
        ({"bins": "equal"}, JobError),
        ({"scale": "zz"}, UnknownNameError),
    ],
)
def test_refusals(f, change, error) -> None:
    asked = {"X": X, "confidential": Y, "k": 3, "t": 0.2, **change}
    with refused(error) as caught:
        f(**asked)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("f", CLOSE)
def test_holes_are_refused_and_objects_are_numbers(f) -> None:
    holed = pd.Series(Y).astype("Float64").mask(Y > 1)
    for values in (
        np.ma.array(Y, mask=Y > 1),
        holed,
        [None if y > 1 else y for y in Y],
    ):
        with pytest.raises(TableError, match=f"{(Y > 1).sum()} confidential values"):
            f(X, values, 3, 0.2)
    with refused(TableError, "61"):
        f(X, [[1.0], [1.0, 2.0]], 3, 0.2)
    same = f(X, Y, 3, 0.2)
    for values in (Y.astype(object), pl.Series(Y), pd.DataFrame({"wage": Y})):
        assert (f(X, values, 3, 0.2) == same).all()


@pytest.mark.parametrize("f", CLOSE)
def test_a_constant_attribute_warns(f) -> None:
    with pytest.warns(UserWarning, match="one value only") as warned:
        f(X, np.ones(61), 3, 0.2)
    assert warned[0].filename == __file__


@pytest.mark.parametrize("f", [anonymity_first, closeness_first])
def test_several_attributes_are_for_merging(f) -> None:
    with refused(JobError, "merge_until_close"):
        f(X, np.stack([Y, Y], axis=1), 3, 0.2)


def test_a_start_that_breaks_k_is_refused() -> None:
    with refused(JobError):
        merge_until_close(X, Y, 3, 0.2, initial=lambda X, k: mdav(X, 2))


@pytest.mark.parametrize("gamma", [-1, np.nan, np.inf, "2", None, True])
def test_gamma_is_refused(gamma) -> None:
    with refused(JobError):
        vmdav(X, 3, gamma=gamma)


def test_an_unknown_centroid_is_refused() -> None:
    with refused(UnknownNameError, "'x'"):
        vmdav(X, 3, centroid="x")


@pytest.mark.parametrize("diversity", ["distinct", "entropy"])
@pytest.mark.parametrize("seed", range(30))
def test_every_group_is_diverse(diversity, seed) -> None:
    rng = np.random.default_rng(seed)
    n, l = int(rng.integers(12, 120)), int(rng.integers(1, 5))  # noqa: E741
    records = rng.integers(0, 4, size=(n, 2))
    y = rng.integers(0, 1 + seed, size=n) ** 2
    levels, k = int(rng.integers(4, 12)), int(rng.integers(1, 7))
    found = read_levels(y, n, levels, None)
    call = partial(
        diverse_vmdav, records, y, l, k=k, levels=levels, diversity=diversity
    )
    if not is_diverse(np.bincount(found), l, diversity):
        with refused(InfeasibleInputError):
            call()
        return
    labels = call().labels
    assert np.bincount(labels).min() >= max(k, l)
    for counts in count_levels_by_group(labels, found):
        assert diverse_exactly(counts.tolist(), l, diversity)


def diverse_exactly(counts, l, diversity) -> bool:  # noqa: E741
    present = [c for c in counts if c]
    if diversity == "distinct":
        return len(present) >= l
    s, product = sum(present), 1
    for c in present:
        product *= c**c
    return s**s >= l**s * product


def test_the_largest_l_that_is_offered_can_be_had() -> None:
    y = np.repeat([0, 1, 2, 3], [31, 15, 10, 5])
    for diversity, most in (("distinct", 4), ("entropy", 3)):
        how = {"levels": "values", "diversity": diversity}
        with pytest.raises(InfeasibleInputError, match=f"choose l of at most {most}"):
            diverse_vmdav(X, y, most + 1, **how)
        assert diverse_vmdav(X, y, most, **how).shape == (61,)


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"boundaries": [1, 1, 2]}, JobError),
        ({"boundaries": ["a"]}, JobError),
        ({"levels": 0}, JobError),
        ({"levels": "deciles"}, JobError),
        ({"l": 0}, JobError),
        ({"l": 2.5}, JobError),
        ({"k": 62}, InfeasibleInputError),
        ({"l": 21}, InfeasibleInputError),
        ({"confidential": ["secret"] * 61}, TableError),
        ({"confidential": Y[:5]}, TableError),
        ({"confidential": np.where(Y > 1, np.nan, Y)}, TableError),
        ({"diversity": "entropic"}, UnknownNameError),
    ],
)
def test_diverse_refusals(change, error) -> None:
    asked = {"X": X, "confidential": Y, "l": 3, **change}
    with refused(error) as caught:
        diverse_vmdav(**asked)
    assert "secret" not in str(caught.value)


def test_levels_keep_ties_together() -> None:
    assert read_levels([5, 5, 5, 1, 9, 9], 6, 3, None).tolist() == [0, 0, 0, 0, 1, 1]
    assert read_levels([1, 2, 3], 3, 20, [2]).tolist() == [0, 1, 1]


# --- published figures ---

needs_data = pytest.mark.skipif(
    not (FOLDER / "CASCrefmicrodata.rda").exists(),
    reason="no reference data: set AGGOPT_DATA to the folder that holds them",
)
KS, TS = (2, 5, 10, 15, 20, 25, 30), (0.01, 0.05, 0.09, 0.13, 0.17, 0.21, 0.25)
TABLE_III = [[49, 10, 6, 4, 3, 3, 2], [49, 10, 6, 5, 5, 5, 5]]
TABLE_III += [[49, *[k] * 6] for k in KS[2:]]


@needs_data
@pytest.mark.parametrize("name", ["FICA", "FEDTAX"])
def test_table_iii(name) -> None:
    census = datasets.census()
    records, y = census[["TAXINC", "POTHVAL"]].to_numpy(float), census[name].to_numpy()
    for k, row in zip(KS, TABLE_III, strict=True):
        for t, published in zip(TS, row, strict=True):
            made = np.bincount(closeness_first(records, y, k, t, bins="rank"))
            assert (made.min(), 1080 // len(made)) == (published, published)


@needs_data
def test_vmdav_and_diverse_vmdav_on_census() -> None:
    Z = datasets.census().to_numpy(float)
    Z = (Z - Z.mean(axis=0)) / Z.std(axis=0)
    assert loss(Z, vmdav(Z, 3)) == pytest.approx(5.6619, abs=5e-5)
    assert loss(Z, vmdav(Z, 3, centroid="remaining")) == pytest.approx(5.6536, abs=5e-5)
    labels = diverse_vmdav(Z[:, :-1], Z[:, -1], 5, diversity="entropy")
    assert loss(Z[:, :-1], labels) == pytest.approx(14.148, abs=5e-4)


def loss(Z, labels) -> float:
    centroids = np.array([Z[labels == g].mean(axis=0) for g in range(labels.max() + 1)])
    return float(100 * ((Z - centroids[labels]) ** 2).sum() / Z.size)
