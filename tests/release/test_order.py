"""Who knows the quasi-identifiers of all, and the seed, does not know the order."""

import hashlib

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from tables import job, people

import aggopt
from aggopt.core.frame import compute_fingerprint
from aggopt.data.table import Table

KNOWN = ["age", "income"]


def test_a_register_and_the_seed_do_not_undo_the_shuffle(tmp_path) -> None:
    frame = people(200)
    aggopt.mask(frame, job(output={"seed": 7})).write(tmp_path / "masked.csv")
    X = np.ascontiguousarray(frame[KNOWN].to_numpy(float))
    mixed = [7, int(hashlib.sha256(X.tobytes()).hexdigest(), 16)]
    published = pd.read_csv(tmp_path / "masked.csv")["illness"].to_numpy()
    for seed in (mixed, 7):
        place = np.random.default_rng(seed).permutation(200)
        right = (published[place] == frame["illness"].to_numpy()).mean()
        assert right < 0.5  # of three values, drawn alike


def made(frame) -> str:
    roles = {"identifier": ["name"], "quasi-identifier": KNOWN}
    roles |= {"confidential": ["illness"], "other": ["note"]}
    return compute_fingerprint(
        Table.of(frame, aggopt.Job(roles=roles, privacy={"k": 3}).roles).frame
    )


@pytest.mark.parametrize("name", ["name", "illness", "note", "age"])
def test_every_column_counts(name) -> None:
    frame = people()
    first = made(frame)
    assert first == made(people())
    frame.loc[3, name] = 20 if name == "age" else "another"
    assert made(frame) != first


def test_the_order_of_columns_and_of_records_counts() -> None:
    first = made(people())
    assert made(people()[["note", *people().columns[:-1]]]) != first
    assert made(people().iloc[::-1]) != first


def test_entries_are_not_taken_for_those_of_another_column() -> None:
    one = people().assign(illness="a", note="b")
    assert made(one) != made(one.assign(illness="b", note="a"))


@pytest.mark.parametrize("kind", [pl.from_pandas, pa.Table.from_pandas])
def test_every_kind_of_table_has_one(kind) -> None:
    frame = people()
    frame.loc[0, "note"] = None
    assert made(kind(frame)) == made(kind(frame))
    assert len(made(kind(frame))) == 64
