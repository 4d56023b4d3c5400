"""Levels of a confidential attribute: said where they decide."""

import pytest
from refusals import refused
from tables import promising, salaried

import aggopt
from aggopt.errors import InfeasibleInputError, JobError

TIED = [0] * 52 + [1, 1, 2, 2, 3, 3, 4, 4]


def asked(levels, **how):
    ways = {"salary": {"levels": levels}}
    return promising(repair="merge", confidential=ways, **how)


@pytest.mark.parametrize(
    ("levels", "how"),
    [
        (4, {"l": 3}),
        ([100.0], {"l": 2}),
        (4, {"l": 2, "diversity": "entropy"}),
        (4, {"l": 2, "diversity": "recursive", "c": 0.5}),
    ],
)
def test_a_refused_l_names_the_levels(levels, how) -> None:
    with refused(InfeasibleInputError, "'salary'"):
        aggopt.mask(salaried().assign(salary=TIED), asked(levels, **how))


def test_a_kept_l_names_the_levels() -> None:
    found = aggopt.mask(salaried().assign(salary=TIED), asked([2, 3], l=2)).audit
    assert [kept.promise for kept in found.promises] == [
        "distinct l of 3 levels of 5 values"
    ]


@pytest.mark.parametrize("levels", [[], ()])
def test_levels_that_end_nowhere_are_refused(levels) -> None:
    with refused(JobError, "levels is empty"):
        asked(levels, l=2)


@pytest.mark.parametrize("levels", [0, 1])
def test_fewer_than_two_levels_are_refused(levels) -> None:
    with pytest.raises(JobError, match=f"levels = {levels} leaves only one level"):
        aggopt.mask(salaried(), asked(levels, l=2))
