"""Levels of a confidential attribute: said where they decide."""

import pytest
from tables import promising, salaried

import aggopt
from aggopt.errors import InfeasibleInputError, JobError

TIED = [0] * 52 + [1, 1, 2, 2, 3, 3, 4, 4]


def asked(levels, **how):
    ways = {"salary": {"levels": levels}}
    return promising(repair="merge", confidential=ways, **how)


@pytest.mark.parametrize(
    ("levels", "how", "counted"),
    [
        (4, {"l": 3}, "distinct l of 2 levels of 5 values"),
        ([100.0], {"l": 2}, "distinct l of 1 level of 5 values"),
        (4, {"l": 2, "diversity": "entropy"}, "entropy l of 2 levels of 5 values"),
        (
            4,
            {"l": 2, "diversity": "recursive", "c": 0.5},
            "recursive (0.5, l) of 2 levels of 5 values",
        ),
    ],
)
def test_a_refused_l_names_the_levels(levels, how, counted) -> None:
    with pytest.raises(InfeasibleInputError) as refused:
        aggopt.mask(salaried().assign(salary=TIED), asked(levels, **how))
    assert f"({counted}) cannot be kept of 'salary'" in refused.value.problem
    assert "or other levels: equal values share one" in refused.value.fix


def test_a_kept_l_names_the_levels() -> None:
    found = aggopt.mask(salaried().assign(salary=TIED), asked([2, 3], l=2)).audit
    assert [kept.promise for kept in found.promises] == [
        "distinct l of 3 levels of 5 values"
    ]


@pytest.mark.parametrize("levels", [[], ()])
def test_levels_that_end_nowhere_are_refused(levels) -> None:
    with pytest.raises(JobError, match="levels is empty"):
        asked(levels, l=2)


@pytest.mark.parametrize("levels", [0, 1])
def test_fewer_than_two_levels_are_refused(levels) -> None:
    with pytest.raises(JobError, match=f"levels = {levels} leaves only one level"):
        aggopt.mask(salaried(), asked(levels, l=2))
