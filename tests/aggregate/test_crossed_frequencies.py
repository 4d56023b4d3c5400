"""Tables of pairs of categories, and of categories beside what is published, kept."""

import re
from collections import Counter
from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from refusals import refused

import aggopt
from aggopt.aggregate import crossed_frequencies, frequencies
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.solvers import Status

LEVELS = ["low", "middle", "high"]


def people(seed, n=9):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n)})
    frame["school"] = rng.choice(LEVELS, n)
    frame["pay"] = rng.choice([1, 2], n)
    return frame, rng.permutation(np.arange(n) // 3)


def encoded(frame):
    return aggopt.encode(frame[["sex", "school"]], {"school": {"order": LEVELS}})


def off(before, after):
    """Return by how many records two tables of values differ, cell by cell."""
    one, two = Counter(before), Counter(after)
    return [abs(one[cell] - two[cell]) for cell in {*one, *two}]


def apart(one, two):
    return (one[0] != two[0]) + abs(LEVELS.index(one[1]) - LEVELS.index(two[1])) / 2


def best(frame, groups, *, price=None, slack=None, beside=None):
    """Return the least objective of all choices of pairs that occur."""
    own = list(zip(frame["sex"], frame["school"], strict=True))
    pairs, least = sorted(set(own)), np.inf
    rows = [()] * len(own) if beside is None else list(zip(beside, strict=True))
    for chosen in product(pairs, repeat=3):
        values = [chosen[g] for g in groups]
        cost = sum(map(apart, own, values))
        table = off(
            [(*o, *r) for o, r in zip(own, rows, strict=True)],
            [(*v, *r) for v, r in zip(values, rows, strict=True)],
        )
        if price is not None:
            least = min(least, cost + price * sum(table))
        elif max(table) <= slack:
            least = min(least, cost)
    return least


@pytest.mark.parametrize("solver", ["slots", "cvxpy:highs"])
@pytest.mark.parametrize("how", [{}, {"price": 0.3}, {"slack": 3}])
@pytest.mark.parametrize("seed", [0, 1])
def test_no_pairs_that_occur_keep_their_table_at_less(solver, how, seed):
    frame, groups = people(seed)
    found = crossed_frequencies(encoded(frame), groups, solver=solver, **how)
    least = best(frame, groups, **(how or {"price": 1.0}))
    proof = found.certificate
    if not np.isfinite(least):
        assert proof.status is Status.INFEASIBLE
        return
    assert proof.objective == pytest.approx(least)
    assert proof.bound == pytest.approx(least)
    assert proof.status is Status.OPTIMAL
    assert set(map(tuple, found.values)) <= set(
        zip(frame["sex"], frame["school"], strict=True)
    )
    assert [each.certificate for each in found.attributes] == [proof, proof]


@pytest.mark.parametrize("seed", [2, 3])
def test_pairs_are_kept_beside_what_is_published_too(seed):
    frame, groups = people(seed)
    E = encoded(frame)
    found = crossed_frequencies(
        [E.attribute("sex"), E.attribute("school")], groups, with_=frame["pay"]
    )
    least = best(frame, groups, price=1.0, beside=frame["pay"])
    assert found.certificate.objective == pytest.approx(least)


@pytest.mark.parametrize("how", [{}, {"price": 0.3}, {"slack": 2}])
@pytest.mark.parametrize("seed", range(3))
def test_no_categories_keep_their_table_with_what_is_published_at_less(how, seed):
    frame, groups = people(seed, 12)
    own, beside, least = frame["school"].tolist(), frame["pay"].tolist(), np.inf
    before = list(zip(own, beside, strict=True))
    for chosen in product(LEVELS, repeat=4):
        values = [chosen[g] for g in groups]
        pairs = zip(own, values, strict=True)
        cost = sum(apart(("x", one), ("x", two)) for one, two in pairs)
        table = off(before, zip(values, beside, strict=True))
        if "slack" in how:
            least = min(least, cost) if max(table) <= how["slack"] else least
        else:
            least = min(least, cost + how.get("price", 1.0) * sum(table))
    found = frequencies(own, groups, order=LEVELS, with_=beside, **how)
    if not np.isfinite(least):
        assert found.certificate.status is Status.INFEASIBLE
        return
    assert found.certificate.objective == pytest.approx(least)
    assert found.certificate.status is Status.OPTIMAL


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame, np.asarray])
def test_what_is_beside_may_be_a_table_and_numbers_count_by_fifths(kind):
    frame, groups = people(4, 60)
    pay = np.random.default_rng(0).permutation(60) * 1000.0
    fifths = pay // 12000
    table = np.stack([pay, frame["pay"]], axis=1)
    beside = kind(table) if kind is np.asarray else kind({"a": pay, "b": frame["pay"]})
    told = {"time_limit": 600.0, "price": 0.2}
    found = frequencies(frame["sex"], groups, with_=beside, **told)
    same = frequencies(
        frame["sex"],
        groups,
        with_=pd.DataFrame({"a": fifths, "b": frame["pay"].astype(str)}),
        **told,
    )
    assert found.certificate.objective == same.certificate.objective
    assert (found.values == same.values).all()


def test_what_is_missing_beside_is_a_value():
    frame, groups = people(5)
    holed = frame["pay"].astype(float).where(frame["pay"] > 1)
    filled = holed.fillna(9)
    one, two = (frequencies(frame["sex"], groups, with_=w) for w in (holed, filled))
    assert one.certificate.objective == two.certificate.objective


@pytest.mark.parametrize(
    ("attributes", "how", "error"),
    [
        (["sex"], {}, JobError),
        (["sex", "pay"], {}, JobError),
        (["sex", "school"], {"with_": ["a"] * 5}, TableError),
        (["sex", "school"], {"with_": list(map(str, range(9)))}, JobError),
        (["sex", "school"], {"slack": "exact"}, InfeasibleInputError),
        (["sex", "school"], {"slack": 1, "price": 1.0}, JobError),
    ],
)
def test_what_makes_no_sense_is_refused(attributes, how, error):
    frame, groups = people(0)
    E = aggopt.encode(frame, {"school": {"order": LEVELS}})
    with refused(error):
        crossed_frequencies([E.attribute(name) for name in attributes], groups, **how)


def test_columns_that_are_not_encoded_are_refused_and_no_category_is_shown():
    frame, groups = people(0)
    with refused(JobError):
        crossed_frequencies(frame, groups)
    found = crossed_frequencies(encoded(frame), groups)
    shown = repr(found) + re.sub(r' style="[^"]*"', "", found._repr_html_())
    assert "low" not in shown
