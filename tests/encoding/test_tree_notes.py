"""What looks odd in a tree is told, with counts and without names."""

import pandas as pd
import pytest

import aggopt
from aggopt.encoding import Domain
from aggopt.encoding.domain import describe_odd_branches

LOOK = ": look whether a name is spelled in two ways."
ONE = "1 branch of the tree has one value only"


def tree(**branches: str) -> Domain:
    """Return branches, by name, of the values in their letters."""
    parent = {value: name for name, values in branches.items() for value in values}
    return Domain.hierarchical(parent | dict.fromkeys(branches, "*"))


@pytest.mark.parametrize(
    ("domain", "note"),
    [
        (tree(Europe="ab", Asia="cd"), ""),
        (tree(Europe="ab", Asia="c"), ONE + LOOK),
        (
            tree(Europe="ab", Europa="c", Asia="de"),
            f"{ONE}; its name and a name beside it differ by a letter or less{LOOK}",
        ),
        (
            tree(Europe="ab", EUROPE="c", Asia="d"),
            "2 branches of the tree have one value only; names of 1 of them and a name "
            f"beside it differ by a letter or less{LOOK}",
        ),
        (
            tree(Europe="ab", Europes="c"),
            f"{ONE}; its name and a name beside it differ by a letter or less{LOOK}",
        ),
        (tree(from10to19="ab", from20to19="c"), ONE + LOOK),
        (tree(level="ab", level2="c"), ONE + LOOK),
        (tree(Europe="ab", Eurasia="c"), ONE + LOOK),
        (tree(Europe="ab", Europeans="c"), ONE + LOOK),
        (Domain.nominal(["Europe", "Europa"]), ""),
        (Domain.ordinal(["Europe", "Europa"]), ""),
    ],
)
def test_branches_of_one_value_are_noted(domain: Domain, note: str) -> None:
    assert describe_odd_branches(domain) == note


def test_names_alike_below_other_nodes_are_none() -> None:
    parent = {"a": "Europe", "b": "Europe", "c": "Europa", "Europe": "x", "e": "y"}
    parent |= {"Europa": "y", "x": "*", "y": "*"}
    assert describe_odd_branches(Domain.hierarchical(parent)) == ONE + LOOK


def test_a_level_at_the_root_is_no_branch() -> None:
    assert describe_odd_branches(Domain.hierarchical({"a": "*", "b": "*"})) == ""


def test_encode_has_the_note() -> None:
    frame = pd.DataFrame({"place": ["a", "b", "c"] * 2})
    types = {"place": {"tree": {"Europe": ["a", "b"], "Asia": ["c"]}}}
    assert aggopt.encode(frame, types).notes == (f"'place': {ONE}{LOOK}",)
