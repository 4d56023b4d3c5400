"""Records whose attributes are typed, as coordinates."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.html import html_list, html_section, html_table
from aggopt.core.plural import plural
from aggopt.core.types import F64, I64
from aggopt.encoding._attribute_type import KINDS
from aggopt.encoding._categories import Categories
from aggopt.encoding._domain import Domain
from aggopt.encoding._numeric_column import NumericColumn
from aggopt.errors import JobError, UnknownNameError


@dataclass(frozen=True, eq=False)
class EncodedAttribute:
    """An attribute, and which coordinates are its.

    Attributes
    ----------
    name, kind
        What it is called, and how its values are compared; see `AttributeType`.
    weight
        By which its distances are multiplied: 0 where it has one level or value.
    columns
        Its coordinates; none where no record differs.
    categories
        Which level each record has; None of a numeric attribute.
    numbers
        Which number each record has; None of other attributes.
    """

    name: str
    kind: str
    weight: float
    columns: slice
    categories: Categories | None = field(default=None, repr=False)
    numbers: NumericColumn | None = field(default=None, repr=False)

    @property
    def domain(self) -> Domain:
        """The levels and what they are apart; refused of a numeric attribute."""
        return self._categories.domain

    @property
    def levels(self) -> tuple[Hashable, ...]:
        """Names of the levels, those included that no record has."""
        return self.domain.levels

    @property
    def nodes(self) -> tuple[Hashable, ...]:
        """Names of the levels, and after them of the inner nodes of a tree."""
        return self.domain.nodes

    @property
    def codes(self) -> I64:
        """Level of each record (n,)."""
        return self._categories.codes

    def rows(self, records: npt.NDArray[Any]) -> "EncodedAttribute":
        """Return the levels of these records alone, by number."""
        categories = self._categories
        own = Categories(categories.domain, categories.codes[records])
        return replace(self, categories=own)

    @property
    def _categories(self) -> Categories:
        if self.categories is None:
            raise JobError(
                f"Attribute {self.name!r} is numeric, and has no levels.",
                fix='encode it with kind = "nominal", or with an order or a tree.',
            )
        return self.categories


@dataclass(frozen=True, eq=False)
class Encoded:
    """Coordinates in which squared Euclidean distance is that of typed attributes.

    Every function of `aggopt.partition` and `aggopt.repair` takes it where it takes
    records, and measures distances in these coordinates as they are, whatever `scale`
    says; `np.asarray` of it is an array of them.  What `aggopt.encode` returns.

    Attributes
    ----------
    coordinates : (n, p)
        Those in which no record differs are left out.  If all are, one remains, of no
        attribute.
    attributes
        Each attribute, with its coordinates, in the order of the table.
    notes
        What a user may want to look at again.
    """

    coordinates: F64 = field(repr=False)
    attributes: tuple[EncodedAttribute, ...]
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self.coordinates.flags.writeable = False

    @property
    def weights(self) -> F64:
        """By which the distances of each attribute are multiplied."""
        return np.array([each.weight for each in self.attributes])

    @property
    def shape(self) -> tuple[int, int]:
        """Records and coordinates."""
        n, p = self.coordinates.shape
        return n, p

    @property
    def size(self) -> int:
        """How many numbers the coordinates are."""
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
        for each in self.attributes:
            if each.name == name:
                return each
        raise UnknownNameError("attribute", name, [a.name for a in self.attributes])

    def only(self, positions: Sequence[int]) -> "Encoded":
        """Return the attributes at these positions alone."""
        chosen = [self.attributes[j] for j in positions]
        parts = [self.coordinates[:, each.columns] for each in chosen]
        return joined(chosen, parts)

    @property
    def owner(self) -> I64:
        """Position of the attribute that each coordinate is of, (p,)."""
        widths = [each.columns.stop - each.columns.start for each in self.attributes]
        of = np.repeat(np.arange(len(widths)), widths)
        return of if len(of) else np.zeros(self.coordinates.shape[1], np.int64)

    def one_each(self) -> F64:
        """Return one coordinate for each attribute, (n, attributes).

        Raises
        ------
        JobError
            An attribute has several: it is no number, or weighs as Gower's distance.
        """
        parts = [self.coordinates[:, each.columns] for each in self.attributes]
        wide = sum(part.shape[1] > 1 for part in parts)
        if wide:
            raise JobError(
                f"{plural(wide, 'attribute')} of {len(parts)} are no plain numbers: "
                "they have several coordinates.",
                fix="leave them out, or choose mdav, local_search or another method "
                "that groups records by all coordinates together.",
            )
        n = len(self)
        return np.hstack(
            [part if part.shape[1] else np.zeros((n, 1)) for part in parts]
        )

    def __repr__(self) -> str:
        counts = Counter(each.kind for each in self.attributes)
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in KINDS if counts[kind])
        n, p = self.shape
        said = plural(len(self.attributes), "attribute")
        return f"Encoded: {n} records, {said} ({kinds}) in {plural(p, 'coordinate')}"

    def _repr_html_(self) -> str:
        """Return a table of attributes for a notebook; no level and no value."""
        rows = (
            (each.name, each.kind, each.weight, each.columns.stop - each.columns.start)
            for each in self.attributes
        )
        header = ("", "kind", "weight", "coordinates")
        return html_section(repr(self), html_table(header, rows), html_list(self.notes))


def joined(attributes: Sequence[EncodedAttribute], parts: Sequence[F64]) -> Encoded:
    """Return attributes side by side, the coordinates (n, p_a) of each being given."""
    ends = np.cumsum([part.shape[1] for part in parts]).tolist()
    placed = tuple(
        replace(each, columns=slice(end - part.shape[1], end))
        for each, part, end in zip(attributes, parts, ends, strict=True)
    )
    found = np.ascontiguousarray(np.hstack(parts))
    return Encoded(found if ends[-1] else np.zeros((len(found), 1)), placed)
