"""The section on quasi-identifiers of units, as opposed to records."""

from typing import Literal

from aggopt.core.section import Section, list_written_keys
from aggopt.errors import JobError, require_known
from aggopt.job._privacy import Privacy
from aggopt.job.roles import Roles

PSEUDONYM = "pseudonym"  # the column of a release


class Units(Section):
    """Attributes and pseudonyms of the units of records, as households.

    Attributes
    ----------
    attributes
        Quasi-identifiers with one value for all records of a unit.  They are masked
        once for each unit.  Groups for the others contain records of k units.
    published
        The link between records of one unit in a release: "drop" removes it;
        "pseudonym" publishes a new number of the unit, in a column of this name.
    """

    attributes: tuple[str, ...] = ()
    published: Literal["drop", "pseudonym"] = "drop"

    def apart(self, roles: Roles) -> bool:
        """Whether some quasi-identifiers are of units, and others of records."""
        return 0 < len(self.attributes) < len(roles.quasi_identifier)


def require_units_section(units: Units, roles: Roles, privacy: Privacy) -> None:
    """Refuse settings of units that cannot be satisfied.

    Raises
    ------
    JobError
        No column has the role; or `attributes` names a column that is not a
        quasi-identifier, or one twice, or only some although k refers to the
        combination with the others; or a column has the name of the pseudonyms.
    """
    if list_written_keys(units) and not roles.unit:
        raise JobError(
            "[units] is given, and no column has the role unit.",
            fix='name what numbers the units, under [roles]: unit = ["NAME"]; or leave '
            "the section out.",
        )
    taken = any(PSEUDONYM in names for _, names in roles)
    if units.published == "pseudonym" and taken:
        raise JobError(
            f'[units] published = "pseudonym" writes a column {PSEUDONYM!r}, and the '
            "table has one.",
            fix="give that column another name, in the table and under [roles].",
        )
    for name in units.attributes:
        require_known("quasi-identifier", name, roles.quasi_identifier)
    count = len(units.attributes)
    d = len(roles.quasi_identifier)
    if count > len(set(units.attributes)):
        raise JobError(
            "[units] attributes names a quasi-identifier twice.", fix="name each once."
        )
    if units.apart(roles) and privacy.scope == "combination":
        raise JobError(
            f"[units] attributes names {count} of {d} quasi-identifiers: those of "
            "units and those of records are masked each by themselves. k = "
            f"{privacy.k} then holds of each kind, and not for the combination of all "
            "of them, which the job promises.",
            fix='promise less, with scope = "blocks" under [privacy]; or name every '
            "quasi-identifier, if all are the same within a unit; or leave the section "
            "out: groups then hold records of k units.",
        )
