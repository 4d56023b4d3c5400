"""Refusals of requirements and their values, and the warning of one value."""

import os
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest
from privacy.test_closeness import TREE
from refusals import refused

from aggopt.errors import AggoptError
from aggopt.privacy import (
    distinct_l,
    epsilon_m,
    find_groups,
    n_t_closeness,
    recursive_cl,
)
from aggopt.privacy import t_closeness as t
from aggopt.privacy.distance import read_threshold, require_exact
from aggopt.privacy.exact_order import Numbers, select_epsilon
from aggopt.privacy.models.dissimilarity import Dissimilarity
from aggopt.privacy.models.epsilon_m import Proximity
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.p_sensitive import Sensitivity
from aggopt.privacy.nested import read_parents
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.privacy.value_levels import assign_levels

G, V = [0, 0, 1], [1, 2, 3]
NO_COLUMN = pd.DataFrame(index=[0, 1, 2])
LISTS = pd.DataFrame({"a": [[1], [2], [3]]})
CODES = np.array([0, 0, 0, 1, 1, 2])
CROWDED = Numbers.of([7, 8, 9], np.array([0, 0, 0, 0, 1, 2]))


def infeasible(requirement):
    raise requirement.explain_infeasible(2)


REFUSED = {
    "a distance that is none": lambda: t(G, V, distance="ordinal"),
    "a distance that is no text": lambda: t(G, V, distance=7),
    "bins that are none": lambda: t(G, V, bins="ranks"),
    "bins that are no text": lambda: t(G, V, bins=7),
    "bins without an order": lambda: t(G, V, bins="rank", distance="equal"),
    "an order without use": lambda: t(G, V, order=[1], distance="equal"),
    "a tree without use": lambda: t(G, V, tree=TREE),
    "no tree": lambda: t(G, V, distance="hierarchical"),
    "a tree that is none": lambda: read_parents([1]),
    "a tree that is empty": lambda: read_parents({}),
    "a tree of two kinds": lambda: read_parents({"a": [1], 1: "b"}),
    "a node named twice": lambda: read_parents({"a": [1], "b": [1]}),
    "a branch that is empty": lambda: read_parents({"a": [], "b": [1]}),
    "a branch of no shape": lambda: read_parents({"a": np.array([]), "b": [1]}),
    "a node that is no name": lambda: read_parents({"a": [[1]]}),
    "two roots": lambda: read_parents({1: "a", 2: "b"}),
    "a circle": lambda: read_parents({1: "a", 2: 3, 3: 2}),
    "values that are no leaves": lambda: t(
        G, ["a", "flu", "b"], distance="hierarchical", tree=TREE
    ),
    "values that are not in the order": lambda: t(G, ["a", "b", "c"], order=["a"]),
    "an order that is none": lambda: t(G, V, order=5),
    "an order of lists": lambda: t(G, V, order=[[1], 2]),
    "an order with holes": lambda: t(G, V, order=[1, None]),
    "an order of nothing": lambda: t(G, V, order=[]),
    "an order of no shape": lambda: t(G, V, order=np.array([])),
    "an order that repeats": lambda: t(G, V, order=[1, 1]),
    "missing that is none of the ways": lambda: t(G, V, missing="drop"),
    "missing that is no text": lambda: t(G, V, missing=7),
    "values missing": lambda: t(G, [1, None, None]),
    "missing in an order": lambda: t(
        G, [1, None, 2], missing="own value", order=[1, 2]
    ),
    "text without an order": lambda: t(G, ["a", "b", 1]),
    "infinite values": lambda: t(G, np.array([1, np.inf, -np.inf], object)),
    "another number of values": lambda: t(G, [1, 2]),
    "labels with holes": lambda: t(np.ma.masked_equal([0, 0, 1], 1), V),
    "no labels": lambda: t([], V),
    "values of no shape": lambda: t(G, 7),
    "no value column": lambda: t(G, NO_COLUMN),
    "no group column": lambda: find_groups(NO_COLUMN),
    "no records": lambda: find_groups(pd.DataFrame({"a": []})),
    "lists": lambda: find_groups(LISTS),
    "groups of no shape": lambda: find_groups(7),
    "no table": lambda: find_groups(pl.LazyFrame({"a": V})),
    "c of nothing": lambda: recursive_cl(G, V, 0),
    "c that is no number": lambda: recursive_cl(G, V, "3"),
    "t beyond": lambda: read_threshold(1.5),
    "t that is no number": lambda: read_threshold("0.1"),
    "too many records": lambda: require_exact(3_000_000, 2_000_000),
    "one level": lambda: assign_levels(np.array(V), 1),
    "ends that do not ascend": lambda: assign_levels(np.array(V), [2, 1]),
    "labels where neighbours count": lambda: n_t_closeness(G, V, 2),
    "no column where neighbours count": lambda: n_t_closeness(NO_COLUMN, V, 2),
    "missing where neighbours count": lambda: n_t_closeness(
        [[1.0], [2.0]], [1, None], 1, missing="own value"
    ),
    "n of nothing": lambda: n_t_closeness([[1.0], [2.0]], [1, 2], 0),
    "n that is no number": lambda: n_t_closeness([[1.0], [2.0]], [1, 2], "2"),
    "n beyond": lambda: n_t_closeness([[1.0], [2.0]], [1, 2], 3),
    "rows of no table": lambda: n_t_closeness([["a"], ["b"]], [1, 2], 1),
    "a table of text": lambda: n_t_closeness(
        pd.DataFrame({"a": ["x", "y"]}), [1, 2], 1
    ),
    "rows of unequal length": lambda: n_t_closeness([[1.0], [2.0, 3]], [1, 2], 1),
    "ordered: two columns": lambda: Ordered.read(pd.DataFrame({"a": V, "b": V})),
    "ordered: no shape": lambda: Ordered.read(7),
    "ordered: missing": lambda: Ordered.read([1, None, 2]),
    "ordered: words": lambda: Ordered.read(["a", "b", 1]),
    "ordered: shape": lambda: Ordered.of([[1, 2]]),
    "ordered: text": lambda: Ordered.of(["a", "b"]),
    "ordered: holes": lambda: Ordered.of([1.0, np.nan, np.inf]),
    "a named attribute": lambda: distinct_l(G, pd.DataFrame({"x": [1, None, 2]})),
    "a named series": lambda: distinct_l(G, pd.Series([1, None, 2], name="pay")),
    "a series without a name": lambda: distinct_l(G, pd.Series([1, None, 2])),
    "a column of an array": lambda: distinct_l(G, [[1, 2], [3, None], [4, 5]]),
    "ordered: infinite": lambda: Ordered.read([1.0, np.inf, 2.0]),
    "epsilon below nothing": lambda: epsilon_m(G, V, -1),
    "epsilon that is no number": lambda: epsilon_m(G, V, "1"),
    "relative that is no truth value": lambda: epsilon_m(G, V, 1, relative="no"),
    "numbers that are none": lambda: epsilon_m(G, [1, "a", np.inf], 1),
    "no epsilon of an attribute": lambda: select_epsilon({"a": 1}, "b", "proximity"),
    "infeasible: m": lambda: infeasible(Proximity("pay", CROWDED, Fraction(0), 2)),
    "infeasible: delta": lambda: infeasible(
        Dissimilarity("pay", CROWDED, Fraction(1, 2), Fraction(1))
    ),
    "infeasible: m of one crowd": lambda: infeasible(
        Proximity("pay", Numbers.of([1, 2, 3, 4], np.arange(4)), Fraction(1), 3)
    ),
    "infeasible: p of one value": lambda: infeasible(Sensitivity("pay", CODES * 0, 2)),
    "infeasible: p": lambda: infeasible(Sensitivity("pay", CODES, 4)),
    "infeasible: l": lambda: infeasible(Diversity("pay", CODES, 4)),
    "infeasible: l of one value": lambda: infeasible(Diversity("pay", CODES * 0, 2)),
    "infeasible: l of levels": lambda: infeasible(Diversity("pay", CODES, 4, values=9)),
    "infeasible: entropy": lambda: infeasible(Diversity("pay", CODES, 3, "entropy")),
    "infeasible: recursive": lambda: infeasible(
        Diversity("pay", CODES, 3, "recursive", 1.5)
    ),
    "a named quasi-identifier": lambda: find_groups(LISTS.rename(columns={"a": "age"})),
}


@pytest.mark.parametrize("case", REFUSED)
def test_it_is_refused(case):
    with refused(AggoptError):
        REFUSED[case]()


def test_one_value_is_warned_of_with_its_names():
    both = pd.DataFrame({"x": [7, 7, 7], "y": [8, 8, 8]})
    with pytest.warns(UserWarning, match="one value only") as warned:
        t(G, both)
    assert [str(w.message) for w in warned] == [
        "'x', 'y': one value only, so that every group is at distance 0 and the value "
        "of each person is known."
    ]
    with pytest.warns(UserWarning, match="^The confidential attribute: one value"):
        t(G, [7, 7, 7])


@pytest.mark.skipif(
    "MUTANT_UNDER_TEST" in os.environ, reason="mutmut's own calls stand between"
)
def test_the_warning_points_at_the_caller():
    with pytest.warns(UserWarning, match="one value only") as warned:
        t(G, [7, 7, 7])
    assert warned[0].filename == __file__
