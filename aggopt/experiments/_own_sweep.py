"""A sweep of an aggregation of the user's: a grid of its settings."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from aggopt.aggregate import PublishedCategories
from aggopt.aggregate.own._section import ByModel
from aggopt.core.own_section import OwnSection
from aggopt.errors import JobError
from aggopt.experiments._sweep_point import SweepPoint, point_of
from aggopt.pipeline.aggregate_step import placed
from aggopt.pipeline.audit_values import holds_of
from aggopt.pipeline.grouped import Grouped
from aggopt.pipeline.measured import AT_ONCE, measured
from aggopt.pipeline.observed import combined
from aggopt.pipeline.rounding import released


def settings_of(how: OwnSection, over: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the settings of each point; raises as `OwnSection.contained`.

    Raises
    ------
    JobError
        `over` names no setting, or lists no values of one.
    """
    if not over:
        raise JobError(
            "No setting is named to go through.",
            fix='name some with their values: over={"cap": [1.0, 2.0]}, or --over '
            "cap=1.0,2.0.",
        )
    for name, values in over.items():
        if isinstance(values, str) or not isinstance(values, Sequence) or not values:
            raise JobError(
                f"The setting {name} is to go through what is no list of values.",
                fix=f"list some: over={{{name!r}: [1.0, 2.0]}}.",
            )
    points = [dict(zip(over, each, strict=True)) for each in product(*over.values())]
    for point in points:
        changed(how, point)  # which refuses what it does not take
    return points


def changed(how: Any, point: Mapping[str, Any]) -> OwnSection:
    """Return a section with some settings changed, checked as those of a job are."""
    arguments = {**how.arguments, **point}
    made: OwnSection = how.model_copy(update={"arguments": arguments})
    model = isinstance(how, ByModel)
    made.checked(how.program.takes if model else how.own.function)
    return made


def own_point(
    given: Grouped, chosen: Mapping[str, PublishedCategories], point: Mapping[str, Any]
) -> list[SweepPoint]:
    """Return the point of these settings, measured and audited."""
    how: Any = given.job.aggregation
    masked = combined(given, {**how.settings, **point})
    tried = released(given, placed(given, masked, chosen).values)
    found = measured(given.table, tried, given.asked, whole=AT_ONCE)
    made = point_of(masked, found, keep="", settings=point)
    if made.usable:
        made = replace(made, holds=holds_of(given, tried, found))
    return [made]
