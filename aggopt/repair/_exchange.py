"""Exchange of records between many groups at once, by an integer program."""

from typing import NamedTuple

import numpy as np

from aggopt.core.deadline import Deadline
from aggopt.core.group_sums import plain_group_means
from aggopt.core.validation import Labels
from aggopt.privacy._distance import starts_of
from aggopt.repair._merge_ilp import choose_from
from aggopt.repair._problem import Problem
from aggopt.repair._unions import Unions
from aggopt.solvers import Solver, Status

INTO = 12  # nearest records that may join a group


class Exchanged(NamedTuple):
    """Labels (n,), and the status of the last program."""

    labels: Labels
    status: Status


def exchange_records(
    problem: Problem, labels: Labels, solver: Solver, clock: Deadline
) -> Exchanged:
    """Return t-close labels (n,), as good as the given ones or better.

    A program of `closeness_merge`, of records in place of groups, chooses from the
    groups unchanged, with one record less, one more, or one replaced: it finds cycles
    of changes whose single steps would each increase the loss or break t. The program
    is repeated on its result until it finds nothing better or time is up.
    """
    status = Status.LIMIT
    while not clock.over:
        m = int(labels.max()) + 1
        before = problem.sse(labels)
        changes = _list_changes(problem, labels, clock)
        if changes is None:
            return Exchanged(labels, Status.LIMIT)
        chosen = choose_from(changes, m, labels, solver, clock)
        status = chosen.certificate.status
        if problem.sse(chosen.labels) >= before - 1e-9:
            break
        labels = chosen.labels
    is_local = status in (Status.OPTIMAL, Status.LOCAL)
    return Exchanged(labels, Status.LOCAL if is_local else status)


def _list_changes(problem: Problem, labels: Labels, clock: Deadline) -> Unions | None:
    """Return the t-close groups with a record or two changed, then all unchanged ones.

    None if the changes take half of the time: the program takes longer.
    """
    from scipy.spatial import cKDTree

    sizes = np.bincount(labels)
    n = len(labels)
    means = plain_group_means(problem.Z, labels)
    wanted = min(n, int(sizes.max()) + INTO)
    near = cKDTree(problem.Z).query(means, np.arange(1, wanted + 1))[1]
    members = np.split(np.argsort(labels, kind="stable"), np.cumsum(sizes)[:-1])
    groups: list[Labels] = []
    until = clock.spent + clock.left / 2
    for now, row in zip(members, near, strict=True):
        if clock.spent > until:
            return None
        groups += _change_group(now, row[~np.isin(row, now)][:INTO])
    column, record = _flatten(groups)
    fits = _check_groups(problem, column, record, len(groups))
    close_groups = [group for group, fit in zip(groups, fits, strict=True) if fit]
    column, record = _flatten(close_groups + members)
    return Unions(problem, np.arange(n), column, record, complete=False)


def _change_group(now: Labels, into: Labels) -> list[Labels]:
    """Return a group with one record less, one more, or one replaced."""
    less = [np.delete(now, i) for i in range(len(now)) if len(now) > 1]
    more = [np.append(now, b) for b in into]
    other = [np.append(rest, b) for rest in less for b in into]
    return less + more + other


def _flatten(groups: list[Labels]) -> tuple[Labels, Labels]:
    lengths = np.array([len(group) for group in groups], np.intp)
    records = np.concatenate(
        [np.empty(0, np.intp), *groups]
    )  # for groups of one record
    return np.repeat(np.arange(len(groups)), lengths), records


def _check_groups(
    problem: Problem, column: Labels, record: Labels, count: int
) -> Labels:
    """Return whether each proposed group is t-close and has k records."""
    sizes = np.bincount(column, minlength=count)
    places = problem.ordered.place[record]
    ordered = places[np.lexsort((places, column))]
    numerators = problem.ordered.runs(ordered, starts_of(sizes))
    return np.asarray((numerators <= problem.limits[sizes]) & (sizes >= problem.k))
