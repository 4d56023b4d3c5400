"""Slow, obvious definitions of what aggopt.privacy measures, in exact fractions."""

from collections import Counter
from fractions import Fraction
from math import exp, log

import numpy as np
from scipy.optimize import linprog


def members(labels, values):
    """The confidential values of each group."""
    return [
        [v for v, one in zip(values, labels, strict=True) if one == g]
        for g in sorted(set(labels))
    ]


def shares(values, domain):
    counts = Counter(values)
    return [Fraction(counts[v], len(values)) for v in domain]


def ordered(labels, values):
    """Largest ordered distance of a group from the table."""
    return max(between(group, values) for group in members(labels, values))


def between(group, values):
    """Sum of cumulated differences of shares, over m - 1."""
    domain = sorted(set(values))
    if len(domain) == 1:
        return Fraction(0)
    pairs = zip(shares(group, domain), shares(values, domain), strict=True)
    gap = [p - q for p, q in pairs]
    sums = [abs(sum(gap[: i + 1], Fraction(0))) for i in range(len(gap))]
    return sum(sums, Fraction(0)) / (len(domain) - 1)


def equal(labels, values):
    """Largest half sum of differences of shares."""
    domain = sorted(set(values), key=repr)
    whole = shares(values, domain)
    return max(
        sum(abs(p - q) for p, q in zip(shares(group, domain), whole, strict=True)) / 2
        for group in members(labels, values)
    )


def transported(labels, values, cost):
    """Largest cheapest transport from a group's shares to the table's."""
    domain = sorted(set(values), key=repr)
    m = len(domain)
    costs = np.array([[cost(a, b) for b in domain] for a in domain], float)
    rows = np.kron(np.eye(m), np.ones(m))
    columns = np.kron(np.ones(m), np.eye(m))
    whole = shares(values, domain)
    worst = 0.0
    for group in members(labels, values):
        given = np.array([*shares(group, domain), *whole], float)
        found = linprog(costs.ravel(), A_eq=np.vstack([rows, columns]), b_eq=given)
        worst = max(worst, found.fun)
    return worst


def entropy(labels, values):
    """Exp of the smallest entropy."""
    return min(
        exp(-sum(float(p) * log(p) for p in shares(group, sorted(set(group)))))
        for group in members(labels, values)
    )


def recursive(labels, values, c):
    """Largest l with r_1 < c (r_l + ... + r_m) in each group."""
    best = []
    for group in members(labels, values):
        r = sorted(Counter(group).values(), reverse=True)
        able = [j + 1 for j in range(len(r)) if r[0] < Fraction(str(c)) * sum(r[j:])]
        best.append(max(able, default=0))
    return min(best)
