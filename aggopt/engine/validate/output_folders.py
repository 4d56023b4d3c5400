"""Refusals of output folders: their names, their files and their manifests."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aggopt.core.plural import plural
from aggopt.core.regular_files import require_local
from aggopt.data.formats.registry import list_suffixes
from aggopt.errors import EngineError, LeftRunError, PrivacyError, TableError
from aggopt.release.files.staging import compute_sha256
from aggopt.release.manifest import read_manifest_or_none

ENDING = ".parquet"
MANIFEST = "manifest.json"
DIGEST = f"{MANIFEST}.sha256"  # as sha256sum writes and checks it
ANEW = "begin anew: --discard, or resume = false, which removes it"


def require_new(*folders: Path) -> None:
    """Refuse folders that exist already, or whose parent does not exist.

    Raises
    ------
    TableError
        A folder of a release is never overwritten; or as `require_local`.
    """
    for folder in folders:
        require_local(folder)
        if folder.exists() or folder.is_symlink():
            raise TableError(
                f"{folder} is there already.",
                fix="name a new folder; or remove that one, if no release needs it.",
            )
        if not folder.parent.is_dir():
            raise TableError(
                f"There is no folder {folder.parent}.", fix="make it first."
            )


def require_no_file(folder: Path) -> None:
    """Refuse a folder name that ends like a file of a table.

    Raises
    ------
    TableError
        It ends like a file of a table.
    """
    if folder.suffix.lower() in list_suffixes():
        raise TableError(
            f"{folder} is called like a file, and a folder of Parquet files is to "
            "appear.",
            fix=f"name a folder: {folder.stem}.",
        )


def require_equal_run(stage: Path, out: Path, differs: Sequence[str]) -> None:
    """Refuse to resume a run with other inputs, which `differs` names.

    Raises
    ------
    LeftRunError
        The message has these names.
    """
    if differs:
        raise LeftRunError(
            f"An ended run has left {stage.name} for {out.name}, and has "
            "not the "
            f"same {', '.join(differs)}.",
            fix=f"run what it was, with --resume; or {ANEW}.",
        )


def require_all(count: int, records: int) -> None:
    """Refuse written files with `count` records instead of `records`.

    Raises
    ------
    PrivacyError
        Some are missing, or occur twice.
    """
    if count != records:
        raise PrivacyError(
            f"What was written reads as {count} records, and there are {records}.",
            fix="look for what else writes into that folder; nothing was left behind.",
        )


def require_alone(folder: Path, names: Sequence[str]) -> None:
    """Refuse a release folder with other files than those counted.

    Raises
    ------
    PrivacyError
        The message has the number of extra or missing files.
    """
    others = {path.name for path in folder.iterdir()} ^ set(names)
    if others:
        raise PrivacyError(
            f"The folder of the release differs by {plural(len(others), 'file')} from "
            "what was counted.",
            fix="look for what else writes into that folder; nothing was left behind.",
        )


def require_keys(keys: Sequence[Path]) -> None:
    """Refuse a release whose private keys are missing.

    Raises
    ------
    EngineError
        The message has the number of missing keys.
    """
    gone = sum(not key.exists() for key in keys)
    if gone:
        raise EngineError(
            f"{gone} of {plural(len(keys), 'key')} of this release "
            f"{'is' if gone == 1 else 'are'} gone: someone has removed what a killed "
            "run had left.",
            fix="mask the folder anew, without resume; nothing was released.",
        )


def require_unchanged(files: Sequence[dict[str, Any]], now: Sequence[str]) -> None:
    """Refuse released files whose digests differ from those `now`.

    Raises
    ------
    PrivacyError
        Their number is in it.
    """
    changed = sum(
        file["sha256"] != digest for file, digest in zip(files, now, strict=True)
    )
    if changed:
        raise PrivacyError(
            f"{changed} of {plural(len(files), 'file')} changed while being counted.",
            fix="look for what else writes into that folder, or for a disk that fails; "
            "nothing was left behind.",
        )


def require_as_written(manifest: Path) -> None:
    """Refuse a manifest that does not match its digest.

    Raises
    ------
    TableError
        It was edited; or the digest is missing.
    """
    beside = manifest.with_name(DIGEST)
    file = beside.is_file()
    if file and beside.read_text().split()[:1] == [compute_sha256(manifest)]:
        return
    wrong = "is not as it was written" if file else "has no digest beside it"
    raise TableError(
        f"{manifest} {wrong}: {beside.name} is to hold its SHA-256.",
        fix="bring both files as they were written with the release.",
    )


def require_described(folder: Path, manifest: Path) -> None:
    """Refuse a folder whose files differ from those in its manifest.

    Raises
    ------
    TableError
        The manifest is not there, or describes other files.
    """
    if not manifest.is_file():
        raise TableError(
            f"{manifest} is not there.",
            fix="name the folder of a release, and the private folder of its manifest, "
            "if it is elsewhere (--manifests).",
        )
    files = read_manifest_or_none(manifest, "output", "files")
    files_present = {path.name: path for path in folder.glob(f"*{ENDING}")}
    is_list = isinstance(files, list) and all(isinstance(file, dict) for file in files)
    digests = (
        {file.get("file"): file.get("sha256") for file in files} if is_list else {}
    )
    if digests.keys() != files_present.keys() or any(
        compute_sha256(path) != digests[name] for name, path in files_present.items()
    ):
        raise TableError(
            f"{folder} does not hold the files that {manifest} describes.",
            fix="bring together the two folders of one and the same run.",
        )


def require_made_of(
    originals: Path, records: int, made_of: int | None, file: str
) -> None:
    """Refuse originals with another number of records than the masked table.

    Raises
    ------
    TableError
        They are more or fewer, or not files of Parquet.
    """
    if records != made_of:
        raise TableError(
            f"{originals.name} has {plural(records, 'record')}, and the release was "
            f"made of {made_of}, by {file}.",
            fix="name the folder or the pattern that was masked.",
        )
