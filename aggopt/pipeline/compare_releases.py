"""Several releases of one table, and the groups that they have in common."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow.csv

from aggopt.core.regular import require_regular
from aggopt.core.types import Bool
from aggopt.core.validation import Labels
from aggopt.errors import JobError, TableError
from aggopt.input.files import as_released
from aggopt.input.units import members_of
from aggopt.job import Job
from aggopt.measure.utility import Utility
from aggopt.output.counts import Count, codes_of, together
from aggopt.output.places import Files
from aggopt.pipeline.reassess import places_by, tables_of
from aggopt.pipeline.releases_compared import Figures, ReleasesCompared
from aggopt.pipeline.usefulness import usefulness

SECTIONS = ("job", "input", "audit", "certificates")  # of a manifest, that are read


def compare_releases(
    tables: Sequence[Path], original: Path, manifests: Sequence[Path]
) -> ReleasesCompared:
    """Return releases of one table side by side, and the groups they have in common.

    A manifest goes with the table in its place, and the private key of the release
    stands beside the manifest.  Groups are records that are published alike in all
    quasi-identifiers of the release, as the audit counts them; of units, these.

    Raises
    ------
    JobError
        There are not two tables or more, and as many manifests.
    TableError
        A file cannot be used, or is not what its manifest describes; or releases are of
        different tables.
    """
    if len(tables) < 2 or len(tables) != len(manifests):
        raise JobError(
            f"There are {len(tables)} releases and {len(manifests)} manifests.",
            fix="name two releases or more, and the manifest of each in their order: "
            "aggopt compare a.csv b.csv --original people.csv --manifests "
            "a.manifest.json b.manifest.json.",
        )
    stated = [_manifest(path) for path in manifests]
    _require_one_table(tables, stated)
    jobs = [_job(each["job"]) for each in stated]
    frames, groups, figures = [], [], []
    for table, manifest, job, own in zip(tables, manifests, jobs, stated, strict=True):
        frame = nw.from_native(as_released(table, job.input, job.roles))
        frames.append(frame)
        groups.append(_groups(frame, job, original, _files(table, manifest)))
        figures.append(_figures(table, own, usefulness(original, table, job)))
    k = min(job.privacy.k for job in jobs)
    names = dict.fromkeys(n for job in jobs for n in job.roles.combination)
    labels, common = together(_in_common(groups)), _in_two(groups)
    counts = [
        Count.of(tuple(names), labels, k, None if each is None else each[common])
        for each in _units(original, tables, jobs)
    ]
    whole = min(counts, key=lambda count: count.rarest)
    return ReleasesCompared(tuple(figures), whole, k, _keys(frames, jobs))


def _job(stated: dict[str, Any]) -> Job:
    """Return of the job in a manifest what tables are read and counted by."""
    sections = ("roles", "strata", "attributes", "missing", "input", "output")
    own = {name: stated[name] for name in sections if name in stated}
    own["privacy"] = {name: stated["privacy"][name] for name in ("k", "scope")}
    return Job(**own)


def _manifest(path: Path) -> dict[str, Any]:
    """Return what a manifest states, or refuse what is none."""
    if path.exists():
        require_regular(path)
    try:
        found = json.loads(path.read_bytes())
        whole = all(isinstance(found[name], dict) for name in SECTIONS)
        whole &= {"k", "scope"} <= found["job"]["privacy"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        whole = False
    if not whole:
        raise TableError(
            f"{path} is not the manifest of a release, or cannot be read.",
            fix="name the NAME.manifest.json that aggopt mask wrote.",
        )
    return dict(found)


def _require_one_table(
    tables: Sequence[Path], stated: Sequence[dict[str, Any]]
) -> None:
    """Refuse releases of different tables: their records are not the same people."""
    for key in ("sha256", "records"):
        seen = {each["input"].get(key) for each in stated}
        if len(seen) > 1:
            files = ", ".join(table.name for table in tables)
            raise TableError(
                f"{files} are releases of different tables, by their manifests.",
                fix="compare releases that were made from one and the same file.",
            )


def _files(table: Path, manifest: Path) -> Files:
    name = f"{manifest.name.removesuffix('.manifest.json')}.private.csv"
    return Files(table, manifest, manifest.with_name(name))


def _groups(frame: nw.DataFrame[Any], job: Job, original: Path, files: Files) -> Labels:
    """Return the published combination of each record of the original, (n,).

    -1 of records that the release leaves out.
    """
    names = job.roles.combination
    gone = [name for name in names if name not in frame.columns]
    if gone:
        raise TableError(
            f"{files.table.name} lacks {', '.join(map(repr, gone))}, which its "
            "manifest says it has.",
            fix="bring together the files of one and the same run.",
        )
    place = places_by(original, files, len(frame))
    codes = together(codes_of(frame[name]) for name in names)
    there = pyarrow.csv.read_csv(files.private)["released_record"].is_valid()
    found = np.full(len(there), -1)
    found[there.to_numpy()] = codes[place]
    return found


def _in_common(groups: Sequence[Labels]) -> list[Labels]:
    """Return the groups of records that two releases have, or more, each from 0 on.

    Of what is known of a record it is a part that a release leaves it out.
    """
    common = _in_two(groups)
    if not common.any():
        raise TableError(
            "No record is in two of the releases.",
            fix="publish them: they have no group in common.",
        )
    return [np.unique(each[common], return_inverse=True)[1] for each in groups]


def _in_two(groups: Sequence[Labels]) -> Bool:
    """Whether two releases or more have each record, (n,)."""
    found: Bool = np.sum([each >= 0 for each in groups], axis=0) > 1
    return found


def _units(
    original: Path, tables: Sequence[Path], jobs: Sequence[Job]
) -> list[Labels | None]:
    """Return the unit of each record (n,), of each different role; None of none."""
    named = {job.roles.unit: (t, job) for t, job in zip(tables, jobs, strict=True)}
    return [
        members_of(tables_of(original, table, job)[0]) for table, job in named.values()
    ]


def _figures(table: Path, stated: dict[str, Any], found: Utility) -> Figures:
    measures = stated.get("measures") or {}
    proofs = [*stated["certificates"].values()]
    proofs += [part["certificate"] for part in stated["partition"]]
    gaps = [proof["gap"] for proof in proofs]
    return Figures(
        file=table.name,
        k=stated["job"]["privacy"]["k"],
        smallest=stated["audit"]["smallest"],
        il=measures.get("il"),
        linkage=measures.get("linkage"),
        pmse_ratio=None if found.propensity is None else found.propensity.ratio,
        pmse_tree=found.tree,
        gap=None if None in gaps else max(gaps, default=None),
    )


def _keys(frames: Sequence[nw.DataFrame[Any]], jobs: Sequence[Job]) -> tuple[str, ...]:
    """Return columns that all publish as they are and that tell all records apart."""
    plain = [{*job.roles.confidential, *job.roles.other} for job in jobs]
    common = [n for n in frames[0].columns if all(n in names for names in plain)]
    n = len(frames[0])
    codes = {name: codes_of(frames[0][name]) for name in common}
    return tuple(name for name in common if 1 < n == codes[name].max() + 1)
