"""The whole job, made in Python or read from a TOML file."""

from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError as Invalid

from aggopt.core.html import render_html_lines, render_html_section
from aggopt.core.plugins.loading import Origin
from aggopt.core.text_formats import read_toml
from aggopt.errors import JobError, naming
from aggopt.job._refusal import make_job_error
from aggopt.job._section import PSEUDONYM, Input
from aggopt.job._sections import Recommended, Sections
from aggopt.job.earlier_section import EarlierGroups
from aggopt.job.roles import Roles
from aggopt.job.user_code import (
    list_origins,
    load_user_code,
    require_distinct_names,
    with_paths,
)

if TYPE_CHECKING:
    from aggopt.job._privacy import Privacy
    from aggopt.job._section import (
        AttributeSection,
        Missing,
        Output,
        Risk,
        Strata,
        Units,
    )
    from aggopt.job._sections import Aggregation, Measures, Partition, Sampling
    from aggopt.job.engine_section import Engine
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


class Job(Sections):
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
                raise make_job_error(invalid, type(self)) from None

    @property
    def released_roles(self) -> Roles:
        """The roles that are left in a release."""
        pseudonym = {} if self.pseudonym is None else {"unit": (self.pseudonym,)}
        dropped = {"weight": ()} if self.weights.published == "drop" else {}
        return self.roles.released.model_copy(update={**pseudonym, **dropped})

    @property
    def released_attributes(self) -> "dict[str, AttributeSection]":
        """The sections of attributes in a release, whose values are recoded."""
        return {name: section.recoded for name, section in self.attributes.items()}

    @property
    def key_columns(self) -> tuple[str, ...]:
        """The quasi-identifiers that tables of keys name."""
        key_names = {name for table in self.privacy.keys or () for name in table}
        return tuple(name for name in self.roles.quasi_identifier if name in key_names)

    @property
    def influential(self) -> tuple[str, ...]:
        """Attributes that published values depend on: weights and requests, too."""
        published = self.released_roles.published
        more = (*self.roles.weight, *self.roles.wish)
        return (*published, *(name for name in more if name not in published))

    @property
    def released_input(self) -> Input:
        """The settings that write a CSV file of the release, and read it back."""
        return self.input.model_copy(update={"encoding": self.output.encoding})

    @property
    def pseudonym(self) -> str | None:
        """The column of a release that links records of one unit, if any."""
        return PSEUDONYM if self.units.published == "pseudonym" else None

    @property
    def dropped(self) -> tuple[str, ...]:
        """Attributes that no release holds."""
        weight = self.released_roles.weight
        return (*self.roles.dropped, *(n for n in self.roles.weight if n not in weight))

    @property
    def within(self) -> tuple[str, ...]:
        """Columns with one value per group: strata, and unchanged weights."""
        as_is = self.weights.published == "as is"
        return (*self.roles.stratum, *(self.roles.weight if as_is else ()))

    @property
    def combination(self) -> tuple[str, ...]:
        """Attributes whose combination k records share in a release.

        They include a weight if it is published, as the mean of each group or
        unchanged.
        """
        roles = self.released_roles
        return (*roles.combination, *roles.weight)

    def to_toml(self) -> str:
        """Return the job as the text of a TOML file, which `Job.read` reads again.

        All settings with an effect are written, including defaults.  Another version of
        the package, with other defaults, would then mask alike.

        Raises
        ------
        JobError
            It has a Python object, which no file can name.

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
        """Return the job as TOML for a person to read, with the names of objects."""
        import tomlkit  # not needed to mask

        sections = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return tomlkit.dumps(sections)

    def _repr_html_(self) -> str:
        """Return the job as TOML text, for a notebook."""
        return render_html_section("Job", render_html_lines(self.as_text()))

    @classmethod
    def read(
        cls, path: str | Path, *, engine: Mapping[str, Any] = MappingProxyType({})
    ) -> "Job":
        """Return the job in a TOML file.

        `engine` are keys of [engine] that take the place of its own.

        Raises
        ------
        JobError
            The file cannot be read, is not TOML, or holds an unknown key or a value
            out of range; the nearest known key is suggested.
        """
        file = Path(path)
        sections = read_sections(file)
        if engine and isinstance(engine_keys := sections.get("engine", {}), dict):
            sections["engine"] = engine_keys | dict(engine)
        job = cls(**with_paths(sections, file.parent))
        return job.model_copy(update=job._beside(file.parent))

    def _beside(self, folder: Path) -> dict[str, Any]:
        """Return the sections that name files, with their paths seen from a folder."""
        sections: dict[str, Any] = {
            "attributes": {
                n: a.resolve_from(folder) for n, a in self.attributes.items()
            }
        }
        if isinstance(self.partition, EarlierGroups):
            sections["partition"] = self.partition.resolve_from(folder)
        return sections

    def load_contents(self) -> "Job":
        """Return it with the contents of the files that it names, and no path of them.

        The job is then independent of the machine.

        Raises
        ------
        TableError
            The tree of an attribute cannot be read.
        UntrustedCodeError, JobError
            Code that it names is not trusted, or cannot be used.
        """
        sections = {}
        for name, attribute in self.attributes.items():
            with naming(f"Column {name!r}", name):
                sections[name] = attribute.load_contents()
        return self.model_copy(update={"attributes": sections}).load_code()

    def load_code(self) -> "Job":
        """Return it with the code that it names loaded, and its settings checked.

        Raises
        ------
        UntrustedCodeError, JobError
            The caller does not trust a file of it, or it cannot be used; or two files
            of one name are code of one kind.
        """
        job = self.model_copy(update=load_user_code(self))
        require_distinct_names(job.code)
        return job

    @property
    def code(self) -> tuple[Origin, ...]:
        """The origins of the code that it names, once it is loaded."""
        return list_origins(self)


def make_input_section(separator: str, decimal: str, encoding: str = "utf-8") -> Input:
    """Return the section of a CSV file; raises if its settings are invalid.

    >>> make_input_section(";", ",").decimal
    ','
    """
    try:
        keys = {"separator": separator, "decimal": decimal, "encoding": encoding}
        return Input.model_validate(keys)
    except Invalid as invalid:
        raise make_job_error(invalid, Job) from None


def read_sections(file: Path) -> dict[str, Any]:
    """Return the unchecked sections of a TOML file.

    Raises
    ------
    JobError
        The file cannot be read, or is not TOML.
    """
    return read_toml(
        file,
        absent="check the path, or let `aggopt init` write a job to edit.",
        wrong="correct it there; `aggopt init` writes a job to compare with.",
    )


_CHOSEN = "The partition "  # begins the reason of a chosen method, and no other note


def is_partition_reason(note: str) -> bool:
    """Whether a note of a release states which partition was chosen, and why.

    >>> is_partition_reason("The partition 'mdav' was chosen: n = 9 is small.")
    True
    """
    return note.startswith(_CHOSEN)


def choose_partition(
    job: Job,
    n: int,
    d: int,
    distinct: Callable[[], int | None] = lambda: None,
    *,
    weighted: bool = False,
) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a partition method that suits n records, and the reason.

    At most `d` attributes are grouped together.  `distinct` returns the number of
    distinct records, if known.  `weighted` is whether records have unequal sampling
    weights.  A job that names its method is returned unchanged.

    >>> job = Job(roles={"quasi-identifier": ["age"]}, privacy={"k": 5})
    >>> choose_partition(job, n=400, d=4)[0].partition.method
    'local_search'
    """
    partition = job.partition
    if not isinstance(partition, Recommended):
        return job, ()
    from aggopt.partition import recommend
    from aggopt.partition.registry import PARTITIONERS, Bound
    from aggopt.partition.shared.evidence import QUICK

    k = job.privacy.k
    limit = partition.time_limit
    recommendation = recommend(n, d, k, limit, distinct=distinct(), weighted=weighted)
    unchanged_keys: dict[str, Any] = {
        "attributes": partition.attributes,
        "weights": partition.weights,
    }
    uses_bound = PARTITIONERS[recommendation.method].bound is Bound.PAIRS
    if uses_bound:
        unchanged_keys["bound"] = partition.bound
    keys = {
        "method": recommendation.method,
        **unchanged_keys,
        **recommendation.settings,
    }
    section = Job.model_validate(
        {"roles": job.roles, "privacy": {"k": k}, "partition": keys}
    ).partition
    reason = f"{_CHOSEN}{recommendation.method!r} was chosen: {recommendation.reason}"
    if partition.time_limit is not None and "time_limit" not in recommendation.settings:
        reason += " It ends by itself: [partition] time_limit is not needed."
    if partition.bound != QUICK and not uses_bound:
        reason += " It proves its groups itself: [partition] bound is not needed."
    return job.model_copy(update={"partition": section}), (reason,)
