"""Slacks of frequencies that no groups can keep are refused before any work."""

from itertools import product

import pandas as pd
import pytest
from refusals import refused
from tables import MDAV

import aggopt
from aggopt.errors import InfeasibleInputError

ROLES = {"quasi-identifier": ["age", "town"], "other": ["sex"]}


def masked(counts, k, slack, roles=ROLES, **section):
    """Return the release of a table whose levels have these counts."""
    towns = [str(j) for j, count in enumerate(counts) for _ in range(count)]
    n = len(towns)
    frame = pd.DataFrame({"age": range(n), "town": towns, "sex": ["f", "m"] * (n // 2)})
    how = {"method": "frequencies", "slack": slack, **section}
    asked = aggopt.Job(
        roles=roles,
        privacy={"k": k},
        partition=MDAV,
        aggregation={"method": "mean", "categories": how},
    )
    return aggopt.mask(frame, asked)


def expect_refusal(counts, k, slack, **section):
    with refused(InfeasibleInputError) as error:
        masked(counts, k, slack, **section)
    return error.value


def sums_of_groups(k, n):
    """Return the numbers of records that groups of k to 2k - 1 add up to."""
    found = {0}
    for size in (size for _ in range(n) for size in range(k, 2 * k)):
        found |= {total + size for total in found if total + size <= n}
    return found


def possible(counts, k, slack):
    """Whether some numbers of whole groups are near all counts, by trying all."""
    n = sum(counts)
    whole = sums_of_groups(k, n)
    near = [[w for w in whole if abs(w - count) <= slack] for count in counts]
    return any(sum(choice) == n for choice in product(*near))


TRIED = [
    *(
        (c, k, s)
        for c in ([2, 18], [3, 17], [2, 3, 15])
        for k in (4, 5)
        for s in (1, 2)
    ),
    ([3, 3, 3, 3, 8], 5, 2),
    ([3, 3, 3, 3, 16], 5, 2),
    ([2, 2, 2, 2, 2, 10], 5, 2),
    ([2, 2, 2, 2, 2, 10], 5, 4),
]
IMPOSSIBLE = [case for case in TRIED if not possible(*case)]


def test_some_are_possible_and_some_are_not():
    assert len(IMPOSSIBLE) == 8


@pytest.mark.parametrize(("counts", "k", "slack"), IMPOSSIBLE)
def test_what_no_groups_keep_is_refused_before_any_work(counts, k, slack):
    expect_refusal(counts, k, slack)


@pytest.mark.parametrize("case", [([3, 17], 5, 2), ([2, 18], 4, 2), ([4, 16], 8, 4)])
def test_what_groups_may_keep_is_not(case):
    assert masked(*case).audit.holds


def test_it_is_said_which_levels_and_which_slack_would_do():
    expect_refusal([2, 3, 15], 5, 1)
    expect_refusal([2, 3, 15], 5, "exact")


def test_levels_that_are_possible_each_and_not_together():
    expect_refusal([3, 3, 3, 3, 8], 5, 2)
    expect_refusal([2, 2, 2, 2, 2, 10], 5, 2)


def test_of_cells_a_slack_above_0_says_nothing_of_levels():
    """Cells of a level may each differ by the slack."""
    assert masked([2, 18], 4, 1, **{"with": ["sex"]}).audit.holds
    quasi = {"quasi-identifier": ["age", "town", "sex"]}
    crossed = {"roles": quasi, "cross": [["town", "sex"]]}
    expect_refusal([2, 18], 4, 1, **crossed)
    expect_refusal([2, 18], 4, 0, **{"with": ["sex"]})
