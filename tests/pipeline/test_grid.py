"""Which numbers of an attribute are published: whole ones, and within which ends."""

from math import inf

import numpy as np
import pandas as pd
import pytest

import aggopt
from aggopt.data.table import Table
from aggopt.pipeline.prepare.published_grid import (
    find_decimal_ends,
    find_published_ends,
    is_whole,
    read_bounds,
    round_to_type,
)

FRAME = pd.DataFrame({"n": [1, 2, 3], "x": [0.5, 1.5, 2.5]})


def stated(attributes=None, **output):
    job = aggopt.Job(
        roles={"quasi-identifier": ["n", "x"]},
        privacy={"k": 3},
        attributes=attributes or {},
        output=output,
    )
    return Table.of(FRAME, job.roles, job.attributes), job


@pytest.mark.parametrize("rounds", [False, True])
@pytest.mark.parametrize("asked", [(), ("x",), ("n", "x")])
def test_numbers_are_whole_by_their_type_or_as_it_is_asked(rounds, asked) -> None:
    own = {name: {"integer": True} for name in asked}
    table, job = stated(own, round_integers=rounds)
    assert is_whole(table, job, "n") == (rounds or "n" in asked)
    assert is_whole(table, job, "x") == ("x" in asked)


def test_ends_are_what_the_type_of_a_column_holds() -> None:
    _, job = stated({"n": {"lower": 0.1, "upper": 0.3}})
    half = Table.of(FRAME.astype({"n": np.float32}), job.roles, job.attributes)
    held = (float(np.float32(0.1)), float(np.float32(0.3)))
    assert round_to_type(half, "n", (0.1, 0.3)) == held != (0.1, 0.3)
    assert round_to_type(half, "x", (0.1, 0.3)) == (0.1, 0.3)
    found = read_bounds(half, job, ["x", "n"])
    assert found.lower.tolist() == [-inf, held[0]]
    assert found.upper.tolist() == [inf, held[1]]
    assert read_bounds(half, job, []).lower.shape == (0,)


def test_ends_are_rounded_inwards_to_what_is_published() -> None:
    sides = {"lower": -25.25, "upper": 36.75}
    table, job = stated({"n": sides, "x": sides}, round_integers=True)
    for name, place, ends in (
        ("x", None, (-25.25, 36.75)),
        ("x", 1, (-25.2, 36.7)),
        ("n", None, (-25.0, 36.0)),
        ("n", 1, (-25.2, 36.7)),
        ("n", -1, (-20.0, 30.0)),
    ):
        assert find_published_ends(table, job, name, place) == ends
    assert find_decimal_ends(-inf, inf, 2) == (-inf, inf)
    open_to_all = stated()
    assert find_published_ends(*open_to_all, "x", None) == (-inf, inf)
