"""The section that says which risks are measured beside those of every release."""

from typing import Any

from pydantic import Field, field_validator

from aggopt.core.section import Section
from aggopt.errors import JobError, require_known
from aggopt.job._roles import Roles


class Risk(Section):
    """What is measured of the risk: in the manifest, and of each record in the key.

    Attributes
    ----------
    weight
        The column that says how many of the population each record stands for; that of
        the role weight when left out.
    unit
        Those that name the household, or another unit, of each record; those of the
        role unit when left out.
    target
        Confidential attributes that a group may give away.
    suda
        Up to so many attributes have combinations that make a record special.
    """

    weight: str | None = None
    unit: tuple[str, ...] = ()
    target: tuple[str, ...] = ()
    suda: int | None = Field(default=None, ge=1, strict=True)

    @field_validator("unit", "target", mode="before")
    @classmethod
    def _only_lists(cls, names: Any) -> Any:
        if not isinstance(names, list | tuple):
            raise ValueError('write a list of names: ["NAME", ...]')
        return names

    @property
    def idle(self) -> bool:
        """Whether nothing is asked for."""
        return self == Risk()

    def by(self, roles: Roles) -> "Risk":
        """Return it with the weight and the unit of the roles, where it names none.

        Nothing where nothing is asked for, and no record has a weight.
        """
        if self.idle and not roles.weight:
            return self
        weight = self.weight or next(iter(roles.weight), None)
        found = {"weight": weight, "unit": self.unit or roles.unit}
        return self.model_copy(update=found)

    def require(self, roles: Roles) -> None:
        """Refuse names that the roles do not have, or have where they cannot act.

        Raises
        ------
        UnknownNameError
            A name is that of no column with a role that fits.
        JobError
            A column is weight and unit.
        """
        published = (*roles.stratum, *roles.weight, *roles.confidential, *roles.other)
        kept = (*roles.identifier, *roles.unit, *published)
        whole = [] if self.weight is None else [self.weight]
        for name in (*whole, *self.unit):
            require_known("column that is not masked", name, kept)
        for name in self.target:
            require_known(
                "column that is published as it is",
                name,
                (*roles.confidential, *roles.other),
            )
        if self.weight in self.unit:
            raise JobError(
                f"[risk] names {self.weight!r} as weight and as unit.",
                fix="name the column of the weights under weight alone.",
            )
