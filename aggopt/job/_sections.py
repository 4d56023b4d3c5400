"""The sections of a job, and what must hold between them."""

from typing import Any, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from aggopt.aggregate._mean import Mean
from aggopt.aggregate.registry import AGGREGATORS
from aggopt.core.section import Section
from aggopt.errors import JobError, naming, require_known
from aggopt.job._aggregation import Aggregation, OwnAggregating
from aggopt.job._attributes import AttributeSection
from aggopt.job._missing import Missing
from aggopt.job._partition import OwnGrouping, Partition, Recommended
from aggopt.job._privacy import Privacy, require_counted
from aggopt.job._section import Input, Output
from aggopt.job._solvers import require_solvers
from aggopt.job._strata import Strata, require_strata
from aggopt.job._units import Units, require_units
from aggopt.job._weights import Sampling, require_weights
from aggopt.job.engine_section import Engine, require_engine
from aggopt.job.measures_section import Measures
from aggopt.job.risk_section import Risk
from aggopt.job.roles import Roles
from aggopt.job.user_code import make_model_section, make_user_section, replace_by_name
from aggopt.partition.registry import PARTITIONERS


class Sections(Section):
    """The sections of a job; `aggopt.Job` adds its methods."""

    roles: Roles
    attributes: dict[str, AttributeSection] = Field(default_factory=dict)
    missing: Missing = Missing()
    strata: Strata = Strata()
    units: Units = Units()
    weights: Sampling = Sampling()
    privacy: Privacy
    partition: Partition = Recommended()
    aggregation: Aggregation = Mean()
    measures: Measures = Measures()
    risk: Risk = Risk()
    input: Input = Input()
    output: Output = Output()
    engine: Engine = Engine()

    @field_validator("partition", mode="wrap")
    @classmethod
    def _read_recommended(cls, section: Any, read: ValidatorFunctionWrapHandler) -> Any:
        """Read a section without a method as a recommended one."""
        if isinstance(section, dict) and "method" not in section:
            method = "keep_groups" if "keep_groups" in section else "recommended"
            section = {"method": method, **section}
        section = replace_by_name(section, PARTITIONERS)
        return make_user_section(section, OwnGrouping, "partition", cls) or read(
            section
        )

    @field_validator("aggregation", mode="wrap")
    @classmethod
    def _complete_means(cls, section: Any, read: ValidatorFunctionWrapHandler) -> Any:
        """Read a section that speaks of categories alone as one of means."""
        if isinstance(section, dict) and set(section) == {"categories"}:
            section = {"method": "mean", **section}
        if (by_model := make_model_section(section, cls)) is not None:
            return by_model
        section = replace_by_name(section, AGGREGATORS)
        return make_user_section(section, OwnAggregating, "aggregation", cls) or read(
            section
        )

    @model_validator(mode="after")
    def _check(self) -> Self:
        diversity = self.privacy.diversity
        if self.partition.method == "diverse_vmdav" and diversity == "recursive":
            raise JobError(
                "diverse_vmdav makes groups of distinct or entropy diversity, and "
                "[privacy] asks for recursive diversity.",
                fix='choose another partition, such as method = "vmdav", with '
                'repair = "merge", which keeps every requirement; or diversity = '
                '"distinct" or "entropy", without c.',
            )
        for name, attribute in self.attributes.items():
            require_known("quasi-identifier", name, self.roles.combination)
            with naming(f"[attributes.{name}]"):
                attribute.require()
        require_strata(self.strata, self.roles, self.attributes)
        require_units(self.units, self.roles, self.privacy)
        require_engine(self.engine)
        require_weights(self.weights, self.roles, self.strata)
        self.risk.require(self.roles)
        require_counted(self.privacy, self.risk.by(self.roles).weight)
        require_solvers(self.privacy, self.partition, self.aggregation)
        self.partition.require(self.privacy.k)
        return self

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out sections that are empty or have no effect."""
        idle = {
            "attributes": not self.attributes,
            "strata": not self.roles.stratum,
            "units": not self.roles.unit,
            "weights": not self.roles.weight,
            "measures": self.measures.idle,
            "risk": self.risk.idle,
            "engine": self.engine == Engine(),
        }
        return {k: v for k, v in dump(self).items() if not idle.get(k)}
