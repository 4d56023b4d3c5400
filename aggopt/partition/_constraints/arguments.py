"""The arguments that say what groups are to promise; contradictions are refused."""

from typing import Any, NamedTuple

import numpy.typing as npt

from aggopt.errors import JobError
from aggopt.partition._constraints.l_diversity import require_kind, whole
from aggopt.privacy._ordered import require_bins


class Asked(NamedTuple):
    """A confidential attribute, t and l, and how they are counted."""

    confidential: npt.ArrayLike | None = None
    t: Any = None
    l: Any = None  # noqa: E741
    bins: str = "distinct"
    levels: int | str = 20
    boundaries: npt.ArrayLike | None = None
    diversity: str = "distinct"


HOW = {"bins": "t", "levels": "l", "boundaries": "l", "diversity": "l"}
NOTHING = Asked()


def require(asked: Asked) -> None:
    """Refuse a promise of nothing, and what says how to keep what is not promised."""
    require_bins(asked.bins)
    require_kind(asked.diversity)
    promises = [name for name in ("t", "l") if getattr(asked, name) is not None]
    for name, of in HOW.items():
        if of not in promises and _differs(asked, name):
            raise JobError(
                f"{name} says how {of} is counted, and no {of} is promised.",
                fix=f"state {of} beside, or leave {name} out.",
            )
    both = " and ".join(promises)
    if promises and asked.confidential is None:
        raise JobError(
            f"{both} is promised of no attribute.",
            fix="pass confidential=, one value per record.",
        )
    if asked.confidential is not None and not promises:
        raise JobError(
            "A confidential attribute is given, and nothing is promised of it.",
            fix="state t or l beside, or leave confidential out.",
        )
    if asked.l is not None:
        whole(asked.l)


def _differs(asked: Asked, name: str) -> bool:
    given, usual = getattr(asked, name), getattr(NOTHING, name)
    return given is not usual and (name == "boundaries" or bool(given != usual))
