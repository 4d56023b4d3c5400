"""The text of a job, changed key by key: all other keys stay, comments too."""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError

from aggopt.errors import JobError

QUASI_IDENTIFIER = "quasi-identifier"


def shorten(text: str) -> str:
    """Return the job of a proposal without its manual and without empty lists."""
    sections = {
        name: {key: value for key, value in section.items() if value not in ([], {})}
        for name, section in parse_sections(text).items()
    }
    return tomlkit.dumps({name: keys for name, keys in sections.items() if keys})


def parse_sections(text: str) -> dict[str, Any]:
    """Return the sections of a job's text as plain values.

    Raises
    ------
    JobError
        It is not TOML; the message quotes nothing of it.
    """
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise JobError(
            "The job is no valid TOML.", fix="correct it in an editor, and open it."
        ) from None


def parse_section(text: str, name: str) -> Mapping[str, Any]:
    """Return a section of a job's text as plain values; empty if it is missing."""
    section: Mapping[str, Any] = get_table(parse_sections(text), name)
    return section


def parse_roles(text: str) -> dict[str, str]:
    """Return the role of each column that has one, by the column's name."""
    return {
        str(name): role
        for role, names in parse_section(text, "roles").items()
        if isinstance(names, list)
        for name in names
    }


def get_table(parent: Any, name: str) -> Any:
    """Return a table in another; an empty one in place of anything else."""
    table = parent.get(name)
    return table if isinstance(table, Mapping) else {}


def replace_roles(text: str, roles: Mapping[str, str]) -> str:
    """Return the job with these roles, by the column's name; "" is undecided.

    The types of columns that are no quasi-identifiers any more are removed.
    """
    before = parse_roles(text)
    lists: dict[str, list[str]] = {role: [] for role in parse_section(text, "roles")}
    for name, role in roles.items():
        if role:
            lists.setdefault(role, []).append(name)
    text = replace_keys(
        text, ["roles"], {role: names or None for role, names in lists.items()}
    )
    removed = {
        name: None
        for name, role in before.items()
        if role == QUASI_IDENTIFIER != roles.get(name)
    }
    return replace_keys(text, ["attributes"], removed)


def replace_keys(text: str, path: Sequence[str], keys: Mapping[str, Any]) -> str:
    r"""Return the job with keys of a section replaced; None removes a key.

    `path` are the names of the section and of those that it is in.  A section that has
    no key left is removed.  All else stays, comments too.

    >>> replace_keys("", ["privacy"], {"k": 5})
    '[privacy]\nk = 5\n'
    """
    try:
        document: Any = tomlkit.parse(text)
    except TOMLKitError:
        parse_sections(text)
        raise
    parents = [document]
    for name in path:
        parents.append(parents[-1].get(name) or tomlkit.table())
        if not isinstance(parents[-1], Mapping):
            raise JobError(f"[{name}] of the job is no section.", fix="correct it.")
    section = parents[-1]
    before = dict(section)
    for key, value in keys.items():
        if value is None:
            section.pop(key, None)
        elif section.get(key) != value:
            section[key] = value
    if dict(section) == before:
        return text
    for parent, name, table in reversed(
        list(zip(parents[:-1], path, parents[1:], strict=True))
    ):
        if not table:
            parent.pop(name, None)
        elif name not in parent:
            parent[name] = table
    return tomlkit.dumps(document)


def place_files(text: str, find_path: Callable[[str], str]) -> str:
    """Return the job with the path of each file of a tree, as a function finds it."""
    treated = get_table(parse_section(text, "privacy"), "confidential")
    for path, section in (
        (["attributes"], parse_section(text, "attributes")),
        (["privacy", "confidential"], treated),
    ):
        for name in section:
            tree = get_table(section, name).get("tree")
            if isinstance(tree, str):
                text = replace_keys(text, [*path, name], {"tree": find_path(tree)})
    return text
