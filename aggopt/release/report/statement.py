"""Entries of a manifest, and the facts of a report that it states."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any

from aggopt.core.types import Labels
from aggopt.core.validation import is_number
from aggopt.data.table import Table
from aggopt.errors import JobError
from aggopt.job import Job
from aggopt.measure.criteria import Criteria
from aggopt.release.audit.audit import Audit
from aggopt.release.manifest import PROMISE_COST, find_entry, read_manifest_or_none
from aggopt.release.report.facts import BY_JOB, Facts, Private
from aggopt.solvers import Certificate, Status
from aggopt.solvers.certificate import Claim

MEASURED = (
    *("n", "il", "safety", "sdid", "sdid_chance"),
    *("dld", "linkage", "linkage_limit", "linkage_chance"),
)  # parts of the report on measures
MEASURED_BY_ATTRIBUTE = ("il", "sdid", "sdid_chance")


@dataclass(frozen=True, eq=False)
class Statement:
    """The entries of a manifest, checked as they are read: a file may be edited.

    Attributes
    ----------
    name
        Name of the file, for errors.
    entries
        Contents of the file; anything but a mapping states nothing.
    """

    name: str
    entries: Any = field(repr=False)

    @classmethod
    def of_file(cls, manifest: Path) -> "Statement":
        """Return the entries of a manifest; none if it cannot be read."""
        return cls(manifest.name, read_manifest_or_none(manifest))

    def error(self, key: str) -> JobError:
        """Return what refuses a manifest that states something else under a key."""
        return JobError(
            f"{self.name} states no {key} that a release writes: it may have been "
            "edited.",
            fix="bring the manifest as it was written with the release.",
        )

    def find(self, *keys: str) -> Any:
        """Return the value under these keys; None if it is missing."""
        return find_entry(self.entries, *keys)

    def entry(self, key: str, kind: type) -> Any:
        """Return an entry of this type, or refuse one that no release writes."""
        value = self.find(key)
        if not isinstance(value, kind):
            raise self.error(key)
        return value

    def count(self, *keys: str) -> int | None:
        """Return a count; None if it is missing."""
        count = self.find(*keys)
        if count is None:
            return None
        if type(count) is not int or count < 0:
            raise self.error(keys[0])
        return count

    def counts(self, *keys: str, inner_keys: tuple[str, ...] = ()) -> dict[str, int]:
        """Return the count of each attribute, under its name and the `inner_keys`."""
        names = self.find(*keys) or {}
        if not isinstance(names, Mapping):
            raise self.error(keys[0])
        return {name: self.count(*keys, name, *inner_keys) or 0 for name in names}

    def certificate(self, stated: Any) -> Certificate:
        """Return a certificate, or refuse an invalid one."""
        names = {entry_field.name for entry_field in fields(Certificate)}
        try:
            entries = {name: value for name, value in stated.items() if name in names}
            claim = entries.get("claimed")
            entries["claimed"] = None if claim is None else Claim(**claim)
            certificate = Certificate(**{**entries, "status": Status(stated["status"])})
        except (AttributeError, KeyError, TypeError, ValueError):
            raise self.error("certificates") from None
        figures = [certificate.objective, certificate.violation]
        figures += [] if certificate.bound is None else [certificate.bound]
        if not all(map(is_number, figures)):
            raise self.error("certificates")
        return certificate

    @cached_property
    def certificates(self) -> dict[str, Certificate]:
        """Certificates by name."""
        solved = self.entry("certificates", dict)
        return {name: self.certificate(stated) for name, stated in solved.items()}

    @property
    def groups(self) -> dict[str, Certificate]:
        """Certificates of groups, by the attributes that were grouped together."""
        return dict(map(self._of_groups, self.entry("partition", list)))

    def _of_groups(self, part: Any) -> tuple[str, Certificate]:
        """Return the attributes and the certificate of one partition of a manifest."""
        names = part.get("attributes") if isinstance(part, dict) else None
        if not isinstance(names, list) or not all(isinstance(n, str) for n in names):
            raise self.error("partition")
        return ", ".join(names), self.certificate(part.get("certificate"))

    @property
    def measures(self) -> dict[str, Any] | None:
        """The measures, as `Assessment.to_dict` has them; None without any."""
        if self.find("measures") is None:
            return None
        measures: dict[str, Any] = self.entry("measures", dict)
        figures: list[Any] = [measures.get(name) for name in MEASURED]
        attributes = measures.get("attributes", {})
        if not isinstance(attributes, dict):
            raise self.error("measures")
        for value in attributes.values():
            if not isinstance(value, dict) or type(value.get("varies")) is not bool:
                raise self.error("measures")
            figures += [value.get(name) for name in MEASURED_BY_ATTRIBUTE]
        if not all(is_number(value) and isfinite(value) for value in figures):
            raise self.error("measures")
        return measures

    @property
    def promise_costs(self) -> tuple[str, ...]:
        """The notes on what requirements cost in groups, at least and here."""
        notes = map(str, self.find("notes") or ())
        return tuple(note for note in notes if note.endswith(PROMISE_COST))

    @property
    def criteria(self) -> Criteria | None:
        """Singling out, linkability and inference; None if they were not measured."""
        if self.find("criteria") is None:
            return None
        try:
            return Criteria.from_dict(self.entry("criteria", dict))
        except JobError:
            raise self.error("criteria") from None


def make_facts(
    statement: Statement,
    *,
    title: str,
    released: Table,
    original: Table | None,
    job: Job,
    audit: Audit,
    measures: Mapping[str, Any] | None,
    certificates: Mapping[str, Certificate],
    groups: Mapping[str, Certificate],
    promised_by: str = BY_JOB,
    **more: Any,
) -> Facts:
    """Return the facts of a report: counts, and the entries of a manifest.

    The manifest states which values are filled in, suppressed, unchanged or rare, since
    the release does not show it.  `more` are facts that some releases have: see
    `Facts`.
    """
    return Facts(
        title=title,
        released=released,
        original=original,
        job=job,
        audit=audit,
        measures=measures,
        certificates=certificates,
        groups=groups,
        made=(statement.entry("made", str)[:10], statement.find("versions", "aggopt")),
        promised_by=promised_by,
        unchanged=statement.count("audit", "unchanged", "records"),
        filled=statement.counts("audit", "missing", "imputed_in"),
        suppressed=statement.counts("audit", "missing", "suppressed_in"),
        rare=statement.counts("audit", "rare", inner_keys=("categories",)),
        promise_costs=statement.promise_costs,
        criteria=statement.criteria,
        **more,
    )


def make_private_facts(stated: Statement, rows: Labels | None, seed: str) -> Private:
    """Return the private facts of a release that has these rows.

    `seed` is that of the order, in words.
    """
    source = {key: stated.find("input", key) for key in ("file", "sha256")}
    sources = {
        "file that was masked": source["file"] or "none: a table in memory",
        "its SHA-256": source["sha256"] or "none",
        "seed of the order": seed,
    }
    notes = tuple(stated.find("notes") or ())
    return Private(notes, {name: str(value) for name, value in sources.items()}, rows)
