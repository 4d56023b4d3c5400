"""The whole job, made in Python or read from a TOML file."""

import tomllib
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, field_validator, model_validator
from pydantic import ValidationError as Invalid

from aggopt.aggregate._mean import Mean
from aggopt.core.html import lines, titled
from aggopt.core.regular import require_regular
from aggopt.core.section import Section
from aggopt.errors import JobError
from aggopt.job._aggregation import Aggregation
from aggopt.job._partition import (
    AnonymityFirst,
    Blocked,
    Cbfs,
    ClosenessFirst,
    DiverseVmdav,
    IndividualRanking,
    LocalSearch,
    Mdav,
    MergeUntilClose,
    Mhm,
    Optimal,
    Projection,
    Recommended,
    Univariate,
    Vmdav,
)
from aggopt.job._privacy import Privacy
from aggopt.job._refusal import refusal
from aggopt.job._roles import Roles
from aggopt.job._section import Input, Output
from aggopt.job._solvers import require_solvers


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
    privacy: Privacy
    partition: Annotated[
        Recommended
        | LocalSearch
        | Blocked
        | Optimal
        | Mdav
        | Cbfs
        | Mhm
        | Projection
        | Univariate
        | IndividualRanking
        | Vmdav
        | DiverseVmdav
        | MergeUntilClose
        | AnonymityFirst
        | ClosenessFirst,
        Field(discriminator="method"),
    ] = Recommended()
    aggregation: Aggregation = Mean()
    input: Input = Input()
    output: Output = Output()

    @field_validator("partition", mode="before")
    @classmethod
    def _recommend(cls, section: Any) -> Any:
        """Read a section that names no method as asking for a recommended one."""
        if isinstance(section, dict) and "method" not in section:
            return {"method": "recommended", **section}
        return section

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
                'repair = "merge", which keeps every promise; or diversity = '
                '"distinct" or "entropy", without c.',
            )
        self._require_search()
        return self

    def _require_search(self) -> None:
        """Refuse settings of a search that do not go together, or not with k."""
        how, k = self.partition, self.privacy.k
        require_solvers(self.privacy, how, self.aggregation)
        effort = "default"
        if isinstance(how, LocalSearch | Blocked) and how.seconds is not None:
            effort = how.effort
        if effort != "default":
            raise JobError(
                f"[partition] effort = {effort!r} beside seconds, which say when "
                "the search ends.",
                fix="leave one of the two out.",
            )
        size = how.block_size if isinstance(how, Blocked) else None
        if size is not None and size < 2 * k:
            raise JobError(
                f"[partition] block_size = {size}, and k = {k}.",
                fix=f"write a whole number of at least 2 k = {2 * k}, a thousand or "
                "more if there are that many records, or leave it out.",
            )

    def to_toml(self) -> str:
        """Return the job as the text of a TOML file, which `Job.read` reads again.

        All that acts is written, defaults too: another version of the package, with
        other defaults, would do the same.

        Examples
        --------
        >>> roles = {"quasi-identifier": ["age"]}
        >>> text = Job(roles=roles, privacy={"k": 3}).to_toml()
        >>> [line for line in text.splitlines() if line.startswith("k")]
        ['k = 3']
        """
        import tomlkit  # not needed to mask

        sections = self.model_dump(mode="json", by_alias=True, exclude_none=True)
        return tomlkit.dumps(sections)

    def _repr_html_(self) -> str:
        """Return the job as a file says it, for a notebook."""
        return titled("Job", lines(self.to_toml()))

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
        return cls(**sections)


def input_section(separator: str, decimal: str) -> Input:
    """Return how a CSV file is written, or say what is wrong with it."""
    try:
        return Input.model_validate({"separator": separator, "decimal": decimal})
    except Invalid as invalid:
        raise refusal(invalid, Job) from None


def settled(job: Job, n: int, d: int) -> tuple[Job, tuple[str, ...]]:
    """Return the job with a partition method that suits n records, and the reason.

    `d` attributes are grouped together, at most.  A job that names its method is
    returned as it is.
    """
    how = job.partition
    if not isinstance(how, Recommended):
        return job, ()
    from aggopt.partition import recommend

    found = recommend(n, d, job.privacy.k, how.seconds)
    named = {"method": found.method, "attributes": how.attributes, **found.settings}
    section = Job.model_validate(
        {"roles": job.roles, "privacy": job.privacy, "partition": named}
    ).partition
    reason = f"The partition {found.method!r} was chosen: {found.reason}"
    if how.seconds is not None and "seconds" not in found.settings:
        reason += " It ends by itself: [partition] seconds is not needed."
    return job.model_copy(update={"partition": section}), (reason,)
