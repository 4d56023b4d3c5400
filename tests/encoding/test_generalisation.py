"""Losses of true statements: each by its definition, from the tree or the values."""

import numpy as np
import pandas as pd
import pytest

from aggopt import encode
from aggopt.encoding.generalisation import generalise, generalise_numbers
from aggopt.encoding.generalisation_rule import GeneralisationRule
from aggopt.errors import JobError, TableError, UnknownNameError
from aggopt.privacy.nested import compute_heights

TREE = {  # uneven: rash is directly below a child of the root
    **{"flu": "lung", "asthma": "lung", "attack": "left", "weak": "left"},
    **{"rare": "deep", "deep": "heart", "left": "heart", "rash": "skin"},
    **{"lung": "any", "heart": "any", "skin": "any"},
}
NAMES = ["flu", "asthma", "attack", "weak", "rare", "rash"]


def ancestors(leaf, parent):
    way = [leaf]
    while way[-1] in parent:
        way.append(parent[way[-1]])
    return way


def node_loss(values, parent, cost):
    """Return the loss of the lowest node above all values, from its definition."""
    if len(set(values)) == 1:
        return 0.0
    root = next(iter(set(parent.values()) - set(parent)))
    if None in values:
        return 1.0
    shared = set.intersection(*(set(ancestors(v, parent)) for v in values))
    node = next(v for v in ancestors(values[0], parent) if v in shared)
    if isinstance(cost, dict):
        return cost[node]
    if cost == "height":
        height = compute_heights(parent)
        return height[node] / height[root]
    leaves = set(parent) - set(parent.values())
    below = sum(node in ancestors(v, parent) for v in leaves)
    return (below - 1) / (len(leaves) - 1)


def losses_of(frame, types, rule, groups):
    encoded = encode(frame, {"a": types})
    labels = np.empty(len(frame), np.intp)
    for g, rows in enumerate(groups):
        labels[rows] = g
    return generalise(encoded, {"a": rule}).compute_group_losses(labels)


OWN = {"lung": 0.1, "left": 0.2, "deep": 0.0, "heart": 0.5, "skin": 0.7, "any": 0.9}


@pytest.mark.parametrize("cost", ["leaves", "height", OWN])
@pytest.mark.parametrize("holes", [False, True])
def test_a_group_publishes_the_lowest_node_above_all_its_values(cost, holes):
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = list(rng.choice([*NAMES, None] if holes else NAMES, 12))
        groups = np.split(rng.permutation(12), np.sort(rng.choice(11, 3, False) + 1))
        types = {"tree": TREE, "missing": "own value" if holes else "refuse"}
        found = losses_of(
            pd.DataFrame({"a": values}), types, GeneralisationRule(cost=cost), groups
        )
        expected = [node_loss([values[i] for i in g], TREE, cost) for g in groups]
        if isinstance(cost, dict) and holes:  # a hole and a value share the root alone
            expected = [0.9 if e == 1.0 else e for e in expected]
        np.testing.assert_allclose(found, expected, rtol=1e-15)


def test_names_are_suppressed_unless_equal():
    frame = pd.DataFrame({"a": ["x", "x", "y", None, None, "x"] * 2})
    groups = [[0, 1, 6], [2, 8], [3, 4, 9], [5, 10], [7, 11]]
    types = {"kind": "nominal", "missing": "own value"}
    found = losses_of(frame, types, GeneralisationRule(), groups)
    assert found.tolist() == [0.0, 0.0, 0.0, 1.0, 0.0]


def test_an_order_publishes_ranks_among_all_its_levels():
    frame = pd.DataFrame({"a": ["low", "high", "high", "low", "mid", "mid"]})
    order = {"order": ["none", "low", "mid", "high", "top"]}
    found = losses_of(frame, order, GeneralisationRule(), [[0, 1], [2, 4], [3], [5]])
    assert found.tolist() == [0.5, 0.25, 0.0, 0.0]


def test_a_number_publishes_its_range():
    frame = pd.DataFrame({"a": [0.0, 10.0, 4.0, 9.0, 1.0]})
    found = losses_of(frame, {}, GeneralisationRule(), [[0, 4], [1, 2, 3]])
    np.testing.assert_allclose(found, [0.1, 0.6], rtol=1e-15)


def test_a_number_publishes_the_nearest_cut_points_around_the_group():
    frame = pd.DataFrame({"a": [0, 4, 5, 5, 9, 10, 30, 39, 40, 20]})
    groups = [[0, 1], [2, 3], [4, 5], [6, 8], [7, 9]]
    rule = GeneralisationRule(cuts=[0, 5, 10, 40])
    found = losses_of(frame, {}, rule, groups)
    assert found.tolist() == [5 / 40, 0.0, 35 / 40, 30 / 40, 30 / 40]


def test_statements_are_the_closed_hulls_and_each_position_has_a_record():
    frame = pd.DataFrame({"a": [1, 3, 6, 7, 30, 31]})
    table = generalise(encode(frame), {"a": GeneralisationRule(cuts=[0, 5, 10, 40])})
    (attribute,) = table.attributes
    wide = attribute.hulls[attribute.hulls[:, 0] < attribute.hulls[:, 1]].tolist()
    assert sorted(wide) == [[0, 1], [0, 3], [0, 5], [2, 3], [2, 5], [4, 5]]
    assert sorted(set(attribute.positions.tolist())) == list(range(attribute.m))


def test_a_larger_group_loses_no_less_and_weights_count():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {"a": rng.choice(NAMES, 30), "b": rng.normal(size=30), "c": rng.choice(3, 30)}
    )
    types = {"a": {"tree": TREE}, "c": {"kind": "nominal"}}
    table = generalise(encode(frame, types), {"a": GeneralisationRule(weight=3.0)})
    fine, coarse = np.arange(30) // 3, np.arange(30) // 15
    per_record = table.compute_group_losses(fine)[fine]
    assert (table.compute_group_losses(coarse)[coarse] >= per_record).all()
    assert table.largest_loss == 30 * 5
    assert table.compute_loss(np.zeros(30, int)) == pytest.approx(
        30 * (3 * node_loss(list(frame.a), TREE, "leaves") + 2)
    )
    times = rng.integers(1, 4, 30)
    assert table.compute_loss(fine, times) == pytest.approx(times @ per_record)
    assert table.compute_loss(fine) == pytest.approx(per_record.sum())


def test_numbers_alone_publish_ranges_of_any_size():
    X = np.array([[0.0, -1e300], [1.0, 1e300], [3.0, 0.0], [4.0, 1e300]])
    table = generalise_numbers(X)
    np.testing.assert_allclose(
        table.compute_group_losses([0, 0, 1, 1]), [0.25 + 1.0, 0.25 + 0.5]
    )
    flat = generalise_numbers(np.full((4, 1), 7.0))
    assert flat.compute_loss([0, 0, 0, 0]) == 0.0


def refused(rule, types=None, values=(1, 2, 3, 4)):
    frame = pd.DataFrame({"a": list(values)})
    with pytest.raises((JobError, TableError)) as error:
        generalise(encode(frame, {"a": types} if types else None), {"a": rule()})
    assert str(error.value).startswith("Attribute 'a': ")
    return str(error.value)


def test_statements_without_a_meaning_are_refused():
    tree = {"tree": TREE}
    names = ["flu", "rash", "flu", "rash"]
    text = refused(lambda: GeneralisationRule("interval"), tree, names)
    assert "ancestor" in text
    assert "without cuts" in refused(lambda: GeneralisationRule("interval"))
    assert "with cuts" in refused(lambda: GeneralisationRule("range", cuts=[0, 5]))
    assert "ascending" in refused(lambda: GeneralisationRule(cuts=[0, 5, 5]))
    assert "2 values of 4 outside" in refused(lambda: GeneralisationRule(cuts=[2, 3.5]))
    distances = {"distances": {"x": {"y": 1.0}}}
    text = refused(GeneralisationRule, distances, ["x", "y", "x", "y"])
    assert "give it a tree" in text
    falling = {**OWN, "heart": 0.1}
    assert "fall" in refused(lambda: GeneralisationRule(cost=falling), tree, names)
    part = {"lung": 0.1, "limb": 1.0}
    text = refused(lambda: GeneralisationRule(cost=part), tree, names)
    assert "leave out 5 inner nodes of the tree, and 1" in text
    text = refused(lambda: GeneralisationRule(cost={**OWN, "any": np.nan}), tree, names)
    assert "no finite number" in text
    with pytest.raises(UnknownNameError, match="did you mean 'leaves'"):
        GeneralisationRule(cost="leafs")
    for wrong in (0.0, np.inf, "2"):
        with pytest.raises(JobError, match="weight = "):
            GeneralisationRule(weight=wrong)
    with pytest.raises(UnknownNameError, match="attribute"):
        generalise(encode(pd.DataFrame({"a": [1, 2]})), {"b": GeneralisationRule()})
