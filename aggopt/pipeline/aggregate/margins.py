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
from aggopt.core.types import Bool, Floats, Labels
from aggopt.job import Shifting, Squared
from aggopt.measure import sl
from aggopt.models.shared.shift_data import FARTHEST
from aggopt.pipeline.partition.partitioned_table import PartitionedTable
from aggopt.pipeline.prepare.prepared_table import select_present
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


def make_margin_arguments(
    partitioned: PartitionedTable,
    delta: Floats | None = None,
    *,
    alpha: float | None = None,
) -> dict[str, Floats]:
    """Return keyword arguments: distances with secret margins, and importances.

    `delta` (n, d) and `alpha` replace those of the job.  The margins are drawn from the
    secret of the release, and their share of their width does not depend on the delta.

    Raises
    ------
    InfeasibleInputError
        Demands within a group agree without a margin, but not with one.
    """
    shifting = partitioned.job.aggregation
    if not isinstance(shifting, Shifting):
        return {}
    if alpha is not None:
        shifting = shifting.model_copy(update={"alpha": alpha})
    requests = partitioned.asked["delta"] if delta is None else delta
    steps = _find_steps(partitioned, shifting, requests)
    labels = partitioned.labels_of_numbers
    wider = add_margins(requests, labels, shifting, partitioned.secret, steps)
    if shifting.two_sided and shifting.margin != 0:
        require_agreement(
            partitioned.names,
            partitioned.scale.standardise(partitioned.X),
            partitioned.labels_of_numbers,
            partitioned.asked["importance"],
            requests,
            wider,
            partitioned.weights,
        )
    return {"delta": wider, "importance": partitioned.asked["importance"]}


def add_margins(
    requests: Floats, labels: Labels, shifting: Shifting, secret: str, steps: Floats
) -> Floats:
    """Return requested distances (n, p) with the secret margin of each group.

    `steps` (p,) are those of attributes with exact distances; 0 for others.
    """
    added = draw_margins(labels, requests, shifting.margin, secret, steps)
    if not shifting.two_sided:
        added = np.where(requests > 0, added, 0.0)  # a distance of 0 is no request
    return np.minimum(requests + added, np.maximum(requests, FARTHEST))


def describe_nearer_values(partitioned: PartitionedTable, after: Floats) -> list[str]:
    """Return a note if most published values (n, d) are nearer than requested."""
    if not isinstance(partitioned.job.aggregation, Squared):
        return []
    share = 1 - _compute_satisfaction(partitioned, after)
    if share <= MOST:
        return []
    return [
        f"{share:.0%} of the values lie nearer to their originals than asked: raise "
        'alpha or importance, or take method = "satisfaction".'
    ]


def _compute_satisfaction(partitioned: PartitionedTable, after: Floats) -> float:
    """Return the mean satisfaction level of the attributes that vary; 1 if none."""
    X = partitioned.X
    delta = to_unweighted_spreads(partitioned.asked["delta"], X, partitioned.weights)
    is_present = ~np.isnan(X)
    varying = np.flatnonzero(np.nanmin(X, axis=0) < np.nanmax(X, axis=0))
    if not varying.size:
        return 1.0
    levels = []
    for j in varying:
        rows = np.flatnonzero(is_present[:, j])[:, None]
        levels.append(sl(X[rows, j], after[rows, j], delta=delta[rows, j]))
    return float(np.average(levels, weights=is_present[:, varying].sum(axis=0)))


def describe_margins(partitioned: PartitionedTable) -> list[str]:
    """Return the texts of notes on secret margins; none if no distance acts."""
    aggregation = partitioned.job.aggregation
    if isinstance(aggregation, ByModel):
        return [OWN]
    if not isinstance(aggregation, Shifting):
        return []
    requests = partitioned.asked["delta"]
    if not aggregation.acts(requests, partitioned.asked["importance"]).any():
        return []
    if aggregation.margin == 0:
        return [WARNING]
    exact = aggregation.exact(requests, partitioned.asked["importance"]) & ~np.isnan(
        partitioned.X
    )
    few = list(_iter_narrow_margin_notes(partitioned, aggregation, requests, exact))
    return [NOTE if exact.any() and not few else ASKED, *few]


def _find_steps(
    partitioned: PartitionedTable, shifting: Shifting, distances: Floats
) -> Floats:
    """Return the rounding step (d,) of attributes with exact distances, else 0."""
    X = partitioned.X
    exact = shifting.exact(distances, partitioned.asked["importance"]) & ~np.isnan(X)
    steps = np.zeros(distances.shape[1])
    if shifting.margin is None:
        spread = partitioned.scale.spread
        for j in np.flatnonzero(exact.any(axis=0)):
            steps[j] = find_step_in_deviations(
                select_present(X[:, j]), float(spread[j])
            )
    return steps


def _iter_narrow_margin_notes(
    partitioned: PartitionedTable, shifting: Shifting, distances: Floats, exact: Bool
) -> Iterator[str]:
    """Yield the text of a warning on each attribute with too narrow margins."""
    spread = partitioned.scale.spread
    steps = _find_steps(partitioned, shifting, distances)
    for j, name in enumerate(partitioned.names):
        if spread[j] == 0 or not exact[:, j].any():
            continue
        label = get_column(partitioned.labels_of_numbers, j)
        wide = compute_margin_widths(
            label, distances[:, j], shifting.margin, float(steps[j])
        )
        narrowest = float(wide[label[exact[:, j]]].min())
        step = find_step_in_deviations(
            select_present(partitioned.X[:, j]), float(spread[j]), narrowest
        )
        spans = narrowest / step + ROUNDING
        if spans < ENOUGH:
            yield _describe_narrow_margin(name, int(spans) + 1)


def _describe_narrow_margin(name: str, count: int) -> str:
    """Return the text of a warning: margins span at most `count` values."""
    values = "possible value" if count == 1 else "possible values"
    return (
        f"WARNING: {name!r}: the secret margin spans at most {count} {values}. Where a "
        "wish decides, who subtracts distances from a published value has at most "
        f"{count} on either side of it, one of them an original, and may be left with "
        "that one alone. Set a wider margin under [aggregation], or aggregate by the "
        "mean."
    )
