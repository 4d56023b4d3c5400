"""Logistic regression on columns that are computed for some records at a time."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np

from aggopt.core.types import Bool
from aggopt.core.validation import Floats

PENALTY = 1e-6  # keeps coefficients finite where the two can be told apart
STEPS = 100  # of Newton's method
DECREMENT = 1e-13  # half the decrease that the next step would bring, for each record


@dataclass(frozen=True, eq=False)
class _Fit:
    """The loss with some coefficients, its derivatives, and the chances (N,)."""

    loss: float
    gradient: Floats = field(repr=False)
    curvature: Floats = field(repr=False)
    chances: Floats = field(repr=False)


def fit_chances(blocks: Callable[[], Iterable[Floats]], is_released: Bool) -> Floats:
    """Return each record's chance (N,) to be a released one.

    `blocks` returns the columns (N, r) of all records, of some at a time, whenever it
    is called.  Newton's method, with steps that are halved until the loss decreases,
    minimises the negative log-likelihood and a penalty on all coefficients but the
    intercept.

    Source: McCullagh and Nelder, Generalized Linear Models (1989), section 4.
    """
    share = is_released.mean()
    width = next(iter(blocks())).shape[1]
    beta = np.zeros(width + 1)
    beta[0] = np.log(share / (1 - share))
    fit = _evaluate(blocks(), is_released, beta)
    for _ in range(STEPS):
        step = np.linalg.solve(fit.curvature, fit.gradient)
        if fit.gradient @ step <= DECREMENT * len(is_released):
            break
        tried = _evaluate(blocks(), is_released, beta - step)
        while tried.loss > fit.loss:
            step /= 2
            tried = _evaluate(blocks(), is_released, beta - step)
        beta, fit = beta - step, tried
    return fit.chances


def _evaluate(blocks: Iterable[Floats], is_released: Bool, beta: Floats) -> _Fit:
    """Return the loss with coefficients `beta`, the intercept first."""
    from scipy.special import expit

    weights = np.append(0.0, np.full(len(beta) - 1, PENALTY))
    loss, gradient = float(weights @ beta**2) / 2, weights * beta
    curvature, chances = np.diag(weights), np.empty(len(is_released))
    start = 0
    for block in blocks:
        rows = slice(start, start + len(block))
        F = np.column_stack([np.ones(len(block)), block])
        y, score = is_released[rows], F @ beta
        p = chances[rows] = expit(score)
        loss += float(np.logaddexp(0, np.where(y, -score, score)).sum())
        gradient += F.T @ (p - y)
        curvature += F.T @ (F * (p * (1 - p))[:, None])
        start += len(block)
    return _Fit(loss, gradient, curvature, chances)
