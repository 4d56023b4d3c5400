"""The text of a job, changed key by key; comments of a job that was opened stay."""

import json
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit import TOMLDocument
from tomlkit.exceptions import TOMLKitError

from aggopt.errors import JobError

QUASI_IDENTIFIER = "quasi-identifier"
CODE = (".py", ".py:")
NO_TOML = "The job is no valid TOML."
CORRECT = "correct it in an editor, and open it."


def shorten(text: str) -> str:
    """Return the job of a proposal without its manual and without empty lists."""
    sections = tomllib.loads(text)
    kept = {
        name: {key: value for key, value in section.items() if value not in ([], {})}
        for name, section in sections.items()
    }
    return tomlkit.dumps({name: section for name, section in kept.items() if section})


def parse(text: str) -> TOMLDocument:
    """Return the sections of a job's text.

    Raises
    ------
    JobError
        It is not TOML; the message quotes nothing of it.
    """
    try:
        return tomlkit.parse(text)
    except TOMLKitError:
        raise JobError(NO_TOML, fix=CORRECT) from None


def read_sections(text: str) -> dict[str, Any]:
    """Return the sections of a job's text as plain values.

    Raises
    ------
    JobError
        It is not TOML; the message quotes nothing of it.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise JobError(NO_TOML, fix=CORRECT) from None


def read_roles(text: str) -> dict[str, str]:
    """Return the role of each column that has one, by the column's name."""
    roles: Any = read_sections(text).get("roles", {})
    return {
        str(name): str(role)
        for role, names in (roles.items() if isinstance(roles, dict) else ())
        if isinstance(names, list)
        for name in names
    }


def read_section(text: str, name: str) -> dict[str, Any]:
    """Return a section of a job's text as plain values; empty if it is missing."""
    section = read_sections(text).get(name, {})
    return section if isinstance(section, dict) else {}


def replace_roles(text: str, roles: Mapping[str, str]) -> str:
    """Return the job with these roles, by the column's name; "" is undecided."""
    document = parse(text)
    section = _section(document, "roles")
    lists: dict[str, list[str]] = {str(role): [] for role in section}
    for name, role in roles.items():
        if role:
            lists.setdefault(role, []).append(name)
    for role, names in lists.items():
        before = section.get(role)
        if names and (before is None or list(before) != names):
            section[role] = names
        elif not names and role in section:
            del section[role]
    masked = set(lists.get(QUASI_IDENTIFIER, ()))
    attributes = document.get("attributes")
    if attributes is not None:
        for name in [name for name in attributes if name not in masked]:
            del attributes[name]
        if not attributes:
            del document["attributes"]
    return tomlkit.dumps(document)


def replace_keys(text: str, path: Iterable[str], keys: Mapping[str, Any]) -> str:
    r"""Return the job with keys of a section replaced; None removes a key.

    `path` are the names of the section and of those that it is in.  A section that has
    no key left is removed.

    >>> replace_keys("", ["privacy"], {"k": 5})
    '[privacy]\nk = 5\n'
    """
    document = parse(text)
    at: Any = document
    names = list(path)
    if all(value is None for value in keys.values()) and not _has(document, names):
        return text
    parents: list[tuple[Any, str]] = []
    for name in names:
        parents.append((at, name))
        at = _section(at, name)
    for key, value in keys.items():
        if value is None:
            at.pop(key, None)
        elif at.get(key) != value:
            at[key] = value
    for parent, name in reversed(parents):
        if not parent[name]:
            del parent[name]
    return tomlkit.dumps(document)


def _has(document: Any, names: list[str]) -> bool:
    at = document
    for name in names:
        if name not in at:
            return False
        at = at[name]
    return True


def _section(parent: Any, name: str) -> Any:
    """Return a table in another, which is added if it is missing."""
    if name not in parent:
        parent[name] = tomlkit.table(is_super_table=name == "attributes")
    section = parent[name]
    if not hasattr(section, "items"):
        raise JobError(f"[{name}] of the job is no section.", fix="correct the job.")
    return section


def list_files(text: str) -> list[tuple[tuple[str, ...], str]]:
    """Return the paths of files that a job names, each with the keys to it."""
    sections = read_sections(text)
    named: list[tuple[tuple[str, ...], str]] = []
    attributes = sections.get("attributes", {})
    for name, keys in attributes.items() if isinstance(attributes, dict) else ():
        tree = keys.get("tree") if isinstance(keys, dict) else None
        if isinstance(tree, str):
            named.append((("attributes", name, "tree"), tree))
    privacy = sections.get("privacy", {})
    treated = privacy.get("confidential", {}) if isinstance(privacy, dict) else {}
    for name, keys in treated.items() if isinstance(treated, dict) else ():
        tree = keys.get("tree") if isinstance(keys, dict) else None
        if isinstance(tree, str):
            named.append((("privacy", "confidential", name, "tree"), tree))
    return named


def require_no_code(text: str) -> None:
    """Refuse a job that names code of the user's, or files of earlier releases.

    Raises
    ------
    JobError
        The page runs no code that a job names.
    """
    sections = read_sections(text)
    named = next(_iterate_code(sections), None)
    if named is not None:
        raise JobError(
            f"The job names code: {named!r}. The page runs none.",
            fix="use the command line with --trust.",
        )
    partition = sections.get("partition", {})
    earlier = {"keep_groups", "earlier"} & set(partition)
    if earlier:
        raise JobError(
            f"The job keeps the groups of an earlier release ({min(earlier)}).",
            fix="use the command line: aggopt mask.",
        )
    if sections.get("engine", {}).get("name", "memory") != "memory":
        raise JobError(
            "The job names an engine, and the page masks one file in memory.",
            fix="use the command line: aggopt mask.",
        )


def _iterate_code(value: Any) -> Iterator[str]:
    if isinstance(value, str) and (value.endswith(CODE[0]) or CODE[1] in value):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if name not in ("roles", "attributes"):
                yield from _iterate_code(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _iterate_code(entry)


def show_command(table: str, job: str, out: str, private: str, report: str) -> str:
    """Return the command that makes a release without the page."""
    words = ["aggopt", "mask", table, job, "--out", out]
    words += ["--private", private] if private else []
    words += ["--report", report] if report else []
    return shlex.join(words)


def write_private(path: Path, text: str) -> Path:
    """Write a file that only its owner can read, and return its path."""
    path.unlink(missing_ok=True)
    path.touch(mode=0o600, exist_ok=False)
    path.write_text(text, encoding="utf-8")
    return path


def format_json(value: Any) -> str:
    """Return plain values as JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
