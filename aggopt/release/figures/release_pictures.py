"""Pictures of a release: attributes, groups, attacks, correlations, single records."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.ticker import MaxNLocator

from aggopt.core.types import F64, AnyInt
from aggopt.data.table import Table
from aggopt.measure import Assessment
from aggopt.measure.safe_figures import Density, format_percents, round_percent
from aggopt.release.figures.distributions import (
    LONG,
    Distribution,
    choose_unit,
    counts_dates,
    list_level_names,
    read_nodes,
    read_plain_numbers,
)
from aggopt.release.figures.figure import (
    BLUE,
    GREY,
    ORIGINAL,
    RELEASED,
    VERMILION,
    Picture,
    add_legend,
    label_axes,
    make_panels,
    set_named_ticks,
    shorten_label,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.image import AxesImage

NAMES = ("original", "released")
TICKS = 6  # edges that are named, at most
LINE = 50  # characters that fit side by side below a panel


def draw_before_after(distribution: Distribution) -> Picture:
    """Return the publishable picture: it shows no single record's value."""
    figure, (panel,) = make_panels(1)
    if isinstance(distribution.what, Density):
        _draw_bins(panel, distribution, distribution.what)
    else:
        _draw_levels(panel, distribution)
    return figure


def _draw_bins(panel: "Axes", distribution: Distribution, what: Density) -> None:
    edges = np.array(what.edges)
    widths = np.array(what.widths)
    before = np.array(what.original)
    after = np.array(what.released)
    bars = panel.stairs(after / widths, edges, fill=True, color=RELEASED)
    steps = panel.stairs(before / widths, edges, color=ORIGINAL, linewidth=1.5)
    add_legend(panel, (steps, bars), NAMES)
    places = _choose_places(len(edges))
    names = [distribution.ticks[j] for j in places]
    if len(edges) > 2:  # else the only bin has all there is
        names[0], names[-1] = f"≤ {names[0]}", f"≥ {names[-1]}"
    set_named_ticks(panel.xaxis, edges[places].tolist(), names)
    if sum(map(len, names)) > LINE:
        panel.tick_params(axis="x", rotation=30)
    unit = f", {distribution.unit}" if distribution.unit else ""
    x = f"{shorten_label(distribution.name)}{unit} (the outer bins are open)"
    label_axes(
        panel,
        x=x,
        y=f"% of records per {_find_unit(distribution)}",
        title=shorten_label(distribution.name),
    )


def _find_unit(distribution: Distribution) -> str:
    """Return the unit of a height."""
    return distribution.unit.removesuffix("s") or "unit"


def _choose_places(count: int) -> list[int]:
    """Return which of the edges are labelled: the first, the last, some between."""
    few = min(count, TICKS)
    return [round(j * (count - 1) / (few - 1)) for j in range(few)]


def _draw_levels(panel: "Axes", distribution: Distribution) -> None:
    y = np.arange(len(distribution.ticks))
    above = panel.barh(y - 0.2, distribution.what.original, 0.4, color=ORIGINAL)
    below = panel.barh(y + 0.2, distribution.what.released, 0.4, color=RELEASED)
    add_legend(panel, (above, below), NAMES)
    set_named_ticks(panel.yaxis, y.tolist(), distribution.ticks)
    panel.invert_yaxis()
    label_axes(panel, x="% of records", title=shorten_label(distribution.name))


MOST = 12  # panels, rarest combinations first


@dataclass(frozen=True, eq=False)
class Sizes:
    """Number of records of each combination of some attributes, (m,)."""

    attributes: tuple[str, ...]
    sizes: AnyInt
    what: str = "record"  # that is counted, or "unit"


def draw_group_sizes(size_counts: Sequence[Sizes], k: int) -> Picture:
    """Return a picture of how often each size occurs, a panel for each count."""
    shown = sorted(size_counts, key=lambda panel_sizes: int(panel_sizes.sizes.min()))[
        :MOST
    ]
    figure, grid = make_panels(len(shown))
    for panel, panel_sizes in zip(grid, shown, strict=True):
        sizes, counts = np.unique(panel_sizes.sizes, return_counts=True)
        bars = panel.bar(sizes, counts, width=0.8, color=RELEASED)
        line = panel.axvline(k - 0.5, color=VERMILION, linestyle="--")
        add_legend(panel, (bars, line), ("combinations", f"k = {k}"))
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.yaxis.set_major_locator(MaxNLocator(integer=True))
        title = ", ".join(map(shorten_label, panel_sizes.attributes[:3]))
        more = len(panel_sizes.attributes) - 3
        label_axes(
            panel,
            x=f"{panel_sizes.what}s that share a combination",
            y="combinations",
            title=f"{title} and {more} more" if more > 0 else title,
        )
    if len(size_counts) > MOST:
        figure.suptitle(f"The {MOST} of {len(size_counts)} blocks with the rarest")
    return figure


@dataclass(frozen=True)
class Attack:
    """An attack and its success rate: in whole percents.

    `chance` is the success rate of a guess, `limit` the maximum of a linkage; None
    unknown.
    """

    name: str
    succeeds: float
    chance: float | None = None
    limit: float | None = None


def list_attacks(assessment: Assessment) -> tuple[Attack, ...]:
    """Return the attacks that were measured on a release."""
    limit = round_percent(assessment.linkage_limit)
    alone = round_percent(assessment.linkage_chance)
    within = f"value within {assessment.safety:g} standard deviations (SDID)"
    return (
        Attack("linked one to one", round_percent(assessment.linkage), alone, limit),
        Attack(
            "linked to the nearest (DLD)", round_percent(assessment.dld), alone, limit
        ),
        Attack(
            "re-identified in the smallest group",
            round_percent(assessment.highest_risk),
        ),
        Attack(
            within,
            round_percent(assessment.sdid),
            round_percent(assessment.sdid_chance),
        ),
    )


def draw_risk(attacks_run: Sequence[Attack]) -> Picture:
    """Return a picture of them: bars, by chance thin ones, limits dashed lines."""
    figure, (panel,) = make_panels(1, wide=7.0)
    y = np.arange(len(attacks_run))
    bars = panel.barh(
        y, [attack.succeeds for attack in attacks_run], 0.5, color=VERMILION
    )
    by_chance = [(j, attack.chance) for j, attack in enumerate(attacks_run)]
    known_chances = [(j, chance) for j, chance in by_chance if chance is not None]
    places, chances = zip(*known_chances, strict=True)
    thin = panel.barh(np.add(places, 0.35), chances, 0.14, color=GREY)
    limits = [
        (j, attack.limit)
        for j, attack in enumerate(attacks_run)
        if attack.limit is not None
    ]
    dashed = panel.vlines(
        [limit for _, limit in limits],
        [j - 0.4 for j, _ in limits],
        [j + 0.45 for j, _ in limits],
        colors="black",
        linestyles="--",
    )
    for j, attack in enumerate(attacks_run):
        text = f" {format_percents(attack.succeeds)}"
        panel.text(max(attack.succeeds, attack.limit or 0), j, text, va="center")
    names = ("attack succeeds", "by chance", "limit that k sets")
    add_legend(panel, (bars, thin, dashed), names)
    panel.set_yticks(y, labels=[attack.name for attack in attacks_run])
    panel.set_xlim(0, 100)
    panel.invert_yaxis()
    label_axes(panel, x="% of records, or of values")
    return figure


MOST_CORRELATED = 20  # attributes shown, by change of their correlations, largest first
WRITTEN = 10  # attributes up to which the cells show figures
TITLES = "Originals", "Released less originals"


def draw_correlation_changes(names: Sequence[str], before: F64, after: F64) -> Picture:
    """Return a picture of correlations (d, d) before masking, and of their change."""
    change = after - before
    largest = np.nan_to_num(np.abs(change)).max(axis=1)
    shown = np.sort(np.argsort(-largest, kind="stable")[:MOST_CORRELATED])
    cells = np.ix_(shown, shown)
    shown_names = [names[j] for j in shown.tolist()]
    figure, grid = make_panels(2, high=4.5)
    for panel, matrix, title in zip(
        grid, (before[cells], change[cells]), TITLES, strict=True
    ):
        image = _draw_cells(panel, matrix, shown_names)
        label_axes(panel, title=title)
        figure.colorbar(image, ax=panel, shrink=0.8)
    if len(names) > MOST_CORRELATED:
        figure.suptitle(
            f"The {MOST_CORRELATED} of {len(names)} attributes that changed most"
        )
    return figure


def _draw_cells(panel: "Axes", matrix: F64, names: Sequence[str]) -> "AxesImage":
    image = panel.imshow(matrix, cmap="RdBu", vmin=-1, vmax=1)
    for axis in (panel.xaxis, panel.yaxis):
        set_named_ticks(axis, range(len(names)), names)
    panel.tick_params(axis="x", rotation=90)
    if len(names) <= WRITTEN:
        for (row, column), figure in np.ndenumerate(matrix):
            says = "" if np.isnan(figure) else f"{figure:.2f}"
            dark = abs(figure) > 0.6
            panel.text(
                column,
                row,
                says,
                ha="center",
                va="center",
                color="white" if dark else "black",
                fontsize=8,
            )
    return image


def draw_records(original: Table, released: Table, name: str) -> Picture:
    """Return the picture of a quasi-identifier in two tables of equal records.

    Of a number, a date or a time each record's value before against after; of a
    category the number of records that moved from level to level.
    """
    figure, (panel,) = make_panels(1, high=5.0)
    if name in original.domains:
        _draw_level_moves(panel, original, released, name)
    else:
        _draw_numbers(panel, original, released, name)
    return figure


def draw_against(panel: "Axes", before: F64, after: F64) -> None:
    """Draw each record's value (n,) before against after, and the line of equality."""
    ends = [np.nanmin([before, after]), np.nanmax([before, after])]
    panel.plot(ends, ends, color=GREY, linewidth=1, zorder=1)
    panel.scatter(before, after, s=9, alpha=0.5, color=BLUE, linewidths=0)


def _draw_numbers(panel: "Axes", original: Table, released: Table, name: str) -> None:
    both = [read_plain_numbers(table, name) for table in (original, released)]
    unit = ""
    clock = original.clocks.get(name)
    if clock is not None:
        unit = "days" if counts_dates(clock) else choose_unit(both[1])
        both = [seconds / LONG[unit] for seconds in both]
    if clock is not None and counts_dates(clock):
        panel.xaxis_date()  # days since 1970, as matplotlib counts
        panel.yaxis_date()
        unit = ""
    draw_against(panel, *both)
    in_units = f", {unit}" if unit else ""
    title = f"{shorten_label(name)}: each point is a record. Private"
    label_axes(panel, x=f"original{in_units}", y=f"released{in_units}", title=title)


def _draw_level_moves(
    panel: "Axes", original: Table, released: Table, name: str
) -> None:
    before, after = (read_nodes(table, name) for table in (original, released))
    is_present = (before >= 0) & (after >= 0)
    levels = np.unique(np.concatenate([before[is_present], after[is_present]]))
    counts = np.zeros((len(levels), len(levels)))
    at = tuple(np.searchsorted(levels, codes[is_present]) for codes in (before, after))
    np.add.at(counts, at, 1)
    image = panel.imshow(counts, cmap="viridis")
    panel.figure.colorbar(image, label="records")
    names = [list_level_names(original, name)[j] for j in levels.tolist()]
    for axis in (panel.xaxis, panel.yaxis):
        set_named_ticks(axis, range(len(names)), names)
    panel.tick_params(axis="x", rotation=90)
    title = f"{shorten_label(name)}: how many records moved. Private"
    label_axes(panel, x="released", y="original", title=title)
