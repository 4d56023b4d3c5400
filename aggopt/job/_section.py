"""What every section of a job is, and the sections that name no method."""

from collections.abc import Mapping
from math import isfinite
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)

from aggopt.core.equal import hashable

SEPARATORS = (",", ";", "\t", "|")


class Section(BaseModel):
    """A section: it cannot be changed, and refuses keys that it does not have."""

    model_config = ConfigDict(extra="forbid", frozen=True, populate_by_name=True)

    def __hash__(self) -> int:
        """Return the same number for sections that are equal."""
        return hash((type(self), hashable(self.__dict__)))


def plain(value: Any) -> Any:
    """Return what a job file can hold as well, or refuse it.

    That is text, truth values, whole and finite numbers, and lists and tables of them.
    Sequences become lists and NumPy's scalars plain ones, as a file would have them.

    Raises
    ------
    ValueError
        It is, or holds, anything else.
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, Mapping) and all(isinstance(name, str) for name in value):
        return {name: plain(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [plain(inner) for inner in value]
    if isinstance(value, str | bool | int) or (
        isinstance(value, float) and isfinite(value)
    ):
        return value
    seen = repr(value) if isinstance(value, float) else f"a {type(value).__name__}"
    if isinstance(value, Mapping):
        seen = "a name that is no text"
    raise ValueError(f"{seen} in it is neither text, number nor truth value")


Options = Annotated[dict[str, Any], AfterValidator(plain)]


class Method(Section):
    """A section that names the function it is for."""

    method: str

    @property
    def function(self) -> str:
        """What carries the method out; its model, if it has one, has the same name."""
        return self.method

    @property
    def settings(self) -> dict[str, Any]:
        """Everything but the method's name: the arguments of its function."""
        return {k: v for k, v in self if k != "method"}


class Solved(Method):
    """A method that a solver carries out."""

    solver: str | None = None
    time_limit: float | None = Field(
        default=None, gt=0, allow_inf_nan=False, strict=True
    )
    options: Options = Field(default_factory=dict)


def whole(value: Any) -> Any:
    """Let NumPy's whole numbers pass for whole numbers."""
    return int(value) if isinstance(value, np.integer) else value


class Input(Section):
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


DIGITS = 6  # a millionth of the spread: finer than measures are printed
Digits = Annotated[StrictInt, Field(ge=2, le=15), BeforeValidator(whole)]
Decimals = Annotated[StrictInt, Field(ge=-15, le=15), BeforeValidator(whole)]


class Output(Section):
    """How the release is written.

    Attributes
    ----------
    shuffle
        Write the records in a random order: the order of a table tells who is who.
    seed
        Makes that order the same each time one and the same release is written.
        Another release has another secret, which is mixed in, and another order; for
        the same bytes again there is `aggopt repeat`.
    round_integers
        Publish whole numbers where the original attribute has them.
    digits
        How many significant digits of an attribute's standard deviation its published
        values have, 6 when left out: with one of 12.3, values have four decimals.  Or
        "full": as they are computed.
    decimals
        In place of digits: how many decimals all published values have; below 0, how
        many zeros before the point.
    """

    shuffle: StrictBool = True
    seed: StrictInt | None = Field(default=None, ge=0)
    round_integers: StrictBool = False
    digits: Digits | Literal["full"] | None = None
    decimals: Decimals | None = None

    @model_validator(mode="before")
    @classmethod
    def _said(cls, section: Any) -> Any:
        """Let a job that is written down say its digits, which nobody chose."""
        if not isinstance(section, dict):
            return section
        given = section.get("digits"), section.get("decimals")
        return section if given != (None, None) else {**section, "digits": DIGITS}

    @model_validator(mode="after")
    def _check(self) -> "Output":
        if self.seed is not None and not self.shuffle:
            raise ValueError("seed is given, but shuffle is false")
        if self.digits is not None and self.decimals is not None:
            raise ValueError("digits and decimals are given: leave one of them out")
        return self

    @property
    def significant(self) -> int | None:
        """Significant digits of the standard deviation; None where not so rounded."""
        return None if self.digits == "full" else self.digits
