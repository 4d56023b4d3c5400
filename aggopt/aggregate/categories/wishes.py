"""Read the requests of records for categories; reject impossible ones."""

import numpy as np
import numpy.typing as npt

from aggopt.core.plural import plural
from aggopt.core.types import F64
from aggopt.core.validation import is_number
from aggopt.encoding import Categories, Domain
from aggopt.errors import JobError

OWN = float(np.nextafter(0.0, 1.0))  # a distance that any other category keeps


def require_reach(delta: F64, domain: Domain) -> None:
    """Refuse distances (n,) that no two levels have.

    Raises
    ------
    JobError
        The message has the number of records that request more.
    """
    widest = domain.widest / domain.unit
    far = int((delta > widest).sum())
    if far:
        raise JobError(
            f"delta is out of reach in {plural(far, 'record')} of {len(delta)}: no two "
            f"levels are more than {widest:.6g} apart.",
            fix="ask for less; left out, any other category will do.",
        )


def asked_of(delta: npt.ArrayLike | None, categories: Categories) -> F64:
    """Return the requested distance of each record, (n,)."""
    asked = each_of("delta", OWN if delta is None else delta, len(categories.codes))
    require_reach(asked, categories.domain)
    return asked


def each_of(name: str, given: npt.ArrayLike, n: int) -> F64:
    """Return one number from 0 up for each of n records."""
    found = np.asarray(given)
    if found.dtype.kind not in "iuf" or found.shape not in ((), (n,)):
        raise JobError(
            f"{name} has shape {found.shape} and type {found.dtype}.",
            fix=f"pass a number, or one for each record ({n},).",
        )
    wrong = int((~(found >= 0) | ~np.isfinite(found)).sum())
    if wrong:
        raise JobError(
            f"{name} has {plural(wrong, 'entry', 'entries')} below 0, missing or "
            "infinite.",
            fix="pass numbers from 0 up.",
        )
    return np.broadcast_to(found.astype(np.float64), n)


def require_budget(budget: float | None) -> None:
    """Refuse a budget of loss that is below that of the model of frequencies.

    Raises
    ------
    JobError
        The budget is not a finite number of at least 1.
    """
    if budget is not None and (not is_number(budget) or not 1 <= budget < np.inf):
        raise JobError(
            f"budget = {budget!r}.",
            fix="pass a number from 1 up: multiples of the loss of frequencies.",
        )


def require_choice(
    domain: Domain, asked: F64, insisted: F64, budget: float | None
) -> None:
    """Refuse distances and importances (n,) if only a budget would decide.

    Raises
    ------
    JobError
        No budget is given, and all requests are equal, of names without an order or a
        tree.
    """
    same = np.ptp(insisted) == 0 and (asked > 0).all()
    if budget is None and domain.kind == "nominal" and same:
        raise JobError(
            "All records ask for the same, of names without an order or a tree: who is "
            "satisfied is then just who is lost, and only the budget decides.",
            fix="give importances that differ, an order or a tree; or a budget, such "
            "as budget = 1.1.",
        )
