"""Cuts of the pair program with their multipliers."""

from dataclasses import dataclass

import numpy as np

from aggopt.algorithms.pair_bound import row_kernels as rows
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats, Labels

IDLE = 1e-7  # a cut with a smaller multiplier is dropped


@dataclass(eq=False)
class CutPool:
    """Cuts with their multipliers, one array a family."""

    cuts: rows.Cuts
    counts: Floats
    caps: Floats
    triangles: Floats
    common: Floats
    sizes: Floats
    promises: Floats
    promise_sides: Floats

    @classmethod
    def start(cls, counted: I32, classes: I32) -> "CutPool":
        """Return the cuts of the start: counts of some records, without multipliers."""
        none = np.zeros(0, np.int32)
        zero = np.zeros(1, np.int64)
        cuts = rows.Cuts(
            counted,
            np.zeros((0, 2), np.int32),
            np.zeros((0, 3), np.int32),
            np.zeros((0, 2), np.int32),
            none,
            zero,
            none,
            none,
            zero,
            none,
            classes,
            none,
            none,
            np.zeros(0),
            zero,
            np.zeros(0),
        )
        return cls(cuts, np.zeros(len(counted)), *(np.zeros(0) for _ in range(6)))

    @property
    def multipliers(self) -> Floats:
        """Multipliers of all cuts, in the order of the rows."""
        return np.concatenate(
            [
                self.counts,
                self.caps,
                self.triangles,
                self.common,
                self.sizes,
                self.promises,
            ]
        )

    @property
    def apexes(self) -> I32:
        """A record of each cut, for its scale."""
        return np.concatenate(
            [
                self.cuts.counted,
                self.cuts.caps[:, 0],
                self.cuts.triangles[:, 0],
                self.cuts.ends[:, 0],
                self.cuts.member[self.cuts.set_start[:-1]],
                self.cuts.apex,
            ]
        )

    def sides(self, k: int) -> Floats:
        """Sides of all cuts."""
        sets = -k * (np.diff(self.cuts.set_start) // k).astype(np.float64)
        zeros = len(self.multipliers) - len(sets) - len(self.promises)
        return np.concatenate([np.zeros(zeros), sets, self.promise_sides])

    def set_multipliers(self, values: Floats) -> None:
        """Set the multipliers of all cuts."""
        families = self.counts, self.caps, self.triangles, self.common, self.sizes
        parts = np.split(values, np.cumsum([len(family) for family in families]))
        self.counts, self.caps, *others = (part.copy() for part in parts)
        self.triangles, self.common, self.sizes, self.promises = others

    def drop_idle(self, *, is_fixed: bool) -> None:
        """Drop cuts with multiplier 0; only caps and triangles if `is_fixed`."""
        cuts = self.cuts
        p, t = (np.flatnonzero(v > IDLE) for v in (self.caps, self.triangles))
        least = -1.0 if is_fixed else IDLE
        c, u = (np.flatnonzero(v > least) for v in (self.common, self.sizes))
        end_start, ends = _take_lists(cuts.end_start, c)
        set_start, members = _take_lists(cuts.set_start, u)
        f = np.flatnonzero(self.promises > IDLE)
        level_start, levels = _take_lists(cuts.level_start, f)
        self.cuts = rows.Cuts(
            cuts.counted,
            cuts.caps[p],
            cuts.triangles[t],
            cuts.ends[c],
            cuts.itself[c],
            end_start,
            cuts.end_record[ends],
            cuts.end_side[ends],
            set_start,
            cuts.member[members],
            cuts.classes,
            cuts.apex[f],
            cuts.promise[f],
            cuts.own[f],
            level_start,
            cuts.levels[levels],
        )
        self.promises, self.promise_sides = self.promises[f], self.promise_sides[f]
        self.caps, self.triangles = self.caps[p], self.triangles[t]
        self.common, self.sizes = self.common[c], self.sizes[u]


def _take_lists(start: I64, chosen: Labels) -> tuple[I64, Labels]:
    """Return beginnings and entries of the chosen lists, among those of all lists."""
    lengths = np.diff(start)[chosen]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    return begin, np.arange(begin[-1]) + np.repeat(start[chosen] - begin[:-1], lengths)
