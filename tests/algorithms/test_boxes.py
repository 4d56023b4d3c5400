"""Lists of boxes and prices against them: by every subset and every partition."""

from itertools import combinations as subsets
from itertools import pairwise

import numpy as np
import pytest
from generalised import (
    closed_boxes,
    combine,
    draw_kinds,
    find_best,
    has_kinds,
    make_table,
)

from aggopt.algorithms.boxes.ascent import raise_prices
from aggopt.algorithms.boxes.box_list import list_boxes
from aggopt.core.deadline import Deadline
from aggopt.encoding.generalisation import generalise_numbers
from aggopt.models import generalised_loss as model
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.run_solver import run_solver


def weights_of(table, seed):
    return np.random.default_rng(seed).integers(1, 4, len(table)).astype(float)


def listed(boxes):
    members = boxes.members.tolist()
    inside = [members[p:q] for p, q in pairwise(boxes.starts.tolist())]
    losses = boxes.losses.round(9).tolist()
    return {tuple(sorted(m)): loss for m, loss in zip(inside, losses, strict=True)}


@pytest.mark.parametrize("seed", range(40))
def test_the_list_has_the_hull_of_each_subset_once(seed):
    table, k = make_table(seed)
    combinations = table.combine()
    boxes = list_boxes(table, combinations, k)
    of_record = combine(table)[3]
    number = dict(zip(of_record.tolist(), combinations.of_record.tolist(), strict=True))
    expected = {
        tuple(sorted(number[c] for c in members)): round(loss, 9)
        for members, loss in closed_boxes(table, k).items()
    }
    assert listed(boxes) == expected
    assert len(boxes) == len(expected)
    cap = float(np.median(boxes.losses))
    below = list_boxes(table, combinations, k, cap=cap)
    assert listed(below) == {m: f for m, f in listed(boxes).items() if f < cap - 1e-9}


def test_a_list_that_would_be_too_long_ends_at_a_lower_cap():
    X = np.random.default_rng(0).normal(size=(40, 2))
    table = generalise_numbers(X)
    combinations = table.combine()
    short = list_boxes(table, combinations, 3, max_members=2000)
    assert len(short.members) <= 2000
    assert short.cap < 2
    again = list_boxes(table, combinations, 3, cap=short.cap)
    assert listed(again) == listed(short)
    prices = raise_prices(short.price(combinations, 3), clock=Deadline(None))
    assert prices.max() <= short.cap
    full = list_boxes(table, combinations, 3).price(combinations, 3)
    assert full.measure_slack(prices).min() >= 0


@pytest.mark.parametrize("seed", range(60))
def test_prices_prove_no_more_than_the_best_partition(seed):
    table, k = make_table(seed, largest=8)
    weights = weights_of(table, seed) if seed % 2 else None
    kinds, l = draw_kinds(table, seed) if seed % 3 else (None, 1)  # noqa: E741
    combinations = table.combine(weights, kinds)
    boxes = list_boxes(table, combinations, k, l=l)
    priced = boxes.price(combinations, k, l)
    best = find_best(table, k, weights, has_kinds(kinds, l))
    cheapest = priced.find_cheapest_prices()
    assert priced.compute_bound(cheapest) <= best + 1e-9
    prices = raise_prices(priced, clock=Deadline(None), rounds=60)
    bound = priced.compute_bound(prices)
    assert priced.compute_bound(cheapest) - 1e-6 <= bound <= best + 1e-9
    data = boxes.make_data(combinations, k, l=l)
    at_random = np.random.default_rng(seed).uniform(-1, 3, len(combinations))
    for feasible in (prices, priced.make_feasible(at_random)):
        worst = max(
            model.choose_dearest_copies(data, feasible, b)[1] for b in range(len(boxes))
        )
        assert worst <= 0
    slack = priced.measure_slack(at_random)
    slow = [
        -model.choose_dearest_copies(data, at_random, b)[1] for b in range(len(boxes))
    ]
    np.testing.assert_allclose(slack, slow, atol=1e-12)


def test_the_dearest_group_of_a_box_is_that_of_all_its_subsets():
    compared = 0
    for seed in range(60):
        table, k = make_table(seed, largest=7)
        kinds, l = draw_kinds(table, seed)  # noqa: E741
        combinations = table.combine(None, kinds)
        boxes = list_boxes(table, combinations, k, l=l)
        prices = np.random.default_rng(seed).uniform(-1, 3, len(combinations))
        slack = boxes.price(combinations, k, l).measure_slack(prices)
        for b, loss in enumerate(boxes.losses if l > 1 else []):
            inside = boxes.members[boxes.starts[b] : boxes.starts[b + 1]]
            rows = np.flatnonzero(np.isin(combinations.of_record, inside))
            each = prices[combinations.of_record] - loss
            groups = (
                group
                for size in range(max(k, l), len(rows) + 1)
                for group in subsets(rows.tolist(), size)
                if has_kinds(kinds, l)(group)
            )
            dearest = max(each[list(group)].sum() for group in groups)
            assert slack[b] == pytest.approx(-dearest)
            compared += 1
    assert compared > 100


def test_prices_reach_most_of_the_linear_program():
    shares = []
    for seed in range(20):
        table, k = make_table(seed, largest=8)
        combinations, best = table.combine(), find_best(table, k)
        priced = list_boxes(table, combinations, k).price(combinations, k)
        if best > 0:
            prices = raise_prices(priced, clock=Deadline(None))
            shares.append(priced.compute_bound(prices) / best)
    assert np.mean(shares) > 0.85


def test_the_solver_answers_with_records_at_boxes_and_a_bound():
    for seed in range(20):
        table, k = make_table(seed, largest=8)
        kinds, l = draw_kinds(table, seed) if seed % 2 else (None, 1)  # noqa: E741
        combinations = table.combine(None, kinds)
        boxes = list_boxes(table, combinations, k, l=l)
        data = boxes.make_data(combinations, k, l=l)
        answer = run_solver(model.MODEL, data, SOLVERS["boxes"], None, time_limit=5.0)
        at = model.point(data, answer.reading)
        assert model.MODEL.violation(data, at) == 0
        cost = model.objective(data, at)
        best = find_best(table, k, None, has_kinds(kinds, l))
        assert answer.bound <= best + 1e-9 <= cost + 2e-9
        assert (answer.status is Status.OPTIMAL) == (cost - answer.bound <= 1e-6 * cost)
