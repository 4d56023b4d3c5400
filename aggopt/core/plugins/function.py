"""A user function, called like a method of this package."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from inspect import Parameter, Signature, signature
from numbers import Real
from typing import Any, ClassVar, Literal, Self, get_args, get_origin

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError

from aggopt.core.plugins.loading import KINDS, Origin, reload_plugin
from aggopt.core.section import to_plain
from aggopt.errors import JobError, UnknownNameError, require_known

_KINDS: dict[type[Any], str] = {  # of a default, and how messages call it
    bool: "true or false",
    Real: "a number",
    str: "text",
    list: "a list",
    tuple: "a list",
    dict: "a table",
}


def require_setting(owner: str, name: str, value: object, setting: Parameter) -> None:
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
    adapter = _make_type_adapter(setting.annotation)
    if adapter is None:
        _require_kind(owner, name, value, setting.default)
        return
    names = _list_literal_names(setting.annotation)
    if names and isinstance(value, str):
        require_known(f"{name} of {owner}", value, names)
    try:
        _validate(adapter, value)
    except ValidationError as invalid:
        wrong = invalid.errors(include_url=False, include_input=False)[0]["msg"]
        raise JobError(
            f"{name} of {owner} is of type {type(value).__name__}, and cannot be used.",
            fix=f"{wrong[:1].lower()}{wrong[1:]}.",
        ) from None


def _make_type_adapter(annotation: Any) -> TypeAdapter[Any] | None:
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


def _list_literal_names(annotation: Any) -> list[str]:
    """Return the names that an annotation lists, if it lists nothing else."""
    every = get_args(annotation) if get_origin(annotation) is Literal else ()
    return list(every) if all(isinstance(name, str) for name in every) else []


def _require_kind(owner: str, name: str, value: object, default: object) -> None:
    kind = next(
        (plain_kind for plain_kind in _KINDS if isinstance(default, plain_kind)), object
    )
    truth = isinstance(value, bool) and kind is Real
    listed = isinstance(value, list | tuple) and kind in (list, tuple)
    if truth or not (listed or isinstance(value, kind)):
        raise JobError(
            f"{name} of {owner} is of type {type(value).__name__}.",
            fix=f"write {_KINDS[kind]}, as its default is.",
        )


_BY_PLACE = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
_ANY_DATA = Parameter.VAR_POSITIONAL
_ANY_SETTING = Parameter.VAR_KEYWORD


@dataclass(frozen=True)
class UserFunction:
    """A user function and its origin.

    Another process that receives it loads it from identical bytes.

    Attributes
    ----------
    data
        Names, in messages, of its positional arguments.  All other arguments are
        settings, except those that are `offered` by name.
    """

    function: Callable[..., Any] = field(repr=False)
    origin: Origin

    data: ClassVar[tuple[str, ...]] = ()
    offered: ClassVar[tuple[str, ...]] = ("progress",)

    @classmethod
    def of(cls, thing: object, origin: Origin, taken: frozenset[str]) -> Self:
        """Return a function that can become a method.

        Raises
        ------
        JobError
            `thing` is not a function, does not take the data, or has an argument whose
            name is `taken` by other keys of its section.
        """
        noun = KINDS[origin.kind]
        wanted = ", ".join(cls.data)
        fix = f"write it as a function of ({wanted}, *, its settings by name)."
        if not callable(thing):
            raise JobError(
                f"The {noun} {origin.name} is of type {type(thing).__name__}, and no "
                "function.",
                fix=fix,
            )
        function = cls(thing, origin)
        if len(function._by_place) < len(cls.data) and not function._has_parameter_kind(
            _ANY_DATA
        ):
            raise JobError(f"The {noun} {origin.name} does not take {wanted}.", fix=fix)
        clash = sorted(taken & function.settings.keys())
        if clash:
            raise JobError(
                f"The {noun} {origin.name} takes {', '.join(clash)}, which a job has "
                "for something else.",
                fix="give its arguments other names.",
            )
        return function

    @cached_property
    def _arguments(self) -> tuple[Parameter, ...]:
        try:
            return tuple(_read_signature(self.function).parameters.values())
        except (TypeError, ValueError):  # some compiled functions have no signature
            return ()

    def _has_parameter_kind(self, kind: Any) -> bool:
        return any(p.kind is kind for p in self._arguments)

    @property
    def _by_place(self) -> list[Parameter]:
        """The arguments that are data."""
        parameters = [p for p in self._arguments if p.kind in _BY_PLACE]
        return parameters[: len(self.data)]

    @property
    def settings(self) -> dict[str, Parameter]:
        """Its settings by name."""
        return {
            p.name: p
            for p in self._arguments[len(self._by_place) :]
            if p.kind not in (_ANY_DATA, _ANY_SETTING) and p.name not in self.offered
        }

    def takes(self, name: str) -> bool:
        """Whether it has an argument of this name."""
        return any(p.name == name for p in self._arguments)

    def lacks(self, name: str) -> bool:
        """Whether it has no setting of this name."""
        return name not in self.settings and not self._has_parameter_kind(_ANY_SETTING)

    def check_arguments(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the settings that a job gives, and the defaults of all others.

        Raises
        ------
        UnknownNameError
            The function has no setting of this name; the error names the nearest.
        JobError
            The function has no settings, one is missing, or one is not of the type of
            its annotation or default.
        """
        defaults = self.settings
        for name in filter(self.lacks, settings):
            raise self._make_unknown_error(name)
        lacking = [
            name
            for name, p in defaults.items()
            if name not in settings and p.default is Parameter.empty
        ]
        if lacking:
            raise JobError(
                f"{self.origin.name} needs {', '.join(lacking)}.",
                fix="give each of them a value in the job.",
            )
        for name, value in settings.items():
            if name in defaults:
                require_setting(self.origin.name, name, value, defaults[name])
        return {**_list_plain_defaults(defaults), **settings}

    def _make_unknown_error(self, name: str) -> JobError:
        if self.settings:
            return UnknownNameError(
                f"setting of {self.origin.name}", name, self.settings
            )
        return JobError(
            f"{self.origin.name} takes no settings, and the job gives it {name!r}.",
            fix=f"leave {name!r} out.",
        )

    def run(self, /, *data: Any, **settings: Any) -> Any:
        """Return the result of a call that omits `offered` names it does not take.

        Raises
        ------
        JobError
            The function fails.
        """
        keywords = {
            name: value
            for name, value in settings.items()
            if name not in self.offered or (self.takes(name) and value is not None)
        }
        return self.origin.run(self.function, *data, **keywords)

    def __reduce__(self) -> tuple[Any, ...]:
        if self.origin.where == "object":
            return type(self), (self.function, self.origin)
        return _reload_function, (type(self), self.origin)


def _read_signature(function: Callable[..., Any]) -> Signature:
    """Return a signature, with annotations in text evaluated if possible."""
    try:
        return signature(function, eval_str=True)
    except (NameError, AttributeError, SyntaxError):
        return signature(function)


def _reload_function(kind: type[UserFunction], origin: Origin) -> UserFunction:
    return kind(reload_plugin(origin), origin)


def _list_plain_defaults(settings: Mapping[str, Parameter]) -> dict[str, Any]:
    """Return the defaults that a job file can hold as well."""
    defaults = {}
    for name, parameter in settings.items():
        if parameter.default is Parameter.empty:
            continue
        try:
            defaults[name] = to_plain(parameter.default)
        except ValueError:
            continue
    return defaults
