"""One point of a choice: a job, and the figures of its release."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from aggopt.core.html import HtmlFields
from aggopt.errors import PrivacyError
from aggopt.experiments._cell import Figures
from aggopt.experiments._choice_grid import words
from aggopt.job import Job

OF_PARTITION = "groups."  # prefix of the columns of a partition's certificate


@dataclass(frozen=True)
class ChoicePoint(HtmlFields):
    """A job of a choice, and the figures of its release.

    Attributes
    ----------
    number
        Its place in the order of the points, from 1.
    asked
        The settings varied, by name: k, method, ...
    job
        The whole job: `job.to_toml()` is a file of it.
    holds
        Whether the audit confirmed all requirements; None without an audit.
    groups, smallest
        Number of groups (of the first block of attributes), and number of records of
        the rarest combination.
    groups_gap, gap
        Largest gap of its groups, and of its published values; None if unproven.
    il, pil
        Information loss, and probabilistic information loss: fractions.
    linkage, linkage_limit, linkage_blocks
        Share of records linked by the best one-to-one assignment, its upper limit for
        any linkage, and the number of blocks of the search.
    si, sl
        Scoring index, and satisfaction level if records request a distance.
    seconds
        Time of its certificates.  Groups are made once for all points that share them,
        and count in each.
    error, message
        Reason of a missing release: type and words; None if it exists.

    Figures are None if the point failed, or no quasi-identifier varies.
    """

    number: int
    asked: Mapping[str, Any]
    job: Job = field(repr=False)
    holds: bool | None = None
    groups: int | None = None
    smallest: int | None = None
    groups_gap: float | None = None
    gap: float | None = None
    il: float | None = None
    pil: float | None = None
    linkage: float | None = None
    linkage_limit: float | None = None
    linkage_blocks: int | None = None
    si: float | None = None
    sl: float | None = None
    seconds: float | None = None
    error: str | None = None
    message: str | None = None

    @property
    def called(self) -> str:
        """What sentences call it: "point 3 (method = mdav, k = 5)"."""
        return f"point {self.number} ({words(self.asked)})"

    @property
    def row(self) -> Figures:
        """The fields except the job, by column."""
        own = {f.name: getattr(self, f.name) for f in fields(self)}
        del own["job"]
        number, asked = own.pop("number"), own.pop("asked")
        return {"point": number, **asked, **own}


def point_of(
    number: int, asked: Mapping[str, Any], job: Job, rows: Sequence[Figures]
) -> ChoicePoint:
    """Return the point of a cell's rows, or of its failure."""
    first = rows[0]
    if first.get("error") is not None:
        failed = first["error"], first["message"]
        holds = False if first["error"] == PrivacyError.__name__ else None
        error, message = failed
        return ChoicePoint(number, asked, job, holds, error=error, message=message)
    found = ("smallest", "il", "pil", "linkage", "linkage_limit", "linkage_blocks")
    return ChoicePoint(
        number,
        asked,
        job,
        holds=True,  # else the release would not exist
        groups=first["groups"],
        groups_gap=_largest([row["groups.gap"] for row in rows]),
        gap=_largest([row["gap"] for row in rows]),
        seconds=_seconds(rows),
        **{name: first.get(name) for name in (*found, "si", "sl")},
    )


def _largest(gaps: Sequence[float | None]) -> float | None:
    """Return the largest gap; None if one is unproven."""
    proven = [gap for gap in gaps if gap is not None]
    return max(proven) if len(proven) == len(gaps) else None


def _seconds(rows: Sequence[Figures]) -> float:
    """Return the seconds of values and of groups, each block of attributes once."""
    blocks = {
        tuple(
            value for name, value in row.items() if name.startswith(OF_PARTITION)
        ): row["groups.seconds"]
        for row in rows
    }
    return float(sum(row["seconds"] for row in rows) + sum(blocks.values()))
