"""A sweep of an aggregation of the user's: a grid of its settings."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

from aggopt.aggregate import PublishedCategories
from aggopt.aggregate.own.section import ByModel
from aggopt.core.plugins.section import UserMethodSection
from aggopt.errors import JobError
from aggopt.experiments._sweep_point import SweepPoint, point_of
from aggopt.pipeline.aggregate.aggregate_table import assemble_columns
from aggopt.pipeline.aggregate.missing_values import aggregate_observed
from aggopt.pipeline.finish.evaluate import evaluate
from aggopt.pipeline.finish.measures import AT_ONCE
from aggopt.pipeline.partition.partitioned_table import PartitionedTable


def settings_of(
    how: UserMethodSection, over: Mapping[str, Any]
) -> list[dict[str, Any]]:
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
        changed(how, point)  # which refuses unknown settings
    return points


def changed(how: Any, point: Mapping[str, Any]) -> UserMethodSection:
    """Return a section with some settings changed, checked like those of a job."""
    arguments = {**how.arguments, **point}
    made: UserMethodSection = how.model_copy(update={"arguments": arguments})
    model = isinstance(how, ByModel)
    made.checked(how.program.takes if model else how.own.function)
    return made


def own_point(
    given: PartitionedTable,
    chosen: Mapping[str, PublishedCategories],
    point: Mapping[str, Any],
) -> list[SweepPoint]:
    """Return the point of these settings, measured and audited."""
    how: Any = given.job.aggregation
    masked = aggregate_observed(given, {**how.settings, **point})
    values = assemble_columns(given, masked, chosen).values
    tried = evaluate(given, values, linked_at_once=AT_ONCE)
    return [point_of(masked, tried, keep="", settings=point)]
