"""The section that names measures of the user's, beside those of this package."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from pydantic import (
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from aggopt.core.own_section import Coded
from aggopt.measure import Measure
from aggopt.measure._registry import own_measures


class Measures(Coded):
    """What is measured of a release beside what every release is measured by.

    Attributes
    ----------
    extra
        Files of code, `file.py:NAME`, or entry points; in Python functions
        f(original, released) as well.
    """

    extra: tuple[str, ...] = ()
    _own: Mapping[str, Measure] | None = PrivateAttr(default=None)

    @property
    def own(self) -> Mapping[str, Measure]:
        """The measures by name, once they are loaded."""
        return MappingProxyType({}) if self._own is None else self._own

    @property
    def own_methods(self) -> tuple[Measure, ...]:
        """The measures, once they are loaded."""
        return tuple(self.own.values())

    @model_validator(mode="wrap")
    @classmethod
    def _named(cls, section: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        extra = section.get("extra", ()) if isinstance(section, Mapping) else ()
        if not isinstance(extra, list | tuple) or not any(map(callable, extra)):
            return read(section)
        return cls._with(own_measures(extra))

    def contained(self) -> Self:
        """Return it with its measures loaded; raises as `own_measures`."""
        if self._own is not None or not self.extra:
            return self
        return self._with(own_measures(self.extra))

    @classmethod
    def _with(cls, own: Mapping[str, Measure]) -> Self:
        made = cls(extra=tuple(own))
        made._own = own
        return made
