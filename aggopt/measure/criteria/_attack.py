"""Result of an attack: its rate, that of chance and that of a control."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import sqrt
from statistics import NormalDist
from typing import Any

from aggopt.core.validation import is_number
from aggopt.errors import JobError

CRITERIA = ("singling out", "linkability", "inference")
Interval = tuple[float, float]
LEVEL = 0.99
"""Confidence level by default: of 200 harmless releases one seems to help."""


@dataclass(frozen=True)
class AttackResult:
    """Rate of an attack on a release, by chance, and on a control.

    Attributes
    ----------
    criterion
        "singling out", "linkability" or "inference".
    by
        How it attacks: the conditions of singling out, or the attribute that is
        inferred; "" for linkability.
    attacks, control_attacks
        Number of attacks on persons of the release and of the control.  A control of
        singling out may be part of a table, so that its number is a fraction.
    rate, chance, control
        Share of attacks that succeed on the release, without the release, and on the
        control.
    level
        Confidence level of the intervals.
    """

    criterion: str
    by: str
    attacks: int
    control_attacks: float
    rate: float
    chance: float
    control: float
    level: float
    control_limit: float = 1.0  # no control has a larger share

    @property
    def name(self) -> str:
        """The criterion and the variant of the attack, as text."""
        return f"{self.criterion} {self.by}".rstrip()

    @property
    def rate_interval(self) -> Interval:
        """Wilson score interval of the rate."""
        return wilson_interval(self.rate, self.attacks, self.level)

    @property
    def control_interval(self) -> Interval:
        """Wilson score interval of the control, up to the limit of the control."""
        low, high = wilson_interval(self.control, self.control_attacks, self.level)
        return min(low, self.control_limit), min(high, self.control_limit)

    @property
    def excess(self) -> float:
        """Success that the release adds: (rate - control) / (1 - control)."""
        return (self.rate - self.control) / self._rest

    @property
    def excess_interval(self) -> Interval:
        """Interval of the excess, from those of rate and control (Newcombe 1998)."""
        low, high = self.rate_interval
        control_low, control_high = self.control_interval
        difference = self.rate - self.control
        down = sqrt((self.rate - low) ** 2 + (control_high - self.control) ** 2)
        up = sqrt((high - self.rate) ** 2 + (self.control - control_low) ** 2)
        ends = (difference - down) / self._rest, (difference + up) / self._rest
        return ends[0], min(ends[1], 1.0)

    @property
    def helps(self) -> bool:
        """Whether the rate is above the control and chance, by more than the interval.

        What chance reaches needs no release.
        """
        return self.excess_interval[0] > 0 and self.rate_interval[0] > self.chance

    @property
    def _rest(self) -> float:
        """Share of attacks on the control that fail; 1 if none does."""
        return 1 - self.control if self.control < 1 else 1.0

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> "AttackResult":
        """Return the attack from the entries that `to_dict` returned.

        Raises
        ------
        KeyError, TypeError, ValueError
            Entries are missing, or are no figures of an attack.
        """
        attack = cls(**{entry.name: entries[entry.name] for entry in fields(cls)})
        shares = attack.rate, attack.chance, attack.control, attack.control_limit
        counts = attack.attacks, attack.control_attacks
        are_texts = isinstance(attack.by, str) and attack.criterion in CRITERIA
        if not (are_texts and all(map(is_number, (*shares, *counts)))):
            raise ValueError
        if not all(0 <= share <= 1 for share in shares) or min(counts) <= 0:
            raise ValueError
        check_level(attack.level)
        return attack

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, ready for JSON."""
        return {
            "criterion": self.criterion,
            "by": self.by,
            "attacks": self.attacks,
            "control_attacks": self.control_attacks,
            "rate": self.rate,
            "rate_interval": list(self.rate_interval),
            "chance": self.chance,
            "control": self.control,
            "control_limit": self.control_limit,
            "control_interval": list(self.control_interval),
            "excess": self.excess,
            "excess_interval": list(self.excess_interval),
            "level": self.level,
            "helps": self.helps,
        }


def wilson_interval(share: float, n: float, level: float = 0.95) -> Interval:
    """Return the score interval of a share of n independent trials.

    Parameters
    ----------
    share
        Share of trials that succeed, 0..1.
    n
        Number of trials, above 0; a fraction if they count in part.
    level
        Confidence level, between 0 and 1.

    Raises
    ------
    JobError
        An argument is outside its range.

    Source: Wilson (1927).

    Examples
    --------
    >>> [round(end, 3) for end in wilson_interval(0.5, 10)]
    [0.237, 0.763]
    """
    if not 0 <= share <= 1 or not n > 0:
        raise JobError(
            f"A share of {share:g} in {n:g} trials is not a share.",
            fix="pass a share from 0 to 1, and more than 0 trials.",
        )
    z2 = NormalDist().inv_cdf((1 + check_level(level)) / 2) ** 2
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = sqrt(z2 * share * (1 - share) / n + (z2 / (2 * n)) ** 2) / (1 + z2 / n)
    low = min(max(middle - half, 0.0), share)  # despite rounding
    return low, max(min(middle + half, 1.0), share)


def check_level(level: object) -> float:
    """Return a confidence level; refuse one that is not between 0 and 1."""
    if is_number(level) and 0 < float(level) < 1:  # type: ignore[arg-type]
        return float(level)  # type: ignore[arg-type]
    raise JobError(
        "level is not a number between 0 and 1.",
        fix="pass a confidence level, such as level=0.99.",
    )
