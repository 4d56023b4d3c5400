"""t-closeness: how far the confidential values of a group lie from the table's."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from aggopt.errors import JobError, TableError
from aggopt.privacy._distance import Distance, Ints
from aggopt.privacy._nested import Nested
from aggopt.privacy._ordered import Ordered, require_bins
from aggopt.privacy._values import OWN, REFUSE, each, labels_of

Kind = Literal["ordered", "equal", "hierarchical"]
KINDS = get_args(Kind)


@dataclass(frozen=True)
class Metric:
    """How the values of a confidential attribute are compared; see `t_closeness`."""

    distance: str = "ordered"
    bins: str = "distinct"
    order: Sequence[Any] | None = None
    tree: Any = None
    missing: str = REFUSE

    def __post_init__(self) -> None:
        require_bins(self.bins)
        if self.distance not in KINDS:
            raise JobError(
                f"distance is none of {', '.join(map(repr, KINDS))}.",
                fix='choose "ordered" for values with an order, "equal" for names, '
                '"hierarchical" for names in a tree.',
            )
        self._require("order", self.order, "ordered")
        self._require("tree", self.tree, "hierarchical")
        if self.distance == "hierarchical" and self.tree is None:
            raise JobError(
                "The hierarchical distance needs a tree.",
                fix='pass tree={"lung": ["asthma", "flu"], "heart": ["attack"]}, or '
                'distance="equal".',
            )
        if self.bins == "rank" and self.distance != "ordered":
            raise JobError(
                f'bins = "rank" has no meaning for distance = "{self.distance}".',
                fix='leave bins out, or choose distance = "ordered".',
            )

    def of(self, values: npt.NDArray[Any], codes: Ints) -> Distance:
        """Return the attribute of values (n,) with codes (n,), ready to be measured.

        Raises
        ------
        TableError
            The distance is ordered, and the values are no numbers and have no order;
            or a value is missing, or stands in neither order nor tree.
        """
        if self.distance == "equal":
            return Nested.equal(codes)
        if self.distance == "hierarchical":
            return Nested.of(self._distinct(values, codes), codes, self.tree)
        self._require_present(values)
        if self.order is None:
            return Ordered.of(_plain(values), self.bins)
        return Ordered.of(self._ranks(values, codes)[codes], self.bins)

    def _distinct(self, values: npt.NDArray[Any], codes: Ints) -> list[Any]:
        """Return the value of each code; None for what is missing."""
        first = np.unique(codes, return_index=True)[1]
        distinct = values[first].tolist()
        return [None if v is None or v != v else v for v in distinct]

    def _ranks(self, values: npt.NDArray[Any], codes: Ints) -> Ints:
        """Return the rank of the value of each code in the order that was given."""
        order = list(self.order or ())
        distinct = self._distinct(values, codes)
        strange = sum(v not in order for v in distinct)
        if strange or len(set(order)) < len(order):
            raise TableError(
                f"{strange} of {len(distinct)} distinct confidential values are not in "
                f"the order, which names {len(set(order))} values {len(order)} times.",
                fix="name each value once, lowest first, spelled and typed as in the "
                "table.",
            )
        return np.array([order.index(v) for v in distinct], np.int64)

    def _require_present(self, values: npt.NDArray[Any]) -> None:
        if self.missing == OWN and _missing(values):
            raise TableError(
                "What is missing has no place in an order.",
                fix='choose distance = "equal" or "hierarchical" for this attribute, '
                "or remove the records where it is missing.",
            )

    def _require(self, name: str, given: Any, distance: str) -> None:
        if given is not None and self.distance != distance:
            raise JobError(
                f'{name} has no meaning for distance = "{self.distance}".',
                fix=f'leave it out, or choose distance = "{distance}".',
            )


def t_closeness(
    groups: Any,
    confidential: Any,
    *,
    bins: str = "distinct",
    distance: str = "ordered",
    order: Sequence[Any] | None = None,
    tree: Any = None,
    missing: str = "refuse",
) -> float:
    """Return t: the largest earth mover's distance of a group from the table.

    Range 0 (each group has the table's distribution) to 1; less protects better.  An
    attribute that is constant in the table gives 0, and protects nothing.  The largest
    distance is found exactly, in whole numbers, and then rounded once.

    Parameters
    ----------
    groups
        Labels (n,), or the quasi-identifiers of a released table: records that are
        equal in all of them form a group (see `groups_of`).
    confidential
        Values (n,), or several attributes: a table, or an array (n, d).  Each is
        measured by itself, and the worst counts.
    distance
        Between two values; never guessed from their type.  "ordered": how many ranks
        of distinct values lie between, over their number less one.  "equal": 1 between
        any two different values; the distance of a group is then half the sum of
        differences of frequencies.  "hierarchical": the height of the lowest common
        ancestor in `tree`, over the tree's.
    bins
        Of the ordered distance.  "distinct" certifies t.  "rank" gives each record a
        rank of its own, equal values in the order of the records, as experiments in
        print do.
    order
        The values from lowest to highest, for values that are no numbers; values that
        the table lacks take no rank.
    tree
        {"lung": ["asthma", "flu"], ...}, nested as deep as needed, or a map from each
        value to its parent.
    missing
        "refuse", or "own value": what is missing counts as one more value, which
        stands directly below the root of a tree, and in no order.

    Raises
    ------
    TableError
        The numbers of records differ, values are missing or in neither order nor tree,
        or the distance is ordered and the values are not.
    JobError
        An unknown name, or an argument that another one makes meaningless.

    Source: Li, Li and Venkatasubramanian, t-closeness: privacy beyond k-anonymity and
    l-diversity, ICDE 2007; bins by rank: Soria-Comas, Domingo-Ferrer, Sanchez and
    Martinez, t-closeness through microaggregation, IEEE TKDE 27(11), 2015.

    Examples
    --------
    >>> t_closeness([0, 0, 1, 1], [10, 20, 30, 40])
    0.3333333333333333
    >>> t_closeness([0, 1, 0, 1], [10, 20, 30, 40])
    0.16666666666666666
    """
    labels = labels_of(groups)
    metric = Metric(distance, bins, order, tree, missing)
    held = each(confidential, len(labels), missing, metric.of)
    return max(float(distance.largest(labels)) for distance in held)


def _plain(values: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return numbers that came as objects as numbers."""
    if values.dtype != object or any(isinstance(v, str) for v in values):
        return values
    return np.array(values.tolist())


def _missing(values: npt.NDArray[Any]) -> bool:
    return any(v is None or v != v for v in values.tolist())
