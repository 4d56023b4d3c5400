"""A later wave beside an earlier one: who is who, and whose values changed."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from aggopt.core.types import Bool, Labels
from aggopt.data.context.strata import RecordStrata
from aggopt.data.parsing.infer_text_type import MISSING
from aggopt.errors import TableError
from aggopt.job import Job
from aggopt.job.roles import Roles
from aggopt.release.audit.changes import (
    NOT_THERE,
    Changes,
    WaveChanges,
    changes_between,
)
from aggopt.release.files.staging import sha256_of_file
from aggopt.release.manifest import read_manifest_or_none
from aggopt.solvers import Certificate

NUMBER = re.compile(r"[+-]?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?")  # no code as 007 is


@dataclass(frozen=True, eq=False)
class Wave:
    """The records of a table, and those of the table of an earlier release.

    Attributes
    ----------
    first : (m,)
        The group of each earlier record; NOT_THERE if the earlier release left it out.
    row : (n,)
        The earlier record of the same person; NOT_THERE if there is none.
    changed : (n, f)
        Whether an attribute of `names` has another value than in the earlier record.
    k
        What the earlier release was made with.
    units : (m + n,)
        The unit of each earlier record and of each record, where k counts these.
    lacking
        Which earlier records (m,) and which records (n,) have no value, by attribute
        whose missing values are filled.
    """

    first: Labels = field(repr=False)
    row: Labels = field(repr=False)
    changed: Bool = field(repr=False)
    names: tuple[str, ...]
    k: int
    units: Labels | None = field(default=None, repr=False)
    lacking: Mapping[str, tuple[Bool, Bool]] = field(default_factory=dict, repr=False)

    @property
    def earlier(self) -> Labels:
        """The earlier group of each record (n,); NOT_THERE of new ones."""
        found = np.full(len(self.row), NOT_THERE)
        known = self.row != NOT_THERE
        found[known] = self.first[self.row[known]]
        return found

    @property
    def gone(self) -> Labels:
        """Which earlier records are of persons that the table does not have."""
        left = np.ones(len(self.first), bool)
        left[self.row[self.row != NOT_THERE]] = False
        return np.flatnonzero(left)

    def of_rows(self, kept: Bool) -> "Wave":
        """Return it without the records that are not kept (n,): they are gone."""
        m, units = len(self.first), self.units
        if units is not None:
            units = np.concatenate([units[:m], units[m:][kept]])
        row, changed = self.row[kept], self.changed[kept]
        lacking = {name: (one, own[kept]) for name, (one, own) in self.lacking.items()}
        return replace(self, row=row, changed=changed, units=units, lacking=lacking)

    def changes(self, second: Labels) -> Changes:
        """Return what the groups of the second release (n,) show beside the first."""
        gone, m = self.gone, len(self.first)
        first = np.concatenate([self.earlier, self.first[gone]])
        later = np.concatenate([second, np.full(len(gone), NOT_THERE)])
        none = np.zeros((len(gone), len(self.names)), bool)
        units = self.units
        if units is not None:
            units = np.concatenate([units[m:], units[gone]])
        changed = np.concatenate([self.changed, none])
        known = self.row != NOT_THERE
        lacking = {}
        for name, (one, own) in self.lacking.items():
            before = np.where(known, one[self.row], False)
            lacking[name] = (
                np.concatenate([before, one[gone]]),
                np.concatenate([own, np.ones(len(gone), bool)]),
            )
        return changes_between(
            first, later, changed, self.names, self.k, units, lacking
        )


@dataclass(frozen=True, eq=False)
class LaterWave:
    """A wave, the records that are `kept` (all where None), and where parts are placed.

    `wave` is of the kept records alone.
    """

    wave: Wave
    kept: Bool | None = field(default=None, repr=False)
    certificate: Certificate | None = None

    def counted(self, labels: Labels, strata: RecordStrata | None) -> WaveChanges:
        """Return what groups (n,) show beside the earlier ones.

        The records are those that small strata leave, if these are dropped.
        """
        second = labels
        if strata is not None and strata.kept is not None:
            second = np.full(len(strata.kept), NOT_THERE)
            second[strata.kept] = labels
        held = 0 if self.kept is None else int((~self.kept).sum())
        changes = self.wave.changes(second)
        return WaveChanges(changes, held, self.kept, self.certificate)


def manifest_beside(key: Path) -> Path | None:
    """Return the manifest that lies beside a private key; None if there is none.

    Raises
    ------
    TableError
        It describes another key.
    """
    name = f"{key.name.removesuffix('.private.csv')}.manifest.json"
    path = key.with_name(name)
    if not path.is_file():
        return None
    known = read_manifest_or_none(path, "output", "key_sha256")
    if known is not None and known != sha256_of_file(key):
        raise TableError(
            f"{key.name} is not the key that {name} describes.",
            fix="bring together the files of one and the same run.",
        )
    return path


def find_k(key: Path, groups: Labels) -> int:
    """Return the k of the release of a key: its manifest's, or its smallest group."""
    manifest = manifest_beside(key)
    k = (
        None
        if manifest is None
        else read_manifest_or_none(manifest, "job", "privacy", "k")
    )
    if isinstance(k, int):
        return k
    return int(np.unique(groups[groups >= 0], return_counts=True)[1].min())


def influential_in_both(key: Path, job: Job, columns: Sequence[str]) -> tuple[str, ...]:
    """Return the attributes that the published values of both releases depend on.

    A weight or a request counts even if it is dropped: a group's mean shows its change.
    Of an earlier release without a manifest all columns of its table count.
    """
    manifest = manifest_beside(key)
    roles = (
        None if manifest is None else read_manifest_or_none(manifest, "job", "roles")
    )
    earlier = columns
    if isinstance(roles, dict):
        earlier = (*Roles(**roles).published, *Roles(**roles).wish)
    names = job.influential
    return tuple(name for name in names if name in earlier and name in columns)


def is_filled(key: Path) -> bool:
    """Whether a key's release may have filled what was missing, by its manifest."""
    manifest = manifest_beside(key)
    if manifest is None:
        return True
    return bool(read_manifest_or_none(manifest, "job", "missing", "policy") == "fill")


def find_lacking(
    before: pa.Table, after: Any, names: Sequence[str], filled: tuple[bool, bool]
) -> dict[str, tuple[Bool, Bool]]:
    """Return who has no value in two tables, by attribute that either of them lacks.

    Nobody of a table of which what is missing is not `filled`.
    """
    found = {}
    for name in names:
        columns = (before[name].to_pylist(), after[name].to_list())
        one, other = (
            np.array([is_asked and _is_missing(entry) for entry in column], bool)
            for column, is_asked in zip(columns, filled, strict=True)
        )
        if one.any() or other.any():
            found[name] = (one, other)
    return found


def _is_missing(entry: Any) -> bool:
    return _text(entry).strip() in MISSING


def find_differing(
    before: Sequence[Any], after: Sequence[Any], decimal: str = "."
) -> Bool:
    """Return which entries differ, (n,): by their numbers, dates or texts, exactly.

    >>> find_differing(["1", "x", None, "2"], [1.0, "x", "", 3]).tolist()
    [False, False, False, True]
    """
    one, other = (_texts(entries) for entries in (before, after))
    found = np.asarray(one != other)
    for i in np.flatnonzero(found):
        found[i] = _value(one[i], decimal) != _value(other[i], decimal)
    return found


def _texts(entries: Sequence[Any]) -> Any:
    return np.array([_text(entry) for entry in entries], dtype=object)


def _text(entry: Any) -> str:
    """Return an entry as a file would have it; what is missing is empty."""
    if entry is None or entry is pd.NaT or entry is pd.NA or entry != entry:
        return ""
    if isinstance(entry, datetime):
        whole = entry.time() == time()
        return (entry.date() if whole else entry).isoformat()
    return entry.isoformat() if isinstance(entry, date) else str(entry)


def _value(text: str, decimal: str) -> Any:
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
    """Return whether each attribute of `names` changed, (n, f); False of new records.

    `rows` (n,) are the records of `before` for those of the frame `after`.
    """
    known = np.flatnonzero(rows != NOT_THERE)
    found = np.zeros((len(rows), len(names)), bool)
    for j, name in enumerate(names):
        old = before[name].take(pa.array(rows[known])).to_pylist()
        new = after[name].to_list()
        found[known, j] = find_differing(old, [new[i] for i in known], decimal)
    return found
