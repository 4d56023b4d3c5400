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
from aggopt.job._refusal import make_validation_error
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


def replace_by_name(section: Any, methods: Registry[Any]) -> Any:
    """Return a section that has a method of this package, or its function, by name."""
    method = section.get("method") if isinstance(section, Mapping) else None
    if method is None or isinstance(method, str):
        return section
    declared = methods.find_declared(method)
    return section if declared is None else {**section, "method": declared.name}


def make_user_section(
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
    method = section.get("method") if isinstance(section, Mapping) else None
    if method is None or not kind.methods.names_user_code(method):
        return None
    return _validate_section(section, kind, title, job)


def make_model_section(section: Any, job: Any) -> ByModel | None:
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
    return _validate_section(section, ByModel, "aggregation", job)


def _validate_section(section: Any, kind: type[Own], title: str, job: Any) -> Own:
    try:
        return kind.model_validate(section)
    except Invalid as invalid:
        wrong = invalid.errors(include_url=False)
        placed = [{**e, "loc": (title, "own", *e["loc"])} for e in wrong]
        raise make_validation_error(placed, job) from None


def with_paths(sections: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Return the sections of a job file with the whole path of each file of code."""
    return rename_user_code(sections, lambda _, name: resolve_code_path(folder, name))


def rename_user_code(
    sections: dict[str, Any], change: Callable[[str, str], str], within: str = ""
) -> dict[str, Any]:
    """Return the sections of a job, with `change` applied to names of user code.

    `change` receives the kind of code and the name.
    """
    kinds = {**_NAMING, "method": _METHODS.get(within, "")}
    return {
        key: rename_user_code(value, change, key)
        if isinstance(value, dict)
        else _change(value, partial(change, kinds[key]), change, key)
        if key in kinds
        else value
        for key, value in sections.items()
    }


def _change(
    value: Any,
    change_entry: Callable[[str], str],
    change: Callable[[str, str], str],
    key: str,
) -> Any:
    """Return the value of a key, with its name or names changed, or its sections."""
    if isinstance(value, list | tuple):
        return [_change(entry, change_entry, change, key) for entry in value]
    if isinstance(value, dict):
        return rename_user_code(value, change, key)
    return change_entry(value) if isinstance(value, str) else value


def load_user_code(job: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return the sections of a job that name code of the user's, with it loaded.

    Raises
    ------
    UntrustedCodeError, JobError
        It is not trusted, or cannot be used; the message names the section.
    """
    sections = {}
    for title, section in job:
        is_plugin = isinstance(section, PluginSection)
        with naming(f"[{title}]"):
            loaded_section = load_solver(
                section.load_contents() if is_plugin else section
            )
        if loaded_section is not section:
            sections[title] = loaded_section
    return sections


def load_solver(section: Any) -> Any:
    """Return a section with the solver of the user's that it names, loaded."""
    solver = getattr(section, "solver", None)
    update: dict[str, Any] = {}
    is_known = solver is None or getattr(solver, "origin", None) is not None
    if not is_known and SOLVERS.names_user_code(solver):
        with naming("solver"):
            update["solver"] = SOLVERS.adopt(solver)
    for name in _INNER:
        inner = getattr(section, name, None)
        if inner is not None and (loaded_part := load_solver(inner)) is not inner:
            update[name] = loaded_part
    return section.model_copy(update=update) if update else section


def list_origins(job: Iterable[tuple[str, Any]]) -> tuple[Origin, ...]:
    """Return the origins of the loaded code of a job's sections."""
    return tuple(method.origin for method in list_user_methods(job))


def require_distinct_names(code: Iterable[Origin]) -> None:
    """Refuse two files of one name for one kind of code: certificates name no folder.

    Raises
    ------
    JobError
        Two files with one name and kind have different bytes.
    """
    origins_by_name: dict[tuple[str, str], Origin] = {}
    for origin in code:
        first = origins_by_name.setdefault((origin.kind, origin.name), origin)
        if first.sha256 != origin.sha256:
            raise JobError(
                f"The job names two files for {origin.name}, a {KINDS[origin.kind]}: "
                "certificates and manifest could not tell them apart.",
                fix="give one of the files another name.",
            )


def list_user_methods(job: Iterable[tuple[str, Any]]) -> tuple[Any, ...]:
    """Return the loaded user methods that a job names."""
    methods: list[Any] = []
    for _, section in job:
        methods += section.own_methods if isinstance(section, PluginSection) else ()
        inner = (getattr(section, name, None) for name in _INNER)
        methods += [getattr(method, "solver", None) for method in (section, *inner)]
    return tuple(
        method for method in methods if getattr(method, "origin", None) is not None
    )
