"""The section that says what a release promises."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    SerializerFunctionWrapHandler,
    StrictBool,
    StrictInt,
    StrictStr,
    model_serializer,
    model_validator,
)

from aggopt.core.section import Section, plain, whole
from aggopt.privacy._metric import Kind


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def _plain_tree(tree: Any) -> Any:
    return None if tree is None else plain(tree)


Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Value = Annotated[StrictBool | StrictInt | Finite | StrictStr, BeforeValidator(_plain)]

Ends = Annotated[tuple[Finite, ...], Field(min_length=1)]


class Treatment(Section):
    """How the values of one confidential attribute are compared.

    Attributes
    ----------
    distance
        As `aggopt.privacy.t_closeness`; that of [privacy] when left out.
    order
        The values from lowest to highest, of an ordered distance on text.
    tree
        Of the hierarchical distance: nested, or the parent of each value.
    levels
        What l counts of numbers, in place of distinct values: how many levels that
        hold equally many records, or the values at which levels end.
    missing
        "refuse", or "own value": what is missing counts as one more value.
    """

    distance: Kind | None = None
    order: tuple[Value, ...] | None = Field(default=None, min_length=1)
    tree: Annotated[dict[str, Any] | None, AfterValidator(_plain_tree)] = Field(
        default=None, min_length=1
    )
    levels: Annotated[StrictInt | Ends | None, BeforeValidator(whole)] = None
    missing: Literal["refuse", "own value"] = "refuse"


class Repair(Section):
    """What makes a partition keep l or t; see `aggopt.repair`.

    Attributes
    ----------
    method
        "merge" keeps any promise; "merge-ilp", "swap" and "sweep" keep t, of one
        attribute with the ordered distance.
    solver
        Of "merge-ilp"; of "swap" and "sweep" the one that exchanges records at the end,
        or none.
    time_limit
        Seconds; where a solver is asked and none are named, 600.
    """

    method: Literal["merge", "merge-ilp", "swap", "sweep"]
    solver: str | None = None
    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )

    @model_validator(mode="after")
    def _check(self) -> "Repair":
        if self.solver is not None and self.method == "merge":
            raise ValueError("merge takes no solver; the other repairs do")
        if self.time_limit is not None and self.method == "merge":
            raise ValueError("merge takes no time_limit: it needs none")
        return self


def _named(repair: Any) -> Any:
    return {"method": repair} if isinstance(repair, str) else repair


class Privacy(Section):
    """What the release promises; it is audited on the values that are written.

    Attributes
    ----------
    k
        How many records share what is published of them, at least.
    scope
        What they share: "combination", the values of all quasi-identifiers; or
        "blocks", a weaker promise, those of each block of attributes that are
        microaggregated together, while a record may be alone with the combination.
    l, diversity, c
        How diverse each confidential attribute is among records that share what is
        published, at least: `aggopt.privacy.distinct_l`, `entropy_l`, or, with its c,
        `recursive_cl`.
    t, distance
        How far its distribution among them is from the table's, at most:
        `aggopt.privacy.t_closeness` with distinct bins.
    repair
        What makes the groups of the partition keep that, where it does not by itself.
    confidential
        How the values of an attribute are compared, by its name.
    dominance
        A note counts the groups in which one record makes up more than this share of
        the sum of absolute values of an attribute; with 1 there is no such note.
    """

    k: Annotated[StrictInt, BeforeValidator(whole)] = Field(ge=2)
    scope: Literal["combination", "blocks"] = "combination"
    l: Annotated[StrictInt | None, BeforeValidator(whole)] = Field(  # noqa: E741
        default=None, ge=2
    )
    diversity: Literal["distinct", "entropy", "recursive"] = "distinct"
    c: float | None = Field(default=None, gt=0, allow_inf_nan=False, strict=True)
    t: float | None = Field(default=None, gt=0, lt=1, strict=True)
    distance: Kind = "ordered"
    repair: Annotated[Repair | None, BeforeValidator(_named)] = None
    confidential: dict[str, Treatment] = Field(default_factory=dict)
    dominance: float = Field(default=0.7, gt=0, le=1, strict=True)

    @property
    def asked(self) -> frozenset[str]:
        """Which of k, l and t are promised."""
        given = {"k": self.k, "l": self.l, "t": self.t}
        return frozenset(name for name in given if given[name] is not None)

    def treatment(self, name: str) -> Treatment:
        """Return how values of an attribute are compared, its distance filled in."""
        own = self.confidential.get(name, Treatment())
        return own.model_copy(update={"distance": own.distance or self.distance})

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what does not act, which a job does not take either."""
        idle = {n for n, needs in _NEEDS.items() if not self.asked & set(needs)}
        return {name: value for name, value in dump(self).items() if name not in idle}

    @model_validator(mode="after")
    def _check(self) -> "Privacy":
        given = _given(self)
        for name, needs in _NEEDS.items():
            if name in given and not self.asked & set(needs):
                raise ValueError(f"{name} is given, but no {' or '.join(needs)}")
        if (self.diversity == "recursive") != (self.c is not None):
            raise ValueError('diversity = "recursive" and c go together')
        if self.scope == "blocks" and self.asked != {"k"}:
            raise ValueError(
                'l and t are promised of the combination: leave out scope = "blocks"'
            )
        for name, treatment in self.confidential.items():
            self._require_used(name, treatment)
        return self

    def _require_used(self, name: str, treatment: Treatment) -> None:
        for key in sorted(_given(treatment) & set(_USED_BY)):
            if _USED_BY[key] not in self.asked:
                raise ValueError(f"{key} is given for {name!r}, but no {_USED_BY[key]}")


def _given(section: Section) -> set[str]:
    """Return the keys that are written; what is None might as well be left out."""
    written = section.model_fields_set
    return {name for name in written if getattr(section, name) is not None}


_USED_BY = {"levels": "l", "distance": "t", "order": "t", "tree": "t"}
_NEEDS = {
    "diversity": ("l",),
    "c": ("l",),
    "distance": ("t",),
    "repair": ("l", "t"),
    "confidential": ("l", "t"),
}
