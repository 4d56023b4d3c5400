"""k-anonymity: number of records that share their published values."""

from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BeforeValidator, Field, StrictInt

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
        microaggregated together.  A record may then be unique in the combination.
    """

    k: Annotated[StrictInt, BeforeValidator(to_int)] = Field(
        ge=2,
        description="ask for a whole number of at least 2: a group of one publishes "
        "the record.",
    )
    scope: Literal["combination", "blocks"] = "combination"


METHOD = PrivacyModel(
    name="k",
    when="nobody is told apart by what others know",
    rank=0,
    settings=Settings,
    template="""\
k = 5                    # records that share what is published of them, at least
scope = "combination"    # all quasi-identifiers together; "blocks": weaker, see below
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
