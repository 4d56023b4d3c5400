"""Repeat a release: an equal table, job and secret give identical bytes."""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from aggopt.core.plugins.loading import trust_files
from aggopt.core.randomness import is_secret
from aggopt.core.regular_files import explain_unreadable, require_regular
from aggopt.data.formats.registry import list_suffixes
from aggopt.errors import JobError, RepeatError
from aggopt.job import Job
from aggopt.pipeline.mask import mask
from aggopt.pipeline.prepare.inputs import Progress, read_table
from aggopt.pipeline.review.trusted_code import attach_trusted_code
from aggopt.release.files.output_paths import ReleaseFiles
from aggopt.release.manifest import WriteRecipe, list_versions, read_manifest_or_none
from aggopt.release.release import Release


@dataclass(frozen=True)
class ReleaseRecipe:
    """The job, secret and writing options that a manifest records."""

    job: Job
    secret: str = field(repr=False)
    written: WriteRecipe
    ending: str
    fingerprint: str = field(repr=False)
    versions: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> "ReleaseRecipe":
        """Return the recipe in a manifest, with its user code loaded.

        Raises
        ------
        TableError, JobError
            It cannot be read, or is not a manifest, or has entries that no release
            writes.
        UntrustedCodeError, RepeatError
            As `attach_trusted_code`.
        """
        require_regular(path)
        try:
            path.open("rb").close()
        except OSError as error:
            raise explain_unreadable(path, error) from None
        if not isinstance(read_manifest_or_none(path, "job"), dict):
            raise JobError(
                f"{path.name} is not the manifest of a written release.",
                fix="name the file NAME.manifest.json that was written with the "
                "release.",
            )
        job_entry = attach_trusted_code(
            read_manifest_or_none(path, "job"), read_manifest_or_none(path, "code")
        )
        job = Job(**job_entry).load_code()
        entry = partial(_read_entry, path, job)
        return cls(
            job,
            entry("output", "secret"),
            WriteRecipe(
                entry("output", "seed"),
                entry("output", "sha256"),
                Path(entry("output", "file")).name,
                entry("output", "ddi", "sha256") if has_ddi(path) else None,
            ),
            Path(entry("output", "file")).suffix,
            entry("input", "fingerprint"),
            entry("versions"),
        )


def has_ddi(manifest: Path) -> bool:
    """Whether the release of a manifest has a DDI codebook, which is repeated, too."""
    return read_manifest_or_none(manifest, "output", "ddi") is not None


def _read_entry(path: Path, job: Job, *keys: str) -> Any:
    """Return a validated entry of a manifest; refuse invalid ones."""
    value = read_manifest_or_none(path, *keys)
    if not _EXPECTED[keys[-1]](value, job):
        raise JobError(
            f"{path.name} states no {' '.join(keys)} that a release writes: it may "
            "have been edited.",
            fix="bring the manifest as it was written with the release.",
        )
    return value


def _is_digest(value: object, job: Job) -> bool:
    """Whether a manifest's entry is a SHA-256 in hexadecimal."""
    return isinstance(value, str) and re.fullmatch("[0-9a-f]{64}", value) is not None


def _is_seed(value: object, job: Job) -> bool:
    """Whether a manifest's entry is a valid seed of the record order."""
    if not job.output.shuffle:
        return value is None
    return type(value) is int and value >= 0


def _is_versions(value: object, job: Job) -> bool:
    """Whether a manifest's entry has versions of packages, by name."""
    return isinstance(value, dict) and all(
        re.fullmatch(r"[A-Za-z0-9]([\w.-]*\w)?", name) and isinstance(version, str)
        for name, version in value.items()
    )


_EXPECTED: dict[str, Callable[[Any, Job], bool]] = {
    "secret": lambda found, job: is_secret(found),
    "seed": _is_seed,
    "sha256": _is_digest,
    "fingerprint": _is_digest,
    "file": lambda found, job: (
        Path(str(found)).suffix.lower() in list_suffixes(written=True)
    ),
    "versions": _is_versions,
}


def repeat(
    manifest: str | Path,
    data: Any,
    path: str | Path,
    *,
    private: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
    trust: Iterable[str | Path] = (),
) -> ReleaseFiles:
    """Write a release again, byte for byte, and return the paths of its files.

    If a DDI codebook was written with it, this is repeated, too.

    Parameters
    ----------
    manifest
        The manifest of the release, which has its job and its secret.
    data
        The table that was masked, as for `aggopt.mask`.
    path, private, overwrite
        As for `Release.write`; with the ending that the masked table had.
    progress, trust
        As for `aggopt.mask`; a manifest identifies the files of code by their bytes.

    Raises
    ------
    RepeatError
        The table is another one; or the new files would differ from the manifest, and
        nothing was written; or a Python object made the release.
    TableError, JobError, SolverError, PrivacyError
        As `aggopt.mask` and `Release.write`.

    Examples
    --------
    >>> import pandas as pd, aggopt
    >>> people = pd.DataFrame({"age": [20, 21, 22, 60, 61, 65]})
    >>> job = aggopt.Job(roles={"quasi-identifier": ["age"]}, privacy={"k": 3})
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     first = aggopt.mask(people, job).write(f"{folder}/masked.csv")
    ...     again = repeat(first.manifest, people, f"{folder}/again.csv")
    ...     first.table.read_bytes() == again.table.read_bytes()
    True
    """
    folder = None if private is None else Path(private)
    inputs = [Path(path) for path in (manifest, data) if isinstance(path, str | Path)]
    places = ReleaseFiles.of_table(Path(path), folder, ddi=has_ddi(Path(manifest)))
    places.check(overwrite=overwrite, inputs=inputs)
    release, written = remake_release(
        manifest, data, Path(path), progress=progress, trust=trust
    )
    with release.staged(
        path, overwrite=overwrite, private=private, again=written
    ) as commit:
        return commit()


def remake_release(
    manifest: str | Path,
    data: Any,
    path: Path,
    *,
    progress: Progress | None = None,
    trust: Iterable[str | Path] = (),
) -> tuple[Release, WriteRecipe]:
    """Return the release that a manifest describes, made again, and its options."""
    with trust_files(trust):
        first = ReleaseRecipe.read(Path(manifest))
    if path.suffix.lower() != first.ending.lower():
        raise RepeatError(
            f"{path.name} is to repeat a {first.ending} file.",
            fix=f"give it the ending {first.ending}.",
        )
    source = read_table(data, first.job)[1]
    if source.fingerprint != first.fingerprint:
        raise RepeatError(
            f"The table is not the one that {Path(manifest).name} describes: names or "
            "entries of its columns, or their order, differ.",
            fix="bring the very table that was masked; or mask this one, with `mask`.",
        )
    release = mask(data, first.job, progress=progress, secret=first.secret)
    return release, first.written.explained(_describe_changes(first.versions))


def _describe_changes(before: Mapping[str, str]) -> str:
    """Return the text of a possible reason why a repeated release differs."""
    now = list_versions(before)
    changed = [f"{p} {v} (now {now[p]})" for p, v in before.items() if now[p] != v]
    if changed:
        return f"It was made with {', '.join(changed)}."
    return (
        "All versions are the same: the manifest may have been edited, a time limit "
        "may have ended elsewhere, or the machine may round differently."
    )
