"""Manifest of a folder, and the digest next to it that reveals an edit."""

from functools import partial
from pathlib import Path
from typing import Any

from aggopt.engine.storage.scratch_files import write_atomically
from aggopt.errors import TableError
from aggopt.release.files.private import write_json
from aggopt.release.files.staging import sha256_of_file

MANIFEST = "manifest.json"
DIGEST = f"{MANIFEST}.sha256"  # as sha256sum writes and checks it


def write_manifest(private: Path, stated: dict[str, Any]) -> None:
    """Write a manifest and its digest into the private folder of a release."""
    to = private / MANIFEST
    write_atomically(to, partial(write_json, stated=stated))
    line = f"{sha256_of_file(to)}  {MANIFEST}\n"
    write_atomically(private / DIGEST, lambda aside: aside.write_text(line))


def require_as_written(manifest: Path) -> None:
    """Refuse a manifest that does not match its digest.

    Raises
    ------
    TableError
        It was edited; or the digest is missing.
    """
    beside = manifest.with_name(DIGEST)
    there = beside.is_file()
    if there and beside.read_text().split()[:1] == [sha256_of_file(manifest)]:
        return
    wrong = "is not as it was written" if there else "has no digest beside it"
    raise TableError(
        f"{manifest} {wrong}: {beside.name} is to hold its SHA-256.",
        fix="bring both files as they were written with the release.",
    )
