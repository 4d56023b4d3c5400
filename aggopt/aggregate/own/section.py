"""The section of a job that names a model of the user's."""

from collections.abc import Mapping
from typing import Any, ClassVar, Literal, Self

from pydantic import ModelWrapValidatorHandler, model_validator

from aggopt.aggregate.own.by_model import by_model, own_model
from aggopt.aggregate.registry import Aggregating, Aggregator
from aggopt.core.plugins.section import UserMethodSection, split_settings
from aggopt.core.registry import Registry
from aggopt.core.section import SolverSection
from aggopt.models import MODELS
from aggopt.models.shared.user_model import OwnModel


class ByModel(UserMethodSection, SolverSection, Aggregating):
    """Settings of `aggopt.aggregate.by_model`; the other keys are the model's.

    Attributes
    ----------
    model
        The name of a file or of an entry point; in Python a function, a module or a
        `Model` as well.
    """

    methods: ClassVar[Registry[Any]] = MODELS
    method: Literal["by_model"] = "by_model"
    model: str

    @property
    def program(self) -> OwnModel:
        """The model, which `contained` has loaded."""
        return self.contained()._own  # type: ignore[return-value]

    @property
    def own(self) -> Aggregator | None:
        """The aggregation by the model, once that is loaded."""
        if self._own is None:
            return None
        return Aggregator(
            name=self._own.name,
            when=self._own.when,
            function=by_model,
            settings=ByModel,
            certificate="what the model minimises, and a bound of what it declares",
            model=self.program,
            origin=self._own.origin,
        )

    @property
    def settings(self) -> dict[str, Any]:
        """The arguments of `by_model`, the model's own among them."""
        how = {name: getattr(self, name) for name in SolverSection.model_fields}
        del how["method"]
        return {"model": self.program, **how, **self.arguments}

    @model_validator(mode="wrap")
    @classmethod
    def _named(cls, section: Any, read: ModelWrapValidatorHandler[Self]) -> Self:
        if not isinstance(section, Mapping):
            return read(section)
        found = split_settings(cls, section)
        if isinstance(section["model"], str):
            return read(found)
        model = own_model(section["model"])
        return read({**found, "model": model.name})._with(model)

    def contained(self) -> Self:
        """Return it with its model loaded and the settings checked; raises as loading.

        Raises
        ------
        JobError
            It is a model of this package.
        """
        return self if self._own is not None else self._with(own_model(self.model))

    def _with(self, own: OwnModel) -> Self:
        arguments = self.checked(own.takes)
        made = self.model_copy(update={"model": own.name, "arguments": arguments})
        made._own = own
        return made
