"""Success rates of attacks, compared to chance and to the limit from k."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggopt.measure import Assessment
from aggopt.measure.safe_figures import format_percents, round_percent
from aggopt.release.figures.figure import (
    GREY,
    VERMILION,
    Picture,
    add_legend,
    label_axes,
    make_panels,
)


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
    limit, alone = (
        round_percent(assessment.linkage_limit),
        round_percent(assessment.linkage_chance),
    )
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
