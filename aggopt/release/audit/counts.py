"""Counts of the combinations of published values."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pandas as pd
import pyarrow as pa

from aggopt.core.plural import is_or_are
from aggopt.core.types import AnyInt, Labels
from aggopt.data.restore_types import to_plain_column


@dataclass(frozen=True)
class Count:
    """Counts of the combinations of some attributes.

    Attributes
    ----------
    attributes
        Names of the attributes.
    combinations
        Number of distinct combinations.
    rarest
        Records that share the rarest of them.
    rare, unique
        Records whose combination fewer than k share, and no other record has.
    total
        Number of records.
    what
        "record" or "unit": a unit counts once, and is as rare as the rarest combination
        of its records.
    pairs
        Pairs of a unit and one of its combinations; None if records are counted.
    """

    attributes: tuple[str, ...]
    combinations: int
    rarest: int
    rare: int
    unique: int
    total: int = field(default=0, compare=False)
    what: str = "record"
    pairs: int | None = field(default=None, compare=False)

    @property
    def average_risk(self) -> float:
        """The mean chance to be re-identified, over records or pairs."""
        return self.combinations / (self.total if self.pairs is None else self.pairs)

    def rarity(self, k: int) -> str:
        """Say how many are unique, and how many are in groups smaller than k.

        Examples
        --------
        >>> Count(("age",), 436, 1, rare=442, unique=428, total=442).rarity(5)
        '428 of 442 records are unique; all 442 are in groups smaller than 5'
        """
        whole_text = f"of {self.total:,} {self.what}s"
        unique = f"{self.unique:,} {whole_text} {is_or_are(self.unique)} unique"
        if self.rare == self.unique:
            return unique
        if not self.unique:
            small = describe_small_groups(self.rare, k)
            return f"{self.rare:,} {whole_text} {small}; none is unique"
        every = "all " if self.rare == self.total else ""
        return f"{unique}; {every}{self.rare:,} {describe_small_groups(self.rare, k)}"

    @classmethod
    def of(
        cls,
        attributes: Sequence[str],
        labels: Labels,
        k: int,
        units: Labels | None = None,
    ) -> "Count":
        """Return the count of combinations (n,), 0..m-1, of these attributes.

        With the `units` (n,) that records are of, these are counted.

        Examples
        --------
        >>> labels, units = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 2])
        >>> count = Count.of(("age",), labels, 3, units)
        >>> count.rare, count.total, count.pairs
        (3, 3, 4)
        """
        if units is not None:
            return cls._of_units(attributes, labels, k, units)
        sizes = np.bincount(labels)
        return cls(
            attributes=tuple(attributes),
            combinations=len(sizes),
            rarest=int(sizes.min()),
            rare=int(sizes[sizes < k].sum()),
            unique=int((sizes == 1).sum()),
            total=len(labels),
        )

    @classmethod
    def _of_units(
        cls, attributes: Sequence[str], labels: Labels, k: int, units: Labels
    ) -> "Count":
        group, unit = np.unique(np.stack([labels, units]), axis=1)
        sizes = np.bincount(group)
        unit_sizes = sizes[group]
        return cls(
            attributes=tuple(attributes),
            combinations=len(sizes),
            rarest=int(sizes.min()),
            rare=len(np.unique(unit[unit_sizes < k])),
            unique=len(np.unique(unit[unit_sizes == 1])),
            total=len(np.unique(units)),
            what="unit",
            pairs=len(group),
        )


def describe_small_groups(count: int, k: int) -> str:
    """Return the words that follow a number of records in groups smaller than k.

    >>> describe_small_groups(1, 5), describe_small_groups(2, 5)
    ('is in a group smaller than 5', 'are in groups smaller than 5')
    """
    groups = "a group" if count == 1 else "groups"
    return f"{is_or_are(count)} in {groups} smaller than {k}"


def encode_entries(column: nw.Series[Any]) -> AnyInt:
    """Return the code of each record's entry among the different ones, (n,), 0..m-1.

    Values that a file distinguishes are different: -0.0 and 0.0, and nan and missing
    values, if the table's library has both.
    """
    try:
        arrow = to_plain_column(column.to_arrow())
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        return _encode_mixed(column)
    if isinstance(arrow, pa.ChunkedArray):
        arrow = arrow.combine_chunks()
    if pa.types.is_floating(arrow.type):
        arrow = arrow.view(f"int{arrow.type.bit_width}")
    indices = arrow.dictionary_encode(null_encoding="encode").indices
    return np.asarray(indices.to_numpy(zero_copy_only=False))


def _encode_mixed(column: nw.Series[Any]) -> AnyInt:
    """Return the codes of entries that no file can hold: by type and text."""
    entries = [f"{type(entry).__name__} {entry}" for entry in column.to_list()]
    return np.asarray(pd.factorize(pd.Index(entries, dtype=object))[0])


def combine_codes(parts: Iterable[AnyInt]) -> Labels:
    """Return the combination of codes (n,) of each record, 0..m-1."""
    first, *others = parts
    combined = first.astype(np.intp)
    for codes in others:
        if combined.max() + 1 == len(combined):  # all are alone: they stay so
            return combined
        pairs = combined * (codes.max() + 1) + codes  # below n², which fits
        combined = np.asarray(pd.factorize(pairs)[0])
    return combined
