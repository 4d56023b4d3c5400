"""Base classes of the sections of a job and of the settings of methods."""

from collections.abc import Iterable, Mapping
from functools import reduce
from math import isfinite
from operator import or_
from typing import Annotated, Any

import numpy as np
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, PlainSerializer

from aggopt.core.equality import to_hashable


class Section(BaseModel):
    """A section: it cannot be changed, and refuses keys that it does not have."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def __hash__(self) -> int:
        """Return a hash that is equal for equal sections."""
        return hash((type(self), to_hashable(self.__dict__)))


def to_plain(value: Any) -> Any:
    """Return a value in types that a job file can hold, or refuse it.

    Allowed are text, truth values, whole and finite numbers, and lists and tables of
    these.  Sequences become lists, and NumPy scalars become plain ones, as in a file.

    Raises
    ------
    ValueError
        The value is, or holds, anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: to_plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(inner) for inner in value]
    if isinstance(value, str | bool | int) or (
        isinstance(value, float) and isfinite(value)
    ):
        return value
    received = repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
    if isinstance(value, Mapping):
        received = "a name that is no text"
    raise ValueError(f"{received} in it is neither text, number nor truth value")


Finite = Annotated[float, Field(strict=True, allow_inf_nan=False)]
Options = Annotated[dict[str, Any], AfterValidator(to_plain)]


class MethodSection(Section):
    """A section that names the function it is for."""

    method: str

    @property
    def function(self) -> str:
        """Name of the function of the method, and of its model, if it has one."""
        return self.method

    @property
    def own(self) -> Any:
        """The method itself if it is user code; None for a method of this package."""
        return None

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the method's name: the arguments of its function."""
        return {k: v for k, v in self if k != "method"}


def make_section_union(sections: Iterable[type[MethodSection]]) -> Any:
    """Return the type of a section that names one of several methods."""
    return Annotated[reduce(or_, sections), Field(discriminator="method")]


def _read_solver(value: Any) -> Any:
    """Accept a name, or an object that can be a user solver."""
    if (
        value is None
        or isinstance(value, str)
        or callable(value)
        or _get_solver_name(value)
    ):
        return value
    raise ValueError("it is neither the name of a solver nor one itself")


def _get_solver_name(value: Any) -> str | None:
    """Return the name of a solver, whatever names it."""
    if value is None or isinstance(value, str):
        return value
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    return name if isinstance(name, str) else None


SolverName = Annotated[
    Any, AfterValidator(_read_solver), PlainSerializer(_get_solver_name)
]


class SolverSection(MethodSection):
    """Section of a method that uses a solver."""

    solver: SolverName = None
    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )
    options: Options = Field(default_factory=dict)


def to_int(value: Any) -> Any:
    """Convert NumPy's whole numbers to Python's."""
    return int(value) if isinstance(value, np.integer) else value


def to_plain_number(value: Any) -> Any:
    """Convert NumPy's numbers and truth values to Python's."""
    return value.item() if isinstance(value, np.generic) else value


def list_written_keys(section: Section) -> set[str]:
    """Return the keys whose value is not None; the others can be omitted."""
    written = section.model_fields_set
    return {name for name in written if getattr(section, name) is not None}
