"""Each attribute has margins, demands and words of its own."""

from types import SimpleNamespace

import numpy as np
import pytest
from refusals import refused

from aggopt.aggregate.secret_margins import LEAST, find_step_in_deviations
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError
from aggopt.job import Job
from aggopt.pipeline.aggregate.margins import (
    _describe_narrow_margin,
    _find_steps,
    _list_narrow_margins,
)
from aggopt.pipeline.validate.distance_requests import require_agreement

PLAIN = np.zeros(9, int)
THIRDS = np.repeat([0, 1, 2], 3)
PAIR = np.array([0.0, 2, 4, 10, 12, 14, 20, 22, 24])  # demands of the first and third
APART = np.array([1.0, 0, 1] + 6 * [0.0])
AGREE = 2 / PAIR.std()
ONE = np.full(9, 7.0)
FINE = np.array([0.317, 1.001, 2.003, 3.109, 4.211, 5.783, 6.449, 7.937, 9.901])


def how(**more):
    asked = {"method": "satisfaction", "delta": 0.5, **more}
    roles = {"quasi-identifier": ["a"]}
    return Job(roles=roles, privacy={"k": 3}, aggregation=asked).aggregation


def given(columns, labels=THIRDS, importance=1.0):
    X = np.stack(list(columns.values()), axis=1)
    asked = {"importance": np.broadcast_to(importance, X.shape)}
    known = {"X": X, "scale": Scale.of(X), "asked": asked, "weights": None}
    return SimpleNamespace(**known, names=list(columns), labels_of_numbers=labels)


def warned(of, exact=True, **more):
    asked = np.full(of.X.shape, 0.5)
    return list(
        _list_narrow_margins(of, how(**more), asked, np.broadcast_to(exact, of.X.shape))
    )


def test_only_what_varies_and_can_be_exact_is_warned_of() -> None:
    half = np.tile([0.0, 1, 0], 3)
    of = given({"one": ONE, "half": half, "also": half})
    assert warned(of) == [
        _describe_narrow_margin("half", 1),
        _describe_narrow_margin("also", 1),
    ]
    assert warned(of, [True, False, True]) == [_describe_narrow_margin("also", 1)]
    assert warned(given({"one": ONE}), margin=LEAST / 2) == []
    unit = given({"unit": np.tile([-1.0, 1.0], 4)}, np.repeat([0, 1], 4))
    assert Scale.of(unit.X).spread[0] == 1
    assert warned(unit) == [_describe_narrow_margin("unit", 1)]


def test_a_narrow_margin_is_counted_in_steps_as_fine_as_itself() -> None:
    of = given({"fine": FINE})
    narrow = 2.5e-3 / FINE.std()
    assert warned(of, margin=narrow) == [_describe_narrow_margin("fine", 3)]
    assert warned(of, margin=2 * narrow) == []


def test_five_steps_are_enough() -> None:
    whole = given({"whole": PAIR / 2})
    step = 1 / (PAIR / 2).std()
    assert warned(whole, margin=5 * step) == []
    assert warned(whole, margin=4.999 * step) == [_describe_narrow_margin("whole", 5)]


def test_each_attribute_has_groups_of_its_own() -> None:
    half = np.tile([0.0, 1, 0], 3)
    labels = np.stack([PLAIN, THIRDS], axis=1)
    of = given({"fine": FINE, "half": half}, labels)
    assert warned(of) == [_describe_narrow_margin("half", 1)]


def agreed(columns, importance, labels=THIRDS, more=0.01):
    of = given(columns, labels, importance)
    asked = np.full(of.X.shape, AGREE)
    _agree(of, asked, asked + more)


def _agree(of, distances, with_margins):
    require_agreement(
        of.names,
        of.scale.standardise(of.X),
        of.labels_of_numbers,
        of.asked["importance"],
        distances,
        with_margins,
        of.weights,
    )


def get_refusal(*of):
    with pytest.raises(InfeasibleInputError) as error:
        agreed(*of)
    return error.value


def test_demands_that_a_margin_parts_are_refused_in_full() -> None:
    error = get_refusal({"pay": PAIR}, APART[:, None])
    assert error.problem == (
        "'pay': Demands (importance 1) within a group agree on one published value, "
        "below some of them and above others: with a margin beyond each distance they "
        "do not, and without one that value gives the originals away."
    )
    assert error.fix == (
        "lower the importance of some of their records below 1, group those with the "
        "same demands together, or, if that is acceptable, set margin = 0 under "
        "[aggregation]."
    )


def test_demands_agree_on_weighted_z_scores() -> None:
    w = np.array([0.25, 1, 1.75] * 3)
    known = given({"pay": PAIR}, importance=APART[:, None])
    of = SimpleNamespace(**{**vars(known), "weights": w, "scale": Scale.of(known.X, w)})
    asked = np.full(PAIR[:, None].shape, 2 / Scale.of(known.X, w).spread[0])
    _agree(of, asked, asked)
    with refused(InfeasibleInputError):
        _agree(of, asked, asked + 0.01)


def test_an_attribute_of_which_all_records_insist_is_looked_at() -> None:
    pairs = np.array([0.0, 4, 10, 14, 20, 24])
    away = np.full((6, 1), 2 / pairs.std())
    of = given({"pay": pairs}, np.repeat([0, 1, 2], 2))
    with refused(InfeasibleInputError, "'pay'"):
        _agree(of, away, away + 0.01)


def test_each_attribute_that_can_be_exact_has_its_own_step() -> None:
    half = np.tile([0.0, 1, 0], 3)
    of = given({"fine": FINE, "half": half}, importance=[0.1, 1.0])
    asked = np.full(of.X.shape, 0.5)
    p3m = how(method="p3m", alpha=0.5)
    own = find_step_in_deviations(half, half.std())
    assert _find_steps(of, p3m, asked).tolist() == [0.0, pytest.approx(own)]


@pytest.mark.parametrize("first", [ONE, PAIR[::-1]])
def test_an_attribute_is_looked_at_whatever_stands_before_it(first) -> None:
    ask = np.stack([APART if first is ONE else 0 * APART, APART], axis=1)
    assert get_refusal({"first": first, "pay": PAIR}, ask).problem.startswith("'pay'")


def test_demands_that_agree_do_not_end_the_look() -> None:
    alone = np.array([1.0, 0, 0] + 6 * [0.0])
    ask = np.stack([alone, APART], axis=1)
    error = get_refusal({"first": PAIR, "pay": PAIR}, ask)
    assert error.problem.startswith("'pay'")


def test_only_demands_of_the_same_group_meet() -> None:
    apart = np.array([0, 1, 1, 2, 2, 2, 0, 0, 1])
    agreed({"pay": PAIR}, APART[:, None], apart)
    labels = np.stack([apart, THIRDS], axis=1)
    ask = np.stack([APART, APART], axis=1)
    assert get_refusal({"first": PAIR, "pay": PAIR}, ask, labels).problem[:5] == "'pay'"


def test_wishes_that_are_no_demands_and_constants_are_left_alone() -> None:
    agreed({"pay": PAIR, "one": ONE}, np.stack([0.9 * APART, APART], axis=1))
    agreed({"one": ONE}, np.ones((9, 1)), PLAIN)
