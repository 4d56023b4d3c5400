"""Individual ranking: each attribute partitioned optimally and independently."""

from collections.abc import Mapping
from typing import Any, Literal

import numpy.typing as npt

from aggopt.errors import naming
from aggopt.partition._univariate import Costed, univariate
from aggopt.partition.registry import AttributeUse, Bound, Partitioner
from aggopt.partition.shared.evidence import QUICK
from aggopt.partition.shared.result import Partition, combine_blocks
from aggopt.partition.shared.scaling import read_columns
from aggopt.partition.shared.settings import ONE_BY_ONE, Attributes


def individual_ranking(
    X: npt.ArrayLike,
    k: int,
    *,
    cost: str = "sse",
    centroids: str = "any",
    solver: str | None = None,
    time_limit: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> Partition:
    """Return optimal groups of k or more values, for each attribute separately.

    Parameters
    ----------
    X : (n, d)
        Attributes in their own units: numbers, none missing.
    k, cost, centroids, solver, time_limit, options
        As in `univariate`, for each attribute.

    Returns
    -------
    Partition
        Its labels (n, d) are the group of each record in each attribute: column j
        numbers the groups of attribute j, 0..m_j - 1.  `certificates` has one for each
        attribute, as from `univariate`; `certificate` is their sum.  The functions of
        `aggopt.aggregate` accept it.

    Raises
    ------
    TableError, JobError, InfeasibleInputError, SolverError
        As `univariate`.

    Notes
    -----
    Least loss of all ways to microaggregate, because no attribute makes way for
    another; and least protection.  At least k records share each published value of one
    attribute, but their combinations are usually as unique as the originals: the
    release is NOT k-anonymous.  An intruder with a person's values nearly always links
    the record (`aggopt.measure.assess`: DLD near 1), and each published value is close
    to the original (SDID).  Publish the table only if no intruder knows the combination
    of these attributes.

    Source: Domingo-Ferrer and Mateo-Sanz, IEEE TKDE 14(1), 2002; Hansen and Mukherjee,
    IEEE TKDE 15(4), 2003, for the optimal groups.

    Examples
    --------
    >>> individual_ranking([[1, 9], [2, 1], [8, 2], [9, 8]], k=2).labels
    array([[0, 1],
           [0, 0],
           [1, 0],
           [1, 1]])
    """
    parts = []
    for j, x in enumerate(read_columns(X).T):
        with naming(f"Column {j}"):
            part = univariate(
                x,
                k,
                cost=cost,
                centroids=centroids,
                solver=solver,
                time_limit=time_limit,
                options=options,
            )
        parts.append(part)
    return combine_blocks(parts, [(j,) for j in range(len(parts))])


class IndividualRanking(Costed):
    """Settings of `aggopt.partition.individual_ranking`: one attribute at a time."""

    method: Literal["individual_ranking"]

    @property
    def function(self) -> str:
        """Name of the function that partitions each attribute: "univariate"."""
        return "univariate"

    @property
    def attributes(self) -> Attributes:
        """The blocks of attributes: each attribute is one, whatever the job sets."""
        return ONE_BY_ONE

    @property
    def weights(self) -> str:
        """The default, "variance": weights apply if attributes share groups only."""
        return "variance"

    @property
    def bound(self) -> str:
        """The default, "quick": each attribute has a proven optimum."""
        return QUICK

    @property
    def same_orderings(self) -> bool:
        """False, because the solver of each attribute sorts its values for each k."""
        return False

    def require(self, k: int) -> None:
        """Accept any minimum group size k, without an effect."""


PARTITIONER = Partitioner(
    name="individual_ranking",
    when="each attribute by itself: least loss of all, and least protection",
    rank=100,
    function=individual_ranking,
    settings=IndividualRanking,
    bound=Bound.OWN,
    takes=AttributeUse.EACH,
    model="univariate",
)
