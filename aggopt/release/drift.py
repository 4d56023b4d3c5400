"""Drift caused by rounding."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Drift:
    """Drift of an attribute caused by rounding.

    Attributes
    ----------
    step
        Published values are whole multiples of it, dates and times of that number of
        seconds; None if they are published as computed.
    mean
        Drift of the mean, in standard deviations, without sign.
    variance
        Drift of the variance, as a share of the variance before, without sign.
    """

    step: float | None
    mean: float
    variance: float
