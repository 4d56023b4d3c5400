"""Compare releases by their published files only, without private keys."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import reduce
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow as pa

from aggopt.core.plural import plural
from aggopt.core.types import Labels
from aggopt.data.readers.read import read_release_as_text
from aggopt.job import Job
from aggopt.pipeline.review.compare_with_keys import (
    collect_figures,
    read_manifest_job,
    read_manifests,
)
from aggopt.pipeline.review.comparison import ReleaseFigures, find_best, name_releases
from aggopt.release.audit.counts import Count, combine_codes, encode_entries


@dataclass(frozen=True)
class PublicComparison:
    """Counts that any reader of the files of several releases can make.

    Attributes
    ----------
    figures
        Figures of each release that need no original.
    by
        Columns that all publish unchanged; they link the records.
    records
        How many records each release has.
    joined
        Number of people with one record in every release that these columns identify.
    together
        The groups that these have in common; None if no records are linked.  Other
        records may be in these groups, too, unless all are joined.
    k
        The smallest that a release was made with.
    """

    figures: tuple[ReleaseFigures, ...]
    by: tuple[str, ...]
    records: tuple[int, ...]
    joined: int
    together: Count | None
    k: int

    @property
    def complete(self) -> bool:
        """Whether every record is linked to one record in each other release."""
        return set(self.records) == {self.joined}

    @property
    def holds(self) -> bool:
        """Whether k or more records are known to share each common group."""
        together = self.together
        return self.complete and together is not None and together.rarest >= self.k

    @property
    def best(self) -> dict[str, list[str]]:
        """The files with the best value of each figure, if not all are equal."""
        return find_best(self.figures)

    @property
    def verdict(self) -> str:
        """The text on whether k-anonymity of all releases together is known."""
        releases = name_releases(self.figures)
        if self.complete and self.together is not None:
            verb = "leaves" if self.holds else "DOES NOT LEAVE"
            return (
                f"Publishing {releases} {verb} k = {self.k}, and anybody can "
                "count it: what they publish as it is puts all their records together. "
                f"The smallest group in common is of "
                f"{plural(self.together.rarest, 'record')}."
            )
        columns = ", ".join(map(repr, self.by))
        beginning = f"By {columns}, which all publish as they are, " if self.by else ""
        return (
            f"Without private keys it is NOT KNOWN whether publishing {releases} "
            f"leaves k = {self.k}: each holds what its own smallest group says, and "
            "the groups that they have in common cannot be counted. "
            f"{beginning}{plural(self.joined, 'person', 'people')} of "
            f"{' and '.join(map(str, self.records))} records can be put together by "
            "anybody."
        )

    @property
    def notes(self) -> list[str]:
        """Texts of notes on the people whose records can be linked."""
        together = self.together
        if together is None or self.complete:
            return []
        return [
            f"Of these, {together.rare} are in groups in common with fewer than "
            f"{self.k} "
            "of them; records that nobody can put together may be there, too."
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return the comparison as plain values, ready for JSON."""
        return {
            "releases": [asdict(figure) for figure in self.figures],
            "by": list(self.by),
            "records": list(self.records),
            "joined": self.joined,
            "together": None if self.together is None else asdict(self.together),
            "k": self.k,
            "complete": self.complete,
            "holds": self.holds,
            "best": self.best,
            "notes": self.notes,
        }


def compare_published(
    tables: Sequence[Path], manifests: Sequence[Path]
) -> PublicComparison:
    """Return the counts of common groups that released files alone permit.

    Records belong to one person if the columns that all publish unchanged have equal
    entries, which occur once in each release.

    Raises
    ------
    JobError, TableError
        As `aggopt.pipeline.review.compare_with_keys`.
    """
    stated = read_manifests(tables, manifests)
    jobs = [read_manifest_job(manifest["job"]) for manifest in stated]
    pairs = list(zip(tables, jobs, strict=True))
    frames = [
        read_release_as_text(table, job.released_input, job.roles)
        for table, job in pairs
    ]
    figures = tuple(
        collect_figures(table, manifest, None)
        for table, manifest in zip(tables, stated, strict=True)
    )
    by, people = _find_people(frames, jobs)
    k = min(job.privacy.k for job in jobs)
    joined = _join_people(people)
    count = None
    if joined.size:
        groups = [
            _select_joined(frame, job, person_codes, joined)
            for frame, job, person_codes in zip(frames, jobs, people, strict=True)
        ]
        names = dict.fromkeys(n for job in jobs for n in job.combination)
        count = Count.of(tuple(names), combine_codes(groups), k)
    records = tuple(len(frame) for frame in frames)
    return PublicComparison(figures, by, records, len(joined), count, k)


def _find_people(
    frames: Sequence[pa.Table], jobs: Sequence[Job]
) -> tuple[tuple[str, ...], list[Labels]]:
    """Return the columns that link records, and the person of each record.

    These are numbers from 0 on, alike in all releases.
    """
    plain = [job.roles.as_they_are for job in jobs]
    alike = [{(field.name, field.type) for field in frame.schema} for frame in frames]
    shared = {name for name, _ in set.intersection(*alike)}.intersection(*plain)
    by = tuple(name for name in frames[0].column_names if name in shared)
    if not by:
        return by, [np.full(len(frame), 0) for frame in frames]
    wholes = (
        pa.chunked_array([frame[name].combine_chunks() for frame in frames])
        for name in by
    )
    series = (nw.from_native(identifiers, series_only=True) for identifiers in wholes)
    ends = np.cumsum([len(frame) for frame in frames])
    return by, np.split(combine_codes(map(encode_entries, series)), ends[:-1])


def _join_people(people: Sequence[Labels]) -> Labels:
    """Return the people with exactly one record in each release."""
    counted = (np.unique(codes, return_counts=True) for codes in people)
    once = [who[times == 1] for who, times in counted]
    return reduce(np.intersect1d, once)


def _select_joined(frame: pa.Table, job: Job, people: Labels, joined: Labels) -> Labels:
    """Return the published combination of each linked person, as a number."""
    table = nw.from_native(frame)
    codes = combine_codes(encode_entries(table[name]) for name in job.combination)
    rows = np.intersect1d(people, joined, return_indices=True)[1]
    return np.unique(codes[rows], return_inverse=True)[1]
