"""Several releases of the same people, and the groups that they have in common."""

import json
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
import pyarrow.csv

from aggopt.core.plural import plural
from aggopt.core.regular_files import require_regular
from aggopt.core.types import Bool, Labels
from aggopt.data.context.units import read_units
from aggopt.data.readers.read import read_release_as_text
from aggopt.errors import JobError, TableError
from aggopt.job import Job
from aggopt.measure.utility import Utility
from aggopt.pipeline.review.comparison import (
    PairOfWaves,
    ReleaseComparison,
    ReleaseFigures,
)
from aggopt.pipeline.review.release_checks import require_one_table
from aggopt.pipeline.review.review_release import (
    find_places_by_key,
    read_original_and_release,
)
from aggopt.pipeline.review.utility import measure_utility
from aggopt.pipeline.waves.linked_tables import LinkedTables
from aggopt.release.audit.changes import count_changes
from aggopt.release.audit.counts import Count, combine_codes, encode_entries
from aggopt.release.files.output_paths import ReleaseFiles

SECTIONS = ("job", "input", "audit", "certificates")  # of a manifest, that are read


def compare_releases(
    tables: Sequence[Path],
    original: Path | Sequence[Path],
    manifests: Sequence[Path],
    *,
    person: str | None = None,
) -> ReleaseComparison:
    """Return figures of several releases of the same people, and common groups.

    Manifests are in the order of the tables, and each private key is next to its
    manifest.  Groups are records that are published alike in all quasi-identifiers of
    the release, as the audit counts them; of units, these. `original` is the table that
    all were made from; or the table of each, with an identifier `person` that all of
    them have.

    Raises
    ------
    JobError
        There are not two releases or more, and as many manifests; or several tables and
        no person, or one and a person; or as `LinkedTables`.
    TableError
        A file cannot be used, or is not what its manifest describes; or releases are of
        different tables, and these are not named.
    """
    stated = read_manifests(tables, manifests)
    originals = _list_originals(original, tables, person)
    jobs = [read_manifest_job(manifest["job"]) for manifest in stated]
    waves = None if person is None else LinkedTables(originals, person, jobs)
    if waves is None:
        require_one_table(tables, stated)
    frames = []
    groups = []
    figures = []
    each_of = zip(tables, originals, manifests, jobs, stated, strict=True)
    for table, before, path, job, manifest in each_of:
        input_section = job.released_input
        frame = nw.from_native(read_release_as_text(table, input_section, job.roles))
        frames.append(frame)
        groups.append(_read_groups(frame, job, before, _find_files(table, path)))
        use = measure_utility(before, table, job, private=path.parent)
        figures.append(collect_figures(table, manifest, use))
    units: list[Labels | None] = [None]
    if waves is None:
        units = _read_unit_roles(originals, tables, jobs)
    else:
        groups = waves.united(groups)
        units = [waves.units(*range(len(jobs)))]
    k = min(job.privacy.k for job in jobs)
    is_released = _find_released(groups)
    every: Bool = np.all([labels >= 0 for labels in groups], axis=0)
    partly = int(is_released.sum() - every.sum())
    all_counts = _count_groups(groups, is_released, jobs, units)
    common = (
        _count_groups(groups, every, jobs, units) if partly and every.any() else None
    )
    keys = _find_keys(frames, jobs) if waves is None else ()
    changes = () if waves is None else _count_changes(waves, groups, jobs, tables, k)
    return ReleaseComparison(
        tuple(figures), all_counts, k, keys, partly, common, changes
    )


def _count_changes(
    waves: LinkedTables,
    groups: Sequence[Labels],
    jobs: Sequence[Job],
    tables: Sequence[Path],
    k: int,
) -> tuple[PairOfWaves, ...]:
    """Return the changes of values between each two waves, by groups of people (p,)."""
    result = []
    for i, j in combinations(range(len(jobs)), 2):
        names, changed = waves.changed(i, j, jobs)
        lacking = waves.lacking(i, j, jobs, names)
        both = count_changes(
            groups[i], groups[j], changed, names, k, waves.units(i, j), lacking
        )
        result.append(PairOfWaves((tables[i].name, tables[j].name), both))
    return tuple(result)


def _count_groups(
    groups: Sequence[Labels],
    rows: Bool,
    jobs: Sequence[Job],
    units: Sequence[Labels | None],
) -> Count:
    """Return the sizes of the groups that records share in all releases.

    The absence of a record from a release is knowledge, too: subtracting the records of
    another release leaves it.
    """
    k = min(job.privacy.k for job in jobs)
    names = dict.fromkeys(n for job in jobs for n in job.combination)
    parts = [np.unique(unit[rows], return_inverse=True)[1] for unit in groups]
    labels = combine_codes(parts)
    counts = []
    for unit in units:
        units_of_rows = None if unit is None else unit[rows]
        counts.append(Count.of(tuple(names), labels, k, units_of_rows))
    return min(counts, key=lambda count: count.rarest)


def read_manifests(
    tables: Sequence[Path], manifests: Sequence[Path]
) -> list[dict[str, Any]]:
    """Return the contents of the manifests of two or more releases.

    Raises
    ------
    TableError
        A release does not exist; checked before its manifest is read.
    """
    if len(tables) < 2 or len(tables) != len(manifests):
        raise JobError(
            f"{plural(len(tables), 'release')} and "
            f"{plural(len(manifests), 'manifest')} are named.",
            fix="name two releases or more, and the manifest of each in their order: "
            "aggopt compare a.csv b.csv --original people.csv --manifests "
            "a.manifest.json b.manifest.json.",
        )
    for table in tables:
        if not table.exists():
            raise TableError(
                f"{table} is not there.",
                fix="name the released file that aggopt mask wrote.",
            )
    return [_read_manifest(path) for path in manifests]


def _list_originals(
    original: Path | Sequence[Path], tables: Sequence[Path], person: str | None
) -> list[Path]:
    """Return the path of each release's original table."""
    originals = [original] if isinstance(original, Path) else list(original)
    if len(originals) == 1 and person is None:
        return originals * len(tables)
    if len(originals) == 1 or len(originals) != len(tables) or person is None:
        who = "no person" if person is None else f"the person {person!r}"
        raise JobError(
            f"There are {plural(len(tables), 'release')} of "
            f"{plural(len(originals), 'table')}, and {who}.",
            fix="name the one table that all were made from, and no person; or the "
            "table of each, in their order, and the identifier that all tables have: "
            "--original a.csv --original b.csv --person NAME.",
        )
    return originals


def read_manifest_job(stated: dict[str, Any]) -> Job:
    """Return the job in a manifest, reduced to roles, types and k."""
    read = ("roles", "strata", "units", "weights", "attributes", "missing")
    sections = (*read, "input", "output")
    sections_present = {name: stated[name] for name in sections if name in stated}
    keys = {name: stated["privacy"].get(name) for name in ("k", "scope", "keys")}
    sections_present["privacy"] = {n: v for n, v in keys.items() if v is not None}
    return Job(**sections_present)


def _read_manifest(path: Path) -> dict[str, Any]:
    """Return the content of a manifest; refuse another file."""
    if path.exists():
        require_regular(path)
    try:
        content = json.loads(path.read_bytes())
        is_manifest = all(isinstance(content[name], dict) for name in SECTIONS)
        is_manifest &= {"k", "scope"} <= content["job"]["privacy"].keys()
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        is_manifest = False
    if not is_manifest:
        raise TableError(
            f"{path} is not the manifest of a release, or cannot be read.",
            fix="name releases, with the NAME.manifest.json that aggopt mask wrote "
            "beside each; aggopt assess compares a release with its original.",
        )
    return dict(content)


def _find_files(table: Path, manifest: Path) -> ReleaseFiles:
    """Return the paths of a release: table, manifest and private key."""
    name = f"{manifest.name.removesuffix('.manifest.json')}.private.csv"
    return ReleaseFiles(table, manifest, manifest.with_name(name))


def _read_groups(
    frame: nw.DataFrame[Any], job: Job, original: Path, files: ReleaseFiles
) -> Labels:
    """Return the published combination of each original record (n,), else -1.

    -1 of records that the release leaves out.
    """
    names = job.combination
    gone = [name for name in names if name not in frame.columns]
    if gone:
        raise TableError(
            f"{files.table.name} lacks {', '.join(map(repr, gone))}, which its "
            "manifest says it has.",
            fix="bring together the files of one and the same run.",
        )
    place = find_places_by_key(original, files, len(frame))
    codes = combine_codes(encode_entries(frame[name]) for name in names)
    is_released = pyarrow.csv.read_csv(files.private)["released_record"].is_valid()
    result = np.full(len(is_released), -1)
    result[is_released.to_numpy()] = codes[place]
    return result


def _find_released(groups: Sequence[Labels]) -> Bool:
    """Return a mask (n,) of records in at least one release."""
    result: Bool = np.any([labels >= 0 for labels in groups], axis=0)
    return result


def _read_unit_roles(
    originals: Sequence[Path], tables: Sequence[Path], jobs: Sequence[Job]
) -> list[Labels | None]:
    """Return the unit of each record (n,) for each distinct unit role, or None."""
    files = zip(originals, tables, jobs, strict=True)
    by_role = {of[-1].roles.unit: of for of in files}
    return [read_units(read_original_and_release(*of)[0]) for of in by_role.values()]


def collect_figures(
    table: Path, stated: dict[str, Any], utility: Utility | None
) -> ReleaseFigures:
    """Return the figures of a release from its manifest, with its utility if given."""
    measures = stated.get("measures") or {}
    proofs = [*stated["certificates"].values()]
    proofs += [part["certificate"] for part in stated["partition"]]
    gaps = [proof["gap"] for proof in proofs]
    return ReleaseFigures(
        file=table.name,
        k=stated["job"]["privacy"]["k"],
        smallest=stated["audit"]["smallest"],
        il=measures.get("il"),
        linkage=measures.get("linkage"),
        pmse_ratio=utility.propensity.ratio if utility and utility.propensity else None,
        pmse_tree=utility.tree if utility else None,
        gap=None if None in gaps else max(gaps, default=None),
    )


def _find_keys(
    frames: Sequence[nw.DataFrame[Any]], jobs: Sequence[Job]
) -> tuple[str, ...]:
    """Return columns that all publish unchanged and that differ in every record."""
    plain = [{*job.roles.confidential, *job.roles.other} for job in jobs]
    common = [n for n in frames[0].columns if all(n in names for names in plain)]
    n = len(frames[0])
    codes = {name: encode_entries(frames[0][name]) for name in common}
    return tuple(name for name in common if 1 < n == codes[name].max() + 1)
