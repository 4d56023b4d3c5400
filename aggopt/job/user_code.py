"""User code in a job: the keys that may name it, and the sections with these keys."""

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError as Invalid

from aggopt.aggregate.user_model import ByModel
from aggopt.core.plugins.loading import KINDS, Origin, resolve_code_path
from aggopt.core.plugins.section import PluginSection, UserMethodSection
from aggopt.core.registry import Registry
from aggopt.errors import JobError, naming
from aggopt.job._refusal import refused
from aggopt.solvers import SOLVERS

Own = TypeVar("Own", bound=UserMethodSection)
_NAMING = {  # keys that may name it, and its kind; a method has its section's
    "initial": "partitioners",
    "inner": "partitioners",
    "model": "models",
    "solver": "solvers",
    "repair": "repairs",
    "extra": "measures",
    "own": "privacy_models",
}
_INNER = ("categories", "repair")  # sections within sections that name solvers
_METHODS = {**_NAMING, "partition": "partitioners", "aggregation": "aggregators"}


def by_name(section: Any, methods: Registry[Any]) -> Any:
    """Return a section that has a method of this package, or its function, by name."""
    named = section.get("method") if isinstance(section, Mapping) else None
    if named is None or isinstance(named, str):
        return section
    own = methods.declared_as(named)
    return section if own is None else {**section, "method": own.name}


def own_section(
    section: Any, kind: type[UserMethodSection], title: str, job: Any
) -> Any:
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
    return _read(section, kind, title, job)


def model_section(section: Any, job: Any) -> ByModel | None:
    """Return the section of an aggregation by a model of the user's; None without one.

    Raises
    ------
    JobError
        It names a method besides, or a key of it cannot be used.
    """
    if isinstance(section, ByModel):
        return section
    if not isinstance(section, Mapping) or "model" not in section:
        return None
    if section.get("method", "by_model") != "by_model":
        raise JobError(
            "[aggregation] names a method and a model.",
            fix="leave one of them out: a method of this package has its own model.",
        )
    return _read(section, ByModel, "aggregation", job)


def _read(section: Any, kind: type[Own], title: str, job: Any) -> Own:
    try:
        return kind.model_validate(section)
    except Invalid as invalid:
        wrong = invalid.errors(include_url=False)
        placed = [{**e, "loc": (title, "own", *e["loc"])} for e in wrong]
        raise refused(placed, job) from None


def with_paths(sections: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the sections of a job file with the whole path of each file of code."""
    return renamed(sections, lambda _, name: resolve_code_path(folder, name))


def renamed(
    sections: dict[str, Any], change: Callable[[str, str], str], within: str = ""
) -> dict[str, Any]:
    """Return the sections of a job, with `change` applied to names of user code.

    `change` receives the kind of code and the name.
    """
    kinds = {**_NAMING, "method": _METHODS.get(within, "")}
    return {
        key: renamed(value, change, key)
        if isinstance(value, dict)
        else _changed(value, partial(change, kinds[key]), change, key)
        if key in kinds
        else value
        for key, value in sections.items()
    }


def _changed(
    named: Any, own: Callable[[str], str], change: Callable[[str, str], str], key: str
) -> Any:
    """Return the value of a key, with its name or names changed, or its sections."""
    if isinstance(named, list | tuple):
        return [_changed(each, own, change, key) for each in named]
    if isinstance(named, dict):
        return renamed(named, change, key)
    return own(named) if isinstance(named, str) else named


def loaded(job: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the sections of a job that name code of the user's, with it loaded.

    Raises
    ------
    UntrustedCodeError, JobError
        It is not trusted, or cannot be used; the message names the section.
    """
    found = {}
    for title, section in job:
        own = isinstance(section, PluginSection)
        with naming(f"[{title}]"):
            made = with_solver(section.contained() if own else section)
        if made is not section:
            found[title] = made
    return found


def with_solver(section: Any) -> Any:
    """Return a section with the solver of the user's that it names, loaded."""
    named = getattr(section, "solver", None)
    update: dict[str, Any] = {}
    known = named is None or getattr(named, "origin", None) is not None
    if not known and SOLVERS.names_own(named):
        with naming("solver"):
            update["solver"] = SOLVERS.adopted(named)
    for name in _INNER:
        inner = getattr(section, name, None)
        if inner is not None and (made := with_solver(inner)) is not inner:
            update[name] = made
    return section.model_copy(update=update) if update else section


def origins(job: Iterable[tuple[str, Any]]) -> tuple[Origin, ...]:
    """Return the origins of the loaded code of a job's sections."""
    return tuple(method.origin for method in own_methods(job))


def require_told_apart(code: Iterable[Origin]) -> None:
    """Refuse two files of one name for one kind of code: certificates name no folder.

    Raises
    ------
    JobError
        Two files with one name and kind have different bytes.
    """
    seen: dict[tuple[str, str], Origin] = {}
    for origin in code:
        first = seen.setdefault((origin.kind, origin.name), origin)
        if first.sha256 != origin.sha256:
            raise JobError(
                f"The job names two files for {origin.name}, a {KINDS[origin.kind]}: "
                "certificates and manifest could not tell them apart.",
                fix="give one of the files another name.",
            )


def own_methods(job: Iterable[tuple[str, Any]]) -> tuple[Any, ...]:
    """Return the loaded user methods that a job names."""
    named: list[Any] = []
    for _, section in job:
        named += section.own_methods if isinstance(section, PluginSection) else ()
        inner = (getattr(section, name, None) for name in _INNER)
        named += [getattr(each, "solver", None) for each in (section, *inner)]
    return tuple(each for each in named if getattr(each, "origin", None) is not None)
