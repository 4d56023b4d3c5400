"""Audit of missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import I64, AnyInt, Bool, Floats, Labels
from aggopt.release.audit.counts import combine_codes
from aggopt.release.audit.originals import Grouped


@dataclass(frozen=True)
class MissingValues:
    """Missing values of quasi-identifiers, and the originals behind the others.

    Attributes
    ----------
    cells
        Number of missing values of the release.
    patterns
        Number of different sets of attributes that are missing in some record.
    suppressed, imputed
        Number of values that only the original has, and only the release; None without
        the originals.
    least
        Minimum number of records with a value of their own, over groups that publish
        one; None without the originals.
    compatible
        Number of records that share the rarest combination if missing values equal
        anything: not a requirement, and at least the number that the requirement
        counts.  None unless requested.
    suppressed_in, imputed_in
        `suppressed` and `imputed` of each quasi-identifier that has some.
    """

    cells: int
    patterns: int
    suppressed: int | None = None
    imputed: int | None = None
    least: int | None = None
    compatible: int | None = None
    suppressed_in: dict[str, int] = field(hash=False, default_factory=dict)
    imputed_in: dict[str, int] = field(hash=False, default_factory=dict)

    @property
    def notes(self) -> list[str]:
        """Notes on the missing values, in counts."""
        return self.list_notes("what is missing")

    def list_notes(self, shared: str) -> list[str]:
        """Return notes on missing, suppressed and imputed values; k share `shared`."""
        notes = []
        if self.cells:
            say = "is" if self.cells == 1 else "are"
            notes.append(
                f"{plural(self.cells, 'value')} of quasi-identifiers {say} missing, in "
                f"{plural(self.patterns, 'pattern')}: k counts what is missing as a "
                "value of its own."
            )
        if self.suppressed:
            notes.append(
                f"{plural(self.suppressed, 'value')} of the original "
                f"{'is' if self.suppressed == 1 else 'are'} suppressed, because fewer "
                f"than k would have shared {shared}."
            )
        if self.imputed:
            say = "is" if self.imputed == 1 else "are"
            notes.append(
                f"{plural(self.imputed, 'value')} that {say} missing in the original "
                f"{say} filled with what the group publishes"
                f"{_format_counts(self.imputed_in)}"
                f"; each is that of "
                f"{self.least} records or more that have one. Means and variances are "
                "kept, where they are, of the values that are there: over all records "
                "they differ."
            )
        if self.compatible is not None:
            notes.append(
                "If what is missing equalled anything, "
                f"{plural(self.compatible, 'record')} would share the rarest "
                "combination: a figure, not k."
            )
        return notes


def _format_counts(counts: Mapping[str, int]) -> str:
    """Say how many values each attribute has."""
    return "".join(f", {name!r} {count}" for name, count in counts.items())


def find_missing_in(column: nw.Series[Any]) -> Bool:
    """Return a mask (n,) of missing entries: null or nan; an empty text is a value."""
    absent = column.is_null()
    if column.dtype.is_float():
        absent = absent | column.is_nan().fill_null(True)
    return np.asarray(absent.to_numpy(), dtype=bool)


def count_compatible(frame: nw.DataFrame[Any], coded: Mapping[str, AnyInt]) -> int:
    """Return how many records share the rarest of compatible combinations.

    `coded` are the codes (n,) of the quasi-identifiers, by name.
    """
    holes = np.stack([find_missing_in(frame[name]) for name in coded], axis=1)
    return count_least_compatible(np.stack(list(coded.values()), axis=1), holes)


def count_least_compatible(codes: AnyInt, holes: Bool) -> int:
    """Return how many records agree with the rarest where both have a value, 1..n."""
    patterns, which = np.unique(holes, axis=0, return_inverse=True)
    which = which.ravel()
    agree = np.zeros_like(which)
    for a, mine in enumerate(patterns):
        for b, other in enumerate(patterns):
            agree[which == a] += _count_agreeing(codes, which, a, b, ~(mine | other))
    return int(agree.min())


def _count_agreeing(codes: AnyInt, which: Labels, a: int, b: int, both: Bool) -> AnyInt:
    """Return with how many records of pattern b each one of a agrees, (of a,)."""
    rows = np.flatnonzero(which == a), np.flatnonzero(which == b)
    if not both.any():
        return np.full(len(rows[0]), len(rows[1]))
    combined = combine_codes(codes[np.concatenate(rows)][:, both].T)
    first, theirs = np.split(combined, [len(rows[0])])
    return np.bincount(theirs, minlength=int(combined.max()) + 1)[first]


@dataclass(frozen=True, eq=False)
class MissingChanges:
    """Values that only the originals have, or only the release, of some groups.

    Attributes
    ----------
    suppressed, imputed : (d,)
        Number of values of each quasi-identifier that only the original has, and only
        the release.
    lacking
        Number of values that the original or the release lacks.
    least
        Minimum number of records with a value of their own, over groups that publish
        one; None if no group does.
    """

    suppressed: I64
    imputed: I64
    lacking: int
    least: int | None

    @classmethod
    def of(
        cls,
        before: Floats,
        after: Floats,
        groups: Sequence[Grouped],
        units: Labels | None = None,
    ) -> "MissingChanges":
        """Return the changes from `before` to `after` (n, d).

        With the `units` (n,) of these records, those that have a value are counted by
        them.
        """
        lost = np.isnan(after)
        filled = np.isnan(before)
        behind = [
            int(counts[shown].min())
            for columns, labels in groups
            for j in columns
            for counts in [_count_present(labels, ~filled[:, j], units)]
            for shown in [np.bincount(labels, ~lost[:, j]) > 0]
            if shown.any()
        ]
        suppressed = (lost & ~filled).sum(axis=0)
        imputed = (filled & ~lost).sum(axis=0)
        lacking = int((lost | filled).sum())
        return cls(suppressed, imputed, lacking, min(behind, default=None))

    @classmethod
    def merge(cls, parts: Sequence["MissingChanges"]) -> "MissingChanges":
        """Return the changes of parts of a table, no group of which is in two."""
        fewest = [part.least for part in parts if part.least is not None]
        return cls(
            np.sum([part.suppressed for part in parts], axis=0),
            np.sum([part.imputed for part in parts], axis=0),
            sum(part.lacking for part in parts),
            min(fewest, default=None),
        )

    def add_to(
        self, missing: MissingValues | None, names: Sequence[str]
    ) -> MissingValues | None:
        """Return the missing values of a release with the changes; None without any.

        `names` (d,) are the quasi-identifiers.
        """
        if not self.lacking:
            return missing
        return replace(
            missing or MissingValues(0, 0),
            suppressed=int(self.suppressed.sum()),
            imputed=int(self.imputed.sum()),
            least=self.least,
            suppressed_in=_name_counts(names, self.suppressed),
            imputed_in=_name_counts(names, self.imputed),
        )


def _count_present(labels: Labels, is_present: Bool, units: Labels | None) -> AnyInt:
    """Return how many records of each group, or how many units, have a value."""
    size = int(labels.max()) + 1
    present_labels = labels[is_present]
    if units is not None:
        present_labels = np.unique(
            np.stack([present_labels, units[is_present]]), axis=1
        )[0]
    return np.bincount(present_labels, minlength=size)


def _name_counts(names: Sequence[str], counts: I64) -> dict[str, int]:
    """Return the count of each attribute that has some."""
    pairs = zip(names, counts.tolist(), strict=True)
    return {name: count for name, count in pairs if count}
