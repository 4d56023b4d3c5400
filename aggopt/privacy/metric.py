"""Comparison of the values of a confidential attribute."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import pandas as pd

from aggopt.core.columns import (
    OWN,
    REFUSE,
    describe_argument,
    is_missing,
    is_series,
    iter_columns,
    list_plain_entries,
)
from aggopt.core.plural import is_or_are, plural
from aggopt.core.types import I64
from aggopt.errors import JobError, TableError
from aggopt.privacy.distance import Distance
from aggopt.privacy.nested import Nested
from aggopt.privacy.ordered_attribute import Ordered, rank_numbers, require_bins

Kind = Literal["ordered", "equal", "hierarchical"]
KINDS = get_args(Kind)


@dataclass(frozen=True)
class Metric:
    """Comparison of the values of a confidential attribute; see `t_closeness`."""

    distance: str = "ordered"
    bins: str = "distinct"
    order: Any = None
    tree: Any = None
    missing: str = REFUSE

    def __post_init__(self) -> None:
        require_bins(self.bins)
        if not isinstance(self.distance, str) or self.distance not in KINDS:
            raise JobError(
                f"distance is {describe_argument(self.distance)}, and none of "
                f"{', '.join(map(repr, KINDS))}.",
                fix='choose "ordered" for values with an order, "equal" for names, '
                '"hierarchical" for names in a tree.',
            )
        self._require_distance("order", self.order, "ordered")
        self._require_distance("tree", self.tree, "hierarchical")
        if self.distance == "hierarchical" and self.tree is None:
            raise JobError(
                "The hierarchical distance needs a tree.",
                fix='give a tree, tree={"lung": ["asthma", "flu"], "heart": ["attack"]}'
                " (in a job, under [privacy.confidential.NAME], tree = { lung = "
                '["asthma", "flu"], heart = ["attack"] }); or choose distance="equal".',
            )
        if self.bins == "rank" and self.distance != "ordered":
            raise JobError(
                f'bins = "rank" has no meaning for distance = "{self.distance}".',
                fix='leave bins out, or choose distance = "ordered".',
            )
        if self.order is not None:
            object.__setattr__(self, "order", read_order(self.order))

    def of(self, values: npt.NDArray[Any], codes: I64) -> Distance:
        """Return the distance of groups from the table, for values and codes (n,).

        Raises
        ------
        TableError
            The distance is ordered, and the values are not numbers and have no order;
            or a value is missing, or absent from the order or tree.
        """
        if self.distance == "equal":
            return Nested.equal(codes)
        distinct = list_plain_entries(values[np.unique(codes, return_index=True)[1]])
        if self.distance == "hierarchical":
            return Nested.of(distinct, codes, self.tree)
        if self.missing == OWN and None in distinct:
            raise TableError(
                "Missing values have no place in an order.",
                fix='choose distance = "equal" or "hierarchical" for this attribute, '
                "or remove the records where it is missing.",
            )
        if self.order is not None:
            return Ordered.of(self._ranks(distinct)[codes], self.bins)
        numbers = rank_numbers(distinct)[codes] if values.dtype == object else values
        return Ordered.of(numbers, self.bins)

    def _ranks(self, distinct: list[Any]) -> I64:
        """Return the rank of each distinct value in the order that was given."""
        place = {value: rank for rank, value in enumerate(self.order)}
        strange = sum(value not in place for value in distinct)
        if strange:
            raise TableError(
                f"{strange} of {plural(len(distinct), 'distinct confidential value')} "
                f"{is_or_are(strange)} not in the order, which names "
                f"{plural(len(place), 'value')}.",
                fix="name each value once, lowest first, spelled and typed as in the "
                "table.",
            )
        return np.array([place[value] for value in distinct])

    def _require_distance(self, name: str, setting: Any, distance: str) -> None:
        """Refuse a setting that belongs to another distance."""
        if setting is not None and self.distance != distance:
            raise JobError(
                f'{name} has no meaning for distance = "{self.distance}".',
                fix=f'leave it out, or choose distance = "{distance}".',
            )


def read_order(order: Any) -> tuple[Hashable, ...]:
    """Return the values of an order, lowest first.

    Raises
    ------
    JobError
        The order is not a list, series or array of one dimension, is empty, or contains
        a value twice or a missing one.
    """
    entries = list(order) if isinstance(order, list | tuple | range) else None
    if is_series(order) or (isinstance(order, np.ndarray) and order.ndim == 1):
        entries = [
            v
            for _, column in iter_columns(order, "order")
            for v in list_plain_entries(column)
        ]
    if entries is None:
        raise _make_order_error(
            f"order is {type(order).__name__}, and no list of values."
        )
    if not all(pd.api.types.is_scalar(entry) for entry in entries):
        raise _make_order_error("order contains an entry that is not a plain value.")
    if not entries or any(is_missing(entry) for entry in entries):
        raise _make_order_error(
            f"order names {'a missing value' if entries else 'nothing'}."
        )
    if len(set(entries)) < len(entries):
        raise _make_order_error(
            f"order names {plural(len(set(entries)), 'value')} {len(entries)} times."
        )
    return tuple(entries)


def _make_order_error(problem: str) -> JobError:
    return JobError(
        problem,
        fix='list each value once, lowest first: order=["low", "middle", "high"].',
    )
