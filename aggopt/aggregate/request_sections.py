"""Requested distances: for all records, by attribute, relative, or in a column."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from aggopt.core.equality import to_hashable

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
