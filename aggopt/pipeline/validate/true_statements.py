"""Refusals of settings that true statements about groups do not support."""

from collections.abc import Collection

from aggopt.data.parsing.span_columns import make_date_error
from aggopt.errors import JobError
from aggopt.job import Job, Mean, Median
from aggopt.partition.registry import PARTITIONERS, Objective


def require_statements(
    job: Job, numbers: Collection[str], dates: Collection[str] = ()
) -> None:
    """Refuse settings that true statements ignore, or that need exact values.

    `numbers` are the quasi-identifiers that are numbers and publish statements, `dates`
    those that are dates.

    Raises
    ------
    JobError
        Dates are to publish statements; statistics, distances or a model are asked
        for of numbers that publish them; or missing values are to be filled, of which
        no statement is known to be true.
    """
    for name in sorted({*numbers} & {*dates}):
        raise make_date_error(name, job.attributes[name].publish)
    names = job.roles.quasi_identifier
    stated = [n for n in names if n in job.attributes and job.attributes[n].is_truthful]
    aggregation = job.aggregation
    plain = isinstance(aggregation, Mean | Median)
    if numbers and not (plain and aggregation.keeps <= {"mean"}):
        name = next(iter(numbers))
        keep = getattr(aggregation, "keep", None)
        of_keep = f" and keep = {keep!r}" if isinstance(keep, str) and plain else ""
        raise JobError(
            f"[aggregation] method = {aggregation.method!r}{of_keep} computes numbers, "
            f"and [attributes.{name}] publish = {job.attributes[name].publish!r} "
            "publishes statements about the originals.",
            fix='leave [aggregation] out, or publish = "leaf" there.',
        )
    if job.missing.policy != "fill":
        return
    if stated:
        raise JobError(
            f"[missing] policy = 'fill' publishes values of records that have none, "
            f"and [attributes.{stated[0]}] publish = "
            f"{job.attributes[stated[0]].publish!r} only what is true of them.",
            fix='set policy = "patterns", or missing = "own value" of names.',
        )
    method = PARTITIONERS.of(job.partition)
    if method.objective is Objective.GENERALISED:
        raise JobError(
            f"[missing] policy = 'fill' makes groups by imputed coordinates, and "
            f"{method.name} by values.",
            fix='set policy = "patterns", or choose another method.',
        )
