"""Arguments of `loss_bound` that restrict the groups, read and checked."""

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import REFUSE, encode_values, iter_columns, map_attributes
from aggopt.core.deadline import quote_limit
from aggopt.core.plural import plural
from aggopt.core.validation import Labels, find_caller_stacklevel, is_number
from aggopt.errors import InfeasibleInputError, JobError, TableError
from aggopt.partition.constraints import (
    require_dominance,
    require_l,
    require_reachable,
    with_dominance,
)
from aggopt.partition.shared.scaling import Weighing
from aggopt.privacy.closeness import warn_of_constant
from aggopt.privacy.distance import read_threshold
from aggopt.privacy.metric import Metric
from aggopt.privacy.models.l_diversity import Diversity
from aggopt.privacy.models.t_closeness import Closeness
from aggopt.privacy.requirement import Requirement

if TYPE_CHECKING:
    from aggopt.algorithms.pair_bound.requirements import PairRequirement

EQUAL = 1e-9  # relative difference of shares that count as equal


class BoundArguments(NamedTuple):
    """The requirements on groups among the arguments of `loss_bound`."""

    confidential: Any = None
    t: Any = None
    distance: str = "ordered"
    tree: Any = None
    l: Any = None  # noqa: E741
    alpha: Any = None
    units: Any = None
    dominance: Any = None


def read_requirements(
    arguments: BoundArguments, n: int, k: int, weights: npt.ArrayLike | None
) -> "list[Requirement | PairRequirement]":
    """Return the requirements of `loss_bound` on n records, checked.

    Raises
    ------
    JobError, TableError, InfeasibleInputError
        The arguments contradict each other, do not fit the records, or no groups
        satisfy them.
    """
    from aggopt.algorithms.pair_bound.requirements import DistinctClasses

    required = _read_confidential(arguments, n)
    if arguments.units is not None:
        units = encode_values(_read_column(arguments.units, n, "units"))
        count = int(units.max()) + 1
        if count < k:
            raise InfeasibleInputError(
                f"k = {k}, but there are only {plural(count, 'unit')}.",
                fix=f"choose k of at most {count}.",
            )
        required.append(DistinctClasses(units, k))
    require_dominance(arguments.dominance, weights)
    if arguments.dominance is not None:
        masses = Weighing.read(weights, n).values
        ones = np.ones(n) if masses is None else masses
        required += with_dominance(None, ones, arguments.dominance).requirements
    return required


def _read_confidential(
    arguments: BoundArguments, n: int
) -> "list[Requirement | PairRequirement]":
    """Return the requirements on the confidential attributes."""
    from aggopt.algorithms.pair_bound.requirements import LimitedShares

    names = [
        name for name in ("t", "l", "alpha") if getattr(arguments, name) is not None
    ]
    if (arguments.confidential is None) == bool(names):
        raise JobError(
            f"{' and '.join(names) or 'confidential'} is given without "
            f"{'confidential' if names else 't, l or alpha'}.",
            fix="pass confidential, one value per record, and t, l or alpha with it.",
        )
    metric = Metric(arguments.distance, tree=arguments.tree)
    if arguments.t is None and metric != Metric():
        raise JobError(
            "distance and tree are settings of t, and no t is required.",
            fix="pass t too, or leave them out.",
        )
    required: list[Requirement | PairRequirement] = []
    if arguments.t is not None:
        t = read_threshold(arguments.t)
        attributes = map_attributes(arguments.confidential, n, REFUSE, metric.of)
        warn_of_constant(attributes, stacklevel=find_caller_stacklevel() + 1)
        required += [Closeness("", distance, t) for _, distance in attributes]
    if arguments.l is None and arguments.alpha is None:
        return required
    for _, codes in map_attributes(
        arguments.confidential, n, REFUSE, lambda values, codes: codes
    ):
        counts = np.bincount(codes)
        if arguments.l is not None:
            l = require_l(arguments.l)  # noqa: E741
            require_reachable(counts, l, "distinct")
            required.append(Diversity("", codes, l))
        if arguments.alpha is not None:
            alpha = _require_alpha(arguments.alpha, float(counts.max() / n))
            required.append(LimitedShares(codes, alpha))
    return required


def _require_alpha(alpha: object, largest: float) -> float:
    """Return alpha; refuse one below the largest share of a value in the table."""
    if not is_number(alpha) or not 0 < alpha <= 1:  # type: ignore[operator]
        raise JobError(
            f"alpha = {quote_limit(alpha)}.",
            fix="pass the largest share of one value in a group: alpha=0.5.",
        )
    share = float(alpha)  # type: ignore[arg-type]
    if share < largest * (1 - EQUAL):
        raise InfeasibleInputError(
            f"alpha = {share:g}, but one value has {largest:.6g} of all records, and "
            "not every group can have less of it.",
            fix=f"choose alpha of at least {largest:.6g}, rounded up.",
        )
    return share


def read_strata(strata: Any, n: int, k: int) -> Labels:
    """Return the strata (n,) of records, 0..s-1, of k records or more each."""
    codes = encode_values(_read_column(strata, n, "strata"))
    small = int((np.bincount(codes) < k).sum())
    if small:
        raise InfeasibleInputError(
            f"{plural(small, 'stratum', 'strata')} of fewer than k = {k} records: no "
            "groups of k are within them.",
            fix="merge small strata, or choose a smaller k.",
        )
    return np.asarray(codes, np.intp)


def _read_column(values: Any, n: int, name: str) -> npt.NDArray[Any]:
    """Return one value per record; raise if there is another number of them."""
    columns = [entries for _, entries in iter_columns(values, name)]
    if len(columns) != 1 or len(columns[0]) != n:
        raise TableError(
            f"{name} is not one value for each of {n} records.",
            fix=f"pass one value per record, shape ({n},).",
        )
    return columns[0]
