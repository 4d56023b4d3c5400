"""The sections that name no method: how files are read and written."""

from typing import Annotated, Any, Literal

from pydantic import (
    BeforeValidator,
    Field,
    StrictBool,
    StrictInt,
    model_validator,
)

from aggopt.core.section import Section, to_int

SEPARATORS = (",", ";", "\t", "|")
Encoding = Literal["utf-8", "cp1252", "latin-1"]


class Input(Section):
    """The format of CSV files, of the input and of the release.

    `multiline` allows entries that span several lines.  Otherwise they are refused,
    because two stray quotes make one entry out of the records between them.  The
    `encoding` applies to the input file; [output] has the encoding of the release.
    """

    separator: Literal[",", ";", "\t", "|"] = ","
    decimal: Literal[".", ","] = "."
    multiline: StrictBool = False
    encoding: Encoding = "utf-8"

    @model_validator(mode="after")
    def _check(self) -> "Input":
        if self.separator == self.decimal:
            raise ValueError("separator and decimal are the same")
        return self


DIGITS = 6  # a millionth of the spread: finer than measures are printed
Digits = Annotated[StrictInt, Field(ge=2, le=15), BeforeValidator(to_int)]
Decimals = Annotated[StrictInt, Field(ge=-15, le=15), BeforeValidator(to_int)]


class Output(Section):
    """The form of the written release.

    Attributes
    ----------
    shuffle
        Write the records in a random order, because the order of a table can identify
        people.
    seed
        Fixes the order each time one release is written.  Another release has another
        secret, which is mixed in, and another order.  To write identical bytes again,
        use `aggopt repeat`.
    round_integers
        Publish whole numbers if the original attribute has them.
    digits
        The number of significant digits, counted from the first digit of an attribute's
        standard deviation, 6 when left out.  With a deviation of 12.3, values have four
        decimals.  "full" publishes unrounded values.
    decimals
        In place of digits: the number of decimals of all published values; if negative,
        the number of zeros before the point.
    encoding
        The encoding of a written CSV file.
    """

    shuffle: StrictBool = True
    seed: StrictInt | None = Field(default=None, ge=0)
    round_integers: StrictBool = False
    digits: Digits | Literal["full"] | None = None
    decimals: Decimals | None = None
    encoding: Encoding = "utf-8"

    @model_validator(mode="before")
    @classmethod
    def _record_digits(cls, section: Any) -> Any:
        """Record the default digits in a written job, although no user chose them."""
        if not isinstance(section, dict):
            return section
        digits = section.get("digits"), section.get("decimals")
        return section if digits != (None, None) else {**section, "digits": DIGITS}

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
