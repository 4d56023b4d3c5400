"""Records whose attributes are typed, as coordinates, and released tables read so."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import numpy.typing as npt

from aggopt.core.frame import to_frame
from aggopt.core.html import render_html_list, render_html_section, render_html_table
from aggopt.core.plural import agree, plural
from aggopt.core.types import F64, I64
from aggopt.encoding.attribute_type import KINDS
from aggopt.encoding.domain import Domain
from aggopt.encoding.generalisation_rule import GeneralisationRule
from aggopt.encoding.iso_text import parse_text_dates
from aggopt.encoding.levels import Categories
from aggopt.encoding.spans import NumberSpans, read_span_column
from aggopt.encoding.typed_column import NAME, RANKED, NumericColumn, TypedColumn
from aggopt.errors import JobError, TableError, UnknownNameError, naming


@dataclass(frozen=True, eq=False)
class EncodedAttribute:
    """An attribute, and its coordinates.

    Attributes
    ----------
    name, kind
        Its name, and the comparison of its values; see `AttributeType`.
    weight
        Factor of its distances: 0 if it has one level or value.
    columns
        Its coordinates; empty if all records are equal.
    categories
        Level of each record; None for a numeric attribute.
    numbers
        Number of each record; None for other attributes.
    rule
        What groups publish, and what it costs.
    """

    name: str
    kind: str
    weight: float
    columns: slice
    categories: Categories | None = field(default=None, repr=False)
    numbers: NumericColumn | None = field(default=None, repr=False)
    rule: GeneralisationRule = field(default=GeneralisationRule(), repr=False)

    @property
    def domain(self) -> Domain:
        """The levels and their distances; an error for a numeric attribute."""
        return self._categories.domain

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Names of all levels, with or without records."""
        return self.domain.levels

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """Names of the levels, and after them of the inner nodes of a tree."""
        return self.domain.nodes

    @property
    def codes(self) -> I64:
        """Level of each record (n,)."""
        return self._categories.codes

    @cached_property
    def spans(self) -> NumberSpans | None:
        """What groups publish about a number in true statements; None for others."""
        if self.numbers is None or not self.rule.is_truthful:
            return None
        return NumberSpans.of(self.rule, self.numbers.values)

    def rows(self, records: npt.NDArray[Any]) -> "EncodedAttribute":
        """Return the levels or numbers of these records alone, by number."""
        if self.numbers is not None:
            return replace(self, numbers=self.numbers.rows(records))
        categories = self._categories
        selected = Categories(categories.domain, categories.codes[records])
        return replace(self, categories=selected)

    @property
    def _categories(self) -> Categories:
        """The levels of the records; an error for a numeric attribute."""
        if self.categories is None:
            raise JobError(
                f"Attribute {self.name!r} is numeric, and has no levels.",
                fix='encode it with kind = "nominal", or with an order or a tree.',
            )
        return self.categories


@dataclass(frozen=True, eq=False)
class Encoded:
    """Coordinates whose squared Euclidean distance is the distance of typed attributes.

    Functions of `aggopt.partition` and `aggopt.repair` accept it in place of records.
    They measure distances in these coordinates unscaled, for any `scale`.  `np.asarray`
    returns the array of coordinates.  `aggopt.encode` returns this class.

    Attributes
    ----------
    coordinates : (n, p)
        Constant coordinates are left out.  If all are constant, one remains, without
        an attribute.
    attributes
        Each attribute, with its coordinates, in the order of the table.
    notes
        Points that a user may want to check.
    """

    coordinates: F64 = field(repr=False)
    attributes: tuple[EncodedAttribute, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.coordinates.flags.writeable = False

    @property
    def weights(self) -> F64:
        """Factors of the distances of each attribute."""
        return np.array([attribute.weight for attribute in self.attributes])

    @property
    def shape(self) -> tuple[int, int]:
        """Records and coordinates."""
        n, p = self.coordinates.shape
        return n, p

    @property
    def size(self) -> int:
        """Total number of entries of the coordinates."""
        return self.coordinates.size

    def __len__(self) -> int:
        return len(self.coordinates)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> F64:
        """Return the coordinates, which cannot be written to unless they are a copy."""
        if copy:
            return self.coordinates.astype(dtype or np.float64)
        return self.coordinates.astype(dtype or np.float64, copy=False)

    def attribute(self, name: str) -> EncodedAttribute:
        """Return the attribute of this name, or refuse a name that none has."""
        for encoded in self.attributes:
            if encoded.name == name:
                return encoded
        raise UnknownNameError("attribute", name, [a.name for a in self.attributes])

    def only(self, positions: Sequence[int]) -> "Encoded":
        """Return the attributes at these positions alone."""
        chosen = [self.attributes[j] for j in positions]
        parts = [self.coordinates[:, attribute.columns] for attribute in chosen]
        return join_attributes(chosen, parts)

    @property
    def owner(self) -> I64:
        """Position of the attribute that each coordinate is of, (p,)."""
        widths = [
            attribute.columns.stop - attribute.columns.start
            for attribute in self.attributes
        ]
        owners = np.repeat(np.arange(len(widths)), widths)
        return owners if len(owners) else np.zeros(self.coordinates.shape[1], np.int64)

    def one_each(self) -> F64:
        """Return one coordinate for each attribute, (n, attributes).

        Raises
        ------
        JobError
            An attribute has several: it is not numeric, or has the weight of Gower's
            distance.
        """
        parts = [
            self.coordinates[:, attribute.columns] for attribute in self.attributes
        ]
        wide = sum(part.shape[1] > 1 for part in parts)
        if wide:
            raise JobError(
                f"{wide} of {plural(len(parts), 'attribute')} "
                f"{agree(wide, 'is no plain number', 'are no plain numbers')}, and "
                f"{agree(wide, 'has', 'have')} several coordinates.",
                fix="leave them out, or choose mdav, local_search or another method "
                "that groups records by all coordinates together.",
            )
        n = len(self)
        return np.hstack(
            [part if part.shape[1] else np.zeros((n, 1)) for part in parts]
        )

    def __repr__(self) -> str:
        counts = Counter(attribute.kind for attribute in self.attributes)
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        n, p = self.shape
        text = plural(len(self.attributes), "attribute")
        return f"Encoded: {n} records, {text} ({kinds}) in {plural(p, 'coordinate')}"

    def _repr_html_(self) -> str:
        """Return a table of attributes for a notebook; no level and no value."""
        rows = (
            (
                attribute.name,
                attribute.kind,
                attribute.weight,
                attribute.columns.stop - attribute.columns.start,
            )
            for attribute in self.attributes
        )
        header = ("", "kind", "weight", "coordinates")
        return render_html_section(
            repr(self), render_html_table(header, rows), render_html_list(self.notes)
        )


def join_attributes(
    attributes: Sequence[EncodedAttribute], parts: Sequence[F64]
) -> Encoded:
    """Return attributes side by side, the coordinates (n, p_a) of each being given."""
    ends = np.cumsum([part.shape[1] for part in parts]).tolist()
    placed = tuple(
        replace(attribute, columns=slice(end - part.shape[1], end))
        for attribute, part, end in zip(attributes, parts, ends, strict=True)
    )
    coordinates = np.ascontiguousarray(np.hstack(parts))
    return Encoded(coordinates if ends[-1] else np.zeros((len(coordinates), 1)), placed)


def read_released_values(original: Encoded, released: Any) -> list[F64 | I64]:
    """Return for each attribute the number or the node (n,) released for each record.

    Nodes are numbered as in the attribute's domain, including the inner nodes of
    a tree.  A name of several nodes refers to the level, or else to the lowest node.

    Raises
    ------
    TableError
        `released` is not a table, has other records or columns than the original, has
        another type, or has values absent from the order or tree.  The message contains
        counts, never values.
    """
    table = to_frame(released)
    names = [attribute.name for attribute in original.attributes]
    others = set(table.columns) ^ set(names)
    if others:
        raise TableError(
            f"{plural(len(others), 'column')} of one of the tables "
            f"{'is' if len(others) == 1 else 'are'} not in the other: "
            f"{', '.join(map(repr, sorted(others)))}.",
            fix="pass the same attributes of both.",
        )
    if len(table) != len(original):
        raise TableError(
            f"The original has {plural(len(original), 'record')}, and the release "
            f"{len(table)}.",
            fix="pass the same records in the same order.",
        )
    values = []
    for attribute in original.attributes:
        with naming(f"Column {attribute.name!r}"):
            values.append(_read_values(attribute, table[attribute.name]))
    return values


def _read_values(attribute: EncodedAttribute, series: nw.Series[Any]) -> F64 | I64:
    """Return the released numbers (n,), or the released nodes (n,) of categories."""
    if attribute.numbers is None:
        return _find_nodes(attribute.domain, TypedColumn(series, NAME))
    if attribute.spans is not None:
        return attribute.spans.compute_middles(*read_span_column(series))
    clock = attribute.numbers.clock
    column = TypedColumn.of(
        series if clock is None else parse_text_dates(series, clock.format)
    )
    if column.what in (NAME, RANKED) and column.series.dtype != nw.Boolean:
        raise TableError(
            "What is released are names, and in the original numbers.",
            fix="pass the numbers that are released.",
        )
    return column.on(attribute.numbers)


def read_released_ends(original: Encoded, released: Any) -> dict[str, tuple[F64, F64]]:
    """Return the ends (n,) of the published statements about numbers, by name."""
    table = to_frame(released)
    return {
        attribute.name: read_span_column(table[attribute.name])
        for attribute in original.attributes
        if attribute.spans is not None
    }


def _find_nodes(domain: Domain, column: TypedColumn) -> I64:
    """Return the node of each entry of a released column, (n,)."""
    at: dict[Any, int] = {}
    spelled: dict[str, int] = {}  # nodes above numbers are released as text
    for j, node in enumerate(domain.nodes):
        at.setdefault(node, j)
        spelled.setdefault(str(node), j)
    codes, distinct = column.coded
    nodes = [at.get(value, spelled.get(str(value), -1)) for value in distinct]
    nodes_of_records = np.array([*nodes, at.get(None, -1)])[
        codes
    ]  # missing has the code -1
    strange = int((nodes_of_records < 0).sum())
    if strange:
        raise TableError(
            f"{strange} of {len(nodes_of_records)} records "
            f"{'is' if strange == 1 else 'are'} "
            "released with what no record of the original has, nor its order or tree.",
            fix="pass the same attributes of both, spelled and typed alike.",
        )
    return nodes_of_records
