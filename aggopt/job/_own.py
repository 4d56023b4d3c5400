"""Code of the user's in a job: where it may be named, and the sections that name it."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

from pydantic import ValidationError as Invalid

from aggopt.core.own_code import Origin, seen_from
from aggopt.core.own_section import OwnSection
from aggopt.core.registry import Registry
from aggopt.errors import naming
from aggopt.job._refusal import refused

_NAMING = ("method", "initial", "inner", "model", "solver")  # keys that may name it


def by_name(section: Any, methods: Registry[Any]) -> Any:
    """Return a section that has a method of this package, or its function, by name."""
    named = section.get("method") if isinstance(section, Mapping) else None
    if named is None or isinstance(named, str):
        return section
    own = methods.declared_as(named)
    return section if own is None else {**section, "method": own.name}


def own_section(section: Any, kind: type[OwnSection], title: str, job: Any) -> Any:
    """Return the section of a method of the user's; None if it names none.

    Raises
    ------
    JobError
        A key of it cannot be used.
    """
    if isinstance(section, kind):
        return section
    named = section.get("method") if isinstance(section, Mapping) else None
    if named is None or not kind.methods.names_own(named):
        return None
    try:
        return kind.model_validate(section)
    except Invalid as invalid:
        wrong = invalid.errors(include_url=False)
        placed = [{**e, "loc": (title, "own", *e["loc"])} for e in wrong]
        raise refused(placed, job) from None


def with_paths(sections: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the sections of a job file with the whole path of each file of code."""
    return renamed(sections, partial(seen_from, folder))


def renamed(sections: dict[str, Any], change: Callable[[str], str]) -> dict[str, Any]:
    """Return the sections of a job, changed where they may name code of the user's."""
    return {
        key: change(value)
        if key in _NAMING and isinstance(value, str)
        else renamed(value, change)
        if isinstance(value, dict)
        else value
        for key, value in sections.items()
    }


def loaded(job: Iterable[tuple[str, Any]]) -> dict[str, OwnSection]:
    """Return the sections of a job that name code of the user's, with it loaded.

    Raises
    ------
    UntrustedCodeError, JobError
        It is not trusted, or cannot be used; the message names the section.
    """
    found = {}
    for title, section in job:
        if isinstance(section, OwnSection):
            with naming(f"[{title}]"):
                found[title] = section.contained()
    return found


def origins(job: Iterable[tuple[str, Any]]) -> tuple[Origin, ...]:
    """Return where the code of a job's sections is from, as far as it is loaded."""
    methods = (section.own for _, section in job if isinstance(section, OwnSection))
    return tuple(m.origin for m in methods if m is not None and m.origin is not None)
