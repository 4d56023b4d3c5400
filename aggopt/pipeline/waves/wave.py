"""A later wave and earlier releases: records of one person, and changed values."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from aggopt.core.types import Bool, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.data.parsing.parse_text import MISSING
from aggopt.errors import TableError
from aggopt.job import Job, Roles
from aggopt.release.audit.changes import (
    NOT_THERE,
    Changes,
    Few,
    WaveChanges,
    count_changes,
)
from aggopt.release.files.staging import compute_sha256
from aggopt.release.manifest import find_entry, read_manifest_or_none
from aggopt.solvers import Certificate

ALL = "all earlier releases together"  # their name in messages
NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")  # no code as 007 is


@dataclass(frozen=True, eq=False)
class View:
    """Sums that an earlier release and a later wave both publish, of their groups.

    Attributes
    ----------
    first : (m,)
        The group of each person whose value is in a sum of the earlier release;
        NOT_THERE of the others.
    there : (n,)
        Whether the value of a record is in a sum of the wave.
    changed : (n, f)
        Whether an attribute has another value, of records in both.
    k
        Fewest persons that a difference of sums may have.
    units : (m,)
        The unit of each person in the earlier release, if k counts units.
    """

    first: Labels = field(repr=False)
    there: Bool = field(repr=False)
    changed: Bool = field(repr=False)
    k: int
    units: Labels | None = field(default=None, repr=False)


@dataclass(frozen=True, eq=False)
class EarlierRelease:
    """One earlier release, compared to the records of a later wave.

    Attributes
    ----------
    name
        Its name in messages.
    first : (m,)
        The group of each person of any earlier release; NOT_THERE if this one has no
        record of the person.
    changed : (n, f)
        Whether an attribute of `names` has another value than in this release.
    k
        The k that the release was made with.
    lacking
        Which persons (m,) and which records (n,) have no value, by attribute whose
        missing values are filled.
    units : (m,)
        The unit of each person in this release, if k counts units.
    """

    name: str
    first: Labels = field(repr=False)
    changed: Bool = field(repr=False)
    names: tuple[str, ...]
    k: int
    lacking: Mapping[str, tuple[Bool, Bool]] = field(default_factory=dict, repr=False)
    units: Labels | None = field(default=None, repr=False)

    def of_rows(self, is_kept: Bool) -> "EarlierRelease":
        """Return the earlier release compared with the kept records (n,) only."""
        lacking = {
            name: (one, is_lacking[is_kept])
            for name, (one, is_lacking) in self.lacking.items()
        }
        return replace(self, changed=self.changed[is_kept], lacking=lacking)

    def views(self, row: Labels) -> Iterator[View]:
        """Yield the sums that both waves publish: of all, and by filled attribute.

        `row` (n,) is the person of each record.
        """
        is_present = np.ones(len(row), bool)
        yield View(self.first, is_present, self.changed, self.k, self.units)
        for name, (one, is_lacking) in self.lacking.items():
            first = np.where(one, NOT_THERE, self.first)
            both = ~is_lacking & (find_first_groups(first, row) != NOT_THERE)
            changed = self.changed[:, [self.names.index(name)]] & both[:, None]
            yield View(first, ~is_lacking, changed, self.k, self.units)


@dataclass(frozen=True, eq=False)
class Wave:
    """The records of a table, and the earlier releases of the same persons.

    Attributes
    ----------
    releases
        The earlier releases, the oldest first.  The wave keeps groups of the last one.
    row : (n,)
        The person of each record, 0..m-1; NOT_THERE if no earlier table has the person.
    units : (m + n,)
        The unit of each person in the last earlier table that has the person, and of
        each record, if k counts units.
    """

    releases: tuple[EarlierRelease, ...]
    row: Labels = field(repr=False)
    units: Labels | None = field(default=None, repr=False)

    @property
    def k(self) -> int:
        """The largest k of the earlier releases."""
        return max(release.k for release in self.releases)

    @cached_property
    def together(self) -> EarlierRelease | None:
        """All earlier releases as one, by the common group of each person.

        None if there is one release, or if fewer than the smallest k of them share a
        common group already: no later wave mends this.
        """
        if len(self.releases) == 1 or self._shows_few(self.releases):
            return None
        joint, k = _join_releases(self.releases)
        none = np.zeros((len(self.row), 0), bool)
        units = None if self.units is None else self.units[: len(joint)]
        return EarlierRelease(ALL, joint, none, (), k, units=units)

    @property
    def broken_before(self) -> tuple[str, ...]:
        """Names of earlier releases with common groups of fewer than k."""
        pairs = combinations(self.releases, 2)
        broken = next(filter(self._shows_few, (*pairs, self.releases)), ())
        return tuple(release.name for release in broken)

    def _shows_few(self, releases: Sequence[EarlierRelease]) -> bool:
        """Whether a common group of these releases has fewer than k persons."""
        if len(releases) == 1:
            return False
        joint, k = _join_releases(releases)
        is_present = joint != NOT_THERE
        units = None if self.units is None else self.units[: len(joint)][is_present]
        return Few.of(joint[is_present], k, units).few > 0

    @property
    def views(self) -> list[View]:
        """The sums published by each earlier release, or all of them, and the wave."""
        every = [*self.releases, *([self.together] if self.together else [])]
        return [view for release in every for view in release.views(self.row)]

    @cached_property
    def parts(self) -> Labels:
        """The earlier group that each record (n,) stays in; NOT_THERE if new.

        They are groups of the last release.  Persons that only older releases have move
        with those of their common group.  NOT_THERE of new persons.
        """
        last = self.releases[-1].first
        joint = join_groups([release.first for release in self.releases])
        older = np.where(joint == NOT_THERE, NOT_THERE, joint + int(last.max()) + 1)
        return find_first_groups(np.where(last == NOT_THERE, older, last), self.row)

    @property
    def is_kept_group(self) -> Bool:
        """Mask (n,) of records with a group in the last release."""
        first_groups = find_first_groups(self.releases[-1].first, self.row)
        return np.asarray(first_groups != NOT_THERE)

    @property
    def gone(self) -> Labels:
        """Persons of the earlier tables that are not in the table."""
        left = np.ones(len(self.releases[-1].first), bool)
        left[self.row[self.row != NOT_THERE]] = False
        return np.flatnonzero(left)

    def of_rows(self, is_kept: Bool) -> "Wave":
        """Return the wave of the kept records (n,) only."""
        m = len(self.releases[-1].first)
        units = self.units
        if units is not None:
            units = np.concatenate([units[:m], units[m:][is_kept]])
        releases = tuple(release.of_rows(is_kept) for release in self.releases)
        return Wave(releases, self.row[is_kept], units)

    def changes(self, second: Labels) -> Changes:
        """Return the counts of changes that groups (n,) show with earlier releases.

        Its `others` are the counts for each older release, and for all together.
        """
        *older, last = self.releases
        if self.together is not None:
            older.append(self.together)
        others = {
            release.name: self._count_changes(release, second) for release in older
        }
        return replace(self._count_changes(last, second), others=others)

    def _count_changes(self, release: EarlierRelease, second: Labels) -> Changes:
        """Return the counts of changes that groups (n,) show with one release."""
        gone = self.gone
        m = len(release.first)
        first = find_first_groups(release.first, self.row)
        first = np.concatenate([first, release.first[gone]])
        later = np.concatenate([second, np.full(len(gone), NOT_THERE)])
        none = np.zeros((len(gone), len(release.names)), bool)
        units = self.units
        if units is not None and release.units is not None:
            units = np.concatenate([units[m:], release.units[gone]])
        changed = np.concatenate([release.changed, none])
        is_known = self.row != NOT_THERE
        lacking = {}
        for name, (one, is_lacking) in release.lacking.items():
            before = np.where(is_known, one[self.row], False)
            lacking[name] = (
                np.concatenate([before, one[gone]]),
                np.concatenate([is_lacking, np.ones(len(gone), bool)]),
            )
        return count_changes(
            first, later, changed, release.names, release.k, units, lacking
        )


def find_first_groups(first: Labels, row: Labels) -> Labels:
    """Return the earlier group of each record (n,), from those of persons (m,)."""
    return np.where(row == NOT_THERE, NOT_THERE, first[row])


def _join_releases(releases: Sequence[EarlierRelease]) -> tuple[Labels, int]:
    """Return the common group of each person (m,), and the smallest k of releases."""
    joint = join_groups([release.first for release in releases])
    return joint, min(release.k for release in releases)


def join_groups(firsts: Sequence[Labels]) -> Labels:
    """Return the common group of each person (m,), by the groups in each release.

    NOT_THERE of persons that no release has.

    >>> join_groups([np.array([0, 0, 1, -1]), np.array([0, 0, -1, -1])]).tolist()
    [0, 0, 1, -1]
    """
    if len(firsts) == 1:
        return firsts[0]
    stacked = np.stack(firsts)
    is_present = (stacked != NOT_THERE).any(axis=0)
    joined = np.full(stacked.shape[1], NOT_THERE)
    if is_present.any():
        group_of_person = np.unique(
            stacked[:, is_present], axis=1, return_inverse=True
        )[1]
        joined[is_present] = group_of_person.ravel()
    return joined


@dataclass(frozen=True, eq=False)
class LaterWave:
    """A wave, the records that are `kept` (all where None), and where parts are placed.

    `wave` is of the kept records alone.
    """

    wave: Wave
    kept: Bool | None = field(default=None, repr=False)
    certificate: Certificate | None = None

    def counted(self, labels: Labels, strata: RecordStrata | None) -> WaveChanges:
        """Return the changes that groups (n,) show, with the records held back.

        The records are those that small strata leave, if these are dropped.
        """
        second = labels
        if strata is not None and strata.is_released is not None:
            second = np.full(len(strata.is_released), NOT_THERE)
            second[strata.is_released] = labels
        count = 0 if self.kept is None else int((~self.kept).sum())
        changes = self.wave.changes(second)
        before = self.wave.broken_before
        return WaveChanges(changes, count, self.kept, self.certificate, before)


def read_statement(key: Path) -> Any:
    """Return the content of the manifest next to a private key; None without one.

    A manifest that cannot be read states nothing.

    Raises
    ------
    TableError
        It describes another key.
    """
    name = f"{key.name.removesuffix('.private.csv')}.manifest.json"
    path = key.with_name(name)
    if not path.is_file():
        return None
    stated = read_manifest_or_none(path) or {}
    digest = find_entry(stated, "output", "key_sha256")
    if digest is not None and digest != compute_sha256(key):
        raise TableError(
            f"{key.name} is not the key that {name} describes.",
            fix="bring together the files of one and the same run.",
        )
    return stated


def find_k(stated: Any, groups: Labels) -> int:
    """Return the k of a release, from its manifest or its smallest group."""
    k = find_entry(stated, "job", "privacy", "k")
    if isinstance(k, int):
        return k
    return int(np.unique(groups[groups >= 0], return_counts=True)[1].min())


def find_influential(stated: Any, job: Job, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes that the values of both releases depend on.

    A weight or a request counts even if it is dropped: a group's mean shows its change.
    Of an earlier release without a manifest all columns of its table count.
    """
    roles = find_entry(stated, "job", "roles")
    earlier = columns
    if isinstance(roles, dict):
        earlier = (*Roles(**roles).published, *Roles(**roles).wish)
    names = job.influential
    return tuple(name for name in names if name in earlier and name in columns)


def is_filled(stated: Any) -> bool:
    """Whether a release may have imputed missing values, by its manifest."""
    return stated is None or find_entry(stated, "job", "missing", "policy") == "fill"


def find_lacking(
    before: pa.Table, after: Any, names: Sequence[str], filled: tuple[bool, bool]
) -> dict[str, tuple[Bool, Bool]]:
    """Return masks of records without a value in two tables, by attribute.

    A table without `filled` values has none.
    """
    lacking = {}
    for name in names:
        columns = (before[name].to_pylist(), after[name].to_list())
        one, other = (
            np.array([is_asked and _is_missing(entry) for entry in column], bool)
            for column, is_asked in zip(columns, filled, strict=True)
        )
        if one.any() or other.any():
            lacking[name] = (one, other)
    return lacking


def _is_missing(entry: Any) -> bool:
    """Whether an entry represents a missing value."""
    return _format_entry(entry).strip() in MISSING


def find_differing(
    before: Sequence[Any], after: Sequence[Any], decimal: str = "."
) -> Bool:
    """Return a mask (n,) of entries that differ as numbers, dates or texts.

    >>> find_differing(["1", "x", None, "2"], [1.0, "x", "", 3]).tolist()
    [False, False, False, True]
    """
    one, other = (_format_entries(entries) for entries in (before, after))
    differing = np.asarray(one != other)
    for i in np.flatnonzero(differing):
        differing[i] = _read_value(one[i], decimal) != _read_value(other[i], decimal)
    return differing


def _format_entries(entries: Sequence[Any]) -> Any:
    """Return entries as an array of texts."""
    return np.array([_format_entry(entry) for entry in entries], dtype=object)


def _format_entry(entry: Any) -> str:
    """Return an entry as text for a file; empty if missing."""
    if entry is None or entry is pd.NaT or entry is pd.NA or entry != entry:
        return ""
    if isinstance(entry, datetime):
        is_midnight = entry.time() == time()
        return (entry.date() if is_midnight else entry).isoformat()
    return entry.isoformat() if isinstance(entry, date) else str(entry)


def _read_value(text: str, decimal: str) -> Any:
    """Return the number, truth value or text that a text spells."""
    plain = text.strip()
    number = plain.replace(",", ".") if decimal == "," else plain
    if NUMBER.fullmatch(number):
        return Decimal(number)
    return plain.lower() if plain.lower() in ("true", "false") else plain


def find_changed(
    before: pa.Table,
    after: Any,
    rows: Labels,
    names: Sequence[str],
    decimal: str,
) -> Bool:
    """Return a mask (n, f) of attributes that changed; False for new records.

    `rows` (n,) are the records of `before` for those of the frame `after`.
    """
    shared_rows = np.flatnonzero(rows != NOT_THERE)
    is_changed = np.zeros((len(rows), len(names)), bool)
    for j, name in enumerate(names):
        old = before[name].take(pa.array(rows[shared_rows])).to_pylist()
        new = after[name].to_list()
        is_changed[shared_rows, j] = find_differing(
            old, [new[i] for i in shared_rows], decimal
        )
    return is_changed


def read_entries(frame: Any, names: Sequence[str]) -> Any:
    """Return the entries of each record in these columns as a tuple, (n,)."""
    entries = np.empty(len(frame), dtype=object)
    columns = [map(str, frame[name].to_list()) for name in names]
    entries[:] = list(zip(*columns, strict=True))
    return entries
