"""The whole job, made in Python or read from a TOML file."""

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)
from pydantic import ValidationError as Invalid

from aggopt.aggregate._mean import Mean
from aggopt.aggregate._registry import AGGREGATORS
from aggopt.core.html import lines, titled
from aggopt.core.own_code import Origin
from aggopt.core.regular import require_regular
from aggopt.core.section import Section
from aggopt.errors import JobError, naming, require_known
from aggopt.job._aggregation import Aggregation, OwnAggregating
from aggopt.job._attributes import AttributeSection
from aggopt.job._earlier import EarlierGroups
from aggopt.job._engine import Engine, require_engine
from aggopt.job._measures import Measures
from aggopt.job._missing import Missing
from aggopt.job._own import (
    by_name,
    loaded,
    model_section,
    origins,
    own_section,
    require_told_apart,
    with_paths,
)
from aggopt.job._partition import OwnGrouping, Partition, Recommended
from aggopt.job._privacy import Privacy
from aggopt.job._refusal import refusal
from aggopt.job._risk import Risk
from aggopt.job._roles import Roles
from aggopt.job._section import Input, Output
from aggopt.job._solvers import require_solvers
from aggopt.job._strata import Strata, require_strata
from aggopt.job._units import Units, require_units
from aggopt.job._weights import Sampling, require_weights
from aggopt.partition._registry import PARTITIONERS

if TYPE_CHECKING:
    from aggopt.job.keys import (
        AggregationKeys,
        AttributeKeys,
        EngineKeys,
        InputKeys,
        MeasuresKeys,
        MissingKeys,
        OutputKeys,
        PartitionKeys,
        PrivacyKeys,
        RiskKeys,
        RoleNames,
        StrataKeys,
        UnitsKeys,
        WeightsKeys,
    )


class Job(Section):
    """What to mask and how.

    Examples
    --------
    >>> job = Job(
    ...     roles={"quasi-identifier": ["age", "income"], "confidential": ["illness"]},
    ...     privacy={"k": 3},
    ...     aggregation={"method": "p3m", "solver": "uno"},
    ... )
    >>> job.privacy.k, job.partition.method, job.aggregation.method
    (3, 'recommended', 'p3m')
    """

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
    def _recommend(cls, section: Any, read: ValidatorFunctionWrapHandler) -> Any:
        """Read a section that names no method as asking for a recommended one."""
        if isinstance(section, dict) and "method" not in section:
            named = "keep_groups" if "keep_groups" in section else "recommended"
            section = {"method": named, **section}
        section = by_name(section, PARTITIONERS)
        return own_section(section, OwnGrouping, "partition", cls) or read(section)

    @field_validator("aggregation", mode="wrap")
    @classmethod
    def _means(cls, section: Any, read: ValidatorFunctionWrapHandler) -> Any:
        """Read a section that speaks of categories alone as one of means."""
        if isinstance(section, dict) and set(section) == {"categories"}:
            section = {"method": "mean", **section}
        if (by_model := model_section(section, cls)) is not None:
            return by_model
        section = by_name(section, AGGREGATORS)
        return own_section(section, OwnAggregating, "aggregation", cls) or read(section)

    if TYPE_CHECKING:

        def __init__(
            self,
            *,
            roles: RoleNames | Roles,
            privacy: PrivacyKeys | Privacy,
            attributes: Mapping[str, AttributeKeys | AttributeSection] = ...,
            missing: MissingKeys | Missing = ...,
            strata: StrataKeys | Strata = ...,
            units: UnitsKeys | Units = ...,
            weights: WeightsKeys | Sampling = ...,
            partition: PartitionKeys | Partition = ...,
            aggregation: AggregationKeys | Aggregation = ...,
            measures: MeasuresKeys | Measures = ...,
            risk: RiskKeys | Risk = ...,
            input: InputKeys | Input = ...,
            output: OutputKeys | Output = ...,
            engine: EngineKeys | Engine = ...,
        ) -> None: ...

    else:

        def __init__(self, **sections: Any) -> None:
            try:
                super().__init__(**sections)
            except Invalid as invalid:
                raise refusal(invalid, type(self)) from None

    @model_validator(mode="after")
    def _check(self) -> "Job":
        asked = self.privacy.diversity
        if self.partition.method == "diverse_vmdav" and asked == "recursive":
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
        self._require_search()
        return self

    @model_serializer(mode="wrap")
    def _dump(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out sections of what there is none of."""
        idle = {
            "attributes": not self.attributes,
            "strata": not self.roles.stratum,
            "units": not self.roles.unit,
            "weights": not self.roles.weight,
            "measures": not self.measures.extra,
            "risk": self.risk.idle,
            "engine": self.engine == Engine(),
        }
        return {k: v for k, v in dump(self).items() if not idle.get(k)}

    @property
    def released_roles(self) -> Roles:
        """The roles that are left in a release."""
        roles = self.roles.released
        dropped = self.weights.published == "drop"
        return roles.model_copy(update={"weight": ()}) if dropped else roles

    @property
    def dropped(self) -> tuple[str, ...]:
        """Attributes that no release holds."""
        kept = self.released_roles.weight
        return (*self.roles.dropped, *(n for n in self.roles.weight if n not in kept))

    @property
    def within(self) -> tuple[str, ...]:
        """Columns within whose values groups lie: strata, and weights as they are."""
        as_is = self.weights.published == "as is"
        return (*self.roles.stratum, *(self.roles.weight if as_is else ()))

    @property
    def combination(self) -> tuple[str, ...]:
        """Attributes whose combination k records share in a release.

        A weight is among them where it is published: the same for each group, or as it
        is.
        """
        roles = self.released_roles
        return (*roles.combination, *roles.weight)

    def _require_search(self) -> None:
        """Refuse settings of a search that do not go together, or not with k."""
        require_solvers(self.privacy, self.partition, self.aggregation)
        self.partition.require(self.privacy.k)

    def to_toml(self) -> str:
        """Return the job as the text of a TOML file, which `Job.read` reads again.

        All that acts is written, defaults too: another version of the package, with
        other defaults, would do the same.

        Raises
        ------
        JobError
            It has an object of Python's, which no file names.

        Examples
        --------
        >>> roles = {"quasi-identifier": ["age"]}
        >>> text = Job(roles=roles, privacy={"k": 3}).to_toml()
        >>> [line for line in text.splitlines() if line.startswith("k =")]
        ['k = 3']
        """
        for origin in self.code:
            if origin.where == "object":
                raise JobError(
                    f"{origin.name} is an object of Python's, which no job file names.",
                    fix=f'write it into a file, and name it "FILE.py:{origin.name}".',
                )
        return self.as_text()

    def as_text(self) -> str:
        """Return the same for a person to read, objects by their names."""
        import tomlkit  # not needed to mask

        sections = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return tomlkit.dumps(sections)

    def _repr_html_(self) -> str:
        """Return the job as a file says it, for a notebook."""
        return titled("Job", lines(self.as_text()))

    @classmethod
    def read(cls, path: str | Path) -> "Job":
        """Return the job in a TOML file.

        Raises
        ------
        JobError
            The file cannot be read, is not TOML, or holds an unknown key or a value
            out of range; the nearest known key is suggested.
        """
        file = Path(path)
        if file.exists():
            require_regular(file, JobError)
        try:
            sections = tomllib.loads(file.read_text(encoding="utf-8-sig"))
        except OSError as error:
            raise JobError(
                f"{file} cannot be read: {error.strerror}.",
                fix="check the path, or let `aggopt init` write a job to edit.",
            ) from None
        except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
            raise JobError(
                f"{file} is not a TOML file: {error}.",
                fix="correct it there; `aggopt init` writes a job to compare with.",
            ) from None
        job = cls(**with_paths(sections, file.parent))
        folder, how = file.parent, job.partition
        seen: dict[str, Any] = {
            "attributes": {name: a.beside(folder) for name, a in job.attributes.items()}
        }
        if isinstance(how, EarlierGroups):
            seen["partition"] = how.beside(folder)
        return job.model_copy(update=seen)

    def contained(self) -> "Job":
        """Return it with the contents of the files that it names, and no path of them.

        So it says the same on another machine.

        Raises
        ------
        TableError
            The tree of an attribute cannot be read.
        UntrustedCodeError, JobError
            Code that it names is not trusted, or cannot be used.
        """
        found = {}
        for name, attribute in self.attributes.items():
            with naming(f"Column {name!r}"):
                found[name] = attribute.contained()
        return self.model_copy(update={"attributes": found}).loaded()

    def loaded(self) -> "Job":
        """Return it with the code that it names loaded, and its settings checked.

        Raises
        ------
        UntrustedCodeError, JobError
            The caller does not trust a file of it, or it cannot be used; or two files
            of one name are code of one kind.
        """
        job = self.model_copy(update=loaded(self))
        require_told_apart(job.code)
        return job

    @property
    def code(self) -> tuple[Origin, ...]:
        """Where the code is from that it names, once it is loaded."""
        return origins(self)


def input_section(separator: str, decimal: str) -> Input:
    """Return how a CSV file is written, or say what is wrong with it.

    >>> input_section(";", ",").decimal
    ','
    """
    try:
        return Input.model_validate({"separator": separator, "decimal": decimal})
    except Invalid as invalid:
        raise refusal(invalid, Job) from None


def settled(
    job: Job,
    n: int,
    d: int,
    distinct: Callable[[], int | None] = lambda: None,
    *,
    weighted: bool = False,
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a partition method that suits n records, and the reason.

    `d` attributes are grouped together, at most; `distinct` returns how many records
    differ, if that is known; `weighted` is whether they have sampling weights that do.
    A job that names its method is returned as it is.

    >>> job = Job(roles={"quasi-identifier": ["age"]}, privacy={"k": 5})
    >>> settled(job, n=400, d=4)[0].partition.method
    'local_search'
    """
    how = job.partition
    if not isinstance(how, Recommended):
        return job, ()
    from aggopt.partition import recommend

    k, limit = job.privacy.k, how.time_limit
    found = recommend(n, d, k, limit, distinct=distinct(), weighted=weighted)
    kept = {"attributes": how.attributes, "weights": how.weights}
    named = {"method": found.method, **kept, **found.settings}
    section = Job.model_validate(
        {"roles": job.roles, "privacy": job.privacy, "partition": named}
    ).partition
    reason = f"The partition {found.method!r} was chosen: {found.reason}"
    if how.time_limit is not None and "time_limit" not in found.settings:
        reason += " It ends by itself: [partition] time_limit is not needed."
    return job.model_copy(update={"partition": section}), (reason,)
