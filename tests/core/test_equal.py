"""Results are equal field by field, whatever arrays they hold; all can be hashed."""

import copy
import importlib
import pickle
import pkgutil
from dataclasses import fields, is_dataclass, replace
from typing import get_args, get_origin, get_type_hints

import numpy as np
import pytest
from tables import job, people, wide, wide_job

import aggopt
from aggopt.aggregate import mean
from aggopt.core.equality import are_equal
from aggopt.partition import Partition

X = np.random.default_rng(0).normal(size=(40, 2))
LABELS = np.arange(40) // 4


def results():
    release = aggopt.mask(people(30), job(aggregation={"method": "p3m"}))
    blocks = aggopt.mask(wide(), wide_job(partition={"method": "individual_ranking"}))
    own = np.stack([LABELS, np.minimum(LABELS, 5)], axis=1)  # nan below the last
    return {
        "release": release,
        "blocks": blocks,
        "table": release.masked,
        "block": release.blocks[0],
        "audit": release.audit,
        "measures": release.measures,
        "source": release.source,
        "certificate": release.certificates["age"],
        "aggregation": mean(X, LABELS),
        "own labels": mean(X, own),
    }


@pytest.fixture(scope="module")
def made():
    return results()


NAMES = (
    *("release", "blocks", "table", "block", "audit", "measures", "source"),
    *("certificate", "aggregation", "own labels"),
)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_equals_its_copy_and_has_its_hash(made, name):
    one = made[name]
    for other in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert (one == other) is True
        assert hash(one) == hash(other)
    assert (one == 3) is False
    assert (one != "x") is True


def test_results_of_other_values_differ(made):
    one = made["aggregation"]
    assert one != replace(one, centroids=one.centroids + 1e-12)
    assert one != replace(one, labels=one.labels[:-1])
    block = made["block"]
    assert block != replace(block, columns=(7,))
    proof = replace(block.certificate, seconds=-1.0)
    assert block != replace(block, partition=Partition(block.labels, proof))
    release = made["release"]
    other = release.masked.with_values(release.masked.matrix() + 1)
    assert release != replace(release, masked=other)
    assert release != made["blocks"]


@pytest.mark.parametrize("kind", ["pandas", "polars", "pyarrow", "numpy"])
def test_releases_of_every_kind_of_table_can_be_compared(kind):
    frame = people(30).assign(note=[np.nan, *range(29)])
    table = {
        "pandas": lambda: frame,
        "polars": lambda: pytest.importorskip("polars").from_pandas(frame),
        "pyarrow": lambda: pytest.importorskip("pyarrow").Table.from_pandas(frame),
        "numpy": lambda: X,
    }[kind]()
    asked = job()
    if kind == "numpy":
        roles = {"quasi-identifier": ["0", "1"]}
        asked = aggopt.Job(roles=roles, privacy={"k": 3})
    release = aggopt.mask(table, asked)
    assert release == pickle.loads(pickle.dumps(release))
    assert release.masked == aggopt.mask(table, asked).masked


def test_what_is_the_same():
    a = np.array([1.0, np.nan])
    assert are_equal((a, {"x": [a]}), (a.copy(), {"x": [a.copy()]}))
    assert are_equal(float("nan"), float("nan"))
    for one, other in [
        (a, a[:1]),
        (a, 1.0),
        (1.0, a),
        ((1,), [1]),
        ([1], [1, 2]),
        ({"a": 1}, {"b": 1}),
        (a, np.array([1.0, 2.0])),
        (float("nan"), 1.0),
    ]:
        assert not are_equal(one, other)


def dataclasses_of_the_package():
    for found in pkgutil.walk_packages(aggopt.__path__, "aggopt."):
        if not found.name.endswith("__main__"):
            module = importlib.import_module(found.name)
            for value in vars(module).values():
                if is_dataclass(value) and isinstance(value, type):
                    yield value


def holds_arrays(kind):
    hints = get_type_hints(kind)
    return any(of_arrays(hints[f.name]) for f in fields(kind) if f.compare)


def of_arrays(hint):
    plain = np.ndarray in (hint, get_origin(hint))
    return plain or any(map(of_arrays, get_args(hint)))


def test_no_dataclass_that_holds_arrays_has_the_comparison_that_fails():
    """`@dataclass` compares tuples of fields, which arrays in them make fail."""
    wrong = {
        kind.__qualname__ + " in " + kind.__module__
        for kind in dataclasses_of_the_package()
        if holds_arrays(kind) and kind.__dataclass_params__.eq
    }
    assert not sorted(wrong), "write @dataclass(frozen=True, eq=False)"
