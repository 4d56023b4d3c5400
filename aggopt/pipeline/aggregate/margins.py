"""The program that a job's wishes make: its distances, with the secret margins."""

from collections.abc import Iterator

import numpy as np

from aggopt.aggregate.aggregation import get_column
from aggopt.aggregate.secret_margins import (
    ENOUGH,
    compute_margin_widths,
    draw_margins,
    find_step_in_deviations,
)
from aggopt.aggregate.user_model import ByModel
from aggopt.core.standardise import to_unweighted_spreads
from aggopt.core.types import Bool
from aggopt.core.validation import Floats
from aggopt.job import Shifting, Squared
from aggopt.measure import sl
from aggopt.models.shared.shift_data import FARTHEST
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import present_values
from aggopt.pipeline.validate.distance_requests import require_agreement

ROUNDING = 1e-9  # of a number of steps

ASKED = (
    "Each group and attribute was asked to keep more than the distance asked, by a "
    "secret margin; the certificates are of the program with these margins, and what "
    "is satisfied is counted by the distance asked. Another release draws other "
    "margins: its objectives cannot be compared with these; `aggopt compare-solvers` "
    "draws them once for all solvers."
)
MOST = 0.5  # share of values nearer than requested, above which a note is written
NOTE = (
    f"{ASKED} Wherever a wish can be exact the margin spans {ENOUGH} possible values "
    "or more: who subtracts distances from a published value is left with several "
    "candidates for an original."
)
HARMLESS = (ASKED, NOTE)  # the other notes on margins are about losses of persons
OWN = (
    "Values are published by a model of your own, to which no secret margin is added: "
    "where one of its constraints decides, a published value may lie at a known "
    "distance from an original, and so give it away."
)
WARNING = (
    "margin = 0: wherever a wish decides, the published value lies exactly at the "
    "distance asked from an original. Who tries distances on the published values "
    "finds such originals to the last digit. Leave margin out to hide them."
)


def margin_arguments(
    given: PartitionedTable, delta: Floats | None = None, *, alpha: float | None = None
) -> dict[str, Floats]:
    """Return arguments (n, d) for the aggregation; an empty dictionary if none shifts.

    `delta` (n, d) and `alpha` replace those of the job.  The margins come from the
    secret of the release, and their share of their width does not depend on the delta.

    Raises
    ------
    InfeasibleInputError
        Demands within a group agree without a margin, but not with one.
    """
    how = given.job.aggregation
    if not isinstance(how, Shifting):
        return {}
    if alpha is not None:
        how = how.model_copy(update={"alpha": alpha})
    asked = given.asked["delta"] if delta is None else delta
    steps = _steps(given, how, asked)
    added = draw_margins(
        given.labels_of_numbers, asked, how.margin, given.secret, steps
    )
    if not how.two_sided:
        added = np.where(asked > 0, added, 0.0)  # a distance of 0 is no request
    wider = np.minimum(asked + added, np.maximum(asked, FARTHEST))
    if how.two_sided and how.margin != 0:
        require_agreement(
            given.names,
            given.scale.standardise(given.X),
            given.labels_of_numbers,
            given.asked["importance"],
            asked,
            wider,
            given.weights,
        )
    return {"delta": wider, "importance": given.asked["importance"]}


def note_on_nearer_values(given: PartitionedTable, after: Floats) -> list[str]:
    """Return a note if most published values (n, d) are nearer than requested."""
    if not isinstance(given.job.aggregation, Squared):
        return []
    share = 1 - _kept_distances(given, after)
    if share <= MOST:
        return []
    return [
        f"{share:.0%} of the values lie nearer to their originals than asked: raise "
        'alpha or importance, or take method = "satisfaction".'
    ]


def _kept_distances(given: PartitionedTable, after: Floats) -> float:
    """Return the satisfaction level of all values that are not missing, 1 of none."""
    X = given.X
    delta = to_unweighted_spreads(given.asked["delta"], X, given.weights)
    there = ~np.isnan(X)
    varying = np.flatnonzero(np.nanmin(X, axis=0) < np.nanmax(X, axis=0))
    if not varying.size:
        return 1.0
    levels = []
    for j in varying:
        rows = np.flatnonzero(there[:, j])[:, None]
        levels.append(sl(X[rows, j], after[rows, j], delta=delta[rows, j]))
    return float(np.average(levels, weights=there[:, varying].sum(axis=0)))


def note_on_margins(given: PartitionedTable) -> list[str]:
    """Return the notes on margins; an empty list if no distance has an effect."""
    how = given.job.aggregation
    if isinstance(how, ByModel):
        return [OWN]
    if not isinstance(how, Shifting):
        return []
    asked = given.asked["delta"]
    if not how.acts(asked, given.asked["importance"]).any():
        return []
    if how.margin == 0:
        return [WARNING]
    exact = how.exact(asked, given.asked["importance"]) & ~np.isnan(given.X)
    few = list(_few(given, how, asked, exact))
    return [NOTE if exact.any() and not few else ASKED, *few]


def _steps(given: PartitionedTable, how: Shifting, asked: Floats) -> Floats:
    """Return the step of each attribute (d,) with exact distances; 0 for others."""
    X = given.X
    exact = how.exact(asked, given.asked["importance"]) & ~np.isnan(X)
    steps = np.zeros(asked.shape[1])
    if how.margin is None:
        spread = given.scale.spread
        for j in np.flatnonzero(exact.any(axis=0)):
            steps[j] = find_step_in_deviations(
                present_values(X[:, j]), float(spread[j])
            )
    return steps


def _few(
    given: PartitionedTable, how: Shifting, asked: Floats, exact: Bool
) -> Iterator[str]:
    """Warn of each attribute whose margin spans too few possible values."""
    spread, steps = given.scale.spread, _steps(given, how, asked)
    for j, name in enumerate(given.names):
        if spread[j] == 0 or not exact[:, j].any():
            continue
        label = get_column(given.labels_of_numbers, j)
        wide = compute_margin_widths(label, asked[:, j], how.margin, float(steps[j]))
        narrowest = float(wide[label[exact[:, j]]].min())
        step = find_step_in_deviations(
            present_values(given.X[:, j]), float(spread[j]), narrowest
        )
        spans = narrowest / step + ROUNDING
        if spans < ENOUGH:
            yield _warned(name, int(spans) + 1)


def _warned(name: str, most: int) -> str:
    values = "possible value" if most == 1 else "possible values"
    return (
        f"WARNING: {name!r}: the secret margin spans at most {most} {values}. Where a "
        "wish decides, who subtracts distances from a published value has at most "
        f"{most} on either side of it, one of them an original, and may be left with "
        "that one alone. Set a wider margin under [aggregation], or aggregate by the "
        "mean."
    )
