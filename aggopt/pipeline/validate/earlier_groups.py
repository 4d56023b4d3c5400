"""Refusals of earlier releases that do not fit a table or each other."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from aggopt.core.plural import plural
from aggopt.core.types import Labels
from aggopt.errors import JobError, TableError
from aggopt.release.audit.changes import NOT_THERE
from aggopt.release.files.staging import compute_sha256
from aggopt.release.manifest import find_entry

NEW = NOT_THERE
LEFT_OUT = -2  # of records without an earlier group


def require_every_release(keys: Sequence[Path], statements: Sequence[Any]) -> None:
    """Refuse private keys without those of all releases that they build on.

    `statements` are the contents of the keys' manifests.
    """
    names = [key.name for key in keys]
    for i, (key, stated) in enumerate(zip(keys, statements, strict=True)):
        kept_keys = find_entry(stated, "job", "partition", "keep_groups")
        paths = (
            kept_keys
            if isinstance(kept_keys, list)
            else [kept_keys]
            if kept_keys
            else []
        )
        earlier = [Path(path).name for path in paths]
        unnamed = [name for name in earlier if name not in names]
        if unnamed:
            listed = ", ".join(f'"{name}"' for name in (*unnamed, *map(str, keys)))
            raise JobError(
                f"The release of {key.name} keeps groups of {' and '.join(unnamed)}, "
                "which the job does not name: all releases together can show "
                "values of fewer than k.",
                fix=f"name every earlier release, the oldest first: keep_groups = "
                f"[{listed}], and in earlier the table of each, under [partition].",
            )
        later = [name for name in earlier if name in names[i + 1 :]]
        if later:
            raise JobError(
                f"[partition] keep_groups names {later[0]} after {key.name}, whose "
                "release keeps its groups: it is the older one.",
                fix="name the oldest release first, in keep_groups and in earlier.",
            )


def require_table_of_release(stated: Any, table: Path, key: Path) -> None:
    """Refuse a table that an earlier release was not made from."""
    digest = find_entry(stated, "input", "sha256")
    if digest is not None and digest != compute_sha256(table):
        raise TableError(
            f"{table.name} is not the table that the release of {key.name} "
            "was made from, by its manifest.",
            fix="name this table as it was, in earlier under [partition], in the order "
            "of keep_groups.",
        )


def require_groups(path: Path, groups: Labels) -> None:
    """Refuse records (n,) that the earlier release left out."""
    count = int((groups == LEFT_OUT).sum())
    if count:
        raise TableError(
            f"{path.name} has no group for {plural(count, 'record')} of the table, "
            "which the earlier release left out: in dropped strata, or held back.",
            fix='set changes = "hold back" or "merge" under [partition], with the '
            'earlier table and an identifier: earlier = "FILE" and person = "NAME"; or '
            "take these records out of this table, too; or make the earlier release "
            'with small = "merge" under [strata].',
        )


def require_shared_person(earlier: Path, person: str, rows: Labels) -> None:
    """Refuse an earlier table without any person of the current table."""
    if (rows == NEW).all():
        raise TableError(
            f"No record of {earlier.name} is in the table, by {person!r}.",
            fix="name the table that the earlier release was made from.",
        )
