"""The program that a job's wishes make: its distances, with the secret margins."""

import numpy as np

from aggopt.aggregate._aggregation import column
from aggopt.aggregate._margin import margins
from aggopt.arrays import Floats
from aggopt.errors import InfeasibleInputError, naming
from aggopt.grouped import Grouped
from aggopt.job import P3m, Shifting
from aggopt.models import p3m
from aggopt.models._shift import FARTHEST
from aggopt.scale import Scale

NOTE = (
    "Each group and attribute was asked to keep more than the distance asked, by a "
    "secret margin, so that no published value points at an original; the certificates "
    "are of the program with these margins, and what is satisfied is counted by the "
    "distance asked."
)
WARNING = (
    "margin = 0: wherever a wish decides, the published value lies exactly at the "
    "distance asked from an original. Who tries distances on the published values "
    "finds such originals to the last digit. Leave margin out to hide them."
)


def program(given: Grouped, delta: Floats | None = None) -> dict[str, Floats]:
    """Return what the aggregation is to be asked (n, d) each; nothing if none shifts.

    `delta` (n, d) stands in for the job's own distances.  The margins come from the
    secret of the release, and are the same share of their width whatever the delta.

    Raises
    ------
    InfeasibleInputError
        Demands within a group agree as they are, and not with a margin.
    """
    how = given.job.aggregation
    if not isinstance(how, Shifting):
        return {}
    asked = given.asked["delta"] if delta is None else delta
    added = margins(given.labels, asked, how.margin, given.secret)
    if not isinstance(how, P3m):
        added = np.where(asked > 0, added, 0.0)  # 0 asks for nothing there
    wider = np.minimum(asked + added, np.maximum(asked, FARTHEST))
    if isinstance(how, P3m) and how.margin != 0:
        _require_agreement(given, asked, wider)
    return {"delta": wider, "importance": given.asked["importance"]}


def notes(given: Grouped) -> list[str]:
    """Return what is to be said of margins."""
    how = given.job.aggregation
    if not isinstance(how, Shifting):
        return []
    if not (isinstance(how, P3m) or given.asked["delta"].any()):
        return []
    return [WARNING if how.margin == 0 else NOTE]


def _require_agreement(given: Grouped, asked: Floats, wider: Floats) -> None:
    scale, importance = Scale.of(given.X), given.asked["importance"]
    Z = scale.standardise(given.X)
    for j, name in enumerate(given.job.roles.quasi_identifier):
        insisted = importance[:, j]
        if scale.constant[j] or not (insisted == 1).any():
            continue
        x, label = Z[:, j], column(given.labels, j)
        with naming(repr(name)):
            try:
                p3m.Data(x, label, wider[:, j], insisted, 0.5)
                continue
            except InfeasibleInputError:
                p3m.Data(x, label, asked[:, j], insisted, 0.5)
            raise InfeasibleInputError(
                "Demands (importance 1) within a group agree on one published value, "
                "below some of them and above others: with a margin beyond each "
                "distance they do not, and without one that value gives the originals "
                "away.",
                fix="lower the importance of some of their records below 1, group "
                "those with the same demands together, or, if that is acceptable, "
                "set margin = 0 under [aggregation].",
            )
