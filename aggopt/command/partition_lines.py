"""Lines of a new job on partition methods: names, when to use them, settings."""

import json
from collections.abc import Iterator
from types import UnionType
from typing import Any, Literal, Union, get_args, get_origin

from pydantic.fields import FieldInfo

from aggopt.partition.registry import PARTITIONERS, AttributeUse

EXPLAINED = ("method", "attributes", "time_limit", "solver", "options")
KINDS = {int: "a whole number", float: "a number", str: "a name", dict: "a table"}
Setting = tuple[str, str, str]  # how it is written, what else it may be, of which


def list_partition_settings() -> Iterator[Setting]:
    """Yield each setting of a partitioner that the template does not explain itself.

    Those of one name and default are one: `effort = "default"`, 'or "fast", "best"',
    "local_search, blocked".  A setting without a default is written as its name, and
    said to be a number, a whole one, or a name.
    """
    takers: dict[tuple[str, str], list[str]] = {}
    for method in PARTITIONERS.values():
        for name, field in method.settings.model_fields.items():
            if name not in EXPLAINED:
                takers.setdefault(_format_setting(name, field), []).append(method.name)
    yield from ((*setting, ", ".join(names)) for setting, names in takers.items())


def name_univariate_methods() -> str:
    """Return the names of methods that take no `attributes`."""
    return ", ".join(
        name
        for name, method in PARTITIONERS.items()
        if method.takes is AttributeUse.EACH
    )


def _format_setting(name: str, field: FieldInfo) -> tuple[str, str]:
    if field.default is None or field.is_required():
        return name, KINDS.get(_resolve_type(field.annotation), "see its method")
    others = [json.dumps(c) for c in _list_choices(field) if c != field.default]
    says = f"or {', '.join(others)}" if others else ""
    return f"{name} = {json.dumps(field.get_default(call_default_factory=True))}", says


def _list_choices(field: FieldInfo) -> tuple[Any, ...]:
    is_literal = get_origin(field.annotation) is Literal
    return get_args(field.annotation) if is_literal else ()


def _resolve_type(annotation: Any) -> Any:
    """Return the plain type of an annotation that may be None, or Annotated."""
    if get_origin(annotation) in (UnionType, Union):
        annotation = next(a for a in get_args(annotation) if a is not type(None))
    return getattr(annotation, "__origin__", annotation)
