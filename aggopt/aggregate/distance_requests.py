"""Requests of records: a number for all, one per attribute, one each, or a share."""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel, ConfigDict, Field

from aggopt.aggregate.bounds import End
from aggopt.core.equality import to_hashable
from aggopt.core.plural import agree
from aggopt.core.types import Floats, WishValues
from aggopt.core.validation import read_relative
from aggopt.errors import JobError


class Wanted(NamedTuple):
    """Distances, importances, the number that weighs them, bounds, and weights (n,)."""

    delta: WishValues
    importance: WishValues
    weight: float
    lower: End = None
    upper: End = None
    weights: npt.ArrayLike | None = None


def spread_request(wish: WishValues, Z: Floats, name: str) -> Floats:
    """Return the requested distance or importance for each value of Z, (n, d).

    A number, one per attribute (d,), or (n, d). {"relative": r}, with r of any of these
    shapes, requests r |z|, which is larger for a record farther out.

    Raises
    ------
    JobError
        Another shape, type or key; the message lists the possible ones.
    """
    if isinstance(wish, Mapping):
        return spread_request(read_relative(wish, name), Z, name) * np.abs(Z)
    array = _read_array(wish, Z, name)
    if array.dtype.kind not in "iuf" or array.shape not in ((), Z.shape[1:], Z.shape):
        raise JobError(
            f"{name} has shape {array.shape} and type {array.dtype}.",
            fix=_describe_shapes(Z),
        )
    unusable = int((~np.isfinite(array)).sum())
    if unusable:
        entries = agree(unusable, "entry that is", "entries that are")
        raise JobError(
            f"{name} has {unusable} {entries} missing or infinite.",
            fix="fill them: 0 requests nothing.",
        )
    return np.broadcast_to(array.astype(np.float64), Z.shape)


def _read_array(wish: npt.ArrayLike, Z: Floats, name: str) -> npt.NDArray[Any]:
    """Return `wish` as an array; refuse rows of unequal length."""
    try:
        return np.asarray(wish)
    except (TypeError, ValueError):
        pass  # the original message may quote an entry
    raise JobError(f"{name} has rows of unequal length.", fix=_describe_shapes(Z))


def _describe_shapes(Z: Floats) -> str:
    """Return the text of the shapes that a request for records Z may have."""
    return (
        f"pass a number, one per attribute ({Z.shape[1]},), or one per record and "
        f"attribute {Z.shape}."
    )


Number = Annotated[float, Field(ge=0, allow_inf_nan=False, strict=True)]


class _Kind(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    def __hash__(self) -> int:
        """Return equal numbers for equal requests."""
        return hash((type(self), to_hashable(self.__dict__)))


class Relative(_Kind):
    """As many times the value's own distance from the mean."""

    relative: Number


class Column(_Kind):
    """Each record's own wish, in a column with the role `wish`."""

    column: str


One = Number | Relative | Column


class ByAttribute(_Kind):
    """One wish for each quasi-identifier, by name."""

    attributes: dict[str, One]


Wish = One | ByAttribute
