"""Sections of a job and the methods that they may name, by the types of its fields."""

from typing import Annotated, Any, get_args, get_origin

from aggopt.job._error_text import CATEGORIES


def find_part(section: Any, part: str) -> Any:
    """Return a part of a section: a key's type, or all sections that it may hold."""
    if part == CATEGORIES:  # alike under each method of its section
        return find_part(find_part(section, "aggregation")[0], "categories")
    if isinstance(section, tuple):  # the methods that a section may name
        return next(choice for choice in section if get_method(choice) == part)
    if isinstance(section, dict):  # of sections that the user names
        return section["any"]
    kind = section.model_fields[part].annotation
    if get_origin(kind) is dict:
        return {"any": get_args(kind)[1]}
    choices = _list_choices(kind)
    return choices[0] if len(choices) == 1 else choices or kind


def _list_choices(kind: Any) -> tuple[Any, ...]:
    """Return the types that a field may have, None left out; () of a plain one."""
    if get_origin(kind) is Annotated:
        return _list_choices(get_args(kind)[0])
    choices = tuple(c for c in get_args(kind) if c is not type(None))
    if len(choices) == 1:  # it may be left out
        return _list_choices(choices[0]) or choices
    return choices


def get_method(section: Any) -> str:
    """Return the name of the method that a section is of."""
    return str(get_args(section.model_fields["method"].annotation)[0])


def list_methods(section: str, job: Any) -> list[str]:
    """Return the names of all methods of a section of a job, by its name."""
    return [get_method(choice) for choice in find_part(job, section)]


def list_keys(section: Any) -> list[str]:
    """Return the keys of a section as a job file has them."""
    return [field.alias or name for name, field in section.model_fields.items()]
