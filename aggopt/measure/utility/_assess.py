"""Utility of a release for analysts, in one table."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Progress, require_progress
from aggopt.core.html import render_html_lines
from aggopt.core.standardise import Scale
from aggopt.errors import InfeasibleInputError, require_known
from aggopt.measure.utility._distributions import ks, wasserstein
from aggopt.measure.utility._frames import (
    is_complete,
    is_numeric,
    list_names,
    read_frames,
)
from aggopt.measure.utility._propensity import Propensity, pmse, pmse_tree
from aggopt.measure.utility._regression import RegressionKept, interval_overlap
from aggopt.measure.utility._tables import Totals, contingency, totals

TITLE = "Utility: changes by masking, 0 is best"


@dataclass(frozen=True, eq=False)
class Utility:
    """Utility of a release; printed, it is a table.

    Attributes
    ----------
    propensity
        `pmse` of the masked attributes; None if they are too many for the records.
    tree
        `pmse_tree` of the masked attributes.
    wasserstein, ks
        Distances for each masked number, by name.
    correlation
        The largest change of a correlation of two numbers; None for fewer than two.
    regressions
        Result of `interval_overlap` for each formula.
    contingency
        Total variation of two-way tables of masked categories with other columns.
    totals
        Weighted totals in the strata, of numbers that are never missing; None without.
    """

    propensity: Propensity | None
    tree: float
    wasserstein: dict[str, float]
    ks: dict[str, float | None]
    correlation: float | None
    regressions: tuple[RegressionKept, ...]
    contingency: dict[tuple[str, str], float]
    totals: Totals | None = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON; of totals how far they moved."""
        from dataclasses import asdict

        tables = {
            " x ".join(pair): distance for pair, distance in self.contingency.items()
        }
        return {
            "pmse": None if self.propensity is None else asdict(self.propensity),
            "pmse_tree": self.tree,
            "wasserstein": self.wasserstein,
            "ks": self.ks,
            "correlation": self.correlation,
            "regressions": [asdict(regression) for regression in self.regressions],
            "contingency": tables,
            "totals": None if self.totals is None else self.totals.largest,
        }

    def __str__(self) -> str:
        """Return a table in plain text."""
        lines = [f"  {name:<34}{shown:>9}  {says}" for name, shown, says in self._rows]
        return "\n".join(line.rstrip() for line in [TITLE, *lines])

    def _repr_html_(self) -> str:
        """Return the printed table as HTML for a notebook."""
        return render_html_lines(str(self))

    @property
    def _rows(self) -> Iterator[tuple[str, str, str]]:
        """Yield name, value and remark of each printed line."""
        if self.propensity is None:
            yield "pMSE", "none", "too many attributes for the records"
        else:
            ratio = f"{self.propensity.ratio:.3g} times an independent table's"
            yield "pMSE, products of two", f"{self.propensity.pmse:.5f}", ratio
        yield "pMSE, tree", f"{self.tree:.5f}", "0.25 is worst"
        for name, distance in self.wasserstein.items():
            far = self.ks[name]
            distances = "W1, in standard deviations"
            distances += "" if far is None else f"; KS {far:.3f}"
            yield f"distribution of {name}", f"{distance:.4f}", distances
        if self.correlation is not None:
            yield "correlations", f"{self.correlation:.4f}", "largest change"
        for regression in self.regressions:
            yield from _describe_regression(regression)
        for (one, other), distance in self.contingency.items():
            yield f"{one} x {other}", f"{distance:.4f}", "total variation"
        if self.totals is not None:
            several = len(self.totals.before) > 1
            moved = "standard errors" + (", largest of the strata" if several else "")
            for name, far in self.totals.largest.items():
                yield f"total of {name}", f"{far:.3f}", moved


def _describe_regression(regression: RegressionKept) -> Iterator[tuple[str, str, str]]:
    yield regression.formula, "", ""
    for coefficient in regression.coefficients:
        sign = "same sign" if coefficient.sign else "OTHER SIGN"
        sign += "" if coefficient.significance else ", other significance"
        shown = "none" if coefficient.overlap is None else f"{coefficient.overlap:.3f}"
        yield f"  {coefficient.name}", shown, f"overlap, 1 is best; {sign}"


def assess(
    original: Any,
    released: Any,
    *,
    model: str | Sequence[str] = (),
    masked: Sequence[str] | None = None,
    beside: Sequence[str] = (),
    strata: Sequence[str] = (),
    dates: Sequence[str] = (),
    weights: npt.ArrayLike | None = None,
    released_weights: npt.ArrayLike | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> Utility:
    """Return the utility of a release; see `Utility`.

    Parameters
    ----------
    original, released
        Tables with equal columns, in any order of records.
    model
        Formulas of regressions, such as "y ~ a + b"; needs the extra `stats`.
    masked
        The columns that were masked; all columns but `strata` and `beside` when left
        out.
    beside
        Columns that are paired with masked categories in two-way tables.
    strata
        Columns whose combinations are the strata of totals.
    dates
        Columns of numbers that are dates or times of day, which have no total.
    weights, released_weights : (n,), (m,)
        Sampling weights, for regressions and totals; see `totals`.
    seed
        Of `pmse_tree`.
    progress
        Called with the share of the measures that are done.

    Raises
    ------
    TableError, JobError
        As `pmse_tree`, `wasserstein`, `interval_overlap`, `contingency` and `totals`.
    UnknownNameError
        A name is not a column.

    Source: each at the function of its name.

    Examples
    --------
    >>> x = np.random.default_rng(0).normal(size=(200, 2))
    >>> found = assess(x, x)
    >>> found.propensity.pmse < 1e-9, found.wasserstein, found.correlation
    (True, {'0': 0.0, '1': 0.0}, 0.0)
    """
    require_progress(progress)
    one, other = read_frames(original, released)
    for name in (*(masked or ()), *beside, *strata, *dates):
        require_known("column", name, list_names(one))
    excluded = {*beside, *strata}
    names = (
        [n for n in list_names(one) if n not in excluded]
        if masked is None
        else list(masked)
    )
    before = one[names]
    after = other[names]
    categories = [name for name in names if not is_numeric(one, name)]
    figures = [name for name in names if name not in categories]
    arguments = {"weights": weights, "released_weights": released_weights}
    formulas = (model,) if isinstance(model, str) else tuple(model)
    complete_names = [
        n for n in figures if one[n].notna().all() and other[n].notna().all()
    ]
    summed_names = [name for name in complete_names if name not in dates]
    of_totals = [*summed_names, *strata]
    measures: dict[str, Callable[[], Any]] = {
        "wasserstein": lambda: wasserstein(before, after),
        "ks": lambda: ks(before, after),
        "correlation": lambda: _compute_correlation_change(before, after),
        "tree": lambda: pmse_tree(before, after, seed=seed),
        "contingency": lambda: contingency(one, other, categories, [*beside, *strata]),
        "totals": lambda: (
            totals(one[of_totals], other[of_totals], strata=strata, **arguments)
            if summed_names
            else None
        ),
        "regressions": lambda: tuple(
            interval_overlap(f, one, other, **arguments) for f in formulas
        ),
        "propensity": lambda: _compute_propensity(before, after),  # the longest
    }
    regressions_kept = {}
    for name, measure in measures.items():
        regressions_kept[name] = measure()
        if progress is not None:
            progress(len(regressions_kept) / len(measures))
    return Utility(**regressions_kept)


def _compute_propensity(before: Any, after: Any) -> Propensity | None:
    try:
        return pmse(before, after)
    except InfeasibleInputError:
        return None


def _compute_correlation_change(before: Any, after: Any) -> float | None:
    """Return the largest change of a correlation of two numbers that vary."""
    numeric = [name for name in list_names(before) if is_numeric(before, name)]
    tables = [frame[numeric][is_complete(frame)] for frame in (before, after)]
    varying = [
        name for name in numeric if all(table[name].nunique() > 1 for table in tables)
    ]
    if len(varying) < 2:
        return None
    matrices = [table[varying].to_numpy(np.float64) for table in tables]
    scaled = (Scale.of(matrix).standardise(matrix) for matrix in matrices)
    one, other = (np.corrcoef(matrix.T) for matrix in scaled)
    return float(np.abs(other - one).max())
