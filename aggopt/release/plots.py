"""Pictures of a release: `release.plot`."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import narwhals.stable.v2 as nw
import numpy as np

from aggopt.core.types import F64
from aggopt.core.validation import Labels
from aggopt.data.parsing.columns import to_floats
from aggopt.data.table import Table
from aggopt.errors import TableError, require_known
from aggopt.job import Job
from aggopt.measure import Assessment
from aggopt.measure.safe_figures import compute_correlations
from aggopt.release.audit.audit import Audit
from aggopt.release.audit.counts import Count, combine_codes, encode_entries

if TYPE_CHECKING:
    from aggopt.release.figures.figure import Picture
    from aggopt.release.figures.release_pictures import Sizes

PRIVATE = "private=True draws each record, for you alone."


@dataclass(frozen=True, eq=False, repr=False)
class Plots:
    """Pictures of a release: each method returns a figure of matplotlib.

    The parts of originals that they show may be published, by docs/pictures.md: bins
    and levels of ten records or more, chosen from released values, and rounded figures.
    Pictures that show single records require `private=True`.

    Raises
    ------
    TableError
        The release has nothing to show, or is a copy out of a pickle, which holds no
        originals.
    """

    _masked: Table = field(repr=False)
    _original: Table | None = field(repr=False)
    _audit: Audit
    _measures: Assessment | None
    _job: Job
    _units: Labels | None = field(repr=False)

    def __repr__(self) -> str:
        """Return what there is."""
        return "Plots: groups(), before_after(name), correlations(), risk()"

    def groups(self) -> "Picture":
        """Return the picture of how many records share each combination, and of k.

        If k was required within blocks of attributes, it has a panel for each block.
        """
        from aggopt.release.figures.release_pictures import draw_group_sizes

        audit = self._audit
        counts = (audit.whole,) if audit.scope == "combination" else audit.blocks
        return draw_group_sizes([self._sizes(count) for count in counts], audit.k)

    def _sizes(self, count: Count) -> "Sizes":
        from aggopt.release.figures.release_pictures import Sizes

        frame = self._masked.frame
        units = self._units
        labels = combine_codes(encode_entries(frame[name]) for name in count.attributes)
        if units is not None:
            labels = np.unique(np.stack([labels, units]), axis=1)[0]
        return Sizes(count.attributes, np.bincount(labels), count.what)

    def before_after(self, name: str, *, private: bool = False) -> "Picture":
        """Return the distribution of a quasi-identifier before and after masking.

        With `private` each record before against after; of a category the number that
        moved from level to level.  Do not publish that.

        Raises
        ------
        UnknownNameError
            The release has no quasi-identifier of this name.
        TableError
            Fewer than ten records have a value.
        """
        from aggopt.release.figures.distributions import make_distribution
        from aggopt.release.figures.release_pictures import (
            draw_before_after,
            draw_records,
        )

        original = self._known()
        names = original.roles.quasi_identifier
        require_known("quasi-identifier of the release", name, names)
        if private:
            return draw_records(original, self._masked, name)
        shares = make_distribution(original, self._masked, name)
        if shares is None:
            raise TableError(
                f"{name!r}: fewer than ten records have a value, before masking or "
                "after; a picture would show them.",
                fix=PRIVATE,
            )
        return draw_before_after(shares)

    def correlations(self) -> "Picture":
        """Return the correlations of the originals, and what masking made of them.

        Of quasi-identifiers and confidential attributes that are numbers.
        """
        from aggopt.release.figures.release_pictures import (
            draw_correlation_changes as drawn,
        )

        before, after = self._numbers()
        if len(before) < 2:
            raise TableError(
                f"{len(before)} of the quasi-identifiers and confidential attributes "
                "are numbers: there is nothing to correlate.",
                fix="release.plot.before_after(name) draws any attribute.",
            )
        tables = (np.column_stack([*columns.values()]) for columns in (before, after))
        return drawn(list(before), *map(compute_correlations, tables))

    def _numbers(self) -> tuple[dict[str, F64], dict[str, F64]]:
        """Return the attributes that are numbers (n,), by name, before and after."""
        from aggopt.release.figures.distributions import read_plain_numbers

        original = self._known()
        frame = self._masked.frame
        before = {name: read_plain_numbers(original, name) for name in original.numeric}
        after = {
            name: read_plain_numbers(self._masked, name) for name in original.numeric
        }
        kinds = frame.schema
        numeric = [n for n in self._job.roles.confidential if kinds[n].is_numeric()]
        same = {name: _finite(frame[name]) for name in numeric}
        return before | same, after | same

    def risk(self) -> "Picture":
        """Return the success rates of attacks, compared to chance and k's limit."""
        from aggopt.release.figures.release_pictures import draw_risk, list_attacks

        if self._measures is None:
            raise TableError(
                "Nothing was measured on this release: too few records are complete.",
                fix="release.plot.groups() draws what k promises.",
            )
        return draw_risk(list_attacks(self._measures))

    def _known(self) -> Table:
        """Return the originals."""
        if self._original is None:
            raise TableError(
                "This release holds no originals: it is a copy, or out of a pickle.",
                fix="draw from the release that aggopt.mask returned; "
                "release.plot.groups() and .risk() need no originals.",
            )
        return self._original


def _finite(column: nw.Series[Any]) -> F64:
    values = to_floats(column)
    return np.where(np.isfinite(values), values, np.nan)
