"""The job: what to mask and how.  A TOML file and a Python object say the same."""

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

import numpy as np
from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)
from pydantic import ValidationError as Invalid

from aggopt.errors import JobError, UnknownNameError
from aggopt.input.roles import Roles
from aggopt.input.wishes import Wish

SEPARATORS = (",", ";", "\t", "|")


def _whole(value: Any) -> Any:
    """Let NumPy's whole numbers pass for whole numbers."""
    return int(value) if isinstance(value, np.integer) else value


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the method's name: the arguments of its function."""
        return {k: v for k, v in self if k != "method"}


class Input(_Section):
    """How a CSV file is written: read so, and the release written so.

    `multiline` says that entries may span several lines.  They are refused otherwise,
    because two stray quotes make one entry out of the records between them.
    """

    separator: Literal[",", ";", "\t", "|"] = ","
    decimal: Literal[".", ","] = "."
    multiline: StrictBool = False

    @model_validator(mode="after")
    def _check(self) -> "Input":
        if self.separator == self.decimal:
            raise ValueError("separator and decimal are the same")
        return self


class Privacy(_Section):
    """What the release promises; it is audited on the values that are written."""

    k: Annotated[StrictInt, BeforeValidator(_whole)] = Field(ge=2)


class Mdav(_Section):
    """Settings of `aggopt.partition.mdav`."""

    method: Literal["mdav"] = "mdav"
    ending: Literal["3k", "nearest"] = "3k"


class Cbfs(_Section):
    """Settings of `aggopt.partition.cbfs`."""

    method: Literal["cbfs"]


class Mean(_Section):
    """Settings of `aggopt.aggregate.mean`."""

    method: Literal["mean"] = "mean"
    renormalise: StrictBool = False


class Median(_Section):
    """Settings of `aggopt.aggregate.median`."""

    method: Literal["median"]


class Shifting(_Section):
    """What the aggregations that shift centroids have in common."""

    method: str
    delta: Wish = 0.1
    importance: Wish = 0.001
    solver: str | None = None
    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )
    options: dict[str, Any] = Field(default_factory=dict)


class Squared(Shifting):
    """Those that weigh squares against each other, and that local solvers take."""

    alpha: float = Field(default=0.5, ge=0, le=1, strict=True)
    start: Literal["means", "renormalised", "dual"] | None = None
    starts: StrictInt = Field(default=0, ge=0)
    seed: StrictInt | None = Field(default=None, ge=0)


class P3m(Squared):
    """Settings of `aggopt.aggregate.p3m`."""

    method: Literal["p3m"]


class P3mOnesided(Squared):
    """Settings of `aggopt.aggregate.p3m_onesided`."""

    method: Literal["p3m_onesided"]


class Satisfaction(Shifting):
    """Settings of `aggopt.aggregate.satisfaction`."""

    method: Literal["satisfaction"]
    importance: Wish = 1.0
    price: float = Field(default=1.0, gt=0, allow_inf_nan=False, strict=True)


class Output(_Section):
    """How the release is written.

    Attributes
    ----------
    shuffle
        Write the records in a random order: the order of a table tells who is who.
    seed
        Makes that order the same each time the same table is masked.  Without the
        original table the seed alone does not tell the order.
    round_integers
        Publish whole numbers where the original attribute has them.
    """

    shuffle: StrictBool = True
    seed: StrictInt | None = Field(default=None, ge=0)
    round_integers: StrictBool = False

    @model_validator(mode="after")
    def _check(self) -> "Output":
        if self.seed is not None and not self.shuffle:
            raise ValueError("seed is given, but shuffle is false")
        return self


class Job(_Section):
    """What to mask and how.

    Examples
    --------
    >>> job = Job(
    ...     roles={"quasi-identifier": ["age", "income"], "confidential": ["illness"]},
    ...     privacy={"k": 3},
    ...     aggregation={"method": "p3m", "solver": "uno"},
    ... )
    >>> job.privacy.k, job.partition.method, job.aggregation.method
    (3, 'mdav', 'p3m')
    """

    roles: Roles
    privacy: Privacy
    partition: Annotated[Mdav | Cbfs, Field(discriminator="method")] = Mdav()
    aggregation: Annotated[
        Mean | Median | P3m | P3mOnesided | Satisfaction, Field(discriminator="method")
    ] = Mean()
    input: Input = Input()
    output: Output = Output()

    def __init__(self, **sections: Any) -> None:
        try:
            super().__init__(**sections)
        except Invalid as invalid:
            raise _refusal(invalid) from None

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
        raise _refusal(invalid) from None


def _refusal(invalid: Invalid) -> JobError:
    wrong = invalid.errors(include_url=False)
    first = wrong[0]
    place = [str(part) for part in first["loc"]]
    for wish in ("delta", "importance"):
        if wish in place:
            given = first["input"]
            keys = f" with the keys {sorted(given)}" if isinstance(given, dict) else ""
            most = "from 0 to 1" if wish == "importance" else "of 0 or more"
            return JobError(
                f"{_seen({**first, 'loc': (wish,)})}{keys}.",
                fix=f"write a number {most}, {{ relative = r }}, {{ column = "
                '"NAME" }, or { attributes = { NAME = one of these, ... } }.',
            )
    match first["type"]:
        case "extra_forbidden":
            return _unknown_key(place)
        case "union_tag_invalid":
            return UnknownNameError(
                f"{place[0]} method", str(first["ctx"]["tag"]), _methods(place[0])
            )
        case "union_tag_not_found":
            return JobError(
                f"[{place[0]}] names no method.",
                fix=f"add method = one of {', '.join(_methods(place[0]))}.",
            )
        case "greater_than_equal" if place == ["privacy", "k"]:
            return JobError(
                f"k = {first['input']}.",
                fix="ask for k of at least 2: a group of one publishes the record.",
            )
    return JobError(
        f"The job cannot be used: {'; '.join(_seen(e) for e in wrong)}.",
        fix="correct those entries; `aggopt init` writes a commented job.",
    )


def _seen(error: Any) -> str:
    place = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"{place} is missing"
    given = error["input"]
    plain = given is None or isinstance(given, str | int | float)
    seen = repr(given) if plain else f"a {type(given).__name__}"
    if error["type"] == "too_short":
        return f"{place} is empty"
    return f"{place} is {seen}: {error['msg']}"


def _unknown_key(place: list[str]) -> JobError:
    """Suggest the nearest key of the section that the unknown one stands in."""
    section: Any = Job
    for part in place[:-1]:
        section = _inner(section, part)
    known = [f.alias or name for name, f in section.model_fields.items()]
    where = f"[{'.'.join(place[:-1])}]" if place[1:] else "the job"
    return UnknownNameError(f"key of {where}", place[-1], known)


def _inner(section: Any, part: str) -> Any:
    if isinstance(section, tuple):  # the methods that a section may name
        return next(choice for choice in section if _method(choice) == part)
    kind = section.model_fields[part].annotation
    return get_args(kind) or kind


def _method(section: Any) -> str:
    return str(get_args(section.model_fields["method"].annotation)[0])


def _methods(section: str) -> list[str]:
    return [_method(choice) for choice in _inner(Job, section)]
