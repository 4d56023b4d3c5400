"""Smaller programs with an equal optimum, or with some of its choices."""

from dataclasses import replace

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.models import frequencies as model

SAFE = 1e-9  # of an objective: more than adding it up rounds


def tightened(data: model.Data) -> model.Data | None:
    """Return the data with the counts that weights can add up to; None without any.

    Weights that are multiples of g add up to multiples of g.  If all sizes are equal,
    the vertices of the relaxation are then whole, as in a transport problem.
    """
    if data.slack is None:
        return data
    low, high = data.counts - data.slack, data.counts + data.slack
    for r, weights in enumerate(data.weights):
        whole = np.rint(weights).astype(np.int64)
        step = int(np.gcd.reduce(whole)) if (whole == weights).all() else 0
        if step:
            low[r] = step * np.ceil(low[r] / step - SAFE)
            high[r] = step * np.floor(high[r] / step + SAFE)
    if (low > high).any():
        return None
    return replace(data, counts=(low + high) / 2, slack=(high - low) / 2)


def without(data: model.Data, barred: Bool) -> model.Data:
    """Return the data without the pairs (q,) that are barred."""
    t, c = data.pairs
    keep = np.full((len(data.classes[0]), data.loss.shape[1]), False)
    keep[t[~barred], c[~barred]] = True
    return replace(data, loss=np.where(keep[data.classes[1]], data.loss, np.inf))


def dearer(data: model.Data, multipliers: Floats, objective: float) -> Bool:
    """Whether each pair (q,) is in no choice that is as good as an objective."""
    bound, raised = model.dual(data, multipliers)
    return np.asarray(bound + raised > objective + SAFE * max(1.0, objective))


def far(data: model.Data, multipliers: Floats, most: int) -> Bool:
    """Whether each pair (q,) is not among the `most` that raise the bound least.

    The cheapest pair of each class does not count.
    """
    raised = model.dual(data, multipliers)[1]
    most += len(data.classes[2])
    if len(raised) <= most:
        return np.zeros(len(raised), bool)
    return np.asarray(raised > np.partition(raised, most)[most])
