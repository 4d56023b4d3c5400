"""Certificates of groups, held against every partition."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import numpy as np
from _certificates_instances import Instance, emd, least, of, squares

from aggopt.core.standardise import Scale
from aggopt.core.validation import Labels
from aggopt.errors import InfeasibleInputError, SolverError, TableError
from aggopt.partition import (
    blocked,
    local_search,
    loss_bound,
    mdav,
    optimal,
    univariate,
)
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.repair import closeness
from aggopt.repair.merge_until_satisfied import certify_groups, merge_until_satisfied
from aggopt.solvers import SOLVERS, Certificate, Status

ROUNDING, NOTHING = 1e-9, 1e-12  # relative; standardised units
BEST = 1e-6  # what is called optimal is so near to the best
EVERY = {"cvxpy": 12, "pyomo": 60}  # instances: declared programs take longer
LOOSE = {
    "cvxpy:highs": {"dual_feasibility_tolerance": 0.1},
    "pyomo:highs": {"dual_feasibility_tolerance": 0.1},
}


class Found(NamedTuple):
    """A method, and the lies of its certificate."""

    method: str
    lies: tuple[str, ...]


def lies_of(
    proof: Certificate,
    reached: float,
    best: float,
    violation: float = 0.0,
    *,
    nothing: float = NOTHING,
    least: float = NOTHING,
) -> tuple[str, ...]:
    """Return what is false: `reached` is the true objective, `best` the least known.

    `nothing` is what the floats of the table do not show; an optimum is one up to a
    share of its objective, or of `least` where that is more.
    """
    slack = ROUNDING * abs(best) + nothing
    lies = []
    if abs(proof.objective - reached) > ROUNDING * abs(reached) + nothing:
        lies.append(f"objective {proof.objective!r}, and it is {reached!r}")
    if proof.bound is not None and proof.bound > best + slack:
        lies.append(f"bound {proof.bound!r}, and {best!r} is reached")
    too_much = proof.objective - best > BEST * max(abs(best), least) + nothing
    if proof.status is Status.OPTIMAL and too_much:
        lies.append(f"optimal at {proof.objective!r}, and {best!r} is reached")
    if violation > proof.violation + ROUNDING + nothing:
        lies.append(f"violation {proof.violation!r}, and it is {violation!r}")
    return tuple(lies)


def groups(of_: Instance) -> Iterator[Found]:
    """Yield what methods for several attributes prove of groups of k."""
    cost, n, k = squares(of_.Z), len(of_.X), of_.k
    best = least(n, k, cost)
    bound = loss_bound(of_.X, k)
    false = bound > best * (1 + ROUNDING) + NOTHING
    yield Found("loss_bound", (f"{bound!r}, and {best!r} is reached",) * false)
    asked: dict[str, Callable[..., object]] = {
        "optimal, every partition": optimal,
        "local_search": local_search,
        "blocked": blocked,
    }
    if of_.seed % EVERY["cvxpy"] == 0:
        asked["optimal, by columns"] = partial(
            optimal, solver="cvxpy:highs", time_limit=20
        )
    for name, method in asked.items():
        found = method(of_.X, k)
        proof, labels = found.certificate, found.labels  # type: ignore[attr-defined]
        small = float(max(0, k - np.bincount(labels).min()))
        yield Found(name, lies_of(proof, of(labels, cost), best, small))


def repairs(of_: Instance) -> Iterator[Found]:
    """Yield what repairs prove of t-close groups of k."""
    cost, n, k, t = squares(of_.Z), len(of_.X), of_.k, of_.t

    def close(group: list[int]) -> float:
        fits = emd(of_.values, group) <= t + 1e-12
        return cost(group) if fits else np.inf

    best = least(n, k, close)
    start, places = mdav(of_.X, k).labels, np.unique(of_.values, return_inverse=True)[1]

    def judged(name: str, proof: Certificate, labels: Labels) -> Found:
        worst = max(emd(of_.values, np.flatnonzero(labels == g)) for g in set(labels))
        over = max(0.0, worst - t, float(k - np.bincount(labels).min()))
        return Found(name, lies_of(proof, of(labels, cost), best, over))

    promise = Closeness("x", Ordered.of(places), t)
    merged = merge_until_satisfied(of_.X, start, [promise])
    proven = optimal(of_.X, k).certificate.bound
    proof = certify_groups(of_.X, merged, [promise], 0.0, k, proven)
    yield judged("repair merge", proof, merged)
    for method in (("swap", "sweep")[of_.seed % 2], "merge-ilp"):
        if method == "merge-ilp" and of_.seed % EVERY["pyomo"]:
            continue
        more = {} if method == "merge-ilp" else {"proposals": 200}
        found = closeness(of_.X, of_.values, start, k, t, method=method, **more)
        yield judged(f"repair {method}", found.certificate, found.labels)


def one_attribute(of_: Instance) -> Iterator[Found]:
    """Yield what univariate proves, by each cost and solver."""
    x, n, k = of_.X[:, -1], len(of_.X), of_.k
    spread = float(Scale.of(x[:, None]).spread[0]) or 1.0
    unit = {"sae": spread, "maxdist": spread}
    for cost in ("sse", "integer", "sae", "maxdist"):
        price = partial(_price, x, cost, unit.get(cost, spread**2))
        best = least(n, k, price)
        asked = {"cost": "sse" if cost == "integer" else cost}
        asked["centroids"] = "integer" if cost == "integer" else "any"
        for solver, options in _solvers(of_.seed):
            name = f"univariate, {solver}" + (", loose" if options else "")
            try:
                found = univariate(x, k, **asked, solver=solver, options=options)
            except (SolverError, TableError, InfeasibleInputError):
                yield Found(f"{name}: refused", ())
                continue
            reached = of(found.labels, price)
            yield Found(name, lies_of(found.certificate, reached, best))


def _solvers(seed: int) -> Iterator[tuple[str, dict[str, float]]]:
    for solver in SOLVERS.values():
        turn = seed % EVERY.get(solver.language or "", 1) == 0
        if solver.installed and solver.fits("univariate", "LP") and turn:
            yield solver.name, {}
            if solver.name in LOOSE:
                yield solver.name, LOOSE[solver.name]


def _price(x: np.ndarray, cost: str, unit: float, group: list[int]) -> float:
    v = x[group]
    if cost == "maxdist":
        return float(np.ptp(v)) / unit
    if cost == "sae":
        return float(np.abs(v - np.median(v)).sum()) / unit
    if cost == "integer":
        whole = np.floor(v.mean()), np.ceil(v.mean())
        return min(float(((v - c) ** 2).sum()) for c in whole) / unit
    return float(((v - v.mean()) ** 2).sum()) / unit
