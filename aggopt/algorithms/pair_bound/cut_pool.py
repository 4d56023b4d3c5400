"""Cuts of the pair program with their multipliers."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from aggopt.algorithms.pair_bound import certificate_kernels as certificate
from aggopt.algorithms.pair_bound import row_kernels as rows
from aggopt.algorithms.pair_bound.requirements import PromisedRows
from aggopt.core.types import I32, I64
from aggopt.core.validation import Floats, Labels

MERGING = 1e-11  # more than the rounding of a merged row takes off its side
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
        threshold = -1.0 if is_fixed else IDLE
        c, u = (np.flatnonzero(v > threshold) for v in (self.common, self.sizes))
        end_start, ends = _take_lists(cuts.end_start, c)
        set_start, members = _take_lists(cuts.set_start, u)
        f = np.flatnonzero(self.promises > threshold)
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

    def add_triangles(self, triangles: I32) -> I64:
        """Add triangles (t, 3) of an apex and two others; return the new ones."""
        old = self.cuts.triangles.astype(np.int64)
        new = triangles.astype(np.int64)
        n = self.cuts.classes.shape[1]
        codes = [(t[:, 0] * n + t[:, 1]) * n + t[:, 2] for t in (old, new)]
        new = new[~np.isin(codes[1], codes[0])]
        both = np.concatenate([self.cuts.triangles, new.astype(np.int32)])
        self.cuts = self.cuts._replace(triangles=both)
        self.triangles = np.concatenate([self.triangles, np.zeros(len(new))])
        return new

    def add_caps(self, pairs: I32) -> int:
        """Add caps of pairs (p, 2) by their first records; return how many are new."""
        n = self.cuts.classes.shape[1]
        old, codes = (
            caps[:, 0].astype(np.int64) * n + caps[:, 1]
            for caps in (self.cuts.caps, pairs)
        )
        pairs = pairs[~np.isin(codes, old)]
        self.cuts = self.cuts._replace(caps=np.concatenate([self.cuts.caps, pairs]))
        self.caps = np.concatenate([self.caps, np.zeros(len(pairs))])
        return len(pairs)

    def add_common(
        self, ends: I32, itself: I32, start: I64, record: I32, side: I32
    ) -> None:
        """Add cuts of the common neighbours of pairs `ends` (c, 2).

        Cut c has the neighbours record[start[c] : start[c + 1]], each at a side.
        """
        cuts = self.cuts
        self.cuts = cuts._replace(
            ends=np.concatenate([cuts.ends, ends]),
            itself=np.concatenate([cuts.itself, itself]),
            end_start=np.concatenate([cuts.end_start, cuts.end_start[-1] + start[1:]]),
            end_record=np.concatenate([cuts.end_record, record]),
            end_side=np.concatenate([cuts.end_side, side]),
        )
        self.common = np.concatenate([self.common, np.zeros(len(ends))])

    def add_sets(self, sets: Sequence[I32]) -> None:
        """Add the cut of each set of records: only some groups fit in it."""
        cuts = self.cuts
        ends = np.cumsum([len(members) for members in sets], dtype=np.int64)
        self.cuts = cuts._replace(
            set_start=np.concatenate([cuts.set_start, cuts.set_start[-1] + ends]),
            member=np.concatenate([cuts.member, *sets]),
        )
        self.sizes = np.concatenate([self.sizes, np.zeros(len(sets))])

    def add_promised(self, number: int, new: PromisedRows) -> None:
        """Add rows of the requirement with this number."""
        cuts = self.cuts
        count = len(new.apex)
        begin = cuts.level_start[-1] + new.levels.shape[1] * np.arange(1, count + 1)
        self.cuts = cuts._replace(
            apex=np.concatenate([cuts.apex, new.apex]).astype(np.int32),
            promise=np.concatenate([cuts.promise, np.full(count, number)]).astype(
                np.int32
            ),
            own=np.concatenate([cuts.own, new.own]),
            level_start=np.concatenate([cuts.level_start, begin]),
            levels=np.concatenate([cuts.levels, new.levels.ravel()]),
        )
        self.promises = np.concatenate([self.promises, np.zeros(count)])
        self.promise_sides = np.concatenate([self.promise_sides, new.sides])

    def merge_promised(self, number: int) -> None:
        """Merge all earlier rows of one requirement and one record into a single row.

        A sum of rows times shares is a row that holds as they do.  With the sum of
        their multipliers it proves as much.
        """
        cuts = self.cuts
        rows_of = np.flatnonzero(cuts.promise == number)
        rows_of = rows_of[np.argsort(cuts.apex[rows_of], kind="stable")]
        apex = cuts.apex[rows_of]
        is_old = np.diff(apex, append=-1) == 0  # rows are listed by age
        old = rows_of[is_old]
        if not len(old):
            return
        first = np.flatnonzero(np.diff(apex[is_old], prepend=-1))
        totals = np.add.reduceat(self.promises[old], first)
        shares = self.promises[old] / np.repeat(totals, np.diff(first, append=len(old)))
        start = cuts.level_start[old, None]
        level = np.arange(cuts.level_start[old[0] + 1] - start[0, 0])
        at = start[first] + level
        levels = cuts.levels.copy()
        levels[at] = np.add.reduceat(shares[:, None] * levels[start + level], first)
        own, sides = cuts.own.copy(), self.promise_sides.copy()
        merged = old[first]
        own[merged] = np.add.reduceat(shares * own[old], first)
        sides[merged] = np.add.reduceat(shares * sides[old], first) - MERGING
        self.promises[merged] = totals
        kept = np.setdiff1d(np.arange(len(cuts.apex)), np.delete(old, first))
        level_start, taken = _take_lists(cuts.level_start, kept)
        self.cuts = cuts._replace(
            apex=cuts.apex[kept],
            promise=cuts.promise[kept],
            own=own[kept],
            level_start=level_start,
            levels=levels[taken],
        )
        self.promises, self.promise_sides = self.promises[kept], sides[kept]

    def make_charges(self, masses: Floats) -> certificate.Charges:
        """Return the cuts with a multiplier, by record; `masses` (n,) are weights."""
        n = len(masses)
        cuts = self.cuts
        live_cuts = np.flatnonzero(self.common > 0)
        ends = cuts.ends[live_cuts].ravel()
        cut_start, cut = _sort_by_record(ends, np.repeat(live_cuts, 2), n)
        of = np.repeat(np.arange(len(self.sizes)), np.diff(cuts.set_start))
        is_live = self.sizes[of] > 0
        set_start, sets = _sort_by_record(cuts.member[is_live], of[is_live], n)
        counts = np.zeros(n)
        counts[cuts.counted] = self.counts
        highest = np.zeros(len(cuts.apex))
        if len(highest):
            highest = np.maximum.reduceat(cuts.levels, cuts.level_start[:-1])
        of_rows = self.promises * np.maximum(highest, 0.0)
        cut_totals = counts + np.bincount(cuts.apex, of_rows, n)
        cut_totals += np.bincount(ends, np.repeat(self.common[live_cuts], 2), n)
        live_members, live_sets = cuts.member[is_live], of[is_live]
        cut_totals += masses * np.bincount(live_members, self.sizes[live_sets], n)
        row_start, promised = _sort_by_record(cuts.apex, np.arange(len(cuts.apex)), n)
        return certificate.Charges(
            cut_start,
            cut,
            set_start,
            sets,
            self.common,
            self.sizes,
            counts,
            row_start,
            promised,
            self.promises,
            cut_totals,
        )


def _take_lists(start: I64, chosen: Labels) -> tuple[I64, Labels]:
    """Return beginnings and entries of the chosen lists, among those of all lists."""
    lengths = np.diff(start)[chosen]
    begin = np.concatenate([[0], np.cumsum(lengths)])
    return begin, np.arange(begin[-1]) + np.repeat(start[chosen] - begin[:-1], lengths)


def _sort_by_record(records: I32 | Labels, of: Labels, n: int) -> tuple[I64, I32]:
    """Return the beginnings of each record's entries (n + 1,), and the entries."""
    order = np.argsort(records, kind="stable")
    start = np.searchsorted(records[order], np.arange(n + 1)).astype(np.int64)
    return start, of[order].astype(np.int32)
