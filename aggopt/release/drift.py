"""What rounding changed."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Drift:
    """By how much rounding moved an attribute.

    Attributes
    ----------
    step
        Published values are whole multiples of it, dates and times of so many seconds;
        None where they are as computed.
    mean
        Of the attribute, in standard deviations, without sign.
    variance
        Of the attribute, as a share of what it was, without sign.
    """

    step: float | None
    mean: float
    variance: float
