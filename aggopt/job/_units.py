"""The section that says which quasi-identifiers are of a unit, and not of a record."""

from aggopt.core.section import Section, given
from aggopt.errors import JobError, require_known
from aggopt.job._roles import Roles


class Units(Section):
    """What is of the units that records are of, as of households.

    Attributes
    ----------
    attributes
        Quasi-identifiers that are the same for all records of a unit: they are masked
        once for each unit.  All of them, or none: then groups hold records of k units.
    """

    attributes: tuple[str, ...] = ()


def require_units(units: Units, roles: Roles) -> None:
    """Refuse what is said of units and cannot be done.

    Raises
    ------
    JobError
        No column has the role; or attributes names what is no quasi-identifier, one
        twice, or not all.
    """
    if given(units) and not roles.unit:
        raise JobError(
            "[units] is given, and no column has the role unit.",
            fix='name what numbers the units, under [roles]: unit = ["NAME"]; or leave '
            "the section out.",
        )
    for name in units.attributes:
        require_known("quasi-identifier", name, roles.quasi_identifier)
    count, d = len(units.attributes), len(roles.quasi_identifier)
    if count and (count, len(set(units.attributes))) != (d, d):
        raise JobError(
            f"[units] attributes names {count} of {d} quasi-identifiers, or one twice: "
            "those of units and those of records are not masked together.",
            fix="name every quasi-identifier, each once, if all are the same within a "
            "unit; or leave the section out: groups then hold records of k units.",
        )
