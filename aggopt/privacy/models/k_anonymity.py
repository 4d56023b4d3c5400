"""k-anonymity: number of records that share their published values."""

from typing import Annotated, Any, Literal, Self

import numpy as np
from pydantic import BeforeValidator, Field, StrictInt, model_validator

from aggopt.core.columns import read_labels
from aggopt.core.section import Section, to_int
from aggopt.privacy.model import PrivacyModel


class Settings(Section):
    """The keys of k.

    Attributes
    ----------
    k
        Least number of records that share their published values.
    scope
        Values that they share: "combination", the values of all quasi-identifiers; or
        "blocks", a weaker requirement, the values of each block of attributes that are
        microaggregated together; or "keys", those of each table of `keys`.  A record
        may then be unique in the combination.
    keys
        Tables of a few columns: k records share each combination in each table, because
        values of rare combinations are suppressed.  Other quasi-identifiers are masked
        together.
    """

    k: Annotated[StrictInt, BeforeValidator(to_int)] = Field(
        ge=2,
        description="ask for a whole number of at least 2: a group of one publishes "
        "the record.",
    )
    scope: Literal["combination", "blocks", "keys"] = "combination"
    keys: tuple[tuple[str, ...], ...] | None = Field(default=None, min_length=1)

    @model_validator(mode="before")
    @classmethod
    def _imply_scope(cls, section: Any) -> Any:
        """Return the section with the scope that tables of keys imply."""
        if isinstance(section, dict) and section.get("keys") is not None:
            return {"scope": "keys", **section}
        return section

    @model_validator(mode="after")
    def _require_scope_of_keys(self) -> Self:
        """Refuse a scope that contradicts the tables of keys."""
        if (self.scope == "keys") != (self.keys is not None):
            raise ValueError(
                f'scope = "{self.scope}" with{"out" if self.keys is None else ""} '
                'keys: leave scope out, and name tables, keys = [["region", "sex"]]'
            )
        return self


METHOD = PrivacyModel(
    name="k",
    when="nobody is told apart by what others know",
    rank=0,
    settings=Settings,
    template="""\
k = 5                    # records that share what is published of them, at least
scope = "combination"    # all quasi-identifiers together; "blocks": weaker, see below
# keys = [["region", "sex"], ["sex", "job"]]  # k of each combination in these tables
#                          only: rare values are suppressed, none is grouped
""",
)


def k_anonymity(groups: Any) -> int:
    """Return k: each group has at least k records.  Range 1 to n; more is better.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table: records that are
        equal in all of them form a group (see `find_groups`).

    Raises
    ------
    JobError, TableError
        The groups are empty, or labels skip a number.

    Source: Samarati, Protecting respondents' identities in microdata release, IEEE
    TKDE 13(6), 2001; Sweeney, k-anonymity: a model for protecting privacy, IJUFKS
    10(5), 2002.

    Examples
    --------
    >>> k_anonymity([0, 0, 0, 1, 1])
    2
    """
    return int(np.bincount(read_labels(groups)).min())
