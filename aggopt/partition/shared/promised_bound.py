"""Requirements of groups as bounds know them: rows of the pair program, and t alone."""

from collections.abc import Iterator, Sequence
from math import inf, log
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import LONGEST, Deadline
from aggopt.core.types import F64
from aggopt.core.validation import Floats
from aggopt.models import closeness_bound as model
from aggopt.partition.shared.scaling import rescale_squares
from aggopt.privacy.distance import Distance
from aggopt.privacy.dominance import Dominance
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.p_sensitive import Sensitivity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered
from aggopt.privacy.requirement import Requirement
from aggopt.solvers import Status, choose_solver, solve

if TYPE_CHECKING:
    from aggopt.algorithms.pair_bound.requirements import PairRequirement

HALVINGS = 60  # of the range of a share
PIECES = (4, 8)  # of f; more give better bounds, but harder programs
WIDEST = 24  # directions of the program: 1 s, and seven with twice as many
GRACE = 10.0  # seconds for the bound of t, which takes one or two, after a search


def bound_close_loss(
    records: Floats, ordered: Ordered, t: float, left: float = inf
) -> float:
    """Return a lower bound on the SSE of t-close groups of any size, or 0.0.

    The bound is of t only, whatever the sizes of groups. The solver's multipliers prove
    it, whatever the solver reports. If the records have many coordinates, as encoded
    names do, only some directions are used: the loss in these is part of the loss in
    all.

    The solver has `left` seconds and GRACE more, LONGEST at most.
    """
    spread = float(np.sqrt(records.var(axis=0).mean()))
    if ordered.m == 1 or not spread:
        return 0.0
    place = ordered.place / (ordered.m - 1)
    exponent = int(np.frexp(spread)[1])
    Z = _reduce_directions(np.ldexp(records, -exponent), place, t)
    solver = choose_solver(None, model.MODEL.kind).name
    best = 0.0
    clock = Deadline(min(max(left, 0.0) + GRACE, LONGEST))
    for pieces in PIECES:
        if clock.over:
            break
        data = model.Data(Z, place, t, pieces)
        program = model.build(data, "cvxpy")
        status = solve(program, solver, time_limit=clock.left).status
        if status.usable and status is not Status.UNANSWERED:
            multipliers = model.multipliers(program, data)
            best = max(
                best, 0.0 if multipliers is None else model.proven(data, multipliers)
            )
    return rescale_squares(best * Z.size, exponent)


def _reduce_directions(Z: F64, place: F64, t: float) -> F64:
    """Return the records' coordinates in up to WIDEST orthogonal directions.

    Those along which f varies are first, then those along which records vary most.
    """
    if Z.shape[1] <= WIDEST:
        return Z
    from scipy.linalg import eigh

    centred = Z - Z.mean(axis=0)
    last = Z.shape[1] - 1
    axes_of_records = eigh(
        centred.T @ centred, subset_by_index=[last - WIDEST + 1, last]
    )[1][:, ::-1]
    f_directions = model.Data(Z, place, t, max(PIECES)).way
    axes = np.linalg.qr(np.hstack([centred.T @ f_directions, axes_of_records]))[0]
    return np.asarray(centred @ axes[:, :WIDEST])


def list_pair_requirements(
    requirements: "Sequence[Requirement | PairRequirement]",
) -> "list[PairRequirement]":
    """Return requirements as rows of the pair program; others have no rows."""
    return [
        rows
        for requirement in requirements
        for rows in _iterate_pair_requirements(requirement)
    ]


def bound_closeness(
    records: Floats,
    requirements: "Sequence[Requirement | PairRequirement]",
    left: float = inf,
) -> float:
    """Return the largest bound from t of one ordered attribute; 0.0 without any."""
    bounds = [
        bound_close_loss(records, requirement.distance, float(requirement.t), left)
        for requirement in requirements
        if isinstance(requirement, Closeness)
        and isinstance(requirement.distance, Ordered)
    ]
    return max(bounds, default=0.0)


def _iterate_pair_requirements(
    requirement: "Requirement | PairRequirement",
) -> "Iterator[PairRequirement]":
    """Yield the rows of the pair program for a requirement; none if it has none."""
    from aggopt.algorithms.pair_bound import requirements as rows

    if isinstance(requirement, rows.PairRequirement):
        yield requirement
    elif isinstance(requirement, Closeness):
        if not requirement.trivial:
            yield _convert_closeness(requirement.distance, float(requirement.t))
    elif isinstance(requirement, Diversity):
        codes, required_l = requirement.codes, requirement.required_l
        yield rows.DistinctClasses(codes, required_l)
        if requirement.kind == "entropy":
            yield rows.LimitedShares(codes, _find_largest_share(codes, required_l))
        elif requirement.c is not None and required_l > 1:
            # r_1 < c (r_l + ...) <= c (s - r_1) for the most frequent value
            yield rows.LimitedShares(codes, requirement.c / (1 + requirement.c))
    elif isinstance(requirement, Sensitivity):
        yield rows.DistinctClasses(requirement.codes, requirement.p)
    elif isinstance(requirement, Dominance) and requirement.weights.min() > 0:
        weights = requirement.weights
        none = np.zeros(len(weights), np.intp)
        yield rows.LimitedWeights(none, weights, requirement.share)


def _convert_closeness(distance: Distance, t: float) -> "PairRequirement":
    """Return t-closeness by a distance as rows of the pair program."""
    from aggopt.algorithms.pair_bound.closeness import NestedCloseness, OrderedCloseness

    if isinstance(distance, Ordered):
        table = np.diff(distance.below, prepend=0) / distance.n
        return OrderedCloseness(distance.place, t, table=table)
    if not isinstance(distance, Nested):
        raise TypeError(f"No rows of {type(distance).__name__} are known.")
    heights = distance.weight / (2.0 * distance.height)
    table = np.bincount(distance.place, minlength=len(distance.paths)) / distance.n
    return NestedCloseness(distance.place, t, distance.paths, heights, table=table)


def _find_largest_share(codes: npt.NDArray[np.integer], l: int) -> float:  # noqa: E741
    """Return the largest share of one value in a group of entropy log l.

    With a share p, the others at best have equal parts of the rest.
    """
    others = int(codes.max())
    low, high = 1.0 / (others + 1), 1.0
    for _ in range(HALVINGS):
        p = (low + high) / 2
        rest = 1 - p
        entropy = -p * log(p) - (rest * log(rest / others) if rest > 0 else 0.0)
        low, high = (p, high) if entropy >= log(l) else (low, p)
    return high
