"""Levels as points: squared distances are the lengths of paths in the tree."""

from typing import Any

import numpy as np
import pytest
from encoding.walked import path_length
from refusals import refused

from aggopt.encoding.domain import Domain, sort_distinct
from aggopt.encoding.levels import TableOfDistances
from aggopt.errors import JobError
from aggopt.privacy.nested import read_parents

UNEVEN = read_parents(
    {
        "lung": ["flu", "asthma"],
        "heart": {"left": ["attack", "weak"], "right": {"deep": ["rare"]}},
        "skin": ["rash"],
    }
)


@pytest.mark.parametrize(
    "tree",
    [
        {"lung": ["flu", "*"], "heart": ["attack"]},
        {"*": ["flu"], "heart": ["attack"]},
        {"lung": {"*": ["flu"]}, "heart": ["attack"]},
    ],
)
def test_no_node_of_a_nested_tree_is_called_as_its_root(tree: dict[str, Any]) -> None:
    with refused(JobError):
        Domain.hierarchical(read_parents(tree))


def random_tree(rng: np.random.Generator, size: int) -> dict[int, int]:
    """Return parents of 1..size; 0 is the root."""
    return {node: int(rng.integers(node)) for node in range(1, size + 1)}


def squared(points: np.ndarray) -> np.ndarray:
    """Return squared distances of points (nodes, edges)."""
    return ((points[:, None] - points) ** 2).sum(axis=2)


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_levels_of_a_star_are_1_apart(m: int) -> None:
    domain = Domain.nominal(range(m))
    expected = 1.0 - np.eye(m)
    np.testing.assert_array_equal(domain.distances, expected)
    np.testing.assert_allclose(squared(domain.points), expected, atol=1e-12)


@pytest.mark.parametrize("m", [1, 2, 3, 7])
def test_levels_of_an_order_are_as_far_apart_as_their_ranks(m: int) -> None:
    domain, rank = Domain.ordinal(range(m)), np.arange(m)
    expected = np.abs(rank[:, None] - rank) / max(m - 1, 1)
    np.testing.assert_array_equal(domain.distances, expected)
    np.testing.assert_allclose(squared(domain.points), expected, atol=1e-12)
    assert domain.points.shape == (m, m - 1)


@pytest.mark.parametrize("seed", range(8))
def test_all_nodes_of_a_tree_are_as_far_apart_as_its_paths_are_long(seed: int) -> None:
    rng = np.random.default_rng(seed)
    parent = random_tree(rng, int(rng.integers(1, 25)))
    domain = Domain.hierarchical(parent)
    expected = np.array(
        [[float(path_length(u, v, parent)) for v in domain.nodes] for u in domain.nodes]
    )
    np.testing.assert_allclose(domain.distances, expected, rtol=0, atol=1e-12)
    np.testing.assert_allclose(squared(domain.points), expected, rtol=0, atol=1e-12)
    assert domain.steps.tolist() == np.rint(domain.steps).tolist()
    leaves = set(parent) - set(parent.values())
    assert set(domain.levels) == leaves


def test_leaves_are_as_far_apart_as_their_common_ancestor_is_high() -> None:
    domain = Domain.hierarchical(UNEVEN)
    at = {name: j for j, name in enumerate(domain.nodes)}
    apart = domain.distances
    assert apart[at["flu"], at["asthma"]] == pytest.approx(1 / 4)
    assert apart[at["attack"], at["weak"]] == pytest.approx(1 / 4)
    assert apart[at["attack"], at["rare"]] == pytest.approx(3 / 4)
    assert apart[at["flu"], at["rash"]] == 1
    assert domain.nodes[-1] == "*"


def test_no_coordinate_is_of_no_edge() -> None:
    domain = Domain.hierarchical(UNEVEN)
    assert domain.points.any(axis=0).all()
    assert domain.points.shape == (len(domain.nodes), len(UNEVEN))


def test_levels_have_an_order_that_only_they_decide() -> None:
    assert sort_distinct({"b", "a"}) == ["a", "b"]
    assert sort_distinct({3, "a", 1}) == [1, 3, "a"]
    names = Domain.hierarchical(dict(reversed(UNEVEN.items()))).nodes
    assert names == Domain.hierarchical(UNEVEN).nodes


def test_no_name_is_shown() -> None:
    assert repr(Domain.nominal(["secret"])) == "Domain(kind='nominal', m=1)"


@pytest.mark.parametrize(
    "domain",
    [
        Domain.nominal("abcdef"),
        Domain.ordinal("abcdef"),
        Domain.hierarchical(UNEVEN),
        TableOfDistances.of({"p": {"q": 1.0, "r": 2.0}, "q": {"r": 1.5}}),
    ],
    ids=["star", "path", "tree", "distances"],
)
def test_coordinates_are_those_that_differ_between_nodes(domain: Domain) -> None:
    rng = np.random.default_rng(0)
    for size in range(1, domain.m + 1):
        there = rng.choice(domain.m, size)
        points = domain.points[there]
        differing = (points != points[0]).any(axis=0)
        assert domain.count_coordinates(there) == differing.sum()
        assert (domain.apart(there) == domain.points[:, differing]).all()
