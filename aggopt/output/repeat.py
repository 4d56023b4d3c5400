"""A release made once more: the same table, job and secret give the same bytes."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from aggopt.errors import JobError, RepeatError, TableError
from aggopt.grouped import Progress, read_table
from aggopt.input.regular import require_regular
from aggopt.job import Job
from aggopt.output.manifest import versions_of
from aggopt.output.places import Files
from aggopt.output.release import Release
from aggopt.output.written import Written
from aggopt.pipeline import mask


@dataclass(frozen=True)
class Stated:
    """What a manifest says of how a release was made and written."""

    job: Job
    secret: str = field(repr=False)
    written: Written
    ending: str
    fingerprint: str = field(repr=False)
    versions: Mapping[str, str]

    @classmethod
    def read(cls, path: Path) -> "Stated":
        """Return what a manifest says.

        Raises
        ------
        TableError, JobError
            It cannot be read, or is no manifest that says all that is needed.
        """
        if path.exists():
            require_regular(path)
        try:
            stated = json.loads(path.read_text("utf-8"))
            output = stated["output"]
            seed, digest = output["seed"], str(output["sha256"])
            return cls(
                Job(**stated["job"]),
                str(output["secret"]),
                Written(None if seed is None else int(seed), digest),
                Path(output["file"]).suffix,
                str(stated["input"]["fingerprint"]),
                dict(stated["versions"]),
            )
        except OSError as error:
            raise TableError(
                f"{path} cannot be read: {error.strerror}.", fix="check the path."
            ) from None
        except (ValueError, KeyError, TypeError) as error:
            if isinstance(error, JobError):
                raise
        raise JobError(
            f"{path.name} is not the manifest of a written release.",
            fix="name the file NAME.manifest.json that was written with the release.",
        )


def repeat(
    manifest: str | Path,
    data: Any,
    path: str | Path,
    *,
    private: str | Path | None = None,
    overwrite: bool = False,
    progress: Progress | None = None,
) -> Files:
    """Write a release once more, byte for byte, and return the paths of its files.

    Parameters
    ----------
    manifest
        The manifest of the release, which has its job and its secret.
    data
        The table that was masked, as for `aggopt.mask`.
    path, private, overwrite
        As for `Release.write`; with the ending that the masked table had.
    progress
        As for `aggopt.mask`.

    Raises
    ------
    RepeatError
        The table is another one; or what would be written differs from what the
        manifest describes, and nothing was written.
    TableError, JobError, SolverError, PrivacyError
        As `aggopt.mask` and `Release.write`.
    """
    folder = None if private is None else Path(private)
    inputs = [Path(each) for each in (manifest, data) if isinstance(each, str | Path)]
    Files.beside(Path(path), folder).check(overwrite=overwrite, inputs=inputs)
    release, written = repeated(manifest, data, Path(path), progress=progress)
    with release.staged(
        path, overwrite=overwrite, private=private, again=written
    ) as commit:
        return commit()


def repeated(
    manifest: str | Path, data: Any, path: Path, *, progress: Progress | None = None
) -> tuple[Release, Written]:
    """Return the release of a manifest, made again, and how it was written."""
    stated = Stated.read(Path(manifest))
    if path.suffix.lower() != stated.ending.lower():
        raise RepeatError(
            f"{path.name} is to repeat a {stated.ending} file.",
            fix=f"give it the ending {stated.ending}.",
        )
    source = read_table(data, stated.job)[1]
    if source.fingerprint != stated.fingerprint:
        raise RepeatError(
            f"The table is not the one that {Path(manifest).name} describes: names or "
            "entries of its columns, or their order, differ.",
            fix="bring the very table that was masked; or mask this one, with `mask`.",
        )
    release = mask(data, stated.job, progress=progress, secret=stated.secret)
    return release, stated.written.explained(_changed(stated.versions))


def _changed(before: Mapping[str, str]) -> str:
    """Return what may be the reason that a release comes out different."""
    now = versions_of(before)
    changed = [f"{p} {v} (now {now[p]})" for p, v in before.items() if now[p] != v]
    if changed:
        return f"It was made with {', '.join(changed)}."
    return (
        "All versions are the same: a time limit ended elsewhere, or the machine "
        "rounds differently."
    )
