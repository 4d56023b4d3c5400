"""Points of a choice: jobs that differ in the settings varied."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from aggopt.core.html import HtmlFields
from aggopt.core.plugins.loading import is_code_file
from aggopt.core.plugins.section import UserMethodSection
from aggopt.core.section import MethodSection, to_plain_number
from aggopt.errors import JobError, PrivacyError, naming
from aggopt.experiments._cell import Figures
from aggopt.experiments._grid import Cell, listed, said_of
from aggopt.job import Job
from aggopt.partition.shared.settings import TABLE_SETTINGS

PRIVACY = ("k", "t", "l")
AGGREGATION = ("keep", "alpha", "delta")
AXES = ("method", "keep", "t", "l", "alpha", "delta", "k")  # the last changes first
OPTIONAL = ("t", "l")  # one of their values is "not required"


def cells_of_choice(
    table: str, job: Job, axes: Mapping[str, Any], time_limit: float | None
) -> list[Cell]:
    """Return a cell for each combination of the axes' values, without repetition.

    `axes` are values by name, one of `AXES`, None for the job's own.  Searches for
    groups without a time limit get `time_limit`.

    Raises
    ------
    JobError
        No axis is given, an axis lists nothing, or a combination is not a valid job.
    """
    values = {
        name: [_value(name, each) for each in listed(name, axes[name])]
        for name in AXES
        if axes[name] is not None
    }
    if not values:
        raise JobError(
            "Nothing is gone through: no k, no method, no other setting is listed.",
            fix="list some, such as k = [3, 5, 10].",
        )
    _require_settings(job.aggregation, values)
    points: dict[Job, Mapping[str, Any]] = {}
    for asked in _combinations(values):
        labels = {name: _label(name, value) for name, value in asked.items()}
        with naming(f"Point {words(labels)}"):
            points.setdefault(_limited(_changed(job, asked), time_limit), labels)
    return [Cell(table, each, None, labels) for each, labels in points.items()]


def words(labels: Mapping[str, Any]) -> str:
    """Return the name of a point for sentences.

    Examples
    --------
    >>> words({"method": "mdav", "t": None, "k": 3})
    'method = mdav, t = none, k = 3'
    """
    shown = {n: "none" if value is None else value for n, value in labels.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items())


def _value(name: str, value: Any) -> Any:
    if name in OPTIONAL and value == "none":
        return None
    if name == "method" and not isinstance(value, Mapping | MethodSection):
        return {"method": value}
    return dict(value) if isinstance(value, Mapping) else to_plain_number(value)


def _combinations(values: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{}]
    for name, each in values.items():
        found = [{**known, name: value} for known in found for value in each]
    return found


def _label(name: str, value: Any) -> Any:
    """Return a value's label in a table: of a method its name and its settings."""
    if name != "method":
        return value
    section = _written(value) if isinstance(value, MethodSection) else value
    said = said_of({"partition": section})
    called = said.pop("partition", "recommended")
    called = Path(called).name if is_code_file(called) else called
    rest = (f"{n.removeprefix('partition.')} = {v}" for n, v in said.items())
    return f"{called} ({', '.join(rest)})" if said else called


def _written(section: MethodSection) -> dict[str, Any]:
    """Return the explicit entries of a section: its method, and no defaults."""
    return {
        name: value
        for name, value in section
        if name in {"method", *section.model_fields_set}
    }


def _require_settings(how: MethodSection, values: Mapping[str, list[Any]]) -> None:
    """Refuse settings that the aggregation of the job does not have."""
    own = isinstance(how, UserMethodSection)
    known = set() if own else set(type(how).model_fields)
    absent = [n for n in AGGREGATION if n in values and n not in known]
    if not absent:
        return
    fix = 'set method = "p3m" under [aggregation].'
    if own:
        fix = "go through settings of an aggregation of yours by aggopt sweep --over."
    raise JobError(f"{how.method!r} has no {' and no '.join(absent)}.", fix=fix)


def _changed(job: Job, asked: Mapping[str, Any]) -> Job:
    """Return the job with these settings; all else unchanged.

    Raises
    ------
    JobError
        It is invalid; `UnknownNameError` if it has an unknown name.
    """
    sections: dict[str, Any] = {name: getattr(job, name) for name in Job.model_fields}
    if "method" in asked:
        sections["partition"] = _grouping(job.partition, asked["method"])
    if privacy := {n: asked[n] for n in PRIVACY if n in asked}:
        sections["privacy"] = job.privacy.keys_with(**privacy)
    if shift := {n: asked[n] for n in AGGREGATION if n in asked}:
        sections["aggregation"] = _written(job.aggregation) | shift
    return Job(**sections).contained()


def _grouping(own: MethodSection, asked: Any) -> Any:
    """Return the section of a method: the job's own, if it names no other.

    Settings of the table, blocks of attributes and weights, are kept.
    """
    if isinstance(asked, MethodSection):
        return asked
    if asked == {"method": own.method}:
        return own
    kept = {n: getattr(own, n) for n in TABLE_SETTINGS if n in own.model_fields_set}
    return kept | asked


def _limited(job: Job, seconds: float | None) -> Job:
    """Return a job whose search for groups ends in time, if it has no limit."""
    how: Any = job.partition
    timed = "time_limit" in type(how).model_fields and how.time_limit is None
    if seconds is None or not timed or getattr(how, "effort", "default") != "default":
        return job
    limited = how.model_copy(update={"time_limit": float(seconds)})
    return job.model_copy(update={"partition": limited})


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
