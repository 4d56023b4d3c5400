"""Lists of boxes and prices against them: by every subset and every partition."""

from itertools import pairwise

import numpy as np
import pytest
from generalised import closed_boxes, combine, find_best, make_table

from aggopt.algorithms.boxes.ascent import PricedBoxes, raise_prices
from aggopt.algorithms.boxes.box_list import list_boxes
from aggopt.core.deadline import Deadline
from aggopt.encoding.generalisation import generalise_numbers
from aggopt.models import generalised_loss as model
from aggopt.solvers import SOLVERS, Status
from aggopt.solvers.run_solver import run_solver


def weights_of(table, seed):
    return np.random.default_rng(seed).integers(1, 4, len(table)).astype(float)


def price(boxes, combinations, k):
    counts, weights = combinations.counts, combinations.weights
    parts = boxes.starts, boxes.members, boxes.losses
    return PricedBoxes(*parts, counts, weights, k, boxes.cap)


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
    short = list_boxes(table, combinations, 3, most=2000)
    assert len(short.members) <= 2000
    assert short.cap < 2
    again = list_boxes(table, combinations, 3, cap=short.cap)
    assert listed(again) == listed(short)
    prices = raise_prices(price(short, combinations, 3), clock=Deadline(None))
    assert prices.max() <= short.cap
    full = price(list_boxes(table, combinations, 3), combinations, 3)
    assert full.measure_slack(prices).min() >= 0


@pytest.mark.parametrize("seed", range(60))
def test_prices_prove_no_more_than_the_best_partition(seed):
    table, k = make_table(seed, largest=8)
    weights = weights_of(table, seed) if seed % 2 else None
    combinations = table.combine(weights)
    boxes = list_boxes(table, combinations, k)
    priced = price(boxes, combinations, k)
    best = find_best(table, k, weights)
    cheapest = priced.find_cheapest_prices()
    assert priced.compute_bound(cheapest) <= best + 1e-9
    prices = raise_prices(priced, clock=Deadline(None), rounds=60)
    bound = priced.compute_bound(prices)
    assert priced.compute_bound(cheapest) - 1e-6 <= bound <= best + 1e-9
    data = boxes.make_data(combinations, k)
    at_random = np.random.default_rng(seed).uniform(-1, 3, len(combinations))
    for feasible in (prices, priced.make_feasible(at_random)):
        worst = max(model.sum_largest(data, feasible, b)[1] for b in range(len(boxes)))
        assert worst <= 0
    slack = priced.measure_slack(at_random)
    slow = [-model.sum_largest(data, at_random, b)[1] for b in range(len(boxes))]
    np.testing.assert_allclose(slack, slow, atol=1e-12)


def test_prices_reach_most_of_the_linear_program():
    shares = []
    for seed in range(20):
        table, k = make_table(seed, largest=8)
        combinations, best = table.combine(), find_best(table, k)
        priced = price(list_boxes(table, combinations, k), combinations, k)
        if best > 0:
            prices = raise_prices(priced, clock=Deadline(None))
            shares.append(priced.compute_bound(prices) / best)
    assert np.mean(shares) > 0.85


def test_the_solver_answers_with_records_at_boxes_and_a_bound():
    for seed in range(20):
        table, k = make_table(seed, largest=8)
        combinations = table.combine()
        data = list_boxes(table, combinations, k).make_data(combinations, k)
        answer = run_solver(model.MODEL, data, SOLVERS["boxes"], None, time_limit=5.0)
        at = model.point(data, answer.reading)
        assert model.MODEL.violation(data, at) == 0
        cost, best = model.objective(data, at), find_best(table, k)
        assert answer.bound <= best + 1e-9 <= cost + 2e-9
        assert (answer.status is Status.OPTIMAL) == (cost - answer.bound <= 1e-6 * cost)
