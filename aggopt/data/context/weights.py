"""The sampling weight of each record: the number of people that it represents."""

from dataclasses import dataclass, field

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.record_weights import check_weights, scale_to_mean_one, weight_of_each
from aggopt.core.types import Floats
from aggopt.data.table import Table
from aggopt.errors import TableError, naming


@dataclass(frozen=True, eq=False)
class SamplingWeights:
    """The weights of the records of a table.

    Attributes
    ----------
    name
        Their column.
    values : (n,)
        The weights in the table.
    scaled : (n,)
        The weights scaled to mean 1, which weigh the records.  None if all are equal,
        so that results are unweighted.
    """

    name: str
    values: Floats = field(repr=False)
    scaled: Floats | None = field(repr=False)


def read_sampling_weights(table: Table) -> SamplingWeights | None:
    """Return the weights of a table; None if no column has the role.

    Raises
    ------
    TableError
        A weight is 0 or below.
    """
    if not table.roles.weight:
        return None
    (name,) = table.roles.weight
    with naming(f"Column {name!r}"):
        values = weight_of_each(table.numbers(name), len(table.frame))
        scaled = scale_to_mean_one(check_weights(values, len(values)))
    return SamplingWeights(name, values, scaled)


def read_scaled_weights(table: Table) -> Floats | None:
    """Return the weights of a table with the mean 1; None if all are equal.

    Raises
    ------
    TableError
        A weight is 0 or below.
    """
    sampling = read_sampling_weights(table)
    return sampling.scaled if sampling else None


def require_shared(sampling: SamplingWeights, k: int) -> None:
    """Refuse weights to publish unchanged that fewer than k records share.

    Raises
    ------
    TableError
        The message has the number of these weights, and of their records.
    """
    counts = np.unique(sampling.values, return_counts=True)[1]
    few = counts[counts < k]
    if few.size:
        raise TableError(
            f"{sampling.name!r} is to be published as it is, and {len(few)} of its "
            f"{plural(len(counts), 'value')} {'is' if len(few) == 1 else 'are'} of "
            f"fewer than k = {k} records, {plural(int(few.sum()), 'record')} in all: "
            "such weights identify persons.",
            fix='set published = "group mean" or "drop" under [weights].',
        )
