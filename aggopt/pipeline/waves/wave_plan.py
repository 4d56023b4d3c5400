"""Which records of a later wave are held back, and where the others go.

Nothing here is trusted: `aggopt.release.audit.changes` counts what comes of it.
"""

from dataclasses import replace
from typing import cast

import numpy as np
import numpy.typing as npt

from aggopt.core.deadline import Deadline
from aggopt.core.group_sums import plain_group_means
from aggopt.core.types import Bool, Labels
from aggopt.job._earlier import EarlierGroups
from aggopt.models import wave_groups
from aggopt.partition._optimal.restricted_ip import EXACTLY
from aggopt.partition._shared.scaling import scale_records
from aggopt.pipeline.waves.wave import Wave
from aggopt.release.audit.changes import NOT_THERE
from aggopt.solvers import Certificate, Status, choose
from aggopt.solvers._ask import MISSED, hard_limited

MODEL = wave_groups.MODEL
TIME_LIMIT = 60.0  # seconds, where the job names none
LARGEST = 1_000_000  # variables that a solver is asked for


def choose_kept_records(wave: Wave, changes: str) -> Bool:
    """Return which records of a wave (n,) can be published, "hold back" or "merge".

    The members of a group of whom fewer than k went, or stay, and in all fewer than k
    new records or changed values of an attribute, cannot be mended by other groups.
    With "hold back" groups get no other members at all.
    """
    earlier, kept = wave.earlier, np.ones(len(wave.row), bool)
    if changes == "hold back":
        kept[earlier == NOT_THERE] = False
    gone = np.bincount(
        wave.first[wave.gone][wave.first[wave.gone] >= 0],
        minlength=int(wave.first.max()) + 1,
    )
    by_group = _rows_by(earlier)
    for group, rows in by_group.items():
        few = np.zeros(len(wave.names), bool)
        while True:
            if changes == "hold back":
                few |= _few(wave.changed[rows[kept[rows]]].sum(axis=0), wave.k)
            before = int(kept[rows].sum())
            _hold_back(wave, rows, few, int(gone[group]), kept)
            if int(kept[rows].sum()) == before:
                break
    while changes == "merge":
        few = _few(wave.changed[kept].sum(axis=0), wave.k)
        new = kept & (earlier == NOT_THERE)
        if _few(new.sum(), wave.k):
            kept[new] = False
        elif not few.any():
            break
        for group, rows in by_group.items():
            if wave.changed[rows[kept[rows]]][:, few].any():
                _hold_back(wave, rows, few, int(gone[group]), kept)
    return kept


def _few(counts: npt.ArrayLike, k: int) -> Bool:
    return np.asarray((np.asarray(counts) > 0) & (np.asarray(counts) < k))


def _rows_by(earlier: Labels) -> dict[int, Labels]:
    """Return the records of each earlier group."""
    order = np.argsort(earlier, kind="stable")
    groups, starts = np.unique(earlier[order], return_index=True)
    parts = np.split(order, starts[1:])
    return {
        int(group): part
        for group, part in zip(groups, parts, strict=True)
        if group != NOT_THERE
    }


def _hold_back(wave: Wave, rows: Labels, few: Bool, gone: int, kept: Bool) -> None:
    """Hold back of a group's records those that changed in `few` attributes.

    So many more that none or k went; all if fewer than k would be left.
    """
    kept[rows[wave.changed[rows][:, few].any(axis=1)]] = False
    went = gone + int((~kept[rows]).sum())
    if 0 < went < wave.k:
        here = rows[kept[rows]]
        by_change = here[np.argsort(wave.changed[here].sum(axis=1), kind="stable")]
        kept[by_change[: wave.k - went]] = False
    if kept[rows].sum() < wave.k:
        kept[rows] = False


def place_records(
    wave: Wave, records: npt.ArrayLike, how: EarlierGroups
) -> tuple[Labels, Certificate | None]:
    """Return the group of each record (n,), and how good the places of parts are.

    New records join by k, and groups with few changes others, at the least loss.  The
    certificate is None where nothing was to be placed.
    """
    part, data = _data(wave, scale_records(records))
    if not data.moving.any():
        return part, None
    clock = Deadline(None)
    best = wave_groups.merged_by_turns(data)
    if best is None:  # parts that stay were in the way; if all move, none is
        data = replace(data, moving=np.ones(len(data.s), bool))
        best = cast(Labels, wave_groups.merged_by_turns(data))
    if data.moving.sum() * len(data.s) > LARGEST:
        loss = float((data.s * ((data.c - data.c[best]) ** 2).sum(axis=1)).sum())
        by, spent = "merging by turns", clock.spent
        return best[part], Certificate(Status.HEURISTIC, loss, None, 0.0, by, spent)
    solver = choose(how.solver, *MODEL.kinds)
    limit = TIME_LIMIT if how.time_limit is None else how.time_limit
    exactly = EXACTLY.get(solver.native.lower())
    found = hard_limited(MODEL, data, solver, limit, exactly)
    status, bound = found.status, found.bound
    if found.reading is not None and _better(data, found.reading, best):
        best = found.reading
    elif not status.usable or status is Status.OPTIMAL:
        status = Status.UNPROVEN
    at = wave_groups.point(data, best)
    loss = wave_groups.objective(data, at)
    missed = MODEL.violation(data, at)
    proven = None if bound is None else min(max(bound, 0.0), loss)
    proof = Certificate(status, loss, proven, missed, solver.name, clock.spent)
    return best[part], proof


def _better(data: wave_groups.Data, reading: Labels, best: Labels) -> bool:
    """Whether what a solver found is feasible, and loses no more than what is known."""
    at, other = (wave_groups.point(data, places) for places in (reading, best))
    if MODEL.violation(data, at) > MISSED:
        return False
    return wave_groups.objective(data, at) <= wave_groups.objective(data, other)


def _data(wave: Wave, Z: npt.NDArray[np.float64]) -> tuple[Labels, wave_groups.Data]:
    """Return the part of each record (n,), and the model's data of the parts."""
    earlier = wave.earlier
    new = earlier == NOT_THERE
    apart = np.where(new, np.arange(len(earlier)) + int(wave.first.max()) + 1, earlier)
    part = np.unique(apart, return_inverse=True)[1]
    sizes = np.bincount(part)
    kinds = np.column_stack([new, wave.changed])
    counts = np.zeros((len(sizes), kinds.shape[1]), np.int64)
    np.add.at(counts, part, kinds)
    moving = _few(counts, wave.k).any(axis=1)
    data = wave_groups.Data(
        plain_group_means(Z, part), sizes, counts, wave.k, np.asarray(moving)
    )
    return part, data
