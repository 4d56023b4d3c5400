"""A section of a job that names code of the user's; its other keys are its settings."""

from abc import abstractmethod
from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any, ClassVar, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)

from aggopt.core.plugins.function import UserFunction
from aggopt.core.registry import Method, Registry
from aggopt.core.section import MethodSection, Section, to_plain
from aggopt.errors import JobError


class PluginSection(Section):
    """A section that may name user code."""

    @abstractmethod
    def load_contents(self) -> Self:
        """Return the section with its named code loaded."""

    @property
    @abstractmethod
    def own_methods(self) -> tuple[Method, ...]:
        """The user methods that it names, once they are loaded."""


class UserMethodSection(MethodSection, PluginSection):
    """A section whose method is an entry point, an object in a file or an object.

    `load_contents` loads the named code, not before: reading a job runs no code.  An
    object is checked at once.

    Attributes
    ----------
    arguments
        The keys that the section does not define, written next to its other keys.
    """

    arguments: dict[str, Any] = Field(default_factory=dict)

    methods: ClassVar[Registry[Any]]
    _own: Method | None = PrivateAttr(default=None)

    @property
    def own(self) -> Method | None:
        """The method that it names, once it is loaded."""
        return self._own

    @property
    def own_methods(self) -> tuple[Method, ...]:
        """Its method, once it is loaded."""
        return () if self.own is None else (self.own,)

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of the function."""
        return self.arguments

    @model_validator(mode="wrap")
    @classmethod
    def _adopt_named(cls, section: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(section, Mapping):
            return read(section)
        settings = split_settings(cls, section)
        if isinstance(section["method"], str):
            return read(settings)
        method = cls.methods.adopt(section["method"])
        return read({**settings, "method": method.name})._with_adopted(method)

    @model_serializer(mode="wrap")
    def _flat(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write the settings next to the other keys, as in a job file."""
        keys: dict[str, Any] = dump(self)
        arguments = keys.pop("arguments", {})
        return {**keys, **arguments}

    def check_arguments(self, takes: UserFunction) -> dict[str, Any]:
        """Return the settings of a function, checked; raises as `OwnFunction.checked`.

        If a name is nearest to another key of the section, the error names that key.
        """
        keys = type(self).model_fields.keys() - {"arguments"}
        for name in filter(takes.lacks, self.arguments):
            near = get_close_matches(name.lower(), [*takes.settings, *keys], n=1)
            if near and near[0] in keys:
                raise JobError(
                    f"No setting of {takes.origin.name} is called {name!r}.",
                    fix=f"did you mean {near[0]!r}, a key beside its settings?",
                )
        return takes.check_arguments(self.arguments)

    def load_contents(self) -> Self:
        """Return the section with its named code loaded and its settings checked.

        Raises
        ------
        UntrustedCodeError, JobError
            As `Registry.adopted`; or a setting cannot be used.
        """
        if self._own is not None:
            return self
        return self._with_adopted(self.methods.adopt(self.method))

    def _with_adopted(self, method: Any) -> Self:
        arguments = self.check_arguments(method.function)
        section = self.model_copy(
            update={"method": method.name, "arguments": arguments}
        )
        section._own = method
        return section


def split_settings(
    kind: type[UserMethodSection], section: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the keys of a section, with keys that it does not define as settings."""
    keys = kind.model_fields.keys() - {"arguments"}
    arguments = {k: _read_setting(k, v) for k, v in section.items() if k not in keys}
    return {**{k: section[k] for k in keys & section.keys()}, "arguments": arguments}


def _read_setting(name: str, value: Any) -> Any:
    try:
        return to_plain(value)
    except ValueError as error:
        raise ValueError(f"the setting {name}: {error}") from None
