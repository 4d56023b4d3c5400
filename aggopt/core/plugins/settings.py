"""Valid values for a setting of a user function, from its annotation or default."""

import json
from inspect import Parameter
from numbers import Real
from typing import Any, Literal, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from aggopt.core.section import to_plain
from aggopt.errors import JobError, require_known

_KINDS: dict[type[Any], str] = {  # of a default, and how messages call it
    bool: "true or false",
    Real: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}


def require_setting(of: str, name: str, value: object, setting: Parameter) -> None:
    """Refuse a value that does not fit the annotation or default of its argument.

    No message contains the value: an array may have one entry for each record.

    Raises
    ------
    UnknownNameError
        The annotation lists names, and the value is not one; the error names the
        nearest.
    JobError
        The value has another type than annotation or default, or is out of range.
    """
    adapter = _type_adapter(setting.annotation)
    if adapter is None:
        _require_kind(of, name, value, setting.default)
        return
    names = _literal_names(setting.annotation)
    if names and isinstance(value, str):
        require_known(f"{name} of {of}", value, names)
    try:
        _validate(adapter, value)
    except ValidationError as invalid:
        wrong = invalid.errors(include_url=False, include_input=False)[0]["msg"]
        raise JobError(
            f"{name} of {of} is of type {type(value).__name__}, and cannot be used.",
            fix=f"{wrong[:1].lower()}{wrong[1:]}.",
        ) from None


def _type_adapter(annotation: Any) -> TypeAdapter[Any] | None:
    """Return a validator for an annotation; None if a job cannot use the annotation."""
    if annotation is Parameter.empty or isinstance(annotation, str):
        return None
    try:
        return TypeAdapter(annotation)
    except PydanticUserError:  # for example of an array
        return None


def _validate(adapter: TypeAdapter[Any], value: object) -> None:
    """Validate a value as in a job file, whose sequences are lists."""
    try:
        written = json.dumps(to_plain(value))
    except ValueError:
        adapter.validate_python(value, strict=True)
    else:
        adapter.validate_json(written, strict=True)


def _literal_names(annotation: Any) -> list[str]:
    """Return the names that an annotation lists, if it lists nothing else."""
    every = get_args(annotation) if get_origin(annotation) is Literal else ()
    return list(every) if all(isinstance(each, str) for each in every) else []


def _require_kind(of: str, name: str, value: object, default: object) -> None:
    kind = next((each for each in _KINDS if isinstance(default, each)), object)
    truth = isinstance(value, bool) and kind is Real
    listed = isinstance(value, list | tuple) and kind in (list, tuple)
    if truth or not (listed or isinstance(value, kind)):
        raise JobError(
            f"{name} of {of} is of type {type(value).__name__}.",
            fix=f"write {_KINDS[kind]}, as its default is.",
        )
