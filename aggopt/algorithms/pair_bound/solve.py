"""Bounds by the pair program: rounds within a budget, and the optimum of a model.

A budget in seconds is converted into work, entries and distances that are visited, by
the rate of a usual processor.  So a certificate is the same under any load.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from math import inf
from typing import Any

import numpy as np

from aggopt.algorithms.pair_bound.cut_pool import CutPool
from aggopt.algorithms.pair_bound.nearest import NEIGHBOUR_ROUNDING, search_nearest
from aggopt.algorithms.pair_bound.program import PairPrices, PairProgram, RoundEffort
from aggopt.algorithms.pair_bound.requirements import PairRequirement
from aggopt.algorithms.pair_bound.row_kernels import FIRST, ITSELF, SECOND, Cuts
from aggopt.core.deadline import Deadline
from aggopt.core.parallel import ignore_progress
from aggopt.core.validation import Floats
from aggopt.models import pair_bound as model
from aggopt.solvers.certificate import Answer, Status, is_gap_closed
from aggopt.solvers.options import require_only_time_limit
from aggopt.solvers.solver import Solver

RATE = 2e8  # units of work in a second of a usual processor, at least
CALM = 10  # rounds without progress: then longer ones follow, and none after LONG
LONG = 160  # steps before a restart
PROGRESS = 2e-5  # share of the bound that they raise it by, at most
MET = 1e-9  # share of a known loss within which a bound proves it optimal


@dataclass(frozen=True)
class PairBound:
    """A bound on the loss of every partition into groups of k or more.

    Attributes
    ----------
    bound
        The bound, in the unit of the squares of the records.
    neighbour_bound
        The neighbour bound: the same without steps and without cuts.
    rounds
        Number of rounds; 0 if the bound is the neighbour bound.
    interrupted
        Whether Ctrl-C ended the search.
    is_cut
        Whether memory has room for fewer pairs than usual.
    is_short
        Whether the budget suffices for the neighbour bound only.
    prices
        Prices of records and sets that prove the bound; None with requirements, or if
        the bound is the neighbour bound.
    """

    bound: float
    neighbour_bound: float
    rounds: int
    interrupted: bool = False
    is_cut: bool = False
    is_short: bool = False
    prices: PairPrices | None = None


def bound_partitions(
    records: Floats,
    k: int,
    seconds: float,
    *,
    weights: Floats | None = None,
    requirements: Sequence[PairRequirement] = (),
    loss: float = inf,
    jobs: int | None = None,
    memory: int | None = None,
    clock: Deadline | None = None,
    progress: Callable[[float], None] = ignore_progress,
) -> PairBound:
    """Return a bound on the loss of every partition into groups of k or more.

    Parameters
    ----------
    records : (n, d)
        On the scale of distances, within [-1, 1]; n of 2k or more.
    k
        Least size of a group, 2 or more.
    seconds
        Budget, in seconds of a usual processor.  It ends a search after a number of
        steps that depends on the records only.  The neighbour bound is computed
        whatever the budget.
    weights : (n,)
        Sampling weights, of mean 1.
    requirements
        Requirements that all groups satisfy; then k is the least size that they allow.
    loss
        Loss of a known partition: a bound that reaches it ends the search.
    jobs
        Number of threads for the nearest records of a large table.
    memory
        Bytes for pairs and cuts, beyond which lists of pairs are cut; the free memory
        when omitted.
    clock
        Time limit, which also ends the search: the bound may then depend on the load.
    progress
        Receives the share of the budget that is spent.

    Returns
    -------
    PairBound
        The largest bound proven.  Ctrl-C ends the search, as a lack of memory does, and
        the bound so far counts.
    """
    budget = seconds * RATE
    clock = clock or Deadline(None)
    nearest = search_nearest(
        records,
        k,
        weights=weights,
        budget=budget,
        memory=memory,
        jobs=jobs,
        progress=progress,
    )
    start = nearest.bound * (1 - NEIGHBOUR_ROUNDING)
    result = PairBound(start, nearest.bound, 0, nearest.interrupted, nearest.is_cut)
    if nearest.interrupted or start >= loss * (1 - MET):
        return result
    if not nearest.is_listed or nearest.work >= budget:
        return replace(result, is_short=budget > 0 and not nearest.is_cut)
    try:
        program = PairProgram(
            records,
            k,
            effort=RoundEffort(),
            weights=weights,
            promises=requirements,
            nearest=nearest,
        )
        if program.loses:
            for outcome in _iterate_rounds(program, budget, progress):
                rounds = result.rounds + 1
                result = replace(
                    result,
                    bound=outcome.bound,
                    rounds=rounds,
                    prices=outcome.prices,
                )
                if outcome.bound >= loss * (1 - MET) or clock.over:
                    break
    except KeyboardInterrupt:
        result = replace(result, interrupted=True)
    except MemoryError:
        result = replace(result, is_cut=True)
    return result


def _iterate_rounds(
    program: PairProgram, budget: float, progress: Callable[[float], None]
) -> Iterator[PairProgram]:
    """Yield the program after each round, until the budget or the progress ends."""
    program = _take_first_round(program)
    history = [program.bound]
    yield program
    latest = 0.0  # work of the latest round; half of it may exceed the budget
    while program.work + latest / 2 < budget:
        if _is_calm(history):
            if program.effort.length > LONG:
                return
            length = 2 * program.effort.length
            program.effort = replace(program.effort, length=length)
            history = history[-1:]
        before = program.work
        program.separate()
        program.list_missing()
        program.improve()
        program.certify()
        latest = program.work - before
        history.append(program.bound)
        yield program
        progress(min(1.0, program.work / budget))


def _is_calm(history: list[float]) -> bool:
    """Whether the last rounds have hardly raised the bound."""
    return len(history) > CALM and history[-1] <= history[-1 - CALM] * (1 + PROGRESS)


def _take_first_round(program: PairProgram) -> PairProgram:
    """Return the program after a round, with the scale of steps that raises it more.

    Scales of the records themselves are better if their distances differ much, and one
    scale is better otherwise.
    """
    if program.promises:  # whose rows enter later: one round shows nothing
        program.improve()
        program.certify()
        return program
    plain = copy(program)
    plain.use_plain_scale()
    for trial in (program, plain):
        trial.w, trial.x = trial.w.copy(), trial.x.copy()
        trial.y = trial.y.copy()
        trial.pool = CutPool.start(trial.pool.cuts.counted, trial.pool.cuts.classes)
        trial.improve()
    best = plain if plain.listed_value > program.listed_value else program
    best.work += plain.work if best is program else program.work
    best.certify()
    return best


LIMIT = 60.0  # seconds for the data of a model, unless a limit is given
FEASIBLE = 1e-6  # by how much a point may miss a constraint
PRECISE = RoundEffort(restarts=4, length=50, triangles=20, together=1e-9)
SIDES = {model.FIRST: FIRST, model.SECOND: SECOND, model.ITSELF: ITSELF}


def run(
    data: model.Data, solver: Solver, native: Mapping[str, Any], start: None
) -> Answer:
    """Return the point and the bound of a model's data, whose cuts are given.

    Triangles and caps enter when they are violated.

    Raises
    ------
    JobError
        An option other than `time_limit`.
    """
    require_only_time_limit(solver, native)
    clock = Deadline(native.get("time_limit", LIMIT))
    if data.k == 1 or data.n < 2 * data.k or not data.costs.any():
        labels = np.arange(data.n) // data.k if data.k == 1 else np.zeros(data.n, int)
        at = model.point_of_groups(data, labels)
        return Answer(at, Status.OPTIMAL, model.objective(data, at), solver.name, 0.0)
    program = _state_program(data)
    best_at: model.Point | None = None
    best_value = inf
    status = Status.LIMIT
    while not clock.over:
        program.improve()
        program.certify()
        at = _read_point(program, data)
        value = model.objective(data, at)
        if value < best_value and model.MODEL.violation(data, at) <= FEASIBLE:
            best_value, best_at = value, at
        if best_at is not None and is_gap_closed(best_value, program.bound):
            status = Status.OPTIMAL
            break
        program.separate()
        program.list_missing()
    return Answer(best_at, status, program.bound, solver.name, clock.spent)


def _state_program(data: model.Data) -> PairProgram:
    """Return the program of a model's data, with all pairs listed."""
    n = data.n
    # each record is a class of its own in the rows that are given
    promises = [] if data.promises is None else [PairRequirement(np.arange(n))]
    program = PairProgram(data.x, data.k, effort=PRECISE, promises=promises)
    rank = np.argsort(program.order)
    i, j = np.triu_indices(n, 1)
    program.keys = i * n + j
    program.w = np.zeros(len(i))
    program.limits = np.full(n, inf)
    cut, ends = data.cuts
    every = np.arange(n)
    is_other = (every != cut[:, :1]) & (every != cut[:, 1:])
    ends = ends[:, program.order]
    is_other = is_other[:, program.order]
    inside = np.zeros((0, n), bool) if data.inside is None else data.inside
    u, member = np.nonzero(inside[:, program.order])
    sides = np.select([ends == side for side in SIDES], [*SIDES.values()])
    program.is_fixed = True
    program.pool.cuts = Cuts(
        program.pool.cuts.counted,
        program.pool.cuts.caps,
        program.pool.cuts.triangles,
        rank[cut].astype(np.int32).reshape(-1, 2),
        (is_other & (ends == model.ITSELF)).sum(axis=1).astype(np.int32),
        np.concatenate([[0], np.cumsum(is_other.sum(axis=1))]),
        np.nonzero(is_other)[1].astype(np.int32),
        sides[is_other].astype(np.int32),
        np.concatenate([[0], np.cumsum(np.bincount(u, minlength=len(inside)))]),
        member.astype(np.int32),
        *_list_promises(data, program),
    )
    if data.promises is not None:
        program.pool.promises = np.zeros(len(data.promises.side))
        program.pool.promise_sides = data.promises.side
    program.pool.common = np.zeros(len(cut))
    program.pool.sizes = np.zeros(len(inside))
    program.build()
    return program


def _list_promises(data: model.Data, program: PairProgram) -> tuple[Any, ...]:
    """Return the rows of the data's requirements as the last fields of `Cuts`."""
    if data.promises is None:
        return program.pool.cuts[-6:]
    rank = np.argsort(program.order)
    record, entry, _, levels = data.promises
    return (
        program.pool.cuts.classes,
        rank[record].astype(np.int32),
        np.zeros(len(record), np.int32),
        entry,
        np.arange(len(record) + 1) * data.n,
        np.ascontiguousarray(levels, np.float64).ravel(),
    )


def _read_point(program: PairProgram, data: model.Data) -> model.Point:
    """Return the point of the program, in the order of the model's records."""
    i = program.order[program.keys // data.n]
    j = program.order[program.keys % data.n]
    w = np.zeros(len(data.costs))
    w[data.number[i, j]] = program.w
    x = np.empty(data.n)
    x[program.order] = program.x
    return model.Point(w, x)
