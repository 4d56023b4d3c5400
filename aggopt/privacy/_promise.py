"""What is promised of one confidential attribute, and whether groups keep it."""

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from aggopt.core.types import I64, Bool
from aggopt.core.validation import Floats
from aggopt.errors import JobError
from aggopt.privacy._distance import Distance, starts_of
from aggopt.privacy._diversity import Counts, factor_of


@dataclass(frozen=True)
class Kept:
    """What groups keep of a promise.

    Attributes
    ----------
    attribute, promise
        Whose values, and what was promised of them: "distinct l", "entropy l",
        "recursive (3.0, l)", "t (ordered)", ...; with the number of levels, and of
        the distinct values behind them, where l counts levels.
    asked, found
        What was promised, and what the worst group has.
    holds
        Decided in whole numbers, before `found` was rounded.
    groups, broken
        How many groups there are, and how many do not keep the promise.
    worst
        Records in the worst group; in the smallest of several.
    trivial
        Whether the attribute has one value only, so that t holds and says nothing.
    """

    attribute: str
    promise: str
    asked: float
    found: float
    holds: bool
    groups: int
    broken: int
    worst: int
    trivial: bool = False

    def __str__(self) -> str:
        """Say it with counts; no value of a record."""
        sign = "<=" if self.promise.startswith("t ") else ">="
        says = "holds" if self.holds else "DOES NOT HOLD"
        if self.trivial:
            return (
                f"{self.promise} {sign} {self.asked:g} {says} trivially for "
                f"{self.attribute!r}: it has one value only, known of everybody."
            )
        return (
            f"{self.promise} {sign} {self.asked:g} {says} for {self.attribute!r}: the "
            f"worst group, of {self.worst} records, has {self.found:.6g}"
            + ("." if self.holds else f"; {self.broken} of {self.groups} groups fail.")
        )


@dataclass(frozen=True, eq=False)
class Promise:
    """Of one confidential attribute, diversity of its codes (n,) or closeness.

    Either `distance` and `t` are given, or `least` and `diversity`, with `c` if that is
    recursive.  If the codes are levels, `values` says of how many distinct values.
    """

    attribute: str
    codes: I64 = field(repr=False)
    distance: Distance | None = field(default=None, repr=False)
    kind: str = "ordered"
    t: float | None = None
    diversity: str = "distinct"
    least: int = 1
    c: float | None = None
    values: int | None = None

    def kept(self, labels: npt.NDArray[Any]) -> Kept:
        """Return what the groups of labels (n,) keep of the promise."""
        sizes = np.bincount(labels)
        records = np.argsort(labels, kind="stable")
        broken = self.broken(records, starts_of(sizes))
        found = self._found(records, starts_of(sizes))
        extreme = found.max() if self.distance else found.min()
        exact = self.distance.largest(labels) if self.distance else extreme
        return Kept(
            attribute=self.attribute,
            promise=self._name,
            asked=float(self.least if self.t is None else self.t),
            found=float(exact),
            holds=not broken.any(),
            groups=len(sizes),
            broken=int(broken.sum()),
            worst=int(sizes[found == extreme].min()),
            trivial=self.distance is not None and self.distance.unit == 0,
        )

    def broken(self, records: I64, starts: I64) -> Bool:
        """Whether each group breaks the promise, (groups,), decided exactly.

        Group g is records[starts[g]:starts[g + 1]]; a record may be in several.
        """
        if self.distance is None:
            return np.asarray(self._found(records, starts) < self.least)
        return np.asarray(self._numerators(records, starts) > self._limits(starts))

    def short(self, records: I64, starts: I64) -> Floats:
        """Return how far each group is from keeping the promise, 0 if it keeps it."""
        found, sizes = self._found(records, starts), np.diff(starts)
        if self.distance is None:
            return np.asarray(np.maximum(0.0, 1 - found / self.least))
        over = np.maximum(found - float(self.t or 0), 1 / (1 + sizes * len(records)))
        return np.where(self.broken(records, starts), over, 0.0)

    @property
    def _name(self) -> str:
        if self.distance is not None:
            return f"t ({self.kind})"
        kind = self.diversity + (" l" if self.c is None else f" ({self.c:g}, l)")
        if self.values is None:
            return kind
        levels = int(self.codes.max()) + 1
        return f"{kind} of {levels} level{'s'[: levels - 1]} of {self.values} values"

    @property
    def _apart(self) -> Distance:
        if self.distance is None:
            raise JobError("t is promised, but no distance.", fix="pass one.")
        return self.distance

    @cached_property
    def _allowed(self) -> I64:
        return self._apart.limits(self.t or Fraction(0))

    def _limits(self, starts: I64) -> I64:
        return np.asarray(self._allowed[np.diff(starts)])

    def _numerators(self, records: I64, starts: I64) -> I64:
        group = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        places = self._apart.place[records]
        return self._apart.runs(places[np.lexsort((places, group))], starts)

    def _found(self, records: I64, starts: I64) -> Floats:
        sizes = np.diff(starts)
        if self.distance is not None:
            unit = max(self.distance.unit, 1)
            return np.asarray(self._numerators(records, starts) / (float(unit) * sizes))
        group = np.repeat(np.arange(len(sizes)), sizes)
        counts = Counts.of(group, self.codes[records])
        if self.diversity == "recursive":
            return counts.recursive(factor_of(self.c)).astype(float)
        chosen = counts.entropy if self.diversity == "entropy" else counts.distinct
        return np.asarray(chosen, dtype=float)
