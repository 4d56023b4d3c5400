"""Initial groups of a search."""

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats, Labels, check_groups, renumber_groups
from aggopt.errors import JobError
from aggopt.partition._closeness_first.closeness_first import (
    count_strata,
    fit_count,
    partition_by_strata,
)
from aggopt.partition._diverse_vmdav.diverse_vmdav import diverse_vmdav
from aggopt.partition.constraints.constraints import Constraints
from aggopt.partition.registry import (
    PartitionFunction,
    list_initial_methods,
    resolve_function,
)

STRATA = 1.5  # times as many as t needs: best overall


def make_initial_groups(
    records: Floats,
    k: int,
    initial: str | PartitionFunction | None,
    labels: npt.ArrayLike | None,
    constraints: Constraints | None,
) -> Labels:
    """Return labels (n,) of k records or more that satisfy the constraints.

    Groups of the chosen method, or of the one that suits the constraints, are merged
    until they do; labels passed by the user are not changed.

    Raises
    ------
    JobError
        An unknown method (UnknownNameError); invalid labels, or labels that break k or
        the constraints.
    """
    if initial is not None:
        _require_method(initial)
        resolve_function(initial, "initial method", list_initial_methods())
    if labels is not None:
        if initial is not None:
            raise JobError(
                f"initial = {initial!r} and initial_labels are both set.",
                fix="leave one of the two out.",
            )
        return read_initial_labels(labels, len(records), k, constraints)
    if constraints is None:
        return _partition_by_method(records, k, initial or "mdav")
    if initial is None:
        groups_made = _make_feasible_groups(records, k, constraints)
    else:
        groups_made = _partition_by_method(records, k, initial)
    return renumber_groups(constraints.merge_until_feasible(records, groups_made))


def _require_method(initial: object) -> None:
    if not (isinstance(initial, str) or callable(initial)):
        raise JobError(
            f"initial is of type {type(initial).__name__}, not the name of a method.",
            fix='pass groups as initial_labels; initial takes a name: initial="mdav".',
        )


def _partition_by_method(
    records: Floats, k: int, choice: str | PartitionFunction
) -> Labels:
    method = resolve_function(choice, "initial method", list_initial_methods())
    return renumber_groups(check_groups(method(records, k, scale="none"), len(records)))


def _make_feasible_groups(records: Floats, k: int, constraints: Constraints) -> Labels:
    """Return groups made for the constraints: for t if both t and l are set."""
    close = constraints.closeness
    diverse = constraints.diversity
    if close is None and diverse is not None:
        return diverse_vmdav(
            records,
            diverse.codes,
            diverse.least,
            k=k,
            levels="values",
            diversity=diverse.kind,
            scale="none",
        ).labels
    if close is None or close.attributes[0].m == 1:
        return _partition_by_method(records, k, "mdav")
    n = len(records)
    ordered = close.attributes[0]
    strata = count_strata(n, k, close.t)
    size = fit_count(n, min(n, round(STRATA * strata)))
    return partition_by_strata(records, ordered.place, size)


def read_initial_labels(
    raw_labels: npt.ArrayLike, n: int, k: int, constraints: Constraints | None
) -> Labels:
    """Return the user's labels (n,), checked to satisfy k and the constraints.

    Raises
    ------
    JobError
        They are not labels of n records, or break k or the constraints.
    """
    labels = check_groups(raw_labels, n)
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise JobError(
            f"initial_labels have a group of {smallest}; k = {k}.",
            fix=f"pass groups of {k} records or more, or a smaller k.",
        )
    broken = 0 if constraints is None else int(constraints.broken(labels).sum())
    if constraints is not None and broken:
        raise JobError(
            f"initial_labels do not keep {constraints.name}: {broken} of "
            f"{labels.max() + 1} groups break it.",
            fix="leave initial_labels out, or pass groups that keep it, as "
            "aggopt.repair.closeness makes for t and diverse_vmdav for l.",
        )
    return renumber_groups(labels)
