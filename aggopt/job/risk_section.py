"""The section on additional risk measures."""

from typing import Any

from pydantic import Field, field_validator

from aggopt.core.section import Section
from aggopt.errors import JobError, require_known
from aggopt.job.roles import Roles


class Risk(Section):
    """Risk measures: totals in the manifest, and values for each record in the key.

    Attributes
    ----------
    weight
        The column with the number of people that each record represents; the column
        with the role weight when left out.
    unit
        The columns that identify the household, or another unit, of each record; the
        columns with the role unit when left out.
    target
        Confidential attributes that a group may reveal.
    suda
        The largest number of attributes in a combination that makes a record special.
    """

    weight: str | None = None
    unit: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    suda: int | None = Field(default=None, ge=1, strict=True)

    @field_validator("unit", "target", mode="before")
    @classmethod
    def _require_lists(cls, names: Any) -> Any:
        if not isinstance(names, list | tuple):
            raise ValueError('write a list of names: ["NAME", ...]')
        return names

    @property
    def idle(self) -> bool:
        """Whether the section is empty."""
        return self == Risk()

    def by(self, roles: Roles) -> "Risk":
        """Return it with weight and unit of the roles as defaults.

        It remains empty if nothing is requested and no record has a weight.
        """
        if self.idle and not roles.weight:
            return self
        weight = self.weight or next(iter(roles.weight), None)
        defaults = {"weight": weight, "unit": self.unit or roles.unit}
        return self.model_copy(update=defaults)

    def require(self, roles: Roles) -> None:
        """Refuse names that the roles lack, or whose role does not fit.

        Raises
        ------
        UnknownNameError
            A name does not belong to a column with a fitting role.
        JobError
            A column is weight and unit.
        """
        published = (*roles.stratum, *roles.weight, *roles.confidential, *roles.other)
        allowed = (*roles.identifier, *roles.unit, *roles.drop, *published)
        weights = [] if self.weight is None else [self.weight]
        for name in (*weights, *self.unit):
            require_known("column that is not masked", name, allowed)
        for name in self.target:
            require_known(
                "column that is published unchanged",
                name,
                (*roles.confidential, *roles.other),
            )
        if self.weight in self.unit:
            raise JobError(
                f"[risk] names {self.weight!r} as weight and as unit.",
                fix="name the column of the weights under weight alone.",
            )
