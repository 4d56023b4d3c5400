"""The section on measures: user measures, and the largest loss of a release."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, Self

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    model_validator,
)

from aggopt.core.plugins.section import PluginSection
from aggopt.measure import Measure
from aggopt.measure.registry import adopt_user_measures


class Measures(PluginSection):
    """Measures of a release in addition to the measures of every release.

    Attributes
    ----------
    extra
        Files of code, `file.py:NAME`, or entry points; in Python functions
        f(original, released) as well.
    largest_loss
        `mask` refuses a release whose information loss (IL) is larger, as a fraction;
        if it is left out, a note reports a loss above 80 %.
    """

    extra: tuple[str, ...] = ()
    largest_loss: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )
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
    def _check_names(cls, section: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        extra = section.get("extra", ()) if isinstance(section, Mapping) else ()
        if not isinstance(extra, list | tuple) or not any(map(callable, extra)):
            return read(section)
        measures = adopt_user_measures(extra)
        return read({**section, "extra": tuple(measures)})._replace_extra(measures)

    @property
    def idle(self) -> bool:
        """Whether the section is empty."""
        return not self.extra and self.largest_loss is None

    def load_contents(self) -> Self:
        """Return it with its measures loaded; raises as `adopt_user_measures`."""
        if self._own is not None or not self.extra:
            return self
        return self._replace_extra(adopt_user_measures(self.extra))

    def _replace_extra(self, measures: Mapping[str, Measure]) -> Self:
        section = self.model_copy(update={"extra": tuple(measures)})
        section._own = measures
        return section
