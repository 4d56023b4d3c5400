"""The manifest of a folder and, beside it, the digest by which an edit is seen."""

from functools import partial
from pathlib import Path
from typing import Any

from aggopt.engine.workspace import appear
from aggopt.errors import TableError
from aggopt.output.private_files import write_json
from aggopt.output.staging import sha256

MANIFEST = "manifest.json"
DIGEST = f"{MANIFEST}.sha256"  # as sha256sum writes and checks it


def write_stated(private: Path, stated: dict[str, Any]) -> None:
    """Write a manifest and its digest into the private folder of a release."""
    to = private / MANIFEST
    appear(to, partial(write_json, stated=stated))
    line = f"{sha256(to)}  {MANIFEST}\n"
    appear(private / DIGEST, lambda aside: aside.write_text(line))


def require_as_written(manifest: Path) -> None:
    """Refuse a manifest that is not the one whose digest lies beside it.

    Raises
    ------
    TableError
        It was edited; or the digest is not there.
    """
    beside = manifest.with_name(DIGEST)
    there = beside.is_file()
    if there and beside.read_text().split()[:1] == [sha256(manifest)]:
        return
    wrong = "is not as it was written" if there else "has no digest beside it"
    raise TableError(
        f"{manifest} {wrong}: {beside.name} is to hold its SHA-256.",
        fix="bring both files as they were written with the release.",
    )
