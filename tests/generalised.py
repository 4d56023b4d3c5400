"""Slow, obvious ways to the least generalised loss of a few records."""

from itertools import combinations

import numpy as np
import pandas as pd

from aggopt import encode
from aggopt.checks._records import iter_partitions
from aggopt.encoding.generalisation import generalise
from aggopt.encoding.generalisation_rule import GeneralisationRule
from aggopt.models import generalised_loss as model

TREE = {f"l{x}": f"p{x // 2}" for x in range(8)}
TREE |= {f"p{x}": f"q{x // 2}" for x in range(4)} | {"q0": "any", "q1": "any"}


def make_table(seed, largest=9):
    """Return a table of a few records of any types, and k."""
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 4))
    n = int(rng.integers(k, largest + 1))
    columns, types, rules = {}, {}, {}
    for j in range(int(rng.integers(1, 4))):
        name, kind = f"a{j}", int(rng.integers(4))
        if kind == 0:
            columns[name] = [f"v{x}" for x in rng.integers(0, min(4, n // 2), n)]
        elif kind == 1:
            columns[name] = [f"l{x}" for x in rng.integers(0, 8, n)]
            types[name] = {"tree": TREE}
            cost = "leaves" if rng.random() < 0.5 else "height"
            rules[name] = GeneralisationRule(cost=cost)
        else:
            columns[name] = rng.integers(0, 6, n).astype(float)
            if kind == 3:
                rules[name] = GeneralisationRule(cuts=[0, 2, 3, 5])
        if rng.random() < 0.2 and name not in rules:
            rules[name] = GeneralisationRule(weight=2.0)
    return generalise(encode(pd.DataFrame(columns), types), rules), k


def hull_loss(table, rows):
    """Return the loss of each of these records as one group."""
    low = table.positions[rows].min(axis=0)
    high = table.positions[rows].max(axis=0)
    return sum(
        a.weight * float(a.losses(p, q))
        for a, p, q in zip(table.attributes, low, high, strict=True)
    )


def find_best(table, k, weights=None, allowed=lambda rows: True):
    """Return the least loss of all partitions into allowed groups of k or more."""
    v = np.ones(len(table)) if weights is None else np.asarray(weights)
    cost = {}

    def loss(rows):
        key = tuple(rows)
        if key not in cost:
            fine = allowed(rows)
            cost[key] = v[rows].sum() * hull_loss(table, rows) if fine else np.inf
        return cost[key]

    return min(sum(map(loss, p)) for p in iter_partitions(len(table), k))


def draw_kinds(table, seed):
    """Return the kind of each record, of at most three, and how many a group needs."""
    rng = np.random.default_rng(seed)
    kinds = np.unique(rng.integers(0, 3, len(table)), return_inverse=True)[1]
    return kinds, int(rng.integers(1, kinds.max() + 2))


def has_kinds(kinds, l):  # noqa: E741
    """Return whether records have l kinds, as a function of their rows."""
    return lambda rows: l == 1 or len({kinds[i] for i in rows}) >= l


def combine(table, weights=None, kinds=None):
    """Return combinations (c, d), their counts and weights, and that of each record.

    Their kinds are last, (c,).
    """
    v = np.ones(len(table)) if weights is None else np.asarray(weights, float)
    kinds = np.zeros(len(table)) if kinds is None else kinds
    rows = np.column_stack([table.positions, kinds, v])
    found = np.unique(rows, axis=0, return_counts=True, return_inverse=True)
    rows, of_record, count = found
    positions, kind = rows[:, :-2].astype(int), rows[:, -2].astype(int)
    return positions, count, rows[:, -1], np.ravel(of_record), kind


def closed_boxes(table, k, weights=None, kinds=None):
    """Return {members: loss} of all closed boxes of k records or more."""
    rows, count, _, of_record, _ = combine(table, weights, kinds)
    record = {c: int(np.flatnonzero(of_record == c)[0]) for c in range(len(rows))}
    boxes = {}
    for size in range(1, len(rows) + 1):
        for some in combinations(range(len(rows)), size):
            inside = [c for c in range(len(rows)) if covers(table, rows, some, c)]
            if count[inside].sum() >= k:
                boxes[tuple(inside)] = hull_loss(table, [record[c] for c in some])
    return boxes


def covers(table, rows, some, c):
    """Whether the statements about some combinations are true of combination c."""
    for j, a in enumerate(table.attributes):
        low, high = rows[list(some), j].min(), rows[list(some), j].max()
        if a.hulls is not None:  # the smallest statement that holds them
            spans = [(p, q) for p, q in a.hulls.tolist() if p <= low and high <= q]
            low, high = min(spans, key=lambda s: s[1] - s[0])
        if not low <= rows[c, j] <= high:
            return False
    return True


def make_data(table, k, shares="whole", weights=None, kinds=None, l=1):  # noqa: E741
    """Return the data of the model with all closed boxes."""
    _, count, v, _, kind = combine(table, weights, kinds)
    boxes = closed_boxes(table, k, weights, kinds)
    members = list(boxes)
    box = np.repeat(np.arange(len(members)), [len(m) for m in members])
    combination = np.array([c for m in members for c in m])
    loss = np.array([boxes[m] for m in members])
    parts = box, combination, loss, count, k, shares
    return model.Data(*parts, weight=v, kind=kind, l=l)
