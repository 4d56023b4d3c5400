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
    """How a CSV file is written: read so, and the release written so.

    `multiline` says that entries may span several lines.  They are refused otherwise,
    because two stray quotes make one entry out of the records between them.  The
    `encoding` is that of the file that is read; [output] has that of the release.
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
    encoding
        That of a CSV file that is written.
    """

    shuffle: StrictBool = True
    seed: StrictInt | None = Field(default=None, ge=0)
    round_integers: StrictBool = False
    digits: Digits | Literal["full"] | None = None
    decimals: Decimals | None = None
    encoding: Encoding = "utf-8"

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
