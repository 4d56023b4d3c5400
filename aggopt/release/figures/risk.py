"""Success rates of attacks, compared to chance and to the limit from k."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggopt.measure import Assessment
from aggopt.measure.safe_figures import format_percents, round_percent
from aggopt.release.figures.figure import GREY, VERMILION, Picture, legend, panels, say


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


def attacks(found: Assessment) -> tuple[Attack, ...]:
    """Return the attacks that were measured on a release."""
    limit, alone = (
        round_percent(found.linkage_limit),
        round_percent(found.linkage_chance),
    )
    within = f"value within {found.safety:g} standard deviations (SDID)"
    return (
        Attack("linked one to one", round_percent(found.linkage), alone, limit),
        Attack("linked to the nearest (DLD)", round_percent(found.dld), alone, limit),
        Attack(
            "re-identified in the smallest group", round_percent(found.highest_risk)
        ),
        Attack(within, round_percent(found.sdid), round_percent(found.sdid_chance)),
    )


def risk(found: Sequence[Attack]) -> Picture:
    """Return a picture of them: bars, by chance thin ones, limits dashed lines."""
    figure, (panel,) = panels(1, wide=7.0)
    y = np.arange(len(found))
    bars = panel.barh(y, [each.succeeds for each in found], 0.5, color=VERMILION)
    by_chance = [(j, each.chance) for j, each in enumerate(found)]
    known = [(j, chance) for j, chance in by_chance if chance is not None]
    places, chances = zip(*known, strict=True)
    thin = panel.barh(np.add(places, 0.35), chances, 0.14, color=GREY)
    limits = [(j, each.limit) for j, each in enumerate(found) if each.limit is not None]
    dashed = panel.vlines(
        [limit for _, limit in limits],
        [j - 0.4 for j, _ in limits],
        [j + 0.45 for j, _ in limits],
        colors="black",
        linestyles="--",
    )
    for j, each in enumerate(found):
        text = f" {format_percents(each.succeeds)}"
        panel.text(max(each.succeeds, each.limit or 0), j, text, va="center")
    names = ("attack succeeds", "by chance", "limit that k sets")
    legend(panel, (bars, thin, dashed), names)
    panel.set_yticks(y, labels=[each.name for each in found])
    panel.set_xlim(0, 100)
    panel.invert_yaxis()
    say(panel, x="% of records, or of values")
    return figure
