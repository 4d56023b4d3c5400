"""How useful a release still is: distributions, moments, relations."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import cast

from aggopt.core.types import F64
from aggopt.data.table import Table
from aggopt.measure.safe_figures import FEW, Density
from aggopt.release.figures.distributions import Distribution, make_distribution
from aggopt.release.report.charts import bars
from aggopt.release.report.facts import Facts, ReportedColumn
from aggopt.release.report.moments import SHOWN, make_moments_table, make_stratum_table
from aggopt.release.report.page import DataTable, Figure, format_share, round_share
from aggopt.release.report.relations import (
    MOST,
    Related,
    draw_correlations,
    draw_regression,
    select_complete,
)
from aggopt.release.report.sections.registry import ReportSection


@dataclass(frozen=True)
class Usefulness:
    """Content of the section on usefulness.

    Attributes
    ----------
    distributions
        Of attributes, in decreasing order of change.
    more
        Number of further attributes, which have no distribution.
    moments, more_moments
        Of these attributes, and of all others; None without numbers.
    by_stratum
        Means of numbers by stratum; None without strata, or without the originals.
    kept
        Number of categories that did not change; None without categories.
    correlations, regression
        Before and after; None without relations.
    """

    distributions: tuple[Figure, ...]
    more: int
    moments: DataTable | None
    more_moments: DataTable | None
    by_stratum: DataTable | None
    kept: DataTable | None
    correlations: tuple[Figure, Figure] | None
    regression: Figure | None


def compare_usefulness(facts: Facts) -> Usefulness:
    """Compare the statistics of a release with those of the originals."""
    order = order_by_loss(facts)
    numbers = [facts.columns[name] for name in order if name in facts.columns]
    moments, more_moments = make_moments_table(facts, numbers)
    pair = _relate_numbers(facts, numbers)
    outcomes = select_complete(facts.outcomes, pair) if pair else {}
    first = next(iter(outcomes.items()), None)
    figures = list(_draw_distributions(facts, order[:SHOWN]))
    return Usefulness(
        distributions=tuple(figures),
        more=max(len(order) - SHOWN, 0),
        moments=moments,
        more_moments=more_moments,
        by_stratum=make_stratum_table(facts, numbers),
        kept=_make_categories_table(facts, order),
        correlations=draw_correlations(_add_outcomes(pair, outcomes)) if pair else None,
        regression=draw_regression(*first, pair) if first and pair else None,
    )


def order_by_loss(facts: Facts) -> list[str]:
    """Return the masked attributes in decreasing order of loss.

    The loss is a whole percentage, as displayed; equal ones keep the table's order.
    """
    if facts.original is None:
        return list(facts.names)
    lost = {name: round_share(_compute_loss(facts, name)) for name in facts.names}
    if len(lost) <= SHOWN:
        return list(facts.names)
    return sorted(facts.names, key=lambda name: -lost[name])


def _compute_loss(facts: Facts, name: str) -> float:
    """Return the share of an attribute's variance, or of its categories, that moved."""
    if name not in facts.columns:
        return 1.0 - _compute_same_share(facts, name)
    both = facts.columns[name].both
    if both is None or not both[0].size or both[0].std() == 0:
        return 0.0
    return float(((both[0] - both[1]) ** 2).mean() / both[0].var())


def _compute_same_share(facts: Facts, name: str) -> float:
    both = cast(Table, facts.original), facts.released  # as of any with this part
    one, other = (table.frame[name].to_list() for table in both)
    same = sum(str(a) == str(b) for a, b in zip(one, other, strict=True))
    return same / len(one)


def _draw_distributions(facts: Facts, names: list[str]) -> Iterator[Figure]:
    for name in names:
        if name in facts.released.spans:
            continue
        distribution = draw_distribution(name, facts.original, facts.released)
        if distribution is not None:
            yield distribution


def _make_categories_table(facts: Facts, order: list[str]) -> DataTable | None:
    names = [name for name in order if name not in facts.columns]
    if not names or facts.original is None:
        return None
    original = facts.original.frame.select(*names)
    counts = {name: len(original) - original[name].null_count() for name in names}
    rows = [
        [
            name,
            format_share(round_share(_compute_same_share(facts, name)))
            if counts[name] >= FEW
            else "",
        ]
        for name in names
    ]
    caption = "Records that keep their category"
    return DataTable(caption, ["attribute", "as in the originals"], rows, (1,))


def _relate_numbers(facts: Facts, numbers: list[ReportedColumn]) -> Related | None:
    """Return the numbers before and after masking; None without the originals."""
    before = {c.name: c.before for c in numbers if c.before is not None}
    return Related.of(before, {c.name: c.after for c in numbers}) if before else None


def _add_outcomes(pair: Related, outcomes: Mapping[str, F64]) -> Related:
    """Return attributes with confidential numbers in addition, `MOST` and one in all.

    The first outcome is always there, since the regression has it.
    """
    room = max(1, MOST - len(pair.before))
    more = dict(list(outcomes.items())[:room])
    return Related({**pair.before, **more}, {**pair.after, **more})


USE = ReportSection(
    name="use",
    when="distributions, moments, correlations and a regression before and after",
    rank=50,
    content=compare_usefulness,
    heading="How useful it still is",
    label="Usefulness",
    template="use.html",
)


BINS = 2  # one alone says nothing


def draw_distribution(
    name: str, original: Table | None, released: Table
) -> Figure | None:
    """Return the distribution of an attribute, of the release alone without original.

    None for fewer than ten records, or a single bin.
    """
    shares = make_distribution(
        released if original is None else original, released, name
    )
    if shares is None or len(shares.what.released) < BINS:
        return None
    after = [percent / 100 for percent in shares.what.released]
    before = [percent / 100 for percent in shares.what.original]
    original_shares = None if original is None else before
    if isinstance(shares.what, Density):
        label = f"Distribution of {name}"
        edges = shares.what.edges
        widths = shares.what.widths
        chart = bars.draw_density(
            label, edges, widths, shares.ticks, original_shares, after
        )
        return Figure(
            chart, name, _make_table(name, _name_bins(shares), original_shares, after)
        )
    levels = shares.what.levels
    chart = bars.draw_pairs(f"Categories of {name}", levels, original_shares, after)
    return Figure(chart, name, _make_table(name, levels, original_shares, after))


def _name_bins(shares: Distribution) -> list[str]:
    """Return the names of the bins; the outer ones are open."""
    inner = [f"{tick} {shares.unit}".strip() for tick in shares.ticks[1:-1]]
    between = [f"{low} to {high}" for low, high in pairwise(inner)]
    return [f"below {inner[0]}", *between, f"{inner[-1]} and above"]


def _make_table(
    name: str,
    rows: Sequence[str],
    before: Sequence[float] | None,
    after: Sequence[float],
) -> DataTable:
    caption = f"{name}: share of records"
    if before is None:
        cells = [[row, format_share(b)] for row, b in zip(rows, after, strict=True)]
        return DataTable(caption, ["value", "released"], cells, (1,))
    both = zip(rows, before, after, strict=True)
    cells = [[row, format_share(a), format_share(b)] for row, a, b in both]
    return DataTable(caption, ["value", "original", "released"], cells, (1, 2))
