"""The sections of a job, and what must hold between them."""

from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

from pydantic import (
    Field,
    ModelWrapValidatorHandler,
    PrivateAttr,
    SerializeAsAny,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from aggopt.aggregate import Mean
from aggopt.aggregate.registry import AGGREGATORS, Aggregating
from aggopt.core.plugins.section import PluginSection, UserMethodSection
from aggopt.core.registry import Registry
from aggopt.core.section import (
    MethodSection,
    Section,
    SolverSection,
    list_written_keys,
    make_section_union,
)
from aggopt.errors import JobError, SolverError, naming
from aggopt.job._key_tables import require_key_tables
from aggopt.job._privacy import Privacy, require_counted
from aggopt.job._section import (
    AttributeSection,
    Input,
    Missing,
    Output,
    Risk,
    Strata,
    Units,
    require_effect,
    require_strata,
    require_units_section,
)
from aggopt.job.earlier_section import EarlierGroups
from aggopt.job.engine_section import Engine, require_engine
from aggopt.job.roles import Roles
from aggopt.job.user_code import make_model_section, make_user_section, replace_by_name
from aggopt.measure import Measure
from aggopt.measure.registry import adopt_user_measures
from aggopt.partition.registry import PARTITIONERS, require_bound_used
from aggopt.partition.shared.settings import Grouping, Seconds
from aggopt.repair.registry import REPAIRS

if TYPE_CHECKING:
    Aggregation: TypeAlias = Aggregating
else:
    Aggregation = SerializeAsAny[
        make_section_union(m.settings for m in AGGREGATORS.values())
    ]


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


class Recommended(Grouping):
    """The method that `aggopt.partition.recommend` chooses for table and time."""

    method: Literal["recommended"] = "recommended"
    time_limit: Seconds | None = None


class OwnGrouping(UserMethodSection, Grouping):
    """A user's partition method; the other keys are its settings."""

    methods: ClassVar[Registry[Any]] = PARTITIONERS


if TYPE_CHECKING:
    Partition: TypeAlias = Grouping
else:
    partitioner_sections = [method.settings for method in PARTITIONERS.values()]
    Partition = SerializeAsAny[
        make_section_union([Recommended, EarlierGroups, *partitioner_sections])
    ]


class OwnAggregating(UserMethodSection, Aggregating):
    """A user's aggregation; the other keys are its settings."""

    methods: ClassVar[Registry[Any]] = AGGREGATORS


class Sampling(Section):
    """Published sampling weights, and the requirement on the weights in a group.

    Attributes
    ----------
    published
        The weights in a release: the "group mean"; no column, "drop"; or unchanged
        weights, "as is", which are then part of every combination that k refers to.
    dominance
        No record has more than this share of the weight of its group.  [privacy]
        dominance refers to amounts, and only causes notes.
    """

    published: Literal["group mean", "drop", "as is"] = "group mean"
    dominance: float = Field(default=0.6, gt=0, le=1, allow_inf_nan=False, strict=True)


def require_weights_section(weights: Sampling, roles: Roles, strata: Strata) -> None:
    """Refuse settings of weights that cannot be satisfied.

    Raises
    ------
    JobError
        No column has weights; or they are published unchanged, which makes them a
        stratum, and strata are to be merged.
    """
    if list_written_keys(weights) and not roles.weight:
        raise JobError(
            "[weights] is given, and no column has the role weight.",
            fix='name that of the sampling weights, under [roles]: weight = "NAME"; '
            "or leave the section out.",
        )
    if weights.published == "as is" and strata.small == "merge":
        raise JobError(
            '[weights] published = "as is" makes groups within equal weights, and '
            '[strata] small = "merge" would publish records with those of others.',
            fix='set published = "group mean" under [weights], or small = "refuse" or '
            '"drop" under [strata].',
        )


def require_solvers(
    privacy: Privacy, partition: MethodSection, aggregation: MethodSection
) -> None:
    """Refuse a solver that is unknown, or that does not take its section's model.

    Its installation is checked later, because a job is valid on every machine.

    Raises
    ------
    UnknownNameError, JobError
        The message names the section, and the solvers that take the model.
    """
    for section, name, title in _list_solvers(privacy, partition, aggregation):
        from aggopt.models import MODELS
        from aggopt.solvers import SOLVERS, choose_solver

        if SOLVERS.names_user_code(name):
            continue  # to read a job runs no code
        with suppress(SolverError), naming(f"[{section}] solver"):
            choose_solver(name, *MODELS[title].kinds)


def _list_solvers(
    privacy: Privacy, partition: MethodSection, aggregation: MethodSection
) -> Iterator[tuple[str, str, str]]:
    """Yield the section, the solver and the model of each solver that is named."""
    repair = privacy.repair
    if repair is not None and repair.solver is not None:
        model = REPAIRS[repair.method].model
        if model is not None:
            yield "privacy", repair.solver, model
    solver = getattr(partition, "solver", None)
    if solver is not None and (registered := PARTITIONERS.of(partition).model):
        yield "partition", solver, registered
    for section, section_value in (
        ("aggregation", aggregation),
        ("aggregation.categories", getattr(aggregation, "categories", None)),
    ):
        if isinstance(section_value, UserMethodSection):
            continue  # of whose model nothing is known before it is loaded
        if (
            isinstance(section_value, SolverSection)
            and section_value.solver is not None
        ):
            yield section, section_value.solver, section_value.function


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
        require_effect(self.attributes, self.roles, self.strata)
        for name, attribute in self.attributes.items():
            with naming(f"[attributes.{name}]"):
                attribute.require()
        require_strata(self.strata, self.roles)
        self._require_unrecoded_waves()
        require_key_tables(self)
        require_units_section(self.units, self.roles, self.privacy)
        require_engine(self.engine)
        require_weights_section(self.weights, self.roles, self.strata)
        self.risk.require(self.roles)
        require_counted(self.privacy, self.risk.by(self.roles).weight)
        require_solvers(self.privacy, self.partition, self.aggregation)
        self.partition.require(self.privacy.k)
        require_bound_used(self.partition, self.missing.policy)
        return self

    def _require_unrecoded_waves(self) -> None:
        """Refuse recodings of a table that is compared with an earlier one."""
        recoded = [
            name for name, section in self.attributes.items() if section.is_recoded
        ]
        if recoded and getattr(self.partition, "tables", []):
            raise JobError(
                f"[attributes.{recoded[0]}] is recoded, and [partition] earlier names "
                "a table that is not.",
                fix="recode both tables before masking, or leave earlier out.",
            )

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
