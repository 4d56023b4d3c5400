"""The text of a job, changed key by key: all other keys stay, comments too."""

import tomllib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import tomlkit

from aggopt.errors import JobError

QUASI_IDENTIFIER = "quasi-identifier"


def remove_empty_settings(text: str) -> str:
    """Return the text of a job without comments, empty lists and empty tables."""
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
    removed = {
        name: None
        for name, role in before.items()
        if role == QUASI_IDENTIFIER != roles.get(name)
    }
    lists_or_none = {role: names or None for role, names in lists.items()}
    return replace_sections(
        text, [(["roles"], lists_or_none), (["attributes"], removed)]
    )


def replace_keys(text: str, path: Sequence[str], keys: Mapping[str, Any]) -> str:
    r"""Return the job with keys of a section replaced; None removes a key.

    `path` are the names of the section and of those that it is in.  A section that has
    no key left is removed.  All else stays, comments too.

    >>> replace_keys("", ["privacy"], {"k": 5})
    '[privacy]\nk = 5\n'
    """
    return replace_sections(text, [(path, keys)])


def replace_sections(
    text: str, changes: Iterable[tuple[Sequence[str], Mapping[str, Any]]]
) -> str:
    """Return the job with keys of several sections replaced, as `replace_keys` does."""
    sections = parse_sections(text)
    needed = [change for change in changes if _changes(sections, *change)]
    if not needed:
        return text
    document: Any = tomlkit.parse(text)
    for path, keys in needed:
        parents = [document]
        for name in path:
            parents.append(parents[-1].get(name) or tomlkit.table())
        for key, value in keys.items():
            if value is None:
                parents[-1].pop(key, None)
            elif parents[-1].get(key) != value:
                parents[-1][key] = value
        for parent, name, table in reversed(
            list(zip(parents[:-1], path, parents[1:], strict=True))
        ):
            if not table:
                parent.pop(name, None)
            elif name not in parent:
                parent[name] = table
    return tomlkit.dumps(document)


def _changes(sections: Any, path: Sequence[str], keys: Mapping[str, Any]) -> bool:
    """Whether keys of a section have other values than these."""
    for name in path:
        sections = sections.get(name, {})
        if not isinstance(sections, Mapping):
            raise JobError(f"[{name}] of the job is no section.", fix="correct it.")
    return any(sections.get(key) != value for key, value in keys.items())


def place_files(text: str, find_path: Callable[[str], str]) -> str:
    """Return the job with the path of each file of a tree, as a function finds it."""
    treated = get_table(parse_section(text, "privacy"), "confidential")
    sections = {
        ("attributes",): parse_section(text, "attributes"),
        ("privacy", "confidential"): treated,
    }
    trees = {
        (*path, name): get_table(section, name).get("tree")
        for path, section in sections.items()
        for name in section
    }
    return replace_sections(
        text,
        [
            (path, {"tree": find_path(tree)})
            for path, tree in trees.items()
            if isinstance(tree, str)
        ],
    )
