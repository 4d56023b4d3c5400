"""Small tables of groups and categories, and all choices of one category for each."""

from itertools import product
from typing import Any

import numpy as np

from aggopt.models import frequencies


def counts(seed: int, m: int = 5, categories: int = 3, k: int = 2) -> np.ndarray:
    """Return how many records of each group have each category, (m, C)."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(k, 2 * k, m)
    shares = rng.dirichlet(np.full(categories, 0.4), m)
    drawn = [rng.multinomial(n, p) for n, p in zip(sizes, shares, strict=True)]
    return np.array(drawn, float)


def nominal(count: np.ndarray, **how: Any) -> frequencies.Data:
    """Return the data of groups that lose a record wherever a category is not its own.

    `slack` may be a number.
    """
    sizes = count.sum(axis=1)
    return stated(sizes[:, None] - count, sizes[None], count.sum(axis=0)[None], **how)


def ordinal(count: np.ndarray, **how: Any) -> frequencies.Data:
    """Return the data of categories in an order, one apart from the next."""
    rank = np.arange(count.shape[1])
    loss = count @ np.abs(rank[:, None] - rank)
    return stated(loss, count.sum(axis=1)[None], count.sum(axis=0)[None], **how)


def beside(count: np.ndarray, seed: int, price: float) -> frequencies.Data:
    """Return the data that keep the table with an attribute of two values."""
    rng = np.random.default_rng(seed)
    yes = rng.binomial(count.astype(int), 0.4).astype(float)
    weights = np.stack([yes.sum(axis=1), (count - yes).sum(axis=1)])
    table = np.stack([yes.sum(axis=0), (count - yes).sum(axis=0)])
    return stated(count.sum(axis=1)[:, None] - count, weights, table, price=price)


def stated(
    loss: np.ndarray, weights: np.ndarray, table: np.ndarray, **how: Any
) -> frequencies.Data:
    if np.ndim(how.get("slack")) == 0 and how.get("slack") is not None:
        how["slack"] = np.full(table.shape, float(how["slack"]))
    return frequencies.Data(loss, weights, table, **how)


def least(data: frequencies.Data) -> float:
    """Return the least objective of all choices, group by group; inf without any."""
    m, categories = data.loss.shape
    best = np.inf
    for choice in product(range(categories), repeat=m):
        found = np.zeros(data.counts.shape)
        for j, c in enumerate(choice):
            found[:, c] += data.weights[:, j]
        away = np.abs(found - data.counts)
        cost = sum(data.loss[j, c] for j, c in enumerate(choice))
        if data.price is not None:
            best = min(best, cost + data.price * away.sum())
        elif (away <= data.slack + 1e-9).all():
            best = min(best, cost)
    return float(best)
