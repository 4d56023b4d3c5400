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
from aggopt.experiments.grid import Cell, list_grid_entries, make_setting_columns
from aggopt.job import Job
from aggopt.partition.shared.settings import TABLE_SETTINGS

PRIVACY = ("k", "t", "l")
AGGREGATION = ("keep", "alpha", "delta")
AXES = ("method", "keep", "t", "l", "alpha", "delta", "k")  # the last changes first
OPTIONAL = ("t", "l")  # one of their values is "not required"


def list_choice_cells(
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
        name: [
            _format_value(name, entry) for entry in list_grid_entries(name, axes[name])
        ]
        for name in AXES
        if axes[name] is not None
    }
    if not values:
        raise JobError(
            "Nothing is gone through: no k, no method, no other setting is listed.",
            fix="list some, such as k=[3, 5, 10], or --k 3,5,10 for the command.",
        )
    _require_settings(job.aggregation, values)
    points: dict[Job, Mapping[str, Any]] = {}
    for settings in _list_combinations(values):
        labels = {name: _label(name, value) for name, value in settings.items()}
        with naming(f"Point {name_point(labels)}"):
            points.setdefault(
                _limit_search(_replace_settings(job, settings), time_limit), labels
            )
    return [Cell(table, entry, None, labels) for entry, labels in points.items()]


def name_point(labels: Mapping[str, Any]) -> str:
    """Return the name of a point for sentences.

    Examples
    --------
    >>> name_point({"method": "mdav", "t": None, "k": 3})
    'method = mdav, t = none, k = 3'
    """
    shown = {n: "none" if value is None else value for n, value in labels.items()}
    return ", ".join(f"{name} = {value}" for name, value in shown.items())


def _format_value(name: str, value: Any) -> Any:
    """Return a value of the grid as a section of a job has it."""
    if name in OPTIONAL and value == "none":
        return None
    if name == "method" and not isinstance(value, Mapping | MethodSection):
        return {"method": value}
    return dict(value) if isinstance(value, Mapping) else to_plain_number(value)


def _list_combinations(values: Mapping[str, list[Any]]) -> list[dict[str, Any]]:
    combinations: list[dict[str, Any]] = [{}]
    for name, choices in values.items():
        combinations = [
            {**combination, name: value}
            for combination in combinations
            for value in choices
        ]
    return combinations


def _label(name: str, value: Any) -> Any:
    """Return a value's label in a table: of a method its name and its settings."""
    if name != "method":
        return value
    section = (
        _list_explicit_entries(value) if isinstance(value, MethodSection) else value
    )
    columns = make_setting_columns({"partition": section})
    called = columns.pop("partition", "recommended")
    called = Path(called).name if is_code_file(called) else called
    rest = (f"{n.removeprefix('partition.')} = {v}" for n, v in columns.items())
    return f"{called} ({', '.join(rest)})" if columns else called


def _list_explicit_entries(section: MethodSection) -> dict[str, Any]:
    """Return the explicit entries of a section: its method, and no defaults."""
    return {
        name: value
        for name, value in section
        if name in {"method", *section.model_fields_set}
    }


def _require_settings(section: MethodSection, values: Mapping[str, list[Any]]) -> None:
    """Refuse settings that the aggregation of the job does not have."""
    is_user_method = isinstance(section, UserMethodSection)
    names = set() if is_user_method else set(type(section).model_fields)
    absent = [n for n in AGGREGATION if n in values and n not in names]
    if not absent:
        return
    fix = 'set method = "p3m" under [aggregation].'
    if is_user_method:
        fix = "go through settings of an aggregation of yours by aggopt sweep --over."
    raise JobError(f"{section.method!r} has no {' and no '.join(absent)}.", fix=fix)


def _replace_settings(job: Job, settings: Mapping[str, Any]) -> Job:
    """Return the job with these settings; all else unchanged.

    Raises
    ------
    JobError
        It is invalid; `UnknownNameError` if it has an unknown name.
    """
    sections: dict[str, Any] = {name: getattr(job, name) for name in Job.model_fields}
    if "method" in settings:
        sections["partition"] = _choose_grouping(job.partition, settings["method"])
    if privacy := {n: settings[n] for n in PRIVACY if n in settings}:
        sections["privacy"] = job.privacy.keys_with(**privacy)
    if shift := {n: settings[n] for n in AGGREGATION if n in settings}:
        sections["aggregation"] = _list_explicit_entries(job.aggregation) | shift
    return Job(**sections).load_contents()


def _choose_grouping(section: MethodSection, method: Any) -> Any:
    """Return the section of a method: the job's own, if it names no other.

    Settings of the table, blocks of attributes and weights, are kept.
    """
    if isinstance(method, MethodSection):
        return method
    if method == {"method": section.method}:
        return section
    table_settings = {
        n: getattr(section, n) for n in TABLE_SETTINGS if n in section.model_fields_set
    }
    return table_settings | method


def _limit_search(job: Job, seconds: float | None) -> Job:
    """Return a job whose search for groups ends in time, if it has no limit."""
    partition: Any = job.partition
    timed = (
        "time_limit" in type(partition).model_fields and partition.time_limit is None
    )
    if (
        seconds is None
        or not timed
        or getattr(partition, "effort", "default") != "default"
    ):
        return job
    limited = partition.model_copy(update={"time_limit": float(seconds)})
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
        return f"point {self.number} ({name_point(self.asked)})"

    @property
    def row(self) -> Figures:
        """The fields except the job, by column."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        del values["job"]
        number = values.pop("number")
        settings = values.pop("asked")
        return {"point": number, **settings, **values}


def make_choice_point(
    number: int, asked: Mapping[str, Any], job: Job, rows: Sequence[Figures]
) -> ChoicePoint:
    """Return the point of a cell's rows, or of its failure."""
    first = rows[0]
    if first.get("error") is not None:
        failed = first["error"], first["message"]
        holds = False if first["error"] == PrivacyError.__name__ else None
        error, message = failed
        return ChoicePoint(number, asked, job, holds, error=error, message=message)
    names = ("smallest", "il", "pil", "linkage", "linkage_limit", "linkage_blocks")
    return ChoicePoint(
        number,
        asked,
        job,
        holds=True,  # else the release would not exist
        groups=first["groups"],
        groups_gap=_find_largest([row["groups.gap"] for row in rows]),
        gap=_find_largest([row["gap"] for row in rows]),
        seconds=_sum_seconds(rows),
        **{name: first.get(name) for name in (*names, "si", "sl")},
    )


def _find_largest(gaps: Sequence[float | None]) -> float | None:
    """Return the largest gap; None if one is unproven."""
    proven = [gap for gap in gaps if gap is not None]
    return max(proven) if len(proven) == len(gaps) else None


def _sum_seconds(rows: Sequence[Figures]) -> float:
    """Return the seconds of values and of groups, each block of attributes once."""
    blocks = {
        tuple(
            value for name, value in row.items() if name.startswith(OF_PARTITION)
        ): row["groups.seconds"]
        for row in rows
    }
    return float(sum(row["seconds"] for row in rows) + sum(blocks.values()))
