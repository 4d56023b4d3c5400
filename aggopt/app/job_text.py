"""The text of a job, changed key by key: all other keys stay, comments too."""

import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Any

import tomlkit

from aggopt.errors import JobError

QUASI_IDENTIFIER = "quasi-identifier"


@lru_cache(8)  # a screen parses its job often
def parse_job(text: str) -> Mapping[str, Any]:
    """Return the sections of a job; an error quotes nothing of it."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise JobError(
            "The job is no valid TOML.", fix="correct it in an editor, and open it."
        ) from None


def find_value(sections: Any, *path: str) -> Any:
    """Return the value of a key in sections; None without it."""
    for name in path:
        sections = sections.get(name) if isinstance(sections, Mapping) else None
    return sections


def parse_section(text: str, *path: str) -> Mapping[str, Any]:
    """Return a section of a job; empty if it is missing, or no section."""
    section = find_value(parse_job(text), *path)
    return section if isinstance(section, Mapping) else {}


def parse_roles(text: str) -> dict[str, str]:
    """Return the role of each column that has one, by the column's name."""
    return {
        str(name): role
        for role, names in parse_section(text, "roles").items()
        if isinstance(names, list)
        for name in names
    }


def replace_keys(text: str, values: Mapping[tuple[str, ...], Any]) -> str:
    r"""Return the job with other values of keys; None removes a key.

    The path of a key has the names of its sections first.  A section that has no key
    left is removed.

    >>> replace_keys("", {("privacy", "k"): 5})
    '[privacy]\nk = 5\n'
    """
    sections = parse_job(text)
    others = {p: v for p, v in values.items() if find_value(sections, *p) != v}
    if not others:
        return text
    document = tomlkit.parse(text)
    for path, value in others.items():
        _replace_key(document, path, value)
    return tomlkit.dumps(document)


def _replace_key(section: Any, path: Sequence[str], value: Any) -> None:
    """Replace the value of a key in a section, or in the sections within."""
    name, *within = path
    if within:
        inner = section.get(name, tomlkit.table())
        if not isinstance(inner, Mapping):
            raise JobError(f"[{name}] of the job is no section.", fix="correct it.")
        _replace_key(inner, within, value)
        value = inner or None
    if value is None:
        section.pop(name, None)
    elif not within or name not in section:
        section[name] = value


def replace_roles(text: str, roles: Mapping[str, str]) -> str:
    """Return the job with these roles; columns that are not masked lose their types."""
    columns: dict[str, list[str]] = {role: [] for role in parse_section(text, "roles")}
    for name, role in roles.items():
        if role:
            columns.setdefault(role, []).append(name)
    values: dict[tuple[str, ...], Any] = {
        ("attributes", name): None
        for name, role in parse_roles(text).items()
        if role == QUASI_IDENTIFIER != roles.get(name)
    }
    values |= {("roles", role): names or None for role, names in columns.items()}
    return replace_keys(text, values)


@lru_cache(8)
def remove_titles(text: str) -> str:
    """Return the job without the words of its report, which change no figure."""
    return replace_keys(text, {("output", "title"): None, ("output", "office"): None})


def remove_empty_settings(text: str) -> str:
    """Return a proposed job without its manual, empty lists and usual attributes."""
    sections = {
        name: {key: v for key, v in section.items() if v not in ([], {}, "together")}
        for name, section in parse_job(text).items()
    }
    return tomlkit.dumps({name: keys for name, keys in sections.items() if keys})


def place_trees(text: str, find_path: Callable[[str], str]) -> str:
    """Return the job with the path of each file of a tree, as a function finds it."""
    files = {
        (*path, name, "tree"): find_value(section, "tree")
        for path in (("attributes",), ("privacy", "confidential"))
        for name, section in parse_section(text, *path).items()
    }
    named = {path: name for path, name in files.items() if isinstance(name, str)}
    return replace_keys(text, {path: find_path(name) for path, name in named.items()})


def find_unsupported_setting(text: str) -> JobError | None:
    """Return why the page shows a job and does not run it; None if it runs it."""
    sections = parse_job(text)
    code = next(_iterate_code(sections), None)
    if code is not None:
        return JobError(
            f"The job names code: {code!r}. The page runs none.",
            fix="use the command line with --trust.",
        )
    earlier = {"keep_groups", "earlier"} & {*parse_section(text, "partition")}
    if earlier:
        problem = f"The job keeps the groups of an earlier release ({min(earlier)})."
    elif find_value(sections, "engine", "name") not in (None, "memory"):
        problem = "The job names an engine, and the page masks one file in memory."
    else:
        return None
    return JobError(problem, fix="use the command line: aggopt mask.")


def _iterate_code(value: Any) -> Iterator[str]:
    """Yield the names of code in the values of a job: FILE.py, or FILE.py:NAME."""
    if isinstance(value, str) and (value.endswith(".py") or ".py:" in value):
        yield value
    elif isinstance(value, Mapping):
        for name, entry in value.items():
            if name not in ("roles", "attributes"):
                yield from _iterate_code(entry)
    elif isinstance(value, list):
        for entry in value:
            yield from _iterate_code(entry)
