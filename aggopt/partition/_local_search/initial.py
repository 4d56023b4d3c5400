"""The groups that a search sets out from."""

import numpy as np
import numpy.typing as npt

from aggopt.core.validation import Floats, Labels, groups, numbered
from aggopt.errors import JobError
from aggopt.partition._closeness_first.closeness_first import (
    fitted,
    least_strata,
    stratified,
)
from aggopt.partition._constraints.constraints import Constraints
from aggopt.partition._diverse_vmdav.diverse_vmdav import diverse_vmdav
from aggopt.partition._registry import Divide, divide_of, initial_methods

Initial = tuple[str | Divide | None, npt.ArrayLike | None]  # a method, or labels
STRATA = 1.5  # times as many as t needs: best on the whole


def first_groups(
    records: Floats,
    k: int,
    initial: str | Divide | None,
    labels: npt.ArrayLike | None,
    promised: Constraints | None,
) -> Labels:
    """Return labels (n,) of k records or more, which keep what is promised.

    Those of a method named, or of the one that suits the promise, are united until
    they do; labels given are not changed.

    Raises
    ------
    JobError
        An unknown method (UnknownNameError); labels that are none, or break k or the
        promise.
    """
    if initial is not None:
        _require_method(initial)
        divide_of(initial, "initial method", initial_methods())
    if labels is not None:
        if initial is not None:
            raise JobError(
                f"initial = {initial!r} beside initial_labels.",
                fix="leave one of the two out.",
            )
        return given_groups(labels, len(records), k, promised)
    if promised is None:
        return _by_method(records, k, initial or "mdav")
    if initial is None:
        made = _promising(records, k, promised)
    else:
        made = _by_method(records, k, initial)
    return numbered(promised.united(records, made))


def _require_method(initial: object) -> None:
    if not (isinstance(initial, str) or callable(initial)):
        raise JobError(
            f"initial is of type {type(initial).__name__}, and no name of a method.",
            fix='pass groups as initial_labels; initial takes a name: initial="mdav".',
        )


def _by_method(records: Floats, k: int, named: str | Divide) -> Labels:
    method = divide_of(named, "initial method", initial_methods())
    return numbered(groups(method(records, k, scale="none"), len(records)))


def _promising(records: Floats, k: int, promised: Constraints) -> Labels:
    """Return groups made for the promise: for t where both are promised."""
    close, diverse = promised.closeness, promised.diversity
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
        return _by_method(records, k, "mdav")
    n, ordered = len(records), close.attributes[0]
    least = least_strata(n, k, close.t)
    size = fitted(n, min(n, round(STRATA * least)))
    return stratified(records, ordered.place, size)


def given_groups(
    given: npt.ArrayLike, n: int, k: int, promised: Constraints | None
) -> Labels:
    """Return labels (n,) that were given, of k records or more, which keep a promise.

    Raises
    ------
    JobError
        They are no labels of n records, or break k or the promise.
    """
    labels = groups(given, n)
    smallest = int(np.bincount(labels).min())
    if smallest < k:
        raise JobError(
            f"initial_labels have a group of {smallest}; k = {k}.",
            fix=f"pass groups of {k} records or more, or a smaller k.",
        )
    broken = 0 if promised is None else int(promised.broken(labels).sum())
    if promised is not None and broken:
        raise JobError(
            f"initial_labels do not keep {promised.name}: {broken} of "
            f"{labels.max() + 1} groups break it.",
            fix="leave initial_labels out, or pass groups that keep it, as "
            "aggopt.repair.closeness makes for t and diverse_vmdav for l.",
        )
    return numbered(labels)
