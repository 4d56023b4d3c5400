r"""Medians that keep the mean: least absolute error of all releases with that mean.

Data
    x       (n,)  original values, standardised
    labels  (n,)  group j of each record i, 0..m-1
    n_j     (m,)  size of each group, derived
Variables
    c_j     (m,)  published centroid
    e_i     (n,)  absolute error of record i
Minimise
    sum_i e_i
Subject to
    over:   e_i >= x_i - c_j,  j = labels_i
    under:  e_i >= c_j - x_i
    mean:   sum_j n_j c_j = 0
    range:  min_i x_i <= c_j <= max_i x_i     what is proven needs a box

Class: LP.

Source: an outsider's model, to show what a file of one needs.
"""

from typing import NamedTuple

import cvxpy as cp
import numpy as np

from aggopt.models import labelled

KIND, LANGUAGES = "LP", ("cvxpy",)


class Data:  # noqa: D101
    def __init__(self, x, labels):
        self.x, self.labels = x, labels
        self.sizes = np.bincount(labels).astype(float)


class Point(NamedTuple):  # noqa: D101
    c: np.ndarray
    e: np.ndarray


def build(data, language, *, start=None):
    box = [data.x.min(), data.x.max()]
    c = cp.Variable(len(data.sizes), name="c", value=start, bounds=box)
    e = cp.Variable(len(data.x), name="e")
    away = data.x - c[data.labels]
    rows = labelled(over=e >= away, under=e >= -away, mean=data.sizes @ c == 0)
    return cp.Problem(cp.Minimize(cp.sum(e)), rows)


def centroids(problem, data):
    return problem.var_dict["c"].value


def point(data, c):
    return Point(c, np.abs(data.x - c[data.labels]))


def objective(data, at):
    return at.e.sum()


def violations(data, at):
    away = data.x - at.c[data.labels]
    mean = abs(data.sizes @ at.c) / len(data.x)
    out = max(at.c.max() - data.x.max(), data.x.min() - at.c.min())
    under = max(-away - at.e)
    return {"over": max(away - at.e), "under": under, "mean": mean, "range": out}
