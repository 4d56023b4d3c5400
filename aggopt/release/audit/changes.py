"""Counts of few records in two releases with common groups: new, gone and changed.

Counted of the groups themselves, in whole numbers, by nothing that made them.  If all
hold, no sum of values that can be had from both releases, by adding and subtracting
the published values of their groups, is of fewer than k records (docs/waves.md).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from aggopt.core.plural import plural
from aggopt.core.types import Bool, Labels
from aggopt.errors import PrivacyError
from aggopt.solvers import Certificate

NOT_THERE = -1  # the group of a record that a release does not have


@dataclass(frozen=True)
class Few:
    """How many records share a group, or a set of groups, with those of their kind.

    Attributes
    ----------
    groups
        How many groups have any.
    rarest
        The smallest count; 0 without records.
    few, records
        How many groups have fewer than k, and how many records these are.
    total
        How many records there are of this kind.
    """

    groups: int
    rarest: int
    few: int
    records: int
    total: int

    @classmethod
    def of(cls, labels: Labels, k: int, units: Labels | None) -> "Few":
        """Return the count of records by label (n,); of `units` (n,), where given."""
        if units is not None and labels.size:
            labels = np.unique(np.stack([labels, units]), axis=1)[0]
        sizes = np.unique(labels, return_counts=True)[1]
        small = sizes[sizes < k]
        smallest = int(sizes.min()) if sizes.size else 0
        return cls(len(sizes), smallest, len(small), int(small.sum()), len(labels))


@dataclass(frozen=True)
class Changes:
    """Counts of two releases, the first and the second.

    Attributes
    ----------
    k
        Lower limit of each count that is not 0.
    common
        Records of a group of the first that are in one of the second.
    gone
        Records of a group of the first that the second does not have.
    new
        Records of a group of the second that the first does not have.
    changed
        Records whose value changed, by attribute, in groups that are connected: those
        of both releases that have records in common.
    what
        "record", or "unit" where these are counted.
    of_values
        Counts of the records that have a value, by attribute whose missing values are
        filled: a group publishes the value of these records.
    others
        The same for each older release, and for all of them together, by name.
    """

    k: int
    common: Few
    gone: Few
    new: Few
    changed: Mapping[str, Few]
    what: str = "record"
    of_values: Mapping[str, "Changes"] = field(default_factory=dict)
    others: Mapping[str, "Changes"] = field(default_factory=dict)

    @property
    def holds(self) -> bool:
        """Whether each count is 0, or k or more."""
        parts = (*self.of_values.values(), *self.others.values())
        return self.holds_of_records and all(part.holds for part in parts)

    @property
    def holds_of_records(self) -> bool:
        """Whether each count of records is, whichever values they lack."""
        return not any(few.few for _, few in self._each)

    @property
    def _each(self) -> Iterator[tuple[str, Few]]:
        """Yield each kind of change as text, with its count of small sets."""
        yield "stay in a group together", self.common
        yield "went from a group", self.gone
        yield "came to a group", self.new
        for name, few in self.changed.items():
            yield f"have another {name!r} in a group", few

    @property
    def _totals(self) -> str:
        """Return how many stayed, went and came, and how many changed each value."""
        changed = [
            f"{few.total} {'has' if few.total == 1 else 'have'} another {name!r}"
            for name, few in self.changed.items()
            if few.total
        ]
        *others, last = (
            f"{plural(self.common.total, self.what)} stayed",
            f"{self.gone.total} went",
            f"{self.new.total} came",
            *changed,
        )
        return f"{', '.join(others)} and {last}"

    @property
    def verdict(self) -> str:
        """Return the counts and the violated requirements as text."""
        if self.holds:
            return (
                f"{self._totals}: none or at least k = {self.k} of each in every "
                f"group.{''.join(self._held_elsewhere)}"
            )
        return f"{self._totals}. {' '.join(self.broken)}"

    @property
    def broken(self) -> Iterator[str]:
        """Yield a sentence for each count that does not hold."""
        for what, few in self._each:
            if few.few:
                yield (
                    f"Fewer than k = {self.k} {what}: {plural(few.few, 'group')}, "
                    f"{plural(few.records, self.what)}, the fewest {few.rarest}."
                )
        for name, of_value in self.of_values.items():
            for sentence in of_value.broken:
                yield f"Counting only records with a value of {name!r}: {sentence}"
        for name, other in self.others.items():
            for sentence in other.broken:
                yield f"Compared to {name}: {sentence}"

    @property
    def _held_elsewhere(self) -> Iterator[str]:
        """Yield the text of the k that holds compared to each earlier release."""
        for name, other in self.others.items():
            yield f" Compared to {name}, this holds for k = {other.k}."

    def require(self, fix: str) -> None:
        """Refuse if a count does not hold; `fix` is the remedy.

        Raises
        ------
        PrivacyError
            The message has the counts, and no value.
        """
        if not self.holds:
            raise PrivacyError(
                "Together with the earlier release this one would show values of fewer "
                f"than k = {self.k}. {self._totals}. {' '.join(self.broken)}",
                fix=fix,
            )

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {**asdict(self), "holds": self.holds}


@dataclass(frozen=True, eq=False)
class WaveChanges:
    """Changes between a release and an earlier one whose groups it uses.

    Attributes
    ----------
    changes
        Counts of the values that are written.
    held
        How many records of the table are held back.
    kept
        Which records of the table are released; None if all are.  Private.
    certificate
        How good the places of new records and of groups with few changes are; None if
        no record was to be placed.
    broken_before
        The names of earlier releases that show values of fewer than k without this one.
    """

    changes: Changes
    held: int
    kept: Bool | None = field(default=None, repr=False)
    certificate: Certificate | None = None
    broken_before: tuple[str, ...] = ()

    @property
    def note(self) -> str:
        """Return the counts as text."""
        holders = plural(self.held, "record")
        are = "is" if self.held == 1 else "are"
        left = (
            f" {holders} {are} held back, and not in the release." if self.held else ""
        )
        before = ""
        if self.broken_before:
            before = (
                f" The earlier releases {' and '.join(self.broken_before)} together "
                "show values of fewer than k already, and no later wave mends this: "
                "aggopt compare counts them."
            )
        return f"Compared to the earlier release: {self.changes.verdict}{left}{before}"

    def to_dict(self) -> dict[str, Any]:
        """Return counts, ready for JSON."""
        proof = self.certificate
        return {
            "changes": self.changes.to_dict(),
            "held_back": self.held,
            "certificate": None if proof is None else proof.to_dict(),
        }


def count_changes(
    first: Labels,
    second: Labels,
    changed: Bool,
    names: Sequence[str],
    k: int,
    units: Labels | None = None,
    lacking: Mapping[str, tuple[Bool, Bool]] | None = None,
) -> Changes:
    """Return the counts of two releases.

    Parameters
    ----------
    first, second : (n,)
        The group of each person in each release; NOT_THERE of one it does not have.
    changed : (n, f)
        Whether an attribute of `names` has another value in the second.
    units : (n,)
        Units to count in place of records.
    lacking
        Who has no value (n,) in the first and in the second release, by attribute whose
        missing values are filled.
    """
    one = first != NOT_THERE
    other = second != NOT_THERE

    def few(rows: Bool, labels: Labels) -> Few:
        return Few.of(labels[rows], k, None if units is None else units[rows])

    both = one & other
    sets = np.full(len(first), NOT_THERE)
    sets[both] = find_connected_groups(first[both], second[both])
    of_changed = {name: few(both & changed[:, j], sets) for j, name in enumerate(names)}
    of_values = {}
    for name, (in_first, in_second) in (lacking or {}).items():
        j = list(names).index(name)
        of_values[name] = count_changes(
            np.where(in_first, NOT_THERE, first),
            np.where(in_second, NOT_THERE, second),
            changed[:, [j]],
            (name,),
            k,
            units,
        )
    pairs = first * (int(second.max(initial=0)) + 2) + second
    return Changes(
        k,
        few(both, pairs),
        few(one & ~other, first),
        few(other & ~one, second),
        of_changed,
        "record" if units is None else "unit",
        of_values,
    )


def find_connected_groups(first: Labels, second: Labels) -> Labels:
    """Return which connected groups each record (n,) is in.

    A group of the first and one of the second are connected if a record is in both.

    >>> find_connected_groups(np.array([0, 0, 1, 2]), np.array([5, 6, 6, 7])).tolist()
    [0, 0, 0, 1]
    """
    if not first.size:
        return first
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    _, rows = np.unique(first, return_inverse=True)
    _, columns = np.unique(second, return_inverse=True)
    m = int(rows.max()) + 1
    size = m + int(columns.max()) + 1
    graph = coo_array((np.ones(len(rows)), (rows, m + columns)), (size, size))
    parts = connected_components(graph, directed=False)[1]
    return np.asarray(parts[rows], dtype=np.intp)
