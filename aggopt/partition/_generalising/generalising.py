"""Partition `generalising`: least loss if groups publish what is true of all."""

import warnings
from collections.abc import Mapping
from importlib import import_module
from math import inf
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field, StrictInt

from aggopt.core.columns import encode_values
from aggopt.core.deadline import Deadline, Progress, require_time_limit, throttle
from aggopt.core.deferred_signals import finish_despite_interrupt
from aggopt.core.types import I64, Floats
from aggopt.core.validation import (
    Labels,
    check_group_size,
    find_caller_stacklevel,
    renumber_groups,
    require_seed,
)
from aggopt.encoding.encoded_table import Encoded
from aggopt.encoding.generalisation import (
    GeneralisedTable,
    generalise,
    generalise_numbers,
)
from aggopt.encoding.generalisation_rule import GeneralisationRule
from aggopt.errors import (
    InfeasibleInputError,
    JobError,
    PrivacyError,
    TableError,
    require_known,
)
from aggopt.partition._generalising.certificate import (
    certify_generalised,
    prove_optimum,
)
from aggopt.partition._generalising.search import GroupSearch, create_record_space
from aggopt.partition._generalising.start import (
    cut_at_medians,
    separate_piles,
    split_by_position,
)
from aggopt.partition._generalising.state import FurtherRequirements
from aggopt.partition._local_search.setup import read_initial_labels
from aggopt.partition.constraints import (
    ConstraintArguments,
    Constraints,
    build_diversity,
    combine_constraints,
    read_constraints,
)
from aggopt.partition.registry import Bound, Objective, Partitioner
from aggopt.partition.shared.result import INTERRUPTED, Partition
from aggopt.partition.shared.scaling import Weighing, read_records
from aggopt.partition.shared.settings import SEARCH_EXEMPTIONS, Timed
from aggopt.solvers import Solver, Status, choose_solver

SEARCH_SHARE = 0.25  # of a time limit, if a solver follows
EFFORTS = {"fast": 10, "default": 100, "best": 1000}  # trials for each record
USUAL_K = 5  # up to which there are so many: a trial takes time like k^2


def generalising(
    X: npt.ArrayLike,
    k: int,
    *,
    initial_labels: npt.ArrayLike | None = None,
    rules: Mapping[str, GeneralisationRule] | None = None,
    time_limit: float | None = None,
    effort: str = "default",
    seed: int = 0,
    confidential: npt.ArrayLike | None = None,
    t: float | None = None,
    l: int | None = None,  # noqa: E741
    bins: str = "distinct",
    levels: int | str = 20,
    boundaries: npt.ArrayLike | None = None,
    diversity: str = "distinct",
    units: npt.ArrayLike | None = None,
    weights: npt.ArrayLike | None = None,
    solver: str | None = None,
    progress: Progress | None = None,
) -> Partition:
    """Return groups of k or more records that lose least if they publish true values.

    A group publishes, for each attribute, a value that is true of all its records: the
    lowest common node of a tree, the range of numbers or of an order, and of other
    names the one that all share, or nothing.  The loss of a record is the sum over
    attributes of what its group gives up: 0 for the value itself, and 1 for nothing.

    The search starts from cuts at medians (Mondrian).  It dissolves a few near groups
    at a time, and grows new ones from the same records.  Worse results are accepted at
    random, ever more seldom.  Piles of k or more equal records, which lose nothing,
    lend records to others.

    Parameters
    ----------
    X : (n, d)
        Quasi-identifiers: numbers, none missing, which publish ranges; or an encoded
        table, from `aggopt.encode`, of attributes of any types but tables of distances.
    k : int
        Records per group, 1 <= k <= n.
    initial_labels : (n,) ints, optional
        First groups, in place of those of cuts at medians: labels 0..m-1 of groups of k
        or more that satisfy the requirements.
    rules
        What attributes of an encoded table publish, its cost and their weights, by
        name, in place of what their types state; see
        `aggopt.encoding.generalisation_rule.GeneralisationRule`.
    time_limit : float, optional
        Seconds for the search, which continues until then.  The first groups, the
        search for near records and the first call's compilation are not counted.
    effort : "fast", "default" or "best"
        Without `time_limit`: 10, 100 or 1000 trials per record; above k = 5, fewer by
        the factor 5 / k.
    seed : int
        Seed of all random choices.  Without `time_limit`, equal seeds give equal
        groups.
    confidential, t, bins, l, levels, boundaries, diversity
        Requirements of a confidential attribute, as in `local_search`.
    units : (n,), optional
        Unit of each record, such as its household: each group has records of k units.
    weights : (n,), optional
        Sampling weights, above 0, of any scale: the loss counts each record as often.
        k, t and l count records.
    solver : str, optional
        After the search, a solver of integer programs looks for better groups, or
        proves that none exist: "cvxpy:highs", or another name of
        `aggopt.solvers.SOLVERS`.  For small tables, without requirements in addition
        to k.  The search then has a quarter of the time limit.
    progress : callable, optional
        Progress callback: called with the completed share, from 0.0 to 1.0.

    Returns
    -------
    Partition
        Group of each record, numbered 0..m-1 in the order of the groups' first records.
        They never lose more than the first groups.  Equal records are in one group
        wherever they are a pile of k or more that nothing is borrowed from.  The
        objective of the certificate is the loss of all records.  Its bound holds for
        any groups of k records with l values or k units, and is computed on first
        access: see `aggopt.models.generalised_loss`.  It takes l as distinct, leaves t
        out, and with both l and units is the higher one of two bounds.  The status is
        OPTIMAL if the bound is as high as the loss; KEPT, LIMIT, INTERRUPTED and LOCAL
        as in `local_search`.

    Raises
    ------
    InfeasibleInputError
        k exceeds n; all records together do not satisfy a requirement; the program of a
        solver is too large.
    JobError
        k, rules, effort, time_limit, seed, initial_labels or a requirement
        cannot be used, as in `local_search`; an attribute has a table of distances.
    TableError
        X, units or weights cannot be used.

    Warns
    -----
    UserWarning
        After Ctrl-C, which ends the search: the best groups so far are returned.

    Notes
    -----
    A trial takes time in proportion to k^2 d.  Near records are found by comparing all
    distinct ones, up to 25 000 of them; in sorted orders beyond.

    Weaknesses: groups that lose least are minimal, so that an attacker who knows the
    method may conclude more from a published node than that it is true (Cohen, USENIX
    Security 2022).  A range publishes the values of two members.

    Source: this package; the loss is that of Iyengar, KDD 2002, and of Xu et al., KDD
    2006; ruin and recreate by Schrimpf et al., Journal of Computational Physics, 2000.

    Examples
    --------
    >>> groups = generalising([[0.0], [12.0], [2.0], [11.0], [3.0], [10.0]], k=3)
    >>> groups.labels, round(groups.loss, 3)
    (array([0, 1, 0, 1, 0, 1]), 1.25)
    """
    arguments = ConstraintArguments(
        confidential, t, l, bins, levels, boundaries, diversity
    )
    clock = Deadline(None, throttle(progress))
    table = read_generalised(X, rules)
    n = len(table)
    k = check_group_size(k, n)
    weighing = Weighing.read(weights, n)
    constraints = read_constraints(arguments, n)
    unit_codes = _read_units(units, n, k)
    _require_effort(effort, time_limit, seed)
    first = _read_first(initial_labels, n, k, constraints, unit_codes)
    requirements = _build_requirements(constraints, unit_codes, k)
    chosen = _choose_solver(solver, requirements)
    if time_limit is None:
        steps, seconds = EFFORTS[effort] * n * min(1.0, USUAL_K / k), None
    else:
        steps, seconds = inf, time_limit
        if chosen is not None:
            seconds *= SEARCH_SHARE
    limit = Deadline(seconds, clock.progress)
    labels, status = search_low_loss(
        table, k, first, requirements, weighing, seed, steps, limit
    )
    if constraints is not None and constraints.find_broken(labels).any():
        raise PrivacyError(
            f"The groups of the search do not satisfy {constraints.name}.",
            fix="choose another method, and report this.",
        )
    if status is Status.INTERRUPTED:
        warnings.warn(INTERRUPTED, stacklevel=find_caller_stacklevel())
    elif chosen is not None:
        rest = Deadline(time_limit, started=clock.started)
        labels, certificate = prove_optimum(table, labels, k, weighing, chosen, rest)
        clock.report(1.0)
        return Partition(labels, certificate)
    clock.report(1.0)
    evidence = certify_generalised(
        table, labels, k, weighing, requirements, seconds=clock.spent, status=status
    )
    return Partition(labels, evidence)


def read_generalised(
    X: npt.ArrayLike, rules: Mapping[str, GeneralisationRule] | None
) -> GeneralisedTable:
    """Return the positions and losses of an encoded table, or of numbers (n, d)."""
    records = read_records(X)
    if not isinstance(records, Encoded):
        if rules:
            raise JobError(
                "rules name attributes, and an array has no names.",
                fix="pass an encoded table: aggopt.encode(frame).",
            )
        return generalise_numbers(records)
    return generalise(records, rules)


def _choose_solver(
    name: str | None, requirements: FurtherRequirements | None
) -> Solver | None:
    """Return the solver of a name; refuse one if more than k is required."""
    if name is None:
        return None
    if requirements is not None:
        raise JobError(
            f"solver = {name!r}, and groups are required to satisfy more than k, which "
            "the program does not contain.",
            fix="leave the solver out.",
        )
    return choose_solver(name, "MILP")


def _require_effort(effort: str, time_limit: float | None, seed: int) -> None:
    require_known("effort", effort, EFFORTS)
    require_seed(seed)
    require_time_limit(time_limit)
    if time_limit is not None and effort != "default":
        raise JobError(
            f"effort = {effort!r} and time_limit are both set, but only one of them "
            "ends the search.",
            fix="leave one of the two out.",
        )


def _read_units(units: Any, n: int, k: int) -> I64 | None:
    """Return the unit of each record as a number (n,), or None."""
    if units is None:
        return None
    if np.shape(units) != (n,):
        raise TableError(
            f"units have shape {np.shape(units)}, but there are {n} records.",
            fix=f"pass one unit for each record, shape ({n},).",
        )
    codes = encode_values(np.asarray(units))
    number = len(np.unique(codes))
    if number < k:
        raise InfeasibleInputError(
            f"k = {k}, but the records have only {number} units.",
            fix=f"choose k of at most {number}.",
        )
    return codes


def _read_first(
    initial_labels: npt.ArrayLike | None,
    n: int,
    k: int,
    constraints: Constraints | None,
    units: I64 | None,
) -> Labels | None:
    """Return the user's first groups, which satisfy the requirements, or None."""
    if initial_labels is None:
        return None
    labels = read_initial_labels(initial_labels, n, k, constraints)
    if units is not None:
        pairs = np.unique(np.column_stack([labels, units]), axis=0)
        smallest = int(np.bincount(pairs[:, 0]).min())
        if smallest < k:
            raise JobError(
                f"initial_labels have a group of {smallest} units; k = {k}.",
                fix=f"pass groups of {k} units or more, or a smaller k.",
            )
    return labels


def _build_requirements(
    constraints: Constraints | None, units: I64 | None, k: int
) -> FurtherRequirements | None:
    """Return the requirements in addition to k in the form that kernels read."""
    promise = None if constraints is None else constraints.search_state
    if promise is None and units is None:
        return None
    none = combine_constraints()
    unit_state = (
        none.diverse if units is None else build_diversity(units, k, "distinct")
    )
    return FurtherRequirements(none if promise is None else promise, unit_state)


def search_low_loss(
    table: GeneralisedTable,
    k: int,
    first: Labels | None,
    requirements: FurtherRequirements | None,
    weighing: Weighing,
    seed: int,
    steps: float,
    limit: Deadline,
) -> tuple[Labels, Status]:
    """Return groups of k or more (n,) that satisfy the requirements, and the status.

    They lose no more than the first groups, or those of cuts at medians if None.
    """
    distinct = table.combine()
    if k == 1 and requirements is None:
        return renumber_groups(np.asarray(distinct.of_record)), Status.LOCAL
    if len(table) < 2 * k:
        return np.zeros(len(table), np.intp), Status.LOCAL
    for name in ("near", "group", "rebuild", "move"):
        import_module(f"aggopt.partition._generalising.{name}_kernels")
    if first is None:
        first = make_first_groups(table, distinct.of_record, k, requirements)
    space = create_record_space(table, distinct, k, weighing.values, requirements)
    search = GroupSearch(space, np.asarray(first, np.int64), seed)
    clock = Deadline(limit.seconds, limit.progress)
    status = Status.INTERRUPTED
    try:
        search.run(steps, clock)
        status = Status.LIMIT if clock.over else Status.LOCAL
    except KeyboardInterrupt:
        pass
    first_groups = renumber_groups(np.asarray(first, np.intp))
    labels, stopped = finish_despite_interrupt(
        lambda: renumber_groups(np.asarray(search.labels, np.intp))
    )
    if stopped:
        status = Status.INTERRUPTED
    gain = table.compute_loss(first_groups, weighing.values) - table.compute_loss(
        labels, weighing.values
    )
    if gain > 0:
        return labels, status
    return first_groups, Status.KEPT if status is Status.LOCAL else status


def make_first_groups(
    table: GeneralisedTable,
    combination: I64,
    k: int,
    requirements: FurtherRequirements | None,
) -> I64:
    """Return the groups of cuts at medians (n,), made smaller if only k is required."""
    if requirements is None:
        labels = cut_at_medians(table, lambda members: len(members) >= k)
        return split_by_position(table, separate_piles(labels, combination, k), k)
    from aggopt.partition._generalising import group_kernels as kernels

    return cut_at_medians(
        table,
        lambda members: (
            len(members) >= k and kernels.are_allowed(requirements, members)
        ),
    )


def certify_repaired(
    X: Any, repaired: Partition, k: int, weights: Floats | None, by: str
) -> Partition:
    """Return groups that a repair made of truthful ones, with their generalised loss.

    `weights` (n,) are of the records, and `by` the name of the repair.
    """
    table = read_generalised(X, None)
    evidence = certify_generalised(
        table,
        repaired.labels,
        k,
        Weighing.read(weights, len(table)),
        seconds=0.0,
        status=Status.HEURISTIC,
        by=f"generalising, then {by}",
    )
    return Partition(repaired.labels, evidence)


class Generalising(Timed):
    """Settings of `aggopt.partition.generalising`.

    Attributes
    ----------
    seed
        Seed of all random choices.
    """

    method: Literal["generalising"]
    seed: StrictInt = Field(default=0, ge=0)


PARTITIONER = Partitioner(
    name="generalising",
    when="least loss of groups that publish true values: nodes, ranges or nothing",
    rank=45,
    function=generalising,
    settings=Generalising,
    takes_also=frozenset({"l", "t", "units"}),
    certify_repaired=certify_repaired,
    bound=Bound.BOXES,
    objective=Objective.GENERALISED,
    excused={
        **SEARCH_EXEMPTIONS,
        "no_group_could_be_split": "records that publish equal values are one group",
    },
    weighs=True,
)
