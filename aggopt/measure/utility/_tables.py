"""Tables of counts and of weighted totals, before and after."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from aggopt.core.columns import find_groups
from aggopt.core.record_weights import weight_of_each
from aggopt.core.types import Floats, Labels
from aggopt.errors import TableError, require_known
from aggopt.measure.utility._frames import (
    get_numbers,
    is_numeric,
    list_names,
    read_frames,
)

if TYPE_CHECKING:
    import pandas as pd

FEW = 10  # records of a cell: smaller ones are one cell together
FIFTHS = np.arange(1, 5) / 5  # quantiles at which numbers of many values are cut
COARSE = 20  # values: a number with more is cut


def contingency(
    original: Any,
    released: Any,
    rows: Sequence[str],
    columns: Sequence[str],
) -> dict[tuple[str, str], float]:
    """Return the total variation of each two-way table, 0 to 1; lower is better.

    Half the sum of |p' - p| over the cells of a row attribute and a column attribute,
    with p and p' shares of records.  Cells with fewer than 10 original records, or
    none, are joined into one cell.  Numbers of more than 20 values are cut at the
    fifths of the original.

    Parameters
    ----------
    rows, columns
        Names, such as strata and confidential attributes; each row attribute with each
        column attribute but itself.

    Raises
    ------
    TableError
        Not tables with equal columns, or a number is missing in every record.
    UnknownNameError
        A name is not a column.

    Examples
    --------
    >>> import pandas as pd
    >>> one = pd.DataFrame({"a": ["x"] * 20 + ["y"] * 20, "b": ["u", "v"] * 20})
    >>> other = one.assign(a="x")
    >>> contingency(one, other, ["a"], ["b"])
    {('a', 'b'): 0.5}
    """
    first, second = read_frames(original, released)
    for name in (*rows, *columns):
        require_known("column", name, list_names(first))
    cut = {name: _find_levels(first, second, name) for name in {*rows, *columns}}
    pairs = [(a, b) for a, b in product(rows, columns) if a != b]
    return {pair: _compute_variation(*(cut[name] for name in pair)) for pair in pairs}


@dataclass(frozen=True, eq=False)
class Totals:
    """Weighted totals of numbers in strata, before and after.

    Attributes
    ----------
    names
        Names of the numbers.
    before, after : (strata, d)
        Their totals.
    errors : (strata, d)
        Standard errors of the totals before, for a sample with replacement in each
        stratum; nan in a stratum of one record.
    """

    names: tuple[str, ...]
    before: Floats = field(repr=False)
    after: Floats = field(repr=False)
    errors: Floats = field(repr=False)

    @property
    def shifts(self) -> Floats:
        """Change of each total in standard errors; nan without a standard error."""
        with np.errstate(invalid="ignore", divide="ignore"):
            moved = np.abs(self.after - self.before)
            return np.where(moved == 0, 0.0, moved / self.errors)

    @property
    def largest(self) -> dict[str, float]:
        """The largest shift of each number, by name, strata of one record left out."""
        defined_shifts = np.where(np.isnan(self.errors), 0.0, self.shifts)
        return dict(zip(self.names, defined_shifts.max(axis=0).tolist(), strict=True))


def totals(
    original: Any,
    released: Any,
    *,
    strata: Sequence[str] = (),
    weights: npt.ArrayLike | None = None,
    released_weights: npt.ArrayLike | None = None,
) -> Totals:
    """Return the weighted totals of all numbers in each stratum; see `Totals`.

    Parameters
    ----------
    original, released
        Tables with equal columns.
    strata
        Columns whose combinations are the strata; one stratum without any.
    weights, released_weights : (n,), (m,)
        Weights of the records.  When `released_weights` are left out, the original's
        are used, for tables in one order.

    Raises
    ------
    TableError
        Not tables with equal columns, no numbers or some missing, a stratum of the
        original is not in the release, or weights are not positive.
    UnknownNameError
        A stratum is not a column.

    Source: Cochran, Sampling Techniques (1977), section 5.

    Examples
    --------
    >>> one, other = np.array([[1.0], [3.0]]), np.array([[2.0], [3.0]])
    >>> totals(one, other).largest
    {'0': 0.5}
    """
    first, second = read_frames(original, released)
    for name in strata:
        require_known("column", name, list_names(first))
    w = weight_of_each(weights, len(first))
    is_paired = released_weights is None and len(first) == len(second)
    v = w if is_paired else weight_of_each(released_weights, len(second))
    names = [n for n in list_names(first) if is_numeric(first, n) and n not in strata]
    _require_numbers((first, second), names)
    original_strata, released_strata = _find_strata(first, second, strata)
    X = first[names].to_numpy(np.float64) * w[:, None]
    Y = second[names].to_numpy(np.float64) * v[:, None]
    before = _sum_by_label(X, original_strata)
    after = _sum_by_label(Y, released_strata)
    size = np.bincount(original_strata)[:, None]
    off = X - (before / size)[original_strata]
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.sqrt(size / (size - 1) * _sum_by_label(off**2, original_strata))
    return Totals(tuple(names), before, after, errors)


def _require_numbers(frames: Sequence["pd.DataFrame"], names: Sequence[str]) -> None:
    holed = [n for n in names if any(frame[n].isna().any() for frame in frames)]
    if holed or not names:
        problem = f"Missing values in {', '.join(map(repr, holed))}."
        raise TableError(
            problem if holed else "There is no column of numbers.",
            fix="pass columns of numbers that are complete.",
        )


def _find_strata(
    first: "pd.DataFrame", second: "pd.DataFrame", names: Sequence[str]
) -> tuple[Labels, Labels]:
    """Return the stratum of each record of both tables."""
    if not names:
        return np.zeros(len(first), np.intp), np.zeros(len(second), np.intp)
    import pandas as pd

    labels = find_groups(pd.concat([first[list(names)], second[list(names)]]))
    original_labels = labels[: len(first)]
    released_labels = labels[len(first) :]
    if set(original_labels.tolist()) != set(released_labels.tolist()):
        raise TableError(
            "The strata of the release are not those of the original.",
            fix="name columns that are published as they are.",
        )
    return original_labels, released_labels


def _sum_by_label(values: Floats, labels: Labels) -> Floats:
    columns = [np.bincount(labels, column) for column in values.T]
    return np.column_stack(columns)


def _find_levels(
    first: "pd.DataFrame", second: "pd.DataFrame", name: str
) -> list[Labels]:
    """Return the level of each record of both tables."""
    import pandas as pd

    x = first[name]
    y = second[name]
    if is_numeric(first, name) and x.nunique() > COARSE:
        cuts = np.quantile(get_numbers(first, name), FIFTHS)
        missing = len(cuts) + 1
        return [
            np.where(
                levels.isna(), missing, np.searchsorted(cuts, levels.to_numpy(float))
            )
            for levels in (x, y)
        ]
    codes, _ = pd.factorize(pd.concat([x, y]), use_na_sentinel=False)
    return [codes[: len(x)], codes[len(x) :]]


def _compute_variation(one: list[Labels], other: list[Labels]) -> float:
    """Return the total variation of the table of two attributes' levels."""
    wide = max(codes.max() for codes in other) + 1
    cells = [a * wide + b for a, b in zip(one, other, strict=True)]
    level_count = max(cell_codes.max() for cell_codes in cells) + 1
    before, after = (
        np.bincount(cell_codes, minlength=level_count) for cell_codes in cells
    )
    is_frequent = before >= FEW
    shares = [
        np.append(counts[is_frequent], counts[~is_frequent].sum()) / counts.sum()
        for counts in (before, after)
    ]
    return float(np.abs(shares[1] - shares[0]).sum() / 2)
