"""The code that a manifest states, found again among the files that are trusted."""

from collections.abc import Iterable
from typing import Any

from aggopt.core.plugins.loading import CodeFile, list_trusted_files
from aggopt.errors import JobError, RepeatError, UntrustedCodeError
from aggopt.job.user_code import rename_user_code


def attach_trusted_code(job: dict[str, Any], stated: Any) -> dict[str, Any]:
    """Return a manifest's job with the paths of its trusted files of user code.

    `stated` is the manifest's entry on code.  A manifest does not record the folder of
    a file: its bytes identify it among the trusted files.

    Raises
    ------
    UntrustedCodeError
        No trusted file has the recorded name.
    RepeatError
        A trusted file with this name has other bytes; or a Python object made the
        release.
    JobError
        It has entries that no release writes.
    """
    by_name = {}
    for manifest in _list_entries(stated):
        if manifest["where"] == "object":
            raise RepeatError(
                f"The release was made with {manifest['name']}, an object of Python's, "
                "which no manifest holds.",
                fix="mask the table again, with `mask`; code in a file can be loaded "
                "again.",
            )
        if manifest["where"] == "file":
            file = manifest["file"]
            path = _find_trusted(file, manifest["sha256"], list_trusted_files()).path
            by_name[manifest["kind"], manifest["name"]] = (
                f"{path}{manifest['name'].removeprefix(file)}"
            )
    return rename_user_code(job, lambda kind, name: by_name.get((kind, name), name))


def _list_entries(stated: Any) -> list[dict[str, str]]:
    """Return the manifest's entries on user code; refuse invalid ones."""
    entries = [] if stated is None else stated
    is_valid = isinstance(entries, list) and all(
        isinstance(entry, dict)
        and isinstance(entry.get("name"), str)
        and isinstance(entry.get("where"), str)
        and (entry["where"] != "file" or _is_file_entry(entry))
        for entry in entries
    )
    if not is_valid:
        raise JobError(
            "The manifest states no code that a release writes: it may have been "
            "edited.",
            fix="bring the manifest as it was written with the release.",
        )
    return list(entries)


def _is_file_entry(stated: dict[str, Any]) -> bool:
    """Whether a manifest's entry describes a file of code completely."""
    file = stated.get("file")
    is_complete = all(
        isinstance(stated.get(key), str) for key in ("kind", "file", "sha256")
    )
    return is_complete and stated["name"].startswith(str(file))


def _find_trusted(file: str, sha256: str, trusted: Iterable[CodeFile]) -> CodeFile:
    """Return the trusted file with this name and hash; refuse if none exists."""
    matching = [code for code in trusted if code.path.name == file]
    for code in matching:
        if code.sha256 == sha256:
            return code
    if matching:
        raise RepeatError(
            f"{file} is not the file that the release was made with: its SHA-256 "
            "differs.",
            fix=f"bring the very file, of SHA-256 {sha256}.",
        )
    raise UntrustedCodeError(
        f"The release was made with code, {file}, which would see the originals and "
        "run with your rights; it was not run.",
        fix=f"read it; if you trust it, pass --trust with its path, or "
        f"trust=[...] in Python; its SHA-256 is {sha256}.",
    )
