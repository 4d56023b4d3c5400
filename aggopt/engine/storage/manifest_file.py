"""Manifest of a folder, and the digest next to it that reveals an edit."""

from functools import partial
from pathlib import Path
from typing import Any

from aggopt.engine.storage.input_parts import ENDING
from aggopt.engine.storage.scratch_files import write_atomically
from aggopt.errors import TableError
from aggopt.release.files.private import write_json
from aggopt.release.files.staging import compute_sha256
from aggopt.release.manifest import read_manifest_or_none

MANIFEST = "manifest.json"
DIGEST = f"{MANIFEST}.sha256"  # as sha256sum writes and checks it


def write_manifest(private: Path, stated: dict[str, Any]) -> None:
    """Write a manifest and its digest into the private folder of a release."""
    to = private / MANIFEST
    write_atomically(to, partial(write_json, stated=stated))
    line = f"{compute_sha256(to)}  {MANIFEST}\n"
    write_atomically(private / DIGEST, lambda aside: aside.write_text(line))


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
    """Refuse a folder without its manifest, and one that it does not describe.

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
